"""Reading differential-expression tables in any of their four forms.

Long tables have a row for each gene and contrast; wide ones a row for each gene and a column for
each contrast. Either way they leave as genes x contrasts, sorted by name, so that the order in the
file never matters.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bed.episodes.building import Progress
from bed.episodes.expression.cells import numbers, require, texts, without
from bed.episodes.expression.contrasts import Contrast, contrasts_of
from bed.episodes.expression.measurements import Measurements
from bed.episodes.expression.placing import Rows, placed
from bed.episodes.expression.tables import STATISTICS, Columns, ExpressionTables
from bed.episodes.frames import read_frame
from bed.errors import DataError

__all__ = ["load"]


_MAX = sys.float_info.max
_RANGES = {
    "lfc_se": (0.0, _MAX),
    "p_value": (0.0, 1.0),
    "p_adjusted": (0.0, 1.0),
    "base_mean": (0.0, _MAX),
}
_ID_COLUMNS = {"entrez_id", "entrezid", "ensembl_id", "gene_id", "pr_gene_id", "symbol", ""}
"""Columns of a wide table that are no perturbations, in lower case."""
_DESCRIBING = ("perturbation", "context", "condition", "num_treated", "num_control")
"""What tells contrasts apart and how large they are."""


def load(
    tables: ExpressionTables, progress: Progress = lambda stage, done, total: None
) -> Measurements:
    """Read the measurements.

    Args:
        tables: the files.
        progress: told what is being read.

    Raises:
        DataError: for a malformed table; the message names the place.
    """
    progress(f"reading {tables.table.name}", 0, 0)
    left_out = (pair.partition("=")[0].strip() for pair in tables.leave_out)
    frame = read_frame(tables.table, text={*tables.columns.texts(), *left_out})
    if tables.signatures is not None:
        rows = _by_signature(tables, frame, tables.signatures)
    elif tables.fixed_context is not None:
        rows = _by_perturbation(tables, frame, tables.fixed_context)
    else:
        rows = _long(tables, frame)
    return placed(tables.table, rows, tables.perturbation_type == "knockout")


def _long(tables: ExpressionTables, frame: pd.DataFrame) -> Rows:
    path, columns = tables.table, tables.columns
    names = _statistics(path, frame, columns)
    several = {"context", "condition"}
    single = [(name, getattr(columns, name)) for name in sorted(columns.named - several)]
    require(path, frame, ("gene", columns.gene), *single)
    contrasts, contrast, frame, excluded = _described(path, frame, tables)
    statistics = {
        name: numbers(path, frame, column, *_RANGES.get(name, (-_MAX, _MAX)))
        for name, column in names.items()
    }
    gene = texts(frame, columns.gene)
    ensembl: dict[str, str] = {}
    if columns.ensembl_id in frame:
        pairs = set(zip(gene, texts(frame, columns.ensembl_id), strict=True))
        ensembl = dict(sorted(((name, told) for name, told in pairs if told), reverse=True))
    return Rows(gene, contrasts, contrast, statistics, ensembl, excluded)


def _statistics(path: Path, frame: pd.DataFrame, columns: Columns) -> dict[str, str]:
    """Return which statistics the table has, and their columns; z-scores named on purpose win."""
    called = {name: str(getattr(columns, name)) for name in STATISTICS}
    described = {"gene", "ensembl_id", *_DESCRIBING}
    if "z" in columns.named or (columns.z in frame and columns.p_adjusted not in frame):
        columns.require_used("a table of z-scores", {"z", *described})
        require(path, frame, ("z", columns.z))
        return {"z": columns.z}
    del called["z"]
    columns.require_used("a table of differential expression", {*called, *described})
    require(path, frame, *((name, called[name]) for name in ("log2_fold_change", "p_adjusted")))
    return {name: column for name, column in called.items() if column in frame}


def _described(
    path: Path, frame: pd.DataFrame, tables: ExpressionTables
) -> tuple[tuple[Contrast, ...], NDArray[np.int64], pd.DataFrame, dict[str, int]]:
    """Return the contrasts, the one of each row, the rows kept, and what was left out."""
    columns = tables.columns
    several = [("context", name) for name in columns.context]
    several += [("condition", name) for name in columns.condition]
    require(path, frame, ("perturbation", columns.perturbation), *several)
    frame, excluded = without(path, frame, tables.leave_out)
    for column in (columns.perturbation, *columns.context):
        for row in np.flatnonzero(texts(frame, column) == "")[:1]:
            raise DataError(
                f"{path.name}: row {frame.index[row] + 1}, column {column!r} is blank; every row "
                "must name its perturbation and its context"
            )
    context = texts(frame, columns.context[0])
    for column in columns.context[1:]:
        context = context + " " + texts(frame, column)
    contrasts, contrast = contrasts_of(
        texts(frame, columns.perturbation),
        context,
        {column: texts(frame, column) for column in columns.condition},
    )
    return _sized(path, frame, columns, contrasts, contrast), contrast, frame, excluded


def _sized(
    path: Path,
    frame: pd.DataFrame,
    columns: Columns,
    contrasts: tuple[Contrast, ...],
    contrast: NDArray[np.int64],
) -> tuple[Contrast, ...]:
    """Return the contrasts with the sizes of their arms where the table tells them."""
    sizes: dict[str, dict[int, int]] = {}
    for name in ("num_treated", "num_control"):
        column = getattr(columns, name)
        if column not in frame:
            continue
        found = numbers(path, frame, column, 0, whole=True)
        told = pd.DataFrame({"at": contrast, "num": found}).dropna().drop_duplicates()
        for at in told["at"][told["at"].duplicated()].head(1):
            raise DataError(
                f"{path.name}: column {column!r} has more than one value for {contrasts[at].place};"
                " tell the contrasts apart with --column condition=..."
            )
        sizes[name] = {int(at): int(num) for at, num in told.itertuples(index=False)}
    return tuple(
        Contrast(
            found.perturbation,
            found.context,
            found.condition,
            *(sizes.get(name, {}).get(i) for name in ("num_treated", "num_control")),
        )
        for i, found in enumerate(contrasts)
    )


def _by_signature(tables: ExpressionTables, frame: pd.DataFrame, path: Path) -> Rows:
    """Read genes x signatures beside the table that says what each signature is."""
    tables.columns.require_used("a wide table with signatures", {"gene", *_DESCRIBING})
    about = read_frame(path)
    ids = next(
        (name for name in map(str, about) if set(texts(about, name)) & (set(frame.columns) - {""})),
        None,
    )
    if ids is None:
        raise DataError(
            f"{path.name}: no column names the columns of {tables.table.name} "
            f"({list(frame.columns)[:4]}, ...); found {list(about.columns)[:20]}"
        )
    named = texts(about, ids)
    for twice in pd.Series(named)[pd.Series(named).duplicated()].head(1):
        raise DataError(f"{path.name}: signature {twice!r} stands twice in {ids!r}; keep one row")
    absent = ~np.isin(named, np.array(frame.columns, dtype=object))
    about = about[~absent].reset_index(drop=True)
    contrasts, contrast, about, excluded = _described(path, about, tables)
    excluded["signatures without a column of the table"] = int(absent.sum())
    return _wide(tables, frame, list(texts(about, ids)), contrasts, contrast, excluded)


_STATISTICS = {"basemean", "log2foldchange", "lfcse", "stat", "pvalue", "padj"}


def _by_perturbation(tables: ExpressionTables, frame: pd.DataFrame, context: str) -> Rows:
    """Read genes x perturbations in one context."""
    tables.columns.require_used("a wide table in one context", {"gene", "ensembl_id"})
    kept = {tables.columns.gene, tables.columns.ensembl_id}
    names = [
        name for name in map(str, frame) if name not in kept and name.lower() not in _ID_COLUMNS
    ]
    if not names:
        raise DataError(f"{tables.table.name}: no column of z-scores; found {list(frame.columns)}")
    if told := _STATISTICS & {name.lower() for name in names}:
        raise DataError(
            f"{tables.table.name}: columns {sorted(told)} are statistics of one contrast, not "
            "perturbations; --fixed-context is for a table of z-scores with a column each; name "
            "the perturbation and the context in columns of their own instead"
        )
    about, excluded = without(tables.table, pd.DataFrame({"perturbation": names}), tables.leave_out)
    names = list(about["perturbation"])
    where = np.full(len(names), context.strip(), dtype=object)
    contrasts, contrast = contrasts_of(np.array(names, dtype=object), where, {})
    return _wide(tables, frame, names, contrasts, contrast, excluded)


def _wide(
    tables: ExpressionTables,
    frame: pd.DataFrame,
    names: list[str],
    contrasts: tuple[Contrast, ...],
    contrast: NDArray[np.int64],
    excluded: Mapping[str, int],
) -> Rows:
    """Return one row for each gene and named column."""
    path, gene_column = tables.table, tables.columns.gene
    require(path, frame, ("gene", gene_column))
    gene = texts(frame, gene_column)
    values = [numbers(path, frame, name) for name in names]
    return Rows(
        np.tile(gene, len(names)),
        contrasts,
        np.repeat(contrast, len(frame)),
        {"z": np.concatenate(values)},
        {},
        excluded,
    )
