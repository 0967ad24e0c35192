"""Tiers, verdicts and readings of differential expression."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bed.domains import kind, reading, relation
from bed.domains.expression import verdict
from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome


def claim(
    agent: str, gene: str | None, place: str, direction: str | None = "up", **more: object
) -> Hypothesis:
    """A regulation, or without a gene the claim of a strong effect."""
    where: dict[str, object] = {"perturbation": agent, "context": place, **more}
    if gene is None:
        where["claim"] = "strong effect"
    else:
        where |= {"claim": "regulation", "gene": gene, "direction": direction}
    return Hypothesis(f"{agent} {gene} {place} {direction}", "expression", Fields(where))


def stub(local: Hypothesis, name: str = "differential", **more: object) -> Experiment:
    fields = {key: value for key, value in local.fields.items() if key != "claim"}
    return Experiment(f"{name}:{local.text}", local, fields=Fields(fields, kind=name, **more))


def measured(agent: str, gene: str, place: str, direction: str = "up", **more: Any) -> Experiment:
    return stub(claim(agent, gene, place, direction, **more))


TARGET = claim("A", "G", "L1", classes=("RAF inhibitor",))
CONTROL = "unrelated drug × cell line, included as a baseline"


@pytest.mark.parametrize(
    ("experiment", "tier", "tag"),
    [
        (measured("A", "G", "L1"), 1, "same drug as target, same cell line, target gene"),
        (measured("A", "G", "L2"), 1, "same drug as target, different cell line, target gene"),
        (
            measured("B", "G", "L1", classes=("RAF inhibitor", "X")),
            2,
            "drug with same mechanism of action as the target drug",
        ),
        (
            measured("B", "G", "L2", classes=("RAF inhibitor",)),
            2,
            "drug with same mechanism of action as the target drug",
        ),
        (measured("B", "G", "L1"), 3, "different drug, same cell line as target, target gene"),
        (
            stub(claim("A", None, "L1"), "summary"),
            4,
            "same drug, same cell line as target, genome-wide summary",
        ),
        (stub(claim("A", None, "L2"), "summary"), 5, CONTROL),
        (stub(claim("B", None, "L1"), "summary"), 5, CONTROL),
        (measured("B", "G", "L2"), 5, CONTROL),
        (measured("B", "G", "L2", classes=("MEK inhibitor",)), 5, CONTROL),
        (measured("A", "H", "L1"), 5, CONTROL),
        (
            measured("A", "G", "L2", "down"),
            1,
            "same drug as target, different cell line, target gene, opposite claim",
        ),
        (
            measured("B", "G", "L1", "down", classes=("RAF inhibitor",)),
            2,
            "drug with same mechanism of action as the target drug, opposite claim",
        ),
        (
            measured("B", "G", "L1", "down"),
            3,
            "different drug, same cell line as target, target gene, opposite claim",
        ),
        (measured("B", "G", "L2", "down"), 5, CONTROL),
    ],
)
def test_relation_to_the_target(experiment: Experiment, tier: int, tag: str) -> None:
    found = relation(TARGET, experiment)
    assert (found.tier, found.tag) == (tier, tag)


def test_relations_of_knockouts_in_systems_say_so() -> None:
    more = {"perturbation_type": "knockout", "context_type": "system"}
    target = claim("A", "G", "S1", **more)
    tags = [
        relation(target, measured(agent, "G", place, **more)).tag
        for agent, place in (("A", "S2"), ("B", "S1"), ("B", "S2"))
    ]
    assert tags == [
        "same knockout as target, different system, target gene",
        "different knockout, same system as target, target gene",
        "unrelated knockout × system, included as a baseline",
    ]


def test_relation_to_a_strong_effect_asks_for_no_gene() -> None:
    strong = claim("A", None, "L1")
    found = [
        relation(strong, stub(claim("A", None, "L1"), "summary")),
        relation(strong, measured("A", "G", "L2", "down")),
        relation(strong, measured("B", "G", "L1")),
        relation(strong, measured("B", "G", "L2")),
    ]
    assert [(item.tier, item.tag) for item in found] == [
        (1, "same drug as target, same cell line, genome-wide summary"),
        (1, "same drug as target, different cell line, one gene"),
        (3, "different drug, same cell line as target, one gene"),
        (5, CONTROL),
    ]


@pytest.mark.parametrize(
    ("p", "change", "direction", "expected"),
    [
        (0.049, 0.501, "up", "supporting"),
        (0.049, 0.501, "down", "refuting"),
        (0.049, -0.501, "down", "supporting"),
        (0.049, -0.501, "up", "refuting"),
        (0.05, 3.0, "up", "inconclusive"),
        (0.001, 0.5, "up", "inconclusive"),
        (0.001, -0.5, "up", "inconclusive"),
        (0, 1, "up", "supporting"),
        (1.0, 9.0, "up", "inconclusive"),
    ],
)
def test_verdict(p: float, change: float, direction: str, expected: str) -> None:
    assert verdict(p, change, direction) == expected


@pytest.mark.parametrize(
    ("p", "change", "direction", "said"),
    [
        (0.01, 1.0, "sideways", "unknown direction 'sideways'"),
        (0.01, 1.0, None, "unknown direction None"),
        (math.nan, 1.0, "up", "'p_adjusted' is nan: missing or not finite"),
        (None, 1.0, "up", "'p_adjusted' is None: missing"),
        (0.01, math.nan, "up", "'log2_fold_change' is nan: missing"),
        (0.01, math.inf, "up", "'log2_fold_change' is inf"),
        (0.01, None, "up", "'log2_fold_change' is None"),
        (0.01, True, "up", "'log2_fold_change' is True"),
        (-0.01, 1.0, "up", r"'p_adjusted' is -0.01, outside the range \[0, 1\]"),
        (1.01, 1.0, "up", "outside the range"),
    ],
)
def test_verdict_refuses(p: Any, change: Any, direction: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        verdict(p, change, direction)


@given(
    st.floats(0, 1), st.floats(-20, 20), st.floats(-40, 40) | st.none(), st.floats(0, 1) | st.none()
)
def test_opposite_claims_read_as_opposites(
    p: float, change: float, wald: float | None, p_value: float | None
) -> None:
    told = {"log2_fold_change": change, "p_adjusted": p, "wald": wald, "p_value": p_value}
    outcome = Outcome(Fields({name: value for name, value in told.items() if value is not None}))
    up, down = (reading(measured("A", "G", "L", side), outcome) for side in ("up", "down"))
    assert up.score + 1 == pytest.approx(-(down.score + 1))
    assert math.isfinite(up.score)
    assert {up.verdict, down.verdict} in ({"inconclusive"}, {"supporting", "refuting"})
    assert up.supported == (up.verdict == "supporting")


@pytest.mark.parametrize(
    ("fields", "score"),
    [
        ({"wald": 6.0}, 1.0),
        ({"wald": -3.0}, -2.0),
        ({"p_value": 0.0026997960632601866}, 0.0),
        ({"p_value": 0.0}, 11.5),
        ({}, -0.22),
    ],
)
def test_score_of_a_differential(fields: dict[str, float], score: float) -> None:
    outcome = Outcome(Fields(log2_fold_change=1.0, p_adjusted=0.02, **fields))
    assert reading(measured("A", "G", "L"), outcome).score == pytest.approx(score, abs=0.02)


@pytest.mark.parametrize(
    ("z", "said", "score"),
    [
        (2.0, "supporting", 0.0),
        (4.0, "supporting", 1.0),
        (1.9, "inconclusive", -0.05),
        (-1.9, "inconclusive", -1.95),
        (-2.0, "refuting", -2.0),
    ],
)
def test_reading_of_a_zscore(z: float, said: str, score: float) -> None:
    for side, measured_z in (("up", z), ("down", -z)):
        experiment = stub(claim("A", "G", "L", side), "zscore")
        found = reading(experiment, Outcome(Fields(z=measured_z)))
        assert found.verdict == said
        assert found.supported == (said == "supporting")
        assert found.score == pytest.approx(score)


def test_reading_of_a_summary_is_never_conclusive() -> None:
    experiment = stub(claim("A", None, "L"), "summary", median_share=0.009)
    found = [
        reading(experiment, Outcome(Fields(share_significant=share)))
        for share in (0.0, 0.009, 0.0091, 0.039)
    ]
    assert [item.supported for item in found] == [False, False, True, True]
    assert {item.verdict for item in found} == {"inconclusive"}
    assert [found[i].score for i in (1, 3)] == pytest.approx([0, 1])
    assert found[0].score < -1


@pytest.mark.parametrize(
    ("experiment", "outcome", "said"),
    [
        (measured("A", "G", "L"), {"log2_fold_change": 1.0}, "'p_adjusted' is None: missing"),
        (
            measured("A", "G", "L"),
            {"log2_fold_change": 1.0, "p_adjusted": 0.1, "wald": math.nan},
            "'wald' is nan",
        ),
        (stub(claim("A", "G", "L"), "zscore"), {}, "'z' is None: missing"),
        (stub(claim("A", None, "L"), "zscore"), {"z": 1.0}, "unknown direction None"),
        (stub(claim("A", None, "L"), "summary"), {"share_significant": 0.1}, "median_share"),
        (
            stub(claim("A", None, "L"), "summary", median_share=0.1),
            {"share_significant": 10.0},
            "'share_significant' is 10, outside",
        ),
    ],
)
def test_incomplete_outcomes_are_refused(
    experiment: Experiment, outcome: dict[str, float], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        reading(experiment, Outcome(Fields(outcome)))


def test_kinds() -> None:
    assert kind(measured("A", "G", "L")) == "differential"
    with pytest.raises(DataError, match="kind 'guess' is unknown; use one of"):
        kind(stub(claim("A", "G", "L"), "guess"))


def test_tahoe_is_an_alias() -> None:
    target = Hypothesis(TARGET.text, "tahoe", TARGET.fields)
    assert relation(target, measured("A", "G", "L2")).tier == 1
