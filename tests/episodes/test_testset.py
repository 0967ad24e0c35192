import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bed.episodes import EpisodeFile, testset
from bed.errors import DataError
from bed.evidence import Episode, Hypothesis
from bed.prompts import belief_prompt
from tests.factories import flag, plain

IDS = st.lists(st.text("abcdeéβ0123", min_size=1), min_size=1, max_size=80, unique=True)


def episode(number: int, pool_size: int = 16, split: str = "test", domain: str = "generic") -> Any:
    pool = tuple(flag(plain(i), bool((i + number) % 2)) for i in range(pool_size))
    return Episode(
        f"{domain}-{number}",
        Hypothesis(f"claim {number}", domain),
        number % 2,
        pool,
        (1,) * pool_size,
        ("",) * pool_size,
        split,
    )


@given(IDS)
def test_order_ascends_in_the_hash_whatever_the_input_order(ids: list[str]) -> None:
    ordered = testset.order_by_sha256(ids)
    hashes = [hashlib.sha256(item.encode("utf-8")).hexdigest() for item in ordered]
    assert sorted(ordered) == sorted(ids)
    assert hashes == sorted(hashes)
    assert testset.order_by_sha256(ids[::-1]) == ordered


@given(st.integers(1, 500))
def test_counts_differ_by_at_most_one_and_favour_long_contexts(num: int) -> None:
    counts = testset.context_length_counts(num)
    assert list(counts) == list(range(2, 17))
    assert sum(counts.values()) == num
    assert list(counts.values()) == sorted(counts.values())
    assert max(counts.values()) - min(counts.values()) <= 1


@given(IDS)
def test_allocation_agrees_with_the_counts(ids: list[str]) -> None:
    lengths = testset.allocate_context_lengths(ids)
    counts = testset.context_length_counts(len(ids))
    assert Counter(lengths.values()) == {k: num for k, num in counts.items() if num}
    assert list(lengths) == testset.order_by_sha256(ids)


@pytest.mark.parametrize("ids", [["a", "b", "a"], ["x"] * 3])
def test_duplicate_ids(ids: list[str]) -> None:
    for function in (testset.order_by_sha256, testset.allocate_context_lengths):
        with pytest.raises(DataError, match="duplicate ids"):
            function(ids)


@pytest.mark.parametrize("num", [0, -1])
def test_no_episodes(num: int) -> None:
    with pytest.raises(DataError, match="no episodes"):
        testset.context_length_counts(num)


@pytest.mark.parametrize("num", [-1, 3])
def test_sensitivity_set_of_impossible_size(num: int) -> None:
    with pytest.raises(DataError, match=f"num_sensitivity={num}: too few episodes, there are 2"):
        testset.build_testset(["a", "b"], num)


def golden(case: dict[str, Any]) -> Any:
    inputs = case["inputs"]
    if case["fn"] == "context_length_counts":
        return {str(k): num for k, num in testset.context_length_counts(inputs["n"]).items()}
    if case["fn"] == "build_testset":
        built = testset.build_testset(inputs["ids"], inputs["n_sensitivity"])
        return {
            "primary": [list(pair) for pair in built.primary],
            "sensitivity_ids": list(built.sensitivity_ids),
            "n_primary_rows": built.num_primary_rows,
            "n_sensitivity_rows": built.num_sensitivity_rows,
        }
    return getattr(testset, case["fn"])(inputs["ids"])


def test_golden_cases(shared_data: Path) -> None:
    cases = json.loads((shared_data / "golden" / "testset.json").read_text())["cases"]
    assert len(cases) == 16
    for case in cases:
        if case["expect"].get("raises"):
            with pytest.raises(DataError, match=f"(?i){case['expect']['message_any']}"):
                golden(case)
        else:
            assert golden(case) == case["expect"]["value"], case["id"]


@pytest.fixture
def file() -> EpisodeFile:
    return EpisodeFile(
        (
            *(episode(number) for number in range(17)),
            episode(17, pool_size=1),
            episode(18, split="train"),
            episode(19, split="validation"),
        )
    )


def test_rows_are_nested_and_of_test_episodes_only(file: EpisodeFile) -> None:
    table = testset.question_rows(file, 3)
    built = testset.build_testset([f"generic-{number}" for number in range(18)], 3)
    by_id = {item.id: item for item in file.episodes}
    primary = [row for row in table.rows if row.config == "primary"]
    assert [row.episode for row in primary] == [item for item, _ in built.primary]
    for row in table.rows:
        item = by_id[row.episode]
        prompt = belief_prompt(item.target, item.pool[: row.k])
        assert (row.system, row.user) == (prompt.system, prompt.user)
        assert (row.label, row.domain) == (item.label, "generic")
    asked = Counter(row.episode for row in table.rows if row.config == "sensitivity")
    assert set(asked) == set(built.sensitivity_ids)
    assert [row.k for row in table.rows if row.config == "sensitivity"][:17] == list(range(17))


def test_pools_shorter_than_k_are_clipped_and_counted(file: EpisodeFile) -> None:
    table = testset.question_rows(file, 18)
    short = [row.k for row in table.rows if row.episode == "generic-17"]
    assert sorted(short) == [0, 1, 1]
    assert table.info == {
        "generic": {
            "num_primary": 18,
            "num_sensitivity": 17 * 17 + 2,
            "num_clipped": 1,
            "num_absent": 15,
            "num_released": 0,
        }
    }


def test_each_domain_has_its_own_test_set() -> None:
    tahoe = [episode(number, 2, domain="tahoe") for number in range(3)]
    mixed = EpisodeFile((*(episode(number) for number in range(3)), *tahoe))
    with_prompts = replace(
        mixed, prompts=({},) * 3 + ({k: {"system": "S", "user": "U"} for k in range(3)},) * 3
    )
    table = testset.question_rows(with_prompts, 1)
    assert {name: found["num_primary"] for name, found in table.info.items()} == {
        "expression": 3,
        "generic": 3,
    }
    assert {row.domain for row in table.rows if row.episode.startswith("tahoe")} == {"expression"}
    with pytest.raises(DataError, match="domain 'expression': num_sensitivity=4: too few"):
        testset.question_rows(with_prompts, 4)


def test_released_prompts_win_where_they_exist(file: EpisodeFile) -> None:
    released = {2: {"system": "as released", "user": "to the letter"}}
    table = testset.question_rows(replace(file, prompts=(released,) * len(file.episodes)), 18)
    assert {row.k for row in table.rows if row.system == "as released"} == {2}
    assert {row.user for row in table.rows if row.k == 2} == {"to the letter"}
    assert table.info["generic"]["num_released"] == sum(row.k == 2 for row in table.rows)


def test_no_test_episodes() -> None:
    with pytest.raises(DataError, match="no episodes of the split 'test'"):
        testset.question_rows(EpisodeFile((episode(0, split="train"),)), 0)


def test_written_twice_is_the_same_to_the_byte(tmp_path: Path, file: EpisodeFile) -> None:
    for name in ("a.parquet", "b.parquet"):
        testset.write_testset(tmp_path / name, testset.question_rows(file, 3))
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    data = pq.read_table(tmp_path / "a.parquet")
    table = testset.question_rows(file, 3)
    assert data.num_rows == len(table.rows)
    first = {name: getattr(table.rows[0], name) for name in data.column_names}
    assert data.slice(0, 1).to_pylist() == [first]
    block = json.loads(data.schema.metadata[b"bed"])
    assert block == {"format": testset.FORMAT, "domains": table.info}


def test_folder_that_is_absent(tmp_path: Path, file: EpisodeFile) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        testset.write_testset(tmp_path / "no" / "t.parquet", testset.question_rows(file, 0))
