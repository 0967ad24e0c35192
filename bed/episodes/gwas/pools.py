"""The 16 stubs of a target: related associations, filled from the top, and controls.

Stubs are drawn by SNP, gene, place, trait and study; no result is looked at.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from bed.domains.gwas import UNRELATED, between
from bed.episodes.gwas.facts import Facts
from bed.episodes.gwas.splits import Splits
from bed.episodes.pools import NUM_RELATED, POOL_SIZE, filled
from bed.seeds import derive_seed, generator

__all__ = ["WANTED", "Pool", "PoolMaker"]

WANTED = {1: 3, 2: 3, 3: 2, 4: 1, 5: 1}
"""Tier -> stubs wanted of it."""
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Pool:
    """The stubs of one target in shuffled order.

    Attributes:
        stubs: indices of associations.
        related: those of them that are no controls.
        short: by how many each tier fell short.
    """

    stubs: tuple[int, ...]
    related: frozenset[int]
    short: Counter[str]


class PoolMaker:
    """Draws pools from a catalog.

    Args:
        facts: the associations.
        splits: which stubs a pool may hold.
        min_related: fewest related stubs of a pool.
        seed: of the build.
    """

    def __init__(self, facts: Facts, splits: Splits, min_related: int, seed: int) -> None:
        self._facts, self._splits, self._seed = facts, splits, seed
        self._min_related = min_related
        self._index: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in range(len(facts.associations)):
            for name in self._names(at):
                self._index[name].append(at)
        indices = range(len(facts.associations))
        self._controls = np.array([at for at in indices if splits.may_control(at)], dtype=int)

    def _names(self, at: int) -> Iterator[tuple[str, ...]]:
        """Yield what related associations have in common with this one."""
        known, trait = self._facts[at], self._facts.traits[at]
        yield ("snp", known["snp"])
        yield from (("gene", gene) for gene in known.get("genes", ()))
        yield from (("pathway", trait, name) for name in known.get("pathways", ()))
        yield from ((n, trait, known[n]) for n in ("chromosome", "region") if n in known)

    def draw(self, target: int) -> Pool | None:
        """Return the target's pool, or None with too few related stubs or fewer than 16 in all.

        Args:
            target: index of the target's association.
        """
        tiers: dict[int, list[int]] = {tier: [] for tier in WANTED}
        for at in self._nearby(target):
            tier = between(self._facts[target], self._facts[at]).tier
            if tier in tiers:
                tiers[tier].append(at)
        seen: set[tuple[str, ...]] = set()
        sources = {
            tier: self._once(self._by_study(target, found), seen) for tier, found in tiers.items()
        }
        related, short = filled(sources, WANTED, NUM_RELATED)
        if len(related) < self._min_related:
            return None
        stubs = related + list(self._unrelated(target, seen, POOL_SIZE - len(related)))
        if len(stubs) < POOL_SIZE:
            return None
        order = generator(self._seed, "order in pool", self._name(target)).permutation(POOL_SIZE)
        return Pool(tuple(stubs[i] for i in order), frozenset(related), short)

    def _nearby(self, target: int) -> set[int]:
        """Return what may be related, without the target's own pair under any study or name."""
        found = {at for name in self._names(target) for at in self._index[name]}
        return {
            at
            for at in found
            if self._splits.may_show(target, at) and not self._is_same_pair(target, at)
        }

    def _is_same_pair(self, one: int, other: int) -> bool:
        """Return whether two associations are of one trait and one SNP, by name or by place."""
        if self._facts.traits[one] != self._facts.traits[other]:
            return False
        here, there = self._facts.associations[one], self._facts.associations[other]
        if here.snp == there.snp:
            return True
        place = (here.chromosome, here.position)
        return None not in place and place == (there.chromosome, there.position)

    def _by_study(self, target: int, found: Iterable[int]) -> list[int]:
        """Return stubs in random order, those of other papers than the target's first."""
        own, name = self._facts.associations[target].paper, self._name(target)

        def place(at: int) -> tuple[bool, int]:
            stub = self._facts.associations[at]
            return stub.paper == own, derive_seed(self._seed, "stub", name, stub.id)

        return sorted(found, key=place)

    def _once(self, found: Iterable[int], seen: set[tuple[str, ...]]) -> Iterator[int]:
        """Yield at most one stub a SNP and trait, and one a locus, trait and paper.

        The other SNPs that a paper reports in a locus are mostly copies by linkage.
        """
        for at in found:
            trait, stub = self._facts.traits[at], self._facts.associations[at]
            keys = {("snp", stub.snp, trait), ("locus", self._facts.loci[at], trait, stub.paper)}
            if seen.isdisjoint(keys):
                seen |= keys
                yield at

    def _unrelated(self, target: int, seen: set[tuple[str, ...]], num: int) -> Iterator[int]:
        """Yield controls: first from other papers, and from any paper where these give too few."""
        rng = generator(self._seed, "controls", self._name(target))
        if not len(self._controls):
            return
        tries = self._controls[rng.integers(len(self._controls), size=_TRIES * num)].tolist()
        own = self._facts.associations[target].paper
        others = [at for at in tries if self._facts.associations[at].paper != own]
        for order in (lambda: others, lambda: rng.permutation(self._controls).tolist()):
            unrelated = (at for at in order() if self._is_control(target, at))
            for at in self._once(unrelated, seen):
                yield at
                num -= 1
                if not num:
                    return

    def _is_control(self, target: int, at: int) -> bool:
        return (
            self._facts.loci[at] != self._facts.loci[target]
            and self._splits.may_show(target, at)
            and between(self._facts[target], self._facts[at]) == UNRELATED
        )

    def _name(self, at: int) -> str:
        return self._facts.associations[at].id
