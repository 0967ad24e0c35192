"""Tiers and readings of gene dependency experiments."""

import math

import numpy as np
import pytest

from bed.domains import Reading, kind, reading, relation
from bed.domains.depmap import BIN_SCORES, CLAIMS
from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome
from tests.factories import dependency, knockout

HERE = "in the target cell line"
NEAR = "in a different cell line of the same lineage"
FAR = "in a cell line of a different lineage"
PARTNER = "co-essential partner of the target gene"
TARGET = dependency("KRAS", "A549", "LUNG", RAF1=0.6, SHOC2=0.4, MYC=0.1, TP53=-0.4)


def assay(name: str, gene: str, line: str, lineage: str = "LUNG") -> Experiment:
    """An experiment of any kind with the hypothesis that it tests."""
    where: dict[str, object] = {"gene": gene, "cell_line": line, "lineage": lineage}
    local = Fields(where, claim=CLAIMS[name], coessential={})
    fields = Fields(where, kind=name, coessential={}, top_quarter_from=3.0)
    return Experiment(
        f"{name}:{gene}:{line}", Hypothesis(f"{name} {gene} {line}", "depmap", local), fields=fields
    )


@pytest.mark.parametrize(
    ("experiment", "tier", "tag"),
    [
        (knockout("KRAS", "A549"), 1, f"target gene knocked out {HERE}"),
        (assay("knockdown", "KRAS", "A549"), 1, f"target gene knocked down {HERE}"),
        (knockout("KRAS", "H358"), 1, f"target gene knocked out {NEAR}"),
        (assay("knockdown", "KRAS", "H358"), 1, f"target gene knocked down {NEAR}"),
        (knockout("KRAS", "A375", "SKIN"), 2, f"target gene knocked out {FAR}"),
        (knockout("RAF1", "A549"), 3, f"a strongly {PARTNER} knocked out {HERE}"),
        (knockout("SHOC2", "A549"), 3, f"a clearly {PARTNER} knocked out {HERE}"),
        (knockout("MYC", "A549"), 3, f"a weakly {PARTNER} knocked out {HERE}"),
        (assay("knockdown", "RAF1", "A549"), 3, f"a strongly {PARTNER} knocked down {HERE}"),
        (knockout("TP53", "A549"), 6, f"an unrelated gene knocked out {HERE}"),
        (knockout("EGFR", "A549"), 6, f"an unrelated gene knocked out {HERE}"),
        (assay("knockdown", "EGFR", "A549"), 6, f"an unrelated gene knocked down {HERE}"),
        (assay("drug", "KRAS", "A549"), 4, f"a drug on the target gene {HERE}"),
        (assay("expression", "KRAS", "A549"), 5, f"expression of the target gene {HERE}"),
        (assay("copy_number", "KRAS", "A549"), 5, f"copy number of the target gene {HERE}"),
        (
            assay("mutation", "KRAS", "A549"),
            5,
            f"somatic mutation status of the target gene {HERE}",
        ),
        (assay("mutation", "KRAS", "H358"), 6, "an unrelated gene or cell line"),
        (assay("expression", "RAF1", "A549"), 6, "an unrelated gene or cell line"),
        (knockout("RAF1", "H358"), 6, "an unrelated gene or cell line"),
        (knockout("EGFR", "A375", "SKIN"), 6, "an unrelated gene or cell line"),
    ],
    ids=lambda value: value.id if isinstance(value, Experiment) else None,
)
def test_relation_to_the_target(experiment: Experiment, tier: int, tag: str) -> None:
    found = relation(TARGET, experiment)
    assert (found.tier, found.tag) == (tier, tag)


def test_partners_count_whichever_side_names_them() -> None:
    plain = dependency("KRAS", "A549")
    named_there = knockout("RAF1", "A549", KRAS=0.6)
    assert relation(plain, named_there) == relation(TARGET, knockout("RAF1", "A549"))
    # the larger of two correlations decides
    weak_here = dependency("KRAS", "A549", RAF1=0.2)
    assert relation(weak_here, named_there).tag.startswith("a strongly")


@pytest.mark.parametrize(
    ("correlation", "degree"),
    [(0.51, "strongly"), (0.5, "clearly"), (0.31, "clearly"), (0.3, "weakly"), (0.01, "weakly")],
)
def test_degrees_of_co_essentiality(correlation: float, degree: str) -> None:
    found = relation(dependency("A", "L", B=correlation), knockout("B", "L"))
    assert (found.tier, found.tag) == (
        3,
        f"a {degree} co-essential partner of the target gene knocked out in the target cell line",
    )


def test_relation_depends_on_which_hypothesis_is_asked_about() -> None:
    same_gene, partner = knockout("KRAS", "H358"), knockout("RAF1", "A549")
    assert [relation(TARGET, x).tier for x in (same_gene, partner)] == [1, 3]
    local = partner.hypothesis
    assert relation(local, partner).tag == "target gene knocked out in the target cell line"
    assert [relation(local, x).tier for x in (same_gene, partner)] == [6, 1]
    # of another claim about the same gene and line, a knockout is a different matter
    expressed = assay("expression", "KRAS", "A549").hypothesis
    assert relation(expressed, knockout("KRAS", "A549")).tier == 5
    assert relation(expressed, assay("expression", "KRAS", "H358")).tier == 1
    assert relation(expressed, assay("expression", "KRAS", "A375", "SKIN")).tier == 2
    assert relation(expressed, assay("expression", "RAF1", "A549")).tier == 6


KNOCKOUT = knockout("KRAS", "A549")


@pytest.mark.parametrize(
    ("experiment", "outcome", "expected"),
    [
        (KNOCKOUT, {"chronos": -0.5, "p_dependency": 0.5}, Reading(True, "supporting", 0.0)),
        (KNOCKOUT, {"chronos": -0.5, "p_dependency": 0.49}, Reading(False, "inconclusive", 0.0)),
        (KNOCKOUT, {"chronos": -0.5}, Reading(True, "supporting", 0.0)),
        (
            KNOCKOUT,
            {"chronos": -0.4999, "p_dependency": 1},
            Reading(False, "inconclusive", -0.0002),
        ),
        (KNOCKOUT, {"chronos": -1, "p_dependency": 0.99}, Reading(True, "supporting", 1.0)),
        (KNOCKOUT, {"chronos": 0.25, "p_dependency": 0}, Reading(False, "inconclusive", -1.5)),
        (KNOCKOUT, {"chronos": 0.2501, "p_dependency": 0}, Reading(False, "refuting", -1.5002)),
        (KNOCKOUT, {"effect_bin": "strong_dependency"}, Reading(True, "supporting", 1.0)),
        (KNOCKOUT, {"effect_bin": "dependency"}, Reading(True, "supporting", 0.0)),
        (KNOCKOUT, {"effect_bin": "weak_dependency"}, Reading(False, "inconclusive", -1.0)),
        (
            assay("knockdown", "KRAS", "A549"),
            {"effect_bin": "dependency"},
            Reading(True, "supporting", 0.0),
        ),
        (assay("expression", "K", "L"), {"log2_tpm": 3.0}, Reading(True, "inconclusive", 0.0)),
        (assay("expression", "K", "L"), {"log2_tpm": 2.5}, Reading(False, "inconclusive", -0.5)),
        (
            assay("copy_number", "K", "L"),
            {"relative_copy_number": 1.5},
            Reading(True, "inconclusive", 0.0),
        ),
        (
            assay("copy_number", "K", "L"),
            {"relative_copy_number": 1.0},
            Reading(False, "inconclusive", -0.5),
        ),
        (
            assay("mutation", "K", "L"),
            {"status": "damaging or driver mutation"},
            Reading(True, "inconclusive", 1.0),
        ),
        (
            assay("mutation", "K", "L"),
            {"status": "wild-type"},
            Reading(False, "inconclusive", -1.0),
        ),
        (
            assay("mutation", "K", "L"),
            {"status": "not reported"},
            Reading(False, "inconclusive", -1.0),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else getattr(value, "id", None),
)
def test_readings(experiment: Experiment, outcome: dict[str, object], expected: Reading) -> None:
    found = reading(experiment, Outcome(Fields(outcome)))
    assert (found.supported, found.verdict) == (expected.supported, expected.verdict)
    assert found.score == pytest.approx(expected.score)


def test_levels_of_support() -> None:
    levels = [reading(KNOCKOUT, Outcome(Fields(chronos=e))).level for e in (-0.5, 0.25, 0.26)]
    assert levels == ["supported", "unsupported", "refuted"]
    assert set(BIN_SCORES) == {"strong_dependency", "dependency", "weak_dependency"}


@pytest.mark.parametrize(
    ("experiment", "outcome", "message"),
    [
        (KNOCKOUT, {}, "'chronos' is None: missing or not finite"),
        (KNOCKOUT, {"chronos": math.nan}, "'chronos' is nan: missing"),
        (KNOCKOUT, {"chronos": np.float32("nan")}, "'chronos' is nan"),
        (KNOCKOUT, {"chronos": -math.inf}, "'chronos' is -inf: missing or not finite"),
        (KNOCKOUT, {"chronos": "-0.7"}, "'chronos' is '-0.7'"),
        (KNOCKOUT, {"chronos": True}, "'chronos' is True"),
        (KNOCKOUT, {"chronos": -1.0, "p_dependency": None}, "'p_dependency' is None"),
        (KNOCKOUT, {"chronos": -1.0, "p_dependency": math.nan}, "'p_dependency' is nan"),
        (KNOCKOUT, {"chronos": -1.0, "p_dependency": math.inf}, "'p_dependency' is inf"),
        (
            KNOCKOUT,
            {"chronos": -1.0, "p_dependency": 1.2},
            r"'p_dependency' is 1.2, outside .*\[0, 1\]",
        ),
        (KNOCKOUT, {"effect_bin": "lethal"}, "effect bin 'lethal' is not one of"),
        (KNOCKOUT, {"effect_bin": None}, "effect bin None"),
        (assay("expression", "K", "L"), {"log2_tpm": math.nan}, "'log2_tpm' is nan"),
        (assay("expression", "K", "L"), {"log2_tpm": math.inf}, "'log2_tpm' is inf"),
        (assay("copy_number", "K", "L"), {}, "'relative_copy_number' is None"),
        (assay("mutation", "K", "L"), {"status": "unknown"}, "mutation status 'unknown'"),
        (assay("mutation", "K", "L"), {}, "mutation status None"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_unreadable_outcomes_never_turn_into_inconclusive(
    experiment: Experiment, outcome: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        reading(experiment, Outcome(Fields(outcome)))


@pytest.mark.parametrize("threshold", [{}, {"top_quarter_from": math.nan}], ids=str)
def test_expression_without_its_threshold_is_refused(threshold: dict[str, float]) -> None:
    whole = assay("expression", "K", "L")
    fields = {n: v for n, v in whole.fields.items() if n != "top_quarter_from"} | threshold
    bare = Experiment(whole.id, whole.hypothesis, fields=Fields(fields))
    with pytest.raises(DataError, match="top_quarter_from"):
        reading(bare, Outcome(Fields(log2_tpm=2.0)))


def test_kinds() -> None:
    assert [kind(assay(name, "K", "L")) for name in CLAIMS] == list(CLAIMS)
    unknown = Experiment("x", TARGET, fields=Fields(kind="western blot"))
    with pytest.raises(DataError, match="kind 'western blot' is unknown; use one of"):
        kind(unknown)
    with pytest.raises(DataError, match="kind None is unknown"):
        kind(Experiment("x", TARGET))


def without(experiment: Experiment, lacking: str) -> Experiment:
    fields = {name: value for name, value in experiment.fields.items() if name != lacking}
    return Experiment(experiment.id, experiment.hypothesis, fields=Fields(fields))


@pytest.mark.parametrize("lacking", ["kind", "gene", "cell_line"])
def test_an_experiment_that_lacks_a_field_is_a_data_error(lacking: str) -> None:
    with pytest.raises(DataError, match=lacking):
        relation(TARGET, without(knockout("KRAS", "H358"), lacking))


def test_lines_of_unknown_lineage_are_not_said_to_share_one() -> None:
    bare = without(knockout("KRAS", "H358"), "lineage")
    assert relation(TARGET, bare).tag == f"target gene knocked out {FAR}"


def test_partners_may_be_unknown_to_the_experiment() -> None:
    assert relation(TARGET, without(knockout("RAF1", "A549"), "coessential")).tier == 3
    assert relation(TARGET, without(knockout("EGFR", "A549"), "coessential")).tier == 6
