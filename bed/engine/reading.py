"""From a TOML table to a frozen dataclass: allowed keys and types are those of its fields."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from bed.errors import DataError

__all__ = ["At", "Bounds", "read"]

_KIND = "kind"
"""The key that tells which dataclass of a union a table is."""

_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a number may be, to stand in `Annotated`.

    Attributes:
        low: the least value.
        is_open: whether the number must lie above it.
    """

    low: float
    is_open: bool = False

    def __contains__(self, number: float) -> bool:
        return math.isfinite(number) and (number > self.low if self.is_open else number >= self.low)

    def __str__(self) -> str:
        return f"above {self.low:g}" if self.is_open else f"of {self.low:g} or more"


@dataclass(frozen=True, slots=True)
class At:
    """Where a value stands: what errors name.

    Attributes:
        file: the TOML file; relative paths in it are relative to its folder.
        key: dotted, empty for the whole file.
    """

    file: Path
    key: str = ""

    def __truediv__(self, name: str) -> "At":
        return replace(self, key=f"{self.key}.{name}" if self.key else name)

    def error(self, fault: str) -> DataError:
        """Return the error that says what is wrong here."""
        return DataError(
            f"{self.file}: {self.key} {fault}" if self.key else f"{self.file}: {fault}"
        )

    def unknown(self, value: object, known: Iterable[object]) -> DataError:
        """Return the error for a value that is none of those known, with the nearest of them."""
        options = list(known)
        near = get_close_matches(value, map(str, options), n=1) if isinstance(value, str) else []
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        listed = f"use one of {', '.join(map(repr, options))}" if options else "there is none"
        return self.error(f"is {value!r}{meant}; {listed}")


def read(hint: Any, value: object, at: At) -> Any:
    """Return a value of TOML as what a type hint asks for.

    Known hints: text, numbers (with `Bounds` in `Annotated`), truth values, paths, literals, lists
    (`tuple[X, ...]`), tables (`Mapping[str, X]`, dataclasses, and unions of dataclasses that differ
    in the literal of their field `kind`), and `Any`.

    Raises:
        DataError: for a key that is unknown or missing and a value of another kind, with the place,
            the value and what is allowed there.
    """
    origin, options = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        return _bounded(options, value, at)
    if origin in (Union, UnionType):
        members = [option for option in options if option is not NoneType]
        return read(members[0] if len(members) == 1 else _member(members, value, at), value, at)
    if origin is Literal:
        if value not in options or isinstance(value, bool) is not isinstance(options[0], bool):
            raise at.unknown(value, options)
        return value
    if origin is tuple:
        return _list(options[0], value, at)
    if origin is not None and issubclass(origin, Mapping):
        return {key: read(options[1], item, at / key) for key, item in _table(value, at).items()}
    if is_dataclass(hint):
        return _dataclass(hint, _table(value, at), at)
    return _plain(hint, value, at)


def _plain(hint: Any, value: object, at: At) -> Any:
    if hint is Path:
        text = read(str, value, at)
        if not text:
            raise at.error("is empty; name a file or folder")
        return at.file.parent / Path(text).expanduser()
    if hint is float and type(value) is int:
        value = float(value)
    if type(value) is not hint or (isinstance(value, float) and not math.isfinite(value)):
        raise at.error(f"is {value!r}; give {_WORDS[hint]}")
    return value


def _bounded(options: tuple[Any, ...], value: object, at: At) -> Any:
    hint, bounds = options
    try:
        found = read(hint, value, at)
    except DataError:
        found = math.nan
    if found not in bounds:
        raise at.error(f"is {value!r}; give {_WORDS[hint]} {bounds}")
    return found


def _list(hint: Any, value: object, at: At) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise at.error(f"is {value!r}; give a list: [ ... ]")
    return tuple(read(hint, item, At(at.file, f"{at.key}[{n}]")) for n, item in enumerate(value))


def _table(value: object, at: At) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise at.error(f"is {value!r}; give a table: [{at.key}] with keys below it")
    return value


def _member(members: list[Any], value: object, at: At) -> Any:
    """Return the dataclass whose `kind` a table names."""
    kinds = {get_args(get_type_hints(member)[_KIND])[0]: member for member in members}
    table = _table(value, at)
    if _KIND not in table:
        raise (at / _KIND).error(f"is missing; use one of {', '.join(map(repr, kinds))}")
    return kinds[read(Literal[tuple(kinds)], table[_KIND], at / _KIND)]


def _dataclass(kind: Any, table: Mapping[str, Any], at: At) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    known = {item.name: item for item in fields(kind) if item.init}
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            raise (at / key).error(f"is no key here{meant}; use {', '.join(known)}")
    for name, item in known.items():
        if name not in table and item.default is MISSING and item.default_factory is MISSING:
            raise (at / name).error("is missing; it has no default")
    values = {key: read(hints[key], item, at / key) for key, item in table.items()}
    try:
        return kind(**values)
    except DataError as error:
        raise at.error(str(error) if not at.key else f"cannot be: {error}") from error
