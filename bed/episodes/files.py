"""The episode file: parquet, one row an episode, with a JSON block on how it was built.

Columns: `id`, `domain`, `split`, `unit`, `label` for reading with any tool, `episode` (the whole
episode as JSON), `held_out` (the outcome that gives the label, as JSON, for the audit alone) and,
in files that carry released prompts, `prompts` ({number of stubs: {"system", "user"}} as JSON).
The key "bed" of the schema's metadata holds `format`, `domain`, `seed` and the builder's account;
a file of several domains holds one account for each in `parts` instead.
"""

import gc
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bed.atomic import written_whole
from bed.domains import canonical
from bed.errors import DataError
from bed.evidence import Episode, Outcome, from_json, to_json

__all__ = ["FORMAT", "EpisodeFile", "read_episodes", "write_episodes"]

FORMAT = "bed-episodes/1"
_KEY = b"bed"
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("domain", pa.string()),
        ("split", pa.string()),
        ("unit", pa.string()),
        ("label", pa.int8()),
        ("episode", pa.string()),
        ("held_out", pa.string()),
    ]
)
_PROMPTS = pa.field("prompts", pa.string())
_ROWS_PER_GROUP = 512
Prompts = Mapping[int, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class EpisodeFile:
    """Episodes and how they came about.

    Attributes:
        episodes: in the order of the file.
        info: the builder's account: seed, inputs, what was left out, what fell short, notes.
        held_out: for each episode the outcome that gives its label, or None where not kept.
            For audits; nothing that forms a belief may see it.
        prompts: for each episode its released prompts, {number of stubs: {"system", "user"}}; empty
            where the file carries none.
    """

    episodes: tuple[Episode, ...]
    info: Mapping[str, Any] = field(default_factory=dict)
    held_out: tuple[Outcome | None, ...] = ()
    prompts: tuple[Prompts, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "episodes", tuple(self.episodes))
        num = len(self.episodes)
        object.__setattr__(self, "held_out", tuple(self.held_out) or (None,) * num)
        object.__setattr__(self, "prompts", tuple(self.prompts))
        for name, given in (("held-out outcomes", self.held_out), ("prompts", self.prompts)):
            if given and len(given) != num:
                raise DataError(
                    f"{len(given)} {name} for {num} episodes; give one an episode, or none"
                )

    def by_domain(self) -> dict[str, "EpisodeFile"]:
        """Return the part of each domain, sorted by name, with the account of its own build."""
        rows: dict[str, list[int]] = {}
        for row, episode in enumerate(self.episodes):
            rows.setdefault(canonical(episode.target.domain), []).append(row)
        return {
            domain: EpisodeFile(
                tuple(self.episodes[row] for row in rows[domain]),
                self.info.get("parts", {}).get(domain, {}) if "parts" in self.info else self.info,
                tuple(self.held_out[row] for row in rows[domain]),
                tuple(self.prompts[row] for row in rows[domain]) if self.prompts else (),
            )
            for domain in sorted(rows)
        }


def write_episodes(path: Path, file: EpisodeFile) -> None:
    """Write the file whole or not at all; equal content gives equal bytes.

    Raises:
        DataError: for two episodes of one id, or a folder that cannot be written to.
    """
    if twice := _twice([episode.id for episode in file.episodes]):
        raise DataError(f"episode {twice!r} stands twice; ids must be unique within a file")
    block = json.dumps({**file.info, "format": FORMAT}, sort_keys=True, ensure_ascii=False)
    columns, schema = _columns(file), _SCHEMA
    if any(file.prompts):
        columns["prompts"] = [json.dumps(found, ensure_ascii=False) for found in file.prompts]
        schema = schema.append(_PROMPTS)
    table = pa.table(columns, schema=schema.with_metadata({_KEY: block.encode()}))
    with written_whole(path) as beside:
        pq.write_table(table, beside, compression="zstd", row_group_size=_ROWS_PER_GROUP)


def _twice(ids: Sequence[str]) -> str | None:
    """Return the first id that stands twice."""
    seen: set[str] = set()
    for item in ids:
        if item in seen:
            return item
        seen.add(item)
    return None


def _columns(file: EpisodeFile) -> dict[str, list[Any]]:
    return {
        "id": [episode.id for episode in file.episodes],
        "domain": [episode.target.domain for episode in file.episodes],
        "split": [episode.split for episode in file.episodes],
        "unit": [episode.unit for episode in file.episodes],
        "label": [episode.label for episode in file.episodes],
        "episode": [to_json(episode) for episode in file.episodes],
        "held_out": [None if outcome is None else to_json(outcome) for outcome in file.held_out],
    }


def read_episodes(
    path: Path, split: str | None = None, ids: Collection[str] | None = None
) -> EpisodeFile:
    """Read an episode file, or a part of it.

    Args:
        path: what `write_episodes` wrote.
        split: "train", "validation" or "test"; all of them if None.
        ids: of the episodes wanted; those that the file lacks are passed over. All if None.

    Raises:
        DataError: for a file that is absent, not parquet or of another format, or a row that does
            not hold a valid episode; rows count from 1.
    """
    if split not in (None, "train", "validation", "test"):
        raise DataError(f"split {split!r} is not one of train, validation, test")
    table = _table(path)
    info = _info(path, table)
    rows = [
        (number, row)
        for number, row in enumerate(table.to_pylist(), start=1)
        if split in (None, row["split"]) and (ids is None or row["id"] in ids)
    ]
    with _unscanned():
        found = [_row(path, number, row) for number, row in rows]
    episodes = tuple(episode for episode, _, _ in found)
    if twice := _twice([episode.id for episode in episodes]):
        raise DataError(f"{path}: episode {twice!r} stands twice; build the file again")
    held_out = tuple(outcome for _, outcome, _ in found)
    prompts = tuple(released for _, _, released in found)
    return EpisodeFile(episodes, info, held_out, prompts if any(prompts) else ())


@contextmanager
def _unscanned() -> Iterator[None]:
    """Hold the garbage collector while a million small values that all stay alive are made."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _table(path: Path) -> pa.Table:
    if not path.is_file():
        raise DataError(f"{path}: no such file; build one with `bed episodes build`")
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a parquet file, or a damaged one ({error})") from error


def _info(path: Path, table: pa.Table) -> dict[str, Any]:
    try:
        info = json.loads((table.schema.metadata or {})[_KEY])
        found = info["format"]
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            f"{path}: not an episode file (no block 'bed' in its metadata); build one with "
            "`bed episodes build`"
        ) from error
    if found != FORMAT:
        raise DataError(f"{path}: format {found!r}, but this version of bed reads {FORMAT!r}")
    if lacking := [name for name in _SCHEMA.names if name not in table.column_names]:
        raise DataError(f"{path}: lacks the columns {lacking}; build the file again")
    return dict(info)


def _row(
    path: Path, number: int, row: Mapping[str, Any]
) -> tuple[Episode, Outcome | None, Prompts]:
    try:
        episode = from_json(Episode, row["episode"])
        outcome = None if row["held_out"] is None else from_json(Outcome, row["held_out"])
        prompts = {int(k): found for k, found in json.loads(row.get("prompts") or "{}").items()}
    except (DataError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: row {number} ({row['id']!r}) is damaged: {error}") from error
    plain = {
        "id": episode.id,
        "domain": episode.target.domain,
        "split": episode.split,
        "unit": episode.unit,
        "label": episode.label,
    }
    for name, value in plain.items():
        if row[name] != value:
            raise DataError(
                f"{path}: row {number} ({row['id']!r}) is damaged: column {name!r} says "
                f"{row[name]!r}, its episode {value!r}"
            )
    return episode, outcome, prompts
