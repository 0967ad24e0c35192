"""System prompts: what a model is, what it will be shown and how it must answer."""

from collections.abc import Sequence
from typing import Literal, get_args

from bed.errors import DataError
from bed.prompts.page import wording
from bed.prompts.wording import Wording

__all__ = ["Role", "system_prompt"]

Role = Literal["belief", "choice", "simulate"]

_CONTEXT = (
    "CONTEXT: numbered pieces of evidence with their results, each with its relation to the "
    "target hypothesis. There may be none."
)
_CANDIDATES = (
    "CANDIDATE NEXT EXPERIMENTS: experiments that could be run next, numbered from 0. Their "
    "results are hidden."
)
_EXPERIMENT = (
    "EXPERIMENT TO SIMULATE: an experiment that tests the target hypothesis, with its result "
    "hidden, and whether the result shall support the hypothesis."
)

_BELIEF = (
    "State your degree of belief that the target hypothesis is supported, as a probability between "
    "0 and 1. Base it on the evidence shown and on what you know. Let it move with the weight of "
    "the evidence and no further: 0.5 says that you cannot tell, and values near 0 or 1 need "
    "strong reasons."
)
_DIRECT = (
    "Answer with one line only, in exactly this form and with no other text:\n"
    "<probability>0.XX</probability>"
)
_THINKING = (
    "Reason first about what the evidence says. Then give one probability in the closed interval "
    "[0, 1], in exactly this form:\n"
    "<probability>0.XX</probability>"
)
_CHOICE = (
    "Choose the one candidate whose hidden result would change your degree of belief in the "
    "target hypothesis most. Do not state a probability. Answer with the number of that "
    "candidate, in exactly this form:\n"
    "<choice>i</choice>"
)
_SIMULATE = (
    "Write the result that this experiment would plausibly report, given the evidence shown and "
    "given that it does, or does not, support the hypothesis as requested. Draw it as one "
    "realistic result among the many possible ones, with the noise that such measurements have; do "
    "not write the most typical one each time. Write the lines of the result in the requested "
    "form and no other text."
)


def system_prompt(domain: str, role: Role, thinking: bool = False) -> str:
    """Return bed's own system prompt.

    Args:
        domain: its name or an alias.
        role: "belief" states a probability, "choice" picks a candidate, "simulate" writes a result.
        thinking: whether a belief reasons before it answers; other roles have one wording.

    Raises:
        DataError: for an unknown role or a domain without prompts.
    """
    if role not in get_args(Role):
        raise DataError(f"unknown role {role!r}; use one of {sorted(get_args(Role))}")
    words = wording(domain)
    shown = [_CONTEXT, f"A TARGET HYPOTHESIS: {words.claim_form}."]
    if role == "belief":
        last = [_BELIEF, *([words.weigh] if thinking and words.weigh else [])]
        last.append(_THINKING if thinking else _DIRECT)
    else:
        shown.append(_CANDIDATES if role == "choice" else _EXPERIMENT)
        last = [_CHOICE if role == "choice" else _SIMULATE]
    return "\n\n".join((*_background(words), _numbered(shown), words.support, *last))


def _background(words: Wording) -> list[str]:
    parts = [words.role, _bullets("How the evidence was generated:", words.generated)]
    if words.definitions:
        parts.append(_bullets(words.definitions_title, words.definitions))
    return parts


def _bullets(title: str, items: Sequence[str]) -> str:
    return "\n".join((title, *(f"- {item}" for item in items)))


def _numbered(items: Sequence[str]) -> str:
    numbered = (f"{number}. {item}" for number, item in enumerate(items, start=1))
    return "\n".join(("You will be shown:", *numbered))
