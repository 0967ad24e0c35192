"""Mending beliefs that are not Bayesian.

A coherent belief obeys  w E[p(theta | x, y+)] + (1 - w) E[p(theta | x, y-)] = p(theta). Language
models and fitted stand-ins do not quite; the difference is the coherence gap.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.estimators.forms import branch_mean
from bed.information import log_odds, probability

__all__ = ["check_slope", "recalibrated", "renormalised", "shifted"]

Array = NDArray[np.float64]

_ITERATIONS = 80
_TOLERANCE = 1e-12


def shifted(p: ArrayLike, shift: ArrayLike) -> Array:
    """Return the probabilities whose natural log odds are moved by `shift`; 0 and 1 stay."""
    return probability(log_odds(p) + np.asarray(shift, dtype=np.float64))


def check_slope(slope: float) -> None:
    """Raise DataError unless this is a finite number above 0."""
    is_number = isinstance(slope, int | float | np.number) and not isinstance(slope, bool)
    if not (is_number and np.isfinite(slope) and slope > 0):
        raise DataError(f"slope {slope!r} must be a number, finite and above 0")


def recalibrated(prior: Array, posterior: Array, slope: float) -> Array:
    """Return the posteriors with each log-odds update from the prior multiplied by `slope`.

    Args:
        prior: shape (n,).
        posterior: shape (n, branches, samples), NaN where there is no sample.
        slope: below 1 tames a belief that overreacts. 1 changes nothing.
    """
    before = prior[:, None, None]
    certain = (before == 0) | (before == 1) | (posterior == 0) | (posterior == 1)
    fixed = certain | np.isnan(posterior) | (slope == 1)
    inner = np.where(fixed, 0.5, posterior)
    start = log_odds(np.where((before == 0) | (before == 1), 0.5, before))
    moved = probability(start + slope * (log_odds(inner) - start))
    return np.where(fixed, posterior, moved)


def renormalised(prior: Array, branch_weight: Array, posterior: Array) -> Array:
    """Return the posteriors moved by one common logit shift, so that their mean is the prior.

    Rows where no shift can do that are NaN: posteriors of exactly 0 or 1 do not move.

    Args:
        prior: shape (n,).
        branch_weight: shape (n,).
        posterior: shape (n, 2, samples).
    """

    def mean(values: Array) -> Array:
        return branch_mean(branch_weight, values)

    at_one, at_zero = mean((posterior == 1) * 1.0), mean((posterior == 0) * 1.0)
    gap = mean(posterior) - prior
    coherent = np.abs(gap) <= _TOLERANCE
    reachable = coherent | ((prior > at_one) & (prior < 1.0 - at_zero))
    # The mean grows with the shift, so bisection is safe; every needed shift is within the
    # largest distance between the log odds of the prior and of a posterior.
    inner = np.clip(posterior, 1e-300, 1.0 - 1e-16)
    spread = log_odds(inner) - log_odds(np.clip(prior, 1e-300, 1.0 - 1e-16))[:, None, None]
    low, high = -np.abs(spread).max(axis=(1, 2)) - 1.0, np.abs(spread).max(axis=(1, 2)) + 1.0
    for _ in range(_ITERATIONS):
        middle = 0.5 * (low + high)
        too_high = mean(shifted(posterior, middle[:, None, None])) > prior
        low, high = np.where(too_high, low, middle), np.where(too_high, middle, high)
    shift = np.where(coherent, 0.0, 0.5 * (low + high))
    moved = np.where(coherent[:, None, None], posterior, shifted(posterior, shift[:, None, None]))
    return np.where(reachable[:, None, None], moved, np.nan)
