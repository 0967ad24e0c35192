"""One outcome simulator for each domain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bed.domains import places_by_domain
from bed.evidence import Outcome
from bed.protocols import OutcomeRequest, Outcomes, OutcomeSimulator, ranks_outcomes

__all__ = ["DomainSimulator"]


@dataclass(frozen=True)
class DomainSimulator:
    """Draws each outcome by the simulator of its experiment's domain.

    Attributes:
        models: domain -> simulator.
    """

    models: Mapping[str, OutcomeSimulator]

    @property
    def ranks_outcomes(self) -> bool:
        """Whether every simulator honours `OutcomeRequest.level`."""
        return all(map(ranks_outcomes, self.models.values()))

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw every outcome; one of a domain without a simulator fails alone."""
        values: list[Outcome | None] = [None] * len(requests)
        reasons: list[str | None] = [None] * len(requests)
        domains = [request.experiment.hypothesis.domain for request in requests]
        for domain, places in places_by_domain(domains).items():
            model = self.models.get(domain)
            if model is None:
                for place in places:
                    reasons[place] = f"no simulator for {domain!r}; known: {[*self.models]}"
                continue
            found = model.sample([requests[place] for place in places])
            for place, value, reason in zip(places, found.values, found.reasons, strict=True):
                values[place], reasons[place] = value, reason
        return Outcomes(tuple(values), tuple(reasons))
