"""Which split an association belongs to, and which stubs its pool may hold."""

from datetime import date
from typing import Literal, Protocol

from bed.episodes.gwas.facts import Facts
from bed.episodes.split import SHARES, split_of

__all__ = ["ByDate", "ByLocus", "SplitBy", "Splits"]

SplitBy = Literal["locus", "date"]


class Splits(Protocol):
    """A rule of splitting."""

    def split(self, at: int) -> str | None:
        """Return the split of a target, or None for one that belongs to none.

        Args:
            at: index of the association.
        """

    def may_show(self, target: int, stub: int) -> bool:
        """Return whether the target's pool may hold the stub.

        Args:
            target: index of the target's association.
            stub: index of the stub's association.
        """

    def may_control(self, stub: int) -> bool:
        """Return whether the stub may be a control of any target at another locus.

        Args:
            stub: index of the stub's association.
        """


class ByLocus:
    """Loci are held out: a pool holds stubs at the target's own locus and at training loci alone.

    Args:
        facts: the associations.
        seed: of the build.
    """

    def __init__(self, facts: Facts, seed: int) -> None:
        of = {place: split_of(seed, "gwas", place) for place in sorted(set(facts.loci))}
        self._loci, self._splits = facts.loci, [of[place] for place in facts.loci]

    def split(self, at: int) -> str | None:
        """Return the split of the locus."""
        return self._splits[at]

    def may_show(self, target: int, stub: int) -> bool:
        """Return whether the stub lies at the target's locus or at a training locus."""
        return self._loci[stub] == self._loci[target] or self.may_control(stub)

    def may_control(self, stub: int) -> bool:
        """Return whether the stub lies at a training locus."""
        return self._splits[stub] == "train"


class ByDate:
    """Studies are held out: a pool holds stubs published no later than the target's study.

    Args:
        facts: the associations; the oldest 60 % are for training, the newest 30 % for testing.
    """

    def __init__(self, facts: Facts) -> None:
        self._days = [found.day for found in facts.associations]
        num = len(facts.days)
        cuts = (SHARES["train"], SHARES["train"] + SHARES["validation"])
        self.cuts: list[date] = [facts.days[int(num * cut)] for cut in cuts] if num else []

    def split(self, at: int) -> str | None:
        """Return the split of the day; a day belongs to one split as a whole."""
        day = self._days[at]
        if day is None:
            return None
        return ("train", "validation", "test")[sum(day >= cut for cut in self.cuts)]

    def may_show(self, target: int, stub: int) -> bool:
        """Return whether the stub was published no later than the target."""
        latest, day = self._days[target], self._days[stub]
        return latest is not None and day is not None and day <= latest

    def may_control(self, stub: int) -> bool:
        """Return whether the stub's day is known."""
        return self._days[stub] is not None
