"""Candidates of exact finite worlds (`bed.worlds`): everything they mean stands in their fields.

Experiment fields: `index`, `tier`, `kind`, and `log_ratio`, ln P(y | theta'=1) / P(y | theta'=0)
for each outcome y. Outcome fields: `y`.
"""

from bed.domains.meaning import Reading, Relation
from bed.errors import DataError
from bed.evidence import Experiment, Hypothesis, Outcome

__all__ = ["kind", "reading", "relation"]


def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return the candidate's tier: how strongly its h' hangs on theta."""
    tier = int(experiment.fields["tier"])
    return Relation(tier, f"candidate of tier {tier}")


def reading(experiment: Experiment, outcome: Outcome) -> Reading:
    """Return the reading by the sign of the outcome's log likelihood ratio for h'."""
    ratios = experiment.fields["log_ratio"]
    y = outcome.fields.get("y")
    if not isinstance(y, int) or not 0 <= y < len(ratios):
        raise DataError(
            f"experiment {experiment.id!r}: outcome y={y!r} is outside the range "
            f"0..{len(ratios) - 1}"
        )
    ratio = float(ratios[y])
    if ratio == 0:
        return Reading(False, "inconclusive", 0.0)
    return Reading(ratio > 0, "supporting" if ratio > 0 else "refuting", ratio)


def kind(experiment: Experiment) -> str:
    """Return the candidate's kind of readout."""
    return str(experiment.fields["kind"])
