"""The policy of Bayesian experimental design: the most expected information per cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from bed.estimators.scores import Estimator
from bed.estimators.trust import per_cost
from bed.policies.ranking import ranked
from bed.protocols import Choice, DesignProblem

__all__ = ["InformationPolicy"]


@dataclass(frozen=True)
class InformationPolicy:
    """The candidate with the highest expected information gain per cost.

    Attributes:
        estimator: any estimator of `bed.estimators`.
    """

    estimator: Estimator

    def choose(self, problems: Sequence[DesignProblem]) -> list[Choice]:
        """Return the best candidate for every problem, with the bits that it promises."""
        return [
            ranked(
                per_cost(scores.eig, scores.cost),
                "most expected information per cost",
                scores.reasons,
                scores.cost,
                stderr=scores.eig_stderr / scores.cost,
                doubts=scores.doubts,
                eig=scores.eig,
                coherence_gap=scores.coherence_gap,
                raw_coherence_gap=scores.raw_coherence_gap,
                calls=scores.calls,
            )
            for scores in self.estimator.score_batch(problems)
        ]
