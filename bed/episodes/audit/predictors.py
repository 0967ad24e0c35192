"""P5: what predicts the label without any outcome? Nothing should.

Each predictor is fitted on the training episodes and scored by AUROC on the others, with a
bootstrap over units (genes, loci), because episodes of one unit go together. A file of one split
has nothing to fit on; there, features of one number are scored as they stand.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bed.episodes.audit.checks import Check, State, View
from bed.seeds import generator

__all__ = ["name_only", "tiers"]

Floats = NDArray[np.float64]
_OK, _BROKEN = 0.05, 0.1
_NUM_DRAWS = 200
_FEWEST = 10
"""Episodes of either label below which an AUROC says nothing."""
Features = Callable[[View], list[float]]


def name_only(
    seen: Sequence[View],
    names: Mapping[str, Callable[[View], str]],
    features: Mapping[str, Features],
) -> Iterator[Check]:
    """Yield the AUROC of the label from names and the pool's make-up, then from the evidence.

    Args:
        seen: the episodes of all splits.
        names: in words -> a name that must not tell the label.
        features: in words -> numbers that must not tell it.
    """
    train = [view for view in seen if view.episode.split == "train"]
    other = [view for view in seen if view.episode.split != "train"]
    if len(present := {view.episode.split for view in seen}) == 1:
        told = f"only the split {present.pop()} is present; names cannot be tried on others"
        yield Check("P5", "label from names alone", "info", told)
        other = list(seen)
        predictors = {name: _as_it_stands(of) for name, of in features.items() if _is_one(of, seen)}
    elif any(len({view.episode.label for view in part}) < 2 for part in (train, other)):
        yield Check("P5", "label from names alone", "off", "needs both labels in train and test")
        return
    else:
        predictors = {f"the {name}'s name": _by_category(of) for name, of in names.items()}
        predictors |= {name: _by_features(of) for name, of in features.items()}
    num = Counter(view.episode.label for view in other)
    if min(num[0], num[1]) < _FEWEST:
        told = f"too few episodes ({num[1]} of label 1, {num[0]} of label 0)"
        yield Check("P5", "AUROC of the label from single features", "info", told)
        return
    for name, predict in predictors.items():
        yield _judged(f"AUROC of the label from {name}", predict(train, other), other)
    evidence = np.array([view.num_conclusive for view in other], dtype=float)
    area, error = _auroc_with_error(evidence, other)
    yield Check("P5", "AUROC from conclusive related stubs", "info", f"{area:.3f} ± {error:.3f}")


def _judged(name: str, score: Floats, views: Sequence[View]) -> Check:
    area, error = _auroc_with_error(score, views)
    away = abs(area - 0.5)
    state: State = "ok" if away <= max(_OK, 2 * error) else "off"
    if away > max(_BROKEN, 4 * error):
        state = "violated"
    return Check("P5", name, state, f"{area:.3f} ± {error:.3f}", "0.5")


def _auroc_with_error(score: Floats, views: Sequence[View]) -> tuple[float, float]:
    """Return the AUROC and its standard error by a bootstrap over units."""
    labels = np.array([view.episode.label for view in views])
    members: dict[str, list[int]] = {}
    for i, view in enumerate(views):
        members.setdefault(view.episode.unit, []).append(i)
    groups = [np.array(rows) for rows in members.values()]
    rng = generator(0, "audit bootstrap")
    draws = []
    for _ in range(_NUM_DRAWS):
        rows = np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        if 0 < labels[rows].sum() < len(rows):
            draws.append(_auroc(score[rows], labels[rows]))
    return _auroc(score, labels), float(np.std(draws)) if draws else float("nan")


def _auroc(score: Floats, labels: NDArray[np.int64]) -> float:
    """Return the probability that a 1 scores above a 0, ties counting one half."""
    num_ones = int(labels.sum())
    ranks = float(rankdata(score)[labels == 1].sum())
    return (ranks - num_ones * (num_ones + 1) / 2) / (num_ones * (len(labels) - num_ones))


def _is_one(features: Features, seen: Sequence[View]) -> bool:
    return all(len(features(view)) == 1 for view in seen)


def _as_it_stands(features: Features) -> Callable[[list[View], list[View]], Floats]:
    """Return a predictor by a single number, unfitted; its AUROC may lie on either side of 0.5."""
    return lambda train, other: np.array([features(view)[0] for view in other], dtype=float)


def _by_category(name: Callable[[View], str]) -> Callable[[list[View], list[View]], Floats]:
    """Return a predictor by the smoothed training rate of a category."""

    def predict(train: list[View], other: list[View]) -> Floats:
        counts: dict[str, list[int]] = {}
        for view in train:
            counts.setdefault(name(view), [0, 0])[view.episode.label] += 1
        rates = {key: (ones + 1) / (zeros + ones + 2) for key, (zeros, ones) in counts.items()}
        return np.array([rates.get(name(view), 0.5) for view in other])

    return predict


def _by_features(
    features: Callable[[View], list[float]],
) -> Callable[[list[View], list[View]], Floats]:
    """Return a predictor by ridge regression on features."""

    def predict(train: list[View], other: list[View]) -> Floats:
        x = np.array([features(view) for view in train], dtype=float)
        new = np.array([features(view) for view in other], dtype=float)
        y = np.array([view.episode.label for view in train], dtype=float)
        mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
        z = (x - mean) / scale
        slope = np.linalg.solve(z.T @ z + np.eye(z.shape[1]), z.T @ (y - y.mean()))
        scores: Floats = np.round((new - mean) / scale @ slope, 9)
        return scores

    return predict


def tiers(control_tier: int) -> Features:
    """Return the feature that counts a pool's stubs of each tier.

    Args:
        control_tier: the last tier.
    """

    def counts(view: View) -> list[float]:
        found = [how.tier for how in view.relations]
        return [found.count(tier) for tier in range(1, control_tier + 1)]

    return counts
