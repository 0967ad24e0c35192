"""What a language model answered: a probability, or the index of a candidate.

Only a complete tag outside the reasoning counts, and the last readable one decides. Nothing is
clipped, divided by 100 or guessed from bare numbers: an unreadable answer is None. Every pattern
runs in time linear in the text.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from bed.errors import DataError

__all__ = ["MeanOfDraws", "mean_of_draws", "parse_choice", "parse_probability", "without_reasoning"]

# \s*+ never gives back what it took, so that no text makes a pattern try again and again
_FLAGS = re.IGNORECASE | re.ASCII
_THINK_OPENED = re.compile(r"<\s*+think\s*+>", _FLAGS)
_THINK_CLOSED = re.compile(r"<\s*+/\s*+think\s*+>", _FLAGS)
_PROBABILITY = re.compile(
    r"<\s*+probability\s*+>\s*+"
    r"([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?)"
    r"\s*+<\s*+/\s*+probability\s*+>",
    _FLAGS,
)
_CHOICE = re.compile(r"<\s*+choice\s*+>\s*+([0-9]++)\s*+<\s*+/\s*+choice\s*+>", _FLAGS)


@dataclass(frozen=True, slots=True)
class MeanOfDraws:
    """The forecast that several draws of one prompt make together.

    Attributes:
        p: mean probability of the readable draws.
        n_parsed: how many draws were readable.
        n_failed: how many were not.
    """

    p: float
    n_parsed: int
    n_failed: int


def without_reasoning(text: str) -> str:
    """Return the answer alone: what follows the last `</think>`, up to an unclosed `<think>`.

    Args:
        text: everything that the model wrote.
    """
    start = max((tag.end() for tag in _THINK_CLOSED.finditer(text)), default=0)
    opened = _THINK_OPENED.search(text, start)
    return text[start : opened.start() if opened else None]


def parse_probability(text: str) -> float | None:
    """Return the stated probability, or None where the answer is unreadable.

    Args:
        text: everything that the model wrote.
    """
    stated = _PROBABILITY.findall(without_reasoning(text))
    if not stated:
        return None
    p = float(stated[-1])
    return p if 0 <= p <= 1 else None


def parse_choice(text: str, num_candidates: int) -> int | None:
    """Return the index of the chosen candidate, or None where the answer is unreadable.

    Args:
        text: everything that the model wrote.
        num_candidates: how many candidates were listed, numbered from 0.

    Raises:
        DataError: for a list without candidates.
    """
    if num_candidates < 1:
        raise DataError(f"no candidates to choose from ({num_candidates}): list at least one")
    stated = _CHOICE.findall(without_reasoning(text))
    if not stated:
        return None
    digits = stated[-1].lstrip("0") or "0"
    # the length first: Python refuses to convert thousands of digits
    if len(digits) > len(str(num_candidates)) or int(digits) >= num_candidates:
        return None
    return int(digits)


def mean_of_draws(texts: Iterable[str]) -> MeanOfDraws:
    """Return the mean of the readable draws, with how many were read and how many not.

    Args:
        texts: what the model wrote in each draw.

    Raises:
        DataError: for no readable draw.
    """
    draws = [parse_probability(text) for text in texts]
    read = [p for p in draws if p is not None]
    if not read:
        raise DataError(
            f"no readable draw among {len(draws)}; each must hold <probability>p</probability> "
            "with p in [0, 1] outside its reasoning"
        )
    return MeanOfDraws(math.fsum(read) / len(read), len(read), len(draws) - len(read))
