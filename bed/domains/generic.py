"""Free text: a user's own sentences, with no structure that bed could know.

An outcome may carry the flag `supported`; without it only a language model can read it.
"""

from bed.domains.meaning import Reading, Relation
from bed.errors import DataError
from bed.evidence import Experiment, Hypothesis, Outcome

__all__ = ["kind", "reading", "relation"]


def relation(hypothesis: Hypothesis, experiment: Experiment) -> Relation:
    """Return the experiment's own `tier`, or 1 where it states none."""
    tier = experiment.fields.get("tier", 1)
    if isinstance(tier, bool) or not isinstance(tier, int) or tier < 1:
        raise DataError(f"experiment {experiment.id!r}: tier {tier!r} must be 1 or more")
    return Relation(tier, f"evidence of tier {tier}")


def reading(experiment: Experiment, outcome: Outcome) -> Reading:
    """Return the reading of the flag `supported`."""
    supported = outcome.fields.get("supported")
    if not isinstance(supported, bool):
        raise DataError(
            f"experiment {experiment.id!r}: the outcome has no flag 'supported' (got "
            f"{supported!r}); add it, or use a language model as belief"
        )
    return Reading(supported, "supporting" if supported else "refuting", 1.0 if supported else -1.0)


def kind(experiment: Experiment) -> str:
    """Return the experiment's `kind`, or "experiment"."""
    return str(experiment.fields.get("kind", "experiment"))
