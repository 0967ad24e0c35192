"""Test sets as the paper's appendix A.6 builds them: which episodes, how much evidence each.

Episodes are ordered by the SHA-256 of their ids. In that order, blocks of 15 get context lengths
k = 2, 3, ..., 16; those left over get the largest lengths, ascending. This is the primary set. The
first episodes in the same order are also asked at every k from 0 to 16: the sensitivity set.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bed.atomic import written_whole
from bed.episodes.files import EpisodeFile
from bed.errors import DataError
from bed.evidence import Episode
from bed.prompts import belief_prompt

__all__ = [
    "FORMAT",
    "TestSet",
    "TestSetRow",
    "TestSetTable",
    "allocate_context_lengths",
    "build_testset",
    "context_length_counts",
    "order_by_sha256",
    "question_rows",
    "write_testset",
]

FORMAT = "bed-testset/1"
CONTEXT_LENGTHS = range(2, 17)
SENSITIVITY_LENGTHS = range(17)
_USUAL_SENSITIVITY = 300
_SCHEMA = pa.schema(
    [
        ("config", pa.string()),
        ("episode", pa.string()),
        ("domain", pa.string()),
        ("k", pa.int8()),
        ("label", pa.int8()),
        ("system", pa.string()),
        ("user", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class TestSet:
    """Which episodes are asked about, and at which context lengths.

    Attributes:
        primary: (episode id, k) in hash order.
        sensitivity_ids: of the episodes asked at every length.
        num_primary_rows: one an episode.
        num_sensitivity_rows: 17 an episode.
    """

    primary: tuple[tuple[str, int], ...]
    sensitivity_ids: tuple[str, ...]
    num_primary_rows: int
    num_sensitivity_rows: int


@dataclass(frozen=True, slots=True)
class TestSetRow:
    """One question put to a model.

    Attributes:
        config: "primary" or "sensitivity".
        episode: its id.
        domain: of its target, as bed calls it.
        k: how many stubs are shown, the first of the pool.
        label: theta, 0 or 1.
        system: the system prompt.
        user: the user prompt.
    """

    config: str
    episode: str
    domain: str
    k: int
    label: int
    system: str
    user: str


@dataclass(frozen=True, slots=True)
class TestSetTable:
    """The rows of a test set and what is to be said about them.

    Attributes:
        rows: primary rows first, by domain, in hash order.
        info: domain -> `num_primary`, `num_sensitivity`, `num_clipped` (primary rows whose pool is
            smaller than the k allotted: all of it is shown), `num_absent` (sensitivity rows that
            are left out because the pool is smaller than k), `num_released` (rows with the prompt
            that came with the file).
    """

    rows: tuple[TestSetRow, ...]
    info: Mapping[str, Mapping[str, int]]


def order_by_sha256(ids: Sequence[str]) -> list[str]:
    """Return the ids ordered by the SHA-256 of their UTF-8 bytes, as ascending hex.

    Args:
        ids: in any order.

    Raises:
        DataError: for an id that stands twice.
    """
    if twice := sorted(item for item, num in Counter(ids).items() if num > 1):
        raise DataError(f"duplicate ids {twice[:5]}: a test set holds each episode once")
    return sorted(ids, key=lambda item: hashlib.sha256(item.encode()).hexdigest())


def context_length_counts(num: int) -> dict[int, int]:
    """Return how many of `num` episodes get each context length, 2 to 16.

    Args:
        num: of episodes, 1 or more.

    Raises:
        DataError: for no episodes.
    """
    counts = Counter(_lengths(num))
    return {k: counts[k] for k in CONTEXT_LENGTHS}


def _lengths(num: int) -> list[int]:
    if num < 1:
        raise DataError(f"no episodes ({num}): a test set needs at least one")
    blocks, left_over = divmod(num, len(CONTEXT_LENGTHS))
    return [*CONTEXT_LENGTHS] * blocks + [*CONTEXT_LENGTHS][len(CONTEXT_LENGTHS) - left_over :]


def allocate_context_lengths(ids: Sequence[str]) -> dict[str, int]:
    """Return each episode's context length, in hash order.

    Args:
        ids: of the episodes, in any order.

    Raises:
        DataError: for no ids, or one that stands twice.
    """
    return dict(zip(order_by_sha256(ids), _lengths(len(ids)), strict=True))


def build_testset(ids: Sequence[str], num_sensitivity: int) -> TestSet:
    """Return the primary and the sensitivity set of one domain.

    Args:
        ids: of all test episodes, in any order.
        num_sensitivity: how many of them are asked at every length, 0 or more.

    Raises:
        DataError: for no ids, one that stands twice, or fewer of them than `num_sensitivity`.
    """
    lengths = allocate_context_lengths(ids)
    if not 0 <= num_sensitivity <= len(lengths):
        raise DataError(
            f"num_sensitivity={num_sensitivity}: too few episodes, there are {len(lengths)}; ask "
            f"for 0 to {len(lengths)}"
        )
    chosen = tuple(lengths)[:num_sensitivity]
    return TestSet(
        tuple(lengths.items()), chosen, len(lengths), len(chosen) * len(SENSITIVITY_LENGTHS)
    )


def question_rows(
    file: EpisodeFile,
    num_sensitivity: int | None = None,
) -> TestSetTable:
    """Return the test set of every domain of a file, from its test episodes.

    Args:
        file: of episodes; a prompt that came with it for an episode and k is used to the letter,
            every other one asks for a direct answer.
        num_sensitivity: how many episodes of each domain are asked at every length; 300, or all
            where there are fewer, if None.

    Raises:
        DataError: for a file without test episodes, or a domain with fewer than `num_sensitivity`.
    """
    rows: list[TestSetRow] = []
    info = {}
    for domain, part in file.by_domain().items():
        prompts = part.prompts or ({},) * len(part.episodes)
        asked = {
            episode.id: _Asked(domain, episode, released)
            for episode, released in zip(part.episodes, prompts, strict=True)
            if episode.split == "test"
        }
        if not asked:
            continue
        swept = min(_USUAL_SENSITIVITY, len(asked)) if num_sensitivity is None else num_sensitivity
        try:
            chosen = build_testset(list(asked), swept)
        except DataError as error:
            raise DataError(f"domain {domain!r}: {error}") from error
        found = [*_primary(chosen, asked), *_sensitivity(chosen, asked)]
        rows += found
        info[domain] = _account(chosen, asked, found)
    if not rows:
        raise DataError("no episodes of the split 'test' in this file; a test set needs them")
    return TestSetTable(tuple(rows), info)


@dataclass(frozen=True, slots=True)
class _Asked:
    domain: str
    episode: Episode
    released: Mapping[int, Mapping[str, str]]

    def row(self, config: str, k: int) -> TestSetRow:
        episode, prompt = self.episode, self.released.get(k)
        if prompt is None:
            made = belief_prompt(episode.target, episode.pool[:k])
            prompt = {"system": made.system, "user": made.user}
        return TestSetRow(
            config,
            episode.id,
            self.domain,
            k,
            episode.label,
            prompt["system"],
            prompt["user"],
        )


def _primary(chosen: TestSet, asked: Mapping[str, _Asked]) -> Iterator[TestSetRow]:
    for item, k in chosen.primary:
        yield asked[item].row("primary", min(k, len(asked[item].episode.pool)))


def _sensitivity(chosen: TestSet, asked: Mapping[str, _Asked]) -> Iterator[TestSetRow]:
    for item in chosen.sensitivity_ids:
        for k in SENSITIVITY_LENGTHS:
            if k <= len(asked[item].episode.pool):
                yield asked[item].row("sensitivity", k)


def _account(
    chosen: TestSet, asked: Mapping[str, _Asked], rows: Sequence[TestSetRow]
) -> dict[str, int]:
    num = Counter(row.config for row in rows)
    return {
        "num_primary": num["primary"],
        "num_sensitivity": num["sensitivity"],
        "num_clipped": sum(k > len(asked[item].episode.pool) for item, k in chosen.primary),
        "num_absent": chosen.num_sensitivity_rows - num["sensitivity"],
        "num_released": sum(row.k in asked[row.episode].released for row in rows),
    }


def write_testset(path: Path, table: TestSetTable) -> None:
    """Write the rows as parquet, whole or not at all; equal content gives equal bytes.

    Args:
        path: the file; its schema's metadata hold `table.info` under the key "bed", as JSON.
        table: what `question_rows` returned.

    Raises:
        DataError: where the file cannot be written.
    """
    block = json.dumps({"format": FORMAT, "domains": table.info}, sort_keys=True)
    columns = {name: [getattr(row, name) for row in table.rows] for name in _SCHEMA.names}
    data = pa.table(columns, schema=_SCHEMA.with_metadata({b"bed": block.encode()}))
    with written_whole(path) as beside:
        pq.write_table(data, beside, compression="zstd")
