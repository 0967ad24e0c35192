"""Arithmetic of belief: entropy, divergence, information gain, weight of evidence.

Information is in bits, weight of evidence in decibans (10 log10 of the Bayes factor, Good 1950;
credit scoring uses the words "weight of evidence" for another thing), log odds are natural.
Functions broadcast over arrays and reject what is not a probability.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, xlog1py, xlogy

from bed.errors import DataError

__all__ = [
    "CLIP",
    "LOG2",
    "as_numbers",
    "best_index",
    "checked_probabilities",
    "cumulative_weight_of_evidence_db",
    "entropy_bits",
    "information_gain_bits",
    "kl_bits",
    "log_odds",
    "probability",
    "relative_information",
    "true_label_probability",
    "weight_of_evidence_db",
    "weight_of_evidence_series_db",
]

Array = NDArray[np.float64]

LOG2 = math.log(2.0)
CLIP = 1e-3
"""Beliefs are clipped to [CLIP, 1 - CLIP] where a logarithm of theirs is averaged or fitted."""
_TIE_BITS = 1e-9
_RATIO_OVERFLOWS = 1e-300
_DECIBANS_PER_NAT = 10.0 / math.log(10.0)


def as_numbers(values: ArrayLike, name: str) -> Array:
    """Return `values` as a float array of any shape.

    Raises:
        DataError: for what is not a number.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US":
            raise TypeError("text is no number")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must hold numbers, got {values!r}: missing or not a number"
        ) from error


def checked_probabilities(p: ArrayLike, name: str = "p") -> Array:
    """Return `p` as a float array, every entry in [0, 1].

    Raises:
        DataError: for NaN, for values outside [0, 1] and for what is not a number.
    """
    array = as_numbers(p, name)
    if np.isnan(array).any():
        raise DataError(f"{name} holds NaN (missing or not finite); leave failed forecasts out")
    if ((array < 0) | (array > 1)).any():
        worst = float(array[(array < 0) | (array > 1)].flat[0])
        raise DataError(f"{name} holds {worst!r}, outside the range [0, 1]")
    return array


def entropy_bits(p: ArrayLike) -> Array:
    """Return the entropy of a yes/no belief, in bits, in [0, 1]; exact at 0 and 1."""
    p = checked_probabilities(p)
    entropy = -(xlogy(p, p) + xlog1py(1.0 - p, -p)) / LOG2
    return np.asarray(np.where((p == 0) | (p == 1), 0.0, entropy))


def information_gain_bits(p_before: ArrayLike, p_after: ArrayLike) -> Array:
    """Return the entropy before minus the entropy after, in bits, in [-1, 1]."""
    before = checked_probabilities(p_before, "p_before")
    after = checked_probabilities(p_after, "p_after")
    return entropy_bits(before) - entropy_bits(after)


def relative_information(ratio_minus_one: ArrayLike) -> Array:
    """Return (1 + r) ln(1 + r) - r for r >= -1, in nats, accurate where r is tiny.

    Divergences written with it keep full precision for nearly equal distributions, where a
    difference of entropies loses every digit: the terms linear in r cancel before they are formed.
    """
    r = np.asarray(ratio_minus_one, dtype=np.float64)
    small = np.abs(r) < 1e-3
    series_at = np.where(small, r, 0.0)
    series = series_at**2 * (0.5 - series_at * (1 / 6 - series_at * (1 / 12 - series_at / 20)))
    direct_at = np.where(small, 0.0, r)
    # xlog1py is 0 at r = -1, where an outcome is impossible
    direct = xlog1py(1.0 + direct_at, direct_at) - direct_at
    return np.asarray(np.where(small, series, direct))


def kl_bits(q: ArrayLike, p: ArrayLike) -> Array:
    """Return KL(Bernoulli(q) || Bernoulli(p)) in bits: >= 0, infinite where p excludes q."""
    q, p = np.broadcast_arrays(checked_probabilities(q, "q"), checked_probabilities(p, "p"))
    excluded = ((p == 0) & (q > 0)) | ((p == 1) & (q < 1))
    certain = (p == 0) | (p == 1)
    inner = np.where(certain | (p < _RATIO_OVERFLOWS), 0.5, p)
    r1 = np.where(certain, 0.0, (q - inner) / inner)
    r0 = np.where(certain, 0.0, (inner - q) / (1.0 - inner))
    nats = inner * relative_information(r1) + (1.0 - inner) * relative_information(r0)
    # a ratio to so small a p overflows, and no digits cancel there
    tiny = ~certain & (p < _RATIO_OVERFLOWS)
    at = np.where(tiny, p, 0.5)
    direct = xlogy(q, q) - xlogy(q, at) + xlog1py(1.0 - q, -q) - xlog1py(1.0 - q, -at)
    nats = np.where(tiny, direct, nats)
    return np.asarray(np.where(excluded, np.inf, nats / LOG2))


def log_odds(p: ArrayLike, clip: float = 0.0) -> Array:
    """Return ln p / (1 - p); infinite at 0 and 1 unless p is clipped to [clip, 1 - clip]."""
    p = np.clip(checked_probabilities(p), clip, 1.0 - clip)
    inner = np.clip(p, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
    odds = np.log(inner) - np.log1p(-inner)
    return np.asarray(np.where(p == 0, -np.inf, np.where(p == 1, np.inf, odds)))


def probability(odds: ArrayLike) -> Array:
    """Return the probability with these natural log odds; exact at the infinities."""
    return np.asarray(expit(np.asarray(odds, dtype=np.float64)))


def weight_of_evidence_db(p_before: ArrayLike, p_after: ArrayLike) -> Array:
    """Return the update in decibans, each belief clipped to [0.001, 0.999] first."""
    before = log_odds(checked_probabilities(p_before, "p_before"), CLIP)
    after = log_odds(checked_probabilities(p_after, "p_after"), CLIP)
    return np.asarray((after - before) * _DECIBANS_PER_NAT)


def weight_of_evidence_series_db(p: ArrayLike) -> Array:
    """Return the K updates, in decibans, of a path of K + 1 beliefs.

    Raises:
        DataError: for fewer than two beliefs.
    """
    path = checked_probabilities(p)
    if path.size < 2:
        raise DataError(f"a path needs at least two beliefs, got {path.size}: too few")
    return weight_of_evidence_db(path[:-1], path[1:])


def cumulative_weight_of_evidence_db(p: ArrayLike, theta: int) -> Array:
    """Return decibans gained towards the truth since the first belief; the first value is 0."""
    path = checked_probabilities(p)
    if path.size == 0:
        raise DataError("a path of beliefs is empty: at least one is needed")
    sign = 1.0 if _checked_label(theta) else -1.0
    return np.asarray(sign * weight_of_evidence_db(path[0], path))


def true_label_probability(p: ArrayLike, theta: int) -> Array:
    """Return the belief in the truth: p where theta is 1, otherwise 1 - p."""
    p = checked_probabilities(p)
    if p.size == 0:
        raise DataError("no forecasts: p is empty, at least one is needed")
    return np.asarray(p if _checked_label(theta) else 1.0 - p)


def _checked_label(theta: int) -> int:
    if theta not in (0, 1):
        raise DataError(f"theta {theta!r} is not a binary label: use 0 or 1")
    return int(theta)


def best_index(
    worth: Sequence[float | None] | Array, cost: Array | None = None
) -> tuple[int, tuple[int, ...]]:
    """Return the lowest index within 1e-9 bits of the highest worth, and all indices tied with it.

    Args:
        worth: bits, or bits per cost; None and NaN are never chosen.
        cost: where worth is per cost, what each costs: a tie is judged in bits at the best one's.

    Raises:
        DataError: where no entry is a number.
    """
    values = np.array([np.nan if w is None else w for w in worth], dtype=np.float64)
    if np.isnan(values).all():
        raise DataError("no candidate left to choose from: none has a worth")
    unit = 1.0 if cost is None else cost[np.nanargmax(values)]
    tied = np.flatnonzero((np.nanmax(values) - values) * unit <= _TIE_BITS)
    return int(tied[0]), tuple(int(i) for i in tied)
