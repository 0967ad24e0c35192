"""What a check finds, and the view of an episode that all checks share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from bed.domains import Reading, Relation, Verdict, reading, relation
from bed.episodes.files import EpisodeFile
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Hypothesis, Outcome

__all__ = ["Check", "State", "View", "none_of", "views", "within"]

State = Literal["ok", "off", "violated", "info"]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the audit.

    Attributes:
        principle: "P1" to "P5", or "file".
        name: what is looked at.
        state: "ok"; "off", a quota missed; "violated", a rule broken; "info", no rule applies.
        found: the figure found.
        wanted: the figure wanted, or "".
    """

    principle: str
    name: str
    state: State
    found: str
    wanted: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """An episode with its stubs read.

    Attributes:
        episode: the episode.
        readings: what each stub says of its own h'; None where its outcome cannot be read.
        relations: how each stub bears on the target.
        is_related: whether each stub is nearer than a control.
        num_conclusive: how many related stubs count towards sufficiency.
        verdict: what the held-out outcome says; None where it is not kept or cannot be read.
    """

    episode: Episode
    readings: tuple[Reading | None, ...]
    relations: tuple[Relation, ...]
    is_related: tuple[bool, ...]
    num_conclusive: int
    verdict: Verdict | None

    def experiments(self) -> Iterator[Experiment]:
        """Yield the pool's experiments."""
        return (stub.experiment for stub in self.episode.pool)


def views(
    file: EpisodeFile,
    control_tier: int,
    counts: Callable[[Reading], bool],
    verdict: Callable[[Hypothesis, Outcome], Verdict],
) -> list[View]:
    """Return all episodes with their stubs read and related to the target.

    Args:
        file: of one domain.
        control_tier: the tier of controls.
        counts: whether a related stub counts towards sufficiency.
        verdict: what a held-out outcome says of a target's claim.
    """
    found = []
    for episode, outcome in zip(file.episodes, file.held_out, strict=True):
        readings = tuple(_read(stub.experiment, stub.outcome) for stub in episode.pool)
        relations = tuple(relation(episode.target, stub.experiment) for stub in episode.pool)
        is_related = tuple(how.tier < control_tier for how in relations)
        num = sum(
            near and said is not None and counts(said)
            for near, said in zip(is_related, readings, strict=True)
        )
        said = None
        if outcome is not None:
            said = _or_none(verdict, episode.target, outcome)
        found.append(View(episode, readings, relations, is_related, num, said))
    return found


def _or_none(
    verdict: Callable[[Hypothesis, Outcome], Verdict], target: Hypothesis, outcome: Outcome
) -> Verdict | None:
    try:
        return verdict(target, outcome)
    except DataError:
        return None


def _read(experiment: Experiment, outcome: Outcome) -> Reading | None:
    try:
        return reading(experiment, outcome)
    except DataError:
        return None


def none_of(principle: str, name: str, faults: Iterable[str], among: str) -> Check:
    """Return a check that holds only without faults; the first few are named.

    Args:
        principle: as in `Check`.
        name: what must not be.
        faults: where it is nevertheless.
        among: what was looked through, such as "96000 stubs".
    """
    found = list(faults)
    if not found:
        return Check(principle, name, "ok", f"none in {among}")
    named = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
    return Check(principle, name, "violated", f"{len(found)} in {among}: {named}", "none")


def within(
    principle: str, name: str, value: float, wanted: float, ok: float, broken: float | None = None
) -> Check:
    """Return a check of a share against a wanted share.

    Args:
        principle: as in `Check`.
        name: what the share is of.
        value: the share found, in [0, 1].
        wanted: the share wanted.
        ok: the distance up to which it is ok.
        broken: the distance beyond which it is violated; never if None.
    """
    away = abs(value - wanted)
    state: State = "ok" if away <= ok else "off"
    if broken is not None and away > broken:
        state = "violated"
    found = f"{value:.1%}" + ("" if state == "ok" else f" (off by {value - wanted:+.1%})")
    return Check(principle, name, state, found, f"{wanted:.1%}")
