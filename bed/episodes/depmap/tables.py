"""Reading the public DepMap tables: any of their layouts in, one checked matrix out.

A matrix comes as csv, csv.gz, tsv or parquet, with cell lines as rows (`GENE (entrez)` columns) or
as columns (`gene`, `entrez_id`, then one column per line). Either way it leaves as genes x lines,
sorted by name, so that the order in the file never matters.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bed.episodes.depmap.lines import Lines
from bed.episodes.frames import read_frame, shown
from bed.errors import DataError

__all__ = ["BINS", "Matrix", "gene_symbol", "read_matrix"]

BINS = {"strong_dependency": 2, "dependency": 1, "weak_dependency": 0}
"""Effect bin -> its number in the tables; -1 is missing."""

_ENTREZ = re.compile(r"^(\S.*?) \((?:\d+|nan|Unknown)\)$")
_LINE_ID = re.compile(r"^ACH-\d{6}$")
_LINE_COLUMNS = ("ModelID", "DepMap_ID", "depmap_id", "model_id")
_GENE_COLUMNS = ("gene", "Gene", "Hugo_Symbol", "HugoSymbol", "symbol")
_OTHER_COLUMNS = {
    "entrez_id",
    "SequencingID",
    "ModelConditionID",
    "IsDefaultEntryForModel",
    "IsDefaultEntryForMC",
    "",
}


@dataclass(frozen=True, slots=True)
class Matrix:
    """One table of numbers.

    Attributes:
        name: the file's base name, for messages.
        genes: row names, sorted.
        lines: column names after `Lines.name`, sorted.
        values: genes x lines; NaN where the file has no number.
    """

    name: str
    genes: tuple[str, ...]
    lines: tuple[str, ...]
    values: NDArray[np.float64]


def gene_symbol(name: str) -> str:
    """Return the symbol of `GENE (entrez)` or of a plain symbol."""
    found = _ENTREZ.match(name.strip())
    return found.group(1) if found else name.strip()


def read_matrix(path: Path, lines: Lines, low: float, high: float, what: str) -> Matrix:
    """Return a matrix of numbers within [low, high], as genes x lines.

    Args:
        path: the table.
        lines: how the cell lines are called.
        low: least value allowed; the bins' -1 is read as missing beforehand.
        high: greatest value allowed.
        what: the table's content and unit, for messages.

    Raises:
        DataError: for a cell that is no number or out of range, a gene or line that stands twice
            with different values, or a table without cell lines.
    """
    is_binned = what.startswith("bin")
    key, rows, columns, values = _numbers(path, BINS | {"missing": -1} if is_binned else {})
    if is_binned:
        values = np.where(values == -1, np.nan, values)
        _refuse(path, rows, columns, values, values % 1 != 0, f"{what}: -1, 0, 1 or 2")
    _refuse(path, rows, columns, values, np.isinf(values), "a finite number")
    outside = (values < low) | (values > high)
    _refuse(path, rows, columns, values, outside, f"{what}, from {low:g} to {high:g}")
    if key in _GENE_COLUMNS or _num_lines(columns, lines) > _num_lines(rows, lines):
        genes, cells = rows, columns
    elif key in _LINE_COLUMNS or _num_lines(rows, lines):
        genes, cells, values = columns, rows, values.T
    else:
        raise DataError(
            f"{path.name}: neither its rows ({rows[0]!r}, ...) nor its columns ({columns[0]!r}, "
            "...) are cell lines; expected ACH-... or CCLE names, or name them in --models"
        )
    values, symbols = _collapsed(path, "gene", genes, gene_symbol, values)
    values, names = _collapsed(path, "cell line", cells, lines.name, values.T)
    return Matrix(path.name, symbols, names, np.ascontiguousarray(values.T))


def _numbers(
    path: Path, words: Mapping[str, int]
) -> tuple[str, list[str], list[str], NDArray[np.float64]]:
    """Return the name of the id column, row names, column names and the cells between them."""
    frame = read_frame(path, text=(*_LINE_COLUMNS, *_GENE_COLUMNS), duplicates=True)
    if "IsDefaultEntryForModel" in frame:
        frame = frame[frame["IsDefaultEntryForModel"].astype(str).isin(["Yes", "True", "1"])]
    if frame.empty or frame.shape[1] < 2:
        raise DataError(f"{path.name}: no rows or no columns of data")
    named = [name for name in (*_LINE_COLUMNS, *_GENE_COLUMNS) if name in frame.columns]
    key = named[0] if named else frame.columns[0]
    at = list(frame.columns).index(key)
    ids = frame.iloc[:, at]
    blank = ids[ids.isna()]
    if len(blank) or pd.to_numeric(ids, errors="coerce").notna().all():
        row = blank.index[0] if len(blank) else ids.index[0]
        held = "a blank" if len(blank) else shown(ids.iloc[0])
        where = f"column {key!r}" if key else "the first column"
        raise DataError(
            f"{path.name}: row {row + 1}, {where} should name each row's cell line or gene, but "
            f"holds {held}"
        )
    keep = [
        i
        for i, name in enumerate(frame.columns)
        if i != at and (name not in _OTHER_COLUMNS if named else name != "entrez_id")
    ]
    rows = [str(name).strip() for name in ids]
    columns = [str(frame.columns[i]) for i in keep]
    if not columns or "" in columns:
        raise DataError(f"{path.name}: a column of data has no name")
    body = frame.iloc[:, keep]
    return key, rows, columns, _as_floats(path, rows, columns, body, words)


def _as_floats(
    path: Path, rows: list[str], columns: list[str], body: pd.DataFrame, words: Mapping[str, int]
) -> NDArray[np.float64]:
    if all(is_numeric_dtype(kind) and not is_bool_dtype(kind) for kind in body.dtypes):
        return body.to_numpy(dtype=np.float64, na_value=np.nan)
    values = np.empty(body.shape)
    for j, column in enumerate(columns):
        cells = body.iloc[:, j]
        if not is_numeric_dtype(cells):
            cells = cells.replace(dict(words))
        found = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        if is_bool_dtype(cells):
            found = np.full(len(cells), np.nan)
        for i in np.flatnonzero(np.isnan(found) & cells.notna().to_numpy())[:1]:
            raise DataError(
                f"{path.name}: row {rows[i]!r}, column {column!r} holds {shown(cells.iloc[i])}, "
                "which is not a number; mend the cell or leave it blank"
            )
        values[:, j] = found
    return values


def _refuse(
    path: Path,
    rows: list[str],
    columns: list[str],
    values: NDArray[np.float64],
    wrong: NDArray[np.bool_],
    expected: str,
) -> None:
    wrong = wrong & ~np.isnan(values)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise DataError(
            f"{path.name}: row {rows[i]!r}, column {columns[j]!r} holds {values[i, j]:g}; expected "
            f"{expected} ({int(wrong.sum())} such cells)"
        )


def _num_lines(names: list[str], lines: Lines) -> int:
    return sum(bool(_LINE_ID.match(name)) or name in lines.names for name in names)


def _collapsed(
    path: Path,
    what: str,
    labels: list[str],
    named: Callable[[str], str],
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the rows sorted by name, with identical duplicates as one."""
    rows: dict[str, int] = {}
    for i, label in enumerate(labels):
        first = rows.setdefault(named(label), i)
        if first != i and not np.array_equal(values[first], values[i], equal_nan=True):
            raise DataError(
                f"{path.name}: {what} {named(label)!r} stands twice with different values "
                f"({labels[first]!r} and {label!r}); keep one of them"
            )
    names = tuple(sorted(rows))
    return values[[rows[name] for name in names]], names
