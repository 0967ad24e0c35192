"""Which queries travel together, and to which worker.

Queries about the same first piece of evidence share the beginning of their prompts: they go to one
worker, at this step of an episode and at the next, so that its server's prefix cache serves them.
"""

from collections.abc import Sequence
from itertools import pairwise

from bed.domains import canonical
from bed.evidence import Evidence, Hypothesis
from bed.protocols import BeliefQuery, OutcomeRequest
from bed.seeds import derive_seed

__all__ = ["FEWEST", "MOST", "Shard", "home_key", "shared_out"]

FEWEST = 50
"""Queries of one shard, where there are as many: fewer do not pay for the way."""

MOST = 512
"""Queries of one shard at most: what is on its way does not grow with the batch."""

_SHARDS_A_WORKER = 4
"""So many, or more, leave something to take over from a worker that is slow."""

Shard = list[int]
"""Places of queries in their batch."""


def home_key(query: BeliefQuery | OutcomeRequest) -> str:
    """Return what the queries have in common that should be answered by one worker.

    Args:
        query: its first piece of evidence decides, or where there is none its hypothesis.
    """
    if isinstance(query, BeliefQuery):
        return _key(query.hypothesis, query.evidence)
    return _key(query.experiment.hypothesis, query.evidence)


def _key(hypothesis: Hypothesis, evidence: Evidence) -> str:
    first = evidence[0].experiment if evidence else None
    text = (hypothesis.text,) if first is None else (first.id, first.hypothesis.text)
    # a digest: texts may be long, and batches large
    return f"{derive_seed(canonical(hypothesis.domain), *text):016x}"


def shared_out(keys: Sequence[str], num_workers: int) -> list[list[Shard]]:
    """Return the shards of each worker; every place stands in exactly one.

    What a worker has too little of for a shard is pooled with what others have too little of.

    Args:
        keys: of the queries of a batch, see `home_key`.
        num_workers: at least 1.
    """
    groups: dict[str, Shard] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    at_home: list[Shard] = [[] for _ in range(num_workers)]
    for key, places in groups.items():
        home = min(range(num_workers), key=lambda worker: derive_seed(worker, key))
        at_home[home] += places
    size = min(MOST, max(FEWEST, len(keys) // (num_workers * _SHARDS_A_WORKER)))
    shards = [_cut(places, size) if len(places) >= FEWEST else [] for places in at_home]
    pooled = [place for places in at_home if len(places) < FEWEST for place in places]
    for shard in _cut(pooled, FEWEST):
        min(shards, key=lambda of: sum(map(len, of))).append(shard)
    return shards


def _cut(places: Shard, size: int) -> list[Shard]:
    """Return runs as equal as can be, of at least so many where there are as many."""
    count = max(1, len(places) // size)
    cuts = [len(places) * at // count for at in range(count + 1)]
    return [places[a:b] for a, b in pairwise(cuts) if b > a]
