"""Tables of TOML become dataclasses; what is wrong is named with its place and its mend."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from bed.engine.reading import At, Bounds, read
from bed.errors import DataError

FILE = Path("/folder/engine.toml")


@dataclass(frozen=True, kw_only=True)
class Circle:
    kind: Literal["circle"]
    radius: Annotated[float, Bounds(0, is_open=True)]


@dataclass(frozen=True, kw_only=True)
class Square:
    kind: Literal["square"]
    side: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Drawing:
    shape: Circle | Square
    title: str = ""
    times: Annotated[int, Bounds(1)] = 1
    is_filled: bool = False
    lines: tuple[str, ...] = ()
    file: Path | None = None
    ink: Literal["red", "blue"] = "red"
    notes: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Square] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.title == "stolen":
            raise DataError("title 'stolen' is not yours; draw another")


def drawing(**table: object) -> Any:
    return read(Drawing, {"shape": {"kind": "square"}, **table}, At(FILE))


def test_every_kind_of_value_is_read() -> None:
    found = read(
        Drawing,
        {
            "shape": {"kind": "circle", "radius": 2},
            "title": "t",
            "times": 3,
            "is_filled": True,
            "lines": ["a", "b"],
            "file": "sub/x.txt",
            "ink": "blue",
            "notes": {"free": [1, {"deep": True}]},
            "others": {"one": {"kind": "square"}},
        },
        At(FILE),
    )
    assert found == Drawing(
        shape=Circle(kind="circle", radius=2.0),
        title="t",
        times=3,
        is_filled=True,
        lines=("a", "b"),
        file=Path("/folder/sub/x.txt"),
        ink="blue",
        notes={"free": [1, {"deep": True}]},
        others={"one": Square(kind="square")},
    )
    assert type(found.shape.radius) is float


def test_an_absolute_path_stays() -> None:
    assert drawing(file="/else/where").file == Path("/else/where")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"titel": "t"}, r"titel is no key here \(did you mean 'title'\?\); use shape, title"),
        ({"title": 3}, "title is 3; give a text"),
        ({"times": 0}, "times is 0; give a whole number of 1 or more"),
        ({"times": "2"}, "times is '2'; give a whole number of 1 or more"),
        ({"times": 2.0}, "times is 2.0; give a whole number"),
        ({"times": True}, "times is True; give a whole number"),
        ({"is_filled": 1}, "is_filled is 1; give true or false"),
        ({"lines": "a"}, r"lines is 'a'; give a list"),
        ({"lines": ["a", 2]}, r"lines\[1\] is 2; give a text"),
        ({"file": ""}, "file is empty; name a file"),
        ({"ink": "blu"}, r"ink is 'blu' \(did you mean 'blue'\?\); use one of 'red', 'blue'"),
        ({"ink": True}, "ink is True; use one of"),
        ({"ink": ["red"]}, r"ink is \['red'\]; use one of"),
        ({"shape": {}}, "shape.kind is missing; use one of 'circle', 'square'"),
        ({"shape": {"kind": "cube"}}, "shape.kind is 'cube'; use one of 'circle', 'square'"),
        ({"shape": {"kind": "circle"}}, "shape.radius is missing; it has no default"),
        ({"shape": {"kind": "circle", "radius": 0}}, "shape.radius is 0; give a number above 0"),
        (
            {"shape": {"kind": "circle", "radius": float("inf")}},
            "shape.radius is inf; give a number above 0",
        ),
        ({"shape": {"kind": "square", "side": float("nan")}}, "shape.side is nan; give a number"),
        ({"shape": {"kind": "square", "radius": 1}}, "shape.radius is no key here; use kind, side"),
        ({"shape": 3}, r"shape is 3; give a table: \[shape\]"),
        ({"others": {"one": {"kind": "circle"}}}, "others.one.kind is 'circle'; use one of"),
        ({"others": []}, r"others is \[\]; give a table"),
        ({"title": "stolen"}, "title 'stolen' is not yours; draw another"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_is_named(table: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=f"^/folder/engine.toml: {message}"):
        drawing(**table)
