"""The audit's rules for associations of SNPs with traits."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from bed.domains import Verdict
from bed.domains.gwas import is_significant, p_decimal
from bed.episodes.audit.checks import Check, View, none_of
from bed.episodes.audit.rules import Rules
from bed.episodes.gwas.builder import QUOTAS
from bed.episodes.gwas.loci import is_in_mhc, locus
from bed.evidence import Fields, Hypothesis, Outcome

__all__ = ["RULES"]

_FIELDS = frozenset(
    {"kind", "snp", "trait", "genes", "chromosome", "position", "region", "trait_terms"}
    | {"trait_groups", "pathways", "functional_class", "gtex", "efo_parent"}
    | {"study", "ancestry", "sample_size", "platform", "year"}
)


def _verdict(target: Hypothesis, outcome: Outcome) -> Verdict:
    p = p_decimal(outcome.fields.get("p_value"), "the held-out outcome")
    if not is_significant(p):
        return "inconclusive"
    same = outcome.fields.get("direction") == target.fields.get("direction")
    return "supporting" if same else "refuting"


def _pair(fields: Fields) -> Hashable:
    """Return the SNP and the trait by its mapped terms, so that synonyms are one trait."""
    terms = fields.get("trait_terms")
    return fields["snp"], frozenset(terms) if terms else fields["trait"].casefold()


def _place(fields: Fields) -> tuple[str | None, str | None, int | None]:
    return fields.get("region"), fields.get("chromosome"), fields.get("position")


def _locus(fields: Fields) -> str:
    return str(locus(*_place(fields)))


def _targets(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    """P1: no targets in the MHC."""
    inside = (view.episode.id for view in seen if is_in_mhc(*_place(view.episode.target.fields)))
    yield none_of("P1", "targets in the MHC", inside, f"{len(seen)} episodes")


def _claimed(view: View) -> str:
    return f"{view.episode.target.fields['trait']}: {view.episode.target.fields['direction']}"


RULES = Rules(
    control_tier=6,
    unit="locus",
    unit_of=lambda target: _locus(target.fields),
    units_named=lambda fields: [_locus(fields)],
    balanced={
        "trait": lambda view: str(view.episode.target.fields["trait"]),
        "trait and direction": _claimed,
        "direction": lambda view: str(view.episode.target.fields["direction"]),
    },
    group="trait",
    quotas=QUOTAS,
    targets_per_unit=None,
    counts=lambda said: said.verdict == "supporting",
    verdict=_verdict,
    own="associations of the target's own SNP and trait in its pool",
    repeated="a SNP and trait twice in a pool",
    measured=lambda experiment: _pair(experiment.fields),
    measured_by_target=lambda target: _pair(target.fields),
    own_experiment=lambda target: None,
    experiment_fields=_FIELDS,
    targets=_targets,
)
