"""P1 to P4: which targets, how balanced, how relevant the pools, how sufficient."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bed.episodes.audit.checks import Check, State, View, none_of, within
from bed.episodes.audit.rules import Rules
from bed.episodes.pools import NUM_RELATED, POOL_SIZE
from bed.episodes.selection import sufficiency

__all__ = ["balance", "evenly", "labels", "relevance", "sufficiency_thirds", "targets"]

_BALANCED, _LOPSIDED = 0.02, 0.1
_LEVELS = ("poor", "moderate", "rich")


def targets(seen: Sequence[View], info: Mapping[str, Any], rules: Rules) -> Iterator[Check]:
    """P1: no artefacts and no near-constant targets."""
    excluded = [f"{num} {name}" for name, num in info.get("excluded", {}).items() if num]
    yield Check("P1", "left out by the builder", "info", "; ".join(excluded) or "nothing")
    yield from rules.targets(seen, info)


def balance(seen: Sequence[View], info: Mapping[str, Any], rules: Rules) -> Iterator[Check]:
    """P2: half of the labels 1 in every group; caps on units and groups; kinds of negatives."""
    units = Counter(view.episode.unit for view in seen)
    yield from labels(seen, rules.unit)
    for name, group in rules.balanced.items():
        yield evenly(name, seen, group)
    if (cap := rules.targets_per_unit) is not None:
        over = (f"{unit} ({num})" for unit, num in units.items() if num > cap)
        among = f"{len(units)} units (at most {max(units.values())})"
        yield none_of("P2", f"{rules.unit} units with more than {cap} targets", over, among)
    group = rules.balanced[rules.group]
    most, num = Counter(group(view) for view in seen).most_common(1)[0]
    share = num / len(seen)
    state: State = "ok" if share <= rules.quotas.group_share + 0.005 else "off"
    wanted = f"at most {rules.quotas.group_share:.0%}"
    yield Check("P2", f"largest {rules.group}", state, f"{share:.1%} ({most})", wanted)
    yield _negatives(seen, info, rules)


def labels(seen: Sequence[View], unit: str, broken: float | None = _LOPSIDED) -> Iterator[Check]:
    """Yield how many episodes there are, and the share of label 1 overall and in each split.

    Args:
        seen: the episodes.
        unit: what the split goes by, in words.
        broken: the distance from one half beyond which a share is violated; never if None.
    """
    units = {view.episode.unit for view in seen}
    yield Check("P2", "size", "info", f"{len(seen)} episodes of {len(units)} {unit} units")
    overall = float(np.mean([view.episode.label for view in seen]))
    yield within("P2", "label 1, overall", overall, 0.5, _BALANCED, broken)
    for split in sorted({view.episode.split for view in seen}):
        of = [view.episode.label for view in seen if view.episode.split == split]
        name = f"label 1, {split} ({len(of)} episodes)"
        yield within("P2", name, float(np.mean(of)), 0.5, _BALANCED, broken)


def evenly(
    what: str, seen: Sequence[View], group: Callable[[View], str], *, can_break: bool = True
) -> Check:
    """Return the check of the most lopsided group; groups of a split are judged apart.

    Args:
        what: the group in words.
        seen: the episodes.
        group: the group of an episode.
        can_break: whether a lopsided group is a fault of the file.
    """
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for view in seen:
        counts[view.episode.split, group(view)][view.episode.label] += 1
    (split, name), (zero, one) = max(counts.items(), key=lambda item: abs(item[1][0] - item[1][1]))
    state: State = "ok" if abs(one - zero) <= 1 else "off"
    if can_break and abs(one - zero) > max(2, 2 * _LOPSIDED * (one + zero)):
        state = "violated"
    worst = f"worst of {len(counts)}: {one} of {one + zero} ({name}, {split})"
    return Check("P2", f"label 1 within each {what}", state, worst, "half")


def _negatives(seen: Sequence[View], info: Mapping[str, Any], rules: Rules) -> Check:
    name = "refuted among negatives"
    wanted = rules.quotas.refuted_share
    negatives = [view.verdict for view in seen if view.episode.label == 0 and view.verdict]
    if any("no refuted class" in note for note in info.get("notes", ())):
        return Check("P2", name, "info", "binned effects have no refuted class")
    if not negatives:
        return Check("P2", name, "off", "the held-out outcomes are not kept", f"{wanted:.1%}")
    refuted = sum(verdict == "refuting" for verdict in negatives) / len(negatives)
    return within("P2", name, refuted, wanted, 0.03)


def relevance(seen: Sequence[View], info: Mapping[str, Any], rules: Rules) -> Iterator[Check]:
    """P3: pools of 16, about 60:40 related to control, every tier tried, tiers as computed."""
    yield _sizes(seen, info)
    tiers = Counter(how.tier for view in seen for how in view.relations)
    num = tiers.total()
    related = sum(sum(view.is_related) for view in seen) / max(num, 1)
    yield within("P3", "related stubs", related, NUM_RELATED / POOL_SIZE, 0.05)
    for tier in range(1, rules.control_tier + 1):
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


def _sizes(seen: Sequence[View], info: Mapping[str, Any]) -> Check:
    """Return the check of the pools' size; a builder that could not give 16 says what it gave."""
    name = f"pools of another size than {POOL_SIZE}"
    sizes = Counter(len(view.episode.pool) for view in seen)
    given = {int(size): num for size, num in info.get("pool_sizes", {}).items()}
    if given == dict(sizes) != {POOL_SIZE: len(seen)}:
        found = ", ".join(f"{num} of {size}" for size, num in sorted(sizes.items()))
        return Check("P3", name, "off", found, "none")
    odd = (view.episode.id for view in seen if len(view.episode.pool) != POOL_SIZE)
    return none_of("P3", name, odd, f"{len(seen)} pools")


def sufficiency_thirds(seen: Sequence[View]) -> Iterator[Check]:
    """P4: rich, moderate and poor pools in thirds, as far as the balance allows."""
    for split in sorted({view.episode.split for view in seen}):
        found = [view for view in seen if view.episode.split == split]
        num = np.bincount([sufficiency(view.num_conclusive) for view in found], minlength=3)
        away = float(np.abs(num / len(found) - 1 / 3).max())
        parts = " : ".join(f"{count} ({count / len(found):.1%})" for count in num)
        state: State = "ok" if away <= 0.05 else "off"
        late = "" if state == "ok" else f" (off by up to {away:.1%})"
        yield Check("P4", f"poor : moderate : rich, {split}", state, parts + late, "thirds")
    for level, name in enumerate(_LEVELS):
        of = [view.episode.label for view in seen if sufficiency(view.num_conclusive) == level]
        found_share = f"{np.mean(of):.1%}" if of else "no episodes"
        yield Check("P4", f"label 1 among {name} pools", "info", found_share)
