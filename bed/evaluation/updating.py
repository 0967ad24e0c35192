"""How models revise their beliefs along nested sweeps, as tables with intervals.

Weights of evidence in decibans: what updates are worth against what they promise (beta), by the
verdict of the stub revealed, by its relevance, and gathered towards the truth. A bootstrap draw
resamples whole units within each domain.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evaluation.forecasts import MACRO, Forecasts, Sweeps
from bed.evaluation.relevance import relative_weight_by_tier, resampled_spearman
from bed.evaluation.resampling import macro_intervals
from bed.evaluation.revision import by_verdict, cumulative_to_truth, reaction
from bed.evaluation.scoring import Weights, known_intervals
from bed.evaluation.statistic import Array
from bed.evaluation.support import bootstrap_beta
from bed.information import weight_of_evidence_db

__all__ = ["VERDICTS", "revision_table"]

VERDICTS: Final = (
    "supporting",
    "refuting",
    "inconclusive",
    "significant",
    "sub-threshold",
    "in words",
)
_NUM_RANKS: Final = 5
_ENDS: Final = ("", "_lo", "_hi")


def revision_table(models: Sequence[Forecasts], weights: Weights) -> xr.Dataset:
    """Return what the sweeps of every model show; NaN where a model has none.

    Args:
        models: their forecasts.
        weights: of the bootstrap.

    Returns:
        `beta` and `reaction` in words over (model,), with `revision_note`, why a model has none;
        `tier_x` and `tier_psi` (decibans) over (model, domain, rank); `verdict_db` over (model,
        domain, verdict) and `verdict_count`; `spearman` over (model, domain); `relative_weight`
        over (model, domain, tier); `cumulative_db` over (model, domain, shown). `beta`,
        `verdict_db`, `spearman` and `relative_weight` come with `_lo` and `_hi`, NaN where one unit
        is all there is. The domain is named `swept`; "macro" is the mean over the domains that have
        the figure: for relevance, those that give every stub of their sweeps a tier.

    Raises:
        DataError: for sweeps of unequal length.
    """
    swept = {model.model: model.sweeps() for model in models}
    domains = [MACRO, *sorted({name for found in swept.values() for name in found})]
    sweeps = [of for found in swept.values() for of in found.values()]
    tiers = sorted({int(t) for of in sweeps for t in np.unique(of.tier) if t > 0})
    length = max((of.p.shape[1] for of in sweeps), default=1)
    sizes = {
        "beta": (),
        "tier_x": (len(domains), _NUM_RANKS),
        "tier_psi": (len(domains), _NUM_RANKS),
        "verdict_db": (len(domains), len(VERDICTS)),
        "verdict_count": (len(domains), len(VERDICTS)),
        "spearman": (len(domains),),
        "relative_weight": (len(domains), len(tiers)),
        "cumulative_db": (len(domains), length),
    }
    bounded = ("beta", "verdict_db", "spearman", "relative_weight")
    table = {
        name + end: np.full((len(models), *shape), np.nan)
        for name, shape in sizes.items()
        for end in (_ENDS if name in bounded else ("",))
    }
    notes, words = [""] * len(models), [""] * len(models)
    for m, found in enumerate(swept.values()):
        if not found:
            notes[m] = (
                "no sweeps: its rows stand alone"
                if models[m].abstains
                else "no sweeps: no episode has more than one row"
            )
            continue
        row = {name: values[m : m + 1] for name, values in table.items()}
        drawn = {name: weights.of(name, of.unit) for name, of in found.items()}
        _cumulative(row, domains, found)
        _verdicts(row, domains, found, drawn)
        _relevance(row, domains, tiers, found, drawn)
        try:
            words[m] = _support(row, domains, found, drawn)
        except DataError as error:
            notes[m] = str(error)
    dims = {
        "beta": (),
        "tier_x": ("swept", "rank"),
        "tier_psi": ("swept", "rank"),
        "verdict_db": ("swept", "verdict"),
        "verdict_count": ("swept", "verdict"),
        "spearman": ("swept",),
        "relative_weight": ("swept", "tier"),
        "cumulative_db": ("swept", "shown"),
    }
    variables: dict[str, Any] = {
        name: (("model", *dims[name.removesuffix("_lo").removesuffix("_hi")]), values)
        for name, values in table.items()
    }
    variables["revision_note"] = (("model",), notes)
    variables["reaction"] = (("model",), words)
    coords = {"swept": domains, "verdict": list(VERDICTS), "tier": tiers}
    return xr.Dataset(variables, coords={**coords, "shown": range(length)})


_Row = Mapping[str, NDArray[Any]]
_Found = Mapping[str, Sweeps]


def _put(row: _Row, name: str, at: tuple[int, ...], values: Sequence[float]) -> None:
    for end, value in zip(_ENDS, values, strict=True):
        row[name + end][(0, *at)] = value


def _support(row: _Row, domains: Sequence[str], found: _Found, drawn: Mapping[str, Array]) -> str:
    """Fill in beta and its points, and return the reaction in words."""
    beta = bootstrap_beta({name: (list(of.p), of.label) for name, of in found.items()}, drawn)
    is_bounded = all(np.unique(of.unit).size > 1 for of in found.values())
    ends = (beta.lo, beta.hi) if is_bounded else (np.nan, np.nan)
    _put(row, "beta", (), (beta.point, *ends))
    support = beta.support
    points = {name: (of.x, of.psi) for name, of in support.per_domain.items()}
    for name, both in {MACRO: (support.x, support.psi), **points}.items():
        for kind, values in zip(("tier_x", "tier_psi"), both, strict=True):
            row[kind][0, domains.index(name), : len(values)] = values
    return reaction(*ends) if is_bounded else "cannot be told"


def _cumulative(row: _Row, domains: Sequence[str], found: _Found) -> None:
    whole = row["cumulative_db"][0]
    for name, of in found.items():
        whole[domains.index(name), : of.p.shape[1]] = cumulative_to_truth(list(of.p), of.label).mean
    shared = min(of.p.shape[1] for of in found.values())
    whole[0, :shared] = np.nanmean(whole[1:, :shared], axis=0)


def _verdicts(row: _Row, domains: Sequence[str], found: _Found, drawn: Mapping[str, Array]) -> None:
    by_domain = {name: by_verdict(list(of.p), of.verdict.tolist()) for name, of in found.items()}
    for v, verdict in enumerate(VERDICTS):
        those = {name: said[verdict] for name, said in by_domain.items() if verdict in said}
        for name, of in those.items():
            row["verdict_count"][0, domains.index(name), v] = of.count.sum()
        if those:
            row["verdict_count"][0, 0, v] = sum(int(of.count.sum()) for of in those.values())
            points = {name: of.mean_db for name, of in those.items()}
            draws = {name: of.resampled(drawn[name]) for name, of in those.items()}
            _fill(row, "verdict_db", domains, (v,), found, points, draws)


def _relevance(
    row: _Row,
    domains: Sequence[str],
    tiers: Sequence[int],
    found: _Found,
    drawn: Mapping[str, Array],
) -> None:
    points: dict[str, float] = {}
    draws: dict[str, Array] = {}
    relative: dict[int, tuple[dict[str, float], dict[str, Array]]] = {t: ({}, {}) for t in tiers}
    for name, of in found.items():
        if not (of.tier > 0).all():
            continue
        weight = np.round(weight_of_evidence_db(of.p[:, :-1], of.p[:, 1:]), 9)
        flat, tier = weight.ravel(), of.tier.ravel()
        episode = np.repeat(np.arange(len(weight)), weight.shape[1])
        once = np.ones((1, flat.size))
        correlation = float(resampled_spearman(flat, tier, once)[0])
        if not np.isnan(correlation):
            points[name] = correlation
            draws[name] = resampled_spearman(flat, tier, drawn[name][:, episode])
        if not flat.any():
            continue
        weights = relative_weight_by_tier(flat, tier, episode)
        resampled = weights.resampled(drawn[name])
        for t, mean in weights.means.items():
            relative[t][0][name] = mean
            relative[t][1][name] = resampled[:, weights.tiers.index(t)]
    _fill(row, "spearman", domains, (), found, points, draws)
    for t, (means, resamples) in relative.items():
        _fill(row, "relative_weight", domains, (tiers.index(t),), found, means, resamples)


def _fill(
    row: _Row,
    name: str,
    domains: Sequence[str],
    at: tuple[int, ...],
    sweeps: _Found,
    points: Mapping[str, float],
    draws: Mapping[str, Array],
) -> None:
    units = {domain: sweeps[domain].unit for domain in points}
    for domain, found in known_intervals(macro_intervals, units, points, draws).items():
        place = (domains.index(domain), *at)
        _put(row, name, place, (found.point, found.lo, found.hi))
