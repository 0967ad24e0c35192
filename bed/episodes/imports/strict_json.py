"""JSON without the liberties that Python takes: nothing is dropped, nothing is no JSON."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bed.errors import DataError

__all__ = ["MOST_NESTED", "NotJSONError", "loads"]

MOST_NESTED = 50
"""Levels of objects and lists, one inside the other."""

_NOT_ZERO = re.compile(r"[-0.]*[1-9]")
_SURROGATE = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


class NotJSONError(DataError):
    """A text that is not JSON, or that is cut off."""


def loads(text: str) -> Any:
    """Return the value of a JSON text.

    Args:
        text: one JSON value.

    Raises:
        NotJSONError: for a text that is not JSON, or not whole.
        DataError: for JSON with a bare NaN or Infinity, a key that stands twice in one object, half
            of a surrogate pair, more than MOST_NESTED levels, or a number that no float can hold.
    """
    try:
        found = json.loads(
            text,
            parse_int=_integer,
            parse_float=_finite,
            parse_constant=_refused,
            object_pairs_hook=_unique,
        )
        if _depth(found) > MOST_NESTED:
            raise RecursionError
        if _SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise DataError(
            f"nested too deeply: more than {MOST_NESTED} levels; write flat fields"
        ) from error
    except UnicodeEncodeError as error:
        raise DataError(
            f"half a surrogate pair ({error.reason}); mend the escape \\ud..."
        ) from error
    except json.JSONDecodeError as error:
        raise NotJSONError(
            f"not whole JSON ({error.msg} at character {error.pos + 1}); it begins "
            f"{text[:40]!r} and ends in {text.rstrip()[-40:]!r}"
        ) from error
    return found


def _integer(digits: str) -> int:
    _finite(digits)
    return int(digits)


def _finite(digits: str) -> float:
    found = float(digits)
    if math.isinf(found) or (not found and _NOT_ZERO.match(digits)):
        shown = digits if len(digits) <= 20 else f"a number of {len(digits)} digits"
        raise DataError(
            f"{shown} is out of the range of numbers, 1e-308 to 1e308; write it as text"
        )
    return found


def _depth(value: Any) -> int:
    """Return how many levels of objects and lists stand one inside the other."""
    levels, inner = 0, [value]
    while inner := [item for item in inner if isinstance(item, dict | list)]:
        levels += 1
        inner = [
            part for item in inner for part in (item.values() if isinstance(item, dict) else item)
        ]
    return levels


def _refused(constant: str) -> None:
    raise DataError(f"bare {constant} is no JSON; leave the value out, or give a number")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = sorted(name for name, num in Counter(name for name, _ in pairs).items() if num > 1)
        raise DataError(f"keys {twice} stand twice in one object; keep one of each")
    return found
