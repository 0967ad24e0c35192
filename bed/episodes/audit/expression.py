"""The audit's rules for differential expression."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from bed.domains import Verdict, reading
from bed.domains.expression import CONTROL_TIER
from bed.episodes.audit.checks import Check, View, none_of
from bed.episodes.audit.rules import Rules
from bed.episodes.expression.artefacts import artefact
from bed.episodes.expression.metadata import DESCRIPTIVE
from bed.episodes.expression.quotas import QUOTAS
from bed.episodes.expression.targets import TARGETS_PER_GENE
from bed.evidence import Experiment, Fields, Hypothesis, Outcome

__all__ = ["RULES"]

_FIELDS = frozenset(
    {"kind", "perturbation", "perturbation_type", "context", "context_type", "classes", "gene"}
    | {"direction", "dose", "time", "plate", "condition", "num_treated", "num_control"}
    | {"median_share"}
)
_CONDITION = ("dose", "time", "plate", "condition")


def _verdict(target: Hypothesis, outcome: Outcome) -> Verdict:
    kind = "zscore" if "z" in outcome.fields else "differential"
    return reading(Experiment("held out", target, fields=Fields(kind=kind)), outcome).verdict


def _place(fields: Fields) -> str:
    return f"{fields['perturbation']} in {fields['context']}"


def _measured(experiment: Experiment) -> Hashable:
    """Return what tells near-copies: one perturbation in one context, under any condition."""
    return _place(experiment.fields), experiment.fields["kind"] == "summary"


def _contrast(view: View) -> str:
    fields = view.episode.target.fields
    return ", ".join([_place(fields), *(fields[name] for name in _CONDITION if name in fields)])


def _direction(view: View) -> str:
    return str(view.episode.target.fields["direction"])


def _targets(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    """P1: no artefacts, and no gene's answer to its own knock-out."""
    genes = {view.episode.unit for view in seen}
    odd = (f"{gene} ({why})" for gene in sorted(genes) if (why := artefact(gene, genes)))
    name = "mitochondrial, ribosomal or pseudogene targets"
    yield none_of("P1", name, odd, f"{len(genes)} genes")
    own = (
        f"{view.episode.id}: {fields['gene']}"
        for view in seen
        for fields in (view.episode.target.fields, *(x.fields for x in view.experiments()))
        if fields.get("perturbation_type") == "knockout"
        and fields.get("gene") == fields["perturbation"]
    )
    name = "transcripts of the very gene that is knocked out"
    yield none_of("P1", name, own, f"{len(seen)} episodes")


RULES = Rules(
    control_tier=CONTROL_TIER,
    unit="gene",
    unit_of=lambda target: str(target.fields["gene"]),
    units_named=lambda fields: [fields["gene"]] if "gene" in fields else [],
    balanced={
        "contrast": _contrast,
        "direction": _direction,
        "contrast and direction": lambda view: f"{_contrast(view)}: {_direction(view)}",
        "perturbation in its context": lambda view: _place(view.episode.target.fields),
    },
    group="perturbation in its context",
    quotas=QUOTAS,
    targets_per_unit=TARGETS_PER_GENE,
    counts=lambda said: said.verdict != "inconclusive",
    verdict=_verdict,
    own="the target's own perturbation and context measured in its pool",
    repeated="one perturbation and context twice in a pool",
    measured=_measured,
    measured_by_target=lambda target: (_place(target.fields), False),
    own_experiment=lambda target: None,
    experiment_fields=_FIELDS | DESCRIPTIVE,
    targets=_targets,
)
