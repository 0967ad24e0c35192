"""Claims as sentences: how hypotheses are put, in the paper's words where these are known."""

from collections.abc import Mapping
from typing import Any

__all__ = ["assay_claim", "association_claim", "effect_claim", "regulation_claim", "summary_claim"]

_DEPENDENCY = "Gene {gene} is a dependency (essential for fitness) in cell line {cell_line}: a "
_KNOCKOUT = (
    _DEPENDENCY + "held-out genome-wide CRISPR knockout screen of {cell_line} would score gene "
    "{gene} at Chronos gene-effect <= -0.5"
)
_KNOCKOUTS = {
    "bins": _KNOCKOUT + " (the dependency bin or a stronger one).",
    "effect": _KNOCKOUT + ".",
    "probability": _KNOCKOUT + " AND P(dependency) >= 0.5.",
}
_ASSAYS = {
    "knockdown": _DEPENDENCY + "held-out RNAi knockdown screen of {cell_line} would score gene "
    "{gene} at -0.5 or below.",
    "expression": "Gene {gene} is highly expressed in cell line {cell_line}: its log2(TPM + 1) is "
    "in the top quarter of cell lines{top}.",
    "copy_number": "Gene {gene} is amplified in cell line {cell_line}: its relative copy number is "
    "1.5 or above.",
    "mutation": "Gene {gene} carries a damaging or driver mutation in cell line {cell_line}.",
    "drug": "Cell line {cell_line} is sensitive to drug {drug}, which acts on gene {gene}.",
}
_SUBJECTS = {"drug": "Drug {perturbation}", "knockout": "Knockout of {perturbation}"}
_VERBS = {"up": "upregulates", "down": "downregulates"}


def assay_claim(kind: str, fields: Mapping[str, Any], decided_by: str = "probability") -> str:
    """Return what an assay of a gene in a cell line tests (depmap).

    Args:
        kind: of the assay, see `bed.domains.depmap.CLAIMS`.
        fields: `gene`, `cell_line`; `drug` of a drug, `top_quarter_from` of an expression.
        decided_by: what a knockout is read by: "bins", "effect" or "probability".
    """
    wording = _KNOCKOUTS[decided_by] if kind == "knockout" else _ASSAYS[kind]
    top = fields.get("top_quarter_from")
    return wording.format(**fields, top="" if top is None else f" ({top:g} or above)")


def association_claim(fields: Mapping[str, Any]) -> str:
    """Return what an association study of a SNP and a trait tests (gwas); it has no direction.

    Args:
        fields: `snp` and `trait`.
    """
    return f"SNP {fields['snp']} is associated with {fields['trait']}: a GWAS reports p < 5e-8."


def effect_claim(fields: Mapping[str, Any]) -> str:
    """Return a target's claim, with the allele and the direction of its effect (gwas).

    Args:
        fields: `snp`, `allele`, `direction` ("increases" or "decreases") and `trait`.
    """
    return (
        f"SNP {fields['snp']} ({fields['allele']} allele) {fields['direction']} {fields['trait']}. "
        "A held-out GWAS would report p < 5e-8 for this SNP-trait pair with a consistent direction "
        "of effect."
    )


def regulation_claim(fields: Mapping[str, Any]) -> str:
    """Return the claim that a perturbation moves a gene in a context (expression).

    Args:
        fields: `perturbation`, `direction` ("up" or "down"), `gene`, `context`, and types where
            they are not "drug" and "cell line".
    """
    verb = _VERBS[fields["direction"]]
    return f"{_subject(fields)} {verb} gene {fields['gene']} in {_place(fields)}."


def summary_claim(fields: Mapping[str, Any], median_share: float) -> str:
    """Return the claim that a perturbation has a strong effect in a context (expression).

    Args:
        fields: as in `regulation_claim`.
        median_share: share of responding genes that a strong effect exceeds, in [0, 1].
    """
    return (
        f"{_subject(fields)} changes the transcriptome of {_place(fields)} strongly: more than "
        f"{median_share:.1%} of tested genes respond."
    )


def _subject(fields: Mapping[str, Any]) -> str:
    return _SUBJECTS[fields.get("perturbation_type", "drug")].format(**fields)


def _place(fields: Mapping[str, Any]) -> str:
    is_line = fields.get("context_type", "cell line") == "cell line"
    return f"cell line {fields['context']}" if is_line else str(fields["context"])
