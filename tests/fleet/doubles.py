"""Models that worker processes can import, some of which end the process that runs them."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bed.evidence import Fields, Hypothesis, Outcome
from bed.protocols import (
    BeliefModel,
    BeliefQuery,
    Beliefs,
    OutcomeRequest,
    Outcomes,
    OutcomeSimulator,
    ranks_outcomes,
)
from bed.seeds import derive_seed, uniform


@dataclass(frozen=True)
class HashedBelief:
    """Answers by the claim and the seed.

    Attributes:
        deadly: a claim that ends the process.
        weak: a claim that makes it raise.
        unknown: a claim that it has no answer to.
    """

    deadly: str = ""
    weak: str = ""
    unknown: str = ""

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        claims = [query.hypothesis.text for query in queries]
        if self.deadly in claims and self.deadly:
            os._exit(17)
        if self.weak in claims and self.weak:
            raise KeyError(f"{self.weak} is nowhere")
        values = [uniform(derive_seed(q.seed, q.hypothesis.text)) for q in queries]
        reasons = [f"{claim} is not known" if claim == self.unknown else None for claim in claims]
        noise = np.array([0.01 * value for value in values])
        is_known = [reason is None for reason in reasons]
        return Beliefs(np.where(is_known, values, np.nan), tuple(reasons), noise)


@dataclass(frozen=True)
class HashedSimulator:
    """Draws by the request.

    Attributes:
        ranks_outcomes: whether it says that it does.
    """

    ranks_outcomes: bool = True

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        drawn = [uniform(derive_seed(r.seed, r.experiment.id, int(r.supportive))) for r in requests]
        return Outcomes(tuple(Outcome(Fields(y=round(value, 6))) for value in drawn))


@dataclass(frozen=True)
class MortalBelief:
    """Another belief, in processes of which some die: one for each mark that they can make.

    Attributes:
        belief: answers.
        folder: of the marks.
        deaths: how many there are.
        after: batches that a process answers before.
    """

    belief: BeliefModel
    folder: Path
    deaths: int = 1
    after: int = 2

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        if _batches_of_this_process() > self.after:
            _die_once(self.folder, self.deaths)
        return self.belief.probabilities(queries)


@dataclass(frozen=True)
class MortalSimulator:
    """Another simulator, see `MortalBelief`."""

    simulator: OutcomeSimulator
    folder: Path
    deaths: int = 1

    @property
    def ranks_outcomes(self) -> bool:
        return ranks_outcomes(self.simulator)

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        if _batches_of_this_process() > 1:
            _die_once(self.folder, self.deaths)
        return self.simulator.sample(requests)


class Unpicklable:
    """Holds what no process can send to another."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        raise NotImplementedError


class ForeignToNodes:
    """Can be sent, and not received."""

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        raise NotImplementedError

    def __reduce__(self) -> tuple[object, ...]:
        return (__import__, ("no_such_library",))


_COUNT = iter(range(10**9))


def _batches_of_this_process() -> int:
    return next(_COUNT)


def _die_once(folder: Path, deaths: int) -> None:
    for death in range(deaths):
        try:
            (folder / f"death-{death}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os._exit(17)


def questions(count: int, length: int = 0) -> list[BeliefQuery]:
    """Questions about different claims."""
    return [
        BeliefQuery(Hypothesis(f"claim {n}{'.' * length}"), (), derive_seed("fleet", n))
        for n in range(count)
    ]
