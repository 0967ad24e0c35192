"""What the audit of one domain goes by."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bed.domains import Reading, Verdict
from bed.episodes.audit.checks import Check, View
from bed.episodes.selection import Quotas
from bed.evidence import Experiment, Fields, Hypothesis, Outcome

__all__ = ["MoreChecks", "Rules"]

Info = Mapping[str, Any]
MoreChecks = Callable[[Sequence[View], Info], Iterator[Check]]


def _nothing(seen: Sequence[View], info: Info) -> Iterator[Check]:
    return iter(())


@dataclass(frozen=True)
class Rules:
    """The principles of episode building as one domain has them.

    Attributes:
        control_tier: the tier of controls; nearer ones are related.
        unit: what the split goes by, in words ("gene").
        unit_of: a target's unit.
        units_named: every unit that the fields of a hypothesis or an experiment name.
        balanced: in words -> a target's group, within which labels must be balanced.
        group: the one of `balanced` that must not dominate.
        quotas: the shares that the builder wants.
        targets_per_unit: most targets of one unit; None where there is no cap.
        counts: whether a related stub's reading counts towards sufficiency.
        verdict: what a held-out outcome says of a target's claim.
        own: in words, what must not be in a target's own pool.
        repeated: in words, what must not be twice in a pool.
        measured: what an experiment measures, equal where two would tell the same; None where any
            number may stand in a pool.
        measured_by_target: the same of a target's own measurement.
        own_experiment: the id of the target's own measurement in other pools, or None.
        experiment_fields: all that an experiment may state.
        features: in words -> numbers that must not tell the label.
        targets: further checks of P1.
        more: further checks of P5.
    """

    control_tier: int
    unit: str
    unit_of: Callable[[Hypothesis], str]
    units_named: Callable[[Fields], Iterable[str]]
    balanced: Mapping[str, Callable[[View], str]]
    group: str
    quotas: Quotas
    targets_per_unit: int | None
    counts: Callable[[Reading], bool]
    verdict: Callable[[Hypothesis, Outcome], Verdict]
    own: str
    repeated: str
    measured: Callable[[Experiment], Hashable]
    measured_by_target: Callable[[Hypothesis], Hashable]
    own_experiment: Callable[[Hypothesis], str | None]
    experiment_fields: frozenset[str]
    features: Mapping[str, Callable[[View], list[float]]] = field(default_factory=dict)
    targets: MoreChecks = _nothing
    more: MoreChecks = _nothing
