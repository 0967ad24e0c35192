"""Do more relevant stubs move the belief more? Size of an update against tier of relevance.

Updates are weights of evidence in decibans; those of 0 count. Sizes are rounded to nine decimals,
so that equal moves are ties.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.evaluation.revision import DECIMALS
from bed.evaluation.statistic import Array, checked_numbers, checked_same_length, ratio

__all__ = [
    "RelativeWeights",
    "relative_weight_by_tier",
    "relevance_spearman",
    "resampled_spearman",
]

Integers = NDArray[np.intp]

_CELLS_AT_ONCE = 1 << 20
"""Draws times stubs whose ranks are held in memory together."""


def relevance_spearman(w: ArrayLike, tier: ArrayLike) -> float:
    """Return Spearman's rank correlation of |w| with relevance, in [-1, 1].

    Args:
        w: weights of evidence of single stubs, decibans.
        tier: relevance of each stub, 1 the most relevant.

    Raises:
        DataError: for no stubs, lengths that differ, numbers that are not finite, or |w| or tiers
            that are all equal.
    """
    size, _ = _checked(w, tier)
    found = float(resampled_spearman(w, tier, np.ones((1, size.size)))[0])
    if np.isnan(found):
        raise DataError("all |w| or all tiers are equal, so their correlation is undefined")
    return found


def resampled_spearman(w: ArrayLike, tier: ArrayLike, weights: Array) -> Array:
    """Return the rank correlation in each draw, shape (draws,); NaN where it is undefined.

    Args:
        w: as in `relevance_spearman`, shape (n,).
        tier: likewise.
        weights: multiplicities of the stubs, shape (draws, n).

    Raises:
        DataError: as `relevance_spearman`, but for equal values.
    """
    size, near = _checked(w, tier)
    order = np.argsort(size, kind="stable")
    _, group = np.unique(size[order], return_inverse=True)
    _, level = np.unique(-near[order], return_inverse=True)
    step = max(1, _CELLS_AT_ONCE // size.size)
    parts = [
        _correlation(group, level, weights[start : start + step, order])
        for start in range(0, len(weights), step)
    ]
    return np.concatenate(parts)


def _checked(w: ArrayLike, tier: ArrayLike) -> tuple[Array, Array]:
    weight, near = checked_numbers(w, "w"), checked_numbers(tier, "tier")
    checked_same_length(w=weight, tier=near)
    return np.abs(np.round(weight, DECIMALS)), near


def _correlation(group: Integers, level: Integers, weights: Array) -> Array:
    """Return the correlation of average ranks in each row of weights.

    Args:
        group: rank of each |w| among the distinct ones, ascending.
        level: rank of each relevance among the distinct ones.
        weights: shape (draws, n).
    """
    is_level = np.eye(level.max() + 1)[level]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    centre = (weights.sum(axis=1, keepdims=True) + 1.0) / 2.0
    of_group, of_level = np.add.reduceat(weights, starts, axis=1), weights @ is_level
    a, b = _ranks(of_group) - centre, _ranks(of_level) - centre
    # ranks are multiples of 1/2, so equal ones leave exactly nothing here
    across, along = (of_group * a * a).sum(axis=1), (of_level * b * b).sum(axis=1)
    product = ((weights * a[:, group]) @ is_level * b).sum(axis=1)
    return ratio(product, np.sqrt(across) * np.sqrt(along))


def _ranks(count: Array) -> Array:
    """Return the average rank of each of some ascending values that stand `count` times."""
    return np.asarray(np.cumsum(count, axis=1) - (count - 1.0) / 2.0)


@dataclass(frozen=True)
class RelativeWeights:
    """|w| relative to the mean |w| of its episode, by tier of relevance.

    Attributes:
        tiers: ascending, 1 the most relevant.
        sums: over the stubs of each episode and tier, shape (num_episodes, num_tiers).
        counts: of stubs, the same shape; 0 in an episode without movement.
        episodes: what each row stands for, as given.
    """

    tiers: tuple[int, ...]
    sums: Array
    counts: Array
    episodes: tuple[int | str, ...]

    @property
    def means(self) -> Mapping[int, float]:
        """Mean by tier, for the tiers of episodes in which the belief moved."""
        mean = self.resampled(np.ones((1, len(self.episodes))))[0]
        return {
            tier: float(value)
            for tier, value in zip(self.tiers, mean, strict=True)
            if not np.isnan(value)
        }

    def resampled(self, weights: Array) -> Array:
        """Return means in each draw, shape (draws, num_tiers); NaN where a draw lacks the tier.

        Args:
            weights: multiplicities of the episodes, shape (draws, num_episodes).
        """
        return ratio(weights @ self.sums, weights @ self.counts)


def relative_weight_by_tier(w: ArrayLike, tier: ArrayLike, episode: ArrayLike) -> RelativeWeights:
    """Return |w| over the episode's mean |w|, by tier; episodes without movement are left out.

    Args:
        w: weights of evidence of single stubs, decibans.
        tier: relevance of each stub, 1 the most relevant.
        episode: number or name of each stub's episode.

    Raises:
        DataError: for no stubs, lengths that differ, numbers that are not finite, or updates that
            are all 0.
    """
    size, near = _checked(w, tier)
    names, row = np.unique(np.asarray(episode), return_inverse=True)
    if row.shape != size.shape:
        raise DataError(f"weights and episodes differ in length: {size.size} and {row.size}")
    mean = np.bincount(row, size) / np.bincount(row)
    if not mean.any():
        raise DataError("all updates are zero, so relative weights are undefined")
    tiers, column = np.unique(near, return_inverse=True)
    moves = mean[row] > 0
    at = (row[moves], column[moves])
    sums, counts = np.zeros((2, len(names), len(tiers)))
    np.add.at(sums, at, size[moves] / mean[row[moves]])
    np.add.at(counts, at, 1.0)
    return RelativeWeights(
        tuple(int(value) for value in tiers), sums, counts, tuple(names.tolist())
    )
