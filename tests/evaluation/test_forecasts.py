"""Tables of forecasts: what is read from each form, and what is refused with its place."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bed.errors import DataError
from bed.evaluation.forecasts import (
    Forecasts,
    read_forecasts,
    split_models,
    write_forecasts,
)
from tests.evaluation.tables import Columns, swept

SMALL: Columns = {
    "episode": ["e1", "e2", "e3"],
    "domain": ["gwas", "gwas", "depmap"],
    "k": [0, 0, 0],
    "p": [0.25, 0.75, 0.5],
    "label": [0, 1, 1],
}


def changed(column: str, *values: Any) -> Columns:
    return {**SMALL, column: list(values)}


def same(a: Forecasts, b: Forecasts) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("model", "abstains", "domain", "episode", "unit", "k", "p", "label", "tier")
    ) and np.array_equal(a.verdict, b.verdict)


def as_parquet(path: Path, columns: Columns) -> Path:
    pd.DataFrame(columns).to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def as_csv(path: Path, columns: Columns) -> Path:
    pd.DataFrame(columns).to_csv(path.with_suffix(".csv"), index=False)
    return path.with_suffix(".csv")


def as_json_lines(path: Path, columns: Columns) -> Path:
    path = path.with_suffix(".jsonl")
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n")
    return path


FORMS = pytest.mark.parametrize(
    "written", [as_parquet, as_csv, as_json_lines], ids=["parquet", "csv", "jsonl"]
)
Written = Callable[[Path, Columns], Path]


@FORMS
def test_every_form_gives_the_same_forecasts(tmp_path: Path, written: Written) -> None:
    columns = swept()
    (expected,) = split_models(columns)
    file = read_forecasts(written(tmp_path / "f", {**columns, "note": ["x"] * len(columns["p"])}))
    assert file.unused == ("note",)
    (found,) = file.models
    assert same(found, expected)
    assert found.domains == ("a", "b")
    assert set(found.verdict.tolist()) == {"", "supporting", "refuting", "inconclusive"}
    assert found.tier[found.k == 0].tolist() == [0] * 48


def test_without_optional_columns_a_row_is_a_unit_of_one_unnamed_model(tmp_path: Path) -> None:
    (found,) = read_forecasts(as_csv(tmp_path / "f", SMALL)).models
    assert found.model == "forecasts"
    assert found.unit.tolist() == ["e1", "e2", "e3"]
    assert not found.sweeps()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    (whole,) = split_models(swept())
    partial = split_models({**swept(model="other"), "abstains": [True] * len(swept()["p"])})[0]
    # no whole sweep is left
    partial = partial.rows(partial.k > 1)
    write_forecasts(tmp_path / "f.parquet", [whole, partial])
    found = read_forecasts(tmp_path / "f.parquet").models
    assert [of.abstains for of in found] == [False, True]
    assert same(found[0], whole)
    assert same(found[1], partial)


def test_sweeps_are_in_order_of_k_whatever_the_order_of_rows() -> None:
    columns = swept(num_episodes=3, num_stubs=2)
    order = np.random.default_rng(1).permutation(len(columns["p"]))
    (mixed,) = split_models({name: [v[i] for i in order] for name, v in columns.items()})
    (plain,) = split_models(columns)
    for domain, expected in plain.sweeps().items():
        found = mixed.sweeps()[domain]
        for name in ("p", "label", "unit", "tier", "verdict"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
        assert expected.p.tolist() == np.reshape(plain.p[plain.domain == domain], (3, 3)).tolist()
        assert expected.tier.tolist() == [[1, 2]] * 3


def test_a_single_row_beside_sweeps_is_no_sweep() -> None:
    columns = swept(("a",), num_episodes=2, num_stubs=2)
    extra = ("m", "single", "a", 7, 0.5, 1, "u", None, "")
    both = {name: [*v, x] for (name, v), x in zip(columns.items(), extra, strict=True)}
    (found,) = split_models(both)
    assert found.sweeps()["a"].p.shape == (2, 3)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"episode": ["e"], "k": [0]}, "column 'domain' is missing; give episode, domain, k, p"),
        (changed("p", 0.5, 1.2, 0.5), r"row 2, column 'p': 1.2 is outside \[0, 1\]"),
        (changed("p", 0.5, -0.1, 0.5), r"row 2, column 'p': -0.1 is outside"),
        (changed("p", 0.5, 0.5, np.nan), "row 3, column 'p': nan is missing or NaN; leave failed"),
        (changed("p", 0.5, 0.5, None), "row 3, column 'p': None is missing"),
        (changed("p", 0.5, pd.NA, 0.5), "row 2, column 'p': <NA> is missing"),
        (changed("p", "0.5", " ", "1"), "row 2, column 'p': ' ' is missing"),
        (changed("p", "0.5", "nan", "1"), "row 2, column 'p': 'nan' is missing or not finite"),
        (changed("p", "0.5", "50%", "1"), "row 2, column 'p': '50%' is not a number"),
        (changed("p", "0.5", "0,5", "1"), "row 2, column 'p': '0,5' is not a number"),
        (changed("p", "0.5", "0.2_5", "1"), "row 2, column 'p': '0.2_5' is not a number"),
        (changed("p", 0.5, True, 0.5), "row 2, column 'p': True is not a number"),
        (changed("p", 0.5, [0.5], 0.5), r"row 2, column 'p': \[0.5\] is not a number"),
        (changed("p", 0.5, 10**400, 0.5), r"row 2, column 'p': 10+ is not a number"),
        (changed("label", 0, 2, 1), "row 2, column 'label': 2 is not a binary label: use 0 or 1"),
        (changed("label", 0, "yes", 1), "row 2, column 'label': 'yes' is not a number"),
        (changed("label", 0, pd.NA, 1), "row 2, column 'label': <NA> is missing"),
        (changed("k", 0, 1.5, 0), "row 2, column 'k': 1.5 is not a whole number of 0 or more"),
        (changed("k", 0, -1, 0), "row 2, column 'k': -1 is not a whole number"),
        (changed("k", 0, "x", 0), "row 2, column 'k': 'x' is not a number"),
        (changed("k", 0, False, 0), "row 2, column 'k': False is not a number"),
        (changed("k", 0, 1e300, 0), r"row 2, column 'k': 1e\+300 is not a whole number"),
        (changed("tier", 1, 0, 1), "row 2, column 'tier': 0 is not a whole number of 1 or more; 1"),
        (changed("tier", 1, 2.5, 1), "row 2, column 'tier': 2.5 is not a whole number of 1"),
        (changed("verdict", "", "likely", ""), "row 2, column 'verdict': 'likely' is unknown; use"),
        (changed("domain", "a", " ", "a"), "row 2, column 'domain': ' ' is missing; give it a"),
        (changed("domain", "a", "macro", "a"), "row 2, column 'domain': 'macro' stands for the"),
        (changed("episode", "a", None, "b"), "row 2, column 'episode': None is missing"),
        (changed("episode", "a", ["b"], "c"), r"row 2, column 'episode': \['b'\] is no text"),
        (changed("model", "a", "", "a"), "row 2, column 'model': '' is missing"),
        (changed("unit", "a", np.nan, "a"), "row 2, column 'unit': nan is missing"),
        (changed("abstains", 0, "maybe", 0), "row 2, column 'abstains': 'maybe' is not a number"),
        (
            changed("abstains", False, True, False),
            "row 2, column 'abstains': True contradicts row 1 of model 'forecasts'",
        ),
        ({name: [] for name in SMALL}, "has no rows, at least one forecast"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_value_that_cannot_be_is_named_with_row_and_column(
    columns: Columns, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        split_models(columns)


EPISODE: Columns = {
    "episode": ["e", "e", "e"],
    "domain": ["a", "a", "a"],
    "k": [0, 1, 2],
    "p": [0.5, 0.6, 0.7],
    "label": [1, 1, 1],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"k": [0, 1, 1]},
            r"row 3, column 'k': 1 is there twice for episode 'e' \(row 2\): a dupl",
        ),
        ({"label": [1, 1, 0]}, "row 3, column 'label': 0 contradicts row 1 of episode 'e': 1"),
        ({"unit": ["u", "v", "u"]}, "row 2, column 'unit': 'v' contradicts row 1 of episode 'e'"),
        (
            {"stub": ["", "s", "s"]},
            "row 3, column 'stub': 's' was shown before, in row 2: a duplicate",
        ),
        ({"k": [0, 1, 3]}, r"domain 'a', episode 'e', column k: \[0, 1, 3\], while other sweeps"),
        ({"k": [1, 2, 3]}, r"episode 'e', column k: \[1, 2, 3\]"),
        (
            {"model": ["m", "n", "n"], "label": [1, 0, 0]},
            "row 2, column 'label': 0 contradicts row 1 of episode 'e': 1",
        ),
    ],
    ids=[
        "duplicate",
        "labels",
        "units",
        "stub shown twice",
        "a gap in k",
        "k from one",
        "labels of two models",
    ],
)
def test_rows_that_contradict_each_other_are_refused(change: Columns, message: str) -> None:
    with pytest.raises(DataError, match=message):
        split_models({**EPISODE, **change})


def test_sweeps_of_unequal_length_are_refused_when_read(tmp_path: Path) -> None:
    columns = swept(("a",), num_episodes=3, num_stubs=2)
    short = {name: values[:-1] for name, values in columns.items()}
    path = as_csv(tmp_path / "f", short)
    with pytest.raises(DataError, match=r"episode 'e2', column k: \[0, 1\], while other") as error:
        read_forecasts(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("p", ["0.25", "7.5e-1", " 1 "], [0.25, 0.75, 1.0]),
        ("p", list(np.array([0.25, 0.5, 1.0], dtype=np.float32)), [0.25, 0.5, 1.0]),
        ("p", [0, 1, np.int8(1)], [0.0, 1.0, 1.0]),
        ("label", [False, True, np.True_], [0.0, 1.0, 1.0]),
        ("label", ["False", "true", "1.0"], [0.0, 1.0, 1.0]),
        ("k", [np.int64(0), 3.0, "2"], [0, 3, 2]),
        ("tier", [1, pd.NA, np.nan], [1, 0, 0]),
        ("verdict", ["Supported", None, " refuted "], ["supporting", "", "refuting"]),
        ("episode", [1, np.int64(2), " x "], ["1", "2", "x"]),
        ("unit", pd.Series([1, 2, 1], dtype="Int64").tolist(), ["1", "2", "1"]),
        ("domain", pd.Series(["b", "a", "b"], dtype="category").tolist(), ["b", "a", "b"]),
    ],
    ids=[
        "numbers as text",
        "single precision",
        "whole numbers",
        "flags",
        "flags as text",
        "whole numbers in other forms",
        "tiers that are missing",
        "verdicts in other words",
        "names that are numbers",
        "nullable integers",
        "categories",
    ],
)
def test_a_value_in_another_form_is_taken_for_what_it_is(
    column: str, values: list[Any], expected: list[Any]
) -> None:
    (found,) = split_models(changed(column, *values))
    assert getattr(found, column).tolist() == expected


@FORMS
def test_flags_are_labels_in_every_form(tmp_path: Path, written: Written) -> None:
    (found,) = read_forecasts(written(tmp_path / "f", changed("label", False, True, True))).models
    assert found.label.tolist() == [0.0, 1.0, 1.0]


def test_pandas_types_are_read_from_parquet(tmp_path: Path) -> None:
    table = pd.DataFrame(SMALL).astype({"k": "Int64", "domain": "category", "label": "boolean"})
    table["tier"] = pd.array([1, pd.NA, 3], dtype="Int64")
    table["p"] = table["p"].astype(str)
    # an index is a column like others
    table.set_index("episode").to_parquet(tmp_path / "f.parquet")
    (found,) = read_forecasts(tmp_path / "f.parquet").models
    assert found.episode.tolist() == SMALL["episode"]
    assert found.tier.tolist() == [1, 0, 3]
    assert found.p.tolist() == SMALL["p"]
    table["label"] = pd.array([True, pd.NA, False], dtype="boolean")
    table.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(DataError, match="row 2, column 'label': None is missing"):
        read_forecasts(tmp_path / "f.parquet")


def test_names_that_differ_in_case_are_two_models() -> None:
    columns = {**EPISODE, "model": ["GPT", "gpt", "gpt"], "k": [0, 0, 1]}
    assert [(of.model, of.p.size) for of in split_models(columns)] == [("GPT", 1), ("gpt", 2)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f", "x", "must end in .parquet, .csv or .jsonl"),
        ("f.xlsx", "x", "must end in .parquet, .csv or .jsonl"),
        ("f.parquet", "no parquet", "cannot be read as parquet"),
        ("f.csv", "", r"column 'episode' is missing.*\(it has none\)"),
        ("f.csv", "episode,domain,k,p,label\n", "has no rows"),
        ("f.csv", "episode;domain;k;p;label\ne;a;0;0,5;1\n", "parted by semicolons; save the"),
        ("f.csv", "episode\tdomain\tk\tp\tlabel\n", "parted by tabs; save the"),
        ("f.csv", "episode,domain,k,p,label,p\n", "column 'p' is there twice: a duplicate"),
        ("f.csv", "episode,domain,k,p,label\ne,a,0,0,5,1\n", "row 1 has 6 cells under 5 columns"),
        ("f.csv", "episode,domain,k,p,label\ne,a,0,.5,1\ne,a,0\n", "row 2 has 3 cells under 5"),
        ("f.csv", 'episode,domain,k,p,label\n"e,a,0,.5,1\n', "cannot be read as csv"),
        ("f.csv", "episode,domain,k,p,label\ne,a,0,,1\n", "row 1, column 'p': '' is missing"),
        ("f.csv", "episode,domain,k,p,label\né,a,0,.5,1\n", "cannot be read as csv: 'utf-8'"),
        ("f.jsonl", "", r"column 'episode' is missing.*\(it has none\)"),
        ("f.jsonl", '{"episode": "e"}\n{"episode": \n', "as jsonl: line 2: "),
        ("f.jsonl", '{"episode": "e"}\n\n[1]\n', "line 3 is no JSON object"),
        ("f.jsonl", '{"p": 0.1, "p": 0.9}', "line 1: column 'p' is there twice"),
        ("f.jsonl", "[" * 100_000, "line 1: "),
        (
            "f.jsonl",
            '{"episode": "e", "domain": "a", "k": 0, "p": NaN, "label": 1}',
            "row 1, column 'p': nan is missing",
        ),
        (
            "f.jsonl",
            '{"episode": "e", "domain": "a", "k": 0, "p": 0.5, "label": 1}\n'
            '{"episode": "f", "domain": "a", "k": 0, "label": 1}',
            "row 2, column 'p': None is missing",
        ),
    ],
    ids=[
        "no suffix",
        "a spreadsheet",
        "no parquet",
        "csv: empty",
        "csv: a head alone",
        "csv: semicolons",
        "csv: tabs",
        "csv: a column twice",
        "csv: a comma unquoted",
        "csv: a short row",
        "csv: an open quote",
        "csv: an empty cell",
        "csv: not UTF-8",
        "jsonl: empty",
        "jsonl: a broken line",
        "jsonl: no object",
        "jsonl: a key twice",
        "jsonl: nested without end",
        "jsonl: NaN",
        "jsonl: a key that is missing",
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_fault(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    # not UTF-8 where a letter has an accent
    path.write_text(content, encoding="latin-1")
    with pytest.raises(DataError, match=message) as error:
        read_forecasts(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"absent{suffix}"
    with pytest.raises(DataError, match=re.escape(f"{path}: cannot be read as {suffix[1:]}")):
        read_forecasts(path)


def test_a_table_of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "F.CSV"
    text = '"episode", domain ,k,p,label\r\n"e, ""one""",a,0,.5,1\r\n\r\n"two\nlines",a,0,1,0\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    (found,) = read_forecasts(path).models
    assert found.episode.tolist() == ['e, "one"', "two\nlines"]
    assert found.p.tolist() == [0.5, 1.0]


def test_a_line_of_json_may_hold_other_separators(tmp_path: Path) -> None:
    columns = changed("episode", "a\u2028b", "c\x85d", "e")
    path = as_json_lines(tmp_path / "f", columns)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (found,) = read_forecasts(path).models
    assert found.episode.tolist() == columns["episode"]
