"""Episodes from the rows of a CSV file, one experiment a row."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from bed.episodes.imports.places import placed
from bed.episodes.imports.records import Record, read_record
from bed.episodes.imports.schema import CSV_COLUMNS, CSV_PREFIXES
from bed.episodes.imports.strict_json import NotJSONError, loads
from bed.errors import DataError

__all__ = ["csv_records"]

_NEEDED = ("episode", "hypothesis", "label", "local_hypothesis")
_OF_EPISODE = ("hypothesis", "label", "split", "unit", "domain")
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

Cells = Mapping[str, str]


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
    for place, cells in _rows(name, text):
        if "episode" not in cells:
            raise DataError(f"{place}: column 'episode' is blank; every row names its episode")
        groups.setdefault(cells["episode"], []).append((place, cells))
    return [_record(episode, rows) for episode, rows in groups.items()]


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
                yield place, {column: cell for column, cell in found if cell}
    except csv.Error as error:
        raise DataError(f"{name} line {reader.line_num}: {error}; is a quote missing?") from error


def _require_header(name: str, header: list[str]) -> None:
    known = [*CSV_COLUMNS, *(f"{prefix}X" for prefix in CSV_PREFIXES)]
    unknown = [
        column
        for column in header
        if column not in CSV_COLUMNS
        and not any(column.startswith(p) and column != p for p in CSV_PREFIXES)
    ]
    if unknown:
        raise DataError(
            f"{name}: unknown columns {unknown}; known: {known}, with commas between them"
        )
    if twice := sorted({column for column in header if header.count(column) > 1}):
        raise DataError(f"{name}: columns {twice} stand twice; keep one of each")
    if lacking := [column for column in _NEEDED if column not in header]:
        raise DataError(f"{name}: lacks the columns {lacking}; known: {known}")


def _record(episode: str, rows: list[tuple[str, Cells]]) -> Record:
    place, said = rows[0][0], _agreed(rows)
    data: dict[str, Any] = {"id": episode, "experiments": [_experiment(*row) for row in rows]}
    claim: dict[str, Any] = {"text": said.get("hypothesis")}
    if claim["text"] is None:
        raise DataError(f"{place}: column 'hypothesis' is blank in every row of {episode!r}")
    if "domain" in said:
        claim["domain"] = said["domain"]
    claim["fields"] = _prefixed(place, said, "target.")
    label = said.get("label")
    if label not in ("0", "1"):
        raise DataError(f"{place}: column 'label' of {episode!r} is {label!r}; write 0 or 1")
    data |= {"hypothesis": claim, "label": int(label)}
    data |= {name: said[name] for name in ("split", "unit") if name in said}
    return read_record(data, place, episode)


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


def _experiment(place: str, cells: Cells) -> dict[str, Any]:
    if "local_hypothesis" not in cells:
        raise DataError(f"{place}: column 'local_hypothesis' is blank; say what was tested")
    outcome = _prefixed(place, cells, "outcome.")
    if "result" in cells:
        if "result" in outcome:
            raise DataError(f"{place}: columns 'result' and 'outcome.result' both speak; keep one")
        outcome["result"] = cells["result"]
    data: dict[str, Any] = {
        "hypothesis": {
            "text": cells["local_hypothesis"],
            "fields": _prefixed(place, cells, "local."),
        },
        "fields": _prefixed(place, cells, "field."),
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
    for column, kind in (("cost", float), ("tier", int)):
        if column in cells:
            try:
                data[column] = kind(cells[column])
            except ValueError as error:
                raise DataError(
                    f"{place}: column {column!r} is {cells[column]!r}, not a number"
                ) from error
    return data


def _prefixed(place: str, cells: Cells, prefix: str) -> dict[str, Any]:
    found = {}
    for column, cell in cells.items():
        if column.startswith(prefix):
            with placed(f"{place}: column {column!r}"):
                found[column.removeprefix(prefix)] = _value(cell)
    return found


def _value(cell: str) -> Any:
    """Return a cell that is JSON as its value, any other as text."""
    try:
        return loads(cell)
    except NotJSONError:
        return cell
