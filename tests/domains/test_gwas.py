"""Tiers, readings and exact p-values of associations."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bed.domains import gwas
from bed.domains.gwas import (
    implied_direction,
    is_significant,
    kind,
    p_decimal,
    reading,
    relation,
    same_trait,
)
from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome

FTO = {
    "snp": "rs1",
    "trait": "Body mass index",
    "genes": ("FTO",),
    "trait_terms": ("body mass index",),
    "trait_groups": ("Body measurement",),
    "chromosome": "16",
    "position": 53_800_000,
    "region": "16q12.2",
}
TARGET = Hypothesis(
    "SNP rs1 (A allele) increases Body mass index.",
    "gwas",
    Fields(FTO, allele="A", direction="increases"),
)
ELSEWHERE = {"snp": "rs2", "genes": ("GCKR",), "chromosome": "2", "position": 1, "region": "2p25"}
HEIGHT = {"trait": "Height", "trait_terms": ("body height",)}
ASTHMA = {"trait": "Asthma", "trait_terms": ("asthma",), "trait_groups": ("Immune disorder",)}


def study(**other: Any) -> Experiment:
    """An association like the target's but for what is named; None leaves a field out."""
    fields = {name: value for name, value in {**FTO, **other}.items() if value is not None}
    text = f"SNP {fields['snp']} is associated with {fields['trait']}: a GWAS reports p < 5e-8."
    return Experiment(
        text, Hypothesis(text, "gwas", Fields(fields)), fields=Fields(fields, kind="association")
    )


@pytest.mark.parametrize(
    ("other", "tier", "tag"),
    [
        ({}, 1, "the target SNP, associated with the target trait"),
        ({"trait": "BODY MASS INDEX", "trait_terms": None}, 1, "the target SNP, associated with"),
        ({"trait": "BMI"}, 1, "the target SNP, associated with the target trait"),
        ({"snp": "rs2"}, 1, "a different SNP in the target gene, associated with the target trait"),
        (
            {"snp": "rs2", "genes": ("RPGRIP1L", "FTO"), **HEIGHT},
            2,
            "a different SNP in the target gene, associated with a related trait",
        ),
        (HEIGHT, 3, "the target SNP, associated with a related trait (same EFO parent)"),
        (ASTHMA, 4, "the target SNP, associated with a trait in a different EFO parent"),
        (
            {"snp": "rs2", "genes": ("RPGRIP1L",), "position": 54_300_000},
            5,
            "a SNP in a neighbouring or pathway gene, associated with the target trait",
        ),
        ({"snp": "rs2", "genes": ("RPGRIP1L",), "position": None}, 5, "a SNP in a neighbouring"),
        (
            ELSEWHERE | ASTHMA,
            6,
            "an unrelated SNP and trait (different gene, different EFO parent)",
        ),
        (ELSEWHERE, 6, "a SNP in an unrelated gene, associated with the target trait"),
        (ELSEWHERE | HEIGHT, 6, "a SNP in a different gene, associated with a related trait"),
        (
            {"snp": "rs2", **ASTHMA},
            6,
            "a different SNP in the target gene, associated with a trait",
        ),
        ({"snp": "rs2", "genes": ("X",), "position": 54_300_001}, 6, "a SNP in an unrelated gene"),
        (
            {"snp": "rs2", "genes": ("X",), "chromosome": "1"},
            6,
            "a SNP in an unrelated gene, associated",
        ),
        ({"snp": "rs2", "genes": None, "position": 54_900_000}, 6, "a SNP in an unrelated gene"),
    ],
)
def test_relation_to_the_target(other: dict[str, Any], tier: int, tag: str) -> None:
    found = relation(TARGET, study(**other))
    assert found.tier == tier
    assert found.tag.startswith(tag)


def test_genes_of_one_pathway_are_neighbours() -> None:
    target = Hypothesis("h", "gwas", Fields(FTO, pathways=("Lipid transport",)))
    assert relation(target, study(**ELSEWHERE, pathways=("Lipid transport",))).tier == 5
    assert relation(target, study(**ELSEWHERE, pathways=("Signalling",))).tier == 6


def test_relation_depends_on_which_hypothesis_is_asked_about() -> None:
    other = study(**ELSEWHERE | ASTHMA)
    assert relation(TARGET, other).tier == 6
    assert relation(other.hypothesis, other).tier == 1
    assert relation(other.hypothesis, study(**ELSEWHERE)).tier == 4


def test_a_bare_association_can_be_related() -> None:
    bare = Hypothesis("h", "gwas", Fields(snp="rs1", trait="Body mass index"))
    assert relation(bare, study()).tier == 1
    assert relation(bare, study(snp="rs9")).tier == 6


def test_one_trait_under_two_names_or_mappings() -> None:
    bmi = {"trait": "BMI", "trait_terms": ("body mass index",)}
    assert same_trait(FTO, bmi)
    assert not same_trait(FTO, bmi | {"trait_terms": ("body mass index", "sex")})
    assert not same_trait({"trait": "A"}, {"trait": "B"})


@pytest.mark.parametrize(
    ("p", "supported", "score"),
    [
        (5e-8, False, 0.0),
        ("5E-8", False, 0.0),
        (np.float64(5e-8), False, 0.0),
        ("4.99E-8", True, 0.0),
        (5e-9, True, 0.435),
        ("1.0e-5", False, -1.0),
        (1, False, -3.174),
        ("3E-971", True, 418.8),
        ("0", True, 431.6),
        (0.0, True, 431.6),
    ],
    ids=str,
)
def test_readings(p: object, supported: bool, score: float) -> None:
    found = reading(study(), Outcome(Fields(p_value=p, direction="decreases")))
    assert found.supported is supported
    assert found.verdict == ("supporting" if supported else "inconclusive")
    assert found.score == pytest.approx(score, abs=1e-2, rel=1e-3)


@given(st.integers(1, 9), st.integers(1, 3000))
def test_the_exponent_decides_beyond_the_least_float(mantissa: int, exponent: int) -> None:
    p = p_decimal(f"{mantissa}E-{exponent}", "here")
    assert is_significant(p) == (exponent > 8 or (exponent == 8 and mantissa < 5))


@given(st.floats(0, 1))
def test_numbers_are_taken_as_printed(p: float) -> None:
    assert p_decimal(p, "here") == p_decimal(repr(p), "here") == Decimal(repr(p))


@pytest.mark.parametrize(
    "p",
    [None, "", " ", "NS", "nan", math.nan, math.inf, -math.inf, "Inf", True, "1_0", "5 x 10-8", []],
    ids=str,
)
def test_what_is_no_p_value(p: object) -> None:
    with pytest.raises(DataError, match=r"row 7: p-value .* is missing or not finite"):
        p_decimal(p, "row 7")


@pytest.mark.parametrize("p", [-1e-9, "-5E-9", 1.0001, "5E12", 2], ids=str)
def test_p_values_outside_of_their_range(p: object) -> None:
    with pytest.raises(DataError, match=r"row 7: p-value .* is outside \[0, 1\]"):
        p_decimal(p, "row 7")


def test_an_absurd_exponent_is_no_crash() -> None:
    with pytest.raises(DataError, match="missing or not finite"):
        p_decimal("1E-" + "9" * 30, "row 7")


def test_an_outcome_without_p_is_refused() -> None:
    with pytest.raises(DataError, match=r"'p_value': p-value None is missing"):
        reading(study(), Outcome(Fields(effect="1.04")))


def test_kinds() -> None:
    assert kind(study()) == gwas.KIND
    with pytest.raises(DataError, match="kind 'knockout' is unknown; use one of"):
        kind(Experiment("x", TARGET, fields=Fields(FTO, kind="knockout")))


@pytest.mark.parametrize(
    ("effect", "interval", "direction"),
    [
        ("1.04", "[1.03-1.05]", "increases"),
        ("1.04", "", "increases"),
        ("0.03", "[0.01-0.05] unit decrease", "decreases"),
        ("0.03", "[0.01-0.05] mg/dl increase", "increases"),
        ("1.00", "[0.90-1.10]", "neither"),
        ("1", "[NR]", "neither"),
        ("1", "[NR] unit decrease", "decreases"),
        ("0", "[NR] unit decrease", "neither"),
        ("0.8", "[0.7-0.9]", None),
        ("2.3", "[NR] mg/dl", None),
        ("2.3", "[NR] increase or decrease", None),
        ("", "", None),
    ],
)
def test_an_effect_implies_a_direction_or_none(
    effect: str, interval: str, direction: str | None
) -> None:
    assert implied_direction(effect, interval) == direction
