"""A reference that cheats: it sees every outcome and the label. Not a bound, since it is greedy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bed.errors import DataError
from bed.evidence import Episode
from bed.policies.ranking import ranked
from bed.protocols import BeliefModel, BeliefQuery, Calls, Choice, DesignProblem

__all__ = ["HindsightPolicy"]


@dataclass(frozen=True)
class HindsightPolicy:
    """The experiment whose true outcome raises the tracker's belief in the truth most now.

    It does not look at cost.

    Attributes:
        belief: the tracker that scores trajectories.
        episodes: problem id -> the episode, with outcomes and label.
    """

    belief: BeliefModel
    episodes: Mapping[str, Episode]

    def choose(self, problems: Sequence[DesignProblem]) -> list[Choice]:
        """Return the most convincing true outcome for every problem."""
        queries, sizes = [], []
        for problem in problems:
            if problem.id not in self.episodes:
                raise DataError(f"no episode {problem.id!r} here: hindsight needs its outcomes")
            true = {stub.experiment.id: stub for stub in self.episodes[problem.id].pool}
            sizes.append(len(problem.candidates))
            queries += [
                BeliefQuery(problem.target, (*problem.evidence, true[x.id]), problem.seed)
                for x in problem.candidates
            ]
        beliefs = self.belief.probabilities(queries)
        choices, start = [], 0
        for problem, size in zip(problems, sizes, strict=True):
            here = slice(start, start + size)
            start = here.stop
            p = beliefs.probabilities[here]
            truth = p if self.episodes[problem.id].label else 1.0 - p
            choices.append(
                ranked(
                    truth,
                    "its true outcome convinces most",
                    beliefs.reasons[here],
                    calls=Calls(belief=size, belief_sent=size),
                )
            )
        return choices
