"""Bounds on the information in whole sequences of experiments.

    sPCE = E[log p(h | theta_0) / mean_{l=0..L} p(h | theta_l)]  <=  I(theta; h)
    sNMC = E[log p(h | theta_0) / mean_{l=1..L} p(h | theta_l)]  >=  I(theta; h)

The history h was made by theta_0, and theta_1..L are drawn from the prior. Both close on the
information as L grows; sPCE never exceeds log2(L + 1) bits (Foster, Ivanova, Malik and Rainforth,
"Deep Adaptive Design", ICML 2021).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from bed.errors import DataError
from bed.information import LOG2

__all__ = ["SequenceBounds", "sequence_bounds"]


@dataclass(frozen=True)
class SequenceBounds:
    """Bounds on the information in a sequence, bits.

    Attributes:
        lower: sPCE.
        lower_stderr: its standard error; NaN for a single history.
        upper: sNMC; infinite where a history is impossible under every contrastive draw.
        upper_stderr: its standard error; NaN for a single history, or an infinite bound.
    """

    lower: float
    lower_stderr: float
    upper: float
    upper_stderr: float


def sequence_bounds(log_likelihood: ArrayLike) -> SequenceBounds:
    """Return the sequential prior contrastive and the nested Monte Carlo bound.

    Args:
        log_likelihood: log p(history | theta_l) in nats, shape (num_histories, 1 + L), L >= 1.
            Column 0 is the theta that made the history, the others are drawn from the prior
            independently of it. -inf stands for an impossible history, outside column 0 only.

    Raises:
        DataError: for another shape, NaN, +inf, or a history that its own theta excludes.
    """
    logs = _checked(log_likelihood)
    own, num_draws = logs[:, 0], logs.shape[1] - 1
    contrast = logsumexp(logs[:, 1:], axis=1)
    lower = own - np.logaddexp(own, contrast) + math.log(num_draws + 1)
    upper = own - contrast + math.log(num_draws)
    return SequenceBounds(*_mean_bits(lower), *_mean_bits(upper))


def _checked(log_likelihood: ArrayLike) -> NDArray[np.float64]:
    logs = np.asarray(log_likelihood, dtype=np.float64)
    if logs.ndim != 2 or logs.shape[0] < 1 or logs.shape[1] < 2:
        raise DataError(
            f"log_likelihood has shape {logs.shape}; it must be (num_histories, 1 + L) with at "
            "least one history and one contrastive draw"
        )
    wrong = np.isnan(logs) | (logs == np.inf)
    wrong[:, 0] |= logs[:, 0] == -np.inf
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataError(
            f"log_likelihood holds {logs[row, column]} in row {row}, column {column}: it must be "
            "a logarithm of a likelihood, and finite in column 0, whose theta made the history"
        )
    return logs


def _mean_bits(nats: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    bits = nats / LOG2
    if len(bits) < 2 or not np.isfinite(bits).all():
        return float(bits.mean()), math.nan
    return float(bits.mean()), float(bits.std(ddof=1) / math.sqrt(len(bits)))
