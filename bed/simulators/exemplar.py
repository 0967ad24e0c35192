"""Outcomes that really happened: draws from training experiments of the same kind and branch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bed.domains import kind, reading
from bed.errors import DataError
from bed.evidence import Episode, Outcome
from bed.protocols import OutcomeRequest, Outcomes
from bed.seeds import uniform

__all__ = ["ExemplarSimulator", "Shelf", "fit_exemplar_simulator", "ranked_outcomes"]

Shelf = tuple[str, str, bool]
"""Domain, kind of assay, and branch."""


@dataclass(frozen=True)
class ExemplarSimulator:
    """Draws a training outcome; it knows the kind and the branch, not the evidence.

    Outcomes are ranked by how much they support h', and a draw takes the rank that its seed's
    uniform number falls on: equal seeds give coupled outcomes.

    Attributes:
        shelves: ranked training outcomes by domain, kind and branch.
    """

    shelves: Mapping[Shelf, tuple[Outcome, ...]]

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw every outcome; a kind or branch never seen in training fails its request."""
        values: list[Outcome | None] = []
        reasons: list[str | None] = []
        for request in requests:
            shelf = shelf_of(request)
            ranked = self.shelves.get(shelf, ())
            values.append(ranked[int(uniform(request.seed) * len(ranked))] if ranked else None)
            reasons.append(None if ranked else missing(shelf))
        return Outcomes(tuple(values), tuple(reasons))


def shelf_of(request: OutcomeRequest) -> Shelf:
    """Return where the request's exemplars stand."""
    experiment = request.experiment
    return experiment.hypothesis.domain, kind(experiment), request.supportive


def missing(shelf: Shelf) -> str:
    """Return why a request for an empty shelf fails."""
    domain, assay, supportive = shelf
    branch = "supported" if supportive else "unsupported"
    return f"no {branch} {assay} outcome of domain {domain} in the training episodes"


def ranked_outcomes(episodes: Sequence[Episode]) -> dict[Shelf, tuple[Outcome, ...]]:
    """Return the distinct experiments' outcomes by shelf, least supporting first.

    Raises:
        DataError: for no episodes.
    """
    if not episodes:
        raise DataError("no episodes to take outcomes from: at least one is needed")
    found: dict[Shelf, dict[str, tuple[float, Outcome]]] = defaultdict(dict)
    for episode in episodes:
        for stub in episode.pool:
            x = stub.experiment
            seen = reading(x, stub.outcome)
            # an experiment that stands in many pools was still run once
            key = f"{x.hypothesis.text}\n{x.id}"
            shelf = (x.hypothesis.domain, kind(x), seen.supported)
            found[shelf][key] = (seen.score, stub.outcome)
    return {
        shelf: tuple(outcome for _, outcome in sorted(of_shelf.values(), key=lambda pair: pair[0]))
        for shelf, of_shelf in sorted(found.items())
    }


def fit_exemplar_simulator(episodes: Sequence[Episode]) -> ExemplarSimulator:
    """Collect the outcomes of training episodes."""
    return ExemplarSimulator(ranked_outcomes(episodes))
