"""Which measurements are claimed in which direction.

A significant measurement is claimed as it is (supported) or, for a quarter of them, the other way
(refuted); never both. An insignificant one is claimed in a direction drawn by the seed, so that
its measured sign has no part in it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from bed.episodes.building import Progress
from bed.episodes.expression.measurements import Measurements
from bed.episodes.expression.pools import Pool, PoolMaker
from bed.episodes.expression.quotas import QUOTAS, level
from bed.episodes.selection import Candidate
from bed.seeds import generator

__all__ = ["TARGETS_PER_GENE", "Target", "candidates"]

TARGETS_PER_GENE = 24
REVERSED_SHARE = QUOTAS.refuted_share / (1 + QUOTAS.refuted_share)
"""Of significant measurements: as many refuted as a third of the supported."""
SUPPORTED_PER_EPISODE, UNCLEAR_PER_SUPPORTED = 2, 2
"""Enough to choose from: thirds of sufficiency need some slack."""


@dataclass(frozen=True, slots=True)
class Target:
    """A claim on a gene in a contrast, by index, with its pool."""

    gene: int
    contrast: int
    direction: str
    pool: Pool


def candidates(
    measurements: Measurements,
    allowed: NDArray[np.bool_],
    splits: NDArray[np.str_],
    wanted: Mapping[str, int],
    maker: PoolMaker,
    seed: int,
    progress: Progress,
) -> tuple[dict[str, list[Candidate[Target]]], Counter[str]]:
    """Return possible targets of each split, several times as many as are wanted.

    Args:
        measurements: all tables.
        allowed: which measurements may be targets.
        splits: one a gene.
        wanted: split -> episodes.
        maker: draws the pools.
        seed: of the build.
        progress: told how many pools are drawn.

    Returns:
        The candidates by split, and why others were left out.
    """
    significant = measurements.significant()
    claimed, noise = _drawn(measurements, significant, seed)
    excluded: Counter[str] = Counter()
    found: dict[str, list[Candidate[Target]]] = {split: [] for split in wanted}
    offered = list(_offered(allowed, significant, claimed, noise, splits, wanted))
    for done, (gene, contrast) in enumerate(offered, start=1):
        progress("drawing pools", done, len(offered))
        pool = maker.draw(gene, contrast)
        if pool is None:
            excluded["targets with too few stubs"] += 1
            continue
        at = measurements.contrasts[contrast]
        direction = "up" if claimed[gene, contrast] > 0 else "down"
        sign = int(significant[gene, contrast] * claimed[gene, contrast])
        related = [draw.contrast for draw in pool.draws if draw.is_related_measurement]
        found[str(splits[gene])].append(
            Candidate(
                unit=measurements.genes[gene],
                group=":".join(at.place),
                context=f"{at.name}:{direction}",
                label=sign > 0,
                refuted=sign < 0,
                num_conclusive=int(np.count_nonzero(significant[gene, related])),
                content=Target(gene, contrast, direction, pool),
            )
        )
    return found, excluded


def _drawn(
    measurements: Measurements, significant: NDArray[np.int8], seed: int
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return the claimed sign of every measurement, and a random number that ranks it."""
    num = len(measurements.contrasts)
    draws = np.stack(
        [generator(seed, "claims", gene).random((2, num)) for gene in measurements.genes]
    )
    side, rank = draws[:, 0], draws[:, 1]
    as_measured = np.where(side < REVERSED_SHARE, -significant, significant)
    drawn = np.where(side < 0.5, 1, -1)
    return np.where(significant != 0, as_measured, drawn).astype(np.int8), rank


def _offered(
    allowed: NDArray[np.bool_],
    significant: NDArray[np.int8],
    claimed: NDArray[np.int8],
    rank: NDArray[np.float64],
    splits: NDArray[np.str_],
    wanted: Mapping[str, int],
) -> Iterator[tuple[int, int]]:
    """Yield (gene, contrast) pairs, enough of each contrast, direction and verdict.

    Where a contrast and direction has few supported claims, it needs few others. Within these, and
    then among those of one gene, the pick is blind.
    """
    gene, contrast = np.nonzero(allowed)
    side, noise = claimed[gene, contrast], rank[gene, contrast]
    verdict = significant[gene, contrast] * side
    for split, num in wanted.items():
        inside = np.flatnonzero(splits[gene] == split)
        context = np.unique(2 * contrast[inside] + (side[inside] > 0), return_inverse=True)[1]
        supported = np.bincount(context[verdict[inside] > 0], minlength=context.max(initial=0) + 1)
        needed = ceil(SUPPORTED_PER_EPISODE * num / 2)
        supported = np.minimum(supported, level(supported, needed))
        most = supported[context] * np.where(verdict[inside] == 0, UNCLEAR_PER_SUPPORTED, 1)
        kept = inside[_firsts(3 * context + verdict[inside], noise[inside], most)]
        of_gene = np.full(len(kept), TARGETS_PER_GENE)
        kept = kept[_firsts(gene[kept], noise[kept], of_gene)]
        yield from zip(gene[kept].tolist(), contrast[kept].tolist(), strict=True)


def _firsts(
    group: NDArray[np.int64], rank: NDArray[np.float64], most: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where the lowest ranks of each group stand, at most `most` of it."""
    order = np.lexsort((rank, group))
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    return np.sort(order[place < most[order]])
