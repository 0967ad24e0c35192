"""What a domain knows: how an experiment bears on a hypothesis, and what its outcome says.

A domain is a module with three functions: `relation(hypothesis, experiment)`,
`reading(experiment, outcome)` and `kind(experiment)`. Relevance is never stored with an
experiment, because the same experiment is near to one hypothesis and far from another: the target
h and each local hypothesis h' are asked about in turn.
"""

from functools import lru_cache
from types import ModuleType

from bed.domains import depmap, generic, world
from bed.domains.meaning import Reading, Relation
from bed.errors import DataError
from bed.evidence import Experiment, Hypothesis, Outcome

__all__ = ["Reading", "Relation", "kind", "reading", "relation"]

_REMEMBERED = 1 << 18
"""Simulation asks about the same pairs at every step."""

_DOMAINS: dict[str, ModuleType] = {"depmap": depmap, "generic": generic, "world": world}


def _domain(name: str) -> ModuleType:
    try:
        return _DOMAINS[name]
    except KeyError:
        raise DataError(f"unknown domain {name!r}; use one of {sorted(_DOMAINS)}") from None


@lru_cache(_REMEMBERED)
def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return how `experiment` bears on `hypothesis`, from their structured fields."""
    found: Relation = _domain(hypothesis.domain).relation(hypothesis, experiment)
    return found


@lru_cache(_REMEMBERED)
def reading(experiment: Experiment, outcome: Outcome) -> Reading:
    """Return what `outcome` says about the experiment's own local hypothesis.

    Raises:
        DataError: for an outcome whose fields are missing, NaN or not of the domain.
    """
    found: Reading = _domain(experiment.hypothesis.domain).reading(experiment, outcome)
    return found


def kind(experiment: Experiment) -> str:
    """Return the kind of assay: experiments of one kind report outcomes of one form."""
    found: str = _domain(experiment.hypothesis.domain).kind(experiment)
    return found
