"""What probes of a belief show, as a table with intervals over resampled units."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bed.domains import canonical, places_by_domain
from bed.estimators import FactoredEIG
from bed.evaluation.consistency import POSITIONS, composition_residual, position_bias
from bed.evaluation.forecasts import MACRO
from bed.evaluation.probes import coherence_probe, composition_probe, position_probe
from bed.evaluation.resampling import Interval, macro_intervals, percentile_ci
from bed.evaluation.scoring import Weights, known_intervals
from bed.evaluation.statistic import Array, ratio
from bed.evidence import Episode
from bed.protocols import BeliefModel, OutcomeSimulator

__all__ = ["PROBES", "probe_table"]

PROBES: Final = ("position", "composition", "coherence", "coherence before base rates")

_COHERENT: Final = 32
"""Episodes of a domain whose coherence is probed: a pool of 16 takes as many outcomes as answers,
8 of each for every experiment when four stand for a branch."""


def probe_table(
    episodes: Sequence[Episode],
    belief: BeliefModel,
    refuting: OutcomeSimulator,
    estimator: FactoredEIG,
    weights: Weights,
    seed: int = 0,
) -> xr.Dataset:
    """Put the three probes to a belief.

    Args:
        episodes: to make the questions from; of each domain the first 32 are asked about coherence,
            which takes many times the calls of the others.
        belief: the model to ask.
        refuting: draws the outcome of the constructed refutation.
        estimator: of the coherence probe; its belief is the same model.
        weights: of the bootstrap.
        seed: of the questions.

    Returns:
        `probe_value`, `_lo` and `_hi` over (probe, probed): mean position bias and signed
        composition residual in decibans, mean absolute coherence gap as a probability; of
        composition's macro row the absolute value. `probe_episodes` over (probe, probed) and
        `probe_left_out` over (probe,), episodes that were left out, or of which a candidate was,
        with `probe_reason` for the first; `position_db` over
        (position,), each position's mean log odds minus the episode's own mean.
    """
    position = position_probe(episodes, belief, seed)
    composition = composition_probe(episodes, belief, refuting, seed)
    coherence = coherence_probe(_first_of_each_domain(episodes), estimator, seed)
    sums = [np.bincount(coherence.row, np.abs(gap)) for gap in (coherence.gap, coherence.raw_gap)]
    asked = [position.episodes, composition.episodes, coherence.episodes, coherence.episodes]
    left_out: list[Mapping[Any, str]] = [
        position.left_out,
        composition.left_out,
        coherence.left_out,
        coherence.left_out,
    ]
    bias = position_bias(position.p) if position.episodes else None
    values = [
        np.array([]) if bias is None else bias.per_episode,
        _residuals(composition.episodes, composition.by_domain()),
        *(of / np.bincount(coherence.row) for of in sums),
    ]
    domains = [MACRO, *sorted({canonical(episode.target.domain) for episode in episodes})]
    table = {end: np.full((len(PROBES), len(domains)), np.nan) for end in ("", "_lo", "_hi")}
    count = np.zeros((len(PROBES), len(domains)), dtype=np.int64)
    for row, (of, value) in enumerate(zip(asked, values, strict=True)):
        if not of:
            continue
        found = _means(of, value, weights)
        if PROBES[row] == "composition":
            found[MACRO] = _absolute(found[MACRO])
        for name, interval in found.items():
            for end, number in zip(table, (interval.point, interval.lo, interval.hi), strict=True):
                table[end][row, domains.index(name)] = number
        names = [canonical(episode.target.domain) for episode in of]
        count[row] = [len(names), *(names.count(domain) for domain in domains[1:])]
    dims = ("probe", "probed")
    variables: dict[str, Any] = {f"probe_value{end}": (dims, of) for end, of in table.items()}
    variables["probe_episodes"] = (dims, count)
    # of coherence, each episode of which a candidate is missing counts once
    lacking = [{key if isinstance(key, str) else key[0] for key in of} for of in left_out]
    variables["probe_left_out"] = (("probe",), [len(of) for of in lacking])
    variables["probe_reason"] = (("probe",), [next(iter(of.values()), "") for of in left_out])
    centred = np.full(len(POSITIONS), np.nan) if bias is None else bias.centred_mean_by_position
    variables["position_db"] = (("position",), centred)
    coords = {"probe": list(PROBES), "probed": domains, "position": list(POSITIONS)}
    return xr.Dataset(variables, coords=coords)


def _first_of_each_domain(episodes: Sequence[Episode]) -> list[Episode]:
    places = places_by_domain([episode.target.domain for episode in episodes])
    first = sorted(place for rows in places.values() for place in rows[:_COHERENT])
    return [episodes[place] for place in first]


def _residuals(episodes: Sequence[Episode], forecasts: Mapping[str, Mapping[str, Array]]) -> Array:
    """Return the composition residuals in the order of the episodes."""
    found = np.empty(len(episodes))
    if episodes:
        names = np.array([canonical(episode.target.domain) for episode in episodes])
        for domain, of in composition_residual(forecasts).signed_per_episode.items():
            found[names == domain] = of
    return found


def _absolute(signed: Interval) -> Interval:
    """Return the interval of the absolute value."""
    ends = (signed.lo, signed.hi)
    if not np.isnan(ends).any():
        ends = percentile_ci(np.abs(signed.draws))
    return replace(signed, point=abs(signed.point), lo=ends[0], hi=ends[1])


def _means(episodes: Sequence[Episode], values: Array, weights: Weights) -> dict[str, Interval]:
    """Return means by domain and over domains."""
    names: NDArray[np.str_] = np.array([canonical(of.target.domain) for of in episodes])
    units = np.array([of.unit for of in episodes])
    resampled: dict[str, NDArray[np.str_]] = {}
    points: dict[str, float] = {}
    draws: dict[str, Array] = {}
    for domain in sorted(set(names.tolist())):
        here = names == domain
        drawn = weights.of(domain, units[here])
        resampled[domain] = units[here]
        points[domain] = float(values[here].mean())
        draws[domain] = ratio(drawn @ values[here], drawn.sum(axis=1))
    return known_intervals(macro_intervals, resampled, points, draws)
