"""What users plug in: belief models, outcome simulators, policies. Batch first, one method each.

A batch never fails because one item failed: results carry a reason for each failed item. The seed
travels in each request, so whether draws are coupled is the caller's choice. Methods are ordinary
calls that return when done, but an estimator may ask a belief model and a simulator at the same
time from two threads: what the two share must bear that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evidence import Evidence, Experiment, Hypothesis, Outcome
from bed.seeds import uniform

__all__ = [
    "BeliefModel",
    "BeliefQuery",
    "Beliefs",
    "Calls",
    "Choice",
    "DesignProblem",
    "OutcomeRequest",
    "OutcomeSimulator",
    "Outcomes",
    "Policy",
    "ranks_outcomes",
]


@dataclass(frozen=True, slots=True)
class BeliefQuery:
    """How probable is `hypothesis` given `evidence`? Only sampled beliefs use the seed."""

    hypothesis: Hypothesis
    evidence: Evidence = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Answers to a batch of belief queries, in order.

    Attributes:
        probabilities: shape (num_queries,), in [0, 1]; NaN where the query failed.
        reasons: why each failed query failed; None where it did not.
        noise: standard error of each answer's log odds (nats), shape (num_queries,), from a model
            that asked more than once; NaN for an answer whose noise is unknown, None from a model
            that never knows.
    """

    probabilities: NDArray[np.float64]
    reasons: tuple[str | None, ...] = ()
    noise: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        values = np.asarray(self.probabilities, dtype=np.float64)
        reasons = tuple(self.reasons) or (None,) * values.size
        if values.ndim != 1 or len(reasons) != values.size:
            raise DataError(
                f"beliefs of shape {values.shape} with {len(reasons)} reasons: mismatch"
            )
        failed = np.array([reason is not None for reason in reasons], dtype=bool)
        bad = ~failed & ~((values >= 0) & (values <= 1))
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"belief {place} is {values[place]!r}, outside [0, 1]; give a failed query a reason"
            )
        object.__setattr__(self, "probabilities", np.where(failed, np.nan, values))
        object.__setattr__(self, "reasons", reasons)
        if self.noise is not None:
            noise = np.asarray(self.noise, dtype=np.float64)
            if noise.shape != values.shape:
                raise DataError(f"noise of shape {noise.shape} for beliefs of shape {values.shape}")
            if (bad := ~failed & ((noise < 0) | np.isinf(noise))).any():
                place = int(np.flatnonzero(bad)[0])
                raise DataError(
                    f"noise {place} is {noise[place]}; a standard error is finite and 0 or more, "
                    "or NaN where it is unknown"
                )
            object.__setattr__(self, "noise", np.where(failed, np.nan, noise))


@runtime_checkable
class BeliefModel(Protocol):
    """p(theta = 1 | evidence) for whichever hypothesis is asked about.

    It is asked about the target h, and about the local hypothesis h' of each experiment in turn.
    Order is kept; a batch of one equals a row of many; equal queries get equal answers; the
    evidence may be empty. A query that cannot be answered gets a reason, never a guess.
    """

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query."""
        ...


@dataclass(frozen=True, slots=True)
class OutcomeRequest:
    """What would `experiment` report, given `evidence`, if its h' were true (or not)?

    Attributes:
        experiment: what is run.
        supportive: the branch, theta'. Where results can err, h' is the truth behind the result,
            and both the belief about h' and the belief given a result must allow for the error;
            where h' is "the result comes out supported" there is nothing to allow for. Mixing the
            two shows as a coherence gap.
        evidence: what is known, I.
        seed: equal requests with equal seeds get equal outcomes.
        level: where the outcome shall lie among those of the branch, from 0, the least supportive
            of h', to 1, the most; 0.5 is the median. None leaves it to the seed. Only simulators
            that rank their outcomes can honour it (see `ranks_outcomes`).
    """

    experiment: Experiment
    supportive: bool
    evidence: Evidence = ()
    seed: int = 0
    level: float | None = None

    def __post_init__(self) -> None:
        if self.level is not None and not 0 < self.level < 1:
            raise DataError(f"level {self.level!r} of {self.experiment.id!r} is outside (0, 1)")

    @property
    def position(self) -> float:
        """Where in (0, 1) an inverse-CDF draw falls: the level, or the seed's uniform number."""
        return uniform(self.seed) if self.level is None else self.level


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Simulated outcomes in the order of the requests; None and a reason where one failed."""

    values: tuple[Outcome | None, ...]
    reasons: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        values = tuple(self.values)
        reasons = tuple(self.reasons) or (None,) * len(values)
        if len(reasons) != len(values):
            raise DataError(f"{len(values)} outcomes with {len(reasons)} reasons: length mismatch")
        for place, (value, reason) in enumerate(zip(values, reasons, strict=True)):
            if (value is None) == (reason is None):
                raise DataError(f"outcome {place} must have either a value or a reason")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "reasons", reasons)


@runtime_checkable
class OutcomeSimulator(Protocol):
    """Draws y ~ p(y | x, theta', I).

    Equal requests get equal outcomes. A simulator that draws through an inverse CDF, over outcomes
    ranked by how much they support h', takes `OutcomeRequest.position` and says so by an attribute
    `ranks_outcomes = True`: equal seeds then give coupled outcomes over candidates and branches,
    and estimators may ask for an outcome at a chosen level.
    """

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw one outcome for every request."""
        ...


def ranks_outcomes(simulator: OutcomeSimulator) -> bool:
    """Return whether a simulator promises to honour `OutcomeRequest.level`."""
    return bool(getattr(simulator, "ranks_outcomes", False))


@dataclass(frozen=True, slots=True)
class DesignProblem:
    """Which of `candidates` should be run next to learn about `target`, given `evidence`?

    Attributes:
        id: names the problem in messages and lets a reference policy look up its episode.
        seed: what every draw made for this problem derives from.
    """

    target: Hypothesis
    evidence: Evidence
    candidates: tuple[Experiment, ...]
    seed: int = 0
    id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", tuple(self.evidence))
        object.__setattr__(self, "candidates", tuple(self.candidates))
        if not self.candidates:
            raise DataError(f"problem {self.id!r}: no candidates left to choose from")
        ids = [candidate.id for candidate in self.candidates]
        if len(set(ids)) < len(ids):
            raise DataError(f"problem {self.id!r}: duplicate candidate ids in {ids}")
        known = {stub.experiment for stub in self.evidence}
        if again := [x.id for x in self.candidates if x in known and not x.is_repeatable]:
            raise DataError(
                f"problem {self.id!r}: {again[0]!r} was already revealed and is not repeatable; "
                "take it out of the candidates"
            )


@dataclass(frozen=True, slots=True)
class Calls:
    """Model calls asked for one problem, and what was sent after identical ones were merged."""

    belief: int = 0
    simulator: int = 0
    belief_sent: int = 0
    simulator_sent: int = 0

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(
            self.belief + other.belief,
            self.simulator + other.simulator,
            self.belief_sent + other.belief_sent,
            self.simulator_sent + other.simulator_sent,
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy's answer to one design problem.

    Attributes:
        index: of the chosen candidate; None where nothing could be scored.
        worth: shape (num_candidates,), what the policy ranks by; NaN where not scored.
        reason: why this one, or why none.
        tied: indices that share the best worth; the lowest of them is chosen.
        within_noise: indices whose worth equals the best or falls short of it by less than one
            standard error of the difference. Where no noise is known that is the best alone, which
            says nothing of how distinct it is. The highest is still chosen.
        doubts: why the worths are not to be trusted, and what mends it; empty where they are.
        eig: bits, shape (num_candidates,); None for a policy that promises no information.
        coherence_gap: shape (num_candidates,); None where the policy has none.
        raw_coherence_gap: the same before branch weights were moved to base rates.
        failures: one reason for each candidate that was not scored.
        calls: what the choice cost.
        fallback: why the policy could not choose in its own way and chose at random; None where it
            could.
    """

    index: int | None
    worth: NDArray[np.float64]
    reason: str
    tied: tuple[int, ...] = ()
    within_noise: tuple[int, ...] = ()
    doubts: tuple[str, ...] = ()
    eig: NDArray[np.float64] | None = None
    coherence_gap: NDArray[np.float64] | None = None
    raw_coherence_gap: NDArray[np.float64] | None = None
    failures: tuple[str, ...] = field(default=())
    calls: Calls = Calls()
    fallback: str | None = None


@runtime_checkable
class Policy(Protocol):
    """Chooses the next experiment, for many problems at once.

    The same problem gets the same choice, whatever else is in the batch and in whatever order its
    candidates stand (ties apart, which go to the lowest index).
    """

    def choose(self, problems: Sequence[DesignProblem]) -> list[Choice]:
        """Return one choice for every problem, in order."""
        ...
