import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bed.errors import DataError
from bed.prompts import mean_of_draws, parse_choice, parse_probability

FUNCTIONS: dict[str, Any] = {
    "parse_probability": parse_probability,
    "parse_choice": lambda text, n_candidates: parse_choice(text, n_candidates),
    "mean_of_draws": mean_of_draws,
}


def test_golden_cases(shared_data: Path) -> None:
    cases = json.loads((shared_data / "golden/parsing.json").read_text())["cases"]
    assert len(cases) > 30
    for case in cases:
        function, expect = FUNCTIONS[case["fn"]], case["expect"]
        if expect.get("raises"):
            with pytest.raises(DataError, match=expect["message_any"]):
                function(**case["inputs"])
            continue
        found, value = function(**case["inputs"]), expect["value"]
        if isinstance(value, dict):
            assert {name: getattr(found, name) for name in value} == pytest.approx(value)
        else:
            assert found == (None if value is None else pytest.approx(value)), case["id"]


@pytest.mark.parametrize(
    ("text", "p"),
    [
        ("< probability >\n0.4\t</ PROBABILITY >", 0.4),
        ("<probability>1e-3</probability>", 0.001),
        ("<probability>1E-3</probability>", 0.001),
        ("<probability>0.2</probability><probability>0.XX</probability>", 0.2),
        ("<probability>0.2</probability><probability>30%</probability>", 0.2),
        ("<probability>0.2</probability><probability>-0.1</probability>", None),
        ("<probability>0.2</probability><probability>1e999</probability>", None),
        ("<probability>0.3<probability>0.4</probability>", 0.4),
        ("<probability>nan</probability>", None),
        ("<probability>1_0</probability>", None),
        ("<probability>\u0660.5</probability>", None),
        ("<prob\u0131ability>0.5</probability>", None),
        ("<probability>0.5</choice>", None),
        ("<probability>0.5</probability>< THINK >no, <probability>0.9</probability>", 0.5),
        ("<probability>0.5</probability></ Think > so", None),
        ("a</think><probability>0.1</probability><think>b</think> nothing", None),
        ("<think>a</think><probability>0.1</probability><think>b", 0.1),
    ],
)
def test_probability(text: str, p: float | None) -> None:
    assert parse_probability(text) == p


@pytest.mark.parametrize(
    ("text", "num", "choice"),
    [
        ("<choice> 07 </choice>", 8, 7),
        ("<choice>8</choice>", 8, None),
        ("<choice>[2]</choice>", 8, None),
        ("<choice>2</choice><choice>i</choice>", 8, 2),
        ("<choice>" + "9" * 10_000 + "</choice>", 8, None),
        ("<choice>" + "0" * 10_000 + "3</choice>", 8, 3),
    ],
)
def test_choice(text: str, num: int, choice: int | None) -> None:
    assert parse_choice(text, num) == choice


def test_no_candidates_is_an_error() -> None:
    with pytest.raises(DataError, match=r"no candidates .* at least one"):
        parse_choice("<choice>0</choice>", 0)


def test_unreadable_draws_are_counted_and_left_out() -> None:
    found = mean_of_draws(
        ["<probability>0.2</probability>", "none", "<probability>.4</probability>"]
    )
    assert found.p == pytest.approx(0.3)
    assert (found.n_parsed, found.n_failed) == (2, 1)
    for texts in ([], ["0.4"]):
        with pytest.raises(DataError, match="no readable draw"):
            mean_of_draws(texts)


@given(st.floats(0, 1), st.text(), st.text())
def test_a_stated_probability_is_read_from_any_text(p: float, before: str, after: str) -> None:
    tag = f"<probability>{p!r}</probability>"
    assert parse_probability(f"{before}</think>{tag}{after.replace('<', '')}") == p


@pytest.mark.parametrize(
    "unit",
    [
        "<probability>",
        "<probability>0.5",
        "<probability>" + " " * 1000,
        "<",
        "< ",
        "</think>",
        "<think>",
        "<choice>1",
        "1",
        " ",
    ],
)
def test_reading_takes_time_linear_in_the_text(unit: str) -> None:
    text = "<probability>" + unit * (2_000_000 // len(unit))
    started = time.perf_counter()
    assert parse_probability(text) is None
    assert parse_choice(text.replace("probability", "choice"), 3) is None
    assert time.perf_counter() - started < 5
