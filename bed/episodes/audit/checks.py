"""What a check finds, and the view of an episode that all checks share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from bed.domains import Reading, Relation, reading, relation
from bed.episodes.files import EpisodeFile
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Fields, Outcome

__all__ = ["CONTROL_TIER", "Check", "State", "View", "none_of", "views", "within"]

CONTROL_TIER = 6

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
        held_out: what the held-out outcome says; None where it is not kept or cannot be read.
    """

    episode: Episode
    readings: tuple[Reading | None, ...]
    relations: tuple[Relation, ...]
    held_out: Reading | None

    @property
    def gene(self) -> str:
        """The target's gene."""
        return str(self.episode.target.fields["gene"])

    @property
    def line(self) -> str:
        """The target's cell line."""
        return str(self.episode.target.fields["cell_line"])

    @property
    def lineage(self) -> str:
        """The target's lineage."""
        return str(self.episode.target.fields["lineage"])

    @property
    def num_supporting(self) -> int:
        """The number of related stubs that support their own h'."""
        pairs = zip(self.readings, self.relations, strict=True)
        return sum(
            said is not None and how.tier < CONTROL_TIER and said.verdict == "supporting"
            for said, how in pairs
        )

    def experiments(self) -> Iterator[Experiment]:
        """Yield the pool's experiments."""
        return (stub.experiment for stub in self.episode.pool)


def views(file: EpisodeFile) -> list[View]:
    """Return all episodes with their stubs read and related to the target."""
    return [
        View(
            episode,
            tuple(_read(stub.experiment, stub.outcome) for stub in episode.pool),
            tuple(relation(episode.target, stub.experiment) for stub in episode.pool),
            None if outcome is None else _read(_own(episode), outcome),
        )
        for episode, outcome in zip(file.episodes, file.held_out, strict=True)
    ]


def _own(episode: Episode) -> Experiment:
    """Return the target's own knockout."""
    return Experiment("held out", episode.target, fields=Fields(kind="knockout"))


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
