"""Field values are data: whatever they hold, they cannot end a line, open a tag or a section.

A value is written to the letter except for characters that a prompt, a chat template or the reader
would take for structure. Those become entities (`&#10;`, `&lt;`, `&amp;`), and `unescaped` gives
the value back exactly.
"""

import re
from functools import lru_cache

__all__ = ["ENTITY", "TITLES", "escaped", "flexible", "split_parts", "unescaped"]

TITLES = (
    "CONTEXT EVIDENCE",
    "TARGET HYPOTHESIS",
    "CANDIDATE NEXT EXPERIMENTS",
    "EXPERIMENT TO SIMULATE",
    "Respond using the format",
)
"""What opens a section; a value that says the same has its first blank encoded."""

ENTITY = r"&(?:amp|lt|#[0-9]{1,7});"
_ENTITY = re.compile(r"&(amp|lt|#[0-9]{1,7});")
_LARGEST = 0x10FFFF

# in any case and with any blank: a model reads them alike
_TITLE_BLANKS = "|".join(
    rf"(?i:(?<={first})\s(?={rest}))"
    for first, _, rest in (title.replace(" ", r"\s").partition(r"\s") for title in TITLES)
)
_STRUCTURE = (
    # an ampersand that would read as an entity, also once a separator follows the value
    r"&(?=(?:amp|lt|#[0-9]{1,7})(?:;|\Z))",
    # what may open a tag or a special token, also together with what follows the value
    r"[<\uff1c](?=\s*(?:[^\W\d_]|[/|!?\uff5c\uff0f]|\Z))",
    # all that ends a line, control characters, and what cannot be seen
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]",
    r"[\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]",
    # the number of a stub or candidate, at the start only
    r"\A[\[\uff3b](?=\d+[\]\uff3d])",
    # special tokens such as [INST] and [TOOL_CALLS]
    r"\[(?=/?[A-Z]{3,}(?:_[A-Z]+)*\])",
    _TITLE_BLANKS,
)


def escaped(value: str, separators: tuple[str, ...] = ()) -> str:
    """Return `value` as one line that opens no tag, section or numbered line.

    Args:
        value: any text.
        separators: what parts the value from others on its line, such as ", "; the value's own
            occurrences are encoded too.
    """
    core = value.strip()
    start = len(value) - len(value.lstrip())
    lead, tail = value[:start], value[start + len(core) :]
    return _entities(lead) + _structure(separators).sub(_entity, core) + _entities(tail)


def unescaped(text: str) -> str:
    """Return the value that `escaped` wrote.

    Args:
        text: a value as it stands in a prompt.
    """
    return _ENTITY.sub(_character, text)


def split_parts(text: str, separator: str) -> list[str]:
    """Split escaped text at a separator, never inside an entity.

    Args:
        text: escaped values, parted by `separator`.
        separator: such as ", "; its blanks may be padded.
    """
    parts, start = [], 0
    for found in re.finditer(f"{ENTITY}|({flexible(separator)})", text):
        if found[1]:
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def flexible(literal: str) -> str:
    """Return a pattern for a literal of a line, whose blanks may be padded.

    Args:
        literal: text between two values, such as " / ".
    """
    if literal.isspace():
        return r"\s++"
    pattern = r"\s++".join(re.escape(word) for word in literal.split())
    # from the start of a run of blanks only: else a long run would be scanned from each blank
    lead = r"(?<!\s)\s++" if literal[:1].isspace() else ""
    return lead + pattern + (r"\s++" if literal[-1:].isspace() else "")


@lru_cache
def _structure(separators: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join((*_STRUCTURE, *map(_first_character, separators))))


def _first_character(separator: str) -> str:
    """Return a pattern for the first character of a separator, where a value holds all of it."""
    if separator.isspace():
        return r"\s"
    first, *rest = (re.escape(word) for word in separator.split())
    head, tail = re.escape(separator.strip()[0]), first[len(re.escape(separator.strip()[0])) :]
    lead = r"(?<=\s)" if separator[0].isspace() else ""
    # the end of the value counts as a blank: the separator that follows would supply it
    close = r"(?:\s|\Z)" if separator[-1].isspace() else ""
    rest_of_it = r"\s+".join([tail, *rest])
    return f"{lead}{head}(?={rest_of_it}{close})"


def _entity(found: re.Match[str]) -> str:
    return {"<": "&lt;", "&": "&amp;"}.get(found[0], f"&#{ord(found[0])};")


def _entities(blanks: str) -> str:
    return "".join(f"&#{ord(blank)};" for blank in blanks)


def _character(found: re.Match[str]) -> str:
    name = found[1]
    if name in ("amp", "lt"):
        return "&" if name == "amp" else "<"
    return chr(int(name[1:])) if int(name[1:]) <= _LARGEST else found[0]
