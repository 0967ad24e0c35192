"""The GWAS builder: the catalog's table and one seed in, an episode file out."""

from bed.episodes.building import Progress, drawn, episode_file, wanted
from bed.episodes.files import EpisodeFile
from bed.episodes.gwas.account import copies, limits, what_cut
from bed.episodes.gwas.claims import Writer
from bed.episodes.gwas.facts import GwasTables, load
from bed.episodes.gwas.pools import PoolMaker
from bed.episodes.gwas.splits import ByDate, ByLocus, SplitBy
from bed.episodes.gwas.targets import Targets
from bed.episodes.pools import NUM_RELATED
from bed.episodes.selection import Quotas
from bed.errors import DataError

__all__ = ["QUOTAS", "build_gwas"]

BUILDER = "gwas/1"
QUOTAS = Quotas(group_share=0.05, refuted_share=0.15)
"""A trait gives at most 5 % of a split; 15 % of negatives claim the wrong direction."""


def build_gwas(
    tables: GwasTables,
    seed: int = 0,
    max_episodes: int = 6000,
    split_by: SplitBy = "locus",
    min_related: int = 1,
    progress: Progress = lambda stage, done, total: None,
) -> EpisodeFile:
    """Build balanced episodes from the GWAS Catalog.

    Args:
        tables: the input files.
        seed: everything random hangs on it.
        max_episodes: at most so many, 60:10:30 over train, validation and test.
        split_by: "locus" holds out loci; "date" holds out the studies published last, and pools
            show what was published no later than the target.
        min_related: fewest related stubs of a pool, up to 10; a small table has few.
        progress: told how far the build is.

    Raises:
        DataError: for malformed tables, or tables that give no episode at all.
    """
    num = wanted(max_episodes)
    if split_by not in ("locus", "date"):
        raise DataError(f"split_by {split_by!r} is unknown; use 'locus' or 'date'")
    if not 0 <= min_related <= NUM_RELATED:
        raise DataError(f"--min-related {min_related} is outside 0..{NUM_RELATED}")
    progress(f"reading {tables.associations.name}", 0, 0)
    facts = load(tables, seed)
    splits = ByLocus(facts, seed) if split_by == "locus" else ByDate(facts)
    targets = Targets(facts, splits, PoolMaker(facts, splits, min_related, seed), seed)
    candidates = targets.candidates(num, progress)
    excluded = facts.excluded + targets.excluded
    writer = Writer(facts)
    found = drawn(
        candidates,
        num,
        seed,
        dict.fromkeys(num, QUOTAS),
        lambda split, item: writer.episode(item.content, item.label, split, item.unit),
        excluded=excluded,
        lacking="no trait offers both a significant and a sub-threshold target with 16 stubs, "
        f"{min_related} of them related",
        progress=progress,
    )
    offered = {split: len(items) for split, items in candidates.items()}
    return episode_file(
        "gwas",
        seed,
        BUILDER,
        found,
        inputs=tables,
        excluded=excluded,
        notes=[
            *limits(tables, split_by),
            *copies(facts, found.targets),
            what_cut(sum(offered.values()), len(found.targets), excluded),
        ],
        more={
            "absent": tables.absent(),
            "split_by": split_by,
            "min_related": min_related,
            "possible_targets": offered,
            "date_cuts": [str(day) for day in splits.cuts] if isinstance(splits, ByDate) else [],
        },
    )
