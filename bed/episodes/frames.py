"""Files to data frames, with every column as it is named in the file."""

import csv
import gzip
import hashlib
import re
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_numeric_dtype

from bed.errors import DataError

__all__ = ["read_frame", "sha256"]


def sha256(path: Path) -> str:
    """Return the file's SHA-256 as hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_frame(path: Path, *, as_text: bool = False) -> pd.DataFrame:
    """Return a table with its columns exactly as named, duplicates included.

    Args:
        path: .csv, .csv.gz, .tsv, .tsv.gz or .parquet.
        as_text: read every cell of a delimited file as text, blanks as "".

    Raises:
        DataError: for a file that is absent, empty, of another type or unreadable.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    kind = re.search(r"\.(csv|tsv|txt|parquet|pq)(\.gz)?$", path.name.lower())
    if kind is None:
        raise DataError(f"{path.name}: unknown file type; use .csv, .csv.gz, .tsv or .parquet")
    try:
        if kind.group(1) in ("parquet", "pq"):
            return _read_parquet(path)
        return _read_delimited(path, "," if kind.group(1) == "csv" else "\t", as_text)
    except (
        pa.ArrowException,
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
        csv.Error,
    ) as error:
        raise DataError(f"{path.name}: cannot be read ({str(error).strip()})") from error
    except (UnicodeDecodeError, EOFError, OSError) as error:
        raise DataError(f"{path.name}: cannot be read ({error}); is it the whole file?") from error


def _read_parquet(path: Path) -> pd.DataFrame:
    frame: pd.DataFrame = pq.read_table(path).to_pandas()
    frame.columns = frame.columns.astype(str)
    if isinstance(frame.index, pd.RangeIndex):
        return frame
    return frame.reset_index(names="")


def _read_delimited(path: Path, separator: str, as_text: bool) -> pd.DataFrame:
    """Read the header apart from the body, because pandas renames duplicate columns.

    Tab-separated tables are not quoted: a stray quote in a cell must not swallow the rows after it.
    """
    given: dict[str, Any] = {"sep": separator, "header": None, "quoting": _quoting(separator)}
    header = pd.read_csv(path, nrows=1, dtype=str, **given)
    names = [_unquoted(str(name).strip()) for name in header.fillna("").iloc[0]]
    if as_text:
        body = pd.read_csv(path, skiprows=1, dtype=str, keep_default_na=False, **given)
    else:
        body = pd.read_csv(path, skiprows=1, low_memory=False, **given)
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
    with opened(path, "rt", newline="") as text:
        last: list[str] = []
        for row in csv.reader(text, delimiter=separator, quoting=_quoting(separator)):
            last = row or last
    return len(last) if len(last) < width else 0
