"""The expression builder: tables and one seed in, an episode file out."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from bed.domains.expression import CONTROL_TIER
from bed.episodes.building import Drawn, Progress, drawn, episode_file, wanted
from bed.episodes.expression.artefacts import eligible
from bed.episodes.expression.claims import Writer
from bed.episodes.expression.measurements import Measurements
from bed.episodes.expression.metadata import Metadata, load_metadata
from bed.episodes.expression.pools import MIN_RELATED, MIN_STUBS, PoolMaker
from bed.episodes.expression.quotas import quotas_for
from bed.episodes.expression.reading import load
from bed.episodes.expression.summaries import Summaries, summarise
from bed.episodes.expression.tables import ExpressionTables
from bed.episodes.expression.targets import Target, candidates
from bed.episodes.files import EpisodeFile
from bed.episodes.pools import NUM_RELATED, POOL_SIZE
from bed.episodes.split import split_of
from bed.evidence import Episode

__all__ = ["build_expression"]

BUILDER = "expression/1"


def build_expression(
    tables: ExpressionTables,
    seed: int = 0,
    max_episodes: int = 6000,
    progress: Progress = lambda stage, done, total: None,
) -> EpisodeFile:
    """Build balanced episodes, split by measured gene.

    Args:
        tables: the input files and how to read them.
        seed: everything random hangs on it.
        max_episodes: at most so many, 60:10:30 over train, validation and test.
        progress: told how far the build is.

    Raises:
        DataError: for malformed tables, or tables that give no episode at all.
    """
    num = wanted(max_episodes)
    measurements = load(tables, progress)
    metadata = load_metadata(tables)
    splits = np.array([split_of(seed, "expression", gene) for gene in measurements.genes])
    summaries = summarise(measurements, splits == "train")
    classes = [metadata.classes_of(at.perturbation) for at in measurements.contrasts]
    maker = PoolMaker(measurements, classes, summaries.known, seed)
    allowed, excluded = eligible(measurements)
    offered, left_out = candidates(measurements, allowed, splits, num, maker, seed, progress)
    excluded += left_out + Counter(measurements.excluded)
    quotas = {split: quotas_for(offered[split], most) for split, most in num.items()}
    writer = Writer(tables, measurements, summaries, metadata)
    found = drawn(
        offered,
        num,
        seed,
        quotas,
        lambda split, item: writer.episode(item.content, split),
        excluded=excluded,
        lacking="no contrast offers both a supported and an unsupported claim with "
        f"{MIN_STUBS} stubs, {MIN_RELATED} of them related",
        progress=progress,
    )
    shares = {split: round(quota.group_share, 3) for split, quota in quotas.items()}
    return episode_file(
        "expression",
        seed,
        BUILDER,
        found,
        inputs=tables,
        excluded=excluded,
        notes=list(_notes(tables, measurements, metadata, found)),
        more=_account(measurements, summaries, [episode for episode, _ in found.pairs])
        | {"group_share": shares},
    )


def _account(
    measurements: Measurements, summaries: Summaries, episodes: Sequence[Episode]
) -> dict[str, object]:
    """Return what the tables hold, and how the pools came out."""
    tiers = Counter(tier for episode in episodes for tier in episode.tiers)
    sizes = Counter(len(episode.pool) for episode in episodes)
    return {
        "num_genes": len(measurements.genes),
        "num_contrasts": len(measurements.contrasts),
        "num_contexts": len({at.context for at in measurements.contrasts}),
        "num_perturbations": len({at.perturbation for at in measurements.contrasts}),
        "median_share": round(summaries.median_share, 4),
        "pool_sizes": {str(size): num for size, num in sorted(sizes.items())},
        "stubs_by_tier": {str(tier): num for tier, num in sorted(tiers.items())},
        "related_share": round(1 - tiers[CONTROL_TIER] / tiers.total(), 3),
    }


def _notes(
    tables: ExpressionTables,
    measurements: Measurements,
    metadata: Metadata,
    found: Drawn[Target],
) -> Iterator[str]:
    values = measurements.values
    if measurements.kind == "zscore":
        yield "z-scores: significant means |z| >= 2; there are no p values"
    elif "wald" not in values:
        yield "no standard errors: Wald statistics are derived from p values"
    if measurements.kind == "differential" and "base_mean" not in values:
        yield "no mean counts: genes that are hardly expressed may be targets"
    agents = {at.perturbation for at in measurements.contrasts}
    contexts = {at.context for at in measurements.contrasts}
    if len(contexts) == 1:
        yield "one context only: no stubs of tier 1, and no controls in other contexts"
    if len(agents) <= 3:
        yield f"{len(agents)} perturbations only: few stubs of tiers 2 and 3"
    num_classed = sum(bool(metadata.classes_of(name)) for name in agents)
    yield f"{num_classed} of {len(agents)} perturbations have a class (tier 2)"
    for what, path, names, told in (
        ("perturbations", tables.drugs, agents, metadata.perturbation),
        ("contexts", tables.contexts, contexts, metadata.context),
    ):
        if path is not None:
            num_told = sum(bool(told(name)) for name in names)
            yield f"{num_told} of {len(names)} {what} are described in {path.name}"
    yield _shared_controls(measurements, found.targets)
    if any("stubs" in name for name in found.short):
        yield (
            f"pools of {POOL_SIZE} with {NUM_RELATED} related stubs were not to be had "
            "everywhere: see pool_sizes, related_share and stubs_by_tier"
        )


def _shared_controls(measurements: Measurements, targets: Sequence[Target]) -> str:
    """Return how many stubs share the noise of their controls with the target."""
    if "base_mean" not in measurements.values:
        return (
            "no mean counts: contrasts of one context may share their controls, and the table does "
            "not show which; their stubs (tiers 2 and 3) are then not independent of the target"
        )
    draws = [draw for target in targets for draw in target.pool.draws if draw.tier in (2, 3)]
    num = sum(draw.shares_controls for draw in draws)
    return (
        f"stubs of tiers 2 and 3 from a contrast that was analysed together with the target's (the "
        f"same mean counts) and shares its controls: {num} of {len(draws)}"
    )
