"""Gene dependency in cancer cell lines (DepMap): relation, reading, kinds of assay.

Hypothesis fields: `claim` (one of CLAIMS), `gene`, `cell_line`, `lineage`, and `coessential`, the
co-essential partners of the gene as {gene: correlation over the training lines}.
Experiment fields: `kind` (a key of CLAIMS), `gene`, `cell_line`, `lineage`, `coessential`; an
expression experiment also has `top_quarter_from`.
Outcome fields by kind: knockout and knockdown either `effect_bin` (a key of BIN_SCORES) or, for a
knockout, `chronos` with `p_dependency` (absent where the file has no probability table);
expression `log2_tpm`; copy_number `relative_copy_number`; mutation `status`.
"""

import math
from collections.abc import Callable

from bed.domains.meaning import Reading, Relation, Verdict
from bed.errors import DataError
from bed.evidence import Experiment, Hypothesis, Outcome

__all__ = [
    "AMPLIFIED_FROM",
    "BIN_SCORES",
    "CLAIMS",
    "DEPENDENCY_EFFECT",
    "MUTATED",
    "NOT_REPORTED",
    "REFUTED_ABOVE",
    "WILD_TYPE",
    "kind",
    "reading",
    "relation",
]

CLAIMS = {
    "knockout": "dependency",
    "knockdown": "dependency",
    "expression": "high expression",
    "copy_number": "amplification",
    "mutation": "mutation",
}
"""Kind of assay -> the claim that it tests directly."""

FUNCTIONAL = ("knockout", "knockdown")
DEPENDENCY_EFFECT = -0.5
DEPENDENCY_PROBABILITY = 0.5
REFUTED_ABOVE = 0.25
AMPLIFIED_FROM = 1.5
BIN_SCORES = {"strong_dependency": 1.0, "dependency": 0.0, "weak_dependency": -1.0}
_COESSENTIAL_DEGREES = {"strongly": 0.5, "clearly": 0.3, "weakly": 0.0}
"""In words, the correlation of two genes' effects above which each degree starts."""
MUTATED = "damaging or driver mutation"
WILD_TYPE = "wild type"
NOT_REPORTED = "not reported"


def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return the tier of `experiment` relative to whichever hypothesis is asked about."""
    claim, tested = hypothesis.fields, experiment.fields
    assay = tested["kind"]
    same_line = claim["cell_line"] == tested["cell_line"]
    same_claim = claim["claim"] == CLAIMS[assay]
    verb = {"knockout": "knocked out", "knockdown": "knocked down"}.get(assay, f"{assay} of")
    if claim["gene"] == tested["gene"]:
        if same_line:
            if same_claim:
                return Relation(1, f"the gene {verb} in the same line")
            return Relation(5, f"{assay} of the gene in the line")
        if same_claim and claim["lineage"] == tested["lineage"]:
            return Relation(1, f"the gene {verb} in another line of the same lineage")
        if same_claim:
            return Relation(2, f"the gene {verb} in another lineage")
    elif same_line and same_claim and assay in FUNCTIONAL:
        correlation = max(
            claim["coessential"].get(tested["gene"], 0.0),
            tested["coessential"].get(claim["gene"], 0.0),
        )
        for degree, floor in _COESSENTIAL_DEGREES.items():
            if correlation > floor:
                return Relation(3, f"a {degree} co-essential partner {verb} in the line")
        return Relation(6, f"an unrelated gene {verb} in the line")
    return Relation(6, "an unrelated gene or line")


def kind(experiment: Experiment) -> str:
    """Return the kind of assay."""
    found = experiment.fields.get("kind")
    if found not in CLAIMS:
        raise DataError(
            f"experiment {experiment.id!r}: kind {found!r} is unknown; use one of {sorted(CLAIMS)}"
        )
    return str(found)


def reading(experiment: Experiment, outcome: Outcome) -> Reading:
    """Return what the outcome says about the experiment's own h'."""
    return _READERS[kind(experiment)](experiment, outcome)


def _number(experiment: Experiment, outcome: Outcome, name: str) -> float:
    return _finite(experiment, name, outcome.fields.get(name))


def _finite(experiment: Experiment, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(
            f"experiment {experiment.id!r}: field {name!r} is {value!r}: missing or not finite; "
            "leave the experiment out"
        )
    return float(value)


def _read_functional(experiment: Experiment, outcome: Outcome) -> Reading:
    if "effect_bin" in outcome.fields:
        name = outcome.fields["effect_bin"]
        if name not in BIN_SCORES:
            raise DataError(
                f"experiment {experiment.id!r}: effect bin {name!r} is not one of "
                f"{sorted(BIN_SCORES)}"
            )
        supported = name != "weak_dependency"
        return Reading(supported, "supporting" if supported else "inconclusive", BIN_SCORES[name])
    effect = _number(experiment, outcome, "chronos")
    supported = effect <= DEPENDENCY_EFFECT
    if "p_dependency" in outcome.fields:
        supported &= _number(experiment, outcome, "p_dependency") >= DEPENDENCY_PROBABILITY
    verdict: Verdict = "refuting" if effect > REFUTED_ABOVE else "inconclusive"
    return Reading(
        supported,
        "supporting" if supported else verdict,
        (DEPENDENCY_EFFECT - effect) / abs(DEPENDENCY_EFFECT),
    )


def _read_expression(experiment: Experiment, outcome: Outcome) -> Reading:
    threshold = experiment.fields.get("top_quarter_from")
    above = _number(experiment, outcome, "log2_tpm")
    above -= _finite(experiment, "top_quarter_from", threshold)
    return Reading(above >= 0, "inconclusive", above)


def _read_copy_number(experiment: Experiment, outcome: Outcome) -> Reading:
    above = _number(experiment, outcome, "relative_copy_number") - AMPLIFIED_FROM
    return Reading(above >= 0, "inconclusive", above)


def _read_mutation(experiment: Experiment, outcome: Outcome) -> Reading:
    status = outcome.fields.get("status")
    if status not in (MUTATED, WILD_TYPE, NOT_REPORTED):
        raise DataError(f"experiment {experiment.id!r}: mutation status {status!r} is unknown")
    return Reading(status == MUTATED, "inconclusive", 1.0 if status == MUTATED else -1.0)


_READERS: dict[str, Callable[[Experiment, Outcome], Reading]] = {
    "knockout": _read_functional,
    "knockdown": _read_functional,
    "expression": _read_expression,
    "copy_number": _read_copy_number,
    "mutation": _read_mutation,
}
