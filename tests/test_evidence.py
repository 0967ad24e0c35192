"""Values: strict JSON, equality, immutability, and what is refused."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from operator import setitem
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bed.errors import DataError
from bed.evidence import (
    Episode,
    Experiment,
    Fields,
    Hypothesis,
    Outcome,
    Stub,
    from_json,
    to_json,
)

H = Hypothesis("TP53 is mutated", "generic", Fields(gene="TP53"))
X = Experiment("x1", H, 2.5, True, Fields(kind="assay", levels=[1, 2]))
STUB = Stub(X, Outcome(Fields(effect=-1.5, supported=True)))
EPISODE = Episode("e1", H, 1, (STUB,), (2,), ("near",), "train", "TP53")

NON_FINITE = ("NaN", "Infinity", "-Infinity")


def strict(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not strict JSON")

    return json.loads(text, parse_constant=refuse)


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"])).filter(lambda t: t not in NON_FINITE)


def json_values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3),
        max_leaves=8,
    )


@settings(max_examples=60)
@given(st.dictionaries(texts(), json_values(), max_size=4))
def test_fields_survive_json_and_pickle(data: dict[str, Any]) -> None:
    outcome = Outcome(Fields(data))
    text = to_json(outcome)
    strict(text)
    for again in (from_json(Outcome, text), pickle.loads(pickle.dumps(outcome))):
        assert again == outcome
        assert hash(again) == hash(outcome)
        assert to_json(again) == text


@pytest.mark.parametrize(
    "value", [H, X, STUB.outcome, STUB, EPISODE], ids=lambda v: type(v).__name__
)
def test_every_value_survives_json_pickle_and_copy(value: Any) -> None:
    strict(to_json(value))
    again = from_json(type(value), to_json(value))
    for twin in (again, pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert twin == value
        assert hash(twin) == hash(value)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(-0.25), -0.25),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.array(3.0), 3.0),
        (np.array([1, 2]), (1, 2)),
        ([1, [2, "a"]], (1, (2, "a"))),
        ({"a": {"b": [None]}}, {"a": {"b": (None,)}}),
        (math.inf, math.inf),
        (-math.inf, -math.inf),
    ],
    ids=repr,
)
def test_numbers_and_lists_are_kept_as_plain_python(given: object, kept: object) -> None:
    found = Fields(v=given)["v"]
    assert found == kept
    assert type(found) is (Fields if isinstance(kept, dict) else type(kept))
    assert from_json(Outcome, to_json(Outcome(Fields(v=given)))).fields["v"] == kept


@pytest.mark.parametrize("nan", [math.nan, np.float32("nan"), np.float64("nan")], ids=repr)
def test_nan_equals_nan_in_fields(nan: float) -> None:
    assert Fields(v=nan, w=[nan]) == Fields(v=math.nan, w=[math.nan])
    assert strict(to_json(Outcome(Fields(v=nan)))) == {"fields": {"v": "NaN"}}
    assert math.isnan(from_json(Outcome, to_json(Outcome(Fields(v=nan)))).fields["v"])


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (Fields(a=1, b=2), Fields(b=2, a=1), True),
        (Fields(a=[1]), {"a": [1]}, True),
        (Fields(a=1), Fields(a=2), False),
        (Fields(a=True), Fields(a=1), False),
        (Fields(a="1"), Fields(a=1), False),
        (Fields(a=None), Fields(), False),
        (Fields(), 3, False),
        (Fields(a=1), {"a": {1, 2}}, False),
        (Fields(a=1), {1: 2}, False),
    ],
    ids=repr,
)
def test_fields_compare_by_content(a: Fields, b: object, same: bool) -> None:
    assert (a == b) is same


def test_fields_read_as_a_mapping() -> None:
    fields = Fields({"a": 1}, b=[2])
    assert dict(fields) == {"a": 1, "b": (2,)}
    assert list(fields) == ["a", "b"]
    assert repr(fields) == "Fields({'a': 1, 'b': (2,)})"
    assert {EPISODE: 1}[copy.deepcopy(EPISODE)] == 1


def test_values_cannot_be_changed() -> None:
    source: dict[str, Any] = {"a": [1, 2]}
    fields = Fields(source)
    source["a"].append(3)
    source["b"] = 1
    assert dict(fields) == {"a": (1, 2)}
    with pytest.raises(TypeError, match="item assignment"):
        setitem(fields, "a", 1)  # type: ignore[call-overload]
    for value, name in ((H, "text"), (X, "cost"), (STUB, "outcome"), (EPISODE, "label")):
        with pytest.raises(FrozenInstanceError, match="cannot assign"):
            setattr(value, name, None)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Fields(a="NaN"), "field 'a' holds the text 'NaN'"),
        (lambda: Fields(a=["-Infinity"]), "field 'a' holds the text '-Infinity'"),
        (lambda: Fields(a={"b": "Infinity"}), "field 'b' holds the text"),
        (lambda: Fields(a=object()), "'a' holds a object"),
        (lambda: Fields(a={1, 2}), "'a' holds a set"),
        (lambda: Fields(a=b"x"), "'a' holds a bytes"),
        (lambda: Fields(a=1j), "'a' holds a complex"),
        (lambda: Fields({1: "a"}), "field names must be text, got 1"),  # type: ignore[dict-item]
        (lambda: Hypothesis(" "), "Hypothesis.text must be text and not empty"),
        (lambda: Hypothesis(3), "Hypothesis.text must be text"),  # type: ignore[arg-type]
        (lambda: Hypothesis("a", ""), "Hypothesis.domain must be text"),
        (lambda: Experiment("", H), "Experiment.id must be text"),
        (lambda: Experiment("x", "h"), "must be a Hypothesis"),  # type: ignore[arg-type]
        (lambda: Experiment("x", H, 0.0), "cost 0.0 must be finite and above 0"),
        (lambda: Experiment("x", H, -1.0), "cost -1.0"),
        (lambda: Experiment("x", H, math.nan), "cost nan"),
        (lambda: Experiment("x", H, math.inf), "cost inf"),
        (lambda: Experiment("x", H, "1"), "cost '1'"),  # type: ignore[arg-type]
        (lambda: Experiment("x", H, True), "cost True"),
        (lambda: Experiment("x", H, 10**400), "must be finite"),
        (lambda: replace(EPISODE, tiers=(0,) * len(EPISODE.tiers)), "tier 0 must be an integer"),
        (lambda: replace(EPISODE, tiers=("1",) * len(EPISODE.tiers)), "tier '1' must be"),  # type: ignore[arg-type]
        (lambda: Episode("", H, 1, (), (), ()), "Episode.id must be text"),
        (lambda: Episode("e", H, 2, (), (), ()), "label 2 must be 0 or 1"),
        (lambda: Episode("e", H, True, (), (), ()), "label True must be 0 or 1"),
        (lambda: Episode("e", H, 1, (STUB,), (), ("a",)), r"differ in length \(1, 0, 1\)"),
        (
            lambda: Episode("e", H, 1, (STUB, STUB), (1, 1), ("a", "a")),
            r"duplicate experiment ids \['x1'\]",
        ),
        (lambda: Episode("e", H, 1, (), (), (), "dev"), "split 'dev' is not one of the three"),
    ],
)
def test_invalid_values_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (Hypothesis, "{", "not a JSON Hypothesis"),
        (Hypothesis, "[]", "a Hypothesis must be a JSON object, got list"),
        (Hypothesis, '{"text": "a", "txt": 1}', r"Hypothesis has no field \['txt'\]; known: "),
        (Hypothesis, "{}", "incomplete Hypothesis: .*'text'"),
        (Outcome, "{}", "incomplete Outcome: .*'fields'"),
        (Outcome, '{"fields": 3}', "Outcome"),
        (Experiment, '{"id": "x"}', "incomplete Experiment: .*'hypothesis'"),
        (Stub, '{"experiment": null, "outcome": {"fields": {}}}', "got NoneType"),
        (Stub, '{"experiment": [], "outcome": {"fields": {}}}', "Experiment|Stub"),
        (Episode, '{"id": "e", "pool": [1]}', "a Stub must be a JSON object, got int"),
        (
            Experiment,
            '{"id": "x", "hypothesis": {"text": "h"}, "is_repeatable": "false"}',
            "is_repeatable",
        ),
    ],
)
def test_malformed_json_is_refused(kind: type[Any], text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_json(kind, text)


def test_absent_fields_take_their_defaults() -> None:
    assert from_json(Experiment, '{"id": "x", "hypothesis": {"text": "h"}}') == Experiment(
        "x", Hypothesis("h")
    )
    assert Episode("e", H, 0, (), (), ()).unit == "e"


@pytest.mark.parametrize("text", NON_FINITE)
@pytest.mark.parametrize(
    "build",
    [
        lambda text: Hypothesis(text),
        lambda text: Hypothesis("h", text),
        lambda text: Experiment(text, H),
        lambda text: Episode(text, H, 1, (), (), ()),
        lambda text: Episode("e", H, 1, (STUB,), (1,), (text,)),
        lambda text: Episode("e", H, 1, (), (), (), unit=text),
    ],
    ids=["text", "domain", "experiment", "episode", "tag", "unit"],
)
def test_texts_that_name_numbers_are_refused_or_kept(
    build: Callable[[str], Any], text: str
) -> None:
    try:
        value = build(text)
    except DataError:
        return
    assert from_json(type(value), to_json(value)) == value


@pytest.mark.parametrize(
    ("build", "plain"),
    [
        (
            lambda: Experiment("x", H, np.float32(2.0)),  # type: ignore[arg-type]
            Experiment("x", H, 2.0),
        ),
        (lambda: Experiment("x", H, np.float64(2.0)), Experiment("x", H, 2.0)),
        (
            lambda: Experiment("x", H, np.int64(2)),  # type: ignore[arg-type]
            Experiment("x", H, 2.0),
        ),
        (
            lambda: Experiment("x", H, is_repeatable=np.bool_(True)),  # type: ignore[arg-type]
            Experiment("x", H, is_repeatable=True),
        ),
        (
            lambda: Episode("e", H, np.int64(1), (), (), ()),  # type: ignore[arg-type]
            Episode("e", H, 1, (), (), ()),
        ),
        (
            lambda: Episode("e", H, 1, (STUB,), np.array([2]), ("a",)),  # type: ignore[arg-type]
            Episode("e", H, 1, (STUB,), (2,), ("a",)),
        ),
    ],
    ids=["float32 cost", "float64 cost", "int64 cost", "bool_ repeatable", "int64 label", "tiers"],
)
def test_numpy_scalars_are_accepted_in_every_value(build: Callable[[], Any], plain: Any) -> None:
    value = build()
    assert value == plain
    strict(to_json(value))
    assert from_json(type(plain), to_json(value)) == plain
