"""What an estimator says of each candidate, and the one interface of all estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bed.errors import DataError
from bed.estimators.asking import Futures, Present
from bed.evidence import Evidence, Experiment, Hypothesis
from bed.protocols import Calls, DesignProblem

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Estimator", "Scores", "assembled", "check_num_samples", "flattened"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Expected information gain of each candidate of one design problem.

    Attributes:
        candidates: in the order of the problem.
        eig: bits, shape (num_candidates,); never clipped, NaN where not scored.
        eig_stderr: bits; NaN where one draw gives none.
        prior: p(theta = 1 | I).
        branch_weight: p(theta' = 1 | I), shape (num_candidates,).
        posterior: p(theta = 1 | I, x, y), shape (num_candidates, num_branches, num_samples).
        coherence_gap: weighted mean of the posteriors, as the model gave them, minus the prior. It
            is 0 for a Bayesian belief whose simulator agrees with it; where it is large, the EIG
            is not to be believed (see `renormalise` of `FactoredEIG`).
        raw_coherence_gap: the same with the branch weight as the belief gave it, before it was
            moved to a base rate.
        reasons: why a candidate is not scored; None where it is.
        calls: see `bed.protocols.Calls`.
    """

    candidates: tuple[Experiment, ...]
    eig: Array
    eig_stderr: Array
    prior: float
    branch_weight: Array
    posterior: Array
    coherence_gap: Array
    raw_coherence_gap: Array
    reasons: tuple[str | None, ...]
    calls: Calls

    @property
    def cost(self) -> Array:
        """Cost of each candidate."""
        return np.array([candidate.cost for candidate in self.candidates])

    def dataset(self) -> xr.Dataset:
        """Return the scores as a dataset with dimensions candidate, branch and sample."""
        import xarray as xr

        status = ["failed" if reason else "scored" for reason in self.reasons]
        bits = {"units": "bits"}
        stderr_note = bits | {"note": "NaN: one draw gives no standard error"}
        return xr.Dataset(
            {
                "eig": ("candidate", self.eig, bits),
                "eig_stderr": ("candidate", self.eig_stderr, stderr_note),
                "branch_weight": ("candidate", self.branch_weight),
                "posterior": (("candidate", "branch", "sample"), self.posterior),
                "coherence_gap": ("candidate", self.coherence_gap),
                "raw_coherence_gap": ("candidate", self.raw_coherence_gap),
                "cost": ("candidate", self.cost),
                "status": ("candidate", status),
                "reason": ("candidate", [reason or "" for reason in self.reasons]),
            },
            coords={"candidate": [candidate.id for candidate in self.candidates]},
            attrs={
                "prior": self.prior,
                "belief_calls": self.calls.belief,
                "belief_calls_sent": self.calls.belief_sent,
                "simulator_calls": self.calls.simulator,
                "simulator_calls_sent": self.calls.simulator_sent,
            },
        )


class Estimator(ABC):
    """An estimator of expected information gain: frozen, holding hyper-parameters only."""

    @abstractmethod
    def score_batch(self, problems: Sequence[DesignProblem]) -> list[Scores]:
        """Score every candidate of every problem, in a few large batches of model calls."""

    def score(
        self,
        target: Hypothesis,
        evidence: Evidence,
        candidates: Sequence[Experiment],
        seed: int = 0,
    ) -> xr.Dataset:
        """Score the candidates of one problem.

        Args:
            target: the hypothesis h to learn about.
            evidence: what is known, I.
            candidates: experiments that could be run next.
            seed: what every simulated draw derives from; the order of the candidates does not
                matter.

        Returns:
            A dataset over `candidate`: `eig` (bits, never clipped), `eig_stderr`, `branch_weight`,
            `posterior` (branch, sample), `coherence_gap`, `raw_coherence_gap`, `cost`, `status`,
            `reason`; the call counts are attributes. A candidate that could not be scored has
            status "failed".
        """
        problem = DesignProblem(target, tuple(evidence), tuple(candidates), seed)
        return self.score_batch([problem])[0].dataset()


def check_num_samples(num_samples: int) -> None:
    """Raise DataError unless this is a whole number of at least 1."""
    if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples < 1:
        raise DataError(f"num_samples is {num_samples!r}; it must be a whole number of 1 or more")


def flattened(
    problems: Sequence[DesignProblem],
    present: Sequence[Present],
    futures: Sequence[Futures],
    num_branches: int,
) -> tuple[Array, Array, Array, list[str | None]]:
    """Return prior, branch weight, posterior and reasons, flat over all problems' candidates.

    Shapes: (n,), (n,), (n, num_branches, num_samples) and n reasons, None where all parts of a
    candidate are known. A branch of weight 0 contributes nothing, whatever became of its draws:
    its posteriors are set to the prior.
    """
    sizes = [len(problem.candidates) for problem in problems]
    prior = np.repeat([now.prior for now in present], sizes)
    weight = np.concatenate([now.weight for now in present])
    shares = (
        np.stack([weight, 1.0 - weight], axis=1) if num_branches == 2 else np.ones((len(weight), 1))
    )
    shape = (len(weight), num_branches, -1)
    posterior = np.concatenate([later.posterior for later in futures]).reshape(shape)
    is_idle = np.broadcast_to((shares == 0)[:, :, None], posterior.shape)
    of_draws = [reason for later in futures for reason in later.reasons]
    first_failed: dict[int, str] = {}
    for place in np.flatnonzero(np.isnan(posterior) & ~is_idle):
        first_failed.setdefault(
            int(place) // posterior[0].size, of_draws[place] or "no reason given"
        )
    of_beliefs = [reason for now in present for reason in now.reasons]
    reasons = [reason or first_failed.get(row) for row, reason in enumerate(of_beliefs)]
    return prior, weight, np.where(is_idle, prior[:, None, None], posterior), reasons


def assembled(
    problems: Sequence[DesignProblem],
    present: Sequence[Present],
    futures: Sequence[Futures],
    eig: Array,
    eig_stderr: Array,
    branch_weight: Array,
    posterior: Array,
    coherence_gap: Array,
    raw_coherence_gap: Array,
    reasons: Sequence[str | None],
) -> list[Scores]:
    """Return flat results as one `Scores` a problem."""
    scores, start = [], 0
    for problem, now, later in zip(problems, present, futures, strict=True):
        here = slice(start, start + len(problem.candidates))
        start = here.stop
        calls = Calls(
            belief=now.calls + later.belief_calls,
            simulator=later.simulator_calls,
            belief_sent=now.sent + later.belief_sent,
            simulator_sent=later.simulator_sent,
        )
        scores.append(
            Scores(
                problem.candidates,
                eig[here],
                eig_stderr[here],
                now.prior,
                branch_weight[here],
                posterior[here],
                coherence_gap[here],
                raw_coherence_gap[here],
                tuple(reasons[here]),
                calls,
            )
        )
    return scores
