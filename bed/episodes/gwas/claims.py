"""The wording and the fields of hypotheses, experiments and episodes."""

from functools import cache
from typing import Any

from bed.domains.claims import association_claim, effect_claim
from bed.domains.gwas import KIND, relation
from bed.episodes.gwas.facts import Facts
from bed.episodes.gwas.targets import Target
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub

__all__ = ["Writer"]


class Writer:
    """Turns indices into values.

    Args:
        facts: the associations.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._stub = cache(self._written)

    def episode(
        self, target: Target, label: bool, split: str, unit: str
    ) -> tuple[Episode, Outcome]:
        """Return the episode, and apart from it the held-out outcome that gives its label.

        Args:
            target: the claim with its pool.
            label: whether the held-out association supports it.
            split: of the episode.
            unit: its locus.
        """
        found = self._facts.associations[target.at]
        claim = {"allele": found.allele, "direction": target.direction}
        more = _known(risk_allele_frequency=found.frequency)
        fields = self._facts[target.at] | claim | more
        hypothesis = Hypothesis(effect_claim(fields), "gwas", Fields(fields))
        pool = tuple(self._stub(at) for at in target.pool.stubs)
        relations = [relation(hypothesis, stub.experiment) for stub in pool]
        return Episode(
            id=f"gwas:{found.snp}:{found.trait}:{target.direction}",
            target=hypothesis,
            label=int(label),
            pool=pool,
            tiers=tuple(item.tier for item in relations),
            tags=tuple(item.tag for item in relations),
            split=split,
            unit=unit,
        ), self._outcome(target.at)

    def _written(self, at: int) -> Stub:
        found, fields = self._facts.associations[at], self._facts[at]
        study = _known(
            study=found.study,
            ancestry=found.ancestry,
            sample_size=found.sample_size,
            platform=found.platform,
            year=None if found.day is None else found.day.year,
        )
        local = Hypothesis(association_claim(fields), "gwas", Fields(fields))
        design = {name: value for name, value in fields.items() if name != "claim"}
        experiment = Experiment(found.id, local, fields=Fields(design | study, kind=KIND))
        return Stub(experiment, self._outcome(at))

    def _outcome(self, at: int) -> Outcome:
        found = self._facts.associations[at]
        return Outcome(
            Fields(
                p_value=found.p_text,
                **_known(
                    effect=found.effect,
                    interval=found.interval,
                    risk_allele=found.allele,
                    risk_allele_frequency=found.frequency,
                    direction=found.direction,
                ),
            )
        )


def _known(**fields: Any) -> dict[str, Any]:
    """Return the fields without those that are not known."""
    return {name: value for name, value in fields.items() if value is not None}
