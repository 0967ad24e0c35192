"""Smooth calibration error: the residuals smoothed over the forecasts, not binned.

sMECE = integral over t in [0, 1] of |sum of w_i (y_i - p_i) K_h(t, p_i)| / sum of w_i, where K_h is
a Gaussian of width h reflected at 0 and 1 (Błasiok and Nakkiran 2023), here with Silverman's
bandwidth, h = max(0.02, 1.06 sigma n^(-1/5)). Cosines are the eigenfunctions of that kernel:

    K_h(t, p) = 1 + 2 sum over m >= 1 of exp(-(pi m h)^2 / 2) cos(pi m t) cos(pi m p),

so the smoothed residual is a short cosine series, and its absolute value is integrated exactly
between its zeros.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.evaluation.statistic import (
    Array,
    checked_forecasts,
    checked_numbers,
    point_estimate,
    ratio,
)
from bed.information import checked_probabilities

__all__ = ["smece", "smece_bandwidth", "weighted_smece"]

_MIN_BANDWIDTH = 0.02
_NEGLIGIBLE = 1e-17
_CELLS_PER_TERM = 8
_NEWTON_STEPS = 3


def smece(p: ArrayLike, y: ArrayLike) -> float:
    """Return the smooth calibration error of forecasts p of labels y, in [0, 1], lower is better.

    Raises:
        DataError: for forecasts outside [0, 1], labels other than 0/1, none, NaN, unequal lengths.
    """
    return point_estimate(weighted_smece, *checked_forecasts(p, y))


def smece_bandwidth(p: ArrayLike) -> float:
    """Return the width of the Gaussian, on the scale of the forecasts, >= 0.02.

    Raises:
        DataError: for forecasts outside [0, 1], none, and NaN.
    """
    p = checked_probabilities(checked_numbers(p, "p"))
    return float(_bandwidths(p, np.ones((1, len(p))))[0])


def weighted_smece(p: Array, y: Array, weights: Array) -> Array:
    """Return the smooth calibration error of every draw, each with a bandwidth of its own.

    Args:
        p: forecasts in [0, 1], shape (n,).
        y: labels 0/1, shape (n,).
        weights: how often each counts, shape (draws, n).
    """
    bandwidth = _bandwidths(p, weights)
    num_terms = math.ceil(math.sqrt(-2.0 * math.log(_NEGLIGIBLE)) / (math.pi * bandwidth.min()))
    frequency = math.pi * np.arange(num_terms + 1)
    residuals = (y - p)[:, None] * np.cos(p[:, None] * frequency)
    damping = np.exp(-((bandwidth[:, None] * frequency) ** 2) / 2.0)
    damping[:, 1:] *= 2.0
    return _integral_of_absolute(damping * (weights @ residuals), frequency) / weights.sum(axis=1)


def _bandwidths(p: Array, weights: Array) -> Array:
    """Return the bandwidth of every draw, shape (draws,)."""
    total = weights.sum(axis=1)
    # about the middle, so that equal forecasts have no spread at all
    offset = p - (p.min() + p.max()) / 2.0
    mean = ratio(weights @ offset, total)
    variance = np.maximum(ratio(weights @ offset**2, total) - mean**2, 0.0)
    return np.fmax(1.06 * np.sqrt(variance) * total**-0.2, _MIN_BANDWIDTH)


def _integral_of_absolute(series: Array, frequency: Array) -> Array:
    """Return the integral over [0, 1] of the absolute value of cosine series, shape (draws,).

    With S the integral of a series from 0, that of its absolute value is the last sign times S(1)
    plus twice the sum over its zeros of the sign left of the zero times S there.
    """
    draw, left, right, sign = _sign_changes(series, frequency)
    own = series[draw]
    zero = (left + right) / 2.0
    for _ in range(_NEWTON_STEPS):
        phase = zero[:, None] * frequency
        value = np.einsum("zm,zm->z", own, np.cos(phase))
        slope = -np.einsum("zm,zm->z", own * frequency, np.sin(phase))
        step = np.divide(value, slope, out=np.zeros_like(value), where=slope != 0)
        zero = np.clip(zero - step, left, right)
    waves = np.sin(zero[:, None] * frequency[1:]) / frequency[1:]
    upto = own[:, 0] * zero + np.einsum("zm,zm->z", own[:, 1:], waves)
    last = np.where(series @ np.cos(frequency) >= 0, 1.0, -1.0)
    return last * series[:, 0] + 2.0 * np.bincount(draw, sign * upto, minlength=len(series))


def _sign_changes(series: Array, frequency: Array) -> tuple[NDArray[np.intp], Array, Array, Array]:
    """Return draw, left end, right end and sign at the left end of intervals with one zero each."""
    grid = np.linspace(0.0, 1.0, _CELLS_PER_TERM * len(frequency) + 1)
    phase = frequency[:, None] * grid
    value, slope = series @ np.cos(phase), -(series * frequency) @ np.sin(phase)
    positive = value >= 0
    draw, cell = np.nonzero(positive[:, :-1] != positive[:, 1:])
    sign = np.where(positive[draw, cell], 1.0, -1.0)

    # where a series turns back towards its old sign within a cell, two zeros may lie there
    outward = np.where(positive, slope, -slope)
    same = positive[:, :-1] == positive[:, 1:]
    dip_draw, dip_cell = np.nonzero(same & (outward[:, :-1] < 0) & (outward[:, 1:] > 0))
    before, after = outward[dip_draw, dip_cell], outward[dip_draw, dip_cell + 1]
    turn = grid[dip_cell] + (grid[1] - grid[0]) * before / (before - after)
    at_turn = np.einsum("zm,zm->z", series[dip_draw], np.cos(turn[:, None] * frequency))
    crosses = (at_turn >= 0) != positive[dip_draw, dip_cell]
    dip_draw, dip_cell, turn = dip_draw[crosses], dip_cell[crosses], turn[crosses]
    dip_sign = np.where(positive[dip_draw, dip_cell], 1.0, -1.0)
    return (
        np.concatenate([draw, dip_draw, dip_draw]),
        np.concatenate([grid[cell], grid[dip_cell], turn]),
        np.concatenate([grid[cell + 1], turn, grid[dip_cell + 1]]),
        np.concatenate([sign, dip_sign, -dip_sign]),
    )
