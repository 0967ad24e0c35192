"""Genes that must not be targets, though they may be evidence.

By symbol: mitochondrial (MT-...), ribosomal (RPL, RPS, MRPL, MRPS with a number, RPLP0-2, RPSA) and
pseudogenes. A pseudogene is a clone name such as RP11-34P13.7, or a symbol that ends in P and a
number whose beginning, of four letters or more, is itself a gene of the table: HMGB1P5 beside
HMGB1, but not CHMP5 beside CHM.
By value: a mean count near zero, and genes that (nearly) do not vary over the other contrasts.
"""

import re
from collections import Counter
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from bed.episodes.expression.measurements import Measurements

__all__ = ["MIN_BASE_MEAN", "artefact", "eligible"]

MIN_BASE_MEAN = 10.0
FLAT_BELOW = 0.5
"""In units of the threshold of significance: 0.25 log2 fold change, or a z-score of 1."""
ALWAYS_FROM = 0.95

_MITOCHONDRIAL = re.compile(r"^MT-", re.IGNORECASE)
_RIBOSOMAL = re.compile(
    r"^(M?RP[LS]\d+[AXYL]{0,2}\d?|MRP[LS]\d+[A-Z]?|RPLP[012]|RPSA)(P\d+)?$", re.IGNORECASE
)
_CLONE = re.compile(r"^(RP\d+|CT[ABCD])-\w+\.\d+$", re.IGNORECASE)
_NUMBERED = re.compile(r"^(.{4,})P\d+$", re.IGNORECASE)


def artefact(gene: str, genes: Collection[str]) -> str | None:
    """Return why a gene's symbol rules it out as a target, or None.

    Args:
        gene: the symbol.
        genes: all symbols of the table, for the parents of pseudogenes.
    """
    if _MITOCHONDRIAL.match(gene):
        return "mitochondrial genes"
    if _RIBOSOMAL.match(gene):
        return "ribosomal genes"
    numbered = _NUMBERED.match(gene)
    if _CLONE.match(gene) or (numbered and numbered.group(1) in genes):
        return "pseudogenes"
    return None


def eligible(measurements: Measurements) -> tuple[NDArray[np.bool_], Counter[str]]:
    """Return which measurements may be targets, and how many were ruled out by what."""
    allowed = measurements.measured()
    excluded: Counter[str] = Counter()

    def rule_out(reason: str, wrong: NDArray[np.bool_]) -> None:
        nonlocal allowed
        excluded[f"targets: {reason}"] += int((allowed & wrong).sum())
        allowed = allowed & ~wrong

    known = frozenset(measurements.genes)
    reasons = np.array([artefact(gene, known) or "" for gene in measurements.genes])
    for reason in sorted(set(reasons) - {""}):
        rule_out(reason, (reasons == reason)[:, None])
    if "base_mean" in measurements.values:
        low = measurements.values["base_mean"] < MIN_BASE_MEAN
        rule_out(f"mean count under {MIN_BASE_MEAN:g}", low)
    for reason, wrong in _near_constant(measurements).items():
        rule_out(reason, wrong)
    return allowed, excluded


def _near_constant(measurements: Measurements) -> dict[str, NDArray[np.bool_]]:
    """Return where a gene says the same in all other contrasts.

    The target's own measurement is left out, so that the rule cannot tell its label.
    """
    measured = measurements.measured()
    moved = np.abs(np.nan_to_num(measurements.effect)) >= FLAT_BELOW
    hit = measurements.significant() != 0
    others = measured.sum(axis=1, keepdims=True) - measured
    num_moved = moved.sum(axis=1, keepdims=True) - moved
    num_hit = hit.sum(axis=1, keepdims=True) - hit
    return {
        "genes that move in no other contrast": num_moved == 0,
        "genes significant in nearly all other contrasts": (others > 1)
        & (num_hit >= ALWAYS_FROM * others),
    }
