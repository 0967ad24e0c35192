"""JSON without the liberties that Python takes: nothing is dropped, nothing is no JSON."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bed.errors import DataError

__all__ = ["NotJSONError", "loads"]

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
            of a surrogate pair, too deep a nesting, or an integer too long to
            read.
    """
    try:
        found = json.loads(
            text, parse_int=_integer, parse_constant=_refused, object_pairs_hook=_unique
        )
        if _SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise DataError("nested too deeply; write flat fields") from error
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
    try:
        return int(digits)
    except ValueError as error:
        raise DataError(f"a number of {len(digits)} digits; write it as text") from error


def _refused(constant: str) -> None:
    raise DataError(f"bare {constant} is no JSON; leave the value out, or give a number")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = sorted(name for name, num in Counter(name for name, _ in pairs).items() if num > 1)
        raise DataError(f"keys {twice} stand twice in one object; keep one of each")
    return found
