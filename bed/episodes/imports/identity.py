"""What names a target and a measurement, and whether a measurement is the target's own."""

from collections.abc import Mapping
from typing import Any

from bed.domains import canonical
from bed.domains.depmap import CLAIMS
from bed.domains.expression import STRONG_EFFECT
from bed.domains.gwas import same_trait
from bed.errors import DataError
from bed.evidence import Experiment, Hypothesis

__all__ = ["IDENTIFIERS", "alike", "require_not_own"]

IDENTIFIERS: Mapping[str, tuple[str, ...]] = {
    "depmap": ("gene", "cell_line"),
    "expression": ("perturbation", "context", "gene"),
    "gwas": ("snp", "trait"),
}
"""Structured domain -> the fields, all of them texts, that name what a measurement is of."""

_SETTINGS = {
    "depmap": (),
    "expression": ("perturbation_type", "context_type", "condition", "dose", "time"),
    "gwas": ("study",),
}
"""Fields that tell two measurements of the same things apart, where both state them."""


def alike(one: object, other: object) -> bool:
    """Return whether two values read the same but for case and blanks.

    Args:
        one: a value, usually a text.
        other: the same.
    """
    first, second = (" ".join(str(value).split()).casefold() for value in (one, other))
    return first == second


def require_not_own(target: Hypothesis, experiment: Experiment) -> None:
    """Raise where an experiment is the measurement that gives the target its label.

    Args:
        target: of the episode.
        experiment: of its pool.

    Raises:
        DataError: naming what the two have in common.
    """
    domain = canonical(target.domain)
    if domain not in IDENTIFIERS or canonical(experiment.hypothesis.domain) != domain:
        return
    claim, tested = target.fields, experiment.fields
    names = _identifiers(domain, claim)
    if not (_same_claim(domain, claim, tested) and _same(domain, names, claim, tested)):
        return
    shared = ", ".join(f"{name} {tested[name]!r}" for name in names)
    other = f"; if it is another, state {' or '.join(_SETTINGS[domain])} of both"
    raise DataError(
        f"the target's own measurement stands in its pool ({shared}) and gives the label "
        f"away; leave it out{other if _SETTINGS[domain] else ''}"
    )


def _identifiers(domain: str, claim: Mapping[str, Any]) -> tuple[str, ...]:
    if claim.get("claim") == STRONG_EFFECT:
        return ("perturbation", "context")
    return (*IDENTIFIERS[domain], *(("drug",) if claim.get("claim") == CLAIMS["drug"] else ()))


def _same_claim(domain: str, claim: Mapping[str, Any], tested: Mapping[str, Any]) -> bool:
    """Return whether the assay is of the kind that decides such a claim."""
    kind = tested.get("kind")
    if domain == "depmap":
        # a knockdown tests the same claim in another way
        decides = CLAIMS.get(str(kind)) == claim.get("claim", CLAIMS["knockout"])
        return decides and kind != "knockdown"
    if domain == "expression":
        return (kind == "summary") == (claim.get("claim") == STRONG_EFFECT)
    return True


def _same(
    domain: str, names: tuple[str, ...], claim: Mapping[str, Any], tested: Mapping[str, Any]
) -> bool:
    if any(name not in fields for name in names for fields in (claim, tested)):
        return False
    told_apart = any(
        name in claim and name in tested and not alike(claim[name], tested[name])
        for name in _SETTINGS[domain]
    )
    same = (
        same_trait(claim, tested) if name == "trait" else alike(claim[name], tested[name])
        for name in names
    )
    return all(same) and not told_apart
