"""Numbers that a reading hangs on: missing and non-finite ones are refused, never guessed."""

import math

from bed.errors import DataError

__all__ = ["finite", "probability"]


def finite(value: object, name: str, place: str) -> float:
    """Return a finite number.

    Args:
        value: of a field; anything.
        name: of the field.
        place: where it stands, such as "experiment 'x'".

    Raises:
        DataError: for anything but a finite int or float.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(
            f"{place}: {name!r} is {value!r}: missing or not finite; mend it or leave the "
            "measurement out"
        )
    return float(value)


def probability(value: object, name: str, place: str) -> float:
    """Return a number in [0, 1].

    Args:
        value: of a field; anything.
        name: as in `finite`.
        place: as in `finite`.

    Raises:
        DataError: for anything else.
    """
    found = finite(value, name, place)
    if not 0 <= found <= 1:
        raise DataError(f"{place}: {name!r} is {found:g}, outside the range [0, 1]")
    return found
