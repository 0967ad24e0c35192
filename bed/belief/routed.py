"""One belief model for each domain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bed.domains import places_by_domain
from bed.protocols import BeliefModel, BeliefQuery, Beliefs

__all__ = ["DomainBelief"]


@dataclass(frozen=True)
class DomainBelief:
    """Answers each query by the model of its hypothesis' domain.

    Attributes:
        models: domain -> model.
    """

    models: Mapping[str, BeliefModel]

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; one of a domain without a model fails alone."""
        values = np.full(len(queries), np.nan)
        noise = np.full(len(queries), np.nan)
        reasons: list[str | None] = [None] * len(queries)
        knows_noise = False
        for domain, places in places_by_domain([q.hypothesis.domain for q in queries]).items():
            model = self.models.get(domain)
            if model is None:
                for place in places:
                    reasons[place] = f"no belief for the domain {domain!r}; known: {[*self.models]}"
                continue
            found = model.probabilities([queries[place] for place in places])
            values[places] = found.probabilities
            for place, reason in zip(places, found.reasons, strict=True):
                reasons[place] = reason
            if found.noise is not None:
                noise[places], knows_noise = found.noise, True
        return Beliefs(values, tuple(reasons), noise if knows_noise else None)
