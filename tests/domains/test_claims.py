"""Claims in the paper's words."""

from typing import Any

import pytest

from bed.domains.claims import (
    assay_claim,
    association_claim,
    effect_claim,
    regulation_claim,
    summary_claim,
)

LINE = {"gene": "DIS3L", "cell_line": "MERO25"}
KNOCKOUT = (
    "Gene DIS3L is a dependency (essential for fitness) in cell line MERO25: a held-out "
    "genome-wide CRISPR knockout screen of MERO25 would score gene DIS3L at "
    "Chronos gene-effect <= -0.5"
)


@pytest.mark.parametrize(
    ("decided_by", "end"),
    [
        ("probability", " AND P(dependency) >= 0.5."),
        ("effect", "."),
        ("bins", " (the dependency bin or a stronger one)."),
    ],
)
def test_knockouts(decided_by: str, end: str) -> None:
    assert assay_claim("knockout", LINE, decided_by) == KNOCKOUT + end


def test_expression_states_its_threshold_where_it_has_one() -> None:
    assert assay_claim("expression", LINE).endswith("in the top quarter of cell lines.")
    told = assay_claim("expression", {**LINE, "top_quarter_from": 4.125})
    assert told.endswith("in the top quarter of cell lines (4.125 or above).")


def test_gwas() -> None:
    fields = {"snp": "rs1", "allele": "T", "direction": "decreases", "trait": "height"}
    assert effect_claim(fields) == (
        "SNP rs1 (T allele) decreases height. A held-out GWAS would report p < 5e-8 for this "
        "SNP-trait pair with a consistent direction of effect."
    )
    told = association_claim(fields)
    assert told == "SNP rs1 is associated with height: a GWAS reports p < 5e-8."


@pytest.mark.parametrize(
    ("types", "text"),
    [
        ({}, "Drug D upregulates gene G in cell line C."),
        (
            {"perturbation_type": "knockout", "context_type": "system"},
            "Knockout of D upregulates gene G in C.",
        ),
    ],
)
def test_regulation(types: dict[str, Any], text: str) -> None:
    fields = {"perturbation": "D", "gene": "G", "context": "C", "direction": "up", **types}
    assert regulation_claim(fields) == text


def test_a_percent_sign_or_brace_in_a_name_is_a_name() -> None:
    fields = {"perturbation": "{gene} 5%", "gene": "{x}", "context": "C", "direction": "down"}
    assert regulation_claim(fields) == "Drug {gene} 5% downregulates gene {x} in cell line C."
    assert summary_claim(fields, 0.0125).startswith("Drug {gene} 5% changes the transcriptome of")
    assert summary_claim(fields, 0.0125).endswith("more than 1.2% of tested genes respond.")
