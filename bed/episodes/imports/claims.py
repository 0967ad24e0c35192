"""Released targets and stubs as values, with the wording of their claims."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bed.domains.claims import (
    assay_claim,
    association_claim,
    effect_claim,
    regulation_claim,
    summary_claim,
)
from bed.domains.depmap import CLAIMS
from bed.domains.expression import REGULATION, STRONG_EFFECT
from bed.domains.gwas import KIND
from bed.episodes.imports.assays import completed, require_fields
from bed.episodes.imports.labels import Parts
from bed.episodes.imports.places import placed
from bed.evidence import Experiment, Fields, Hypothesis

__all__ = ["experiment", "target"]

_NEEDED = {
    "expression": ("perturbation", "context", "gene", "direction"),
    "depmap": ("gene", "cell_line"),
    "gwas": ("snp", "trait", "allele", "direction"),
}
_SETTING = {
    "expression": {"kind", "plate", "dose", "time", "condition", "num_treated", "num_control"}
    | {"median_share"},
    "depmap": {"kind", "top_quarter_from"},
    "gwas": {"kind", "study", "ancestry", "sample_size", "platform", "year"},
}
"""How an experiment was done, which is no part of the claim that it tests."""


def target(domain: str, fields: Mapping[str, Any], text: str | None, where: str) -> Hypothesis:
    """Return the target of an episode.

    Args:
        domain: as bed calls it.
        fields: the claim's structure, by field.
        text: the claim as released; the paper's wording where None.
        where: names the place, for messages.

    Raises:
        DataError: where a field is lacking that the claim needs.
    """
    require_fields(domain, "target", _NEEDED[domain], fields, where)
    with placed(where):
        found = completed(domain, fields)
    if text is None:
        wording: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "expression": regulation_claim,
            "depmap": partial(assay_claim, "knockout"),
            "gwas": effect_claim,
        }
        text = wording[domain](found)
    claim = {"expression": REGULATION, "depmap": CLAIMS["knockout"], "gwas": KIND}[domain]
    with placed(where):
        return Hypothesis(text, domain, Fields(found, claim=claim))


def experiment(id: str, about: Hypothesis, parts: Parts, median_share: float | None) -> Experiment:
    """Return the experiment of a stub, with its own local hypothesis.

    Args:
        id: unique within the file.
        about: the episode's target; regulation is claimed in its direction.
        parts: as `finished` returned them.
        median_share: of significant genes over summaries of training; None without summaries.
    """
    domain, fields = about.domain, dict(parts.fields)
    kind = fields["kind"]
    if kind == "summary":
        fields.setdefault("median_share", median_share)
        fields.pop("gene", None)
        fields.pop("ensembl_id", None)
    claimed = {name: value for name, value in fields.items() if name not in _SETTING[domain]}
    if kind == "summary":
        claimed["claim"], text = STRONG_EFFECT, summary_claim(fields, fields["median_share"])
    elif domain == "expression":
        claimed |= {"claim": REGULATION, "direction": about.fields["direction"]}
        text = regulation_claim(claimed)
    elif domain == "depmap":
        claimed["claim"], text = CLAIMS[kind], assay_claim(kind, fields)
    else:
        claimed["claim"], text = KIND, association_claim(claimed)
    return Experiment(id, Hypothesis(text, domain, Fields(claimed)), fields=Fields(fields))
