"""The DepMap builder: tables and one seed in, an episode file out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from bed.domains.depmap import FUNCTIONAL
from bed.episodes.building import Progress, drawn, episode_file, wanted
from bed.episodes.depmap.claims import Writer
from bed.episodes.depmap.partners import Partners, is_reference
from bed.episodes.depmap.pools import CONTROL, STATE, Draw, Pool, PoolMaker
from bed.episodes.depmap.screen import EXPRESSED_FROM, Screen, Tables, load
from bed.episodes.depmap.tables import BINS
from bed.episodes.files import EpisodeFile
from bed.episodes.selection import Candidate, Quotas
from bed.episodes.split import SHARES, split_of
from bed.seeds import generator

__all__ = ["QUOTAS", "SELECTIVE", "TARGETS_PER_GENE", "build_depmap"]

BUILDER = "depmap/2"
SELECTIVE = (0.05, 0.95)
TARGETS_PER_GENE = 16
QUOTAS = Quotas(group_share=0.15, refuted_share=0.15)
"""A lineage gives at most 15 % of a split; 15 % of negatives are refuted."""
MIN_LINES = 10
CANDIDATES_PER_EPISODE, CANDIDATES_PER_LINE = 4, 10
"""Enough to choose from: balance within lines and thirds of sufficiency need some slack."""


@dataclass(frozen=True, slots=True)
class Target:
    """A gene in a line, by index, with its pool."""

    gene: int
    line: int
    pool: Pool


def build_depmap(
    tables: Tables,
    seed: int = 0,
    max_episodes: int = 6000,
    progress: Progress = lambda stage, done, total: None,
) -> EpisodeFile:
    """Build balanced episodes, split by gene.

    Args:
        tables: the input files.
        seed: everything random hangs on it.
        max_episodes: at most so many, 60:10:30 over train, validation and test.
        progress: told how far the build is.

    Raises:
        DataError: for malformed tables, or tables that give no episode at all.
    """
    num = wanted(max_episodes)
    screen = load(tables, lambda stage: progress(stage, 0, 0))
    targets = _Targets(screen, seed)
    candidates = targets.candidates(num, progress)
    writer = Writer(screen, targets.partners)
    found = drawn(
        candidates,
        num,
        seed,
        dict.fromkeys(num, QUOTAS),
        lambda split, item: writer.episode(
            item.content.gene, item.content.line, item.content.pool, split
        ),
        excluded=targets.excluded,
        lacking="no line offers both a supported and an unsupported target with 16 stubs",
        progress=progress,
    )
    return episode_file(
        "depmap",
        seed,
        BUILDER,
        found,
        inputs=tables,
        excluded=targets.excluded,
        notes=list(_notes(screen)),
        more={
            "absent": tables.absent(),
            "num_reference_lines": targets.num_reference,
            "partner_floor": round(targets.partners.floor, 3),
        },
    )


def _notes(screen: Screen) -> Iterator[str]:
    """Yield what a reader must know of the tables."""
    if screen.is_binned:
        yield "binned effects: negatives have no refuted class"
    elif screen.probability is None:
        yield "no probability table: the effect alone decides"
    if screen.expression is None:
        yield "no expression table: genes that a line does not express may be targets"
    if screen.mutations is not None:
        yield "the mutation table lists mutations only: no record means not reported"


class _Targets:
    """Finds the targets of a screen.

    Args:
        screen: the aligned tables.
        seed: of the build.
    """

    def __init__(self, screen: Screen, seed: int) -> None:
        self._screen, self._seed = screen, seed
        self._measured, self._supported = screen.measured(), screen.supported()
        self._splits = [split_of(seed, "depmap", gene) for gene in screen.genes]
        training = np.array([split == "train" for split in self._splits])
        screened = self._measured.any(axis=0)
        reference = np.array([is_reference(seed, line) for line in screen.lines])
        self._target_lines = screened & ~reference
        self.num_reference = int((screened & reference).sum())
        self.partners = Partners(screen.genes, screen.effect[:, screened & reference], training)
        self._maker = PoolMaker(screen, self.partners, training, seed)
        self._refuted = screen.refuted()
        self._knocked_down = None if screen.rnai is None else screen.rnai >= BINS["dependency"]
        self.excluded: Counter[str] = Counter(screen.excluded)

    def candidates(
        self, wanted: dict[str, int], progress: Progress
    ) -> dict[str, list[Candidate[Target]]]:
        """Return possible targets of each split, several times as many as are wanted."""
        found: dict[str, list[Candidate[Target]]] = {split: [] for split in SHARES}
        genes = self._selective()
        num_genes = Counter(self._splits[gene] for gene in genes)
        least = CANDIDATES_PER_LINE * int(self._target_lines.sum())
        for done, gene in enumerate(genes):
            split = self._splits[gene]
            num = max(CANDIDATES_PER_EPISODE * wanted[split], least)
            offered = min(TARGETS_PER_GENE, ceil(num / num_genes[split]))
            found[split] += self._of_gene(gene, offered)
            progress("drawing pools", done + 1, len(genes))
        return found

    def _selective(self) -> list[int]:
        """Return the genes that are dependencies in 5-95 % of lines."""
        num = self._measured.sum(axis=1)
        rate = self._supported.sum(axis=1) / np.maximum(num, 1)
        rare, common = (num >= MIN_LINES) & (rate < SELECTIVE[0]), rate > SELECTIVE[1]
        self.excluded["genes measured in fewer than 10 lines"] = int((num < MIN_LINES).sum())
        self.excluded["genes that are dependencies in under 5 % of lines"] = int(rare.sum())
        self.excluded["genes that are dependencies in over 95 % of lines"] = int(
            (common & (num >= MIN_LINES)).sum()
        )
        return [int(at) for at in np.flatnonzero((num >= MIN_LINES) & ~rare & ~common)]

    def _of_gene(self, gene: int, offered: int) -> Iterator[Candidate[Target]]:
        screen = self._screen
        lines = np.flatnonzero(self._target_lines & self._measured[gene])
        if screen.expression is not None:
            silent = screen.expression[gene, lines] < EXPRESSED_FROM
            self.excluded["targets not expressed in the line"] += int(silent.sum())
            lines = lines[~silent]
        rng = generator(self._seed, "target lines", screen.genes[gene])
        for line in rng.permutation(lines)[:offered]:
            pool = self._maker.draw(gene, int(line))
            if pool is None:
                self.excluded["targets with fewer than 16 stubs"] += 1
                continue
            yield Candidate(
                unit=screen.genes[gene],
                group=screen.lineages[line],
                context=":".join(
                    [screen.lines[line], *sorted(d.kind for d in pool.draws if d.tier == STATE)]
                ),
                label=bool(self._supported[gene, line]),
                refuted=bool(self._refuted[gene, line]),
                num_conclusive=sum(map(self._supports, pool.draws)),
                content=Target(gene, int(line), pool),
            )

    def _supports(self, draw: Draw) -> bool:
        """Return whether a related stub supports its own h'; only knock-outs and -downs can."""
        if draw.tier == CONTROL or draw.kind not in FUNCTIONAL:
            return False
        table = self._supported if draw.kind == "knockout" else self._knocked_down
        return table is not None and bool(table[draw.gene, draw.line])
