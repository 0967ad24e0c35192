"""How a pool of 16 is made up: about 10 related stubs, filled from the top, and 6 controls."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TypeVar

__all__ = ["NUM_RELATED", "POOL_SIZE", "filled"]

POOL_SIZE = 16
NUM_RELATED = 10

Drawn = TypeVar("Drawn")


def filled(
    sources: Mapping[int, Iterator[Drawn]], wanted: Mapping[int, int], total: int
) -> tuple[list[Drawn], Counter[str]]:
    """Take what is wanted of each tier, then make good what is missing from the top.

    Args:
        sources: tier -> its stubs in the order in which they are to be taken, best tier first.
        wanted: tier -> how many of it.
        total: how many in all.

    Returns:
        The stubs, and by how many each tier, and the whole, fell short.
    """
    related: list[Drawn] = []
    short: Counter[str] = Counter()
    for tier, source in sources.items():
        taken = list(islice(source, wanted[tier]))
        if missing := wanted[tier] - len(taken):
            short[f"tier {tier}"] += missing
        related += taken
    for source in sources.values():
        related += islice(source, total - len(related))
    if missing := total - len(related):
        short["related stubs replaced by controls"] += missing
    return related, short
