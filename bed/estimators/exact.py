"""Exact expected information gain by enumeration of a finite world: the oracle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bed.errors import DataError, ImpossibleEvidenceError
from bed.estimators.scores import Calls, Estimator, Scores
from bed.protocols import DesignProblem
from bed.worlds import World

__all__ = ["ExactEIG"]


@dataclass(frozen=True)
class ExactEIG(Estimator):
    """Exact EIG of candidates of finite worlds.

    Attributes:
        worlds: name -> world; a problem's target says which one it lives in.
    """

    worlds: Mapping[str, World]

    def score_batch(self, problems: Sequence[DesignProblem]) -> list[Scores]:
        """Score by enumeration; evidence that the world excludes fails every candidate."""
        return [self._scores(problem) for problem in problems]

    def _scores(self, problem: DesignProblem) -> Scores:
        name = problem.target.fields["world"]
        if name not in self.worlds:
            raise DataError(f"world {name!r} is unknown; known are {sorted(self.worlds)[:5]} ...")
        world = self.worlds[name]
        size = len(problem.candidates)
        nothing = np.full(size, np.nan)
        posterior = np.full((size, 2, 1), np.nan)
        observed = world.observed(problem.evidence)
        indices = [int(candidate.fields["index"]) for candidate in problem.candidates]
        try:
            prior = world.posterior(observed)
            eig = np.array([world.candidate_eig(k, observed) for k in indices])
            weight = np.array([world.branch_weight(k, observed) for k in indices])
        except ImpossibleEvidenceError as error:
            return Scores(
                problem.candidates, nothing, nothing, np.nan, nothing, posterior, nothing,
                (str(error),) * size, Calls(),
            )
        exact = np.zeros(size)
        return Scores(
            problem.candidates, eig, exact, prior, weight, posterior, exact,
            (None,) * size, Calls(),
        )
