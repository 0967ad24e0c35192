"""Episodes from the rows of a CSV file, one experiment a row."""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bed.domains import canonical
from bed.episodes.imports.labels import readers
from bed.episodes.imports.places import placed
from bed.episodes.imports.printed import Reader, count, number
from bed.episodes.imports.records import Record, read_record, require_no_nan
from bed.episodes.imports.schema import CSV_COLUMNS, CSV_PREFIXES
from bed.episodes.imports.strict_json import NotJSONError, loads
from bed.errors import DataError

__all__ = ["csv_records"]

_NEEDED = ("episode", "hypothesis", "label", "local_hypothesis")
_OF_EPISODE = ("hypothesis", "label", "split", "unit", "domain")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-][0-9]+)?")
_LIKE_A_NUMBER = re.compile(r"[+-]?[0-9][0-9._,]*([eE][+-]?[0-9]+)?")
_OPENING = '[{"'

Cells = Mapping[str, str]
Readers = Mapping[str, Reader]


def csv_records(name: str, text: str) -> list[Record]:
    """Return the episodes of a CSV file, in the order in which they first appear.

    Args:
        name: of the file, for messages.
        text: its content.

    Raises:
        DataError: for a header or a row that is malformed, or rows of one episode that contradict
            each other; rows count from 1 at the header.
    """
    groups: dict[str, list[tuple[str, Cells]]] = {}
    ids: set[str] = set()
    for place, cells in _rows(name, text):
        if "episode" not in cells:
            raise DataError(f"{place}: column 'episode' is blank; every row names its episode")
        groups.setdefault(cells["episode"], []).append((place, cells))
        ids |= {column for column, cell in cells.items() if _is_id(cell)}
    return [_record(episode, rows, ids) for episode, rows in groups.items()]


def _is_id(cell: str) -> bool:
    """Return whether a cell, such as 001 or 1E5, would lose something as a number."""
    return bool(_LIKE_A_NUMBER.fullmatch(cell)) and not _PLAIN_NUMBER.fullmatch(cell)


def _rows(name: str, text: str) -> Iterator[tuple[str, Cells]]:
    """Yield the place and the cells that are not blank of each row that is not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            if header is None:
                header = [cell.strip() for cell in row]
                _require_header(name, header)
            elif any(cell.strip() for cell in row):
                place = f"{name} line {reader.line_num}"
                if len(row) != len(header):
                    raise DataError(
                        f"{place}: {len(row)} cells under {len(header)} columns; quote texts that "
                        "hold a comma"
                    )
                found = zip(header, (cell.strip() for cell in row), strict=True)
                cells = {column: cell for column, cell in found if cell}
                for column, cell in cells.items():
                    require_no_nan(cell, f"{place}: column {column!r}")
                yield place, cells
    except csv.Error as error:
        raise DataError(f"{name} line {reader.line_num}: {error}; is a quote missing?") from error


def _require_header(name: str, header: list[str]) -> None:
    for separator, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in header[0]:
            raise DataError(f"{name}: its cells are separated by {called}; save it with commas")
    known = [*CSV_COLUMNS, *(f"{prefix}X" for prefix in CSV_PREFIXES)]
    unknown = [
        column
        for column in header
        if column not in CSV_COLUMNS
        and not any(column.startswith(p) and column != p for p in CSV_PREFIXES)
    ]
    if unknown:
        raise DataError(f"{name}: unknown columns {unknown}; known: {known}")
    if twice := sorted({column for column in header if header.count(column) > 1}):
        raise DataError(f"{name}: columns {twice} stand twice; keep one of each")
    if lacking := [column for column in _NEEDED if column not in header]:
        raise DataError(f"{name}: lacks the columns {lacking}; known: {known}")


def _record(episode: str, rows: list[tuple[str, Cells]], ids: Collection[str]) -> Record:
    place, said = rows[0][0], _agreed(rows)
    with placed(f"{place}: column 'domain'"):
        read = readers(canonical(said.get("domain", "generic")))
    data: dict[str, Any] = {
        "id": episode,
        "experiments": [_experiment(*row, ids, read) for row in rows],
    }
    claim: dict[str, Any] = {"text": said.get("hypothesis")}
    if claim["text"] is None:
        raise DataError(f"{place}: column 'hypothesis' is blank in every row of {episode!r}")
    if "domain" in said:
        claim["domain"] = said["domain"]
    claim["fields"] = _prefixed(place, said, "target.", ids, read)
    label = said.get("label")
    if label not in ("0", "1"):
        raise DataError(f"{place}: column 'label' of {episode!r} is {label!r}; write 0 or 1")
    data |= {"hypothesis": claim, "label": int(label)}
    data |= {name: said[name] for name in ("split", "unit") if name in said}
    require_no_nan(data, place)
    return read_record(data, place, episode, [where for where, _ in rows])


def _agreed(rows: list[tuple[str, Cells]]) -> dict[str, str]:
    """Return what the rows of an episode say of it; blank cells say nothing."""
    said: dict[str, str] = {}
    for place, cells in rows:
        for column, cell in cells.items():
            if column not in _OF_EPISODE and not column.startswith("target."):
                continue
            if said.setdefault(column, cell) != cell:
                raise DataError(
                    f"{place}: column {column!r} is {cell!r}, but an earlier row of this episode "
                    f"says {said[column]!r}; rows of one episode must agree, or be blank"
                )
    return said


def _experiment(place: str, cells: Cells, ids: Collection[str], read: Readers) -> dict[str, Any]:
    if "local_hypothesis" not in cells:
        raise DataError(f"{place}: column 'local_hypothesis' is blank; say what was tested")
    outcome = _prefixed(place, cells, "outcome.", ids, read)
    if "result" in cells:
        if "result" in outcome:
            raise DataError(f"{place}: columns 'result' and 'outcome.result' both speak; keep one")
        outcome["result"] = cells["result"]
    data: dict[str, Any] = {
        "hypothesis": {
            "text": cells["local_hypothesis"],
            "fields": _prefixed(place, cells, "local.", ids, read),
        },
        "fields": _prefixed(place, cells, "field.", ids, read),
        "result": outcome,
    }
    if "experiment" in cells:
        data["id"] = cells["experiment"]
    if "supported" in cells:
        data["supported"] = _FLAGS.get(cells["supported"].casefold())
        if data["supported"] is None:
            raise DataError(
                f"{place}: column 'supported' is {cells['supported']!r}; write true or false"
            )
    for column, reader in (("cost", number), ("tier", count)):
        if column in cells:
            with placed(f"{place}: column {column!r}"):
                data[column] = reader(cells[column])
    return data


def _prefixed(
    place: str, cells: Cells, prefix: str, ids: Collection[str], read: Readers
) -> dict[str, Any]:
    """Return the fields of one kind, each read as its domain has it or else as JSON or text."""
    found = {}
    for column, cell in cells.items():
        if column.startswith(prefix):
            name = column.removeprefix(prefix)
            with placed(f"{place}: column {column!r}"):
                if name in read:
                    found[name] = read[name](loads(cell) if cell[0] in _OPENING else cell)
                else:
                    found[name] = _value(cell, column in ids)
    return found


def _value(cell: str, is_id: bool) -> Any:
    """Return a cell that is JSON as its value, any other, and the number of an id, as text."""
    if is_id and _LIKE_A_NUMBER.fullmatch(cell):
        return cell
    try:
        return loads(cell)
    except NotJSONError:
        return cell
