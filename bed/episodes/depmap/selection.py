"""Which (gene, line) pairs become targets.

1. A gene offers at most 16 target lines, chosen blind; fewer where there are genes to spare.
2. Every context (a line, and which assays tell of the gene's state in it) gives as many supported
   as unsupported targets, so none of their names says anything about the label; no lineage gives
   more than about 15 %.
3. Inside a context and label, targets are drawn without replacement with a weight by sufficiency
   (rich, moderate, poor) and, among negatives, by verdict (inconclusive, refuted). The weights are
   fitted so that sufficiency comes to thirds and negatives to 85:15 over the split.

The weights know the label only through the verdict of negatives, so that P(label | pool) is the
natural one up to the odds of the context: sufficiency keeps its meaning as evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bed.episodes.depmap.pools import Pool
from bed.seeds import generator

__all__ = [
    "LINEAGE_SHARE",
    "REFUTED_SHARE",
    "RICH_FROM",
    "TARGETS_PER_GENE",
    "Candidate",
    "select",
    "sufficiency",
]

TARGETS_PER_GENE = 16
LINEAGE_SHARE = 0.15
REFUTED_SHARE = 0.15
RICH_FROM = 4
_ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible target, by index, with its pool.

    Attributes:
        gene: index of the gene.
        line: index of the line.
        lineage: the line's lineage.
        context: what labels are balanced within.
        label: whether the held-out knockout supports the claim.
        refuted: whether it refutes the claim.
        num_supporting: supporting related stubs in the pool.
        pool: the stubs.
    """

    gene: int
    line: int
    lineage: str
    context: str
    label: bool
    refuted: bool
    num_supporting: int
    pool: Pool


def sufficiency(num_supporting: int) -> int:
    """Return 2 for rich, 1 for moderate, 0 for poor."""
    return 2 if num_supporting >= RICH_FROM else int(num_supporting > 0)


def select(candidates: Sequence[Candidate], num: int, seed: int, split: str) -> list[Candidate]:
    """Return at most `num` candidates, half of them supported in every context.

    Args:
        candidates: of one split.
        num: episodes wanted.
        seed: the run seed.
        split: names the draws.
    """
    if not candidates:
        return []
    names = sorted({found.context for found in candidates})
    context = np.searchsorted(np.array(names), np.array([found.context for found in candidates]))
    label = np.array([found.label for found in candidates])
    pairs = _pairs_per_context(candidates, num // 2, seed, split)
    group = context * 2 + label
    quota = np.array([pairs.get(found.context, 0) for found in candidates])
    level = np.array([sufficiency(found.num_supporting) for found in candidates])
    refuted = np.array([found.refuted for found in candidates]) & ~label
    noise = generator(seed, "select", split).gumbel(size=len(candidates))
    chosen = _fitted(group, quota, level, label, refuted, noise)
    return [found for found, taken in zip(candidates, chosen, strict=True) if taken]


def _fitted(
    group: NDArray[np.int64],
    quota: NDArray[np.int64],
    level: NDArray[np.int64],
    label: NDArray[np.bool_],
    refuted: NDArray[np.bool_],
    noise: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return the draw whose shares of sufficiency and of refuted negatives are nearest to wanted.

    Raking: a share that is too small has its log weight raised, round by round.
    """
    weights, odds = np.zeros(3), 0.0
    best, least = np.zeros(len(group), dtype=bool), np.inf
    has_refuted = bool(refuted.any())
    for _ in range(_ROUNDS):
        chosen = _top(group, quota, weights[level] + odds * refuted + noise)
        if not chosen.any():
            return chosen
        shares = np.bincount(level[chosen], minlength=3) / chosen.sum()
        share = refuted[chosen].sum() / max((~label[chosen]).sum(), 1)
        miss = float(np.abs(shares - 1 / 3).sum()) + has_refuted * abs(share - REFUTED_SHARE)
        if miss < least:
            best, least = chosen, miss
        weights = np.clip(weights + 0.5 * np.log((1 / 3) / np.maximum(shares, 1e-3)), -6, 6)
        odds = float(np.clip(odds + 0.5 * np.log(REFUTED_SHARE / max(share, 1e-3)), -6, 6))
    return best


def _top(
    group: NDArray[np.int64], quota: NDArray[np.int64], score: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return the `quota` best of each group: with Gumbel noise, a weighted draw."""
    order = np.lexsort((-score, group))
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    chosen = np.zeros(len(group), dtype=bool)
    chosen[order] = rank < quota[order]
    return chosen


def _pairs_per_context(
    candidates: Sequence[Candidate], num: int, seed: int, split: str
) -> dict[str, int]:
    """Return how many pairs (supported, unsupported) each context gives, as evenly as can be."""
    counts: dict[str, list[int]] = {}
    lineage: dict[str, str] = {}
    for found in candidates:
        counts.setdefault(found.context, [0, 0])[found.label] += 1
        lineage[found.context] = found.lineage
    room = {at: min(both) for at, both in sorted(counts.items()) if min(both)}
    if not room:
        return {}
    share = max(LINEAGE_SHARE, 1.5 / len({lineage[at] for at in room}))
    names = list(room)
    order = [names[i] for i in generator(seed, "contexts", split).permutation(len(names))]
    total = min(num, sum(room.values()))
    # A lineage's share is of what is reached in the end, so the cap shrinks until both agree.
    while True:
        pairs = _dealt(order, room, lineage, total, max(1, int(share * total)))
        if (reached := sum(pairs.values())) == total:
            return pairs
        total = reached


def _dealt(
    order: list[str], room: dict[str, int], lineage: dict[str, str], total: int, cap: int
) -> dict[str, int]:
    pairs = dict.fromkeys(order, 0)
    by_lineage = dict.fromkeys(lineage.values(), 0)
    left = total
    while left:
        before = left
        for at in order:
            if left and pairs[at] < room[at] and by_lineage[lineage[at]] < cap:
                pairs[at] += 1
                by_lineage[lineage[at]] += 1
                left -= 1
        if left == before:
            break
    return pairs
