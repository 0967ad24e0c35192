"""What a measurement says of a claim, in the paper's words and by its rules alone.

For forecasts and released tables that name measurements in the paper's fields: `padj`, `log2fc`
(tahoe); `chronos`, `p_dependency` (depmap); `p`, `direction` (gwas).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bed.domains import canonical, depmap, expression, gwas
from bed.domains.meaning import Verdict
from bed.domains.numbers import finite, probability
from bed.errors import DataError

__all__ = ["TargetOutcome", "stub_verdict", "target_outcome"]

_WORDS: dict[Verdict, str] = {
    "supporting": "supported",
    "refuting": "refuted",
    "inconclusive": "inconclusive",
}
_MEASURED = {"depmap": "knockout", "expression": "differential"}
"""The kind of stub that has a measurement to judge by; other kinds are inconclusive."""
_DIRECTIONS = {"increase", "increases", "decrease", "decreases"}


@dataclass(frozen=True, slots=True)
class TargetOutcome:
    """What a held-out measurement makes of a target.

    Attributes:
        outcome: "supported", "refuted" or "inconclusive"; in gwas "supported",
            "direction-inconsistent" or "sub-threshold".
        label: 1 only for supported.
    """

    outcome: str
    label: int


def stub_verdict(domain: str, stub: Mapping[str, Any], target: Mapping[str, Any]) -> str:
    """Return "supported", "refuted" or "inconclusive"; in gwas "significant" or "sub-threshold".

    Args:
        domain: "tahoe" or "expression", "depmap", "gwas".
        stub: the measurement; `kind` where it is not a knockout or a differential expression.
        target: the claim; tahoe needs its `direction`, "up" or "down".

    Raises:
        DataError: for an unknown domain or direction, or a number that is missing or not finite.
    """
    name = canonical(domain)
    if name == "gwas":
        p = gwas.p_decimal(stub.get("p"), "the stub, field 'p'")
        return "significant" if gwas.is_significant(p) else "sub-threshold"
    if name not in _MEASURED:
        raise DataError(f"unknown domain {domain!r} for verdicts; use tahoe, depmap or gwas")
    if stub.get("kind", _MEASURED[name]) != _MEASURED[name]:
        return "inconclusive"
    return _WORDS[_judged(name, stub, target)]


def target_outcome(
    domain: str, measurement: Mapping[str, Any], claim: Mapping[str, Any]
) -> TargetOutcome:
    """Return what the held-out measurement of a target says of its claim.

    Args:
        domain: as in `stub_verdict`.
        measurement: as a stub's; gwas needs `direction`, "increase" or "decrease", too.
        claim: the target's `direction` (tahoe, gwas).

    Raises:
        DataError: as in `stub_verdict`.
    """
    outcome = stub_verdict(domain, measurement, claim)
    if outcome == "significant":
        same = _direction(measurement) == _direction(claim)
        outcome = "supported" if same else "direction-inconsistent"
    return TargetOutcome(outcome, int(outcome == "supported"))


def _judged(domain: str, stub: Mapping[str, Any], target: Mapping[str, Any]) -> Verdict:
    if domain == "expression":
        change = stub.get("log2fc", math.nan)
        return expression.verdict(stub.get("padj", math.nan), change, target.get("direction", ""))
    effect = finite(stub.get("chronos"), "chronos", "the stub")
    p = probability(stub.get("p_dependency"), "p_dependency", "the stub")
    return depmap.knockout_verdict(effect, p)


def _direction(fields: Mapping[str, Any]) -> str:
    found = fields.get("direction")
    if found not in _DIRECTIONS:
        raise DataError(f"unknown direction {found!r}; use increase or decrease")
    return str(found).removesuffix("s")
