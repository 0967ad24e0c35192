"""Files to data frames, with every column as it is named in the file."""

import csv
import gzip
import hashlib
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_numeric_dtype

from bed.errors import DataError

__all__ = ["read_frame", "sha256", "shown"]

_SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}


def sha256(path: Path) -> str:
    """Return the file's SHA-256 as hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_frame(
    path: Path, *, text: Collection[str] | None = None, duplicates: bool = False
) -> pd.DataFrame:
    """Return a table with its columns exactly as named, and blanks as NaN.

    Args:
        path: .csv, .csv.gz, .tsv, .tsv.gz or .parquet; delimited files in UTF-8.
        text: the columns of a delimited file whose cells stay as they are printed, so that the ids
            001 and 1E5 do not become numbers; the first column always does, and all do if None.
        duplicates: whether a name may stand twice among the columns.

    Raises:
        DataError: for a file that is absent, without rows, of another type or unreadable.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    kind = re.search(r"\.(csv|tsv|txt|parquet|pq)(\.gz)?$", path.name.lower())
    if kind is None:
        raise DataError(f"{path.name}: unknown file type; use .csv, .csv.gz, .tsv or .parquet")
    try:
        if kind.group(1) in ("parquet", "pq"):
            frame = _read_parquet(path)
        else:
            frame = _read_delimited(path, "," if kind.group(1) == "csv" else "\t", text)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name}: is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error
    except (pa.ArrowException, pd.errors.ParserError, csv.Error) as error:
        raise DataError(f"{path.name}: cannot be read ({str(error).strip()})") from error
    except (EOFError, OSError) as error:
        raise DataError(f"{path.name}: cannot be read ({error}); is it the whole file?") from error
    if frame.empty:
        raise DataError(f"{path.name}: no rows of data, or no columns; give the whole table")
    twice = frame.columns[frame.columns.duplicated()]
    for name in () if duplicates else twice[twice != ""][:1]:
        raise DataError(f"{path.name}: column {name!r} stands twice; keep one of them")
    return frame


def shown(cell: Any) -> str:
    """Return a cell as messages show it: 0.5 and not np.float64(0.5)."""
    return repr(cell.item() if isinstance(cell, np.generic) else cell)


def _read_parquet(path: Path) -> pd.DataFrame:
    table = pq.read_table(path)
    for at, column in enumerate(table.schema):
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_nested(kind):
            raise DataError(
                f"{path.name}: column {column.name!r} holds {kind}, not single values; write it as "
                "text or leave it out"
            )
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            kind = pa.string()
        if kind != column.type:
            table = table.set_column(at, column.name, table.column(at).cast(kind))
    frame: pd.DataFrame = table.to_pandas()
    frame.columns = frame.columns.astype(str)
    if isinstance(frame.index, pd.RangeIndex):
        return frame
    names = ["" if name is None else str(name) for name in frame.index.names]
    return frame.reset_index(names=names, allow_duplicates=True)


def _read_delimited(path: Path, separator: str, text: Collection[str] | None) -> pd.DataFrame:
    """Read the header apart from the body, because pandas renames duplicate columns.

    Tab-separated tables are not quoted: a stray quote in a cell must not swallow the rows after it.
    """
    names = _header(path, separator)
    given: dict[str, Any] = {"sep": separator, "header": None, "quoting": _quoting(separator)}
    as_text = [at for at, name in enumerate(names) if not at or text is None or name in text]
    try:
        body = pd.read_csv(
            path, skiprows=1, dtype=dict.fromkeys(as_text, str), low_memory=False, **given
        )
    except pd.errors.EmptyDataError as error:
        raise DataError(
            f"{path.name}: no rows of data below the header {names[:8]}; give the whole table"
        ) from error
    if separator == "\t":
        for name in body.columns[[not is_numeric_dtype(kind) for kind in body.dtypes]]:
            body[name] = body[name].map(_unquoted)
    if body.shape[1] > 1 and (cut := _cut_short(path, separator, len(names))):
        raise DataError(
            f"{path.name}: its last row has {cut} of {len(names)} cells; is it the whole file?"
        )
    if body.shape[1] != len(names):
        raise DataError(
            f"{path.name}: {len(names)} column names but {body.shape[1]} columns of data"
        )
    named: pd.DataFrame = body.set_axis(names, axis=1)
    return named


def _header(path: Path, separator: str) -> list[str]:
    """Return the names of the columns."""
    try:
        header = pd.read_csv(
            path, nrows=1, dtype=str, sep=separator, header=None, quoting=_quoting(separator)
        )
    except pd.errors.EmptyDataError as error:
        raise DataError(f"{path.name}: is empty; give the whole table") from error
    names = [_unquoted(str(name).strip()) for name in header.fillna("").iloc[0]]
    for other, called in _SEPARATORS.items():
        if len(names) == 1 and other != separator and other in names[0]:
            raise DataError(
                f"{path.name}: its columns are separated by {called}, not by "
                f"{_SEPARATORS[separator]}; save it with {_SEPARATORS[separator]}, or name it "
                "after its form (.csv commas, .tsv tabs)"
            )
    return names


def _quoting(separator: str) -> Literal[0, 3]:
    return csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL


def _unquoted(cell: Any) -> Any:
    """Return a text without the quotes that enclose all of it."""
    is_quoted = isinstance(cell, str) and len(cell) > 1 and cell[0] == cell[-1] == '"'
    return cell[1:-1] if is_quoted else cell


def _cut_short(path: Path, separator: str, width: int) -> int:
    """Return how many cells the last row has where that is too few, else 0.

    A table that was cut off in transfer ends like that, and pandas would fill the row with blanks.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as text:
        last: list[str] = []
        for row in csv.reader(text, delimiter=separator, quoting=_quoting(separator)):
            last = row or last
    return len(last) if len(last) < width else 0
