"""Differential expression: what a drug or a knock-out does to one gene in one cell line.

Hypothesis fields: `claim` ("regulation" or "strong effect"), `direction` ("up" or "down") and
`gene` of a regulation, `perturbation`, `context`, `classes` (mechanisms or gene sets), and where
they differ from the defaults `perturbation_type` ("drug") and `context_type` ("cell line").
Experiment fields: the same and `kind`; a summary also has `median_share`.
Outcome fields by kind: differential `log2_fold_change` and `p_adjusted`, with `wald` or `p_value`
where known; zscore `z`; summary `share_significant`.
"""

import math
import sys
from collections.abc import Callable
from statistics import NormalDist

from bed.domains.meaning import Reading, Relation, Verdict
from bed.domains.numbers import finite, probability
from bed.errors import DataError
from bed.evidence import Experiment, Hypothesis, Outcome

__all__ = [
    "CONTROL_TIER",
    "LOG2_FOLD_CHANGE_ABOVE",
    "PADJ_BELOW",
    "REGULATION",
    "STRONG_EFFECT",
    "Z_FROM",
    "kind",
    "reading",
    "relation",
    "verdict",
]

REGULATION, STRONG_EFFECT = "regulation", "strong effect"
"""Claims on one gene, and on the transcriptome as a whole."""

PADJ_BELOW = 0.05
LOG2_FOLD_CHANGE_ABOVE = 0.5
Z_FROM = 2.0
CONTROL_TIER = 5

_SIGNS = {"up": 1, "down": -1}
_STRONG_WALD = 3.0
_SHARE_FLOOR = 0.001
"""Added to shares of genes, so that none of them against none is no doubling."""


def verdict(p_adjusted: float, log2_fold_change: float, direction: str) -> Verdict:
    """Return what one gene's differential expression says about a claimed direction.

    Significant means p_adjusted < 0.05 and |log2_fold_change| > 0.5, both strictly.

    Args:
        p_adjusted: p value adjusted for the number of genes, in [0, 1].
        log2_fold_change: of perturbed against control; positive where the gene goes up.
        direction: the claim, "up" or "down".

    Raises:
        DataError: for an unknown direction, a number that is missing or not finite, or a
            p value outside [0, 1].
    """
    sign = _sign(direction, "the claim")
    p = probability(p_adjusted, "p_adjusted", "the measurement")
    change = finite(log2_fold_change, "log2_fold_change", "the measurement")
    if not (p < PADJ_BELOW and abs(change) > LOG2_FOLD_CHANGE_ABOVE):
        return "inconclusive"
    return "supporting" if sign * change > 0 else "refuting"


def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return the tier of `experiment` relative to whichever hypothesis is asked about."""
    claim, tested = hypothesis.fields, experiment.fields
    agent, where = claim.get("perturbation_type", "drug"), claim.get("context_type", "cell line")
    same_agent = claim["perturbation"] == tested["perturbation"]
    same_place = claim["context"] == tested["context"]
    is_summary = kind(experiment) == "summary"
    control = Relation(CONTROL_TIER, f"unrelated {agent} × {where}, included as a baseline")
    if claim["claim"] == REGULATION:
        if is_summary and same_agent and same_place:
            return Relation(4, f"same {agent}, same {where} as target, genome-wide summary")
        if is_summary or claim["gene"] != tested["gene"]:
            return control
        readout = "target gene"
    else:
        readout = "genome-wide summary" if is_summary else "one gene"
    suffix = ", opposite claim" if _is_opposite(hypothesis, experiment) else ""
    if same_agent:
        place = "same" if same_place else "different"
        return Relation(1, f"same {agent} as target, {place} {where}, {readout}{suffix}")
    if set(claim.get("classes", ())) & set(tested.get("classes", ())):
        same_class = f"{agent} with same mechanism of action as the target {agent}"
        return Relation(2, same_class + suffix)
    if same_place:
        return Relation(3, f"different {agent}, same {where} as target, {readout}{suffix}")
    return control


def _is_opposite(hypothesis: Hypothesis, experiment: Experiment) -> bool:
    """Return whether both claim a direction and the directions differ."""
    claims = (hypothesis.fields, experiment.hypothesis.fields)
    directions = {claim.get("direction") for claim in claims} - {None}
    return len(directions) > 1


def kind(experiment: Experiment) -> str:
    """Return the kind of readout: differential, zscore or summary."""
    found = experiment.fields.get("kind")
    if found not in _READERS:
        raise DataError(
            f"experiment {experiment.id!r}: kind {found!r} is unknown; use one of "
            f"{sorted(_READERS)}"
        )
    return str(found)


def reading(experiment: Experiment, outcome: Outcome) -> Reading:
    """Return what the outcome says about the experiment's own h'."""
    return _READERS[kind(experiment)](experiment, outcome)


def _read_differential(experiment: Experiment, outcome: Outcome) -> Reading:
    place = f"experiment {experiment.id!r}"
    p = probability(outcome.fields.get("p_adjusted"), "p_adjusted", place)
    change = finite(outcome.fields.get("log2_fold_change"), "log2_fold_change", place)
    direction = experiment.hypothesis.fields.get("direction")
    sign = _sign(direction, place)
    found = verdict(p, change, str(direction))
    score = sign * _wald(outcome, p, change, place) / _STRONG_WALD - 1
    return Reading(found == "supporting", found, score)


def _wald(outcome: Outcome, p_adjusted: float, change: float, place: str) -> float:
    """Return the Wald statistic, from a p value and the sign of the change where it is absent."""
    if "wald" in outcome.fields:
        return finite(outcome.fields["wald"], "wald", place)
    p = p_adjusted
    if "p_value" in outcome.fields:
        p = probability(outcome.fields["p_value"], "p_value", place)
    return math.copysign(-NormalDist().inv_cdf(max(p, 2 * sys.float_info.min) / 2), change)


def _read_zscore(experiment: Experiment, outcome: Outcome) -> Reading:
    place = f"experiment {experiment.id!r}"
    toward = finite(outcome.fields.get("z"), "z", place)
    toward *= _sign(experiment.hypothesis.fields.get("direction"), place)
    found: Verdict = "refuting" if toward <= -Z_FROM else "inconclusive"
    supported = toward >= Z_FROM
    return Reading(supported, "supporting" if supported else found, toward / Z_FROM - 1)


def _read_summary(experiment: Experiment, outcome: Outcome) -> Reading:
    place = f"experiment {experiment.id!r}"
    share = probability(outcome.fields.get("share_significant"), "share_significant", place)
    median = probability(experiment.fields.get("median_share"), "median_share", place)
    doublings = math.log2((share + _SHARE_FLOOR) / (median + _SHARE_FLOOR))
    return Reading(share > median, "inconclusive", doublings / 2)


_READERS: dict[str, Callable[[Experiment, Outcome], Reading]] = {
    "differential": _read_differential,
    "zscore": _read_zscore,
    "summary": _read_summary,
}


def _sign(direction: object, place: str) -> int:
    if not isinstance(direction, str) or direction not in _SIGNS:
        raise DataError(f"{place}: unknown direction {direction!r}; use one of {sorted(_SIGNS)}")
    return _SIGNS[direction]
