"""Design problems with known answers: coherent beliefs, faulty ones, and a read-out past theta'.

Each `Study` holds problems with the exact EIG of their candidates, and the models to answer with.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bed.belief import ExactBelief
from bed.episodes.synthetic import sample_world_episodes
from bed.estimators import Estimator, ExactEIG, measured_slope
from bed.evidence import Fields, Outcome, Stub
from bed.information import log_odds, probability
from bed.protocols import BeliefModel, BeliefQuery, Beliefs, DesignProblem, OutcomeSimulator
from bed.seeds import derive_seed, generator, uniform
from bed.simulators import ExactSimulator
from bed.worlds import World

Array = NDArray[np.float64]
Build = Callable[["Setting"], Estimator]

RESOLVED_CASES = 100
BATCHES = 10


@dataclass(frozen=True)
class Setting:
    """What an estimator is given: models, and the slope of the belief where it was measured."""

    belief: BeliefModel
    simulator: OutcomeSimulator
    known_slope: float = 1.0
    fitted_slope: float = 1.0

    @property
    def models(self) -> tuple[BeliefModel, OutcomeSimulator]:
        """Belief and simulator."""
        return self.belief, self.simulator


@dataclass(frozen=True)
class Study:
    """Problems of one kind, each batch with the exact EIG of its candidates.

    Attributes:
        title: of its table.
        rows: label -> estimator.
        batches: setting, problems and exact EIGs; a batch has a measured slope of its own.
    """

    title: str
    rows: dict[str, Build]
    batches: Sequence[tuple[Setting, list[DesignProblem], list[Array]]]


@dataclass(frozen=True)
class FaultyBelief:
    """An exact belief with three faults, for questions without evidence or with one result.

    Attributes:
        belief: the exact one.
        reaction: the log-odds update is this many times the exact one.
        noise: standard deviation of every answer's log odds, nats.
        bias: added to the log odds of every posterior of theta, nats.
    """

    belief: ExactBelief
    reaction: float = 2.5
    noise: float = 0.5
    bias: float = 0.5

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; equal ones alike."""
        before = [BeliefQuery(query.hypothesis) for query in queries]
        prior = log_odds(self.belief.probabilities(before).probabilities)
        after = log_odds(self.belief.probabilities(queries).probabilities)
        shown = np.array([len(query.evidence) for query in queries])
        drawn = ndtri([uniform(derive_seed(query.seed, *_names(query))) for query in queries])
        update = self.reaction * (after - prior) + self.bias * (shown > 0)
        return Beliefs(probability(prior + update + self.noise * drawn))


def _names(query: BeliefQuery) -> list[str]:
    shown = [f"{stub.experiment.id}={stub.outcome.fields['y']}" for stub in query.evidence]
    return [query.hypothesis.text, *shown]


def world_study(
    name: str,
    title: str,
    count: int,
    seed: int,
    revealed: Sequence[int],
    rows: dict[str, Build],
) -> Study:
    """Episodes of a calibrated world, after each of some numbers of results."""
    drawn = sample_world_episodes(name, count // len(revealed), seed)
    problems = [
        DesignProblem(
            episode.target,
            episode.pool[:shown],
            tuple(stub.experiment for stub in episode.pool[shown:]),
            derive_seed(seed, episode.id, shown),
            episode.id,
        )
        for episode in drawn.episodes
        for shown in revealed
    ]
    setting = Setting(ExactBelief(drawn.worlds), ExactSimulator(drawn.worlds))
    return Study(title, rows, [(setting, problems, exact(drawn.worlds, problems))])


def faulty_study(
    name: str,
    title: str,
    count: int,
    seed: int,
    faults: Mapping[str, float],
    rows: dict[str, Build],
) -> Study:
    """Beliefs with faults, in batches whose slope was fitted from resolved cases of their own."""
    batches = []
    for i in range(BATCHES):
        of_batch = derive_seed(seed, "batch", i)
        drawn = sample_world_episodes(name, count // BATCHES, of_batch)
        resolved = sample_world_episodes(name, RESOLVED_CASES, of_batch, "train")
        belief = FaultyBelief(ExactBelief(drawn.worlds), **faults)
        of_resolved = FaultyBelief(ExactBelief(resolved.worlds), **faults)
        setting = Setting(
            belief,
            ExactSimulator(drawn.worlds),
            known_slope=1.0 / belief.reaction,
            fitted_slope=measured_slope(of_resolved, resolved.episodes, seed=of_batch).slope,
        )
        problems = [
            DesignProblem(
                episode.target,
                (),
                tuple(stub.experiment for stub in episode.pool),
                derive_seed(of_batch, episode.id),
                episode.id,
            )
            for episode in drawn.episodes
        ]
        batches.append((setting, problems, exact(drawn.worlds, problems)))
    return Study(title, rows, batches)


def direct_study(count: int, seed: int, rows: dict[str, Build]) -> Study:
    """Worlds in which theta moves the read-out directly, after a result that made it improbable."""
    worlds, problems = {}, []
    for i in range(count):
        world = _direct_world(f"direct-{i}", generator(seed, "direct", i))
        worlds[world.name] = world
        *candidates, anchor = world.experiments()
        known = (Stub(anchor, Outcome(Fields(y=1))),)
        problem_seed = derive_seed(seed, world.name)
        problems.append(
            DesignProblem(world.target(), known, tuple(candidates), problem_seed, world.name)
        )
    setting = Setting(ExactBelief(worlds), ExactSimulator(worlds))
    title = "theta moves the read-out directly, prior .05"
    return Study(title, rows, [(setting, problems, exact(worlds, problems))])


def _direct_world(name: str, rng: np.random.Generator) -> World:
    """Gaussian read-outs of theta' that theta itself shifts by U(0, 2), and an anchor for theta."""
    size, edges = 16, np.arange(-3.95, 9.0, 0.1)
    rho, p0 = rng.beta(1.0, 2.0, size), rng.uniform(0.15, 0.6, size)
    mu, shift = rng.uniform(0.5, 3.0, size), rng.uniform(0.0, 2.0, size)
    local = np.stack([p0 * (1.0 - rho), p0 + (1.0 - p0) * rho], axis=1)
    theta, branch = np.array([0.0, 1.0])[:, None, None], np.array([0.0, 1.0])[:, None]
    outcome = []
    for k in range(size):
        below = ndtr(edges - shift[k] * theta - mu[k] * branch)
        ends = np.zeros((2, 2, 1)), np.ones((2, 2, 1))
        outcome.append(np.diff(np.concatenate([ends[0], below, ends[1]], axis=2), axis=2))
    anchor = np.repeat(np.array([[0.05, 0.95], [0.95, 0.05]])[:, None], 2, axis=1)
    return World(
        prior=np.array([0.5, 0.5]),
        theta=np.array([0, 1]),
        local=(*local, np.array([0.5, 0.5])),
        outcome=(*outcome, anchor),
        name=name,
    )


def exact(worlds: dict[str, World], problems: Sequence[DesignProblem]) -> list[Array]:
    """The exact EIGs, bits."""
    return [scores.eig for scores in ExactEIG(worlds).score_batch(problems)]
