"""Outcomes that really happened: draws from training experiments of the same kind and branch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bed.domains import kind, reading
from bed.errors import DataError
from bed.evidence import Episode, Outcome
from bed.protocols import OutcomeRequest, Outcomes

__all__ = ["ExemplarSimulator", "Shelf", "fit_exemplar_simulator", "ranked_outcomes"]

Shelf = tuple[str, str, bool]
"""Domain, kind of assay, and branch."""


@dataclass(frozen=True)
class ExemplarSimulator:
    """Draws a training outcome; it knows the kind and the branch, not the evidence.

    Outcomes are ranked by how much they support h', and a draw takes the rank that its position
    falls on: equal seeds give coupled outcomes.

    Attributes:
        shelves: ranked training outcomes by domain, kind and branch.
    """

    shelves: Mapping[Shelf, tuple[Outcome, ...]]

    ranks_outcomes: ClassVar[bool] = True

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw every outcome; a kind or branch never seen in training fails its request."""
        values: list[Outcome | None] = []
        reasons: list[str | None] = []
        for request in requests:
            try:
                ranked = self.shelves[shelf_of(request, self.shelves)]
            except DataError as error:
                values.append(None)
                reasons.append(str(error))
            else:
                values.append(ranked[int(request.position * len(ranked))])
                reasons.append(None)
        return Outcomes(tuple(values), tuple(reasons))


def shelf_of(request: OutcomeRequest, shelves: Mapping[Shelf, object]) -> Shelf:
    """Return where the request's exemplars stand.

    Raises:
        DataError: for a kind that its domain does not know, or that has no exemplars.
    """
    experiment = request.experiment
    shelf = (experiment.hypothesis.domain, kind(experiment), request.supportive)
    if shelf not in shelves:
        branch = "supported" if request.supportive else "unsupported"
        raise DataError(
            f"no {branch} {shelf[1]} outcome of domain {shelf[0]} in the training episodes"
        )
    return shelf


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
