"""How good forecasts are, as tables: a row a model, macro-averages and domains, with intervals.

Statistics are those of `bed.evaluation.scores`. A bootstrap draw resamples whole units within each
domain, the same ones for every model that forecasts the same units. Where a domain has one unit
only, all draws are the same: it gets no interval, and the mean over domains gets none with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evaluation.forecasts import MACRO, Forecasts, Texts
from bed.evaluation.platt import crossfit_platt, random_folds
from bed.evaluation.resampling import Bootstrap, Interval, bootstrap_macro, paired_difference
from bed.evaluation.resampling import unit_weights as resampled
from bed.evaluation.scores import (
    NUM_BINS,
    STATISTICS,
    histogram,
    reliability_curve,
    roc_curve,
)
from bed.evaluation.statistic import Array
from bed.seeds import derive_seed

__all__ = [
    "COMPARED",
    "MACRO",
    "Weights",
    "cross_fitted",
    "curves",
    "differences",
    "known_intervals",
    "paired",
    "score_table",
]

COMPARED: Final = ("brier", "log_score", "auroc")
"""Statistics of which differences between models are shown."""

_SLOW: Final = "smece"
_GRID: Final = np.linspace(0.0, 1.0, 101)


class Weights:
    """Bootstrap weights by domain: the same draws for all who ask about the same units.

    Args:
        num_draws: of all statistics but the smooth calibration error.
        num_smooth: of that one, whose draws cost most.
        seed: of the draws.
    """

    def __init__(self, num_draws: int, num_smooth: int, seed: int) -> None:
        self.num_draws, self.num_smooth, self.seed = num_draws, num_smooth, seed
        self._by_unit: dict[tuple[str, tuple[str, ...]], Array] = {}
        # of each domain the latest alone: they take much memory
        self._latest: dict[str, tuple[Texts, Array]] = {}

    def of(self, domain: str, units: Texts, statistic: str = "") -> Array:
        """Return weights, shape (draws, n).

        Args:
            domain: its draws are its own.
            units: of its forecasts, shape (n,).
            statistic: the one they are for.
        """
        latest = self._latest.get(domain)
        if latest is None or not np.array_equal(latest[0], units):
            latest = self._latest[domain] = (units, self._drawn(domain, units))
        return latest[1][: self.num_smooth if statistic == _SLOW else self.num_draws]

    def _drawn(self, domain: str, units: Texts) -> Array:
        names, place = np.unique(units, return_inverse=True)
        key = (domain, tuple(names.tolist()))
        if key not in self._by_unit:
            seed = derive_seed(self.seed, "evaluate", domain)
            num_draws = max(self.num_draws, self.num_smooth)
            self._by_unit[key] = resampled(key[1], num_draws, seed)
        return np.take(self._by_unit[key], place, axis=1)


def known_intervals(
    compute: Callable[..., Bootstrap], units: Mapping[str, Texts], *given: Mapping[str, Any]
) -> dict[str, Interval]:
    """Return the intervals of domains and of their mean ("macro") as far as they are defined.

    Args:
        compute: returns the intervals; raises DataError where one is undefined.
        units: name of a domain -> what its draws resample.
        given: what `compute` takes, each of the same domains.
    """
    try:
        return _bounded(compute(*given), units)
    except DataError:
        alone = units if len(units) > 1 else ()
    found: dict[str, Interval] = {}
    for name in alone:
        here = known_intervals(compute, {name: units[name]}, *({name: of[name]} for of in given))
        found |= {key: interval for key, interval in here.items() if key == name}
    return found


def _bounded(found: Bootstrap, units: Mapping[str, Texts]) -> dict[str, Interval]:
    """Return the intervals, those that rest on one unit alone without bounds."""
    lone = {name for name, of in units.items() if np.unique(of).size == 1}
    unbounded = {*lone, MACRO} if lone else lone
    return {
        name: replace(of, lo=np.nan, hi=np.nan) if name in unbounded else of
        for name, of in {MACRO: found, **found.domains}.items()
    }


def score_table(models: Sequence[Forecasts], weights: Weights) -> xr.Dataset:
    """Return every statistic of every model.

    Args:
        models: their forecasts.
        weights: of the bootstrap.

    Returns:
        `score`, `lo`, `hi`, `dropped` (draws left undefined) over (model, domain, statistic), NaN
        where a model has no forecasts of a domain, and bounds where one unit is all there is;
        `rows` and `units` over (model, domain). The domain "macro" is the mean over those that the
        model forecasts.

    Raises:
        DataError: for labels of one class in a domain, unless the model abstains: then what is
            undefined is NaN.
    """
    domains = _domains(models)
    shape = (len(models), len(domains), len(STATISTICS))
    table = {name: np.full(shape, np.nan) for name in ("score", "lo", "hi", "dropped")}
    for m, model in enumerate(models):
        posed = {name: model.rows(model.domain == name) for name in model.domains}
        pairs = {name: (of.p, of.label) for name, of in posed.items()}
        units = {name: of.unit for name, of in posed.items()}
        many, few = (
            {name: weights.of(name, of, kind) for name, of in units.items()} for kind in ("", _SLOW)
        )
        for s, (statistic, function) in enumerate(STATISTICS.items()):
            drawn = few if statistic == _SLOW else many
            score = partial(bootstrap_macro, function)
            try:
                found = (
                    known_intervals(score, units, pairs, drawn)
                    if model.abstains
                    else _bounded(score(pairs, drawn), units)
                )
            except DataError as error:
                raise DataError(
                    f"model {model.model!r}, column 'label', {statistic}: {error}; leave out a "
                    "domain of one class"
                ) from error
            _fill(table, (m, s), domains, found)
    dims = ("model", "domain", "statistic")
    counted = ("model", "domain")
    return xr.Dataset(
        {
            **{name: (dims, values) for name, values in table.items()},
            "rows": (counted, [[_here(of, d).p.size for d in domains] for of in models]),
            "units": (
                counted,
                [[np.unique(_here(of, d).unit).size for d in domains] for of in models],
            ),
        },
        coords={
            "model": [of.model for of in models],
            "domain": domains,
            "statistic": list(STATISTICS),
        },
    )


def _domains(models: Sequence[Forecasts]) -> list[str]:
    names = sorted({domain for model in models for domain in model.domains})
    if MACRO in names:
        raise DataError(f"a domain is called {MACRO!r}, which stands for the mean; rename it")
    return [MACRO, *names]


def _here(model: Forecasts, domain: str) -> Forecasts:
    return model if domain == MACRO else model.rows(model.domain == domain)


def _fill(
    table: Mapping[str, NDArray[Any]],
    at: tuple[int, int],
    domains: Sequence[str],
    found: Mapping[str, Interval],
) -> None:
    for domain, of in found.items():
        values = (of.point, of.lo, of.hi, of.num_dropped)
        for name, value in zip(("score", "lo", "hi", "dropped"), values, strict=True):
            table[name][at[0], domains.index(domain), at[1]] = value


def cross_fitted(model: Forecasts, seed: int) -> Forecasts:
    """Return forecasts after Platt scaling in each domain, halves of the units fitted on the other.

    Args:
        model: its forecasts.
        seed: of the halves.

    Raises:
        DataError: where a half holds one class only, or nothing.
    """
    p = np.empty(model.p.size)
    for domain in model.domains:
        here = model.domain == domain
        try:
            folds = random_folds(model.unit[here].tolist(), derive_seed(seed, "folds", domain))
            p[here] = crossfit_platt(model.p[here], model.label[here], folds)
        except DataError as error:
            raise DataError(f"model {model.model!r}, domain {domain!r}: {error}") from error
    return model.with_p(p)


def differences(models: Sequence[Forecasts], weights: Weights) -> xr.Dataset:
    """Return how much every model differs from the first one on the rows that both forecast.

    Args:
        models: their forecasts.
        weights: of the bootstrap; both models are scored on the same draws.

    Returns:
        `difference`, `difference_lo`, `difference_hi` over (model, domain, statistic compared), the
        model minus the first, NaN where it is undefined (one class, or minus infinity on both
        sides); `shared` rows over (model,).
    """
    first, domains = models[0], _domains(models)
    shape = (len(models), len(domains), len(COMPARED))
    table = {name: np.full(shape, np.nan) for name in ("score", "lo", "hi", "dropped")}
    shared = np.zeros(len(models), dtype=np.int64)
    for m, model in enumerate(models):
        ours, theirs = paired(model, first)
        shared[m] = ours.p.size
        if not m or not shared[m]:
            continue
        posed = {name: ours.domain == name for name in ours.domains}
        units = {name: ours.unit[here] for name, here in posed.items()}
        drawn = {name: weights.of(name, of) for name, of in units.items()}
        triples = {name: (ours.label[h], ours.p[h], theirs.p[h]) for name, h in posed.items()}
        for s, statistic in enumerate(COMPARED):
            differ = partial(paired_difference, STATISTICS[statistic])
            _fill(table, (m, s), domains, known_intervals(differ, units, triples, drawn))
    dims = ("model", "domain", "compared")
    return xr.Dataset(
        {
            "difference": (dims, table["score"]),
            "difference_lo": (dims, table["lo"]),
            "difference_hi": (dims, table["hi"]),
            "shared": (("model",), shared),
        },
        coords={"compared": list(COMPARED)},
    )


def paired(a: Forecasts, b: Forecasts) -> tuple[Forecasts, Forecasts]:
    """Return both models on the rows that they share, in the order of the first."""
    keys = [of.questions() for of in (a, b)]
    place = {key: row for row, key in enumerate(keys[1])}
    pairs = [(row, place[key]) for row, key in enumerate(keys[0]) if key in place]
    ours, theirs = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return a.rows(ours), b.rows(theirs)


def curves(models: Sequence[Forecasts]) -> xr.Dataset:
    """Return what figures show of every model and domain; "macro" pools all rows.

    Args:
        models: their forecasts.

    Returns:
        `bin_forecast`, `bin_share`, `bin_count` over (model, domain, bin), the reliability curve;
        `roc` over (model, domain, false_positive_rate), interpolated; `value`, `value_count` over
        (model, distinct), the distinct forecasts, NaN and 0 past their number; `by_k` over (model,
        domain, k, statistic compared) and `by_k_rows`, for each number of stubs shown; its "macro"
        is the mean over the model's domains, NaN where one of them lacks the k.
    """
    domains = _domains(models)
    stubs = sorted({k for model in models for k in model.k.tolist()})
    shape = (len(models), len(domains))
    binned = {name: np.full((*shape, NUM_BINS), np.nan) for name in ("forecast", "share")}
    count = np.zeros((*shape, NUM_BINS), dtype=np.int64)
    roc = np.full((*shape, _GRID.size), np.nan)
    by_k = np.full((*shape, len(stubs), len(COMPARED)), np.nan)
    by_k_rows = np.zeros((*shape, len(stubs)), dtype=np.int64)
    for m, model in enumerate(models):
        for d, domain in enumerate(domains):
            here = _here(model, domain)
            if not here.p.size:
                continue
            curve = reliability_curve(here.p, here.label)
            binned["forecast"][m, d, curve.bin] = curve.forecast
            binned["share"][m, d, curve.bin] = curve.share
            count[m, d, curve.bin] = curve.count
            if 0 < here.label.mean() < 1:
                rates = roc_curve(here.p, here.label)
                roc[m, d] = _upper(rates.false_positive_rate, rates.true_positive_rate)
            for j, k in enumerate(stubs):
                at = here.k == k
                by_k_rows[m, d, j] = at.sum()
                if domain != MACRO and at.any():
                    by_k[m, d, j] = _points(here.p[at], here.label[at])
        known = ~np.isnan(by_k[m, 1:]).all(axis=(1, 2))
        by_k[m, 0] = by_k[m, 1:][known].mean(axis=0)
    values = [histogram(model.p) for model in models]
    width = max(found.size for found, _ in values)
    distinct, distinct_count = np.full((len(models), width), np.nan), np.zeros((len(models), width))
    for m, (found, often) in enumerate(values):
        distinct[m, : found.size], distinct_count[m, : found.size] = found, often
    by_bin, by_stub = ("model", "domain", "bin"), ("model", "domain", "k")
    return xr.Dataset(
        {
            "bin_forecast": (by_bin, binned["forecast"]),
            "bin_share": (by_bin, binned["share"]),
            "bin_count": (by_bin, count),
            "roc": (("model", "domain", "false_positive_rate"), roc),
            "value": (("model", "distinct"), distinct),
            "value_count": (("model", "distinct"), distinct_count.astype(np.int64)),
            "by_k": ((*by_stub, "compared"), by_k),
            "by_k_rows": (by_stub, by_k_rows),
        },
        coords={"k": stubs, "false_positive_rate": _GRID},
    )


def _upper(x: Array, y: Array) -> Array:
    """Return a rising curve on the grid; where it is vertical, its upper end."""
    return np.interp(_GRID, x - np.arange(x.size)[::-1] * 1e-12, y)


def _points(p: Array, label: Array) -> Array:
    once = np.ones((1, p.size))
    return np.array([STATISTICS[name](p, label, once)[0] for name in COMPARED])
