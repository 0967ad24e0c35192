"""Field values are data: whatever they hold, they cannot end a line, open a tag or a section.

A value is written to the letter except for characters that a prompt, a chat template or the reader
would take for structure. Those become entities (`&#10;`, `&lt;`, `&amp;`), and `unescaped` gives
the value back exactly.
"""

import re
import unicodedata
from collections.abc import Sequence
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

# the ampersand that would read as an entity, also once a separator follows the value
_AMPERSAND = r"&(?=(?:amp|lt|#[0-9]{1,7})(?:;|\Z))"

_TITLE_BLANKS = "|".join(
    rf"(?<={first})\s(?=\s*+{rest})"
    for first, _, rest in (title.replace(" ", r"\s++").partition(r"\s++") for title in TITLES)
)
_WORDS = "inst|sys|cls|sep|[gs]?mask|pad|unk|bos|eos|img|args|think|prefix|middle|suffix"
# of a value's shadow, see _shadow
_STRUCTURE = re.compile(
    "|".join(
        (
            # whatever no comparison or arrow opens may open a tag or a special token, also
            # together with what follows the value
            r"<(?!\s*+(?:[-+=<>.]|(?!0x)[0-9]))",
            # the number of a stub or candidate, at the start only
            r"\A\[(?=[0-9]++\])",
            # special tokens such as [/INST] and [TOOL_CALLS], and those of one word, which looks
            # like any abbreviation
            rf"\[(?=/[a-z]|(?:[a-z]++(?:_[a-z]++)++|{_WORDS})\])",
            _TITLE_BLANKS,
        )
    ),
    re.IGNORECASE,
)
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of all that ends a line, controls or cannot be seen."""
# blank by design, though they count as letters or marks
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
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
    shadow, at = _shadow(core)
    places = {found.start() for found in _literals(separators).finditer(core)}
    places |= {at[found.start()] for found in _STRUCTURE.finditer(shadow)}
    if not (core.isascii() and core.isprintable()):
        places |= {place for place, character in enumerate(core) if _is_unseen(character)}
    inner = "".join(_entity(c) if i in places else c for i, c in enumerate(core))
    lead, tail = value[:start], value[start + len(core) :]
    return "".join((*map(_entity, lead), inner, *map(_entity, tail)))


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


def _shadow(value: str) -> tuple[str, Sequence[int]]:
    """Return how a value may be taken, with the place of each of its characters in the value.

    Full-width and other compatibility forms stand as the plain characters that they look like, so
    that a look-alike of structure is found where structure is.
    """
    if value.isascii():
        return value, range(len(value))
    seen = [unicodedata.normalize("NFKC", character) for character in value]
    return "".join(seen), [place for place, plain in enumerate(seen) for _ in plain]


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN or bool(_FILLERS.match(character))


@lru_cache
def _literals(separators: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of what is structure to the letter alone."""
    return re.compile("|".join((_AMPERSAND, *map(_first_character, separators))))


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


def _entity(character: str) -> str:
    return {"<": "&lt;", "&": "&amp;"}.get(character, f"&#{ord(character)};")


def _character(found: re.Match[str]) -> str:
    name = found[1]
    if name in ("amp", "lt"):
        return "&" if name == "amp" else "<"
    return chr(int(name[1:])) if int(name[1:]) <= _LARGEST else found[0]
