"""From names to objects: which models and policies a simulation runs with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bed import __version__
from bed.belief.exact import ExactBelief
from bed.belief.routed import DomainBelief
from bed.domains import canonical, places_by_domain
from bed.engine.build import Sources, build_belief, build_naive, build_simulator
from bed.engine.settings import PolicySettings
from bed.episodes.files import read_episodes
from bed.episodes.synthetic import sample_world_episodes
from bed.errors import DataError
from bed.estimators import Estimator, ExactEIG, FactoredEIG, NestedMonteCarloEIG, ScreenedEIG
from bed.estimators.base_rates import BaseRates, training_base_rates
from bed.evidence import Episode
from bed.policies import (
    HindsightPolicy,
    InformationPolicy,
    RandomPolicy,
    RelevancePolicy,
    UncertaintyPolicy,
)
from bed.protocols import BeliefModel, OutcomeSimulator, Policy, ranks_outcomes
from bed.seeds import derive_seed
from bed.simulation import Study
from bed.simulators.exact import ExactSimulator
from bed.simulators.exemplar import fit_exemplar_simulator
from bed.simulators.routed import DomainSimulator
from bed.standins import cached_stand_ins, stand_ins_key
from bed.transport import HttpTransport
from bed.worlds import World

__all__ = [
    "ENGINE_POLICIES",
    "EPISODE_POLICIES",
    "WORLD_POLICIES",
    "Models",
    "drawn_episodes",
    "engine_study",
    "file_study",
    "world_study",
]

_TRAINING_WORLDS = 128
_DEFAULT_WORLDS = 128


Spread = Callable[[Mapping[str, Any], Mapping[str, HttpTransport]], Mapping[str, Any]]
"""Models by name, and the servers that they ask -> models that answer alike, see `Fleet.spread`."""


def _here(parts: Mapping[str, Any], servers: Mapping[str, HttpTransport]) -> Mapping[str, Any]:
    """Leave models in this process."""
    return parts


@dataclass(frozen=True)
class Models:
    """The models behind the policies of one study."""

    belief: BeliefModel
    exemplar: OutcomeSimulator
    simulator: OutcomeSimulator
    base_rates: BaseRates | None
    episodes: Mapping[str, Episode]
    worlds: Mapping[str, World]


def _informed(build: Callable[[Models], Estimator]) -> Callable[[Models], Policy]:
    return lambda models: InformationPolicy(build(models))


_BUILDERS: dict[str, Callable[[Models], Policy]] = {
    "random": lambda m: RandomPolicy(),
    "relevance": lambda m: RelevancePolicy(),
    "uncertainty": lambda m: UncertaintyPolicy(m.belief, m.base_rates),
    "eig-nested": _informed(
        lambda m: NestedMonteCarloEIG(m.belief, m.simulator, base_rates=m.base_rates)
    ),
    "eig-exemplar": _informed(
        lambda m: FactoredEIG.paper(m.belief, m.exemplar, base_rates=m.base_rates)
    ),
    "eig-simulate": _informed(
        lambda m: FactoredEIG.paper(m.belief, m.simulator, base_rates=m.base_rates)
    ),
    "eig-levels": _informed(lambda m: FactoredEIG(m.belief, m.simulator, base_rates=m.base_rates)),
    "eig": _informed(lambda m: ScreenedEIG(m.belief, m.simulator, base_rates=m.base_rates)),
    "exact": _informed(lambda m: ExactEIG(m.worlds)),
    "hindsight": lambda m: HindsightPolicy(m.belief, m.episodes),
}

WORLD_POLICIES = tuple(_BUILDERS)
EPISODE_POLICIES = tuple(name for name in _BUILDERS if name != "exact")
ENGINE_POLICIES = (
    "random",
    "relevance",
    "uncertainty",
    "naive",
    "eig-nested",
    "eig-simulate",
    "eig",
    "hindsight",
)
"""The naive one where the engine names a model for it."""


def _checked(names: Sequence[str], known: Sequence[str], limit: int | None) -> list[str]:
    """Return the names of the policies to run, before anything slow is done."""
    if limit is not None and limit < 1:
        raise DataError(f"limit is {limit}; at least one episode is needed")
    if unknown := [name for name in names if name not in known]:
        raise DataError(f"policy {unknown[0]!r} is unknown here; use one of {', '.join(known)}")
    return list(dict.fromkeys(names)) or list(known)


def world_study(
    name: str,
    policies: Sequence[str] = (),
    limit: int | None = None,
    num_steps: int | None = None,
    seed: int = 0,
    spread: Spread = _here,
) -> Study:
    """Return a study of episodes drawn from exact worlds; the tracker is the exact belief.

    Args:
        name: of the worlds, see `bed.episodes.synthetic`.
        policies: by name; none means all of `WORLD_POLICIES`.
        limit: how many episodes, 128 by default.
        num_steps: experiments an episode; all by default.
        seed: of the worlds and of the run.
        spread: sends models elsewhere.
    """
    names = _checked(policies, WORLD_POLICIES, limit)
    drawn = sample_world_episodes(name, limit or _DEFAULT_WORLDS, seed)
    training = sample_world_episodes(name, _TRAINING_WORLDS, seed, "train")
    parts = spread(
        {
            "belief": ExactBelief(drawn.worlds),
            "exemplar": fit_exemplar_simulator(training.episodes),
            "simulator": ExactSimulator(drawn.worlds),
        },
        {},
    )
    models = Models(
        **parts,
        base_rates=None,
        episodes={episode.id: episode for episode in drawn.episodes},
        worlds=drawn.worlds,
    )
    return Study(
        drawn.episodes,
        {policy: _BUILDERS[policy](models) for policy in names},
        {"exact": models.belief},
        seed,
        num_steps,
        {"world": name, "version": __version__},
    )


def file_study(
    path: Path,
    policies: Sequence[str] = (),
    limit: int | None = None,
    num_steps: int | None = None,
    seed: int = 0,
    spread: Spread = _here,
) -> Study:
    """Return a study of the test split of an episode file, with stand-ins fitted on its training.

    The main tracker is the policies' own belief; "disjoint" is one fitted on other units.

    Args:
        path: of the episode file.
        policies: by name; none means all of `EPISODE_POLICIES`.
        limit: how many episodes, drawn by hash, as many of each domain as can be; all of the test
            split by default.
        num_steps: experiments an episode; all by default.
        seed: of the subset, the stand-ins and the run.
        spread: sends models elsewhere.

    Raises:
        DataError: for a file without test or training episodes.
    """
    names = _checked(policies, EPISODE_POLICIES, limit)
    test = drawn_episodes(path, limit, seed)
    fitted = cached_stand_ins(path, seed)
    if lacking := {canonical(episode.target.domain) for episode in test} - set(fitted):
        raise DataError(
            f"{path} has test episodes of {sorted(lacking)} but no training episodes of it to fit "
            "stand-ins on; build a larger file"
        )
    of_domain = fitted.items()
    parts = spread(
        {
            "belief": DomainBelief({domain: part.belief for domain, part in of_domain}),
            "disjoint": DomainBelief({domain: part.disjoint for domain, part in of_domain}),
            "exemplar": DomainSimulator({domain: part.exemplar for domain, part in of_domain}),
            "simulator": DomainSimulator({domain: part.conditional for domain, part in of_domain}),
        },
        {},
    )
    models = Models(
        belief=parts["belief"],
        exemplar=parts["exemplar"],
        simulator=parts["simulator"],
        base_rates={tag: rate for part in fitted.values() for tag, rate in part.base_rates.items()},
        episodes={episode.id: episode for episode in test},
        worlds={},
    )
    trackers: dict[str, BeliefModel] = {"own": parts["belief"], "disjoint": parts["disjoint"]}
    setup = {"stand_ins": stand_ins_key(path, seed), "version": __version__}
    return Study(
        test,
        {policy: _BUILDERS[policy](models) for policy in names},
        trackers,
        seed,
        num_steps,
        setup,
    )


def engine_study(
    sources: Sources,
    path: Path,
    policies: Sequence[str] = (),
    limit: int | None = None,
    num_steps: int | None = None,
    seed: int = 0,
    spread: Spread = _here,
) -> Study:
    """Return a study of the test split of an episode file with the models of an engine file.

    The main tracker is the engine's belief, "own"; "tracker" is another one that the file names.

    Args:
        sources: the engine and its connections.
        path: of the episode file. Base rates come from its training episodes, where it has any.
        policies: by name; none means all of `ENGINE_POLICIES`.
        limit: see `file_study`.
        num_steps: likewise.
        seed: of the subset, of stand-ins and of the run.
        spread: sends beliefs and the simulator elsewhere.

    Raises:
        DataError: for a file without test episodes, or a part that cannot be built.
    """
    engine = sources.engine
    known = [name for name in ENGINE_POLICIES if name != "naive" or engine.naive is not None]
    if engine.naive is None and "naive" in policies:
        raise DataError(f"policy 'naive' asks a chat model: give {engine.file} a table [naive]")
    names = _checked(policies, known, limit)
    test = drawn_episodes(path, limit, seed)
    rates = None
    if engine.policy.base_rates:
        rates = training_base_rates(read_episodes(path, "train").episodes) or None
    built: dict[str, Any] = {
        "belief": build_belief(sources, "belief"),
        "simulator": build_simulator(sources),
    }
    if engine.tracker is not None:
        built["tracker"] = build_belief(sources, "tracker")
    parts = spread(built, sources.servers)
    trackers: dict[str, BeliefModel] = {"own": parts["belief"]}
    if "tracker" in parts:
        trackers["tracker"] = parts["tracker"]
    models = Models(
        belief=parts["belief"],
        exemplar=parts["simulator"],
        simulator=parts["simulator"],
        base_rates=rates,
        episodes={episode.id: episode for episode in test},
        worlds={},
    )
    build: dict[str, Callable[[Models], Policy]] = {
        **_BUILDERS,
        "naive": lambda m: build_naive(sources),
        "eig": lambda m: InformationPolicy(_engine_estimator(m, engine.policy)),
    }
    setup: dict[str, Any] = {"engine": engine.identity(), "base_rates": rates}
    if engine.uses_stand_ins:
        setup["stand_ins"] = stand_ins_key(path, seed)
    return Study(
        test,
        {policy: build[policy](models) for policy in names},
        trackers,
        seed,
        num_steps,
        {**setup, "version": __version__},
    )


def _engine_estimator(models: Models, settings: PolicySettings) -> Estimator:
    if settings.samples is None and ranks_outcomes(models.simulator):
        return ScreenedEIG(
            models.belief, models.simulator, slope=settings.slope, base_rates=models.base_rates
        )
    return FactoredEIG(
        models.belief,
        models.simulator,
        settings.samples or 1,
        slope=settings.slope,
        base_rates=models.base_rates,
    )


def drawn_episodes(path: Path, limit: int | None, seed: int) -> list[Episode]:
    """Return test episodes of a file: all, or so many, as many of each domain as can be.

    Args:
        path: of the episode file.
        limit: how many.
        seed: of the subset.

    Raises:
        DataError: for a file without test episodes.
    """
    test = read_episodes(path, "test").episodes
    if not test:
        raise DataError(f"{path} has no test episodes; build a larger file")
    return sorted(_subset(test, limit, seed), key=lambda episode: episode.id)


def _subset(episodes: Sequence[Episode], limit: int | None, seed: int) -> list[Episode]:
    """Return `limit` episodes: the first of each domain, then the second of each, ..."""
    ordered = sorted(episodes, key=lambda episode: derive_seed(seed, "subset", episode.id))
    places = places_by_domain([episode.target.domain for episode in ordered])
    rank = {at: n for rows in places.values() for n, at in enumerate(rows)}
    return [ordered[at] for at in sorted(rank, key=lambda at: (rank[at], at))][:limit]
