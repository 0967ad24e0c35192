"""A target's own measurement gives its label away, so no pool may hold it."""

from typing import Any

import pytest

from bed.episodes.imports.identity import require_not_own
from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis
from tests.episodes.imports.conftest import Imported
from tests.episodes.imports.released import CONTROL, depmap, knockout

TARGETS: dict[str, dict[str, Any]] = {
    "depmap": {"claim": "dependency", "gene": "AAA1", "cell_line": "LINE1"},
    "gwas": {"snp": "rs1", "trait": "Body height", "study": "S1"},
    "expression": {
        "claim": "regulation",
        "perturbation": "D",
        "context": "C",
        "gene": "G",
        "dose": "1 uM",
    },
}
KINDS = {"depmap": "knockout", "gwas": "association", "expression": "differential"}


def checked(domain: str, claim: dict[str, Any], tested: dict[str, Any]) -> None:
    experiment = Experiment("x", Hypothesis("local", domain), fields=Fields(tested))
    require_not_own(Hypothesis("target", domain, Fields(claim)), experiment)


def own(domain: str, **more: Any) -> dict[str, Any]:
    """The target's own measurement, with some fields changed; None takes one away."""
    found = {**TARGETS[domain], "kind": KINDS[domain], **more}
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize(
    ("domain", "changes"),
    [
        ("depmap", {}),
        ("depmap", {"gene": "aaa1 "}),
        ("depmap", {"lineage": "Lung"}),
        ("gwas", {}),
        ("gwas", {"trait": "body height"}),
        ("gwas", {"study": None}),
        ("expression", {}),
        ("expression", {"kind": "zscore"}),
        ("expression", {"dose": None}),
        ("expression", {"dose": None, "time": "24 h"}),
    ],
)
def test_the_target_s_own_measurement(domain: str, changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"^the target's own measurement stands in its pool"):
        checked(domain, TARGETS[domain], own(domain, **changes))


@pytest.mark.parametrize(
    ("domain", "changes"),
    [
        ("depmap", {"gene": "BBB2"}),
        ("depmap", {"cell_line": "LINE2"}),
        ("depmap", {"kind": "knockdown"}),
        ("depmap", {"kind": "expression"}),
        ("gwas", {"snp": "rs2"}),
        ("gwas", {"trait": "weight"}),
        ("gwas", {"study": "S2"}),
        ("expression", {"gene": "H"}),
        ("expression", {"context": "C2"}),
        ("expression", {"perturbation": "E"}),
        ("expression", {"dose": "5 uM"}),
        ("expression", {"kind": "summary"}),
    ],
)
def test_other_measurements_are_no_leak(domain: str, changes: dict[str, Any]) -> None:
    checked(domain, TARGETS[domain], own(domain, **changes))


def test_other_claims_have_other_measurements_of_their_own() -> None:
    state = {**TARGETS["depmap"], "claim": "mutation"}
    checked("depmap", state, own("depmap"))
    with pytest.raises(DataError, match="gene 'AAA1', cell_line 'LINE1'"):
        checked("depmap", state, own("depmap", kind="mutation"))
    strong = {"claim": "strong effect", "perturbation": "D", "context": "C"}
    checked("expression", strong, own("expression"))
    with pytest.raises(DataError, match=r"perturbation 'D', context 'C'.* dose or time of both"):
        checked("expression", strong, own("expression", kind="summary", gene=None))
    drug = {**TARGETS["depmap"], "claim": "sensitivity", "drug": "D"}
    checked("depmap", drug, own("depmap", kind="drug", drug="E"))
    with pytest.raises(DataError, match="drug 'D'"):
        checked("depmap", drug, own("depmap", kind="drug", drug="D"))


def test_a_released_pool_with_the_target_s_own_measurement(imported: Imported) -> None:
    row = depmap()
    row["stubs"][2] = knockout(CONTROL, "AAA1", "LINE1", "-1.2", "0.99")
    with pytest.raises(
        DataError,
        match=r"^made.parquet row 1 .*: stub 3: .*\(gene 'AAA1', cell_line 'LINE1'\).* out$",
    ):
        imported(row)
