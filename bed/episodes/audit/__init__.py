"""`bed episodes check`: does a file keep the principles by which episodes are built?

The audit needs the file alone, not the tables that it was built from.
"""

from bed.episodes.audit.checks import Check, State, views
from bed.episodes.audit.leakage import held_out, order, pools, splits
from bed.episodes.audit.predictors import name_only
from bed.episodes.audit.quotas import balance, relevance, sufficiency_thirds, targets
from bed.episodes.files import EpisodeFile
from bed.errors import DataError

__all__ = ["Check", "State", "audit"]


def audit(file: EpisodeFile) -> list[Check]:
    """Return every check of the principles P1 to P5, in their order.

    Args:
        file: all splits of an episode file.

    Raises:
        DataError: for a file without episodes, or of a domain that has no audit.
    """
    if not file.episodes:
        raise DataError("the file holds no episodes; build it again")
    domains = {episode.target.domain for episode in file.episodes}
    if domains != {"depmap"}:
        raise DataError(f"no audit for the domain {sorted(domains)}; only for depmap")
    seen = views(file)
    outcomes = [None if found is None else found.fields for found in file.held_out]
    return [
        *targets(seen, file.info),
        *balance(seen, file.info),
        *relevance(seen, file.info),
        *sufficiency_thirds(seen),
        *pools(seen),
        *held_out(seen, outcomes),
        *splits(seen, file.info),
        *order(seen),
        *name_only(seen),
    ]
