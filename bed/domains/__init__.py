"""What a domain knows: how an experiment bears on a hypothesis, and what its outcome says.

A domain is a module with three functions: `relation(hypothesis, experiment)`,
`reading(experiment, outcome)` and `kind(experiment)`. Relevance is never stored with an
experiment, because the same experiment is near to one hypothesis and far from another: the target
h and each local hypothesis h' are asked about in turn.
"""

from collections.abc import Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any

from bed.domains import depmap, expression, generic, gwas, world
from bed.domains.meaning import Reading, Relation, Verdict
from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome

__all__ = [
    "STATED_RELATION",
    "Reading",
    "Relation",
    "Verdict",
    "canonical",
    "kind",
    "places_by_domain",
    "reading",
    "relation",
]

_REMEMBERED = 1 << 18
"""Simulation asks about the same pairs at every step."""

_DOMAINS: dict[str, ModuleType] = {
    "depmap": depmap,
    "expression": expression,
    "generic": generic,
    "gwas": gwas,
    "world": world,
}
_ALIASES = {"tahoe": "expression"}
STATED_RELATION = "stated_relation"


def canonical(domain: str) -> str:
    """Return the domain's own name for any name that it goes by; "tahoe" is "expression".

    Raises:
        DataError: for an unknown domain.
    """
    name = _ALIASES.get(domain, domain)
    if name not in _DOMAINS:
        raise DataError(f"unknown domain {domain!r}; use one of {sorted(_DOMAINS)}")
    return name


def places_by_domain(domains: Sequence[str]) -> dict[str, list[int]]:
    """Return where each domain stands, under its own name; unknown domains keep theirs."""
    places: dict[str, list[int]] = {}
    for place, domain in enumerate(domains):
        places.setdefault(_ALIASES.get(domain, domain), []).append(place)
    return places


def _told(domain: str, question: str, experiment: Experiment, *about: Any) -> Any:
    """Put a question to a domain; what it cannot answer for want of a field is a DataError."""
    module = _DOMAINS[canonical(domain)]
    try:
        return getattr(module, question)(*about)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"experiment {experiment.id!r}: the {question} in domain {domain!r} needs fields that "
            f"are missing or malformed ({type(error).__name__}: {error})"
        ) from error


@lru_cache(_REMEMBERED)
def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return how `experiment` bears on `hypothesis`, from their structured fields.

    Released episodes tell the relation to their own target in words, and not all that it was
    computed from. Such an experiment has the field `stated_relation`, {"to": text of the
    hypothesis, "tier", "tag"}, which holds for that hypothesis.

    Raises:
        DataError: for an unknown domain, or fields that it lacks.
    """
    stated = experiment.fields.get(STATED_RELATION)
    if stated is not None and _stated(experiment, stated)["to"] == hypothesis.text:
        return Relation(stated["tier"], stated["tag"])
    found: Relation = _told(hypothesis.domain, "relation", experiment, hypothesis, experiment)
    return found


def _stated(experiment: Experiment, stated: object) -> Fields:
    """Return a stated relation that is whole."""
    if isinstance(stated, Fields):
        tier, words = stated.get("tier"), (stated.get("to"), stated.get("tag"))
        if (
            type(tier) is int
            and tier >= 1
            and all(isinstance(word, str) and word for word in words)
        ):
            return stated
    raise DataError(
        f"experiment {experiment.id!r}: stated_relation {stated!r} must hold 'to' and 'tag', texts "
        "that are not empty, and 'tier', 1 or more"
    )


@lru_cache(_REMEMBERED)
def reading(experiment: Experiment, outcome: Outcome) -> Reading:
    """Return what `outcome` says about the experiment's own local hypothesis.

    Raises:
        DataError: for an outcome whose fields are missing, NaN or not of the domain.
    """
    domain = experiment.hypothesis.domain
    found: Reading = _told(domain, "reading", experiment, experiment, outcome)
    return found


def kind(experiment: Experiment) -> str:
    """Return the kind of assay: experiments of one kind report outcomes of one form.

    Raises:
        DataError: for an unknown domain or kind.
    """
    found: str = _told(experiment.hypothesis.domain, "kind", experiment, experiment)
    return found
