"""A user's own episodes, from JSON Lines or CSV; and any episode file as JSON Lines.

What the two forms hold is told by `bed.episodes.imports.schema`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bed.atomic import written_whole
from bed.domains import canonical
from bed.episodes.files import EpisodeFile
from bed.episodes.imports.accounts import UNREAD, account, combined, described
from bed.episodes.imports.csv_rows import csv_records
from bed.episodes.imports.places import placed
from bed.episodes.imports.records import (
    Record,
    plain_data,
    read_record,
    require_keys,
    require_no_nan,
)
from bed.episodes.imports.schema import keys
from bed.episodes.imports.strict_json import loads
from bed.errors import DataError

__all__ = ["BUILDER", "export_jsonl", "import_plain"]

BUILDER = "plain/1"
_JSONL, _CSV = (".jsonl", ".ndjson"), (".csv",)


def import_plain(path: Path) -> EpisodeFile:
    """Import hypotheses, experiments and results from a `.jsonl`, `.ndjson` or `.csv` file.

    Args:
        path: the file, UTF-8; what it may hold is printed by `bed episodes schema`.

    Returns:
        The episodes in the order of the file. A file that `export_jsonl` wrote gives back what was
        exported, its account included.

    Raises:
        DataError: for a file that cannot be read or anything in it that is malformed; the message
            names file, line or row, field and value.
    """
    suffix = path.suffix.casefold()
    if suffix not in _JSONL + _CSV:
        raise DataError(
            f"{path}: suffix {path.suffix!r} is unknown; name the file *.jsonl or *.csv after its "
            "form"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: byte {error.start + 1} is not UTF-8; save the file as UTF-8 (from a "
            "spreadsheet: CSV UTF-8)"
        ) from error
    info, records = (
        (None, csv_records(path.name, text)) if suffix in _CSV else _jsonl_records(path, text)
    )
    if not records:
        raise DataError(f"{path}: no episodes; write one a line (JSONL) or one experiment a row")
    _require_unique(path, records)
    prompts = tuple(record.prompts for record in records)
    return EpisodeFile(
        tuple(record.episode for record in records),
        _account(path, records) if info is None else info,
        tuple(record.held_out for record in records),
        prompts if any(prompts) else (),
    )


def _jsonl_records(path: Path, text: str) -> tuple[dict[str, Any] | None, list[Record]]:
    info: dict[str, Any] | None = None
    records: list[Record] = []
    # not splitlines: a text may hold other separators, such as U+2028
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path.name} line {number}"
        with placed(place):
            data = loads(line)
        if isinstance(data, dict) and "info" in data and not records and info is None:
            require_keys(data, place, keys("account"), "info")
            if not isinstance(info := data["info"], dict):
                raise DataError(f"{place}: info {info!r} must be an object")
        else:
            if info is None:
                # only an export writes NaN, as its text
                require_no_nan(data, place)
            records.append(read_record(data, place, f"{path.stem}-{number}"))
    return info, records


def _require_unique(path: Path, records: Iterable[Record]) -> None:
    num = Counter(record.episode.id for record in records)
    if twice := sorted(item for item, times in num.items() if times > 1):
        raise DataError(f"{path}: duplicate episode ids {twice[:5]}; give each episode its own id")


def _account(path: Path, records: Sequence[Record]) -> dict[str, Any]:
    splits: dict[str, list[str]] = {}
    unread: Counter[str] = Counter()
    for record in records:
        domain = canonical(record.episode.target.domain)
        splits.setdefault(domain, []).append(record.episode.split)
        unread[domain] += record.unread_prompts
    inputs = [described("plain", path)]
    return combined(
        {
            domain: account(
                domain,
                BUILDER,
                inputs,
                found,
                [UNREAD.format(unread[domain])] if unread[domain] else (),
            )
            for domain, found in sorted(splits.items())
        }
    )


def export_jsonl(file: EpisodeFile, path: Path) -> None:
    """Write an episode file as JSON Lines that `import_plain` reads back as an equal one.

    Args:
        file: the episodes, with account, held-out outcomes and prompts.
        path: a file that ends in `.jsonl`; written whole or not at all.

    Raises:
        DataError: for another suffix, an episode without experiments, or a file that cannot be
            written.
    """
    if path.suffix.casefold() not in _JSONL:
        raise DataError(f"{path}: suffix {path.suffix!r}; an export ends in .jsonl")
    with written_whole(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as out:
        for data in _exported(file):
            out.write(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")


def _exported(file: EpisodeFile) -> Iterator[dict[str, Any]]:
    yield {"info": dict(file.info)}
    prompts = file.prompts or ({},) * len(file.episodes)
    for record in zip(file.episodes, file.held_out, prompts, strict=True):
        yield plain_data(Record(*record))
