"""Do updates promise what the labels bear out? The odds ratio of support, and its slope beta.

Within a domain the updates that are not 0 are sorted into five tiers of weight w and five strata of
the belief that they move, by quantiles. With a, b the updates of a tier with theta = 1 and 0, and
c, d those of the reference tier, both within stratum s of n_s updates,

    psi = 10 log10 [ sum_s a_s d_s / n_s ] / [ sum_s b_s c_s / n_s ]          (Mantel-Haenszel)

is what a tier is worth, in decibans, and x = mean w of the tier - mean w of the reference is what
it promises. beta is the slope of psi on x through the origin, over points averaged over domains by
rank of tier: 1 for a Bayesian, below 1 where the belief overreacts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.evaluation.resampling import LEVEL, Interval, percentile_ci
from bed.evaluation.revision import DECIMALS, Paths, Updates, updates_from_forecasts
from bed.evaluation.statistic import Array, checked_numbers, checked_same_length, ratio

__all__ = [
    "BetaInterval",
    "Bins",
    "DomainSupport",
    "Support",
    "bootstrap_beta",
    "mh_odds_ratio_db",
    "odds_ratio_of_support",
    "quantile_bins",
    "slope_through_origin",
]

_NUM_TIERS = 5
_NUM_STRATA = 5
_CORRECTION = 0.5
"""Added to each cell where an odds ratio would be 0 or infinite."""


@dataclass(frozen=True)
class Bins:
    """Quantile bins, closed on the right, the lowest value included.

    Attributes:
        edges: ascending; one more than bins, or one value where all values are tied.
        index: bin of each value, from 0.
        num_bins: edges that are tied are merged, so perhaps fewer than asked for.
    """

    edges: Array
    index: NDArray[np.intp]
    num_bins: int


def quantile_bins(x: ArrayLike, num_bins: int) -> Bins:
    """Sort values into bins of about equal size.

    Args:
        x: finite numbers, rounded to nine decimals first.
        num_bins: 1 or more.

    Raises:
        DataError: for no values, values that are not finite, or no bins.
    """
    values = np.round(checked_numbers(x, "x"), DECIMALS)
    if num_bins < 1:
        raise DataError(f"num_bins is {num_bins!r}, out of range: at least one is needed")
    fractions = np.arange(num_bins + 1) / num_bins
    edges = np.unique(np.round(np.quantile(values, fractions), DECIMALS))
    index = np.maximum(np.searchsorted(edges[1:-1], values, side="left"), 0)
    return Bins(edges, index, max(len(edges) - 1, 1))


def mh_odds_ratio_db(a: ArrayLike, b: ArrayLike, c: ArrayLike, d: ArrayLike) -> float:
    """Return the Mantel-Haenszel odds ratio of a tier against the reference, decibans.

    Where either of its sums is 0, 0.5 is added to every cell of every stratum that holds an update.

    Args:
        a: updates of the tier with theta = 1, one count a stratum.
        b: those with theta = 0.
        c: updates of the reference tier with theta = 1.
        d: those with theta = 0.

    Raises:
        DataError: for lengths that differ, counts that are negative or not finite, or strata that
            are all empty.
    """
    cells = {
        name: checked_numbers(cell, name) for name, cell in zip("abcd", (a, b, c, d), strict=True)
    }
    checked_same_length(**cells)
    table = np.stack(list(cells.values()))
    if (table < 0).any():
        raise DataError(f"counts hold {table.min():g}: negative")
    if not table.any():
        raise DataError("all strata are empty: at least one update is needed")
    return float(_odds_ratio_db(*table))


def _odds_ratio_db(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return odds ratios over strata along the last axis; 0 where all of them are empty."""
    total = a + b + c + d
    is_filled = total > 0
    size = np.where(is_filled, total, 1.0)
    for_tier, against = (a * d / size).sum(axis=-1), (b * c / size).sum(axis=-1)
    add = np.where(is_filled, _CORRECTION, 0.0)
    wide = np.where(is_filled, total + 4 * _CORRECTION, 1.0)
    is_open = (for_tier == 0) | (against == 0)
    mended_for = ((a + add) * (d + add) / wide).sum(axis=-1)
    mended_against = ((b + add) * (c + add) / wide).sum(axis=-1)
    is_known = is_filled.any(axis=-1)
    upper = np.where(is_known, np.where(is_open, mended_for, for_tier), 1.0)
    lower = np.where(is_known, np.where(is_open, mended_against, against), 1.0)
    return np.asarray(10.0 * np.log10(upper / lower))


def slope_through_origin(x: ArrayLike, psi: ArrayLike) -> float:
    """Return the least-squares slope of psi on x through the origin.

    Raises:
        DataError: for no points, numbers that are not finite, lengths that differ, or x all 0.
    """
    across, up = checked_numbers(x, "x"), checked_numbers(psi, "psi")
    checked_same_length(x=across, psi=up)
    slope = float(_slope(across, up))
    if np.isnan(slope):
        raise DataError("all x are zero, so the slope is undefined: updates form a single tier")
    return slope


def _slope(x: Array, psi: Array) -> Array:
    """Return slopes over points along the last axis, NaN points left out; NaN where x is all 0."""
    return ratio(np.nansum(x * psi, axis=-1), np.nansum(x * x, axis=-1))


@dataclass(frozen=True)
class DomainSupport:
    """The points of one domain.

    Attributes:
        x: mean weight of each tier, lowest first, minus the reference's; decibans, NaN where empty.
        psi: odds ratio of support of each tier against the reference, decibans.
        num_strata: of belief.
        num_zero: updates of 0, which were left out.
    """

    x: Array
    psi: Array
    num_strata: int
    num_zero: int

    @property
    def num_tiers(self) -> int:
        """How many tiers of weight are left after merging."""
        return len(self.x)


@dataclass(frozen=True)
class Support:
    """What updates promise (x) and what they are worth (psi).

    Attributes:
        reference_tier: rank of the reference tier, from 0: the one whose updates are nearest 0.
        x: decibans, by rank, averaged over the domains that have it; NaN where a tier is empty, as
            happens with a handful of updates.
        psi: likewise; 0 at the reference.
        beta: slope of psi on x through the origin.
        per_domain: the points of each domain.
    """

    reference_tier: int
    x: Array
    psi: Array
    beta: float
    per_domain: dict[str, DomainSupport]


def odds_ratio_of_support(domains: Mapping[str, Updates]) -> Support:
    """Return the odds ratios of support of each tier of weight, and beta.

    Raises:
        DataError: for no domains, a domain without updates, or a single tier in all of them.
    """
    sorted_updates = _sorted(domains)
    reference = _reference(sorted_updates)
    points = {
        name: _points(found, np.ones((1, found.num_units)), reference)
        for name, found in sorted_updates.items()
    }
    x, psi = (mean[0] for mean in _averaged(list(points.values())))
    held = ~np.isnan(x)
    return Support(
        reference,
        x,
        psi,
        slope_through_origin(x[held], psi[held]),
        {
            name: DomainSupport(
                points[name].x[0], points[name].psi[0], found.num_strata, domains[name].num_zero
            )
            for name, found in sorted_updates.items()
        },
    )


@dataclass(frozen=True, eq=False)
class BetaInterval(Interval):
    """beta with its interval over resampled episodes.

    Attributes:
        support: the points of the point estimate.
    """

    support: Support


def bootstrap_beta(
    domains: Mapping[str, tuple[Paths, ArrayLike]],
    weights: Mapping[str, Array],
    level: float = LEVEL,
) -> BetaInterval:
    """Return beta of resampled episodes, which bring all their updates with them.

    Tiers, strata and the reference stay those of the point estimate; points that vanish in a draw
    are left out of it.

    Args:
        domains: name -> paths of forecasts and labels, see `updates_from_forecasts`.
        weights: name -> multiplicities, shape (draws, episodes), from `index_weights` or
            `unit_weights` of `bed.evaluation.resampling`.
        level: of the interval, in (0, 1).

    Raises:
        DataError: as `updates_from_forecasts` and `odds_ratio_of_support`, for weights that do not
            fit the episodes, or where no draw has a beta.
    """
    if set(weights) != set(domains):
        raise DataError(
            f"domains {sorted(domains)} and weights of {sorted(weights)} are a mismatch: give "
            "weights for every domain"
        )
    updates = {name: updates_from_forecasts(*given) for name, given in domains.items()}
    support = odds_ratio_of_support(updates)
    points = []
    for name, (paths, _) in domains.items():
        if weights[name].ndim != 2 or weights[name].shape[1] != len(paths):
            raise DataError(
                f"weights in domain {name!r} have shape {weights[name].shape}: (draws, "
                f"{len(paths)}) is due"
            )
        found = _sort(updates[name], len(paths))
        points.append(_points(found, weights[name], support.reference_tier))
    if len(sizes := {len(found.x) for found in points}) > 1:
        raise DataError(f"numbers of draws differ between domains: {sorted(sizes)}; give the same")
    draws = _slope(*_averaged(points))
    known = draws[~np.isnan(draws)]
    if not known.size:
        raise DataError("beta is undefined in every draw: no resample holds two tiers of weight")
    lo, hi = percentile_ci(known, level)
    return BetaInterval(support.beta, lo, hi, known, draws.size - known.size, support)


@dataclass(frozen=True)
class _Sorted:
    """Updates of a domain by unit (an episode), tier and stratum.

    Attributes:
        count: shape (units, tiers, strata, 2), the last axis by theta.
        weight_db: sum of the weights, shape (units, tiers).
    """

    count: Array
    weight_db: Array

    @property
    def num_units(self) -> int:
        return len(self.count)

    @property
    def num_strata(self) -> int:
        return int(self.count.shape[2])


def _sorted(domains: Mapping[str, Updates]) -> dict[str, _Sorted]:
    if not domains:
        raise DataError("no domains: at least one is needed")
    for name, updates in domains.items():
        if not updates.weight_db.size:
            raise DataError(
                f"domain {name!r}: no updates, all {updates.num_zero} are zero; at least one must "
                "move the belief"
            )
    return {
        name: _sort(updates, int(updates.episode.max()) + 1) for name, updates in domains.items()
    }


def _sort(updates: Updates, num_units: int) -> _Sorted:
    tier = quantile_bins(updates.weight_db, _NUM_TIERS)
    stratum = quantile_bins(updates.log_odds, _NUM_STRATA)
    shape = (num_units, tier.num_bins, stratum.num_bins, 2)
    count = np.zeros(shape)
    np.add.at(count, (updates.episode, tier.index, stratum.index, updates.theta), 1.0)
    weight_db = np.zeros(shape[:2])
    np.add.at(weight_db, (updates.episode, tier.index), updates.weight_db)
    return _Sorted(count, weight_db)


def _reference(domains: Mapping[str, _Sorted]) -> int:
    """Return the rank, of those in every domain, whose mean weight is nearest 0."""
    means = [_mean_weight(found, np.ones((1, found.num_units)))[0] for found in domains.values()]
    shared = min(map(len, means))
    mean = np.mean([of_domain[:shared] for of_domain in means], axis=0)
    return int(np.nanargmin(np.round(np.abs(mean), DECIMALS)))


def _mean_weight(found: _Sorted, weights: Array) -> Array:
    """Return the mean weight of each tier in each draw, decibans; NaN where there is no update."""
    return ratio(weights @ found.weight_db, weights @ found.count.sum(axis=(2, 3)))


class _Points(NamedTuple):
    """x and psi, shape (draws, tiers); NaN where a draw lacks the tier or the reference."""

    x: Array
    psi: Array


def _points(found: _Sorted, weights: Array, reference: int) -> _Points:
    mean = _mean_weight(found, weights)
    x = mean - mean[:, [reference]]
    flat = weights @ found.count.reshape(found.num_units, -1)
    cell = flat.reshape(len(weights), *found.count.shape[1:])
    base = cell[:, [reference]]
    psi = _odds_ratio_db(cell[..., 1], cell[..., 0], base[..., 1], base[..., 0])
    psi[:, reference] = 0.0
    return _Points(x, np.where(np.isnan(x), np.nan, psi))


def _averaged(domains: list[_Points]) -> _Points:
    """Return the points averaged by rank over the domains that have them."""
    num_draws = len(domains[0].x)
    num_ranks = max(found.x.shape[1] for found in domains)
    total, count = np.zeros((2, num_draws, num_ranks)), np.zeros((num_draws, num_ranks))
    for found in domains:
        ranks = slice(found.x.shape[1])
        total[:, :, ranks] += np.nan_to_num(np.stack(found))
        count[:, ranks] += ~np.isnan(found.x)
    return _Points(*(ratio(sums, count) for sums in total))
