"""Rows, files and columns of a release: how they are merged, and what is refused."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bed.episodes import read_episodes, testset, write_episodes
from bed.episodes.imports import export_jsonl, import_edb, import_plain
from bed.errors import DataError
from tests.episodes.imports.conftest import Imported
from tests.episodes.imports.released import Row, at, depmap, result, write_json, write_nested


def test_rows_of_an_episode_are_merged_over_files(tmp_path: Path) -> None:
    one, other = depmap("dm-1"), depmap("dm-2", 1)
    primary = write_json(tmp_path / "primary.parquet", [at(2, one), at(3, other)])
    sensitivity = write_nested(tmp_path / "sensitivity.parquet", [at(k, one) for k in range(5)])
    file = import_edb([primary, sensitivity])
    assert [(episode.id, len(episode.pool)) for episode in file.episodes] == [
        ("dm-1", 4),
        ("dm-2", 3),
    ]
    assert [list(prompts) for prompts in file.prompts] == [[0, 1, 2, 3, 4], [3]]
    assert file.prompts[1][3] == {"system": "SYSTEM", "user": "dm-2: 3 stubs"}
    assert file.info["pool_sizes"] == {"3": 1, "4": 1}
    assert [item["file"] for item in file.info["inputs"]] == [
        "primary.parquet",
        "sensitivity.parquet",
    ]
    table = testset.question_rows(file, 1)
    assert {row.user for row in table.rows if row.episode == "dm-2" and row.k == 3} == {
        "dm-2: 3 stubs"
    }


def test_imports_survive_both_file_forms(tmp_path: Path, imported: Imported) -> None:
    file = imported(at(4, depmap()), at(2, depmap()))
    write_episodes(tmp_path / "e.parquet", file)
    assert read_episodes(tmp_path / "e.parquet").episodes == file.episodes
    assert read_episodes(tmp_path / "e.parquet").prompts == file.prompts
    export_jsonl(file, tmp_path / "e.jsonl")
    assert import_plain(tmp_path / "e.jsonl") == file


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("depmap_primary.parquet", "test"),
        ("depmap-validation.parquet", "validation"),
        ("depmap/train-00000-of-00001.parquet", "train"),
    ],
)
def test_domain_and_split_by_the_path(tmp_path: Path, name: str, split: str) -> None:
    row = {key: value for key, value in depmap().items() if key not in ("domain", "split")}
    (tmp_path / name).parent.mkdir(exist_ok=True)
    file = import_edb([write_json(tmp_path / name, [row])])
    assert (file.episodes[0].target.domain, file.episodes[0].split) == ("depmap", split)
    base = Path(name).name
    assert file.info["notes"] == [
        f"{base} has no column for the domain: taken as depmap",
        f"{base} has no column for the split: taken as {split}",
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([depmap(label=2)], r"label 2 must be 0 or 1"),
        ([depmap(label=float("nan"))], "label nan must be 0 or 1"),
        ([depmap(label=None)], "label None must be 0 or 1"),
        ([depmap(label="yes")], "label 'yes' must be 0 or 1"),
        ([depmap(domain="proteomics")], r"unknown domain 'proteomics'; known: \['depmap'"),
        ([depmap(split="dev")], "unknown split 'dev'"),
        ([depmap(episode_id="")], "episode id '' is no text"),
        ([depmap(k=3)], "k is 3, but the row has 4 stubs; mend one of them, or map"),
        ([depmap(k=-1)], "k -1 is not a number of stubs"),
        ([depmap(label=[0])], r"label \[0\] must be 0 or 1"),
        ([depmap(claim=b"\xff")], r"claim b'\\xff' is a bytes, not a text"),
        ([depmap(target=[["gene", "A"]])], r"target .* is not a set of labelled values"),
        ([depmap(stubs=b"[]")], "stubs are a bytes; expected a list"),
        ([depmap(stubs="[" * 900 + "]" * 900)], "stubs: nested too deeply: more than 50 levels"),
        ([depmap(k=1.5)], "k 1.5 is not a number of stubs"),
        ([depmap(stubs=[])], "the episode has no stub in any row, so its pool is empty"),
        ([depmap(stubs=None)], "neither stubs nor a user prompt"),
        ([depmap(stubs="[{")], r"stubs: not whole JSON .* begins '\[\{'"),
        ([depmap(stubs='[{"a": NaN}]')], "NaN is no JSON"),
        ([depmap(stubs=["[1] rendered"])], r"stub 1 is '\[1\] rendered'; expected labelled"),
        ([depmap(stubs="{}")], "stubs are a dict; expected a list"),
        ([depmap(target="[]")], "target .* is not a set of labelled values"),
        ([depmap(target={"gene": {"Gene": "A"}})], r"the target lacks \['cell_line'\]; fields"),
        (
            [result(**{"Chronos gene-effect": "n/a"})],
            "stub 1: 'Chronos gene-effect' .*'n/a' is not",
        ),
        ([result(**{"Chronos gene-effect": "nan"})], "'nan' is not a finite number"),
        ([result(**{"P(dependency)": "1_0"})], "'1_0' is not a number; write it like"),
        ([result(chronos="-0.9")], "'chronos' says -0.9, but 'chronos' is already -0.71"),
        ([result(sensitive="perhaps")], "'perhaps' is neither yes nor no"),
        ([at(2, depmap()), at(4, depmap(label=1))], "row 2 .* label 1, but .* row 1 .* says 0"),
        ([at(2, depmap()), at(4, depmap(split="train"))], "split 'train', but"),
        ([at(1, depmap()), at(4, depmap(domain="gwas"))], "domain 'gwas', but"),
        (
            [at(2, result(**{"P(dependency)": "0.5"})), at(4, depmap())],
            r"row 1 .*: its stub 1 is not stub 1 of .*row 2 .*must show the first stubs",
        ),
        (
            [
                at(2, depmap(), claim="Gene AAA1 drives LINE1."),
                at(4, depmap(), claim=None),
            ],
            "target 'Gene AAA1 drives LINE1.' or its fields, but",
        ),
        ([at(2, depmap()), at(2, depmap(), user_prompt="other")], "a second prompt .* for k = 2"),
    ],
)
def test_malformed_rows(imported: Imported, rows: list[Row], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        imported(*rows)
    assert str(caught.value).startswith("made.parquet row")


def test_kind_that_cannot_be_told(imported: Imported) -> None:
    row = depmap()
    row["stubs"][0] |= {"modality": None, "result": {"score": "-1"}}
    with pytest.raises(
        DataError, match=r"stub 1: the kind of assay '' .*cannot be told.*\[fields.depmap"
    ):
        imported(row)


def test_stub_without_a_result(imported: Imported) -> None:
    row = depmap()
    row["stubs"][2]["result"] = None
    with pytest.raises(DataError, match=r"stub 3: .* result cannot be told.* results found: \[\]"):
        imported(row)


def test_domain_that_nothing_tells(tmp_path: Path) -> None:
    row = {key: value for key, value in depmap().items() if key != "domain"}
    path = write_json(tmp_path / "made.parquet", [row])
    with pytest.raises(DataError, match="no column for the domain, and its path does not name one"):
        import_edb([path])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no files to import"):
        import_edb([])
    with pytest.raises(DataError, match="no such file"):
        import_edb([tmp_path / "a.parquet"])
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(DataError, match="not a parquet file, or a damaged one"):
        import_edb([tmp_path / "a.parquet"])
    empty = pa.Table.from_pylist([depmap()]).slice(0, 0)
    pq.write_table(empty, tmp_path / "depmap.parquet")
    with pytest.raises(DataError, match="no rows; leave the file out"):
        import_edb([tmp_path / "depmap.parquet"])


def test_user_prompt_that_cannot_be_read(tmp_path: Path) -> None:
    row = {key: value for key, value in at(4, depmap()).items() if key not in ("stubs", "target")}
    path = write_nested(tmp_path / "made.parquet", [row])
    with pytest.raises(DataError, match=r"made.parquet row 1 .*, user prompt: "):
        import_edb([path])


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    offsets, data = pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")
    odd = pa.StringArray.from_buffers(1, offsets, data)
    rows = pa.Table.from_pylist([depmap()]).append_column("claim", odd)
    pq.write_table(rows, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a.parquet: column 'claim' \(string\) cannot be read"):
        import_edb([tmp_path / "a.parquet"])


def test_columns_that_stand_twice(tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([depmap()])
    pq.write_table(rows.append_column("label", pa.array([1])), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"columns \['label'\] stand twice; keep one of each"):
        import_edb([tmp_path / "a.parquet"])
