"""Which (SNP, trait) pairs are claimed, and in which direction.

1. A pair needs a mapped gene and a reported allele and direction; it lies outside the MHC and is
   not textbook knowledge. Of several studies the seed draws the one that is held out.
2. A locus and trait give one target, and genes and papers are capped. None of this looks at p.
3. Significant pairs claim the measured direction, or, for a part of them that the seed draws, the
   other one, which the measurement refutes. Pairs below the threshold claim a direction drawn from
   those of the trait's significant pairs in the split, never their own: the catalog states odds
   ratios for the allele that raises the risk, so an even draw would give labels away.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bed.episodes.building import Progress
from bed.episodes.gwas.facts import Facts
from bed.episodes.gwas.loci import is_in_mhc
from bed.episodes.gwas.pools import Pool, PoolMaker
from bed.episodes.gwas.splits import Splits
from bed.episodes.selection import Candidate
from bed.episodes.split import SHARES
from bed.seeds import derive_seed, uniform

__all__ = [
    "TARGETS_PER_GENE",
    "TARGETS_PER_PAPER",
    "TEXTBOOK_STUDIES",
    "Target",
    "Targets",
]

TEXTBOOK_STUDIES = 8
"""Papers that report a (gene, trait) or (locus, trait) from which on it is textbook knowledge.

FTO and obesity, APOE and Alzheimer's disease have dozens in a full catalog; in that of 2015, eight
papers already single out the best known half per cent.
"""
TARGETS_PER_GENE = 8
TARGETS_PER_PAPER = 100
_FLIPPED = 0.15
_OFFERED_PER_EPISODE = 10
"""Targets drawn for each episode wanted: balance within traits leaves most of them over."""
_SEVERAL = 3
_OTHER = {"increases": "decreases", "decreases": "increases"}
_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Target:
    """A claim on an association.

    Attributes:
        at: index of the held-out association.
        direction: claimed, "increases" or "decreases".
        pool: its stubs.
    """

    at: int
    direction: str
    pool: Pool


class Targets:
    """Finds the targets of a catalog.

    Args:
        facts: the associations.
        splits: the rule of splitting.
        maker: draws the pools.
        seed: of the build.
    """

    def __init__(self, facts: Facts, splits: Splits, maker: PoolMaker, seed: int) -> None:
        self._facts, self._splits, self._maker, self._seed = facts, splits, maker, seed
        self._textbook = _textbook(facts)
        self.excluded: Counter[str] = Counter()

    def candidates(
        self, wanted: Mapping[str, int], progress: Progress
    ) -> dict[str, list[Candidate[Target]]]:
        """Return the possible targets of each split.

        Args:
            wanted: split -> episodes.
            progress: told how far the drawing of pools is.
        """
        offered = self._offered(wanted, progress)
        found: dict[str, list[Candidate[Target]]] = {split: [] for split in SHARES}
        for (split, _), pools in sorted(offered.items()):
            found[split] += self._claimed(split, pools)
        return found

    def _offered(
        self, wanted: Mapping[str, int], progress: Progress
    ) -> dict[tuple[str, str], dict[int, Pool]]:
        """Return (split, reported trait) -> held-out associations with their pools.

        By the reported name and not by the trait under all of its names: the name is what a claim
        shows, so it is within the name that labels must be balanced.
        """
        places = self._places()
        genes: Counter[str] = Counter()
        papers: Counter[str] = Counter()
        num: Counter[str] = Counter()
        offered: dict[tuple[str, str], dict[int, Pool]] = defaultdict(dict)
        order = sorted(places, key=lambda place: derive_seed(self._seed, "place", *place))
        for done, place in enumerate(order):
            progress("drawing pools", done + 1, len(order))
            free = [at for at in places[place] if self._is_free(at, genes, papers, num, wanted)]
            drawn = ((at, self._maker.draw(at)) for at in free)
            found = next(((at, pool) for at, pool in drawn if pool is not None), None)
            if found is None:
                reason = "too few related stubs" if free else "gene, paper or split full"
                self.excluded[f"loci of a trait: {reason}"] += 1
                continue
            at, pool = found
            self.excluded["pairs: another SNP of the locus stands for the trait"] += (
                len(places[place]) - 1
            )
            offered[str(self._splits.split(at)), self._facts.associations[at].trait][at] = pool
            genes.update(self._facts.associations[at].genes)
            papers[self._facts.associations[at].paper] += 1
            num[str(self._splits.split(at))] += 1
        return offered

    def _is_free(
        self,
        at: int,
        genes: Counter[str],
        papers: Counter[str],
        num: Counter[str],
        wanted: Mapping[str, int],
    ) -> bool:
        found, split = self._facts.associations[at], str(self._splits.split(at))
        return (
            max(genes[gene] for gene in found.genes) < TARGETS_PER_GENE
            and papers[found.paper] < TARGETS_PER_PAPER
            and num[split] < _OFFERED_PER_EPISODE * wanted[split]
        )

    def _places(self) -> dict[_Place, list[int]]:
        """Return (locus, trait) -> one held-out association a SNP, in random order."""
        pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
        for at, found in enumerate(self._facts.associations):
            pairs[found.snp, self._facts.traits[at]].append(at)
        places: dict[_Place, list[int]] = defaultdict(list)
        for _, reports in sorted(pairs.items()):
            reason, usable = self._usable(reports)
            if reason:
                self.excluded[f"pairs: {reason}"] += 1
                continue
            chosen = min(usable, key=lambda at: self._draw("held out", at))
            places[self._facts.loci[chosen], self._facts.traits[chosen]].append(chosen)
        for found_here in places.values():
            found_here.sort(key=lambda at: self._draw("stands for the locus", at))
        return places

    def _usable(self, reports: list[int]) -> tuple[str, list[int]]:
        """Return the reports of a pair that may be held out, or the reason why there are none."""
        known = [(at, self._facts.associations[at]) for at in reports]
        if any(is_in_mhc(a.region, a.chromosome, a.position) for _, a in known):
            return "in the MHC", []
        if any(name in self._textbook for at in reports for name in _names(self._facts, at)):
            return f"textbook, in {TEXTBOOK_STUDIES} papers or more", []
        if not (known := [(at, found) for at, found in known if found.genes]):
            return "no mapped gene", []
        if not (known := [(at, found) for at, found in known if found.allele and found.direction]):
            return "allele or direction not reported", []
        usable = [at for at, _ in known if self._splits.split(at) is not None]
        return ("" if usable else "no date of publication"), usable

    def _claimed(self, split: str, pools: Mapping[int, Pool]) -> Iterator[Candidate[Target]]:
        """Yield the claims on the associations of one trait in one split."""
        facts = self._facts.associations
        significant = sorted(at for at in pools if facts[at].is_significant)
        flipped = set(self._flipped(significant))
        claimed = sorted(set(significant) - flipped, key=lambda at: self._draw("claim", at))
        directions = [str(facts[at].direction) for at in claimed]
        if not directions:
            self.excluded["targets: nothing significant on the trait in the split"] += len(pools)
            return
        nulls = sorted(set(pools) - set(significant), key=lambda at: self._draw("null", at))
        turns = {at: directions[i % len(directions)] for i, at in enumerate(nulls)}
        for at, pool in sorted(pools.items()):
            measured = str(facts[at].direction)
            if at in flipped:
                direction = _OTHER[measured]
            elif facts[at].is_significant:
                direction = measured
            else:
                direction = turns[at]
            yield Candidate(
                unit=self._facts.loci[at],
                group=self._facts.traits[at],
                context=f"{facts[at].trait}: {direction}, {_several(len(pool.related))} related",
                label=facts[at].is_significant and at not in flipped,
                refuted=at in flipped,
                num_conclusive=sum(facts[stub].is_significant for stub in pool.related),
                content=Target(at, direction, pool),
            )

    def _flipped(self, significant: Iterable[int]) -> Iterator[int]:
        """Yield those that claim the wrong direction, where the trait is seen to go both ways."""
        both = {self._facts.associations[at].direction for at in significant}
        if len(both) == 2:
            yield from (at for at in significant if uniform(self._draw("flip", at)) < _FLIPPED)

    def _draw(self, what: str, at: int) -> int:
        return derive_seed(self._seed, what, self._facts.associations[at].id)


def _several(num: int) -> str:
    """Return a number as far as labels are balanced within it.

    Known loci have more neighbours in the catalog, so that their number would tell the label.
    """
    return str(num) if num < _SEVERAL else f"{_SEVERAL} or more"


def _names(facts: Facts, at: int) -> Iterator[tuple[str, str, str]]:
    """Yield what textbooks know an association by: gene and trait, locus and trait."""
    yield ("locus", facts.loci[at], facts.traits[at])
    yield from (("gene", gene, facts.traits[at]) for gene in facts.associations[at].genes)


def _textbook(facts: Facts) -> frozenset[tuple[str, str, str]]:
    """Return the pairs that at least 8 papers report."""
    papers: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for at, found in enumerate(facts.associations):
        for name in _names(facts, at):
            papers[name].add(found.paper)
    return frozenset(name for name, seen in papers.items() if len(seen) >= TEXTBOOK_STUDIES)
