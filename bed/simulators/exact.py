"""The outcome simulator of exact finite worlds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bed.errors import DataError, ImpossibleEvidenceError
from bed.evidence import Fields, Outcome
from bed.protocols import OutcomeRequest, Outcomes
from bed.worlds import World

__all__ = ["ExactSimulator"]


@dataclass(frozen=True)
class ExactSimulator:
    """Draws y ~ p(y | x, theta', I) by inverse CDF over outcomes ranked by support of theta'.

    Attributes:
        worlds: name -> world.
        knows_evidence: False draws from p(y | x, theta'), which ignores I; that breaks the
            factored form where outcomes hang together beyond theta'.
    """

    worlds: Mapping[str, World]
    knows_evidence: bool = True

    ranks_outcomes: ClassVar[bool] = True

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw every outcome; a branch of probability zero is a failed request."""
        values: list[Outcome | None] = [None] * len(requests)
        reasons: list[str | None] = [None] * len(requests)
        for i, request in enumerate(requests):
            try:
                values[i] = self._draw(request)
            except (ImpossibleEvidenceError, DataError) as error:
                reasons[i] = str(error)
        return Outcomes(tuple(values), tuple(reasons))

    def _draw(self, request: OutcomeRequest) -> Outcome:
        name = str(request.experiment.hypothesis.fields.get("world"))
        if name not in self.worlds:
            raise DataError(f"no world {name!r} here, asked of {request.experiment.id!r}")
        world = self.worlds[name]
        observed = world.observed(request.evidence) if self.knows_evidence else []
        candidate = world.index(request.experiment)
        p_y = world.branch_outcomes(candidate, request.supportive, observed)
        ranked = world.by_support(candidate)
        place = int(np.searchsorted(np.cumsum(p_y[ranked]), request.position, side="right"))
        return Outcome(Fields(y=int(ranked[min(place, len(ranked) - 1)])))
