"""The belief of a perfect reasoner in exact finite worlds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bed.errors import DataError, ImpossibleEvidenceError
from bed.protocols import BeliefQuery, Beliefs
from bed.worlds import World

__all__ = ["ExactBelief"]


@dataclass(frozen=True)
class ExactBelief:
    """Exact posteriors of theta, or of a candidate's theta', by enumeration.

    Attributes:
        worlds: name -> world; a query's hypothesis says which one it lives in.
    """

    worlds: Mapping[str, World]

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; evidence that a world excludes is a failed query."""
        values = np.full(len(queries), np.nan)
        reasons: list[str | None] = [None] * len(queries)
        for i, query in enumerate(queries):
            try:
                values[i] = self._answer(query)
            except (ImpossibleEvidenceError, DataError) as error:
                reasons[i] = str(error)
        return Beliefs(values, tuple(reasons))

    def _answer(self, query: BeliefQuery) -> float:
        name = str(query.hypothesis.fields.get("world"))
        if name not in self.worlds:
            raise DataError(f"no world {name!r} here, asked by {query.hypothesis.text!r}")
        world = self.worlds[name]
        observed = world.observed(query.evidence)
        candidate = query.hypothesis.fields.get("candidate")
        if candidate is None:
            return world.posterior(observed)
        return world.branch_weight(candidate, observed)
