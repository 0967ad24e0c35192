"""The two things that every domain says about evidence."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Level", "Reading", "Relation", "Verdict"]

Verdict = Literal["supporting", "refuting", "inconclusive"]
Level = Literal["supported", "unsupported", "refuted"]


@dataclass(frozen=True, slots=True)
class Relation:
    """How an experiment bears on a hypothesis.

    Attributes:
        tier: 1 for the most relevant; each domain numbers its own.
        tag: the same in words, one wording for each kind of relation.
    """

    tier: int
    tag: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What an outcome says about the local hypothesis h' that its experiment tests.

    Attributes:
        supported: whether h' comes out supported; this is the branch theta'.
        verdict: for analysis; an assay without a rule for refutation is inconclusive.
        score: signed support, growing with support; about 0 at the threshold and 1 where strong.
    """

    supported: bool
    verdict: Verdict
    score: float

    @property
    def level(self) -> Level:
        """Three steps of support, which stand-ins weigh apart."""
        if self.supported:
            return "supported"
        return "refuted" if self.verdict == "refuting" else "unsupported"
