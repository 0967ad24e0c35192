"""Bootstrap of statistics over domains: percentile intervals, differences and retention.

A draw resamples whole units (episodes, genes, ...) within each domain with replacement, and so
gives every forecast a weight; a statistic of all draws is a few matrix products. A macro-average
weighs domains equally. A draw that leaves a statistic undefined in some domains averages the
others; one undefined in every domain is dropped and counted. Intervals are percentiles, linearly
interpolated.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.evaluation.statistic import (
    Array,
    Statistic,
    checked_forecasts,
    checked_numbers,
    point_estimate,
)
from bed.seeds import generator

__all__ = [
    "LEVEL",
    "Bootstrap",
    "Interval",
    "OnUndefined",
    "bootstrap_macro",
    "index_weights",
    "macro_average",
    "macro_intervals",
    "paired_difference",
    "paired_retention",
    "percentile_ci",
    "retention",
    "unit_weights",
]

LEVEL = 0.95

OnUndefined = Literal["raise", "omit"]

_DRAWS_AT_ONCE = 512
_ENTRIES_AT_ONCE = 2**20
_SAME = 1e-12

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Interval:
    """A point estimate with its bootstrap draws; all in the unit of the statistic.

    Attributes:
        point: the statistic of all forecasts.
        lo: lower end; NaN where no draw was defined.
        hi: upper end; NaN where no draw was defined.
        draws: the draws in which the statistic was defined.
        num_dropped: how many others there were.
    """

    point: float
    lo: float
    hi: float
    draws: Array
    num_dropped: int


@dataclass(frozen=True, eq=False)
class Bootstrap(Interval):
    """An interval of a macro-average, and those of the domains that it averages.

    Attributes:
        domains: name -> interval.
    """

    domains: Mapping[str, Interval]


def percentile_ci(draws: ArrayLike, level: float = LEVEL) -> tuple[float, float]:
    """Return the central interval that holds a share `level` of the draws.

    Args:
        draws: at least one; infinities are kept, and an end next to one is infinite.
        level: in (0, 1].

    Raises:
        DataError: for no draws, NaN, and a level out of range.
    """
    if not 0 < level <= 1:
        raise DataError(f"level {level!r} is outside the range (0, 1]; 0.95 is usual")
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise DataError(f"draws of shape {values.shape}: a list of at least one is needed")
    if np.isnan(values).any():
        raise DataError("draws hold NaN (missing): drop undefined draws and count them")
    values = np.sort(values)
    place = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0]) * (len(values) - 1)
    below = values[np.floor(place).astype(np.int64)]
    above = values[np.ceil(place).astype(np.int64)]
    share = place - np.floor(place)
    # equal neighbours may be infinite, and have no difference then
    between = (share > 0) & (below != above)
    if (np.isinf(below) & np.isinf(above) & between).any():
        raise DataError(
            "an end of the interval is undefined: draws are infinite in both directions"
        )
    ends = below.copy()
    ends[between] = ((1.0 - share) * below + share * above)[between]
    return float(ends[0]), float(ends[1])


def macro_average(values: Mapping[str, float | None], on_undefined: OnUndefined = "raise") -> float:
    """Return the mean over domains, each of the same weight.

    Args:
        values: name -> statistic; None and NaN stand for undefined.
        on_undefined: "raise", or "omit" to leave such domains out.

    Raises:
        DataError: for no domains, an undefined one (or all of them) and an unknown option.
    """
    if on_undefined not in get_args(OnUndefined):
        raise DataError(f"on_undefined {on_undefined!r} is unknown: use 'raise' or 'omit'")
    if not values:
        raise DataError("no domains to average: at least one is needed")
    defined = [v for v in values.values() if v is not None and not math.isnan(v)]
    if not defined or (len(defined) < len(values) and on_undefined == "raise"):
        raise DataError(f"the statistic is undefined in some domains: {dict(values)}")
    if {math.inf, -math.inf} <= set(defined):
        raise DataError(f"the mean of {dict(values)} is undefined: infinite in both directions")
    return float(np.mean(defined))


def unit_weights(units: Sequence[Hashable], num_draws: int, seed: int) -> Array:
    """Return how often each forecast counts in draws that resample whole units.

    One unit alone is drawn every time: an interval from it has no width and says nothing.

    Args:
        units: what each forecast belongs to, shape (n,); a unit's forecasts come together.
        num_draws: at least 1.
        seed: of the draws; the same units and seed give the same weights.

    Returns:
        Multiplicities, shape (num_draws, n).

    Raises:
        DataError: for no units and no draws.
    """
    if num_draws < 1:
        raise DataError(f"num_draws is {num_draws!r}: at least one draw is needed")
    number = {unit: i for i, unit in enumerate(dict.fromkeys(units))}
    if not number:
        raise DataError("no units to resample, the list is empty: at least one is needed")
    count = len(number)
    drawn = generator(seed, "bootstrap").integers(count, size=(num_draws, count))
    weights = _multiplicities(drawn, count)
    if count == len(units):
        return weights
    return weights[:, [number[unit] for unit in units]]


def index_weights(indices: Sequence[Sequence[int]] | ArrayLike, n: int) -> Array:
    """Return how often each of n forecasts counts in given resamples, shape (draws, n).

    Args:
        indices: forecasts numbered from 0, one row a draw, each as long as the forecasts.
        n: number of forecasts.

    Raises:
        DataError: for no draws, rows of another length than n, and indices out of range.
    """
    try:
        drawn = np.asarray(indices)
    except ValueError as error:
        raise DataError("resamples differ in length: every draw needs the same number") from error
    if drawn.ndim != 2 or drawn.shape[1] != n:
        raise DataError(f"resamples of shape {drawn.shape}: each needs the length {n} of the data")
    if drawn.size == 0:
        raise DataError("the resamples are empty: at least one draw of one forecast is needed")
    if drawn.dtype.kind not in "iu":
        raise DataError(f"resamples must be integer indices, got {drawn.dtype}: invalid")
    for index in (drawn.min(), drawn.max()):
        if not 0 <= index < n:
            raise DataError(f"a resample holds index {index}, outside the range 0 to {n - 1}")
    return _multiplicities(drawn, n)


def macro_intervals(
    points: Mapping[str, float], draws: Mapping[str, Array], level: float = LEVEL
) -> Bootstrap:
    """Return the macro-average of any statistic, with its interval and those of the domains.

    Args:
        points: name -> statistic of all the domain's data.
        draws: name -> statistic of every draw, shape (draws,), NaN where undefined; as many draws
            in every domain.
        level: of the intervals.

    Raises:
        DataError: where the statistic is undefined in a domain or in every draw; for no domains,
            and draws that do not fit them.
    """
    point = macro_average(points)
    lengths = {name: len(draws.get(name, ())) for name in points}
    if set(draws) != set(points) or len(set(lengths.values())) > 1:
        raise DataError(
            f"draws of {sorted(draws)} do not fit the domains, of which {lengths} draws are given: "
            "a mismatch; give as many to each"
        )
    stacked = np.stack([draws[name] for name in points])
    num_defined = (~np.isnan(stacked)).sum(axis=0)
    macro = np.full(len(num_defined), np.nan)
    # infinities of both signs have no mean: the draw is undefined
    with np.errstate(invalid="ignore"):
        np.divide(np.nansum(stacked, axis=0), num_defined, out=macro, where=num_defined > 0)
    whole = _interval(point, macro, level)
    if whole.draws.size == 0:
        raise DataError(f"the statistic is undefined in every domain in all {len(macro)} draws")
    domains = {name: _interval(points[name], draws[name], level) for name in points}
    return Bootstrap(whole.point, whole.lo, whole.hi, whole.draws, whole.num_dropped, domains)


def bootstrap_macro(
    statistic: Statistic,
    domains: Mapping[str, tuple[ArrayLike, ArrayLike]],
    weights: Mapping[str, Array],
    level: float = LEVEL,
) -> Bootstrap:
    """Return a statistic macro-averaged over domains, with its interval and those of the domains.

    Args:
        statistic: such as one of `bed.evaluation.scores.STATISTICS`.
        domains: name -> forecasts p and labels y, each of shape (n,).
        weights: name -> weights of shape (draws, n), as many draws in every domain.
        level: of the intervals.

    Raises:
        DataError: where the statistic of all forecasts of a domain or of every draw is undefined;
            for no domains, malformed forecasts, and weights that do not fit them.
    """
    points, draws = {}, {}
    for name, (p, y) in _fitting(domains, weights).items():
        p, y = _named(name, p, y)
        points[name], draws[name] = _resampled(statistic, p, y, weights[name], _of(name))
    return macro_intervals(points, draws, level)


def paired_difference(
    statistic: Statistic,
    domains: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
    weights: Mapping[str, Array],
    level: float = LEVEL,
) -> Bootstrap:
    """Return the statistic of model a minus that of model b, macro-averaged over domains.

    Both models are scored on the same forecasts of every draw.

    Args:
        statistic: such as one of `bed.evaluation.scores.STATISTICS`.
        domains: name -> labels y, forecasts of a and forecasts of b, each of shape (n,).
        weights: as in `bootstrap_macro`.
        level: of the intervals.

    Raises:
        DataError: as `bootstrap_macro`.
    """
    points, draws = {}, {}
    for name, (y, p_a, p_b) in _fitting(domains, weights).items():
        a, b = (
            _resampled(statistic, *_named(name, p, y), weights[name], _of(name)) for p in (p_a, p_b)
        )
        # infinitely bad against infinitely bad leaves no difference
        with np.errstate(invalid="ignore"):
            points[name], draws[name] = a[0] - b[0], a[1] - b[1]
    return macro_intervals(points, draws, level)


def retention(m_leave_out: float, m_untrained: float, m_all: float) -> float:
    """Return the share of training's improvement that remains in a domain left out of it.

    (untrained - leave-out) / (untrained - all), the same for metrics of either direction; above 1
    where leaving the domain out helped, negative where it undid more than training brought.

    Args:
        m_leave_out: metric of the model trained on the other domains.
        m_untrained: metric of the model before training.
        m_all: metric of the model trained on all domains.

    Raises:
        DataError: where training brought no improvement (zero denominator), and for NaN.
    """
    metrics = checked_numbers([m_leave_out, m_untrained, m_all], "the metrics")
    share = float(_retentions(*metrics[:, None])[0])
    if math.isnan(share):
        raise DataError(
            f"retention is undefined: untrained {m_untrained!r} and all-domain {m_all!r} differ by "
            "zero"
        )
    return share


def paired_retention(
    statistic: Statistic,
    y: ArrayLike,
    p_leave_out: ArrayLike,
    p_untrained: ArrayLike,
    p_all: ArrayLike,
    weights: Array,
    level: float = LEVEL,
) -> Interval:
    """Return the retention of a statistic in one domain, the three models on the same draws.

    A draw in which the untrained and the all-domain model are equal is dropped and counted.

    Args:
        statistic: such as one of `bed.evaluation.scores.STATISTICS`.
        y: labels, shape (n,).
        p_leave_out: forecasts of the model trained on the other domains, shape (n,).
        p_untrained: forecasts of the model before training, shape (n,).
        p_all: forecasts of the model trained on all domains, shape (n,).
        weights: shape (draws, n).
        level: of the interval.

    Raises:
        DataError: as `retention` and `bootstrap_macro`.
    """
    models = {"p_leave_out": p_leave_out, "p_untrained": p_untrained, "p_all": p_all}
    results = [
        _resampled(statistic, *_named(name, p, y), weights, f" for {name}")
        for name, p in models.items()
    ]
    leave_out, untrained, everything = (draws for _, draws in results)
    point = retention(*(point for point, _ in results))
    interval = _interval(point, _retentions(leave_out, untrained, everything), level)
    if interval.draws.size == 0:
        raise DataError(f"retention is undefined (zero denominator) in all {len(weights)} draws")
    return interval


def _multiplicities(drawn: NDArray[np.integer[Any]], n: int) -> Array:
    counts = np.empty((len(drawn), n))
    for row, indices in zip(counts, drawn, strict=True):
        row[:] = np.bincount(indices, minlength=n)
    return counts


def _of(name: str) -> str:
    return f" in domain {name!r}"


def _named(name: str, p: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return checked forecasts and labels; an error names whose they are."""
    try:
        return checked_forecasts(p, y)
    except DataError as error:
        raise DataError(f"{name}: {error}") from error


def _fitting(domains: Mapping[str, _T], weights: Mapping[str, Array]) -> Mapping[str, _T]:
    """Return the domains, which are at least one and those of the weights."""
    if not domains:
        raise DataError("no domains: at least one is needed")
    if set(domains) != set(weights):
        raise DataError(
            f"domains {sorted(domains)} and weights of {sorted(weights)} are a mismatch: give "
            "weights for every domain"
        )
    draws = {name: len(weights[name]) for name in domains}
    if len(set(draws.values())) > 1:
        raise DataError(f"numbers of draws differ between domains: {draws}; give the same to all")
    return domains


def _resampled(
    statistic: Statistic, p: Array, y: Array, weights: Array, where: str
) -> tuple[float, Array]:
    """Return the point estimate and the draws, shape (draws,), NaN where undefined."""
    if weights.ndim != 2 or weights.shape[1] != len(p) or not len(weights):
        raise DataError(
            f"weights{where} have shape {weights.shape}: one row of {len(p)} a draw is due"
        )
    if not (weights.min() >= 0 and weights.max() < math.inf):
        raise DataError(f"weights{where} must be finite and not negative")
    point = point_estimate(statistic, p, y, where)
    # blocks bound the memory that a statistic takes beside the weights
    rows = max(1, min(_DRAWS_AT_ONCE, _ENTRIES_AT_ONCE // len(p)))
    blocks = (weights[start : start + rows] for start in range(0, len(weights), rows))
    return point, np.concatenate([statistic(p, y, block) for block in blocks])


def _interval(point: float, draws: Array, level: float) -> Interval:
    defined = draws[~np.isnan(draws)]
    lo, hi = percentile_ci(defined, level) if defined.size else (math.nan, math.nan)
    return Interval(point, lo, hi, defined, len(draws) - len(defined))


def _retentions(leave_out: Array, untrained: Array, everything: Array) -> Array:
    """Return retention, NaN where untrained and all-domain metrics are equal but for rounding."""
    equal = np.isclose(untrained, everything, rtol=_SAME, atol=0.0)
    share = np.full(untrained.shape, np.nan)
    with np.errstate(invalid="ignore"):
        np.divide(untrained - leave_out, untrained - everything, out=share, where=~equal)
    return share
