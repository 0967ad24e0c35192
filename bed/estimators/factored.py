"""The factored estimator of expected information gain (Ibis0 / EDB-Bio, section 6).

    EIG(x) = H(p(theta|I)) - w E[H(p(theta|I,x,y+))] - (1 - w) E[H(p(theta|I,x,y-))],
    w = p(theta'=1|I),  y+ ~ p(y|x,theta'=1,I),  y- ~ p(y|x,theta'=0,I)

At one draw a branch it needs 3 belief calls and 2 simulator calls a candidate. The KL form,
sum_b w_b E[KL(p(theta|I,x,y_b) || p(theta|I))], has the same expectation under a coherent belief,
a smaller variance, and is never negative.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.estimators.asking import draw_outcomes, imagined_futures, present_beliefs
from bed.estimators.base_rates import BaseRates, at_base_rates, check_base_rates
from bed.estimators.coherence import branch_mean, recalibrated, renormalised
from bed.estimators.scores import Estimator, Scores, assembled, check_num_samples, flattened
from bed.information import checked_probabilities, entropy_bits, kl_bits
from bed.protocols import BeliefModel, DesignProblem, OutcomeRequest, OutcomeSimulator
from bed.seeds import derive_seed

__all__ = ["Coupling", "FactoredEIG", "Form", "factored_eig"]

Array = NDArray[np.float64]

Form = Literal["entropy", "kl"]
Coupling = Literal["independent", "candidates", "branches"]


def factored_eig(
    p_theta: float,
    p_local: float,
    post_supportive: ArrayLike,
    post_nonsupportive: ArrayLike,
    form: Form = "entropy",
) -> float:
    """Return the factored EIG of one candidate in bits, never clipped.

    Args:
        p_theta: p(theta=1 | I).
        p_local: w = p(theta'=1 | I).
        post_supportive: posteriors after each supportive outcome; may be empty where w is 0.
        post_nonsupportive: the same for the other branch; may be empty where w is 1.
        form: "entropy" (the paper's) or "kl".

    Raises:
        DataError: for NaN, values outside [0, 1], or a branch with weight but no samples.
    """
    prior = float(checked_probabilities(p_theta, "p_theta"))
    weight = float(checked_probabilities(p_local, "p_local"))
    expected = 0.0
    for name, share, samples in (
        ("post_supportive", weight, post_supportive),
        ("post_nonsupportive", 1.0 - weight, post_nonsupportive),
    ):
        values = checked_probabilities(samples, name)
        if share > 0:
            if values.size == 0:
                raise DataError(f"{name} is empty although its branch has weight {share:.3g}")
            expected += share * float(_information(np.array([prior]), values[None], form).mean())
    return expected


def _information(prior: Array, posterior: Array, form: Form) -> Array:
    """Return the bits that each posterior is worth: entropy lost, or divergence from the prior."""
    before = prior.reshape(prior.shape + (1,) * (posterior.ndim - 1))
    if form == "kl":
        return kl_bits(posterior, before)
    return entropy_bits(before) - entropy_bits(posterior)


@dataclass(frozen=True)
class FactoredEIG(Estimator):
    """Factored EIG over any belief model and outcome simulator.

    Attributes:
        belief: answers p(theta|I), p(theta'|I) and p(theta|I,x,y).
        simulator: draws the outcomes of both branches.
        num_samples: outcomes a branch.
        form: "entropy", as in the paper, or "kl".
        coupling: "independent" draws; "candidates" share their draws (common random numbers);
            "branches" share them too. Coupling acts through simulators whose equal seeds give
            coupled outcomes.
        slope: multiplies each log-odds update of the belief; below 1 tames overreaction.
        renormalise: one common logit shift makes the posteriors' weighted mean equal the prior.
        base_rates: relation tag -> share of supported outcomes in training. Where given, the
            branch weight's log odds move from the 50:50 at which beliefs are fitted to this rate.
    """

    belief: BeliefModel
    simulator: OutcomeSimulator
    num_samples: int = 1
    form: Form = "kl"
    coupling: Coupling = "branches"
    slope: float = 1.0
    renormalise: bool = False
    base_rates: BaseRates | None = None

    def __post_init__(self) -> None:
        check_num_samples(self.num_samples)
        if self.form not in ("entropy", "kl"):
            raise DataError(f"form {self.form!r} is not one of 'entropy', 'kl'")
        if self.coupling not in ("independent", "candidates", "branches"):
            raise DataError(f"coupling {self.coupling!r} is not one of the three")
        if not (np.isfinite(self.slope) and self.slope > 0):
            raise DataError(f"slope {self.slope!r} must be finite and above 0")
        check_base_rates(self.base_rates)

    @classmethod
    def paper(
        cls,
        belief: BeliefModel,
        simulator: OutcomeSimulator,
        num_samples: int = 1,
        base_rates: BaseRates | None = None,
    ) -> Self:
        """Return the paper's Eq. 2: entropy form, independent draws, beliefs taken as they are."""
        return cls(belief, simulator, num_samples, "entropy", "independent", 1.0, False, base_rates)

    def score_batch(self, problems: Sequence[DesignProblem]) -> list[Scores]:
        """Score every candidate of every problem: one simulator batch, two belief batches."""
        if not problems:
            return []
        requests = [self._requests(problem) for problem in problems]
        # the branch weights do not need the simulator: ask for both at once
        background = ThreadPoolExecutor(max_workers=1)
        try:
            drawing = background.submit(draw_outcomes, self.simulator, requests)
            present = present_beliefs(self.belief, problems)
            drawn = drawing.result()
        finally:
            # an error or an interrupt need not wait for the other half
            background.shutdown(wait=False, cancel_futures=True)
        futures = imagined_futures(self.belief, problems, requests, drawn)
        prior, asked, posterior, reasons = flattened(problems, present, futures, num_branches=2)
        known = np.array([reason is None for reason in reasons], dtype=bool)
        weight = at_base_rates(problems, asked, self.base_rates)
        eig, stderr = np.full(len(prior), np.nan), np.full(len(prior), np.nan)
        eig[known], stderr[known], why = self._expected(
            prior[known], weight[known], posterior[known]
        )
        for row, reason in zip(np.flatnonzero(known), why, strict=True):
            reasons[row] = reason
        return assembled(
            problems,
            present,
            futures,
            eig=eig,
            eig_stderr=stderr,
            branch_weight=weight,
            posterior=posterior,
            coherence_gap=branch_mean(weight, posterior) - prior,
            raw_coherence_gap=branch_mean(asked, posterior) - prior,
            reasons=reasons,
        )

    def _expected(
        self, prior: Array, weight: Array, posterior: Array
    ) -> tuple[Array, Array, list[str | None]]:
        """Return EIG, standard error and why there is none, for rows whose parts are all known."""
        posterior = recalibrated(prior, posterior, self.slope)
        if self.renormalise:
            posterior = renormalised(prior, weight, posterior)
        stuck = np.asarray(np.isnan(posterior).any(axis=(1, 2)))
        bits = _information(prior, np.where(stuck[:, None, None], 0.5, posterior), self.form)
        is_certain = (prior == 0) | (prior == 1)
        failed = stuck | (is_certain & (posterior != prior[:, None, None]).any(axis=(1, 2)))
        bits = np.where(failed[:, None, None], np.nan, bits)
        reasons: list[str | None] = [None] * len(prior)
        for row in np.flatnonzero(failed):
            reasons[row] = (
                "no logit shift makes the posteriors average to the prior"
                if stuck[row]
                else f"the belief is certain at {prior[row]}, yet an outcome moves it"
            )
        return branch_mean(weight, bits), self._stderr(weight, bits), reasons

    def _stderr(self, weight: Array, bits: Array) -> Array:
        """Return the standard error of the branch mean; NaN where one draw gives none."""
        if self.num_samples < 2:
            return np.full(len(weight), np.nan)
        parts = np.stack([weight, 1.0 - weight], axis=1)[:, :, None] * bits
        if self.coupling == "branches":
            # the n-th draws of both branches go together, so their errors do too
            parts = parts.sum(axis=1, keepdims=True)
        return np.asarray(np.sqrt(parts.var(axis=2, ddof=1).sum(axis=1) / self.num_samples))

    def _requests(self, problem: DesignProblem) -> list[OutcomeRequest]:
        return [
            OutcomeRequest(x, branch, problem.evidence, self._seed(problem.seed, x.id, branch, n))
            for x in problem.candidates
            for branch in (True, False)
            for n in range(self.num_samples)
        ]

    def _seed(self, seed: int, candidate: str, branch: bool, draw: int) -> int:
        names: dict[Coupling, tuple[int | str, ...]] = {
            "branches": (),
            "candidates": (int(branch),),
            "independent": (int(branch), candidate),
        }
        return derive_seed(seed, "outcome", draw, *names[self.coupling])
