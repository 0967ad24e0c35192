"""Values as they stand in a table or a prompt: numbers in print, lists, yes and no.

A reader raises DataError with the value alone; whoever calls it adds the place.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from bed.domains.depmap import MUTATED, NOT_REPORTED, WILD_TYPE
from bed.domains.gwas import p_decimal
from bed.errors import DataError

__all__ = [
    "Reader",
    "choice",
    "count",
    "flag",
    "genes",
    "number",
    "p_value",
    "position",
    "share",
    "size",
    "status",
    "text",
    "texts",
    "tissues",
]

Reader = Callable[[object], Any]

_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_STATUSES = {"wildtype": WILD_TYPE, "notreported": NOT_REPORTED}
_MUTATION = re.compile(r"mutat|damaging|driver|hotspot", re.IGNORECASE)
_NEGATION = re.compile(r"\b(no|not|non|none|never|without|un\w*|absent|negative)\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")
_PLAIN = re.compile(r"[A-Za-z0-9.+-]+")
_TISSUE = re.compile(r"^(.*\S)\s+(\S+) TPM$")


def text(value: object) -> str:
    """Return a text, or a number as text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"{value!r} is not a text")
    if isinstance(value, float):
        value = int(value) if number(value).is_integer() else value
    return str(value).strip()


def number(value: object) -> float:
    """Return a finite number; thousands commas and a typeset minus are read."""
    plain = _ascii(value) if isinstance(value, str) else value
    try:
        # Python alone takes 1_0 and digits of other scripts for numbers
        if isinstance(value, bool) or (isinstance(plain, str) and not _PLAIN.fullmatch(plain)):
            raise TypeError
        found = float(plain)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{value!r} is not a number; write it like -1234.5 or 1e-5") from None
    if not math.isfinite(found):
        raise DataError(f"{value!r} is not a finite number; leave it out where it is not known")
    return found


def _ascii(value: str) -> str:
    """Return a printed number as Python reads it; a comma that splits no thousands stays."""
    plain = value.replace("\N{MINUS SIGN}", "-").strip()
    return plain.replace(",", "") if _THOUSANDS.fullmatch(plain) else plain


def count(value: object) -> int:
    """Return a whole number."""
    found = number(value)
    if not found.is_integer():
        raise DataError(f"{value!r} is not a whole number; mend it or leave it out")
    return int(found)


def share(value: object) -> float:
    """Return a probability or a share, in [0, 1]."""
    found = number(value)
    if not 0 <= found <= 1:
        raise DataError(f"{value!r} is outside [0, 1]; mend it or leave it out")
    return found


def size(value: object) -> float:
    """Return a number that cannot be negative."""
    found = number(value)
    if found < 0:
        raise DataError(f"{value!r} is negative; mend it or leave it out")
    return found


def position(value: object) -> int | str:
    """Return a place on a chromosome in base pairs, or with the chromosome as text."""
    said = text(value)
    return int(said) if said.isascii() and said.isdigit() else said


def p_value(value: object) -> float | str:
    """Return a p-value in [0, 1]: a number, or its text where a float would be 0."""
    exact = p_decimal(_ascii(value) if isinstance(value, str) else value, "as printed")
    found = float(exact)
    return _ascii(value) if isinstance(value, str) and exact and not found else found


def flag(value: object) -> bool:
    """Return yes or no as a flag."""
    found = _FLAGS.get(str(value).strip().casefold())
    if found is None:
        raise DataError(f"{value!r} is neither yes nor no; write one of them")
    return found


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts; one text is a list separated by comma and space."""
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(", ") if item.strip())
    if not isinstance(value, list | tuple):
        raise DataError(f"{value!r} is not a list of texts")
    return tuple(text(item) for item in value)


def genes(value: object) -> tuple[str, ...]:
    """Return mapped genes; one text separates them by comma, semicolon or spaced hyphen."""
    if isinstance(value, str):
        return tuple(item for item in re.split(r"\s*[,;]\s*|\s+-\s+", value.strip()) if item)
    return texts(value)


def tissues(value: object) -> tuple[tuple[str, str], ...]:
    """Return (tissue, TPM as printed) pairs, from pairs, structs or `{tissue} {x.x} TPM`."""
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, str):
        value = re.split(r"(?<= TPM),\s*", value.strip())
    if not isinstance(value, list | tuple):
        raise DataError(f"{value!r} is not a list of tissues with their TPM")
    return tuple(_tissue(item) for item in value)


def _tissue(item: object) -> tuple[str, str]:
    if isinstance(item, str) and (found := _TISSUE.match(item.strip())):
        item = found.groups()
    if isinstance(item, Mapping):
        item = tuple(item.values())
    if not isinstance(item, list | tuple) or len(item) != 2:
        raise DataError(f"{item!r} is not a tissue with its TPM")
    number(item[1])
    return text(item[0]), text(item[1])


def status(value: object) -> str:
    """Return a mutation status in the words of the domain."""
    said = text(value)
    plain = re.sub(r"[^a-z]", "", said.casefold())
    if plain in _STATUSES:
        return _STATUSES[plain]
    if _MUTATION.search(said) and not _NEGATION.search(said):
        return MUTATED
    raise DataError(f"{value!r} is no mutation status; expected {WILD_TYPE!r} or {MUTATED!r}")


def choice(**forms: str) -> Reader:
    """Return a reader of a few words: keyword = the start of every form that is read as it.

    Args:
        forms: word returned -> how the forms read begin, such as `up="up"` for "upregulates".
    """

    def read(value: object) -> str:
        said = text(value).casefold()
        for word, start in forms.items():
            if said.startswith(start):
                return word
        raise DataError(f"{value!r} is none of {sorted(forms)}")

    return read
