"""The released EDB-Bio files (EdisonScientific/EDB-Bio, v1.0.0) as an episode file.

The release has a primary and a sensitivity configuration for each of its domains tahoe, depmap and
gwas. A row shows the first k stubs of an episode's pool; the rows of one episode, wherever they
stand, are merged: the longest gives the pool, and every other must be its beginning. Stubs are read
from structured columns, nested or JSON, or else from the rendered prompt. Prompts that came with
the rows are kept to the letter.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from bed.domains import reading, relation
from bed.episodes.files import EpisodeFile
from bed.episodes.imports.accounts import UNREAD, account, combined, described
from bed.episodes.imports.agreement import prompt_is_read, require_claim
from bed.episodes.imports.assays import finished
from bed.episodes.imports.claims import experiment, target
from bed.episodes.imports.identity import require_not_own
from bed.episodes.imports.labels import Parts, read_parts
from bed.episodes.imports.mapping import ColumnMapping
from bed.episodes.imports.places import placed
from bed.episodes.imports.rows import Row, Table, read_table
from bed.episodes.imports.tags import CONTROL_TIERS, tier_of_tag
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub
from bed.prompts import parse_evidence

__all__ = ["BUILDER", "import_edb"]

BUILDER = "edb/1"
_UNITS = {"expression": "perturbation", "depmap": "gene", "gwas": "snp"}
"""Field of the target that the bootstrap resamples; for gwas the first mapped gene, if any."""

Prompts = dict[int, dict[str, str]]


def import_edb(paths: Sequence[Path], mapping: ColumnMapping | None = None) -> EpisodeFile:
    """Import released parquet files.

    Args:
        paths: the files, of any configurations and domains; give the primary and the sensitivity
            file of a domain together, for the latter has the larger pools.
        mapping: names of columns and fields; the defaults if None.

    Returns:
        The episodes in the order in which they first appear, with their released prompts. The
        account says what was assumed, unknown or left out.

    Raises:
        DataError: for files that cannot be read, rows that are malformed, or rows of one episode
            that contradict each other; the message names file and row.
    """
    if not paths:
        raise DataError("no files to import; name the parquet files of the release")
    mapping = mapping or ColumnMapping()
    tables = {path: read_table(path, mapping) for path in paths}
    seen_by_domain: dict[str, _Seen] = {}
    merged = [
        _merged(rows, mapping, seen_by_domain.setdefault(rows[0].domain, _Seen()))
        for rows in _by_episode(tables.values())
    ]
    shares = _shares([item for item in merged if item.row.split == "train"])
    if not shares and (shares := _shares(merged)):
        seen_by_domain["expression"].notes.add(
            "no summaries of training: all of them are judged by the median share over all"
        )
    median_share = median(shares) if shares else None
    episodes = tuple(_episode(item, median_share, seen_by_domain[item.domain]) for item in merged)
    info = combined(
        {
            domain: _info(domain, seen, tables, [e for e in episodes if e.target.domain == domain])
            for domain, seen in sorted(seen_by_domain.items())
        }
    )
    prompts = tuple(item.prompts for item in merged)
    return EpisodeFile(episodes, info, prompts=prompts if any(prompts) else ())


class _Seen:
    """What is counted on the way, for one domain."""

    def __init__(self) -> None:
        self.unused_labels: Counter[str] = Counter()
        self.unknown_tags: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()
        self.unread_prompts = 0
        self.notes: set[str] = set()


@dataclass(frozen=True, slots=True)
class _Content:
    """What one row says: the target, and the tag and parts of each stub."""

    target: Hypothesis
    stubs: tuple[tuple[str | None, Parts], ...]


@dataclass(frozen=True, slots=True)
class _Rendered:
    """What a user prompt says; nothing where it is not needed."""

    text: str | None
    target: Mapping[str, Any]
    stubs: tuple[tuple[str | None, Parts], ...]


@dataclass(frozen=True, slots=True)
class _Merged:
    """An episode's longest row, with the prompts of all its rows."""

    row: Row
    content: _Content
    prompts: Prompts

    @property
    def domain(self) -> str:
        return self.row.domain


def _by_episode(tables: Iterable[Table]) -> Iterator[list[Row]]:
    """Return the rows of each episode, in the order in which episodes first appear."""
    groups: dict[str, list[Row]] = {}
    for table in tables:
        for row in table.rows:
            group = groups.setdefault(row.episode, [])
            group.append(row)
            for name in ("domain", "label", "split"):
                if getattr(row, name) != getattr(group[0], name):
                    raise DataError(
                        f"{row.where}: {name} {getattr(row, name)!r}, but {group[0].where} says "
                        f"{getattr(group[0], name)!r}; rows of one episode must agree"
                    )
    yield from groups.values()


def _merged(rows: list[Row], mapping: ColumnMapping, seen: _Seen) -> _Merged:
    contents = [_content(row, mapping, seen) for row in rows]
    at = max(range(len(rows)), key=lambda i: len(contents[i].stubs))
    longest, content = rows[at], contents[at]
    if not content.stubs:
        raise DataError(
            f"{longest.where}: the episode has no stub in any row, so its pool is empty; import "
            "the file that shows them too, or leave the episode out"
        )
    prompts: Prompts = {}
    for row, found in zip(rows, contents, strict=True):
        if found.target != content.target:
            raise DataError(
                f"{row.where}: target {found.target.text!r} or its fields, but {longest.where} "
                f"says {content.target.text!r}; rows of one episode must agree"
            )
        for number, (one, other) in enumerate(zip(found.stubs, content.stubs, strict=False), 1):
            if one != other:
                raise DataError(
                    f"{row.where}: its stub {number} is not stub {number} of {longest.where}; a "
                    "shorter row must show the first stubs of the longest"
                )
        _keep_prompt(prompts, row, found, seen)
    return _Merged(longest, content, dict(sorted(prompts.items())))


def _keep_prompt(prompts: Prompts, row: Row, content: _Content, seen: _Seen) -> None:
    if row.user is None:
        return
    if row.system is None:
        seen.notes.add("user prompts without a system prompt are not kept")
        return
    prompt, k = {"system": row.system, "user": row.user}, len(content.stubs)
    shown = [parts.fields for _, parts in content.stubs]
    with placed(f"{row.where}, user prompt"):
        seen.unread_prompts += not prompt_is_read(row.user, content.target, shown)
    if prompts.setdefault(k, prompt) != prompt:
        raise DataError(
            f"{row.where}: a second prompt of this episode for k = {k} that differs from the "
            "first; import one wording at a time"
        )


def _content(row: Row, mapping: ColumnMapping, seen: _Seen) -> _Content:
    renames = mapping.fields.get(row.domain, {})
    said = _rendered(row) if row.stubs is None or row.target is None else _Rendered(None, {}, ())
    text, fields, stubs = row.claim or said.text, said.target, said.stubs
    if row.target is not None:
        data = dict(row.target)
        if isinstance(data.get("claim"), str):
            text = text or data["claim"] or None
            del data["claim"]
        where = f"{row.where}, target"
        fields = read_parts("target", row.domain, data, renames, where, seen.unused_labels).fields
    if row.stubs is not None:
        stubs = tuple(
            _stub(row, number, stub, renames, seen)
            for number, stub in enumerate(row.stubs, start=1)
        )
    if row.k is not None and row.k != len(stubs):
        raise DataError(
            f"{row.where}: k is {row.k}, but the row has {len(stubs)} stubs; mend one of them, or "
            "map another column to 'k'"
        )
    about = target(row.domain, fields, text, row.where)
    if text is not None:
        with placed(row.where):
            require_claim(about)
    return _Content(
        about,
        tuple(
            (tag, finished(row.domain, parts, f"{row.where}, stub {number}"))
            for number, (tag, parts) in enumerate(stubs, start=1)
        ),
    )


def _rendered(row: Row) -> _Rendered:
    """Return what the row's user prompt says."""
    if row.user is None:
        lacking = "stubs" if row.stubs is None else "target"
        raise DataError(f"{row.where}: neither {lacking} nor a user prompt; mend the row")
    with placed(f"{row.where}, user prompt"):
        parsed = parse_evidence(row.domain, row.user)
    return _Rendered(
        parsed.target_text,
        parsed.target,
        tuple(
            (item.tag, Parts(dict(item.experiment), dict(item.outcome))) for item in parsed.stubs
        ),
    )


def _stub(
    row: Row, number: int, stub: Mapping[str, Any], renames: Mapping[str, str], seen: _Seen
) -> tuple[str | None, Parts]:
    where = f"{row.where}, stub {number}"
    parts = read_parts("stub", row.domain, stub, renames, where, seen.unused_labels)
    tag = parts.fields.pop("tag", None)
    if row.domain == "depmap" and "knocked down" in (tag or ""):
        # a score alone would be taken for a knockout's
        parts.fields.setdefault("kind", "knockdown")
    return tag, parts


def _shares(merged: Iterable[_Merged]) -> list[float]:
    """Return the share of significant genes of each summary, once a perturbation and context."""
    found: dict[tuple[str, str], float] = {}
    for item in merged:
        for _, parts in item.content.stubs:
            if parts.fields["kind"] == "summary":
                at = (parts.fields["perturbation"], parts.fields["context"])
                found[at] = parts.outcome["share_significant"]
    return list(found.values())


def _episode(item: _Merged, median_share: float | None, seen: _Seen) -> Episode:
    about = item.content.target
    pool, tiers, tags = [], [], []
    with placed(item.row.where):
        for number, (tag, parts) in enumerate(item.content.stubs, start=1):
            plain = experiment(f"{item.row.episode}:{number}", about, parts, median_share)
            with placed(f"stub {number}"):
                require_not_own(about, plain)
            tier, words = _relation(about, plain, tag, seen)
            stated = {"to": about.text, "tier": tier, "tag": words}
            tested = replace(plain, fields=Fields(plain.fields, stated_relation=stated))
            pool.append(Stub(tested, Outcome(Fields(parts.outcome))))
            tiers.append(tier)
            tags.append(words)
        seen.unreadable.update(kind for stub in pool if (kind := _unread(stub)))
        return Episode(
            item.row.episode,
            about,
            item.row.label,
            tuple(pool),
            tuple(tiers),
            tuple(tags),
            item.row.split,
            _unit(about),
        )


def _unread(stub: Stub) -> str:
    """Return the kind of a stub whose outcome has no reading, "" where it has one."""
    try:
        reading(stub.experiment, stub.outcome)
    except DataError:
        return str(stub.experiment.fields["kind"])
    return ""


def _relation(
    about: Hypothesis, plain: Experiment, tag: str | None, seen: _Seen
) -> tuple[int, str]:
    """Return tier and tag: by the wording of the tag, else by the fields, else as a control."""
    if tag is not None and (tier := tier_of_tag(about.domain, tag)) is not None:
        return tier, tag
    if tag is not None:
        seen.unknown_tags[tag] += 1
    try:
        found = relation(about, plain)
    except DataError:
        return CONTROL_TIERS[about.domain], tag or "relation not known"
    return found.tier, tag or found.tag


def _unit(about: Hypothesis) -> str:
    genes = about.fields.get("genes", ())
    return str(genes[0] if genes else about.fields[_UNITS[about.domain]])


def _info(
    domain: str,
    seen: _Seen,
    tables: Mapping[Path, Table],
    episodes: Sequence[Episode],
) -> dict[str, Any]:
    used = {path: table for path, table in sorted(tables.items()) if _holds(table, domain)}
    notes = set(seen.notes).union(*(table.assumed for table in used.values()))
    if seen.unknown_tags:
        notes.add("tags of unknown wording are kept; their tiers are computed from the fields")
    if seen.unreadable:
        notes.add("some outcomes lack what a reading needs; only language models can use them")
    if seen.unread_prompts:
        notes.add(UNREAD.format(seen.unread_prompts))
    sizes = Counter(len(episode.pool) for episode in episodes)
    return account(
        domain,
        BUILDER,
        [described("edb", path, columns=dict(table.columns)) for path, table in used.items()],
        (episode.split for episode in episodes),
        notes,
        pool_sizes={str(size): num for size, num in sorted(sizes.items())},
        unused_columns=sorted({name for table in used.values() for name in table.unused}),
        unused_labels=dict(sorted(seen.unused_labels.items())),
        unknown_tags=dict(sorted(seen.unknown_tags.items())),
        unreadable=dict(sorted(seen.unreadable.items())),
        unread_prompts=seen.unread_prompts,
    )


def _holds(table: Table, domain: str) -> bool:
    return any(row.domain == domain for row in table.rows)
