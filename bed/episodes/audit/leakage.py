"""P5: nothing in a pool gives the label away, and nothing held out is seen in training."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bed.domains import STATED_RELATION
from bed.episodes.audit.checks import Check, State, View, none_of
from bed.episodes.audit.rules import Rules
from bed.episodes.split import split_of
from bed.errors import DataError
from bed.evidence import Fields, Stub
from bed.prompts import belief_prompt

__all__ = ["held_out", "order", "pools", "readable", "splits", "units_apart"]

_OK_DEVIATIONS, _BROKEN_DEVIATIONS = 3.0, 5.0


def pools(seen: Sequence[View], rules: Rules) -> Iterator[Check]:
    """No pool holds its own target, nor one measurement twice."""
    among = f"{sum(len(view.episode.pool) for view in seen)} stubs"
    own = (
        f"{view.episode.id}: {experiment.id}"
        for view in seen
        for experiment in view.experiments()
        if rules.measured(experiment) == rules.measured_by_target(view.episode.target)
    )
    yield none_of("P5", rules.own, own, among)
    yield none_of("P5", rules.repeated, _repeated(seen, rules), among)
    telling = (
        f"{view.episode.id}: {experiment.id}"
        for view in seen
        for experiment in view.experiments()
        if set(experiment.fields) - rules.experiment_fields - {STATED_RELATION}
    )
    yield none_of("P5", "experiments with fields beyond their design", telling, among)
    yield from readable(seen)
    stated = _outcomes(seen)
    contradicted = (name for name, found in stated.items() if len(set(found)) > 1)
    yield none_of("P5", "experiments with two outcomes", contradicted, among)


def readable(seen: Sequence[View], *, is_text: bool = False) -> Iterator[Check]:
    """Every outcome can be read, by bed or, where it is free text, by a language model.

    Args:
        seen: the episodes.
        is_text: whether outcomes may be free text, which bed itself cannot read.
    """
    among = f"{sum(len(view.episode.pool) for view in seen)} stubs"
    unread = [
        (view, stub)
        for view in seen
        for stub, said in zip(view.episode.pool, view.readings, strict=True)
        if said is None
    ]
    lost = [(view, stub) for view, stub in unread if not _can_be_shown(view, stub)]
    num = len(unread) - len(lost)
    told = f"{num} in {among}" + ("; bed's own beliefs need the flag 'supported'" if num else "")
    name = "outcomes that only a language model can use, by a prompt"
    if is_text or num:
        yield Check("P5", name, "info" if is_text else "violated" if num else "ok", told)
    faults = (f"{view.episode.id}: {stub.experiment.id}" for view, stub in lost)
    yield none_of("P5", "outcomes that neither bed nor a prompt can read", faults, among)


def _can_be_shown(view: View, stub: Stub) -> bool:
    try:
        belief_prompt(view.episode.target, (stub,))
    except DataError:
        return False
    return True


def _repeated(seen: Sequence[View], rules: Rules) -> Iterator[str]:
    for view in seen:
        found = [rules.measured(experiment) for experiment in view.experiments()]
        known = [measured for measured in found if measured is not None]
        if len(set(known)) < len(known):
            yield view.episode.id


def _outcomes(seen: Sequence[View]) -> dict[str, list[Fields]]:
    """Return the outcomes stated of each experiment, by its id."""
    found: dict[str, list[Fields]] = defaultdict(list)
    for view in seen:
        for stub in view.episode.pool:
            found[stub.experiment.id].append(stub.outcome.fields)
    return found


def held_out(
    seen: Sequence[View], outcomes: Sequence[Fields | None], rules: Rules
) -> Iterator[Check]:
    """The label is what the held-out outcome says, and what other pools say of the same."""
    if any(outcome is None for outcome in outcomes):
        lacking = sum(outcome is None for outcome in outcomes)
        yield Check("P5", "labels against the held-out outcome", "off", f"{lacking} not kept")
    wrong = (
        view.episode.id
        for view, outcome in zip(seen, outcomes, strict=True)
        if outcome is not None and (view.verdict == "supporting") != bool(view.episode.label)
    )
    yield none_of("P5", "labels that the held-out outcome denies", wrong, f"{len(seen)} episodes")
    elsewhere = _outcomes(seen)
    shown = [
        (view, outcome, elsewhere[own])
        for view, outcome in zip(seen, outcomes, strict=True)
        if outcome is not None
        and (own := rules.own_experiment(view.episode.target)) is not None
        and own in elsewhere
    ]
    denied = (view.episode.id for view, outcome, stated in shown if set(stated) != {outcome})
    name = "held-out outcomes that another pool contradicts"
    yield none_of("P5", name, denied, f"{len(shown)} shown elsewhere")


def splits(seen: Sequence[View], info: Mapping[str, Any], rules: Rules) -> Iterator[Check]:
    """Held-out units are in no other pool; splits are those of the seed."""
    unit, plural = rules.unit, _plural(rules.unit)
    of = _splits_of(seen)
    yield units_apart(seen, unit)
    odd = (
        view.episode.id for view in seen if view.episode.unit != rules.unit_of(view.episode.target)
    )
    yield none_of("P5", f"episodes whose unit is not their {unit}", odd, f"{len(seen)} episodes")
    named = {name for view in seen for name in _units(view, rules)}
    seed = info.get("seed")
    if not isinstance(seed, int):
        yield Check("P5", "split by the seed", "off", "the file states no seed")
        training = named - {name for name, found in of.items() if found != {"train"}}
    elif (how := info.get("split_by", unit)) != unit:
        yield Check("P5", "split by the seed", "info", f"split by {how} instead")
        training = named - {name for name, found in of.items() if found != {"train"}}
    else:
        split = {name: split_of(seed, info["domain"], name) for name in named}
        training = {name for name, found in split.items() if found == "train"}
        moved = (name for name, found in sorted(of.items()) if found != {split[name]})
        yield none_of(
            "P5", f"{plural} outside the split of their hash", moved, f"{len(of)} {plural}"
        )
    name = f"held-out {plural} seen in another {unit}'s episode"
    if len(present := {view.episode.split for view in seen}) == 1:
        told = f"only the split {present.pop()} is present"
        yield Check("P5", name, "info", told)
        return
    foreign = (
        f"{view.episode.id}: {name}"
        for view in seen
        for name in sorted(_units(view, rules) - {view.episode.unit} - training)
    )
    yield none_of("P5", name, foreign, f"{len(seen)} episodes")


def units_apart(seen: Sequence[View], unit: str) -> Check:
    """Return the check that no unit stands in two splits.

    Args:
        seen: the episodes.
        unit: what the split goes by, in words.
    """
    of, plural = _splits_of(seen), _plural(unit)
    both = (name for name, found in sorted(of.items()) if len(found) > 1)
    return none_of("P5", f"{plural} in two splits", both, f"{len(of)} {plural}")


def _splits_of(seen: Sequence[View]) -> dict[str, set[str]]:
    """Return the splits that each unit stands in."""
    found: dict[str, set[str]] = defaultdict(set)
    for view in seen:
        found[view.episode.unit].add(view.episode.split)
    return found


def _plural(unit: str) -> str:
    return "loci" if unit == "locus" else f"{unit}s"


def _units(view: View, rules: Rules) -> set[str]:
    """Return every unit that an episode's fields name."""
    found = {view.episode.unit, *rules.units_named(view.episode.target.fields)}
    for experiment in view.experiments():
        found |= set(rules.units_named(experiment.fields))
    return found


def order(seen: Sequence[View], *, can_break: bool = True) -> Iterator[Check]:
    """A stub's place in its pool says nothing about its relevance or its outcome.

    Args:
        seen: the episodes.
        can_break: whether an order is a fault of the file; people write experiments down in one.
    """
    rows: dict[str, list[list[float]]] = {
        "tier": [[how.tier for how in view.relations] for view in seen],
        "related or control": [list(view.is_related) for view in seen],
        "outcome": [[np.nan if x is None else x.supported for x in v.readings] for v in seen],
    }
    for what, values in rows.items():
        yield _unordered(what, values, can_break)


def _unordered(what: str, rows: Sequence[Sequence[float]], can_break: bool) -> Check:
    """Return the check that the mean within-pool correlation with the place is 0."""
    found = []
    for row in rows:
        values = np.array(row, dtype=float)
        place = np.flatnonzero(~np.isnan(values))
        if len(place) > 2 and np.ptp(values[place]) > 0:
            found.append(float(np.corrcoef(values[place], place)[0, 1]))
    if len(found) < 2:
        return Check("P5", f"place in the pool against {what}", "info", "too few pools")
    mean = float(np.mean(found))
    deviations = abs(mean) / max(float(np.std(found, ddof=1)) / len(found) ** 0.5, 1e-12)
    state: State = "ok" if deviations <= _OK_DEVIATIONS else "off"
    if can_break and deviations > _BROKEN_DEVIATIONS:
        state = "violated"
    figure = f"mean r {mean:+.3f} ({deviations:.1f} standard errors)"
    return Check("P5", f"place in the pool against {what}", state, figure, "0")
