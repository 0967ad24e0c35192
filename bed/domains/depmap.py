"""Gene dependency in cancer cell lines (DepMap): relation, reading, kinds of assay.

Hypothesis fields: `claim` (one of CLAIMS), `gene`, `cell_line`, and where known `lineage` and
`coessential`, the co-essential partners of the gene as {gene: correlation over the training lines}.
Experiment fields: `kind` (a key of CLAIMS) and the same; an expression experiment also has
`top_quarter_from`, a drug experiment `drug`. What else a prompt tells of the gene and the line
(`gene_name`, `gene_family`, `depmap_id`, `disease`, `subtype`, `sex`, `site`) says nothing here.
Outcome fields by kind: knockout and knockdown either `effect_bin` (a key of BIN_SCORES) or, for a
knockout, `chronos` with `p_dependency` (absent where the file has no probability table);
expression `log2_tpm`; copy_number `relative_copy_number`; mutation `status`; drug `sensitive`.
"""

from collections.abc import Callable

from bed.domains.meaning import Reading, Relation, Verdict
from bed.domains.numbers import finite, probability
from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome

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
    "knockout_verdict",
    "reading",
    "relation",
]

CLAIMS = {
    "knockout": "dependency",
    "knockdown": "dependency",
    "expression": "high expression",
    "copy_number": "amplification",
    "mutation": "mutation",
    "drug": "sensitivity",
}
"""Kind of assay -> the claim that it tests directly."""

FUNCTIONAL = ("knockout", "knockdown")
DEPENDENCY_EFFECT = -0.5
DEPENDENCY_PROBABILITY = 0.5
REFUTED_ABOVE = 0.25
AMPLIFIED_FROM = 1.5
BIN_SCORES = {"strong_dependency": 1.0, "dependency": 0.0, "weak_dependency": -1.0}
_DEGREES = {"strongly": 0.5, "clearly": 0.3, "weakly": 0.0}
"""In words, the correlation of two genes' effects above which each degree starts."""
_DISTURBED = {"knockout": "knocked out", "knockdown": "knocked down"}
_STATES = {
    "knockout": (5, "target gene knocked out in the target cell line"),
    "knockdown": (5, "target gene knocked down in the target cell line"),
    "expression": (5, "expression of the target gene in the target cell line"),
    "copy_number": (5, "copy number of the target gene in the target cell line"),
    "mutation": (5, "somatic mutation status of the target gene in the target cell line"),
    "drug": (4, "a drug on the target gene in the target cell line"),
}
"""Kind of assay -> tier and tag where it tells of another claim about the gene in the line."""
MUTATED = "damaging or driver mutation"
WILD_TYPE = "wild-type"
NOT_REPORTED = "not reported"


def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return the tier of `experiment` relative to whichever hypothesis is asked about."""
    claim, tested = hypothesis.fields, experiment.fields
    assay = tested["kind"]
    in_line = claim["cell_line"] == tested["cell_line"]
    same_claim = claim["claim"] == CLAIMS[assay]
    if claim["gene"] == tested["gene"]:
        if in_line and not same_claim:
            return Relation(*_STATES[assay])
        if same_claim:
            return _elsewhere(claim, tested, in_line)
    elif in_line and same_claim and assay in FUNCTIONAL:
        disturbed = f"{_DISTURBED[assay]} in the target cell line"
        if degree := _coessential(claim, tested):
            return Relation(3, f"a {degree} co-essential partner of the target gene {disturbed}")
        return Relation(6, f"an unrelated gene {disturbed}")
    return Relation(6, "an unrelated gene or cell line")


def _elsewhere(claim: Fields, tested: Fields, in_line: bool) -> Relation:
    """Return the relation of the same assay of the same gene, wherever it is done."""
    disturbed = _DISTURBED.get(tested["kind"], f"{tested['kind'].replace('_', ' ')} measured")
    if in_line:
        return Relation(1, f"target gene {disturbed} in the target cell line")
    lineage = claim.get("lineage")
    if lineage is not None and lineage == tested.get("lineage"):
        return Relation(1, f"target gene {disturbed} in a different cell line of the same lineage")
    return Relation(2, f"target gene {disturbed} in a cell line of a different lineage")


def _coessential(claim: Fields, tested: Fields) -> str | None:
    """Return in words how co-essential the two genes are; None where they are not."""
    correlation = max(
        claim.get("coessential", {}).get(tested["gene"], 0.0),
        tested.get("coessential", {}).get(claim["gene"], 0.0),
    )
    return next((word for word, floor in _DEGREES.items() if correlation > floor), None)


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
    return finite(outcome.fields.get(name), name, f"experiment {experiment.id!r}")


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
    p = outcome.fields.get("p_dependency")
    if "p_dependency" in outcome.fields:
        p = probability(p, "p_dependency", f"experiment {experiment.id!r}")
    verdict = knockout_verdict(effect, p)
    score = (DEPENDENCY_EFFECT - effect) / abs(DEPENDENCY_EFFECT)
    return Reading(verdict == "supporting", verdict, score)


def knockout_verdict(effect: float, p_dependency: float | None = None) -> Verdict:
    """Return what a knockout says of the claim that its gene is a dependency.

    Args:
        effect: Chronos gene effect; 0 for no effect, -1 for the median common-essential gene.
        p_dependency: probability of dependency, in [0, 1]; None where there is no table of it.
    """
    if effect <= DEPENDENCY_EFFECT and (
        p_dependency is None or p_dependency >= DEPENDENCY_PROBABILITY
    ):
        return "supporting"
    return "refuting" if effect > REFUTED_ABOVE else "inconclusive"


def _read_expression(experiment: Experiment, outcome: Outcome) -> Reading:
    threshold = experiment.fields.get("top_quarter_from")
    above = _number(experiment, outcome, "log2_tpm")
    above -= finite(threshold, "top_quarter_from", f"experiment {experiment.id!r}")
    return Reading(above >= 0, "inconclusive", above)


def _read_copy_number(experiment: Experiment, outcome: Outcome) -> Reading:
    above = _number(experiment, outcome, "relative_copy_number") - AMPLIFIED_FROM
    return Reading(above >= 0, "inconclusive", above)


def _read_mutation(experiment: Experiment, outcome: Outcome) -> Reading:
    status = outcome.fields.get("status")
    if status not in (MUTATED, WILD_TYPE, NOT_REPORTED):
        raise DataError(f"experiment {experiment.id!r}: mutation status {status!r} is unknown")
    return Reading(status == MUTATED, "inconclusive", 1.0 if status == MUTATED else -1.0)


def _read_drug(experiment: Experiment, outcome: Outcome) -> Reading:
    sensitive = outcome.fields.get("sensitive")
    if not isinstance(sensitive, bool):
        raise DataError(
            f"experiment {experiment.id!r}: field 'sensitive' is {sensitive!r}; use true or false"
        )
    return Reading(sensitive, "inconclusive", 1.0 if sensitive else -1.0)


_READERS: dict[str, Callable[[Experiment, Outcome], Reading]] = {
    "knockout": _read_functional,
    "knockdown": _read_functional,
    "expression": _read_expression,
    "copy_number": _read_copy_number,
    "mutation": _read_mutation,
    "drug": _read_drug,
}
