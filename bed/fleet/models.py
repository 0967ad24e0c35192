"""Belief models and simulators whose answers come from a fleet of workers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bed.errors import BedError
from bed.evidence import Outcome
from bed.fleet.dispatch import Lost
from bed.protocols import (
    BeliefModel,
    BeliefQuery,
    Beliefs,
    OutcomeRequest,
    Outcomes,
    OutcomeSimulator,
    ranks_outcomes,
)

__all__ = ["FleetBelief", "FleetSimulator", "answered"]

Ask = Callable[[Sequence[Any]], list[Any]]
"""Items -> their answers, in order; `Lost` for one that no worker survived."""


class _Belief(NamedTuple):
    probability: float
    noise: float | None
    reason: str | None


class _Drawn(NamedTuple):
    outcome: Outcome | None
    reason: str | None


def answered(model: BeliefModel | OutcomeSimulator, items: Sequence[Any]) -> Sequence[Any]:
    """Return a model's answer to each item, as a worker sends it back.

    Args:
        model: a belief model or a simulator.
        items: queries or requests.

    Raises:
        BedError: for a model that gives more or fewer answers than it was asked for.
    """
    found: Sequence[Any]
    if isinstance(model, BeliefModel):
        beliefs = model.probabilities(items)
        count = len(beliefs.reasons)
        noise = [None] * count if beliefs.noise is None else beliefs.noise.tolist()
        rows = zip(beliefs.probabilities.tolist(), noise, beliefs.reasons, strict=True)
        found = [_Belief(*row) for row in rows]
    else:
        outcomes = model.sample(items)
        found = [_Drawn(*row) for row in zip(outcomes.values, outcomes.reasons, strict=True)]
    if len(found) != len(items):
        raise BedError(
            f"{type(model).__name__} gave {len(found)} answers to {len(items)} questions; mend it"
        )
    return found


@dataclass(frozen=True, eq=False)
class FleetBelief:
    """A belief model that answers on the workers of a fleet.

    Attributes:
        stands_for: the model, in this process.
        ask: asks the workers.
    """

    stands_for: BeliefModel
    ask: Ask

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query, as the model would; one that no worker survived fails alone."""
        rows = [
            _Belief(np.nan, None, answer.reason) if isinstance(answer, Lost) else answer
            for answer in self.ask(queries)
        ]
        noise = None
        if any(row.noise is not None for row in rows):
            noise = np.array([np.nan if row.noise is None else row.noise for row in rows])
        return Beliefs(
            np.array([row.probability for row in rows]), tuple(row.reason for row in rows), noise
        )


@dataclass(frozen=True, eq=False)
class FleetSimulator:
    """A simulator that draws on the workers of a fleet.

    Attributes:
        stands_for: the simulator, in this process.
        ask: asks the workers.
    """

    stands_for: OutcomeSimulator
    ask: Ask

    @property
    def ranks_outcomes(self) -> bool:
        """Whether the simulator ranks its outcomes, see `bed.OutcomeSimulator`."""
        return ranks_outcomes(self.stands_for)

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw every outcome, as the simulator would; one that no worker survived fails alone."""
        rows = [
            _Drawn(None, answer.reason) if isinstance(answer, Lost) else answer
            for answer in self.ask(requests)
        ]
        return Outcomes(tuple(row.outcome for row in rows), tuple(row.reason for row in rows))
