"""P5: what predicts the label without any outcome? Nothing should.

Each predictor is fitted on the training episodes and scored by AUROC on the others, with a
bootstrap over units (genes), because episodes of one gene go together.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bed.episodes.audit.checks import CONTROL_TIER, Check, State, View
from bed.seeds import generator

__all__ = ["name_only"]

Floats = NDArray[np.float64]
_OK, _BROKEN = 0.05, 0.1
_NUM_DRAWS = 200
_KINDS = ("knockout", "knockdown", "expression", "copy_number", "mutation")


def name_only(seen: Sequence[View]) -> Iterator[Check]:
    """Yield the AUROC of the label from names and the pool's make-up, then from the evidence."""
    train = [view for view in seen if view.episode.split == "train"]
    other = [view for view in seen if view.episode.split != "train"]
    if any(len({view.episode.label for view in part}) < 2 for part in (train, other)):
        yield Check("P5", "label from names alone", "off", "needs both labels in train and test")
        return
    for name, predict in _PREDICTORS.items():
        yield _judged(f"AUROC of the label from {name}", predict(train, other), other)
    evidence = np.array([view.num_supporting for view in other], dtype=float)
    area, error = _auroc_with_error(evidence, other)
    yield Check("P5", "AUROC from supporting related stubs", "info", f"{area:.3f} ± {error:.3f}")


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


def _tiers(view: View) -> list[float]:
    found = [how.tier for how in view.relations]
    return [found.count(tier) for tier in range(1, CONTROL_TIER + 1)]


def _kinds(view: View) -> list[float]:
    found = [experiment.fields["kind"] for experiment in view.experiments()]
    return [found.count(kind) for kind in _KINDS]


def _partners(view: View) -> list[float]:
    r = list(view.episode.target.fields["coessential"].values())
    return [len(r), max(r, default=0.0), float(np.sum(r))]


_PREDICTORS: dict[str, Callable[[list[View], list[View]], Floats]] = {
    "the lineage's name": _by_category(lambda view: view.lineage),
    "the cell line's name": _by_category(lambda view: view.line),
    "the number of stubs of each tier": _by_features(_tiers),
    "the kinds of assay in the pool": _by_features(_kinds),
    "the strength of co-essential partners": _by_features(_partners),
}
