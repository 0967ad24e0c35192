"""Scores of probability forecasts against binary outcomes.

Brier score (Brier 1950) and its decomposition over ten bins (Murphy 1973), logarithmic score in
bits, area under the ROC curve with ties counted one half, and expected calibration error. Bins are
right-closed, 0 lies in the first, and a forecast within 5e-11 of an inner edge counts as on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.evaluation.smooth import weighted_smece
from bed.evaluation.statistic import (
    Array,
    Statistic,
    checked_forecasts,
    checked_labels,
    checked_numbers,
    checked_same_length,
    point_estimate,
    ratio,
)
from bed.information import checked_probabilities

__all__ = [
    "NUM_BINS",
    "STATISTICS",
    "Murphy",
    "ReliabilityCurve",
    "RocCurve",
    "auroc",
    "bin_index",
    "brier",
    "ece",
    "histogram",
    "log_score",
    "murphy",
    "reliability_curve",
    "roc_curve",
]

NUM_BINS = 10
_ON_EDGE = 5e-11
_DECIMALS = 9


@dataclass(frozen=True)
class Murphy:
    """The Brier score taken apart over bins; every part is in [0, 1] but the remainder.

    Attributes:
        reliability: mean squared distance of a bin's mean forecast from its share of ones.
        resolution: mean squared distance of a bin's share of ones from the overall one.
        uncertainty: variance of the labels.
        brier: Brier score of the forecasts themselves.
        brier_binned: Brier score of the bins' mean forecasts: reliability - resolution
            + uncertainty.
        within_bin_remainder: `brier` - `brier_binned`, of either sign.
    """

    reliability: float
    resolution: float
    uncertainty: float
    brier: float
    brier_binned: float
    within_bin_remainder: float


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """What happened where so much was forecast; one entry an occupied bin, from low to high.

    Attributes:
        bin: 0 to 9.
        forecast: mean forecast, in [0, 1].
        share: share of ones among the labels, in [0, 1].
        count: number of forecasts, at least 1.
    """

    bin: NDArray[np.int64]
    forecast: Array
    share: Array
    count: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Rates when all forecasts of at least a threshold count as "yes", from (0, 0) to (1, 1).

    Attributes:
        false_positive_rate: in [0, 1], rising.
        true_positive_rate: in [0, 1], rising.
        threshold: falling; the first is infinite.
    """

    false_positive_rate: Array
    true_positive_rate: Array
    threshold: Array


def brier(p: ArrayLike, y: ArrayLike) -> float:
    """Return the mean squared distance of forecasts from labels, in [0, 1], lower is better.

    Raises:
        DataError: for forecasts outside [0, 1], labels other than 0/1, none, NaN, unequal lengths.
    """
    return point_estimate(_brier, *checked_forecasts(p, y))


def log_score(p: ArrayLike, y: ArrayLike) -> float:
    """Return the mean log2 of the probability given to the truth: bits, <= 0, higher is better.

    Nothing is clipped: one outcome that was held impossible makes it minus infinity.

    Raises:
        DataError: as `brier`.
    """
    return point_estimate(_log_score, *checked_forecasts(p, y))


def auroc(p: ArrayLike, y: ArrayLike) -> float:
    """Return how often a forecast of a 1 exceeds that of a 0, ties one half; higher is better.

    Args:
        p: forecasts or any other finite scores, shape (n,).
        y: labels 0/1, shape (n,).

    Raises:
        DataError: where all labels are of one class; for labels other than 0/1, none, NaN or
            unequal lengths.
    """
    return point_estimate(_auroc, *_checked_scores(p, y))


def bin_index(p: ArrayLike) -> NDArray[np.int64]:
    """Return the bin of each forecast, 0 to 9.

    Raises:
        DataError: for values outside [0, 1], none, and NaN.
    """
    return _bins(checked_probabilities(checked_numbers(p, "p")))


def ece(p: ArrayLike, y: ArrayLike) -> float:
    """Return the mean distance of bins' mean forecasts from their shares of ones, in [0, 1].

    Raises:
        DataError: as `brier`.
    """
    return point_estimate(_ece, *checked_forecasts(p, y))


def murphy(p: ArrayLike, y: ArrayLike) -> Murphy:
    """Return the Brier score and its parts.

    Raises:
        DataError: as `brier`.
    """
    p, y = checked_forecasts(p, y)
    parts = (_reliability, _resolution, _uncertainty)
    reliability, resolution, uncertainty = (point_estimate(part, p, y) for part in parts)
    whole, binned = point_estimate(_brier, p, y), reliability - resolution + uncertainty
    return Murphy(reliability, resolution, uncertainty, whole, binned, whole - binned)


def reliability_curve(p: ArrayLike, y: ArrayLike) -> ReliabilityCurve:
    """Return mean forecast, share of ones and count of every occupied bin.

    Raises:
        DataError: as `brier`.
    """
    p, y = checked_forecasts(p, y)
    count, forecasts, ones = (sums[0] for sums in _bin_sums(p, y, np.ones((1, len(p)))))
    (occupied,) = np.nonzero(count)
    return ReliabilityCurve(
        occupied,
        forecasts[occupied] / count[occupied],
        ones[occupied] / count[occupied],
        count[occupied].astype(np.int64),
    )


def roc_curve(p: ArrayLike, y: ArrayLike) -> RocCurve:
    """Return the ROC curve, one point a distinct forecast; `auroc` is the area under its lines.

    Raises:
        DataError: as `auroc`.
    """
    scores, labels = _checked_scores(p, y)
    # undefined where its area is
    point_estimate(_auroc, scores, labels)
    threshold, group = np.unique(-scores, return_inverse=True)
    ones = np.cumsum(np.bincount(group, weights=labels))
    zeros = np.cumsum(np.bincount(group, weights=1.0 - labels))
    return RocCurve(
        np.append(0.0, zeros / zeros[-1]),
        np.append(0.0, ones / ones[-1]),
        np.append(np.inf, -threshold),
    )


def histogram(p: ArrayLike) -> tuple[Array, NDArray[np.int64]]:
    """Return the distinct forecasts, rounded to nine decimals and rising, and how often each came.

    Raises:
        DataError: as `bin_index`.
    """
    p = checked_probabilities(checked_numbers(p, "p"))
    values, counts = np.unique(np.round(p, _DECIMALS), return_counts=True)
    return values, counts


def _checked_scores(p: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return numbers of any range, and labels of the same length."""
    scores, labels = checked_numbers(p, "p"), checked_labels(y)
    checked_same_length(p=scores, y=labels)
    return scores, labels


def _bins(p: Array) -> NDArray[np.int64]:
    edges_passed = np.ceil(NUM_BINS * (p - _ON_EDGE)).astype(np.int64)
    return np.maximum(edges_passed - 1, 0)


def _mean(values: Array, weights: Array) -> Array:
    return ratio(weights @ values, weights.sum(axis=1))


def _brier(p: Array, y: Array, weights: Array) -> Array:
    return _mean((p - y) ** 2, weights)


def _log_score(p: Array, y: Array, weights: Array) -> Array:
    truth = np.where(y == 1, p, 1.0 - p)
    impossible = truth == 0
    bits = _mean(np.log2(np.where(impossible, 1.0, truth)), weights)
    return np.where(weights[:, impossible].any(axis=1), -np.inf, bits)


def _auroc(p: Array, y: Array, weights: Array) -> Array:
    zeros, ones = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    zeros = zeros[np.argsort(p[zeros], kind="stable")]
    # weight of the zeros up to each place in their order, before the first too
    upto = np.zeros((len(weights), len(zeros) + 1))
    np.cumsum(weights[:, zeros], axis=1, out=upto[:, 1:])
    below, not_above = (np.searchsorted(p[zeros], p[ones], side) for side in ("left", "right"))
    weight = weights[:, ones]
    wins = np.einsum("di,di->d", weight, upto[:, below])
    (tied,) = np.nonzero(below != not_above)
    ties = upto[:, not_above[tied]] - upto[:, below[tied]]
    wins += np.einsum("di,di->d", weight[:, tied], ties) / 2.0
    return ratio(wins, weight.sum(axis=1) * upto[:, -1])


def _bin_sums(p: Array, y: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return weight, weighted forecasts and weighted labels of the bins, each (draws, bins)."""
    member = np.eye(NUM_BINS)[_bins(p)]
    sums = weights @ np.concatenate([member, member * p[:, None], member * y[:, None]], axis=1)
    weight, forecasts, ones = np.split(sums, 3, axis=1)
    return weight, forecasts, ones


def _ece(p: Array, y: Array, weights: Array) -> Array:
    residuals = weights @ (np.eye(NUM_BINS)[_bins(p)] * (p - y)[:, None])
    return ratio(np.abs(residuals).sum(axis=1), weights.sum(axis=1))


def _reliability(p: Array, y: Array, weights: Array) -> Array:
    weight, forecasts, ones = _bin_sums(p, y, weights)
    squares = ratio((forecasts - ones) ** 2, weight)
    return ratio(np.nansum(squares, axis=1), weight.sum(axis=1))


def _resolution(p: Array, y: Array, weights: Array) -> Array:
    weight, _, ones = _bin_sums(p, y, weights)
    base_rate = ratio(ones.sum(axis=1), weight.sum(axis=1))[:, None]
    squares = ratio((ones - weight * base_rate) ** 2, weight)
    return ratio(np.nansum(squares, axis=1), weight.sum(axis=1))


def _uncertainty(p: Array, y: Array, weights: Array) -> Array:
    base_rate = _mean(y, weights)
    return np.asarray(base_rate * (1.0 - base_rate))


STATISTICS: Mapping[str, Statistic] = MappingProxyType(
    {
        "brier": _brier,
        "log_score": _log_score,
        "auroc": _auroc,
        "ece": _ece,
        "smece": weighted_smece,
        "reliability": _reliability,
        "resolution": _resolution,
        "uncertainty": _uncertainty,
    }
)
"""Statistics over weights by name, for bootstraps."""
