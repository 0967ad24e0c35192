"""P5: nothing in a pool gives the label away, and nothing held out is seen in training."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bed.domains.depmap import FUNCTIONAL
from bed.episodes.audit.checks import CONTROL_TIER, Check, State, View, none_of
from bed.episodes.depmap.split import gene_split, is_reference
from bed.evidence import Experiment, Fields

__all__ = ["held_out", "order", "pools", "splits"]

_EXPERIMENT_FIELDS = {"kind", "gene", "cell_line", "lineage", "coessential", "top_quarter_from"}
_OK_DEVIATIONS, _BROKEN_DEVIATIONS = 3.0, 5.0


def pools(seen: Sequence[View]) -> Iterator[Check]:
    """No pool holds its own target, nor one measurement twice."""
    among = f"{sum(len(view.episode.pool) for view in seen)} stubs"
    own = (
        f"{view.episode.id}: {experiment.id}"
        for view in seen
        for experiment in view.experiments()
        if _is_functional(experiment) and _pair(experiment) == (view.gene, view.line)
    )
    yield none_of("P5", "knockouts or knockdowns of the target itself in its pool", own, among)
    yield none_of("P5", "a gene disturbed twice in one line of a pool", _repeated(seen), among)
    telling = (
        f"{view.episode.id}: {experiment.id}"
        for view in seen
        for experiment in view.experiments()
        if set(experiment.fields) - _EXPERIMENT_FIELDS
    )
    yield none_of("P5", "experiments with fields beyond their design", telling, among)
    unread = (
        f"{view.episode.id}: {experiment.id}"
        for view in seen
        for experiment, said in zip(view.experiments(), view.readings, strict=True)
        if said is None
    )
    yield none_of("P5", "outcomes that cannot be read", unread, among)
    yield none_of("P5", "experiments with two outcomes", _contradicted(seen), among)


def _is_functional(experiment: Experiment) -> bool:
    return experiment.fields["kind"] in FUNCTIONAL


def _pair(experiment: Experiment) -> tuple[str, str]:
    return experiment.fields["gene"], experiment.fields["cell_line"]


def _repeated(seen: Sequence[View]) -> Iterator[str]:
    for view in seen:
        disturbed = [_pair(found) for found in view.experiments() if _is_functional(found)]
        if len(set(disturbed)) < len(disturbed):
            yield view.episode.id


def _outcomes(seen: Sequence[View]) -> dict[tuple[str, str, str], list[Fields]]:
    """Return the outcomes stated of each (kind, gene, line)."""
    found: dict[tuple[str, str, str], list[Fields]] = defaultdict(list)
    for view in seen:
        for stub in view.episode.pool:
            key = (stub.experiment.fields["kind"], *_pair(stub.experiment))
            found[key].append(stub.outcome.fields)
    return found


def _contradicted(seen: Sequence[View]) -> Iterator[str]:
    return (
        ":".join(key)
        for key, stated in _outcomes(seen).items()
        if len(stated) > 1 and len(set(stated)) > 1
    )


def held_out(seen: Sequence[View], outcomes: Sequence[Fields | None]) -> Iterator[Check]:
    """The label is what the held-out outcome says, and what other pools say of the same pair."""
    among = f"{len(seen)} episodes"
    if any(outcome is None for outcome in outcomes):
        lacking = sum(outcome is None for outcome in outcomes)
        yield Check("P5", "labels against the held-out outcome", "off", f"{lacking} not kept")
    wrong = (
        view.episode.id
        for view, outcome in zip(seen, outcomes, strict=True)
        if outcome is not None
        and (view.held_out is None or view.held_out.supported != bool(view.episode.label))
    )
    yield none_of("P5", "labels that the held-out outcome denies", wrong, among)
    elsewhere = _outcomes(seen)
    shown = [
        (view, outcome, elsewhere["knockout", view.gene, view.line])
        for view, outcome in zip(seen, outcomes, strict=True)
        if outcome is not None and ("knockout", view.gene, view.line) in elsewhere
    ]
    denied = (view.episode.id for view, outcome, stated in shown if set(stated) != {outcome})
    name = "held-out outcomes that another pool contradicts"
    yield none_of("P5", name, denied, f"{len(shown)} shown elsewhere")


def splits(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    """Held-out genes are in no training pool; splits and lines are those of the seed."""
    of: dict[str, set[str]] = defaultdict(set)
    for view in seen:
        of[view.gene].add(view.episode.split)
    both = (gene for gene, found in sorted(of.items()) if len(found) > 1)
    yield none_of("P5", "genes in two splits", both, f"{len(of)} genes")
    odd = (view.episode.id for view in seen if view.episode.unit != view.gene)
    yield none_of("P5", "episodes whose unit is not their gene", odd, f"{len(seen)} episodes")
    seed = info.get("seed")
    if not isinstance(seed, int):
        yield Check("P5", "split by the seed", "off", "the file states no seed")
        training = {gene for gene, found in of.items() if found == {"train"}}
    else:
        named = {gene for view in seen for gene in _genes(view)}
        split = {gene: gene_split(seed, gene) for gene in named}
        training = {gene for gene, found in split.items() if found == "train"}
        moved = (gene for gene, found in sorted(of.items()) if found != {split[gene]})
        yield none_of("P5", "genes outside the split of their hash", moved, f"{len(of)} genes")
        lines = {view.line for view in seen}
        reference = (line for line in sorted(lines) if is_reference(seed, line))
        name = "targets in lines that partners were computed on"
        yield none_of("P5", name, reference, f"{len(lines)} lines")
    foreign = (
        f"{view.episode.id}: {gene}"
        for view in seen
        for gene in sorted(_genes(view) - {view.gene} - training)
    )
    name = "held-out genes seen in another gene's episode"
    yield none_of("P5", name, foreign, f"{len(seen)} episodes")


def _genes(view: View) -> set[str]:
    """Return every gene that an episode's fields name."""
    found = {view.gene, *view.episode.target.fields["coessential"]}
    for experiment in view.experiments():
        found |= {experiment.fields["gene"], *experiment.fields["coessential"]}
    return found


def order(seen: Sequence[View]) -> Iterator[Check]:
    """A stub's place in its pool says nothing about its relevance or its outcome."""
    tiers = [[how.tier for how in view.relations] for view in seen]
    yield _unordered("tier", tiers)
    control = [[how.tier < CONTROL_TIER for how in view.relations] for view in seen]
    yield _unordered("related or control", control)
    said = [[bool(said and said.supported) for said in view.readings] for view in seen]
    yield _unordered("outcome", said)


def _unordered(what: str, rows: Sequence[Sequence[float]]) -> Check:
    """Return the check that the mean within-pool correlation with the place is 0."""
    found = []
    for row in rows:
        values = np.array(row, dtype=float)
        if len(values) > 2 and np.ptp(values) > 0:
            found.append(float(np.corrcoef(values, np.arange(len(values)))[0, 1]))
    if len(found) < 2:
        return Check("P5", f"place in the pool against {what}", "info", "too few pools")
    mean = float(np.mean(found))
    deviations = abs(mean) / max(float(np.std(found, ddof=1)) / len(found) ** 0.5, 1e-12)
    state: State = "ok" if deviations <= _OK_DEVIATIONS else "off"
    if deviations > _BROKEN_DEVIATIONS:
        state = "violated"
    figure = f"mean r {mean:+.3f} ({deviations:.1f} standard errors)"
    return Check("P5", f"place in the pool against {what}", state, figure, "0")
