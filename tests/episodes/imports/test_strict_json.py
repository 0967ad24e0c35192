import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bed.episodes.imports.strict_json import NotJSONError, loads
from bed.errors import DataError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e300, 1e300) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_json_is_read_as_it_is(value: object, ascii_only: bool) -> None:
    assert loads(json.dumps(value, ensure_ascii=ascii_only)) == value


def test_whole_surrogate_pairs_are_one_character() -> None:
    assert loads('"\\ud83e\\uddec"') == "\N{DNA DOUBLE HELIX}"


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "[1] rendered", "a text"])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(NotJSONError, match="not whole JSON"):
        loads(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[NaN]", "bare NaN is no JSON"),
        ("-Infinity", "bare -Infinity is no JSON"),
        ('{"a": {"b": 1, "b": 2}}', r"keys \['b'\] stand twice"),
        ('"\\uD800"', "half a surrogate pair"),
        ("1" * 5_000, "a number of 5000 digits is out of the range of numbers"),
        ("1e999", "1e999 is out of the range of numbers"),
        ("-3E-971", "-3E-971 is out of the range of numbers.*; write it as text"),
        ('{"a": ' * 51 + "1" + "}" * 51, "nested too deeply: more than 50 levels"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_would_lose_something(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        loads(text)
    assert not isinstance(caught.value, NotJSONError)
