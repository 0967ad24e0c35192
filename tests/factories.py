"""Builders and fakes that several test files share, and stand-ins fitted once a session."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bed.belief import AdditiveBelief, ExactBelief, fit_additive_belief
from bed.episodes.synthetic import sample_world_episodes
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub
from bed.information import log_odds, probability
from bed.protocols import (
    BeliefModel,
    BeliefQuery,
    Beliefs,
    DesignProblem,
    OutcomeRequest,
    Outcomes,
    OutcomeSimulator,
)
from bed.seeds import derive_seed, generator, uniform
from bed.simulators import ConditionalSimulator, ExactSimulator, fit_conditional_simulator
from bed.worlds import World

TARGET = Hypothesis("the claim")


def plain(number: int, cost: float = 1.0, **fields: object) -> Experiment:
    """A free-text experiment with a local hypothesis of its own."""
    return Experiment(f"x{number}", Hypothesis(f"local {number}"), cost, fields=Fields(fields))


def plains(count: int) -> tuple[Experiment, ...]:
    return tuple(plain(number) for number in range(count))


def flag(experiment: Experiment, supported: bool) -> Stub:
    return Stub(experiment, Outcome(Fields(supported=supported)))


def shown(world: World, candidate: int, y: int) -> Stub:
    """A world's candidate with its outcome."""
    return Stub(world.experiment(candidate), Outcome(Fields(y=y)))


def dependency(gene: str, line: str, lineage: str = "LUNG", **partners: float) -> Hypothesis:
    where = Fields(gene=gene, cell_line=line, lineage=lineage, coessential=partners)
    text = f"Gene {gene} is a dependency in {line}"
    return Hypothesis(text, "depmap", Fields({**where, "claim": "dependency"}))


def knockout(gene: str, line: str, lineage: str = "LUNG", **partners: float) -> Experiment:
    local = dependency(gene, line, lineage, **partners)
    where = {name: value for name, value in local.fields.items() if name != "claim"}
    return Experiment(f"knockout:{gene}:{line}", local, fields=Fields(where, kind="knockout"))


def chronos(experiment: Experiment, effect: float) -> Stub:
    return Stub(experiment, Outcome(Fields(chronos=effect)))


@dataclass
class ScriptedBelief:
    """Answers by a function of the query: a probability, or the reason why there is none."""

    answer: Callable[[BeliefQuery], float | str]
    batches: list[list[BeliefQuery]] = field(default_factory=list)

    @property
    def queries(self) -> list[BeliefQuery]:
        return [query for batch in self.batches for query in batch]

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        self.batches.append(list(queries))
        answers = [self.answer(query) for query in queries]
        reasons = tuple(answer if isinstance(answer, str) else None for answer in answers)
        values = [np.nan if isinstance(answer, str) else answer for answer in answers]
        return Beliefs(np.array(values, dtype=np.float64), reasons)


@dataclass
class ScriptedSimulator:
    """Reports the branch as the flag `supported`, or a reason where `fails` gives one."""

    fails: Callable[[OutcomeRequest], str | None] = lambda request: None
    batches: list[list[OutcomeRequest]] = field(default_factory=list)

    @property
    def requests(self) -> list[OutcomeRequest]:
        return [request for batch in self.batches for request in batch]

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        self.batches.append(list(requests))
        reasons = [self.fails(request) for request in requests]
        return Outcomes(
            tuple(
                None if reason else Outcome(Fields(supported=request.supportive))
                for request, reason in zip(requests, reasons, strict=True)
            ),
            tuple(reasons),
        )


def two_way_belief(
    prior: float = 0.5, weight: float = 0.5, supported: float = 0.8, unsupported: float = 0.2
) -> ScriptedBelief:
    """A belief that knows the prior, one branch weight, and a posterior for each flag."""

    def answer(query: BeliefQuery) -> float:
        if query.hypothesis != TARGET:
            return weight
        if not query.evidence:
            return prior
        return supported if query.evidence[-1].outcome.fields["supported"] else unsupported

    return ScriptedBelief(answer)


NEAR, FAR, CONTROL = (
    "target gene knocked out in a different cell line of the same lineage",
    "target gene knocked out in a cell line of a different lineage",
    "an unrelated gene knocked out in the target cell line",
)
SHARE_SUPPORTED = {NEAR: (0.3, 0.75), FAR: (0.35, 0.6), CONTROL: (0.3, 0.3)}
"""Tag -> share of supported outcomes under theta = 0 and theta = 1."""


def additive_episode(number: int, split: str) -> Episode:
    """An episode in which stubs are independent given theta: log odds add up exactly.

    How strong an outcome is within its level says nothing about theta.
    """
    rng = generator("additive", split, number)
    theta, gene = int(rng.integers(2)), f"{split}-{number}"
    experiments = (
        [(NEAR, 1, knockout(gene, f"N{i}")) for i in range(4)]
        + [(FAR, 2, knockout(gene, f"F{i}", "SKIN")) for i in range(4)]
        + [(CONTROL, 6, knockout(f"{gene}-control-{i}", "HOME")) for i in range(4)]
    )
    pool = []
    for tag, _, experiment in experiments:
        supported = rng.random() < SHARE_SUPPORTED[tag][theta]
        strength = abs(float(rng.normal()))
        pool.append(
            chronos(experiment, round(-0.5 - strength if supported else -0.4 + strength, 3))
        )
    return Episode(
        f"additive-{split}-{number}",
        dependency(gene, "HOME"),
        theta,
        tuple(pool),
        tuple(tier for _, tier, _ in experiments),
        tuple(tag for tag, _, _ in experiments),
        split,
    )


@cache
def additive_belief() -> AdditiveBelief:
    return fit_additive_belief([additive_episode(number, "train") for number in range(400)])


def made_belief() -> AdditiveBelief:
    """An additive belief with parameters by hand: four draws, and nothing to fit."""
    rng = generator("made belief")
    intercept = rng.normal(size=4).astype(np.float32)
    weight, slope = rng.normal(size=(2, 4, 3, 3)).astype(np.float32)
    redundancy = rng.uniform(0.1, 0.9, (4, 3)).astype(np.float32)
    return AdditiveBelief((NEAR, FAR, CONTROL), intercept, weight, slope, redundancy)


def graded_episode(number: int) -> Episode:
    """Three genes, each knocked out in four lines: effects hang together within a gene."""
    rng = generator("graded", number)
    pool = []
    for i in range(3):
        centre = rng.normal(-1.0, 0.5)
        for j in range(4):
            effect = round(float(centre + rng.normal(0.0, 0.25)), 3)
            pool.append(chronos(knockout(f"{number}-{i}", f"L{j}"), effect))
    target = dependency(f"{number}-0", "HOME")
    tiers, tags = (1,) * 12, ("",) * 12
    return Episode(f"graded-{number}", target, number % 2, tuple(pool), tiers, tags, "train")


@cache
def graded_episodes() -> tuple[Episode, ...]:
    return tuple(graded_episode(number) for number in range(200))


@cache
def conditional_simulator() -> ConditionalSimulator:
    return fit_conditional_simulator(graded_episodes())


@dataclass(frozen=True)
class BentBelief:
    """Another belief, bent in log odds: updates stretched and shifted, every answer scattered.

    For questions whose evidence grew from none.
    """

    belief: BeliefModel
    reaction: float = 1.0
    bias: float = 0.0
    jitter: float = 0.0

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        bare = [BeliefQuery(query.hypothesis) for query in queries]
        before, after = (
            log_odds(self.belief.probabilities(asked).probabilities) for asked in (bare, queries)
        )
        is_told = np.array([bool(query.evidence) for query in queries])
        update = self.reaction * (after - before) + self.bias * is_told
        noise = ndtri([uniform(derive_seed(q.seed, q.hypothesis.text, *_told(q))) for q in queries])
        return Beliefs(probability(before + update + self.jitter * noise))


def _told(query: BeliefQuery) -> list[str]:
    return [f"{stub.experiment.id}: {stub.outcome}" for stub in query.evidence]


@dataclass
class RankedSimulator:
    """Another simulator, said to rank its outcomes, that fails where `fails` gives a reason."""

    simulator: OutcomeSimulator
    fails: Callable[[OutcomeRequest], str | None] = lambda request: None
    batches: list[list[OutcomeRequest]] = field(default_factory=list)

    ranks_outcomes: ClassVar[bool] = True

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        self.batches.append(list(requests))
        answers = self.simulator.sample(requests)
        reasons = [
            self.fails(request) or reason
            for request, reason in zip(requests, answers.reasons, strict=True)
        ]
        values = [
            None if reason else value for value, reason in zip(answers.values, reasons, strict=True)
        ]
        return Outcomes(tuple(values), tuple(reasons))


@dataclass(frozen=True)
class ExactProblems:
    """Problems of exact worlds before any result, with the EIG of each candidate in bits."""

    episodes: tuple[Episode, ...]
    problems: tuple[DesignProblem, ...]
    worlds: dict[str, World]
    eig: NDArray[np.float64]

    @property
    def models(self) -> tuple[ExactBelief, ExactSimulator]:
        return ExactBelief(self.worlds), ExactSimulator(self.worlds)


@cache
def exact_problems(name: str, count: int = 100, seed: int = 0) -> ExactProblems:
    drawn = sample_world_episodes(name, count, seed)
    problems = [
        DesignProblem(e.target, (), tuple(s.experiment for s in e.pool), derive_seed(seed, e.id))
        for e in drawn.episodes
    ]
    eig = np.array([drawn.worlds[e.id].exact_eig() for e in drawn.episodes], dtype=np.float64)
    return ExactProblems(drawn.episodes, tuple(problems), drawn.worlds, eig)
