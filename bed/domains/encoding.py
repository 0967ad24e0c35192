"""Evidence as numbers, relative to whichever hypothesis is asked about.

Each stub counts under the tag of its relation to the hypothesis and the level of its reading.
Sums over stubs do not depend on their order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bed.domains import reading, relation
from bed.errors import DataError
from bed.evidence import Evidence, Hypothesis

__all__ = ["LEVELS", "SCORE_RANGE", "Encoded", "encode"]

LEVELS = ("supported", "unsupported", "refuted")
SCORE_RANGE = 2.0
"""Scores are clipped to this many strong effects either way."""

_LEVEL_INDEX = {level: i for i, level in enumerate(LEVELS)}


@dataclass(frozen=True)
class Encoded:
    """Sums over the stubs of each piece of evidence.

    Attributes:
        count: shape (num_queries, num_tags, num_levels), how many stubs.
        score: the same shape, the sum of their clipped scores.
        reasons: why a piece of evidence cannot be read, or None; its sums are then 0.
    """

    count: NDArray[np.float32]
    score: NDArray[np.float32]
    reasons: tuple[str | None, ...]


def encode(questions: Sequence[tuple[Hypothesis, Evidence]], tags: Sequence[str]) -> Encoded:
    """Encode evidence for each hypothesis; relations outside `tags` are left out."""
    tag_index = {tag: i for i, tag in enumerate(tags)}
    places: list[int] = []
    scores: list[float] = []
    reasons: list[str | None] = [None] * len(questions)
    num_cells = len(tags) * len(LEVELS)
    for row, (hypothesis, evidence) in enumerate(questions):
        try:
            cells = _cells(hypothesis, evidence, tag_index)
        except DataError as error:
            reasons[row] = str(error)
            continue
        places += [row * num_cells + cell for cell, _ in cells]
        scores += [score for _, score in cells]
    shape = (len(questions), len(tags), len(LEVELS))
    size = len(questions) * num_cells
    at = np.array(places, dtype=np.intp)
    clipped = np.clip(np.array(scores, dtype=np.float64), -SCORE_RANGE, SCORE_RANGE)
    return Encoded(
        np.bincount(at, minlength=size).reshape(shape).astype(np.float32),
        np.bincount(at, weights=clipped, minlength=size).reshape(shape).astype(np.float32),
        tuple(reasons),
    )


def _cells(
    hypothesis: Hypothesis, evidence: Evidence, tag_index: Mapping[str, int]
) -> list[tuple[int, float]]:
    """Return where each stub counts, and its score."""
    cells = []
    for stub in evidence:
        tag = tag_index.get(relation(hypothesis, stub.experiment).tag)
        if tag is not None:
            found = reading(stub.experiment, stub.outcome)
            cells.append((tag * len(LEVELS) + _LEVEL_INDEX[found.level], found.score))
    return cells
