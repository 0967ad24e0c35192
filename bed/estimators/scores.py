"""What an estimator says of each candidate, and the one interface of all estimators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bed.errors import DataError
from bed.estimators.asking import Futures, Plan, Present
from bed.estimators.trust import Grounds, doubts
from bed.evidence import Evidence, Experiment, Hypothesis
from bed.protocols import Calls, DesignProblem

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Estimator", "Flat", "Scores", "assembled", "check_num_samples", "flattened", "split"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Expected information gain of each candidate of one design problem.

    Attributes:
        candidates: in the order of the problem.
        eig: bits, shape (num_candidates,); never clipped, NaN where not scored.
        eig_stderr: bits, from the scatter of random draws and the noise of beliefs, without that
            of the prior, which all candidates share; NaN where neither is known.
        prior: p(theta = 1 | I).
        branch_weight: p(theta' = 1 | I), shape (num_candidates,).
        posterior: p(theta = 1 | I, x, y), shape (num_candidates, num_branches, num_samples); NaN
            where none was asked for or it failed.
        coherence_gap: weighted mean of the posteriors, as the model gave them, minus the prior;
            NaN where a part of them was not asked for (as in screening) or failed. It
            is 0 for a Bayesian belief whose simulator agrees with it; where it is large, the EIG
            is not to be believed (see `renormalise` of `FactoredEIG`).
        raw_coherence_gap: the same with the branch weight as the belief gave it, before it was
            moved to a base rate.
        reasons: why a candidate is not scored; None where it is.
        calls: see `bed.protocols.Calls`.
        doubts: why the scores are not to be trusted, with what mends it; empty where they are.
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
    doubts: tuple[str, ...] = ()

    @property
    def cost(self) -> Array:
        """Cost of each candidate."""
        return np.array([candidate.cost for candidate in self.candidates])

    def dataset(self) -> xr.Dataset:
        """Return the scores as a dataset with dimensions candidate, branch and sample."""
        import xarray as xr

        status = ["failed" if reason else "scored" for reason in self.reasons]
        bits = {"units": "bits"}
        stderr_note = bits | {"note": "NaN: unknown, as one draw or fixed levels tell no scatter"}
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
                "doubts": "\n".join(self.doubts),
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
            `reason`; the call counts and `doubts`, one a line, are attributes. A candidate that
            could not be scored has status "failed".
        """
        problem = DesignProblem(target, tuple(evidence), tuple(candidates), seed)
        return self.score_batch([problem])[0].dataset()


def check_num_samples(num_samples: int) -> None:
    """Raise DataError unless this is a whole number of at least 1."""
    is_whole = isinstance(num_samples, int | np.integer) and not isinstance(num_samples, bool)
    if not is_whole or num_samples < 1:
        raise DataError(f"num_samples is {num_samples!r}; it must be a whole number of 1 or more")


@dataclass(frozen=True)
class Flat:
    """What was asked, flat over all problems' candidates (n in all).

    Attributes:
        prior: shape (n,).
        weight: p(theta'=1 | I) as the belief gave it, shape (n,).
        posterior: shape (n, num_branches, num_samples), NaN where none was asked for or it failed;
            in a branch of weight 0, whose outcomes count for nothing, it is the prior.
        weight_noise, posterior_noise: standard errors in log odds; NaN where unknown.
        reasons: why a part of a candidate is missing; None where all that was asked is known.
    """

    prior: Array
    weight: Array
    posterior: Array
    weight_noise: Array
    posterior_noise: Array
    reasons: Sequence[str | None]


def flattened(
    problems: Sequence[DesignProblem],
    present: Sequence[Present],
    rounds: Sequence[tuple[Sequence[Plan], Sequence[Futures]]],
    shape: tuple[int, int],
) -> Flat:
    """Return everything that was asked, in flat arrays.

    Args:
        problems: what was asked about.
        present: the beliefs of the present, one a problem.
        rounds: plans and what came of them, one of each a problem.
        shape: (num_branches, num_samples); a single branch is the mixture of the two.
    """
    sizes = [len(problem.candidates) for problem in problems]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    prior = np.repeat([now.prior for now in present], sizes)
    weight = np.concatenate([now.weight for now in present])
    posterior, noise = (np.full((len(weight), *shape), np.nan) for _ in range(2))
    idle = np.zeros(posterior.shape[:2], dtype=bool)
    if shape[0] == 2:
        idle = np.stack([weight == 0, weight == 1], axis=1)
    reasons = [reason for now in present for reason in now.reasons]
    for plans, futures in rounds:
        for start, plan, later in zip(starts, plans, futures, strict=True):
            for (k, b, s), value, spread, why in zip(
                plan, later.posterior, later.noise, later.reasons, strict=True
            ):
                row = start + k
                posterior[row, b, s], noise[row, b, s] = value, spread
                if reasons[row] is None and np.isnan(value) and not idle[row, b]:
                    reasons[row] = why or "no reason given"
    return Flat(
        prior,
        weight,
        np.where(idle[:, :, None], prior[:, None, None], posterior),
        np.concatenate([now.weight_noise for now in present]),
        noise,
        reasons,
    )


def split(problems: Sequence[DesignProblem], values: Array) -> list[Array]:
    """Return flat values as one array a problem."""
    ends = np.cumsum([len(problem.candidates) for problem in problems])
    return np.split(values, ends[:-1])


def assembled(
    problems: Sequence[DesignProblem],
    present: Sequence[Present],
    futures: Sequence[Sequence[Futures]],
    flat: Flat,
    eig: Array,
    eig_stderr: Array,
    branch_weight: Array,
    coherence_gap: Array,
    raw_coherence_gap: Array,
    grounds: Sequence[Grounds],
) -> list[Scores]:
    """Return flat results as one `Scores` a problem.

    Args:
        problems: what was scored.
        present: the beliefs of the present, one a problem.
        futures: of each round, one a problem.
        flat: see `flattened`.
        eig: see `Scores`; flat, like the next.
        eig_stderr: likewise.
        branch_weight: likewise.
        coherence_gap: likewise.
        raw_coherence_gap: likewise.
        grounds: what doubts go by, one a problem.
    """
    scores, start = [], 0
    for i, problem in enumerate(problems):
        here = slice(start, start + len(problem.candidates))
        start = here.stop
        scores.append(
            Scores(
                candidates=problem.candidates,
                eig=eig[here],
                eig_stderr=eig_stderr[here],
                prior=present[i].prior,
                branch_weight=branch_weight[here],
                posterior=flat.posterior[here],
                coherence_gap=coherence_gap[here],
                raw_coherence_gap=raw_coherence_gap[here],
                reasons=tuple(flat.reasons[here]),
                calls=sum((of_round[i].calls for of_round in futures), present[i].calls),
                doubts=doubts(
                    present[i].prior,
                    eig[here],
                    np.array([candidate.cost for candidate in problem.candidates]),
                    grounds[i],
                ),
            )
        )
    return scores
