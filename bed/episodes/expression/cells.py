"""Checked columns of a data frame: texts and numbers, or an error that names the cell."""

import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype

from bed.episodes.frames import shown
from bed.errors import DataError

__all__ = ["numbers", "require", "texts", "without"]


_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)\.0")
"""What a column of whole numbers with blanks is written as."""


def require(path: Path, frame: pd.DataFrame, *named: tuple[str, str]) -> None:
    """Check that columns stand in a table.

    Args:
        path: the file, for messages.
        frame: what was read from it.
        named: pairs of what a column holds and what it should be called.

    Raises:
        DataError: listing what is missing and what was found.
    """
    missing = [(name, column) for name, column in named if column not in frame.columns]
    if missing:
        listed = ", ".join(f"{column!r} ({name})" for name, column in missing)
        raise DataError(
            f"{path.name}: no column {listed}; found {list(frame.columns)[:20]}; name the columns "
            f"with --column, for example --column {missing[0][0]}=COLUMN"
        )


def texts(frame: pd.DataFrame, column: str) -> NDArray[np.object_]:
    """Return a column as texts: whole numbers without a point, "" for blanks, 001 as it is."""
    codes, values = pd.factorize(frame[column])
    plain = np.array([*(_text(value) for value in values), ""], dtype=object)
    return plain[codes]


def _text(value: Any) -> str:
    number = isinstance(value, float | np.floating)
    told = f"{value:.10g}" if number and math.isfinite(value) else str(value).strip()
    return told.removesuffix(".0") if _WHOLE.fullmatch(told) else told


def numbers(
    path: Path,
    frame: pd.DataFrame,
    column: str,
    low: float = -sys.float_info.max,
    high: float = sys.float_info.max,
    *,
    whole: bool = False,
) -> NDArray[np.float64]:
    """Return a column as numbers, NaN for blanks.

    Args:
        path: the file, for messages.
        frame: some or all of its rows, with the index that they have in the file.
        column: which column.
        low: least value allowed.
        high: greatest value allowed.
        whole: whether it counts something.

    Raises:
        DataError: naming the row (from 1) and the column of a cell that is no such number.
    """
    cells = frame[column]
    if cells.dtype == np.float32:
        # by way of the shortest text: 0.374 must not become 0.374000013
        found = cells.to_numpy().astype(np.str_).astype(np.float64)
    else:
        found = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    blank = cells.isna().to_numpy() | (texts(frame, column) == "")
    wrong = np.isnan(found) | (found < low) | (found > high) | is_bool_dtype(cells)
    if whole:
        wrong |= found != np.round(found)
    wrong &= ~blank
    for i in np.flatnonzero(wrong)[:1]:
        called = "a whole number" if whole else "a finite number"
        expected = called if high == sys.float_info.max else f"a number, {low:g} to {high:g}"
        raise DataError(
            f"{path.name}: row {frame.index[i] + 1}, column {column!r} holds "
            f"{shown(cells.iloc[i])}; expected {expected}, or a blank ({int(wrong.sum())} such "
            "cells)"
        )
    return found


def without(
    path: Path, frame: pd.DataFrame, pairs: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the rows that hold none of the `column=value` pairs, and how many each pair cost.

    Raises:
        DataError: for a column or a value that the table does not have.
    """
    lost: dict[str, int] = {}
    for pair in pairs:
        column, _, value = (part.strip() for part in pair.partition("="))
        if column not in frame.columns:
            raise DataError(
                f"--leave-out {pair}: {path.name} has no column {column!r}; found "
                f"{list(frame.columns)[:20]}"
            )
        cells = texts(frame, column)
        hit = cells == value
        if not hit.any():
            raise DataError(
                f"--leave-out {pair}: column {column!r} of {path.name} never holds {value!r}; it "
                f"holds {sorted(set(cells))[:10]}"
            )
        lost[f"rows with {column}={value}"] = int(hit.sum())
        frame = frame[~hit]
    return frame, lost
