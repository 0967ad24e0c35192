"""Whatever stands in a file, an import succeeds or says what is wrong."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bed.episodes import EpisodeFile
from bed.episodes.imports import EXAMPLES, export_jsonl, import_edb, import_plain
from bed.errors import DataError
from tests.episodes.imports.released import at, depmap

JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1e308,
        10**30,
        "",
        " ",
        "NaN",
        "x",
        "0",
        [],
        [[]],
        {},
        {"text": "t"},
        {"": 1},
    ]
)
EVERY = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside nested data, from the outermost in."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    found = copy.deepcopy(value)
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    return found


def attempted(read: Callable[[], EpisodeFile]) -> EpisodeFile | str:
    """The file that was imported, or the message of the refusal."""
    try:
        return read()
    except DataError as error:
        return str(error)


def is_whole(found: EpisodeFile | str, place: str, folder: Path) -> bool:
    """Whether a refusal names the place, and an import survives the way out and back."""
    if isinstance(found, str):
        return found.startswith(place)
    export_jsonl(found, folder / "again.jsonl")
    return import_plain(folder / "again.jsonl") == found


RECORD = json.loads(EXAMPLES["jsonl"].splitlines()[0])
ROW = at(4, depmap())


@EVERY
@given(st.sampled_from(list(places(RECORD))), JUNK)
def test_json_lines_with_junk_in_one_place(tmp_path: Path, place: Any, junk: Any) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(replaced(RECORD, place, junk)))
    found = attempted(lambda: import_plain(path))
    assert is_whole(found, "mine.jsonl line 1", tmp_path), found


@EVERY
@given(
    st.integers(0, len(EXAMPLES["csv"])), st.sampled_from(['"', ",", "\n", "NaN", "\0", "\r", "{"])
)
def test_csv_with_junk_in_one_place(tmp_path: Path, place: int, junk: str) -> None:
    path = tmp_path / "mine.csv"
    text = EXAMPLES["csv"]
    path.write_text(text[:place] + junk + text[place:], newline="")
    found = attempted(lambda: import_plain(path))
    assert is_whole(found, "mine.csv", tmp_path), found


@EVERY
@given(st.sampled_from(list(places({name: ROW[name] for name in ("target", "stubs")}))), JUNK)
def test_released_rows_with_junk_in_one_place(tmp_path: Path, place: Any, junk: Any) -> None:
    row = replaced(ROW, place, junk)
    texts = {name: json.dumps(row[name]) for name in ("target", "stubs")}
    path = tmp_path / "made.parquet"
    pq.write_table(pa.Table.from_pylist([{**row, **texts}]), path)
    found = attempted(lambda: import_edb([path]))
    assert is_whole(found, "made.parquet row 1", tmp_path), found
