"""Rows of the released parquet files, read through a column mapping and checked."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bed.episodes.imports.mapping import DOMAINS, ColumnMapping
from bed.episodes.imports.places import placed
from bed.episodes.imports.strict_json import loads
from bed.errors import DataError

__all__ = ["Row", "Table", "read_table"]

_SPLITS = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "test": "test",
}
_RENDERED = (
    "Where the column holds rendered text, write stubs = [] in [columns] of the mapping, and the "
    "user prompt is read instead"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: an episode with the first k stubs of its pool.

    Attributes:
        where: file and row, counting from 1.
        domain: as bed calls it.
        episode: id.
        split: "train", "validation" or "test".
        k: number of stubs as the row states it; None where it does not.
        label: 0 or 1.
        claim: the target's sentence; None where it has no column.
        target: labelled values of the target; None where only the prompt holds them.
        stubs: labelled values of each stub; None where only the prompt holds them.
        system: system prompt, or None.
        user: user prompt, or None.
    """

    where: str
    domain: str
    episode: str
    split: str
    k: int | None
    label: int
    claim: str | None
    target: Mapping[str, Any] | None
    stubs: Sequence[Mapping[str, Any]] | None
    system: str | None
    user: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one file.

    Attributes:
        rows: in the order of the file.
        columns: role -> column that was read for it.
        unused: columns that were not read.
        assumed: what no column said, in words.
    """

    rows: tuple[Row, ...]
    columns: Mapping[str, str]
    unused: tuple[str, ...]
    assumed: tuple[str, ...]


def read_table(path: Path, mapping: ColumnMapping) -> Table:
    """Read one released file.

    A domain or a split that no column holds is taken from the words of the file's path; a split
    that the path does not name either is "test".

    Args:
        path: a parquet file.
        mapping: names of its columns.

    Raises:
        DataError: for a file that is absent or not parquet, a column that is missing, or a value
            that a column cannot hold.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; name the parquet files of the release")
    try:
        with pq.ParquetFile(path) as file:
            data = file.read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a parquet file, or a damaged one ({error})") from error
    if twice := sorted({name for name in data.column_names if data.column_names.count(name) > 1}):
        raise DataError(f"{path}: columns {twice} stand twice; keep one of each")
    columns = mapping.located(data.column_names, str(path))
    values = {role: _values(path, data, name) for role, name in columns.items()}
    implied = _implied(path, columns)
    rows = tuple(
        _row(f"{path.name} row {number}", dict(zip(values, raw, strict=True)), implied)
        for number, raw in enumerate(zip(*values.values(), strict=True), start=1)
    )
    if not rows:
        raise DataError(f"{path}: no rows; leave the file out")
    unused = tuple(name for name in data.column_names if name not in columns.values())
    assumed = tuple(
        f"{path.name} has no column for the {role}: taken as {said}"
        for role, said in implied.items()
    )
    return Table(rows, columns, unused, assumed)


def _values(path: Path, data: pa.Table, name: str) -> list[Any]:
    column = data.column(name)
    try:
        found: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise DataError(
            f"{path.name}: column {name!r} ({column.type}) cannot be read ({error}); write it as "
            "text, UTF-8"
        ) from error
    return found


def _implied(path: Path, columns: Mapping[str, str]) -> dict[str, str]:
    """Return domain and split as the path tells them, where no column does."""
    found = {}
    if "domain" not in columns:
        found["domain"] = _told(path, DOMAINS)
        if not found["domain"]:
            raise DataError(
                f"{path}: no column for the domain, and its path does not name one; map a column "
                f"to 'domain', or name the file after one of {sorted(DOMAINS)}"
            )
    if "split" not in columns:
        found["split"] = _told(path, _SPLITS) or "test"
    return found


def _told(path: Path, known: Mapping[str, str]) -> str:
    """Return what the file's name or else one of the two folders above tells, "" if nothing."""
    for part in reversed(path.parts[-3:]):
        named = {known[word] for word in re.split(r"[^a-z]+", part.casefold()) if word in known}
        if len(named) == 1:
            return named.pop()
    return ""


def _row(where: str, raw: Mapping[str, Any], implied: Mapping[str, str]) -> Row:
    episode = raw["episode"]
    if isinstance(episode, bool) or not isinstance(episode, str | int) or not str(episode).strip():
        raise DataError(f"{where}: episode id {episode!r} is no text; mend it")
    where = f"{where} (episode {episode})"
    target = _parsed(where, "target", raw.get("target"))
    claim = _text(where, "claim", raw.get("claim"))
    if isinstance(target, str):
        claim, target = claim or target, None
    if not isinstance(target, Mapping | None):
        raise DataError(f"{where}: target {target!r} is not a set of labelled values")
    return Row(
        where,
        _word(where, "domain", raw.get("domain", implied.get("domain")), DOMAINS),
        str(episode),
        _word(where, "split", raw.get("split", implied.get("split")), _SPLITS),
        _k(where, raw.get("k")),
        _label(where, raw["label"]),
        claim,
        target,
        _stubs(where, raw.get("stubs")),
        _text(where, "system prompt", raw.get("system")),
        _text(where, "user prompt", raw.get("user")),
    )


def _word(where: str, what: str, value: object, known: Mapping[str, str]) -> str:
    found = known.get(value.strip().casefold()) if isinstance(value, str) else None
    if found is None:
        raise DataError(f"{where}: unknown {what} {value!r}; known: {sorted(known)}")
    return found


def _text(where: str, what: str, value: object) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise DataError(f"{where}: {what} {value!r} is a {type(value).__name__}, not a text")
    return value


def _label(where: str, value: object) -> int:
    if not isinstance(value, int | float) or value not in (0, 1):
        raise DataError(f"{where}: label {value!r} must be 0 or 1; mend it or leave the row out")
    return int(value)


def _k(where: str, value: object) -> int | None:
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (math.isfinite(value) and value >= 0 and value == int(value))
    ):
        raise DataError(f"{where}: k {value!r} is not a number of stubs, 0 or more")
    return int(value)


def _parsed(where: str, what: str, value: object) -> Any:
    """Return nested values as they are, JSON text read, and other text as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value or None
    with placed(f"{where}: {what}"):
        return loads(value)


def _stubs(where: str, value: object) -> tuple[Mapping[str, Any], ...] | None:
    if value is None or value == "":
        return None
    items = _parsed(where, "stubs", value)
    items = [] if items is None else items
    if not isinstance(items, list):
        raise DataError(
            f"{where}: stubs are a {type(items).__name__}; expected a list. {_RENDERED}"
        )
    stubs = tuple(
        _parsed(where, f"stub {number}", item) if _is_object(item) else item
        for number, item in enumerate(items, start=1)
    )
    for number, stub in enumerate(stubs, start=1):
        if not isinstance(stub, Mapping):
            raise DataError(
                f"{where}: stub {number} is {stub!r}; expected labelled values. {_RENDERED}"
            )
    return stubs


def _is_object(item: object) -> bool:
    return isinstance(item, str) and item.lstrip().startswith("{")
