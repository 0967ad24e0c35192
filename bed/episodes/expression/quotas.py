"""How many episodes one contrast may give.

The paper lets a cell line give 2 % of the episodes. Few tables have fifty contrasts that respond;
where they have not, the least share is taken with which the wanted number is still reached.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bed.episodes.selection import Candidate, Quotas

__all__ = ["QUOTAS", "level", "quotas_for"]

QUOTAS = Quotas(group_share=0.02, refuted_share=0.33)
"""A perturbation in a context gives at most 2 % of a split; a third of negatives are refuted."""
REACH = 0.8
"""Share of all possible episodes beyond which evenness counts for more than number."""


def level(sizes: ArrayLike, total: int) -> int:
    """Return the least cap with which groups of these sizes still give `total` together.

    Args:
        sizes: of the groups.
        total: wanted in all; more than there is gives the greatest size.
    """
    left, num_left = total, np.size(sizes)
    for size in np.sort(np.ravel(sizes)):
        if size * num_left >= left:
            return ceil(left / num_left)
        left, num_left = left - int(size), num_left - 1
    return int(np.max(sizes, initial=0))


def quotas_for(candidates: Sequence[Candidate[Any]], num: int) -> Quotas:
    """Return the quotas of one split.

    Args:
        candidates: of the split.
        num: episodes wanted.
    """
    labels: dict[str, list[int]] = {}
    group: dict[str, str] = {}
    for found in candidates:
        labels.setdefault(found.context, [0, 0])[found.label] += 1
        group[found.context] = found.group
    room: Counter[str] = Counter()
    for context, both in labels.items():
        room[group[context]] += min(both)
    total = min(num // 2, int(REACH * room.total()))
    if total < 1:
        return QUOTAS
    share = level(list(room.values()), total) / total
    return replace(QUOTAS, group_share=min(1.0, max(QUOTAS.group_share, share)))
