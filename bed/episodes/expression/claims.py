"""The wording and the fields of hypotheses, experiments and episodes."""

from collections import Counter
from functools import cache
from typing import Any

from bed.domains import reading, relation
from bed.domains.claims import regulation_claim, summary_claim
from bed.domains.expression import REGULATION, STRONG_EFFECT
from bed.episodes.expression.measurements import Measurements
from bed.episodes.expression.metadata import Metadata
from bed.episodes.expression.pools import SUMMARY_TIER, Draw
from bed.episodes.expression.summaries import Summaries
from bed.episodes.expression.tables import ExpressionTables
from bed.episodes.expression.targets import Target
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub

__all__ = ["Writer"]


class Writer:
    """Turns drawn indices into values.

    Args:
        tables: what perturbations and contexts are.
        measurements: all tables.
        summaries: of the contrasts.
        metadata: what else is known of perturbations and contexts.
    """

    def __init__(
        self,
        tables: ExpressionTables,
        measurements: Measurements,
        summaries: Summaries,
        metadata: Metadata,
    ) -> None:
        self._tables, self._measurements = tables, measurements
        self._summaries, self._metadata = summaries, metadata
        self._siblings = Counter(contrast.place for contrast in measurements.contrasts)
        self._experiment = cache(self._measuring)
        self._summary = cache(self._summing)
        self._where = cache(self._stated)

    def episode(self, target: Target, split: str) -> tuple[Episode, Outcome]:
        """Return the episode, and apart from it the held-out outcome that gives its label."""
        gene, contrast = target.gene, target.contrast
        held_out = self._experiment(gene, contrast, target.direction)
        outcome = self._outcome(gene, contrast)
        hypothesis = held_out.hypothesis
        pool = tuple(self._stub(draw, target) for draw in target.pool.draws)
        relations = [relation(hypothesis, stub.experiment) for stub in pool]
        return Episode(
            id="expression:" + held_out.id.partition(":")[2],
            target=hypothesis,
            label=int(reading(held_out, outcome).supported),
            pool=pool,
            tiers=tuple(item.tier for item in relations),
            tags=tuple(item.tag for item in relations),
            split=split,
            unit=self._measurements.genes[gene],
        ), outcome

    def _stub(self, draw: Draw, target: Target) -> Stub:
        if draw.tier == SUMMARY_TIER:
            outcome = Outcome(Fields(self._summaries.outcome(draw.contrast)))
            return Stub(self._summary(draw.contrast), outcome)
        return Stub(
            self._experiment(target.gene, draw.contrast, target.direction),
            self._outcome(target.gene, draw.contrast),
        )

    def _outcome(self, gene: int, contrast: int) -> Outcome:
        return Outcome(Fields(self._measurements.outcome(gene, contrast)))

    def _measuring(self, gene: int, contrast: int, direction: str) -> Experiment:
        measurements = self._measurements
        name, at = measurements.genes[gene], measurements.contrasts[contrast]
        where = self._where(contrast) | {"gene": name, "direction": direction}
        if name in measurements.ensembl:
            where["ensembl_id"] = measurements.ensembl[name]
        id_parts = [measurements.kind, at.perturbation, name, at.context]
        return Experiment(
            id=":".join([*id_parts, *self._told_apart(contrast), direction]),
            hypothesis=Hypothesis(
                regulation_claim(where), "expression", Fields(where, claim=REGULATION)
            ),
            fields=Fields({**where, **at.arm_sizes()}, kind=measurements.kind),
        )

    def _summing(self, contrast: int) -> Experiment:
        at = self._measurements.contrasts[contrast]
        where, median = self._where(contrast), self._summaries.median_share
        text = summary_claim(where, median)
        return Experiment(
            id=":".join(["summary", *at.place, *self._told_apart(contrast)]),
            hypothesis=Hypothesis(text, "expression", Fields(where, claim=STRONG_EFFECT)),
            fields=Fields({**where, **at.arm_sizes()}, kind="summary", median_share=median),
        )

    def _stated(self, contrast: int) -> dict[str, Any]:
        """Return the fields that any statement on a contrast has."""
        at = self._measurements.contrasts[contrast]
        return {
            "perturbation": at.perturbation,
            "perturbation_type": self._tables.perturbation_type,
            "context": at.context,
            "context_type": self._tables.context_type,
            "classes": self._metadata.classes_of(at.perturbation),
            **at.condition_fields(),
            **self._metadata.perturbation(at.perturbation),
            **self._metadata.context(at.context),
        }

    def _told_apart(self, contrast: int) -> list[str]:
        """Return the condition where the contrast has siblings."""
        at = self._measurements.contrasts[contrast]
        return [text for _, text in at.condition] if self._siblings[at.place] > 1 else []
