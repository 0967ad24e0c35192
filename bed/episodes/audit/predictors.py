"""P5: what predicts the label without any outcome? Nothing should.

Each predictor is fitted on the training episodes and scored by AUROC on the others, with a
bootstrap over units (genes, loci), because episodes of one unit go together.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bed.episodes.audit.checks import Check, State, View
from bed.episodes.audit.rules import Rules
from bed.seeds import generator

__all__ = ["name_only"]

Floats = NDArray[np.float64]
_OK, _BROKEN = 0.05, 0.1
_NUM_DRAWS = 200


def name_only(seen: Sequence[View], rules: Rules) -> Iterator[Check]:
    """Yield the AUROC of the label from names and the pool's make-up, then from the evidence."""
    train = [view for view in seen if view.episode.split == "train"]
    other = [view for view in seen if view.episode.split != "train"]
    if any(len({view.episode.label for view in part}) < 2 for part in (train, other)):
        yield Check("P5", "label from names alone", "off", "needs both labels in train and test")
        return
    features = {"the number of stubs of each tier": _tiers(rules.control_tier), **rules.features}
    predictors = {f"the {name}'s name": _by_category(of) for name, of in rules.balanced.items()}
    predictors |= {name: _by_features(of) for name, of in features.items()}
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


def _tiers(control_tier: int) -> Callable[[View], list[float]]:
    def counts(view: View) -> list[float]:
        found = [how.tier for how in view.relations]
        return [found.count(tier) for tier in range(1, control_tier + 1)]

    return counts
