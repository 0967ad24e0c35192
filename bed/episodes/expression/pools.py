"""The stubs of an episode: about 10 related ones, filled from the top, and 6 controls.

All stubs but the summary measure the target's gene. Contrasts of one perturbation in one context
are near-copies, so the target's siblings are never drawn, and no place (perturbation, context) is
drawn from twice. Contrasts of one context that were analysed together share their controls; they
come last within their tier. Controls are drawn blind. How many related stubs are to be conclusive
is drawn first, poor, moderate or rich with equal odds, without a look at the target's own outcome;
real tables would otherwise give few rich pools, because one gene in twenty responds to a
perturbation.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from bed.domains.expression import CONTROL_TIER
from bed.episodes.expression.measurements import Measurements
from bed.episodes.pools import NUM_RELATED, POOL_SIZE, filled
from bed.seeds import generator

__all__ = ["MIN_RELATED", "MIN_STUBS", "SUMMARY_TIER", "WANTED", "Draw", "Pool", "PoolMaker"]

MIN_STUBS, MIN_RELATED = 4, 2
"""A small table gives smaller pools, down to this."""
SUMMARY_TIER = 4
CONCLUSIVE = ((0,), (1, 2, 3), (4, 5, 6))
"""Numbers of conclusive related stubs in poor, moderate and rich pools."""
WANTED = {1: 4, 2: 3, 3: 2, SUMMARY_TIER: 1}
"""Tier -> stubs wanted of it."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One stub: the target's gene in a contrast, by index, or that contrast's summary.

    Attributes:
        contrast: index.
        tier: as the target sees it.
        shares_controls: whether the contrast was analysed together with the target's.
    """

    contrast: int
    tier: int
    shares_controls: bool = False

    @property
    def is_related_measurement(self) -> bool:
        """Whether it is neither a control nor a summary."""
        return self.tier not in (SUMMARY_TIER, CONTROL_TIER)


@dataclass(frozen=True, slots=True)
class Pool:
    """The stubs of one target in shuffled order, and by how many each tier fell short."""

    draws: tuple[Draw, ...]
    short: Counter[str]


class PoolMaker:
    """Draws pools.

    Args:
        measurements: all tables.
        classes: the classes of each contrast's perturbation.
        summarised: which contrasts have a summary.
        seed: of the build.
    """

    def __init__(
        self,
        measurements: Measurements,
        classes: Sequence[tuple[str, ...]],
        summarised: NDArray[np.bool_],
        seed: int,
    ) -> None:
        self._genes, self._contrasts = measurements.genes, measurements.contrasts
        self._measured, self._summarised, self._seed = measurements.measured(), summarised, seed
        self._conclusive = measurements.significant() != 0
        places = sorted({contrast.place for contrast in self._contrasts})
        index = {place: i for i, place in enumerate(places)}
        self._place = np.array([index[contrast.place] for contrast in self._contrasts])
        self._tier = self._tiers(classes)
        self._together = measurements.analysed_together()

    def _tiers(self, classes: Sequence[tuple[str, ...]]) -> NDArray[np.int8]:
        """Return the tier of each contrast to each other; 0 to itself and its siblings."""
        agent = _codes([contrast.perturbation for contrast in self._contrasts])
        where = _codes([contrast.context for contrast in self._contrasts])
        names = {name: i for i, name in enumerate(sorted({n for own in classes for n in own}))}
        member = np.zeros((len(classes), len(names)), dtype=np.float32)
        for i, own in enumerate(classes):
            member[i, [names[name] for name in own]] = 1
        same_place = where[:, None] == where
        tier = np.where(same_place, 3, CONTROL_TIER)
        tier[member @ member.T > 0] = 2
        same_agent = agent[:, None] == agent
        tier[same_agent] = 1
        tier[same_agent & same_place] = 0
        return tier.astype(np.int8)

    def draw(self, gene: int, contrast: int) -> Pool | None:
        """Return the pool of a target, or None where the table has too little to offer."""
        rng = generator(self._seed, "pool", self._genes[gene], self._contrasts[contrast].name)
        by_tier: dict[int, list[Draw]] = {tier: [] for tier in (1, 2, 3, CONTROL_TIER)}
        for at in self._in_random_order(rng, gene):
            if tier := int(self._tier[contrast, at]):
                by_tier[tier].append(Draw(int(at), tier, bool(self._together[contrast, at])))
        self._put_first(gene, by_tier, int(rng.choice(CONCLUSIVE[rng.integers(len(CONCLUSIVE))])))
        summary = [Draw(contrast, SUMMARY_TIER)] if self._summarised[contrast] else []
        sources = {tier: iter(by_tier.get(tier, summary)) for tier in WANTED}
        related, short = filled(sources, WANTED, NUM_RELATED)
        control = by_tier[CONTROL_TIER][: POOL_SIZE - len(related)]
        spare = list(islice(chain(*sources.values()), POOL_SIZE - len(related) - len(control)))
        draws = [*related, *control, *spare]
        if spare:
            short["controls replaced by related stubs"] += len(spare)
        if len(draws) < POOL_SIZE:
            short["stubs of a full pool"] += POOL_SIZE - len(draws)
        if len(draws) < MIN_STUBS or len(draws) - len(control) < MIN_RELATED:
            return None
        return Pool(tuple(draws[i] for i in rng.permutation(len(draws))), short)

    def _put_first(self, gene: int, by_tier: dict[int, list[Draw]], num: int) -> None:
        """Move `num` conclusive stubs to the front of the related tiers, the others to the end.

        What shares the target's controls comes last of all, conclusive or not.
        """
        for tier in (1, 2, 3):
            found = [draw for draw in by_tier[tier] if not draw.shares_controls]
            conclusive = [draw for draw in found if self._conclusive[gene, draw.contrast]]
            rest = [draw for draw in found if not self._conclusive[gene, draw.contrast]]
            shared = [draw for draw in by_tier[tier] if draw.shares_controls]
            by_tier[tier] = conclusive[:num] + rest + conclusive[num:] + shared
            num = max(0, num - len(conclusive))

    def _in_random_order(self, rng: np.random.Generator, gene: int) -> Iterator[int]:
        """Yield contrasts that measure the gene, one of each place."""
        order = np.lexsort(
            (rng.random(len(self._place)), rng.random(self._place.max() + 1)[self._place])
        )
        order = order[self._measured[gene, order]]
        firsts = np.unique(self._place[order], return_index=True)[1]
        yield from order[np.sort(firsts)].tolist()


def _codes(names: list[str]) -> NDArray[np.int64]:
    return np.unique(names, return_inverse=True)[1]
