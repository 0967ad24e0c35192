"""Relevance tags of the released data, by wording, and their tiers."""

__all__ = ["CONTROL_TIERS", "tier_of_tag"]

CONTROL_TIERS = {"expression": 5, "depmap": 6, "gwas": 6}
"""Domain -> the tier of evidence that bears on nothing."""

_DEPMAP_TAGS = {
    "target gene knocked {way} in a different cell line of the same lineage": 1,
    "target gene knocked {way} in the target cell line": 1,
    "target gene knocked {way} in a cell line of a different lineage": 2,
    "a strongly co-essential partner of the target gene knocked {way} in the target cell line": 3,
    "a clearly co-essential partner of the target gene knocked {way} in the target cell line": 3,
    "a weakly co-essential partner of the target gene knocked {way} in the target cell line": 3,
    "a drug on the target gene in the target cell line": 4,
    "somatic mutation status of the target gene in the target cell line": 5,
    "expression of the target gene in the target cell line": 5,
    "copy number of the target gene in the target cell line": 5,
    "an unrelated gene knocked {way} in the target cell line": 6,
    "an unrelated gene or cell line": 6,
}
_TAGS = {
    "expression": {
        "same drug as target, same cell line, target gene": 1,
        "same drug as target, different cell line, target gene": 1,
        "drug with same mechanism of action as the target drug": 2,
        "different drug, same cell line as target, target gene": 3,
        "same drug, same cell line as target, genome-wide summary": 4,
        "unrelated drug × cell line, included as a baseline": 5,
    },
    "depmap": {
        tag.format(way=way): tier for tag, tier in _DEPMAP_TAGS.items() for way in ("out", "down")
    },
    "gwas": {
        "the target SNP, associated with the target trait": 1,
        "a different SNP in the target gene, associated with the target trait": 1,
        "a different SNP in the target gene, associated with a related trait": 2,
        "the target SNP, associated with a related trait (same EFO parent)": 3,
        "the target SNP, associated with a trait in a different EFO parent": 4,
        "a SNP in a neighbouring or pathway gene, associated with the target trait": 5,
        "an unrelated SNP and trait (different gene, different EFO parent)": 6,
    },
}


def tier_of_tag(domain: str, tag: str) -> int | None:
    """Return the tier of a relevance tag by its wording; None for a wording that is not known.

    Args:
        domain: as bed calls it.
        tag: as released.
    """
    return _TAGS[domain].get(" ".join(tag.split()))
