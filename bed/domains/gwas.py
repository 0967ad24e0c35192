"""Associations of SNPs with traits (GWAS): relation, reading, kind.

Hypothesis fields: `claim` ("association"), `snp`, `trait`, `genes` (mapped genes), and where known
`trait_terms` (mapped ontology terms), `trait_groups` (EFO parents, or what stands for them),
`chromosome`, `position` (base pairs), `region` (cytoband), `pathways`. A target also has `allele`
and `direction`; the local hypothesis of an experiment has neither, because the catalog's choice of
the allele depends on the sign of the effect.
Experiment fields: `kind` ("association"), the same, and how the study was done.
Outcome fields: `p_value`, a number or the text as printed; "3E-971" is below the least float, so p
is compared as a decimal.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from bed.domains.meaning import Reading, Relation
from bed.errors import DataError
from bed.evidence import Experiment, Hypothesis, Outcome

__all__ = [
    "KIND",
    "NEIGHBOURHOOD",
    "SIGNIFICANT",
    "UNRELATED",
    "between",
    "implied_direction",
    "is_significant",
    "kind",
    "p_decimal",
    "reading",
    "relation",
    "same_trait",
]

KIND = "association"
SIGNIFICANT = Decimal("5e-8")
"""Genome-wide significance: p strictly below."""
NEIGHBOURHOOD = 500_000
"""Base pairs within which two SNPs are neighbours."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BRACKET = re.compile(r"\[[^\]]*\]")
_THRESHOLD = -float(SIGNIFICANT.log10())
_STRONG = 2.3
"""Powers of ten beyond the threshold at which the score is 1."""
_MOST = 1000.0
"""Largest -log10 p that is told apart; p = 0 after underflow stands there."""

_SAME_SNP = {
    "same": Relation(1, "the target SNP, associated with the target trait"),
    "related": Relation(3, "the target SNP, associated with a related trait (same EFO parent)"),
    "other": Relation(4, "the target SNP, associated with a trait in a different EFO parent"),
}
_SAME_GENE = {
    "same": Relation(1, "a different SNP in the target gene, associated with the target trait"),
    "related": Relation(2, "a different SNP in the target gene, associated with a related trait"),
    "other": Relation(
        6, "a different SNP in the target gene, associated with a trait in a different EFO parent"
    ),
}
_NEIGHBOUR = Relation(
    5, "a SNP in a neighbouring or pathway gene, associated with the target trait"
)
UNRELATED = Relation(6, "an unrelated SNP and trait (different gene, different EFO parent)")
_OTHER_GENE = {
    "same": Relation(6, "a SNP in an unrelated gene, associated with the target trait"),
    "related": Relation(6, "a SNP in a different gene, associated with a related trait"),
    "other": UNRELATED,
}


def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return the tier of `experiment` relative to whichever hypothesis is asked about.

    Args:
        hypothesis: a target or a local hypothesis.
        experiment: an association study of one SNP and one trait.
    """
    return between(hypothesis.fields, experiment.fields)


def between(claim: Mapping[str, Any], tested: Mapping[str, Any]) -> Relation:
    """Return how one association bears on another, from their fields alone.

    Args:
        claim: the fields of the hypothesis asked about.
        tested: the fields of the experiment.
    """
    trait = _trait_relation(claim, tested)
    if claim["snp"] == tested["snp"]:
        return _SAME_SNP[trait]
    if _share(claim, tested, "genes"):
        return _SAME_GENE[trait]
    if trait == "same" and _are_neighbours(claim, tested):
        return _NEIGHBOUR
    return _OTHER_GENE[trait]


def same_trait(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two sets of fields name one trait: the same name, or the same mapped terms.

    Args:
        one: fields with `trait` and perhaps `trait_terms`.
        other: the same.
    """
    if one["trait"].casefold() == other["trait"].casefold():
        return True
    terms = set(one.get("trait_terms", ()))
    return bool(terms) and terms == set(other.get("trait_terms", ()))


def _trait_relation(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    if same_trait(one, other):
        return "same"
    is_related = _share(one, other, "trait_terms") or _share(one, other, "trait_groups")
    return "related" if is_related else "other"


def _share(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    return not set(one.get(name, ())).isdisjoint(other.get(name, ()))


def _are_neighbours(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if _share(one, other, "pathways"):
        return True
    here, there = one.get("position"), other.get("position")
    if here is None or there is None:
        return one.get("region") is not None and one["region"] == other.get("region")
    same_chromosome = one.get("chromosome") is not None and one["chromosome"] == other.get(
        "chromosome"
    )
    return same_chromosome and bool(abs(here - there) <= NEIGHBOURHOOD)


def kind(experiment: Experiment) -> str:
    """Return the kind of assay, "association".

    Args:
        experiment: the experiment asked about.

    Raises:
        DataError: for any other kind.
    """
    found = experiment.fields.get("kind")
    if found != KIND:
        raise DataError(
            f"experiment {experiment.id!r}: kind {found!r} is unknown; use one of {[KIND]}"
        )
    return KIND


def reading(experiment: Experiment, outcome: Outcome) -> Reading:
    """Return what the outcome says about the experiment's own h': significant or not.

    Args:
        experiment: the association study.
        outcome: with the field `p_value`.

    Raises:
        DataError: for a p-value that is missing, not finite or outside [0, 1].
    """
    kind(experiment)
    p = p_decimal(outcome.fields.get("p_value"), f"experiment {experiment.id!r}, field 'p_value'")
    mlog = min(_MOST, -float(p.log10())) if p else _MOST
    supported = is_significant(p)
    return Reading(
        supported, "supporting" if supported else "inconclusive", (mlog - _THRESHOLD) / _STRONG
    )


def is_significant(p: Decimal) -> bool:
    """Return whether p is below genome-wide significance; 5e-8 itself is not.

    Args:
        p: in [0, 1], from `p_decimal`.
    """
    return p < SIGNIFICANT


def implied_direction(effect: str, interval: str) -> str | None:
    """Return what an effect as printed says of the direction in which its allele acts.

    A beta says so in its unit. An effect above 1 without a unit is an odds ratio, which the
    catalog states for the allele that raises the risk; one below 1 may be a beta whose unit was
    left out, so it says nothing. A beta of 0 and an odds ratio of 1 are no effect.

    Args:
        effect: starts with a number, such as "1.04".
        interval: the confidence interval with its unit, such as "[1.03-1.05] unit decrease"; ""
            where none is known.

    Returns:
        "increases", "decreases" or "neither", or None where it does not say.
    """
    found = _NUMBER.match(effect.strip())
    size = float(found[0]) if found else math.nan
    unit = _BRACKET.sub(" ", interval)
    has_unit = bool(re.search(r"[A-Za-z%µ]", unit.replace("NR", "")))
    if size == 0 or (size == 1 and not has_unit):
        return "neither"
    said: set[str] = set(re.findall(r"increase|decrease", unit.casefold()))
    if len(said) == 1:
        return f"{said.pop()}s"
    return "increases" if size > 1 and not has_unit else None


def p_decimal(value: object, where: str) -> Decimal:
    """Return a p-value exactly as it was printed.

    Args:
        value: a number, or a text such as "3E-971".
        where: names the place in messages.

    Raises:
        DataError: for a value that is missing, no number, not finite or outside [0, 1].
    """
    text = _printed(value).strip()
    try:
        if not _NUMBER.fullmatch(text):
            raise InvalidOperation
        p = Decimal(text)
    except InvalidOperation as error:
        raise DataError(
            f"{where}: p-value {value!r} is missing or not finite; give a number such as 5E-9, or "
            "leave the association out"
        ) from error
    if not 0 <= p <= 1:
        raise DataError(f"{where}: p-value {value!r} is outside [0, 1]; mend it or leave it out")
    return p


def _printed(value: object) -> str:
    """Return the digits of a number as Python prints them, and a text as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if not math.isfinite(value):
        return ""
    # not Decimal(float): the binary expansion of 5e-8 may lie below 5e-8
    return repr(float(value)) if isinstance(value, float) else str(value)
