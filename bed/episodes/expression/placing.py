"""Measurements row by row, put in their place: one number for each gene, contrast and statistic."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bed.episodes.expression.contrasts import Contrast
from bed.episodes.expression.measurements import Measurements
from bed.episodes.frames import shown
from bed.errors import DataError

__all__ = ["Rows", "placed"]

Floats = NDArray[np.float64]

_MOST_AMBIGUOUS = 0.05
"""Share of genes that may stand twice in a contrast before the contrasts must be at fault."""


@dataclass(frozen=True, slots=True)
class Rows:
    """One row a measurement, before it is put in its place.

    Attributes:
        gene: symbols, "" where there is none.
        contrasts: sorted.
        contrast: index of each row's contrast.
        statistics: name as in outcomes -> one number a row, NaN for blanks.
        ensembl: gene -> Ensembl id, where told.
        excluded: what was left out, with counts.
    """

    gene: NDArray[np.object_]
    contrasts: tuple[Contrast, ...]
    contrast: NDArray[np.int64]
    statistics: Mapping[str, Floats]
    ensembl: Mapping[str, str]
    excluded: Mapping[str, int]


def placed(path: Path, rows: Rows, is_knockout: bool) -> Measurements:
    """Return the rows as genes x contrasts, without what cannot be used.

    Args:
        path: the table, for messages.
        rows: the measurements in any order.
        is_knockout: whether the perturbations are genes, whose own transcripts are left out.

    Raises:
        DataError: where nothing is left, an effect is missing beside its p value, or many genes
            stand twice in a contrast.
    """
    excluded = dict(rows.excluded)
    kept = np.ones(len(rows.gene), dtype=bool)

    def leave_out(reason: str, wrong: NDArray[np.bool_]) -> None:
        nonlocal kept
        excluded[reason] = int((kept & wrong).sum())
        kept = kept & ~wrong

    leave_out("measurements without a gene symbol", rows.gene == "")
    if "z" in rows.statistics:
        leave_out("measurements without a z-score", np.isnan(rows.statistics["z"]))
    else:
        filtered = np.isnan(rows.statistics["p_adjusted"])
        leave_out("measurements filtered by the authors (no adjusted p value)", filtered)
        _require_changes(path, rows, kept)
    if not kept.any():
        raise DataError(f"{path.name}: no measurement is left: {excluded}")
    statistics = {name: values[kept] for name, values in rows.statistics.items()}
    genes, gene = np.unique(rows.gene[kept].astype(str), return_inverse=True)
    contrast = rows.contrast[kept]
    unclear = _ambiguous(path, rows, genes, gene, contrast, statistics)
    excluded["genes that stand twice in a contrast"] = int(unclear.sum())
    shape = (len(genes), len(rows.contrasts))
    found: dict[str, Floats] = {}
    for name, values in statistics.items():
        found[name] = np.full(shape, np.nan)
        found[name][gene, contrast] = values
    if is_knockout:
        own = _own_transcripts(genes, rows.contrasts)
        excluded["transcripts of the knocked-out gene itself"] = _blanked(found, own)
    if "log2_fold_change" in found:
        _with_wald(found)
    usable = ~unclear
    if not usable.any():
        raise DataError(
            f"{path.name}: every gene stands twice in a contrast with different values "
            f"({shown(genes[0])}, ...); keep one row of each, or name the columns that tell the "
            "contrasts apart with --column condition=COLUMN,COLUMN"
        )
    return Measurements(
        tuple(str(name) for name in genes[usable]),
        rows.contrasts,
        {name: table[usable] for name, table in found.items()},
        rows.ensembl,
        excluded,
    )


def _require_changes(path: Path, rows: Rows, kept: NDArray[np.bool_]) -> None:
    lacking = kept & np.isnan(rows.statistics["log2_fold_change"])
    for row in np.flatnonzero(lacking)[:1]:
        raise DataError(
            f"{path.name}: gene {rows.gene[row]!r} of {rows.contrasts[rows.contrast[row]].name} "
            "has an adjusted p value but no log2 fold change; mend the row or leave both blank "
            f"({int(lacking.sum())} such rows)"
        )


def _ambiguous(
    path: Path,
    rows: Rows,
    genes: NDArray[np.str_],
    gene: NDArray[np.int64],
    contrast: NDArray[np.int64],
    statistics: Mapping[str, Floats],
) -> NDArray[np.bool_]:
    """Return which genes have two different measurements in one contrast.

    Raises:
        DataError: where that holds of many genes: contrasts were then not told apart.
    """
    seen = pd.DataFrame({"gene": gene, "contrast": contrast, **statistics}).drop_duplicates()
    twice = seen.duplicated(["gene", "contrast"], keep="first")
    unclear = np.zeros(len(genes), dtype=bool)
    unclear[seen["gene"][twice]] = True
    if unclear.sum() > max(1, _MOST_AMBIGUOUS * len(genes)):
        row = seen[twice].iloc[0]
        raise DataError(
            f"{path.name}: gene {shown(genes[int(row['gene'])])} stands twice in "
            f"{rows.contrasts[int(row['contrast'])].place} with different values, and so do "
            f"{int(unclear.sum()) - 1} more genes; name the columns that tell the contrasts apart "
            "with --column condition=COLUMN,COLUMN"
        )
    return unclear


def _own_transcripts(genes: NDArray[np.str_], contrasts: tuple[Contrast, ...]) -> NDArray[np.bool_]:
    """Return where a gene is measured under its own knock-out."""
    index = {str(name): i for i, name in enumerate(genes)}
    found = np.zeros((len(genes), len(contrasts)), dtype=bool)
    for j, contrast in enumerate(contrasts):
        found[[index[name] for name in contrast.perturbed() if name in index], j] = True
    return found


def _blanked(placed: Mapping[str, Floats], where: NDArray[np.bool_]) -> int:
    """Take measurements out, and return how many there were."""
    measured = np.logical_or.reduce([~np.isnan(table[where]) for table in placed.values()])
    for table in placed.values():
        table[where] = np.nan
    return int(measured.sum())


def _with_wald(placed: dict[str, Floats]) -> None:
    """Derive the Wald statistic from the standard error where the table does not give it."""
    if "lfc_se" not in placed:
        return
    error = np.where(placed["lfc_se"] > 0, placed["lfc_se"], np.nan)
    derived = np.round(placed["log2_fold_change"] / error, 4)
    given = placed.get("wald", np.full_like(derived, np.nan))
    placed["wald"] = np.where(np.isnan(given), derived, given)
