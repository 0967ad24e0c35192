"""How associations of SNPs with traits (GWAS) are printed, in the published format.

The catalog turns the allele by the sign of the effect, so a stub's risk allele and its frequency
belong to the result and are hidden with it; a target's allele is part of its claim.
Field names: `bed.domains.gwas`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from bed.domains.gwas import (
    KIND,
    SIGNIFICANT,
    implied_direction,
    is_significant,
    p_decimal,
)
from bed.prompts.forms import (
    COUNT,
    FREQUENCY,
    GTEX,
    INTEGER,
    LIST,
    NUMBER,
    P_VALUE,
    REMARK,
    SIZE,
    TEXT,
    Form,
    one_of,
    shown,
)
from bed.prompts.layout import Layout
from bed.prompts.lines import Line
from bed.prompts.wording import Claim, Wording

__all__ = ["WORDING"]

_SUGGESTIVE = Decimal("1e-5")
_ALLELE = "[ACGT]"
_INTERVAL = re.compile(rf"[\[(]?\s*+({NUMBER})\s*+(?:[-\N{{EN DASH}},]|to)\s*+({NUMBER})")


def _significance(value: Any) -> str:
    p = p_decimal(value, "field")
    if is_significant(p):
        return "genome-wide significant"
    if p < _SUGGESTIVE:
        return "suggestive, below genome-wide significance"
    return "not significant genome-wide"


def _agrees(value: Any, text: str) -> bool:
    """Return whether a p-value is as significant as a model says beside it.

    On a threshold the two printed digits leave it open.
    """
    p = p_decimal(value, "field")
    says = text.casefold().startswith("genome-wide significant")
    return p == SIGNIFICANT or is_significant(p) == says


def _association(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what cannot be true of an effect, its interval and its direction, as printed."""
    effect, interval = values.get("effect", ""), values.get("interval", "")
    direction = values.get("direction")
    implied = implied_direction(effect, interval)
    if direction is not None and implied is not None and direction != implied:
        yield (
            f"direction {direction!r} contradicts effect {effect!r} with interval {interval!r}, "
            f"which say {implied!r}"
        )
    if ends := _INTERVAL.match(interval):
        low, high = Decimal(ends[1]), Decimal(ends[2])
        if low > high:
            yield f"interval {interval!r} contradicts itself; the lower end comes first"
        elif printed := re.match(NUMBER, effect):
            size = Decimal(printed[0])
            rounding = Decimal(5).scaleb(int(size.as_tuple().exponent) - 1)
            if not low - rounding <= size <= high + rounding:
                yield f"interval {interval!r} contradicts effect {effect!r}, which lies outside"


_FORMS: dict[str, Form] = {
    "position": INTEGER,
    "genes": LIST,
    "pathways": LIST,
    "risk_allele_frequency": FREQUENCY,
    "effect": SIZE,
    "gtex": GTEX,
    "sample_size": COUNT,
    "p_value": P_VALUE,
    "significance": shown(_significance, "in words", _agrees),
    "direction": one_of({"increases": "increases", "decreases": "decreases"}),
    "risk_allele": replace(TEXT, pattern=_ALLELE),
    "allele": replace(REMARK, pattern=_ALLELE),
    "interval": replace(TEXT, pattern=r"\[\d\.\d\d-\d\.\d\d\]( unit (in|de)crease)?"),
    "shown": REMARK,
}


def _line(template: str, level: int = 0) -> Line:
    return Line(template, _FORMS, level=level)


def _result(template: str, key: str = "") -> Line:
    return Line(template, _FORMS, key, is_outcome=True)


_SNP = _line("SNP: {snp}[ — chr{chromosome}[:{position}]]")
_GENE = (
    _line("Mapped gene: {genes}"),
    _line("Functional class: {functional_class}"),
    _line("Gene context:"),
    _line("Reactome pathways: {pathways}", 1),
    _line("GTEx expression: {gtex}", 1),
)
_STUB = Layout(
    (
        _line("{snp} for {trait}"),
        _SNP,
        _result("Risk allele: {risk_allele}"),
        _result("RAF: {risk_allele_frequency}"),
        *_GENE,
        _line("Study: {study}"),
        _line("Ancestry: {ancestry}"),
        _line("Sample size: {sample_size}"),
        _line("Platform: {platform}"),
        _result("Result: p = {p_value}[ ({p_value:significance})][; OR/beta = {effect}]"),
        _result("95% CI: {interval}"),
        _result("Direction: {risk_allele:allele} allele {direction} {trait:shown}", "direction"),
    ),
    {"kind": KIND},
    ("snp", "trait"),
    (("p_value",),),
    inconsistencies=_association,
)
_TARGET = Layout(
    (
        _SNP,
        _line("Risk allele: {allele}"),
        _line("RAF: {risk_allele_frequency}"),
        *_GENE,
        _line("Trait: {trait}"),
        _line("EFO parent: {efo_parent}"),
    ),
    needs=("snp", "trait"),
)

WORDING = Wording(
    stubs=(_STUB,),
    targets=(_TARGET,),
    claims=(
        *(
            Claim(
                Line(f"SNP {{snp}} ({{allele}} allele) {direction} {{trait}}."),
                {"claim": KIND, "direction": direction},
            )
            for direction in ("increases", "decreases")
        ),
        Claim(
            Line("SNP {snp} is associated with {trait}: {rule}", {"rule": REMARK}),
            {"claim": KIND},
        ),
    ),
    second_sentence="A held-out GWAS would ",
    role=(
        "You are an expert in human statistical genetics. You judge from limited evidence whether "
        "a single-nucleotide polymorphism (SNP) is associated with a trait."
    ),
    generated=(
        "Genome-wide association studies (GWAS) test each of many SNPs for association with a "
        "trait; the associations here come from a public catalog of such studies.",
        "Each numbered item is one reported association of one SNP with one trait, with what is "
        "known of the SNP, its gene and the study. The line beside the number says how it relates "
        "to the target hypothesis.",
        "A catalog records what studies reported: most of its associations are significant, and "
        "an absent association is no proof against one.",
        "The association that decides the target hypothesis is held out; it is not among the "
        "items.",
    ),
    definitions_title="Quantity definitions:",
    definitions=(
        "p: p-value of the association; genome-wide significant means p < 5e-8.",
        "OR/beta: odds ratio of a yes-or-no trait, or effect per allele on a measured one.",
        "95% CI: confidence interval of the OR or beta, with its unit where one was given.",
        "Risk allele: the allele for which the effect is reported. RAF: its frequency.",
        "Direction: whether the risk allele goes with more or less of the trait.",
        "GTEx expression: the tissues in which the mapped gene is expressed most, in transcripts "
        "per million (TPM).",
        "EFO parent: the group of the trait in the Experimental Factor Ontology.",
    ),
    claim_form=(
        "that a named allele of a SNP increases or decreases a trait (or, without an allele, that "
        "the SNP is associated with the trait)"
    ),
    support=(
        "The hypothesis counts as supported if the held-out GWAS reports p < 5e-8 for this SNP and "
        "trait with the claimed direction of effect (any direction where none is claimed), and as "
        "not supported otherwise."
    ),
)
