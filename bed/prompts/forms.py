"""How single values are printed and read back: one `Form` for each kind of value.

`write` and `read` of a form belong together: what one prints the other reads, to the printed
precision. A form without `read` prints what follows from another value, such as a phrase.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from bed.domains.gwas import p_decimal
from bed.errors import DataError
from bed.prompts.escaping import escaped, split_parts, unescaped

__all__ = [
    "ANY",
    "COUNT",
    "FREQUENCY",
    "GENERAL",
    "GTEX",
    "INTEGER",
    "LIST",
    "NUMBER",
    "PERCENT",
    "PROBABILITY",
    "P_GENERAL",
    "P_VALUE",
    "REMARK",
    "SIGNED",
    "SIZE",
    "TEXT",
    "THREE_DECIMALS",
    "TWO_DECIMALS",
    "YES_NO",
    "Form",
    "at_least",
    "at_most",
    "one_of",
    "real",
    "shown",
    "within",
]

Separators = tuple[str, ...]

NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,4}+)?"
"""Pattern of a printed number; p-values go below the least float, but not beyond four digits."""
_NUMBER = re.compile(NUMBER)
_MARKS = "*`"
"""What chat models set about a value."""
_LIST_SEPARATOR = ", "
_GTEX_SHOWN = 3
_GTEX = re.compile(r"(.*\S)\s++(\S+)\s++TPM", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of value stands in a prompt.

    Attributes:
        write: value and the separators of its line -> text on one line.
        read: that text -> value; ValueError where it cannot be read. None for what is only shown.
        placeholder: stands for the value where a model is told how to write it.
        agrees: of what is only shown: whether a value can stand beside a text that a model wrote.
        pattern: what a model's output is held to where a server can do that; a plain regular
            expression without looking ahead.
    """

    write: Callable[[Any, Separators], str]
    read: Callable[[str], Any] | None
    placeholder: str
    agrees: Callable[[Any, str], bool] = lambda value, text: True
    pattern: str = r"[^\n]{1,80}"


def real(value: object) -> float:
    """Return a finite number.

    Args:
        value: anything.

    Raises:
        DataError: for anything but a finite int or float.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"{value!r} must be a finite number")
    return float(value)


def shown(
    words: Callable[[Any], str],
    placeholder: str,
    agrees: Callable[[Any, str], bool] = lambda value, text: True,
) -> Form:
    """Return a form that only shows what follows from a value.

    Args:
        words: value -> text.
        placeholder: stands for it where a model is told how to write it.
        agrees: whether a value can stand beside a text that a model wrote; any by default.
    """

    def write(value: Any, separators: Separators) -> str:
        return escaped(words(value), separators)

    return Form(write, None, placeholder, agrees)


def within(
    form: Form, low: float = -math.inf, high: float = math.inf, pattern: str | None = None
) -> Form:
    """Return a form whose numbers must lie in [low, high], written as well as read.

    Args:
        form: of a number, or of the text of one.
        low: the least.
        high: the most.
        pattern: of such numbers; the form's own by default.
    """

    def checked(value: Any) -> Any:
        if not low <= float(value) <= high:
            wanted = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"at least {low:g}"
            raise DataError(f"{value!r} is impossible; it must be {wanted}")
        return value

    def write(value: Any, separators: Separators) -> str:
        text = form.write(value, separators)
        checked(value)
        return text

    read = form.read
    return replace(
        form,
        write=write,
        read=None if read is None else lambda text: checked(read(text)),
        pattern=pattern or form.pattern,
    )


def at_most(*steps: tuple[float, str], above: str, rounding: float) -> Form:
    """Return a form that shows a number in words by ceilings.

    Args:
        steps: (ceiling, phrase), ascending; the first ceiling that holds the number decides, and
            the ceiling itself belongs to its phrase.
        above: the phrase above the last ceiling.
        rounding: how far a printed number may lie from the one that was put into words.
    """

    def phrase(number: float) -> str:
        return next((words for ceiling, words in steps if number <= ceiling), above)

    return _graded(phrase, {above, *(words for _, words in steps)}, rounding)


def at_least(*steps: tuple[float, str], below: str, rounding: float) -> Form:
    """Return a form that shows a number in words by floors.

    Args:
        steps: (floor, phrase), descending; the first floor that the number reaches decides.
        below: the phrase below the last floor.
        rounding: as in `at_most`.
    """

    def phrase(number: float) -> str:
        return next((words for floor, words in steps if number >= floor), below)

    return _graded(phrase, {below, *(words for _, words in steps)}, rounding)


def _graded(phrase: Callable[[float], str], phrases: Set[str], rounding: float) -> Form:
    """Return the form of a phrase for a number; words of a model's own agree with any number."""

    def agrees(value: Any, text: str) -> bool:
        said = unescaped(text).casefold()
        near = (value - rounding, value, value + rounding)
        return said not in phrases or said in map(phrase, near)

    return shown(lambda value: phrase(real(value)), "phrase", agrees)


def one_of(words: Mapping[Any, str]) -> Form:
    """Return a form of a closed set of values.

    Args:
        words: value -> how it is printed.
    """
    values = {printed: value for value, printed in words.items()}

    def write(value: Any, separators: Separators) -> str:
        if value not in words:
            raise DataError(f"{value!r} is unknown; use one of {sorted(map(repr, words))}")
        return escaped(words[value], separators)

    def read(text: str) -> Any:
        if (found := unescaped(text).strip(_MARKS + ".").casefold()) not in values:
            raise ValueError(f"not one of {sorted(values)}")
        return values[found]

    either = "|".join(words.values())
    return Form(write, read, either, pattern=f"({either})")


def _number(text: str) -> float:
    """Read a printed number; models write a true minus sign now and then."""
    plain = text.strip(_MARKS).replace("\N{MINUS SIGN}", "-")
    if not _NUMBER.fullmatch(plain) or not math.isfinite(float(plain)):
        raise ValueError("not a finite number")
    return float(plain)


def _formatted(spec: str, placeholder: str, pattern: str) -> Form:
    return Form(lambda value, _: format(real(value), spec), _number, placeholder, pattern=pattern)


def _general(value: object, _: Separators) -> str:
    number = real(value)
    return f"{number:.3g}" if abs(number) < 0.01 or abs(number) >= 1000 else f"{number:.4g}"


def _whole(value: object) -> int:
    number = real(value)
    if number != int(number):
        raise DataError(f"{value!r} must be a whole number")
    return int(value) if isinstance(value, int) else int(number)


def _read_whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,4000}", plain := text.replace(",", "")):
        raise ValueError("not a whole number")
    return int(plain)


def _text(value: object, separators: Separators) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"{value!r} must be text")
    return escaped(str(value), separators)


def _read_text(text: str) -> str:
    if not text:
        raise ValueError("empty")
    return unescaped(text)


def _read_quantity(most: float) -> Callable[[str], str]:
    """Return a reader of text that starts with a number in [0, most], and keeps it as printed."""

    def read(text: str) -> str:
        kept = _read_text(text)
        number = _NUMBER.match(kept.replace("\N{MINUS SIGN}", "-"))
        size = math.inf if number is None else float(number[0])
        if not (0 <= size <= most and math.isfinite(size)):
            wanted = f"a number in [0, {most:g}]" if math.isfinite(most) else "a finite number >= 0"
            raise ValueError(f"not {wanted}")
        return kept

    return read


def _parts(value: object, what: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise DataError(f"{value!r} must be a list of {what}")
    if "" in value:
        raise DataError(f"{value!r} holds an empty text; leave it out")
    return value


def _list(value: object, separators: Separators) -> str:
    inner = (_LIST_SEPARATOR, *separators)
    return _LIST_SEPARATOR.join(_text(item, inner) for item in _parts(value, "texts"))


def _read_list(text: str) -> tuple[str, ...]:
    return tuple(_read_text(part.strip()) for part in split_parts(text, _LIST_SEPARATOR))


def _gtex(value: object, separators: Separators) -> str:
    """Print the first three tissues; a level may be text as printed, or a number."""
    printed = []
    for pair in _parts(value, "(tissue, TPM) pairs")[:_GTEX_SHOWN]:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise DataError(f"{pair!r} must be a (tissue, TPM) pair")
        tissue, level = pair
        if isinstance(level, str) and not _NUMBER.fullmatch(level):
            raise DataError(f"TPM {level!r} of {tissue!r} must be a number")
        level = level if isinstance(level, str) else f"{real(level):.1f}"
        printed.append(f"{_text(tissue, (_LIST_SEPARATOR, *separators))} {level} TPM")
    return _LIST_SEPARATOR.join(printed)


def _read_gtex(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in split_parts(text, _LIST_SEPARATOR):
        if not (pair := _GTEX.fullmatch(part.strip())):
            raise ValueError("not '{tissue} {x.x} TPM'")
        found.append((unescaped(pair[1]), pair[2]))
    return tuple(found)


def _p_value(value: object, _: Separators) -> str:
    """Print two digits and an exponent of two or more, also below the least float."""
    p = p_decimal(value, "field")
    significand, exponent = f"{p:.1e}".split("e") if p else ("0.0", "0")
    return f"{significand}e{int(exponent):+03d}"


def _read_p_value(text: str) -> float | str:
    """Read a number, or keep the text of one that no float holds."""
    number = _number(text)
    return text if number < sys.float_info.min and Decimal(text) else number


def _any(value: object, separators: Separators) -> str:
    """Print text as it is and all else as JSON; text that reads as JSON is told apart."""
    if isinstance(value, str):
        text = escaped(value, separators)
        return f"&#{ord(value[0])};{text[1:]}" if text[:1] == value[0] and _is_json(text) else text
    return escaped(json.dumps(value, default=_plain, ensure_ascii=False), separators)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _is_json(text: str) -> bool:
    try:
        json.loads(unescaped(text))
    except (ValueError, RecursionError):
        return False
    return True


def _read_any(text: str) -> Any:
    if text.startswith("&#") or not _is_json(text):
        return _read_text(text)
    return json.loads(unescaped(text))


def _same_text(value: Any, text: str) -> bool:
    return str(value).casefold() == unescaped(text).casefold()


REMARK = Form(_text, None, "...", _same_text)
TEXT = Form(_text, _read_text, "...")
LIST = Form(_list, _read_list, "..., ...")
GTEX = Form(_gtex, _read_gtex, "... X.X TPM")
YES_NO = one_of({True: "yes", False: "no"})
INTEGER = Form(lambda value, _: str(_whole(value)), _read_whole, "N", pattern=r"\d{1,9}")
COUNT = within(
    Form(lambda value, _: f"{_whole(value):,}", _read_whole, "N"),
    0,
    pattern=r"\d{1,3}(,\d{3}){0,2}",
)
GENERAL = Form(_general, _number, "X.XXX", pattern=r"-?\d{1,4}(\.\d{1,4})?")
SIGNED = _formatted("+.3f", "+X.XXX", r"[+\-]\d\.\d{3}")
THREE_DECIMALS = _formatted(".3f", "X.XXX", r"-?\d\.\d{3}")
TWO_DECIMALS = _formatted("z.2f", "X.XX", r"-?\d{1,2}\.\d\d")
PERCENT = within(
    Form(
        lambda value, _: _general(100 * real(value), ()) + "%",
        lambda text: _number(text.removesuffix("%").rstrip()) / 100,
        "X.XX%",
    ),
    0,
    1,
    r"\d{1,2}(\.\d{1,2})?%",
)
PROBABILITY = within(TWO_DECIMALS, 0, 1, r"0\.\d\d")
P_GENERAL = within(GENERAL, 0, 1, r"(0\.\d{1,4}|[1-9]\.\d{1,2}e-(0[1-9]|[1-9]\d))")
P_VALUE = within(Form(_p_value, _read_p_value, "X.Xe-XX"), 0, 1, r"[1-9]\.\de-(0[1-9]|[1-9]\d)")
ANY = Form(_any, _read_any, "...")
FREQUENCY = Form(_text, _read_quantity(1), "0.XX", pattern=r"0\.\d{1,3}")
SIZE = Form(_text, _read_quantity(math.inf), "X.XX", pattern=r"\d{1,2}\.\d{1,3}")
"""Quantities kept as printed, from 0 on."""
