"""The values of an experimental design problem: hypotheses, experiments, outcomes, evidence.

Frozen, hashable and picklable, with validation and strict JSON and no other behaviour. What a
field means belongs to the domain (`bed.domains`), never to these classes.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from bed.errors import DataError

__all__ = [
    "Episode",
    "Evidence",
    "Experiment",
    "Fields",
    "Hypothesis",
    "Outcome",
    "Stub",
    "from_json",
    "to_json",
]

_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Fields(Mapping[str, Any]):
    """An immutable, hashable mapping of JSON values: what a hypothesis or an outcome states.

    Lists become tuples and mappings become `Fields`; NumPy scalars become Python numbers. Equality
    is by content, with NaN equal to NaN, so that a round trip through JSON compares equal.

    Raises:
        DataError: for a value that JSON cannot hold, or the texts "NaN", "Infinity" and
            "-Infinity", which stand for numbers in the JSON form.
    """

    __slots__ = ("_data", "_text")

    def __init__(self, data: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        self._data = {
            _checked_key(key): _frozen(value, key)
            for key, value in {**(data or {}), **more}.items()
        }
        self._text: str | None = None

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __hash__(self) -> int:
        return hash(self._text or self._canonical())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Fields):
            return self._canonical() == other._canonical()
        if not isinstance(other, Mapping):
            return NotImplemented
        try:
            return self == Fields(other)
        except DataError:
            return False

    def _canonical(self) -> str:
        if self._text is None:
            self._text = json.dumps(_plain(self), sort_keys=True)
        return self._text

    def __repr__(self) -> str:
        return f"Fields({self._data!r})"

    def __reduce__(self) -> tuple[type["Fields"], tuple[dict[str, Any]]]:
        return Fields, (self._data,)


def _unboxed(value: Any) -> Any:
    """Return a NumPy scalar as the Python number that it holds."""
    return value.item() if getattr(value, "shape", None) == () else value


def _checked_key(key: object) -> str:
    if not isinstance(key, str):
        raise DataError(f"field names must be text, got {key!r}; rename the field")
    return key


def _frozen(value: Any, where: str) -> Any:
    """Return the immutable form of a JSON value, or raise naming the field."""
    value = _unboxed(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        if value in _NON_FINITE:
            raise DataError(f"field {where!r} holds the text {value!r}; store the number or None")
        return value
    if value is None or isinstance(value, bool | int | float | Fields):
        return value
    if isinstance(value, Mapping):
        return Fields(value)
    if isinstance(value, list | tuple):
        return tuple(_frozen(item, where) for item in value)
    raise DataError(f"field {where!r} holds a {type(value).__name__}; use text, numbers or lists")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A claim about the world that is either supported (theta = 1) or not (theta = 0).

    Attributes:
        text: the claim as a sentence.
        domain: names the rules that relate experiments to it, see `bed.domains`.
        fields: the claim's structure (gene, cell line, direction, ...).
    """

    text: str
    domain: str = "generic"
    fields: Fields = field(default_factory=Fields)

    def __post_init__(self) -> None:
        _require_text(self.text, "Hypothesis.text")
        _require_text(self.domain, "Hypothesis.domain")
        object.__setattr__(self, "fields", _as_fields(self.fields))

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment x that could be run. It never holds its result.

    Attributes:
        id: unique within a pool.
        hypothesis: the local hypothesis h' that x itself tests.
        cost: what one run costs, in any one unit; finite and above 0.
        is_repeatable: whether it stays available after it was run.
        fields: the experiment's structure.
    """

    id: str
    hypothesis: Hypothesis
    cost: float = 1.0
    is_repeatable: bool = False
    fields: Fields = field(default_factory=Fields)

    def __post_init__(self) -> None:
        _require_text(self.id, "Experiment.id")
        if not isinstance(self.hypothesis, Hypothesis):
            raise DataError(f"experiment {self.id!r}: hypothesis must be a Hypothesis")
        for name in ("cost", "is_repeatable"):
            object.__setattr__(self, name, _unboxed(getattr(self, name)))
        # below the smallest normal number a worth per cost would overflow
        smallest = sys.float_info.min
        is_number = isinstance(self.cost, int | float) and not isinstance(self.cost, bool)
        if not (is_number and smallest <= self.cost <= sys.float_info.max):
            raise DataError(
                f"experiment {self.id!r}: cost {self.cost!r} must be finite and above 0"
            )
        if not isinstance(self.is_repeatable, bool):
            raise DataError(f"experiment {self.id!r}: is_repeatable must be True or False")
        object.__setattr__(self, "fields", _as_fields(self.fields))

    def __hash__(self) -> int:
        return hash((self.id, self.hypothesis.text))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment reported: numbers, texts and flags in `fields`."""

    fields: Fields

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _as_fields(self.fields))


@dataclass(frozen=True, slots=True)
class Stub:
    """One piece of evidence: an experiment with its outcome."""

    experiment: Experiment
    outcome: Outcome

    def __post_init__(self) -> None:
        if not isinstance(self.experiment, Experiment) or not isinstance(self.outcome, Outcome):
            raise DataError("a Stub holds an Experiment and an Outcome")

    def __hash__(self) -> int:
        return hash((self.experiment.id, self.outcome.fields))


Evidence = tuple[Stub, ...]
"""What is known, in the order in which it became known."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A target hypothesis with its held-out label and the pool of experiments that bear on it.

    Attributes:
        id: unique within a file.
        target: the hypothesis h.
        label: theta, 0 or 1, from a measurement that is in no pool.
        pool: the experiments with their true outcomes, in an order that says nothing.
        tiers: relevance of each stub to the target, 1 the most relevant.
        tags: the same in words.
        split: "train", "validation" or "test".
        unit: what the split and the bootstrap resample, such as the target's gene.
    """

    id: str
    target: Hypothesis
    label: int
    pool: Evidence
    tiers: tuple[int, ...]
    tags: tuple[str, ...]
    split: str = "test"
    unit: str = ""

    def __post_init__(self) -> None:
        _require_text(self.id, "Episode.id")
        object.__setattr__(self, "label", _unboxed(self.label))
        if isinstance(self.label, bool) or self.label not in (0, 1):
            raise DataError(f"episode {self.id!r}: label {self.label!r} must be 0 or 1")
        for name in ("pool", "tiers", "tags"):
            values = tuple(_unboxed(value) for value in getattr(self, name))
            object.__setattr__(self, name, values)
        if not all(isinstance(stub, Stub) for stub in self.pool):
            raise DataError(f"episode {self.id!r}: the pool must hold stubs")
        if not len(self.pool) == len(self.tiers) == len(self.tags):
            raise DataError(
                f"episode {self.id!r}: pool, tiers and tags differ in length "
                f"({len(self.pool)}, {len(self.tiers)}, {len(self.tags)})"
            )
        ids = [stub.experiment.id for stub in self.pool]
        if len(set(ids)) < len(ids):
            twice = sorted({i for i in ids if ids.count(i) > 1})
            raise DataError(f"episode {self.id!r}: duplicate experiment ids {twice}")
        if self.split not in ("train", "validation", "test"):
            raise DataError(f"episode {self.id!r}: split {self.split!r} is not one of the three")
        for tier in self.tiers:
            if type(tier) is not int or tier < 1:
                raise DataError(f"episode {self.id!r}: tier {tier!r} must be an integer, 1 or more")
        for tag in self.tags:
            if not isinstance(tag, str) or tag in _NON_FINITE:
                raise DataError(f"episode {self.id!r}: tag {tag!r} is no text, or a number's")
        if not self.unit:
            object.__setattr__(self, "unit", self.id)
        _require_text(self.unit, f"the unit of episode {self.id!r}")


def _require_text(value: object, where: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where} must be text and not empty, got {value!r}")
    if value in _NON_FINITE:
        raise DataError(f"{where} is the text {value!r}, which JSON keeps for a number; reword it")


def _as_fields(value: Mapping[str, Any]) -> Fields:
    return value if isinstance(value, Fields) else Fields(value)


_Value = TypeVar("_Value", Hypothesis, Experiment, Outcome, Stub, Episode)

_NAMES: dict[type, tuple[str, ...]] = {
    kind: tuple(item.name for item in fields(kind))
    for kind in (Hypothesis, Experiment, Outcome, Stub, Episode)
}

_NESTED: dict[tuple[type, str], type] = {
    (Experiment, "hypothesis"): Hypothesis,
    (Stub, "experiment"): Experiment,
    (Stub, "outcome"): Outcome,
    (Episode, "target"): Hypothesis,
    (Episode, "pool"): Stub,
}


def to_json(value: Hypothesis | Experiment | Outcome | Stub | Episode) -> str:
    """Return strict JSON, with NaN and the infinities as texts."""
    return json.dumps(_plain(value), allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_json(kind: type[_Value], text: str) -> _Value:
    """Read what `to_json` wrote.

    Raises:
        DataError: for text that is not JSON, or that lacks or adds a field of `kind`.
    """
    try:
        data = json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise DataError(f"not a JSON {kind.__name__}: {error}") from error
    value: _Value = _built(kind, data)
    return value


def _refused(constant: str) -> None:
    raise DataError(f"bare {constant} is no JSON; write it as the text {constant!r}")


def _built(kind: type, data: Any) -> Any:
    if not isinstance(data, dict):
        raise DataError(f"a {kind.__name__} must be a JSON object, got {type(data).__name__}")
    known = _NAMES[kind]
    if unknown := data.keys() - known:
        raise DataError(f"{kind.__name__} has no field {sorted(unknown)}; known: {sorted(known)}")
    arguments = {}
    for name, value in data.items():
        inner = _NESTED.get((kind, name))
        if inner is None:
            arguments[name] = _revived(value)
        elif isinstance(value, list) and name == "pool":
            arguments[name] = tuple(_built(inner, item) for item in value)
        else:
            arguments[name] = _built(inner, value)
    try:
        return kind(**arguments)
    except TypeError as error:
        raise DataError(f"incomplete {kind.__name__}: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Hypothesis | Experiment | Outcome | Stub | Episode):
        return {name: _plain(getattr(value, name)) for name in _NAMES[type(value)]}
    return value


def _revived(value: Any) -> Any:
    if isinstance(value, str):
        return _NON_FINITE.get(value, value)
    if isinstance(value, list):
        return tuple(_revived(item) for item in value)
    if isinstance(value, dict):
        return {key: _revived(item) for key, item in value.items()}
    return value
