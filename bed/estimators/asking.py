"""The two rounds of questions behind every model-based estimate, in batches over many problems.

First the beliefs of the present: p(theta|I), and p(theta'|I) for each candidate. Then imagined
futures: p(theta|I,x,y) after each simulated outcome. Identical questions are sent once, and a
failed part becomes a reason why its candidate is not scored.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bed.errors import BedError
from bed.evidence import Outcome, Stub
from bed.protocols import (
    BeliefModel,
    BeliefQuery,
    Beliefs,
    Calls,
    DesignProblem,
    OutcomeRequest,
    Outcomes,
    OutcomeSimulator,
)

__all__ = [
    "Drawn",
    "Futures",
    "Plan",
    "Present",
    "ask_beliefs",
    "draw_outcomes",
    "imagined_futures",
    "present_beliefs",
]

Plan = dict[tuple[int, int, int], OutcomeRequest]
"""Outcomes to imagine in one problem: (candidate, branch, sample) -> request."""

_Question = TypeVar("_Question", bound=Hashable)
_Answer = TypeVar("_Answer")
_Answers = TypeVar("_Answers", Beliefs, Outcomes)


@dataclass(frozen=True)
class Present:
    """Beliefs under the evidence at hand, for one problem.

    Attributes:
        prior: p(theta=1 | I); NaN where it failed.
        weight: p(theta'=1 | I), shape (num_candidates,).
        weight_noise: its standard error in log odds, where the belief says so; else NaN.
        reasons: for each candidate why a belief is missing, or None.
        calls: queries asked, and sent after merging.
    """

    prior: float
    weight: NDArray[np.float64]
    weight_noise: NDArray[np.float64]
    reasons: tuple[str | None, ...]
    calls: Calls


@dataclass(frozen=True)
class Drawn:
    """Simulated outcomes as stubs, flat over all problems; None with a reason where one failed."""

    stubs: tuple[Stub | None, ...]
    reasons: tuple[str | None, ...]
    is_sent: NDArray[np.bool_]


@dataclass(frozen=True)
class Futures:
    """Posteriors after simulated outcomes, for one problem.

    Attributes:
        posterior: flat, in the order of the problem's requests; NaN where it failed.
        noise: its standard error in log odds, where the belief says so; else NaN.
        reasons: why, or None.
        calls: outcomes and posteriors asked, and sent after merging.
    """

    posterior: NDArray[np.float64]
    noise: NDArray[np.float64]
    reasons: tuple[str | None, ...]
    calls: Calls


def present_beliefs(
    belief: BeliefModel, problems: Sequence[DesignProblem], with_prior: bool = True
) -> list[Present]:
    """Ask for the prior and the branch weights of every problem in one batch.

    All belief queries of a problem share its seed: common random numbers for sampled beliefs,
    and equal questions stay equal.

    Args:
        belief: the model to ask.
        problems: one `Present` comes back for each.
        with_prior: False asks for the branch weights alone; the prior is then NaN.
    """
    asked = [
        ((problem.target,) if with_prior else ()) + tuple(x.hypothesis for x in problem.candidates)
        for problem in problems
    ]
    queries = [
        BeliefQuery(hypothesis, problem.evidence, problem.seed)
        for problem, hypotheses in zip(problems, asked, strict=True)
        for hypothesis in hypotheses
    ]
    values, noise, reasons, is_sent = ask_beliefs(belief, queries)
    found, start = [], 0
    for problem in problems:
        first = start + with_prior
        stop = first + len(problem.candidates)
        prior_reason = reasons[start] if with_prior else None
        found.append(
            Present(
                prior=float(values[start]) if with_prior else np.nan,
                weight=values[first:stop],
                weight_noise=noise[first:stop],
                reasons=tuple(_present_reason(prior_reason, why) for why in reasons[first:stop]),
                calls=Calls(belief=stop - start, belief_sent=int(is_sent[start:stop].sum())),
            )
        )
        start = stop
    return found


def _present_reason(of_prior: str | None, of_weight: str | None) -> str | None:
    if of_prior is not None:
        return f"prior: {of_prior}"
    return None if of_weight is None else f"branch weight: {of_weight}"


def draw_outcomes(simulator: OutcomeSimulator, plans: Sequence[Plan]) -> Drawn:
    """Draw the outcomes of every problem's plan in one batch."""

    def answer(unique: Sequence[OutcomeRequest]) -> list[tuple[Outcome | None, str | None]]:
        outcomes = _of_type(
            Outcomes, simulator.sample(unique), f"{type(simulator).__name__}.sample"
        )
        return list(zip(outcomes.values, outcomes.reasons, strict=True))

    flat = [request for plan in plans for request in plan.values()]
    answers, is_sent = _asked_once(flat, answer, type(simulator).__name__)
    stubs = tuple(
        None if outcome is None else Stub(request.experiment, outcome)
        for request, (outcome, _) in zip(flat, answers, strict=True)
    )
    reasons = tuple(None if why is None else f"simulator: {why}" for _, why in answers)
    return Drawn(stubs, reasons, is_sent)


def imagined_futures(
    belief: BeliefModel,
    problems: Sequence[DesignProblem],
    plans: Sequence[Plan],
    drawn: Drawn,
) -> list[Futures]:
    """Ask for the posterior after every outcome that was drawn, in one batch."""
    owners = [problem for problem, plan in zip(problems, plans, strict=True) for _ in plan]
    queries, rows = [], []
    for row, (problem, stub) in enumerate(zip(owners, drawn.stubs, strict=True)):
        if stub is not None:
            rows.append(row)
            queries.append(BeliefQuery(problem.target, (*problem.evidence, stub), problem.seed))
    values, spread, reasons, is_sent = ask_beliefs(belief, queries)
    posterior, noise = np.full(len(owners), np.nan), np.full(len(owners), np.nan)
    posterior[rows], noise[rows] = values, spread
    why = list(drawn.reasons)
    for row, reason in zip(rows, reasons, strict=True):
        why[row] = None if reason is None else f"posterior: {reason}"
    asked, sent = (np.zeros(len(owners), dtype=np.bool_) for _ in range(2))
    asked[rows], sent[rows] = True, is_sent
    found, start = [], 0
    for plan in plans:
        here = slice(start, start + len(plan))
        found.append(
            Futures(
                posterior[here],
                noise[here],
                tuple(why[here]),
                Calls(
                    belief=int(asked[here].sum()),
                    simulator=len(plan),
                    belief_sent=int(sent[here].sum()),
                    simulator_sent=int(drawn.is_sent[here].sum()),
                ),
            )
        )
        start = here.stop
    return found


def ask_beliefs(
    belief: BeliefModel, queries: Sequence[BeliefQuery]
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str | None], NDArray[np.bool_]]:
    """Return probabilities, their noise in log odds, reasons, and which queries were sent."""

    def answer(unique: Sequence[BeliefQuery]) -> list[tuple[float, float, str | None]]:
        name = f"{type(belief).__name__}.probabilities"
        beliefs = _of_type(Beliefs, belief.probabilities(unique), name)
        values = beliefs.probabilities
        noise = np.full(len(values), np.nan) if beliefs.noise is None else beliefs.noise
        return list(zip(values.tolist(), noise.tolist(), beliefs.reasons, strict=True))

    answers, is_sent = _asked_once(queries, answer, type(belief).__name__)
    table = np.array([row[:2] for row in answers], dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1], [row[2] for row in answers], is_sent


def _of_type(kind: type[_Answers], answers: _Answers, who: str) -> _Answers:
    if not isinstance(answers, kind):
        raise BedError(f"{who} must return bed.{kind.__name__}, got a {type(answers).__name__}")
    return answers


def _asked_once(
    questions: Sequence[_Question],
    answer: Callable[[Sequence[_Question]], Sequence[_Answer]],
    who: str,
) -> tuple[list[_Answer], NDArray[np.bool_]]:
    """Return the answers in order, and which questions were sent rather than merged."""
    place: dict[_Question, int] = {}
    rows: list[int] = []
    is_sent = np.zeros(len(questions), dtype=np.bool_)
    for i, question in enumerate(questions):
        num_known = len(place)
        rows.append(place.setdefault(question, num_known))
        is_sent[i] = len(place) > num_known
    answers = answer(list(place)) if place else []
    if len(answers) != len(place):
        raise BedError(f"{who} gave {len(answers)} answers to {len(place)} questions; mend it")
    return [answers[row] for row in rows], is_sent
