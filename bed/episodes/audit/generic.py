"""The audit of free text: a user's own hypotheses, of whose structure bed knows nothing.

There are no tiers, quotas or hash splits to hold the file against. What is left are the ways in
which any such file gives its labels away: copies of a hypothesis, the target's own result among its
evidence, and plain features (a name, a length, a cost) that tell the label.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bed.domains import Verdict
from bed.domains.generic import reading
from bed.episodes.audit.checks import Check, View, none_of, views
from bed.episodes.audit.leakage import order, readable, units_apart
from bed.episodes.audit.predictors import name_only
from bed.episodes.audit.quotas import evenly, labels
from bed.episodes.files import EpisodeFile
from bed.evidence import Experiment, Fields, Hypothesis, Outcome

__all__ = ["checks"]

_ALL_RELATED = 1 << 30
"""A tier beyond any: free text has no controls."""
_LARGE_CELL = 5
"""Episodes from which on a single label among them is no chance: 1 in 16 at even odds."""


def checks(file: EpisodeFile) -> list[Check]:
    """Return the checks of a file of free text.

    Args:
        file: its episodes.
    """
    seen = views(file, _ALL_RELATED, lambda said: said.supported, _verdict)
    names = _names(seen)
    among = f"{len(seen)} episodes"
    return [
        *labels(seen, "episode", broken=None),
        *(evenly(name, seen, of, can_break=False) for name, of in names.items()),
        *(_constant(name, seen, of) for name, of in names.items()),
        *_pools(seen),
        *_copies(seen, among),
        none_of("P5", "labels that the held-out outcome denies", _denied(seen), among),
        *_apart(seen, names, among),
        *order(seen, can_break=False),
        *name_only(seen, names, _FEATURES),
    ]


def _verdict(target: Hypothesis, outcome: Outcome) -> Verdict:
    return reading(Experiment("held out", target), outcome).verdict


def _denied(seen: Sequence[View]) -> Iterator[str]:
    for view in seen:
        if view.verdict is not None and (view.verdict == "supporting") != bool(view.episode.label):
            yield view.episode.id


def _names(seen: Sequence[View]) -> dict[str, Callable[[View], str]]:
    """Return the fields of targets that name something several targets share, such as a context."""
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for view in seen:
        for name, value in view.episode.target.fields.items():
            if isinstance(value, str):
                values[name][value] += 1
    shared = sorted(name for name, num in values.items() if 1 < len(num) < num.total())
    return {name: _field(name) for name in shared}


def _field(name: str) -> Callable[[View], str]:
    return lambda view: str(view.episode.target.fields.get(name, ""))


def _constant(what: str, seen: Sequence[View], of: Callable[[View], str]) -> Check:
    """Return the check of cells whose episodes all have one label."""
    cells: dict[str, list[int]] = defaultdict(list)
    for view in seen:
        cells[of(view)].append(view.episode.label)
    large = {name: found for name, found in cells.items() if len(found) >= _LARGE_CELL}
    constant = [name for name, found in sorted(large.items()) if len(set(found)) == 1]
    told = ", ".join(f"{name} (all {large[name][0]}, {len(large[name])})" for name in constant[:3])
    return Check(
        "P2",
        f"one label throughout a {what} of {_LARGE_CELL} episodes or more",
        "off" if constant else "ok",
        f"{len(constant)} of {len(large)}" + (f": {told}" if told else ""),
        "none",
    )


def _pools(seen: Sequence[View]) -> Iterator[Check]:
    sizes = [len(view.episode.pool) for view in seen]
    told = f"{min(sizes)} to {max(sizes)}, median {np.median(sizes):g}"
    yield Check("P3", "stubs a pool", "info", told)
    said = [said.supported for view in seen for said in view.readings if said is not None]
    told = f"{np.mean(said):.1%} of {len(said)}" if said else "no flags 'supported'"
    yield Check("P3", "stubs supported (base rate)", "info", told)
    yield from readable(seen, is_text=True)


def _copies(seen: Sequence[View], among: str) -> Iterator[Check]:
    """P5: no hypothesis twice, none among its own evidence, no experiment twice in a pool."""
    stated: dict[tuple[str, Fields], list[int]] = defaultdict(list)
    for view in seen:
        stated[_claim(view.episode.target)].append(view.episode.label)
    twice = sum(len(found) > 1 for found in stated.values())
    yield Check(
        "P5", "hypotheses that stand twice", "off" if twice else "ok", f"{twice} in {among}", "none"
    )
    both = (name[0] for name, found in stated.items() if len(set(found)) > 1)
    yield none_of("P5", "hypotheses with both labels", both, among)
    own = (
        f"{view.episode.id}: {experiment.id}"
        for view in seen
        for experiment in view.experiments()
        if _is_same(experiment.hypothesis, view.episode.target)
    )
    yield none_of("P5", "the target's own result in its pool", own, among)
    repeated = (view.episode.id for view in seen if _repeats(view))
    yield none_of("P5", "an experiment twice in a pool", repeated, among)


def _claim(hypothesis: Hypothesis) -> tuple[str, Fields]:
    return _words(hypothesis), hypothesis.fields


def _words(hypothesis: Hypothesis) -> str:
    return " ".join(hypothesis.text.casefold().split()).rstrip(".")


def _is_same(one: Hypothesis, other: Hypothesis) -> bool:
    """Return whether two claims say the same, and no field that both state differs."""
    both = one.fields.keys() & other.fields.keys()
    differ = any(one.fields[name] != other.fields[name] for name in both)
    return _words(one) == _words(other) and not differ


def _repeats(view: View) -> bool:
    found = [(_claim(x.hypothesis), x.fields) for x in view.experiments() if not x.is_repeatable]
    return len(set(found)) < len(found)


def _apart(
    seen: Sequence[View], names: dict[str, Callable[[View], str]], among: str
) -> Iterator[Check]:
    """P5: what is held out is neither a target nor evidence in training."""
    splits: dict[tuple[str, Fields], set[str]] = defaultdict(set)
    held_out: dict[str, list[Hypothesis]] = defaultdict(list)
    for view in seen:
        target = view.episode.target
        splits[_claim(target)].add(view.episode.split)
        if view.episode.split != "train":
            held_out[_words(target)].append(target)
    present = {view.episode.split for view in seen}
    if len(present) == 1:
        told = f"only the split {present.pop()} is present"
        yield Check("P5", "held-out hypotheses apart from training", "info", told)
        return
    yield units_apart(seen, "unit")
    both = (view.episode.id for view in seen if len(splits[_claim(view.episode.target)]) > 1)
    yield none_of("P5", "hypotheses in two splits", both, among)
    shown = (
        f"{view.episode.id}: {experiment.id}"
        for view in seen
        for experiment in view.experiments()
        if view.episode.split == "train"
        and any(
            _is_same(experiment.hypothesis, target)
            for target in held_out.get(_words(experiment.hypothesis), ())
        )
    )
    yield none_of("P5", "held-out hypotheses among the evidence of training", shown, among)
    for name, of in names.items():
        where: dict[str, set[str]] = defaultdict(set)
        for view in seen:
            where[of(view)].add(view.episode.split)
        num = sum(len(found) > 1 for found in where.values())
        told = f"{num} of {len(where)}"
        yield Check("P5", f"values of {name} that stand in several splits", "info", told)


def _cost(view: View) -> list[float]:
    return [sum(experiment.cost for experiment in view.experiments())]


_FEATURES: dict[str, Callable[[View], list[float]]] = {
    "the number of stubs": lambda view: [len(view.episode.pool)],
    "the cost of the pool": _cost,
    "the length of the claim": lambda view: [len(view.episode.target.text)],
    "the mean tier": lambda view: [float(np.mean([how.tier for how in view.relations]))],
    "the length of the local claims": lambda view: [
        float(np.mean([len(experiment.hypothesis.text) for experiment in view.experiments()]))
    ],
}
