"""Whether what is said in words, by a claim or a rendered prompt, is what the fields say."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bed.domains import canonical
from bed.episodes.imports.identity import IDENTIFIERS, alike
from bed.errors import DataError
from bed.evidence import Hypothesis
from bed.prompts import parse_evidence
from bed.prompts.escaping import escaped, unescaped
from bed.prompts.generic import TESTS
from bed.prompts.page import wording
from bed.prompts.wording import Claim

__all__ = ["prompt_is_read", "require_claim", "require_wording"]

_STATED = ("allele", "direction", "claim", "perturbation_type", "context_type")
"""What a claim states beside the identifiers."""
_VERBS = {
    "up": ("upregulat", "increas"),
    "increases": ("upregulat", "increas"),
    "down": ("downregulat", "decreas"),
    "decreases": ("downregulat", "decreas"),
}
_RULE = "..."
"""Stands for the rest of a claim, which states no field."""
_MEND = "mend one of them"


def require_wording(about: Hypothesis) -> bool:
    """Raise where a claim of a known wording contradicts its fields.

    Args:
        about: of a structured domain.

    Returns:
        Whether the wording is known, so that the claim has been read.

    Raises:
        DataError: naming what the text says and what the fields say.
    """
    words = wording(about.domain)
    # names that hold the words of a claim could be read in two ways, but are written in one
    if any(_opens(claim, about) for claim in words.claims):
        return True
    first = about.text
    if words.second_sentence:
        # the last one is the claim's own: a trait may hold the same words
        first = about.text.rpartition(" " + words.second_sentence)[0] or about.text
    for claim in words.claims:
        if told := claim.read(escaped(first)):
            _require_same(told, about, f"the claim {about.text!r}")
            return True
    return False


def _opens(claim: Claim, about: Hypothesis) -> bool:
    """Return whether the fields, put as this form of a claim, give the opening of the text."""
    fields = about.fields
    if any(name in fields and fields[name] != said for name, said in claim.settings.items()):
        return False
    try:
        written = claim.line.written({**fields, "rule": _RULE})
    except DataError:
        return False
    return written is not None and about.text.startswith(unescaped(written).removesuffix(_RULE))


def require_claim(about: Hypothesis) -> None:
    """Raise where a claim contradicts its fields, in whatever words it is put.

    A claim of unknown wording must name the identifiers, save the trait, which has many names, and
    no direction but that of the fields.

    Args:
        about: of a structured domain.

    Raises:
        DataError: naming what the text says and what the fields say.
    """
    if require_wording(about):
        return
    for name in IDENTIFIERS[canonical(about.domain)]:
        value = about.fields.get(name)
        if name != "trait" and value is not None and not _names(about.text, str(value)):
            raise DataError(
                f"the claim {about.text!r} does not name the {name} {value!r} of the "
                f"fields; {_MEND}"
            )
    direction, said = about.fields.get("direction"), about.text.casefold().replace("-", "")
    if own := _VERBS.get(str(direction)):
        other = {verb for verbs in _VERBS.values() for verb in verbs} - {*own}
        if any(verb in said for verb in other) and not any(verb in said for verb in own):
            raise DataError(
                f"the claim {about.text!r} goes the other way than direction "
                f"{direction!r} of the fields; {_MEND}"
            )


def _names(text: str, value: str) -> bool:
    """Return whether a text holds a name as whole words, in any case and with any separators."""
    words = re.findall(r"[^\W_]+", value.casefold())
    name = r"[\W_]*".join(map(re.escape, words))
    return re.search(rf"(?<![^\W_]){name}(?![^\W_])", text.casefold()) is not None


def _require_same(told: Mapping[str, Any], about: Hypothesis, what: str) -> None:
    for name in (*IDENTIFIERS.get(canonical(about.domain), ()), *_STATED):
        said, given = told.get(name), about.fields.get(name)
        if said is not None and given is not None and not alike(said, given):
            raise DataError(f"{what} says {name} {said!r}, but the fields say {given!r}; {_MEND}")


def prompt_is_read(user: str, about: Hypothesis, shown: Sequence[Mapping[str, Any]]) -> bool:
    """Raise where a rendered prompt is not about a target and the evidence that it belongs to.

    Args:
        user: the user prompt.
        about: the target.
        shown: for each stub that the prompt must show the fields of its experiment, and of free
            text its local hypothesis as the field `local_hypothesis`.

    Returns:
        Whether the prompt is of a layout that can be read; of any other nothing is known.

    Raises:
        DataError: naming what the prompt shows and what it should.
    """
    try:
        parsed = parse_evidence(about.domain, user)
    except DataError:
        return False
    if len(parsed.stubs) != len(shown):
        raise DataError(
            f"shows {len(parsed.stubs)} pieces of evidence, but the episode has "
            f"{len(shown)} there; {_MEND}"
        )
    domain = canonical(about.domain)
    if domain in IDENTIFIERS:
        _require_same(parsed.target, about, "its target")
        require_claim(Hypothesis(parsed.target_text, about.domain, about.fields))
    elif not alike(parsed.target_text, about.text):
        raise DataError(f"asks about {parsed.target_text!r}, not {about.text!r}; {_MEND}")
    names = ("kind", "drug", *IDENTIFIERS[domain]) if domain in IDENTIFIERS else (TESTS,)
    printed = Counter(_identity(names, item.experiment) for item in parsed.stubs)
    given = Counter(_identity(names, fields) for fields in shown)
    if odd := list(printed - given):
        lacking = list(given - printed)
        raise DataError(
            f"shows evidence on {_told(odd[0])}, but the episode has {_told(lacking[0])} "
            f"there; {_MEND}"
        )
    return True


def _identity(names: Sequence[str], fields: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    # a summary is of all genes
    known = [n for n in names if n in fields and (n, fields.get("kind")) != ("gene", "summary")]
    return tuple((name, " ".join(str(fields[name]).split()).casefold()) for name in known)


def _told(identity: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in identity)
