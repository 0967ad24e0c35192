import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bed.episodes import EpisodeFile, read_episodes, write_episodes
from bed.errors import DataError
from bed.evidence import Fields, Outcome


@pytest.fixture
def path(tmp_path: Path, small_file: EpisodeFile) -> Path:
    write_episodes(tmp_path / "episodes.parquet", small_file)
    return tmp_path / "episodes.parquet"


def rewritten(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


def test_round_trip(path: Path, small_file: EpisodeFile) -> None:
    read = read_episodes(path)
    assert read.episodes == small_file.episodes
    assert read.held_out == small_file.held_out
    assert read.info == {**small_file.info, "format": "bed-episodes/1"}


def test_plain_columns_serve_any_tool(path: Path, small_file: EpisodeFile) -> None:
    table = pq.read_table(path)
    first = small_file.episodes[0]
    row = table.slice(0, 1).to_pylist()[0]
    assert (row["id"], row["unit"], row["label"]) == (first.id, first.unit, first.label)
    assert json.loads(table.schema.metadata[b"bed"])["seed"] == 3


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_one_split(path: Path, small_file: EpisodeFile, split: str) -> None:
    wanted = tuple(episode for episode in small_file.episodes if episode.split == split)
    assert wanted
    assert read_episodes(path, split).episodes == wanted


def test_by_id(path: Path, small_file: EpisodeFile) -> None:
    last = small_file.episodes[-1]
    assert read_episodes(path, ids=[last.id, "no such id"]).episodes == (last,)


def test_unknown_split(path: Path) -> None:
    with pytest.raises(DataError, match="split 'tset' is not one of"):
        read_episodes(path, "tset")


def test_non_finite_outcomes_survive(tmp_path: Path, small_file: EpisodeFile) -> None:
    odd = (Outcome(Fields(chronos=float("nan"))),)
    write_episodes(tmp_path / "e.parquet", EpisodeFile(small_file.episodes[:1], {}, odd))
    assert read_episodes(tmp_path / "e.parquet").held_out == odd


def test_held_out_may_be_absent(tmp_path: Path, small_file: EpisodeFile) -> None:
    write_episodes(tmp_path / "e.parquet", EpisodeFile(small_file.episodes[:2]))
    assert read_episodes(tmp_path / "e.parquet").held_out == (None, None)


def test_held_out_of_another_length(small_file: EpisodeFile) -> None:
    with pytest.raises(DataError, match="1 held-out outcomes for 2 episodes"):
        EpisodeFile(small_file.episodes[:2], {}, small_file.held_out[:1])


def test_duplicate_ids(tmp_path: Path, small_file: EpisodeFile) -> None:
    first = small_file.episodes[0]
    with pytest.raises(DataError, match=f"{first.id}' stands twice"):
        write_episodes(tmp_path / "e.parquet", EpisodeFile((first, first)))


def test_duplicate_ids_in_a_file(path: Path) -> None:
    table = pq.read_table(path)
    rewritten(path, pa.concat_tables([table, table.slice(0, 1)]))
    with pytest.raises(DataError, match="stands twice"):
        read_episodes(path)


def test_a_failed_write_leaves_the_old_file(path: Path, small_file: EpisodeFile) -> None:
    before = path.read_bytes()
    first = small_file.episodes[0]
    with pytest.raises(DataError):
        write_episodes(path, EpisodeFile((first, first)))
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_no_such_folder(tmp_path: Path, small_file: EpisodeFile) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write_episodes(tmp_path / "absent" / "e.parquet", small_file)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file; build one"):
        read_episodes(tmp_path / "e.parquet")


def test_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "e.parquet").write_text("id,label\n")
    with pytest.raises(DataError, match="not a parquet file"):
        read_episodes(tmp_path / "e.parquet")


def test_truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match="not a parquet file, or a damaged one"):
        read_episodes(path)


def test_parquet_of_another_kind(tmp_path: Path) -> None:
    rewritten(tmp_path / "e.parquet", pa.table({"id": ["a"]}))
    with pytest.raises(DataError, match="not an episode file"):
        read_episodes(tmp_path / "e.parquet")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (b"{", "not an episode file"),
        (b"[]", "not an episode file"),
        (b'{"format": "bed-episodes/9"}', "format 'bed-episodes/9', but"),
    ],
)
def test_metadata_of_another_kind(path: Path, block: bytes, message: str) -> None:
    rewritten(path, pq.read_table(path).replace_schema_metadata({b"bed": block}))
    with pytest.raises(DataError, match=message):
        read_episodes(path)


def test_missing_column(path: Path) -> None:
    rewritten(path, pq.read_table(path).drop_columns(["unit"]))
    with pytest.raises(DataError, match=r"lacks the columns \['unit'\]"):
        read_episodes(path)


@pytest.mark.parametrize("text", ["{", "[]", '{"id": "a"}', None])
def test_damaged_row_is_named(path: Path, text: str | None) -> None:
    table = pq.read_table(path)
    texts = table["episode"].to_pylist()
    texts[4] = text
    at = table.column_names.index("episode")
    rewritten(path, table.set_column(at, "episode", pa.array(texts, pa.string())))
    with pytest.raises(DataError, match=r"row 5 \('depmap:.*'\) is damaged"):
        read_episodes(path)


def test_columns_must_agree_with_the_episode(path: Path) -> None:
    table = pq.read_table(path)
    labels = [1 - label for label in table["label"].to_pylist()]
    at = table.column_names.index("label")
    rewritten(path, table.set_column(at, "label", pa.array(labels, pa.int8())))
    with pytest.raises(DataError, match=r"row 1 .* column 'label' says"):
        read_episodes(path)


def test_order_of_info_keys_does_not_matter(tmp_path: Path, small_file: EpisodeFile) -> None:
    backwards = replace(small_file, info=dict(reversed(list(small_file.info.items()))))
    for name, file in (("a", small_file), ("b", backwards)):
        write_episodes(tmp_path / name, file)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
