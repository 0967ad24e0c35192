"""Which kind of assay a released stub reports, and the fields that follow from others."""

from collections.abc import Mapping
from typing import Any

from bed.domains.depmap import CLAIMS
from bed.domains.gwas import KIND
from bed.episodes.imports.labels import Parts
from bed.episodes.imports.places import placed
from bed.episodes.imports.printed import Reader, number, status
from bed.errors import DataError

__all__ = ["completed", "finished", "require_fields"]

_KINDS = {
    "expression": {
        "log2_fold_change": "differential",
        "z": "zscore",
        "share_significant": "summary",
    },
    "depmap": {
        "chronos": "knockout",
        "log2_tpm": "expression",
        "relative_copy_number": "copy_number",
        "status": "mutation",
        "sensitive": "drug",
    },
    "gwas": {"p_value": KIND},
}
"""Outcome field -> the kind of assay that reports it."""
_SPOKEN_KINDS = {"crispr": "knockout", "crispr knockout": "knockout", "rnai": "knockdown"}
_BARE_RESULTS = {
    "mutation": "status",
    "expression": "log2_tpm",
    "copy_number": "relative_copy_number",
}
"""Kind -> what a result without a label of its own is."""
_READ_BARE: dict[str, Reader] = {
    "status": status,
    "log2_tpm": number,
    "relative_copy_number": number,
}


def require_fields(
    domain: str, what: str, needed: tuple[str, ...], found: Mapping[str, Any], where: str
) -> None:
    """Raise where a target or a stub lacks a field.

    Args:
        domain: as bed calls it.
        what: "target" or "stub".
        needed: names of the fields.
        found: the fields that there are.
        where: names the place, for messages.

    Raises:
        DataError: naming what is lacking, what was found and how to map it.
    """
    if lacking := [name for name in needed if name not in found]:
        raise DataError(
            f"{where}: the {what} lacks {lacking}; fields found: {sorted(found)}. Map the file's "
            f'names in [fields.{domain}], such as "NAME IN THE FILE" = "{lacking[0]}"'
        )


def completed(domain: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a target or a stub with those that follow from others.

    Args:
        domain: as bed calls it.
        fields: as read from a row.

    Raises:
        DataError: for a position that is no place in a genome.
    """
    found = dict(fields)
    if domain == "expression":
        found = {"perturbation_type": "drug", "context_type": "cell line", **found}
        mechanism = found.get("moa_fine", "unclear")
        found.setdefault("classes", () if mechanism.casefold() == "unclear" else (mechanism,))
    if domain == "gwas" and "efo_parent" in found:
        found.setdefault("trait_groups", (found["efo_parent"],))
    if domain == "gwas" and isinstance(at := found.get("position"), str):
        chromosome, _, place = at.removeprefix("chr").rpartition(":")
        if not place.replace(",", "").isdigit():
            raise DataError(f"position {at!r} is not of the form chr19:45675403")
        found["position"] = int(place.replace(",", ""))
        if chromosome:
            found.setdefault("chromosome", chromosome)
    return found


def finished(domain: str, parts: Parts, where: str) -> Parts:
    """Return the parts of a stub with its kind of assay and whatever follows from the fields.

    Args:
        domain: as bed calls it.
        parts: as read from a row.
        where: names the place, for messages.

    Raises:
        DataError: where the kind cannot be told, or a field is lacking that it needs.
    """
    with placed(where):
        fields, outcome = completed(domain, parts.fields), dict(parts.outcome)
    if "share_significant" not in outcome and outcome.get("num_tested"):
        outcome["share_significant"] = outcome.get("num_significant", 0) / outcome["num_tested"]
    kind = _kind(domain, fields, outcome)
    known = {*CLAIMS} if domain == "depmap" else {*_KINDS[domain].values()}
    if kind not in known or not outcome:
        raise DataError(
            f"{where}: the kind of assay {kind!r} (known: {sorted(known)}) or its result cannot be "
            f"told; fields found: {sorted(fields)}, results found: {sorted(outcome)}. Map the "
            f"file's names in [fields.{domain}] of the mapping"
        )
    needed = {"expression": ("perturbation", "context"), "depmap": ("gene", "cell_line")}
    require_fields(domain, "stub", needed.get(domain, ("snp", "trait")), fields, where)
    if kind == "differential":
        require_fields(domain, "stub", ("gene",), fields, where)
    if kind == "summary":
        require_fields(domain, "stub", ("share_significant",), outcome, where)
    if kind == "drug":
        require_fields(domain, "stub", ("drug",), fields, where)
    return Parts({**fields, "kind": kind}, _named_result(kind, outcome, where))


def _kind(domain: str, fields: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    """Return the kind of assay as the fields state it, else by the result; "" for neither."""
    spoken = str(fields.get("kind", "")).casefold().replace("_", " ")
    by_result = (kind for name, kind in _KINDS[domain].items() if name in outcome)
    return _SPOKEN_KINDS.get(spoken, spoken.replace(" ", "_")) or next(by_result, "")


def _named_result(kind: str, outcome: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the outcome with a bare result under the name that its kind gives it."""
    if "result" not in outcome:
        return outcome
    name, said = _BARE_RESULTS.get(kind), outcome.pop("result")
    if name is None or name in outcome:
        raise DataError(f"{where}: result {said!r} of a {kind} has no label; map it to a field")
    with placed(f"{where}: result of a {kind}"):
        return {**outcome, name: _READ_BARE[name](said)}
