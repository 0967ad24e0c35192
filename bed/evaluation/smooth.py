"""Smooth calibration error: distance of the forecasts from a kernel regression of the labels.

sMECE = mean over forecasts p_j of |y_h(p_j) - p_j|, where y_h(t) is the mean of the labels weighted
by K_h(t, p_i) (Nadaraya-Watson) and K_h a Gaussian of width h reflected once at 0 and once at 1:

    K_h(t, p) = phi(t - p) + phi(t + p) + phi(t - (2 - p)),  h = max(0.02, 1.06 sigma n^(-1/5)).

Cosines and sines are eigenfunctions of that kernel, and the bandwidth enters by the eigenvalues
alone: all draws of a bootstrap, each with a bandwidth of its own, are a few matrix products,
without a kernel between every two forecasts.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

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
_REACH = 7.0
"""Widths beyond which a Gaussian, below 3e-11 of its height, is nothing; in frequency likewise."""


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
    """Return the smooth calibration error of every draw, shape (draws,); NaN without any weight.

    Args:
        p: forecasts in [0, 1], shape (n,).
        y: labels 0/1, shape (n,).
        weights: how often each counts, shape (draws, n).
    """
    waves, kernel = _spectrum(p, _bandwidths(p, weights))
    ones = y == 1
    label = (kernel * (weights[:, ones] @ waves[ones])) @ waves.T
    mass = (kernel * (weights @ waves)) @ waves.T
    # a forecast that does not count in a draw may lie where the kernels of the draw leave nothing
    mass += weights == 0
    error = label / mass
    error -= p
    np.abs(error, out=error)
    return ratio(np.einsum("di,di->d", weights, error), weights.sum(axis=1))


def _spectrum(p: Array, width: Array) -> tuple[Array, Array]:
    """Return eigenfunctions at the forecasts, (n, terms), and eigenvalues, (draws, terms).

    A Gaussian over a period is a sum over m of a_m cos(w_m d), with a_m = exp(-(w_m h)^2 / 2) and
    a_0 half of that, but for a factor that cancels. With x = t - 1/2 and u = p - 1/2 the kernel is

        sum over m of a_m (1 + 2 cos w_m) cos(w_m x) cos(w_m u) + a_m (1 - 2 cos w_m) sin sin

    over a period so long that no Gaussian reaches [0, 1] around it. Where none reaches across
    [0, 1] either, reflecting for ever is the same as reflecting once, and fewer terms do: those of
    period 2, a_m cos(w_m t) cos(w_m p).
    """
    reach = _REACH * width.max()
    period = 2.0 if reach <= 1.0 else 2.0 + reach
    num_terms = math.ceil(_REACH * period / (2.0 * math.pi * width.min()))
    frequency = np.arange(num_terms + 1) * (2.0 * math.pi / period)
    damping = np.exp(-((width[:, None] * frequency) ** 2) / 2.0)
    damping[:, 0] /= 2.0
    if reach <= 1.0:
        return np.cos(p[:, None] * frequency), damping
    phase = (p - 0.5)[:, None] * frequency
    waves = np.concatenate([np.cos(phase), np.sin(phase)], axis=1)
    images = 2.0 * np.cos(frequency)
    return waves, np.concatenate([damping * (1.0 + images), damping * (1.0 - images)], axis=1)


def _bandwidths(p: Array, weights: Array) -> Array:
    """Return the bandwidth of every draw, shape (draws,)."""
    total = weights.sum(axis=1)
    # about the middle, so that equal forecasts have no spread at all
    offset = p - (p.min() + p.max()) / 2.0
    mean = ratio(weights @ offset, total)
    variance = np.maximum(ratio(weights @ offset**2, total) - mean**2, 0.0)
    silverman = 1.06 * np.sqrt(variance) * np.maximum(total, 1.0) ** -0.2
    return np.asarray(np.fmax(silverman, _MIN_BANDWIDTH))
