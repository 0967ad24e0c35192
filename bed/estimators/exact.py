"""Exact expected information gain by enumeration of a finite world: the oracle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bed.errors import DataError, ImpossibleEvidenceError
from bed.estimators.scores import Estimator, Scores
from bed.protocols import Calls, DesignProblem
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
        """Score by enumeration; evidence that its world excludes fails a problem's candidates."""
        return [self._scores(problem) for problem in problems]

    def _scores(self, problem: DesignProblem) -> Scores:
        size = len(problem.candidates)
        prior, reason = np.nan, None
        eig, weight = np.full(size, np.nan), np.full(size, np.nan)
        try:
            world = self._world(problem)
            observed = world.observed(problem.evidence)
            indices = [world.index(candidate) for candidate in problem.candidates]
            prior = world.posterior(observed)
            eig = np.array([world.candidate_eig(k, observed) for k in indices])
            weight = np.array([world.branch_weight(k, observed) for k in indices])
        except (ImpossibleEvidenceError, DataError) as error:
            reason = str(error)
        exact = np.where(np.isnan(eig), np.nan, 0.0)
        return Scores(
            candidates=problem.candidates,
            eig=eig,
            eig_stderr=exact,
            prior=prior,
            branch_weight=weight,
            posterior=np.full((size, 2, 1), np.nan),
            coherence_gap=exact,
            raw_coherence_gap=exact,
            reasons=(reason,) * size,
            calls=Calls(),
        )

    def _world(self, problem: DesignProblem) -> World:
        name = str(problem.target.fields.get("world"))
        if name not in self.worlds:
            raise DataError(f"no world {name!r} here, asked by {problem.target.text!r}")
        return self.worlds[name]
