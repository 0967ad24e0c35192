"""Policies that promise no information: by chance, by relevance, by uncertainty."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bed.domains import relation
from bed.errors import DataError
from bed.estimators.asking import present_beliefs
from bed.estimators.base_rates import BaseRates, at_base_rates
from bed.policies.ranking import ranked
from bed.protocols import BeliefModel, Choice, DesignProblem
from bed.seeds import derive_seed, uniform

__all__ = ["RandomPolicy", "RelevancePolicy", "UncertaintyPolicy"]


@dataclass(frozen=True)
class RandomPolicy:
    """Any candidate, uniformly, by the problem's seed. It does not look at cost."""

    def choose(self, problems: Sequence[DesignProblem]) -> list[Choice]:
        """Return a random choice for every problem."""
        return [
            ranked(
                np.array([uniform(derive_seed(p.seed, "random", x.id)) for x in p.candidates]),
                "drawn at random",
            )
            for p in problems
        ]


@dataclass(frozen=True)
class RelevancePolicy:
    """The most relevant tier first, then pool order. It does not look at cost."""

    def choose(self, problems: Sequence[DesignProblem]) -> list[Choice]:
        """Return the first candidate of the best tier for every problem."""
        return [self._choice(problem) for problem in problems]

    def _choice(self, problem: DesignProblem) -> Choice:
        worth = np.full(len(problem.candidates), np.nan)
        reasons: list[str | None] = [None] * len(worth)
        for i, candidate in enumerate(problem.candidates):
            try:
                worth[i] = -relation(problem.target, candidate).tier
            except DataError as error:
                reasons[i] = str(error)
        return ranked(worth, "of the most relevant tier", reasons)


@dataclass(frozen=True)
class UncertaintyPolicy:
    """The experiment whose own result is least certain. It does not look at cost.

    Attributes:
        belief: answers p(theta'=1 | I), one call a candidate.
        base_rates: see `bed.estimators.base_rates`.
    """

    belief: BeliefModel
    base_rates: BaseRates | None = None

    def choose(self, problems: Sequence[DesignProblem]) -> list[Choice]:
        """Return the candidate whose branch weight is nearest to one half."""
        present = present_beliefs(self.belief, problems, with_prior=False)
        return [
            ranked(
                -np.abs(at_base_rates([problem], now.weight, self.base_rates) - 0.5),
                "its own result is the least certain",
                now.reasons,
                calls=now.calls,
            )
            for problem, now in zip(problems, present, strict=True)
        ]
