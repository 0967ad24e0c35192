"""Verdicts in the paper's words; the golden cases cover the thresholds."""

from typing import Any

import pytest

from bed.domains.verdicts import TargetOutcome, stub_verdict, target_outcome
from bed.errors import DataError


def test_the_alias_is_the_domain() -> None:
    stub = {"padj": 0.001, "log2fc": 2.0}
    for domain in ("tahoe", "expression"):
        assert stub_verdict(domain, stub, {"direction": "up"}) == "supported"
        assert stub_verdict(domain, stub, {"direction": "down"}) == "refuted"


@pytest.mark.parametrize(
    ("domain", "stub"),
    [("depmap", {"kind": "mutation", "result": "wild-type"}), ("tahoe", {"kind": "aggregate"})],
)
def test_stubs_without_a_measurement_are_inconclusive(domain: str, stub: dict[str, Any]) -> None:
    assert stub_verdict(domain, stub, {"direction": "up"}) == "inconclusive"


def test_a_p_value_below_the_least_float_is_significant() -> None:
    assert stub_verdict("gwas", {"p": "3E-971"}, {}) == "significant"
    assert stub_verdict("gwas", {"p": "5E-8"}, {}) == "sub-threshold"


@pytest.mark.parametrize(
    ("p", "direction", "expected"),
    [
        (1e-9, "increase", TargetOutcome("supported", 1)),
        (1e-9, "decrease", TargetOutcome("direction-inconsistent", 0)),
        (1e-7, "increase", TargetOutcome("sub-threshold", 0)),
    ],
)
def test_targets_of_gwas(p: float, direction: str, expected: TargetOutcome) -> None:
    measured = {"p": p, "direction": direction}
    assert target_outcome("gwas", measured, {"direction": "increases"}) == expected


@pytest.mark.parametrize(
    ("domain", "stub", "message"),
    [
        ("depmap", {"chronos": -1.0}, "'p_dependency' is None: missing"),
        ("depmap", {"chronos": float("nan"), "p_dependency": 1.0}, "'chronos' is nan"),
        ("depmap", {"chronos": -1.0, "p_dependency": -0.1}, "'p_dependency' is -0.1, outside"),
        ("tahoe", {"log2fc": 1.0}, "missing or not finite"),
        ("gwas", {}, "missing"),
        ("world", {}, "unknown domain 'world' for verdicts"),
        ("astrology", {}, "unknown domain 'astrology'"),
    ],
)
def test_what_cannot_be_judged_raises(domain: str, stub: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        stub_verdict(domain, stub, {"direction": "up"})


def test_unknown_directions_raise() -> None:
    with pytest.raises(DataError, match="unknown direction 'sideways'"):
        target_outcome("gwas", {"p": 1e-9, "direction": "sideways"}, {"direction": "increase"})
