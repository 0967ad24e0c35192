"""P1 to P4: which targets, how balanced, how relevant the pools, how sufficient."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from bed.episodes.audit.checks import CONTROL_TIER, Check, State, View, none_of, within
from bed.episodes.depmap.builder import SELECTIVE
from bed.episodes.depmap.pools import NUM_RELATED, POOL_SIZE
from bed.episodes.depmap.screen import EXPRESSED_FROM
from bed.episodes.depmap.selection import (
    LINEAGE_SHARE,
    REFUTED_SHARE,
    TARGETS_PER_GENE,
    sufficiency,
)

__all__ = ["balance", "relevance", "sufficiency_thirds", "targets"]

_IMPLAUSIBLE = 1e-6
_BALANCED, _LOPSIDED = 0.02, 0.1
_LEVELS = ("poor", "moderate", "rich")


def targets(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    """P1: no near-constant and no unexpressed target genes."""
    excluded = {
        name: num
        for name, num in info.get("excluded", {}).items()
        if name.startswith(("genes that", "targets not expressed"))
    }
    said = "; ".join(f"{num} {name}" for name, num in excluded.items()) or "nothing"
    yield Check("P1", "left out by the builder", "info", said)
    yield none_of(
        "P1",
        "target genes that are hardly ever or nearly always dependencies",
        _near_constant(seen),
        f"{len({view.gene for view in seen})} genes",
    )
    silent = (
        view.episode.id
        for view in seen
        for stub in view.episode.pool
        if stub.experiment.fields["kind"] == "expression"
        and stub.experiment.fields["gene"] == view.gene
        and stub.experiment.fields["cell_line"] == view.line
        and stub.outcome.fields.get("log2_tpm", EXPRESSED_FROM) < EXPRESSED_FROM
    )
    yield none_of("P1", "targets not expressed in their line", silent, f"{len(seen)} episodes")


def _near_constant(seen: Sequence[View]) -> Iterator[str]:
    """Yield genes whose distinct stubs in other lines cannot come from a rate of 5-95 %."""
    knockouts: dict[str, dict[str, bool]] = defaultdict(dict)
    for view in seen:
        for experiment, said in zip(view.experiments(), view.readings, strict=True):
            fields = experiment.fields
            if said and fields["gene"] == view.gene and fields["kind"] == "knockout":
                knockouts[view.gene][fields["cell_line"]] = said.supported
    for gene, found in sorted(knockouts.items()):
        num, hits = len(found), sum(found.values())
        too_rare = binom.cdf(hits, num, SELECTIVE[0]) < _IMPLAUSIBLE
        if too_rare or binom.sf(hits - 1, num, SELECTIVE[1]) < _IMPLAUSIBLE:
            yield gene


def balance(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    """P2: half of the labels 1 in every group; caps on genes and lineages; kinds of negatives."""
    labels = [view.episode.label for view in seen]
    yield within("P2", "label 1, overall", float(np.mean(labels)), 0.5, _BALANCED, _LOPSIDED)
    for split in sorted({view.episode.split for view in seen}):
        of = [view.episode.label for view in seen if view.episode.split == split]
        name = f"label 1, {split} ({len(of)} episodes)"
        yield within("P2", name, float(np.mean(of)), 0.5, _BALANCED, _LOPSIDED)
    yield _evenly("lineage", [(view.episode.split, view.lineage, view) for view in seen])
    yield _evenly("cell line", [(view.episode.split, view.line, view) for view in seen])
    genes = Counter(view.episode.unit for view in seen)
    over = (f"{gene} ({num})" for gene, num in genes.items() if num > TARGETS_PER_GENE)
    name = f"genes with more than {TARGETS_PER_GENE} targets"
    yield none_of("P2", name, over, f"{len(genes)} genes (at most {max(genes.values())})")
    lineage, num = Counter(view.lineage for view in seen).most_common(1)[0]
    share = num / len(seen)
    state: State = "ok" if share <= LINEAGE_SHARE + 0.005 else "off"
    found = f"{share:.1%} ({lineage})"
    yield Check("P2", "largest lineage", state, found, f"at most {LINEAGE_SHARE:.0%}")
    yield _negatives(seen, info)


def _evenly(what: str, groups: Sequence[tuple[str, str, View]]) -> Check:
    """Return the check of the most lopsided group; groups of a split are judged apart."""
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for split, name, view in groups:
        counts[split, name][view.episode.label] += 1
    (split, name), (zero, one) = max(counts.items(), key=lambda item: abs(item[1][0] - item[1][1]))
    state: State = "ok" if abs(one - zero) <= 1 else "off"
    if abs(one - zero) > max(2, 2 * _LOPSIDED * (one + zero)):
        state = "violated"
    worst = f"worst of {len(counts)}: {one} of {one + zero} ({name}, {split})"
    return Check("P2", f"label 1 within each {what}", state, worst, "half")


def _negatives(seen: Sequence[View], info: Mapping[str, Any]) -> Check:
    name = "refuted among negatives"
    negatives = [view.held_out for view in seen if view.episode.label == 0 and view.held_out]
    if any("no refuted class" in note for note in info.get("notes", ())):
        return Check("P2", name, "info", "binned effects have no refuted class")
    if not negatives:
        return Check("P2", name, "off", "the held-out outcomes are not kept", "15.0%")
    refuted = sum(said.verdict == "refuting" for said in negatives) / len(negatives)
    return within("P2", name, refuted, REFUTED_SHARE, 0.03)


def relevance(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    """P3: pools of 16, about 60:40 related to control, every tier tried, tiers as computed."""
    sizes = Counter(len(view.episode.pool) for view in seen)
    odd = (view.episode.id for view in seen if len(view.episode.pool) != POOL_SIZE)
    yield none_of("P3", f"pools of another size than {POOL_SIZE}", odd, f"{len(seen)} pools")
    tiers = Counter(how.tier for view in seen for how in view.relations)
    num = sum(size * times for size, times in sizes.items())
    related = sum(times for tier, times in tiers.items() if tier < CONTROL_TIER) / max(num, 1)
    yield within("P3", "related stubs", related, NUM_RELATED / POOL_SIZE, 0.05)
    for tier in range(1, CONTROL_TIER + 1):
        said = [
            reading.supported
            for view in seen
            for reading, how in zip(view.readings, view.relations, strict=True)
            if how.tier == tier and reading is not None
        ]
        what = f"{tiers[tier] / len(seen):.2f} a pool"
        what += f", {np.mean(said):.1%} of them supported (base rate)" if said else ""
        yield Check("P3", f"tier {tier}", "info", what)
    short = {name: times for name, times in info.get("short", {}).items() if times}
    said_short = "; ".join(f"{name} short by {times}" for name, times in short.items())
    yield Check("P3", "quotas not filled", "off" if short else "ok", said_short or "none")
    wrong = (
        f"{view.episode.id}: {stub.experiment.id}"
        for view in seen
        for stub, tier, tag, how in zip(
            view.episode.pool, view.episode.tiers, view.episode.tags, view.relations, strict=True
        )
        if (tier, tag) != (how.tier, how.tag)
    )
    yield none_of("P3", "stored tiers or tags that differ from the computed", wrong, f"{num} stubs")


def sufficiency_thirds(seen: Sequence[View]) -> Iterator[Check]:
    """P4: rich, moderate and poor pools in thirds, as far as the balance allows."""
    for split in sorted({view.episode.split for view in seen}):
        found = [view for view in seen if view.episode.split == split]
        levels = [sufficiency(view.num_supporting) for view in found]
        shares = np.bincount(levels, minlength=3) / len(levels)
        away = float(np.abs(shares - 1 / 3).max())
        parts = " : ".join(f"{share:.1%}" for share in shares)
        state: State = "ok" if away <= 0.05 else "off"
        late = "" if state == "ok" else f" (off by up to {away:.1%})"
        yield Check("P4", f"poor : moderate : rich, {split}", state, parts + late, "thirds")
    for level, name in enumerate(_LEVELS):
        labels = [view.episode.label for view in seen if sufficiency(view.num_supporting) == level]
        found_share = f"{np.mean(labels):.1%}" if labels else "no episodes"
        yield Check("P4", f"label 1 among {name} pools", "info", found_share)
