"""Released targets and stubs as values, with the wording of their claims."""

from collections.abc import Mapping
from typing import Any

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

_VERBS = {"up": "upregulates", "down": "downregulates"}
_DEPENDENCY = "Gene {gene} is a dependency (essential for fitness) in cell line {cell_line}: a "
_DEPMAP_CLAIMS = {
    "knockout": _DEPENDENCY + "held-out genome-wide CRISPR knockout screen of {cell_line} would "
    "score gene {gene} at Chronos gene-effect <= -0.5 AND P(dependency) >= 0.5.",
    "knockdown": _DEPENDENCY + "held-out RNAi knockdown screen of {cell_line} would score gene "
    "{gene} at -0.5 or below.",
    "expression": "Gene {gene} is highly expressed in cell line {cell_line}: its log2(TPM + 1) is "
    "in the top quarter of cell lines.",
    "copy_number": "Gene {gene} is amplified in cell line {cell_line}: its relative copy number is "
    "1.5 or above.",
    "mutation": "Gene {gene} carries a damaging or driver mutation in cell line {cell_line}.",
    "drug": "Cell line {cell_line} is sensitive to drug {drug}, which acts on gene {gene}.",
}
_REGULATION = "Drug {perturbation} {verb} gene {gene} in cell line {context}."
_STRONG = (
    "Drug {perturbation} changes the transcriptome of cell line {context} strongly: more than "
    "{median_share:.1%} of tested genes respond."
)
_ASSOCIATION = "SNP {snp} ({allele} allele) {direction} {trait}. A held-out GWAS would report p < "
_ASSOCIATION += "5e-8 for this SNP-trait pair with a consistent direction of effect."
_ASSOCIATED = "SNP {snp} is associated with {trait}: a GWAS reports p < 5e-8."


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
        wording = {
            "expression": _REGULATION,
            "depmap": _DEPMAP_CLAIMS["knockout"],
            "gwas": _ASSOCIATION,
        }
        verb = _VERBS.get(str(found.get("direction")))
        text = wording[domain].format(**found, verb=verb)
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
        claimed["claim"], text = STRONG_EFFECT, _STRONG.format(**fields)
    elif domain == "expression":
        claimed |= {"claim": REGULATION, "direction": about.fields["direction"]}
        text = _REGULATION.format(**claimed, verb=_VERBS[claimed["direction"]])
    elif domain == "depmap":
        claimed["claim"], text = CLAIMS[kind], _DEPMAP_CLAIMS[kind].format(**claimed)
    else:
        claimed["claim"], text = KIND, _ASSOCIATED.format(**claimed)
    return Experiment(id, Hypothesis(text, domain, Fields(claimed)), fields=Fields(fields))
