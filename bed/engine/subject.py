"""What `bed evaluate` looks at: a belief model with the episodes and models that try it."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bed.belief.routed import DomainBelief
from bed.engine.build import build_belief, build_simulator, connected
from bed.engine.settings import load_engine
from bed.engine.study import drawn_episodes
from bed.episodes.files import read_episodes
from bed.errors import DataError
from bed.estimators import FactoredEIG
from bed.evidence import Episode
from bed.protocols import BeliefModel, OutcomeSimulator
from bed.simulators import DomainSimulator, fit_exemplar_simulator
from bed.standins import cached_stand_ins

__all__ = ["Subject", "evaluated_belief"]

_OUTCOMES = 4
"""Imagined a branch when coherence is probed: one alone may lie anywhere."""


@dataclass(frozen=True)
class Subject:
    """A belief under evaluation.

    Attributes:
        name: of the belief.
        belief: the model.
        episodes: to ask about, of the test split.
        training: what baselines are fitted on; perhaps none.
        refuting: draws outcomes that refute, as they happened in training.
        estimator: of the coherence probe.
        tallies: what was sent to each endpoint so far, and what came of it; empty for stand-ins.
    """

    name: str
    belief: BeliefModel
    episodes: tuple[Episode, ...]
    training: tuple[Episode, ...]
    refuting: OutcomeSimulator
    estimator: FactoredEIG
    tallies: Callable[[], Mapping[str, Mapping[str, int]]] = dict


@contextmanager
def evaluated_belief(
    path: Path, engine: Path | None = None, limit: int | None = None, seed: int = 0
) -> Iterator[Subject]:
    """Open a belief model for evaluation on an episode file.

    Args:
        path: of the episode file.
        engine: the engine file whose belief it is; None takes the stand-in of the episode file.
        limit: how many test episodes; all by default.
        seed: of the subset and of stand-ins.

    Raises:
        DataError: for a file without test episodes, one without training episodes where a stand-in
            needs them, and what `load_engine` refuses.
    """
    if limit is not None and limit < 1:
        raise DataError(f"limit is {limit}; at least one episode is needed")
    episodes = tuple(drawn_episodes(path, limit, seed))
    training = tuple(read_episodes(path, "train").episodes)
    refuting: OutcomeSimulator = fit_exemplar_simulator(training)
    if engine is None:
        fitted = cached_stand_ins(path, seed)
        belief = DomainBelief({domain: part.belief for domain, part in fitted.items()})
        simulator = DomainSimulator({domain: part.conditional for domain, part in fitted.items()})
        estimator = FactoredEIG(belief, simulator, _OUTCOMES)
        yield Subject("stand-in", belief, episodes, training, refuting, estimator)
        return
    with connected(load_engine(engine), path, seed) as sources:
        asked = build_belief(sources, "belief")
        estimator = FactoredEIG(asked, build_simulator(sources), _OUTCOMES)
        yield Subject("belief", asked, episodes, training, refuting, estimator, sources.tallies)
