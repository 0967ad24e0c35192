"""The 16 stubs of an episode: about 10 related ones, filled from the top, and 6 controls.

Stubs are drawn by gene and line alone; no outcome is looked at.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bed.episodes.depmap.partners import Partners
from bed.episodes.depmap.screen import Screen
from bed.episodes.pools import NUM_RELATED, POOL_SIZE, filled
from bed.seeds import generator

__all__ = ["CONTROL", "STATE", "Draw", "Pool", "PoolMaker"]

STATE, CONTROL = 5, 6
"""Tiers of the gene's own molecular state, and of unrelated genes."""

_WANTED = {0: (4, 3, 3), 1: (3, 3, 3), 2: (3, 3, 2), 3: (3, 2, 2)}
"""Number of stubs on the gene's state -> wanted stubs of tiers 1, 2 and 3."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One stub: an assay of a gene in a line, by index, and its tier."""

    kind: str
    gene: int
    line: int
    tier: int


@dataclass(frozen=True, slots=True)
class Pool:
    """The stubs of one target in shuffled order, and by how many each tier fell short."""

    draws: tuple[Draw, ...]
    short: Counter[str]


class PoolMaker:
    """Draws pools from a screen.

    Args:
        screen: the aligned tables.
        partners: the co-essential partners of each gene.
        training: which genes are training genes; only these are knocked out beside the target's.
        seed: the run seed.
    """

    def __init__(
        self, screen: Screen, partners: Partners, training: NDArray[np.bool_], seed: int
    ) -> None:
        self._screen, self._partners, self._seed = screen, partners, seed
        self._measured = screen.measured()
        self._rnai = None if screen.rnai is None else ~np.isnan(screen.rnai)
        self._training = np.flatnonzero(training)
        codes = {name: code for code, name in enumerate(sorted(set(screen.lineages)))}
        self._lineage = [codes[name] for name in screen.lineages]
        self._members = [np.flatnonzero(np.array(self._lineage) == c) for c in codes.values()]
        self._related: dict[int, NDArray[np.bool_]] = {}

    def draw(self, gene: int, line: int) -> Pool | None:
        """Return the pool of the target (gene, line), or None where 16 stubs cannot be found."""
        screen = self._screen
        rng = generator(self._seed, "pool", screen.genes[gene], screen.lines[line])
        state = [Draw(kind, gene, line, STATE) for kind in self._state_kinds(gene, line)]
        sources = {
            1: self._other_lines(rng, gene, line, 1),
            2: self._other_lines(rng, gene, line, 2),
            3: self._partners_in(gene, line),
        }
        wanted = dict(zip(sources, _WANTED[len(state)], strict=True))
        related, short = filled(sources, wanted, NUM_RELATED - len(state))
        related += state
        control = list(self._controls(rng, gene, line, POOL_SIZE - len(related)))
        draws = related + control
        if len(draws) < POOL_SIZE:
            return None
        return Pool(tuple(draws[i] for i in rng.permutation(POOL_SIZE)), short)

    def _state_kinds(self, gene: int, line: int) -> Iterator[str]:
        screen = self._screen
        for kind, table in (("expression", screen.expression), ("copy_number", screen.copy_number)):
            if table is not None and not np.isnan(table[gene, line]):
                yield kind
        if screen.mutations is not None and screen.lines[line] in screen.mutations.lines:
            yield "mutation"

    def _other_lines(self, rng: Generator, gene: int, line: int, tier: int) -> Iterator[Draw]:
        """Yield the gene in other lines; the second stub by RNAi where there is one."""
        own = self._lineage[line]
        codes = [own] if tier == 1 else [c for c in rng.permutation(len(self._members)) if c != own]
        used = {line}
        knockouts = self._visited(rng, codes, self._measured[gene], used)
        yield from (Draw("knockout", gene, at, tier) for at in islice(knockouts, 1))
        if self._rnai is not None:
            knockdowns = self._visited(rng, codes, self._rnai[gene], used)
            yield from (Draw("knockdown", gene, at, tier) for at in islice(knockdowns, 1))
        yield from (Draw("knockout", gene, at, tier) for at in knockouts)

    def _visited(
        self, rng: Generator, codes: list[int], known: NDArray[np.bool_], used: set[int]
    ) -> Iterator[int]:
        """Yield lines not used yet, in random order: one of each lineage before a second."""
        queues = [self._shuffled(rng, code) for code in codes]
        while queues:
            left = []
            for queue in queues:
                found = next((at for at in queue if known[at] and at not in used), None)
                if found is not None:
                    used.add(found)
                    left.append(queue)
                    yield found
            queues = left

    def _shuffled(self, rng: Generator, code: int) -> Iterator[int]:
        yield from rng.permutation(self._members[code]).tolist()

    def _partners_in(self, gene: int, line: int) -> Iterator[Draw]:
        for partner, _ in self._partners.top[gene]:
            if self._measured[partner, line]:
                yield Draw("knockout", partner, line, 3)

    def _controls(self, rng: Generator, gene: int, line: int, num: int) -> Iterator[Draw]:
        if gene not in self._related:
            self._related[gene] = self._partners.related(gene)
        if not len(self._training):
            return
        related, seen = self._related[gene], set[int]()
        # A few random tries nearly always do; shuffling thousands of genes would be slow.
        tries = self._training[rng.integers(len(self._training), size=4 * num)]
        for order in (lambda: tries, lambda: rng.permutation(self._training)):
            for found in order():
                if len(seen) == num:
                    return
                if found not in seen and self._measured[found, line] and not related[found]:
                    seen.add(int(found))
                    yield Draw("knockout", int(found), line, CONTROL)
