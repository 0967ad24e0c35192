"""Which possible targets become episodes.

1. Every context (whatever names could tell: a line, a contrast, a trait and its direction) gives as
   many supported as unsupported targets, so none of their names says anything about the label; no
   group (a lineage, a trait) gives more than its share.
2. Inside a context and label, targets are drawn without replacement with a weight by sufficiency
   (rich, moderate, poor) and, among negatives, by verdict (inconclusive, refuted). The weights are
   fitted so that sufficiency comes to thirds and negatives to the wanted share over the split.

The weights know the label only through the verdict of negatives, so that P(label | pool) is the
natural one up to the odds of the context: sufficiency keeps its meaning as evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bed.seeds import generator

__all__ = ["RICH_FROM", "Candidate", "Quotas", "select", "sufficiency"]

RICH_FROM = 4
_ROUNDS = 60
Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Quotas:
    """What a domain asks of a selection.

    Attributes:
        group_share: most that one group may give of a split's episodes, in (0, 1].
        refuted_share: share of refuted claims among negatives, in (0, 1).
    """

    group_share: float
    refuted_share: float


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Content]):
    """A possible target with its pool.

    Attributes:
        unit: what the split and the bootstrap go by, such as the target's gene.
        group: what must not dominate, such as the lineage.
        context: what labels are balanced within.
        label: whether the held-out outcome supports the claim.
        refuted: whether it refutes the claim.
        num_conclusive: related stubs in the pool that are conclusive.
        content: what the builder writes the episode from.
    """

    unit: str
    group: str
    context: str
    label: bool
    refuted: bool
    num_conclusive: int
    content: Content


def sufficiency(num_conclusive: int) -> int:
    """Return 2 for rich, 1 for moderate, 0 for poor."""
    return 2 if num_conclusive >= RICH_FROM else int(num_conclusive > 0)


def select(
    candidates: Sequence[Candidate[Content]], num: int, seed: int, split: str, quotas: Quotas
) -> list[Candidate[Content]]:
    """Return at most `num` candidates, half of them supported in every context.

    Args:
        candidates: of one split.
        num: episodes wanted.
        seed: the run seed.
        split: names the draws.
        quotas: the shares wanted.
    """
    if not candidates:
        return []
    names = sorted({found.context for found in candidates})
    context = np.searchsorted(np.array(names), np.array([found.context for found in candidates]))
    label = np.array([found.label for found in candidates])
    pairs = _pairs_per_context(candidates, num // 2, seed, split, quotas)
    cell = context * 2 + label
    room = np.array([pairs.get(found.context, 0) for found in candidates])
    level = np.array([sufficiency(found.num_conclusive) for found in candidates])
    refuted = np.array([found.refuted for found in candidates]) & ~label
    noise = generator(seed, "select", split).gumbel(size=len(candidates))
    chosen = _fitted(cell, room, level, label, refuted, noise, quotas.refuted_share)
    return [found for found, taken in zip(candidates, chosen, strict=True) if taken]


def _fitted(
    cell: NDArray[np.int64],
    quota: NDArray[np.int64],
    level: NDArray[np.int64],
    label: NDArray[np.bool_],
    refuted: NDArray[np.bool_],
    noise: NDArray[np.float64],
    refuted_share: float,
) -> NDArray[np.bool_]:
    """Return the draw whose shares of sufficiency and of refuted negatives are nearest to wanted.

    Raking: a share that is too small has its log weight raised, round by round.
    """
    weights, odds = np.zeros(3), 0.0
    best, least = np.zeros(len(cell), dtype=bool), np.inf
    has_refuted = bool(refuted.any())
    for _ in range(_ROUNDS):
        chosen = _top(cell, quota, weights[level] + odds * refuted + noise)
        if not chosen.any():
            return chosen
        shares = np.bincount(level[chosen], minlength=3) / chosen.sum()
        share = refuted[chosen].sum() / max((~label[chosen]).sum(), 1)
        miss = float(np.abs(shares - 1 / 3).sum()) + has_refuted * abs(share - refuted_share)
        if miss < least:
            best, least = chosen, miss
        weights = np.clip(weights + 0.5 * np.log((1 / 3) / np.maximum(shares, 1e-3)), -6, 6)
        odds = float(np.clip(odds + 0.5 * np.log(refuted_share / max(share, 1e-3)), -6, 6))
    return best


def _top(
    cell: NDArray[np.int64], quota: NDArray[np.int64], score: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return the `quota` best of each cell: with Gumbel noise, a weighted draw."""
    order = np.lexsort((-score, cell))
    starts = np.flatnonzero(np.r_[True, np.diff(cell[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    chosen = np.zeros(len(cell), dtype=bool)
    chosen[order] = rank < quota[order]
    return chosen


def _pairs_per_context(
    candidates: Sequence[Candidate[Content]], num: int, seed: int, split: str, quotas: Quotas
) -> dict[str, int]:
    """Return how many pairs (supported, unsupported) each context gives, as evenly as can be."""
    counts: dict[str, list[int]] = {}
    group: dict[str, str] = {}
    for found in candidates:
        counts.setdefault(found.context, [0, 0])[found.label] += 1
        group[found.context] = found.group
    room = {at: min(both) for at, both in sorted(counts.items()) if min(both)}
    if not room:
        return {}
    share = max(quotas.group_share, 1.5 / len({group[at] for at in room}))
    names = list(room)
    order = [names[i] for i in generator(seed, "contexts", split).permutation(len(names))]
    total = min(num, sum(room.values()))
    # A group's share is of what is reached in the end, so the cap shrinks until both agree.
    while True:
        pairs = _dealt(order, room, group, total, max(1, int(share * total)))
        if (reached := sum(pairs.values())) == total:
            return pairs
        total = reached


def _dealt(
    order: list[str], room: dict[str, int], group: dict[str, str], total: int, cap: int
) -> dict[str, int]:
    pairs = dict.fromkeys(order, 0)
    by_group = dict.fromkeys(group.values(), 0)
    left = total
    while left:
        before = left
        for at in order:
            if left and pairs[at] < room[at] and by_group[group[at]] < cap:
                pairs[at] += 1
                by_group[group[at]] += 1
                left -= 1
        if left == before:
            break
    return pairs
