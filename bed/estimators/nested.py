"""Nested Monte Carlo: the baseline without a factored mixture.

    EIG(x) = H(p(theta|I)) - mean_s H(p(theta|I,x,y_s)),
    y_s ~ w p(y|x,theta'=1,I) + (1 - w) p(y|x,theta'=0,I)

Each outcome first draws its branch. No likelihood is needed: the belief model gives the posterior.
Entropies of a yes/no belief lie in [0, 1], so the estimate is finite wherever its parts are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bed.estimators.asking import Plan, Present, draw_outcomes, imagined_futures, present_beliefs
from bed.estimators.base_rates import BaseRates, at_base_rates, check_base_rates
from bed.estimators.forms import noise_bits
from bed.estimators.scores import Estimator, Scores, assembled, check_num_samples, flattened, split
from bed.estimators.trust import FEWEST_DRAWS, RECALIBRATE, REPEAT, Grounds, allowed_gap
from bed.information import information_gain_bits
from bed.protocols import BeliefModel, DesignProblem, OutcomeRequest, OutcomeSimulator
from bed.seeds import derive_seed, uniform

__all__ = ["NestedMonteCarloEIG"]


@dataclass(frozen=True)
class NestedMonteCarloEIG(Estimator):
    """Nested Monte Carlo EIG over any belief model and outcome simulator.

    Attributes:
        belief: answers p(theta|I), p(theta'|I) and p(theta|I,x,y).
        simulator: draws the outcomes.
        num_samples: outcomes a candidate; at 2 it makes as many calls as the factored form.
        base_rates: see `BaseRates`; moves the probability of each branch.
    """

    belief: BeliefModel
    simulator: OutcomeSimulator
    num_samples: int = 2
    base_rates: BaseRates | None = None

    def __post_init__(self) -> None:
        check_num_samples(self.num_samples)
        check_base_rates(self.base_rates)

    def score_batch(self, problems: Sequence[DesignProblem]) -> list[Scores]:
        """Score every candidate of every problem: one simulator batch, two belief batches."""
        if not problems:
            return []
        present = present_beliefs(self.belief, problems)
        plans = [self._plan(problem, now) for problem, now in zip(problems, present, strict=True)]
        drawn = draw_outcomes(self.simulator, plans)
        futures = imagined_futures(self.belief, problems, plans, drawn)
        flat = flattened(problems, present, [(plans, futures)], (1, self.num_samples))
        complete = np.array([reason is None for reason in flat.reasons], dtype=bool)
        eig, stderr = (np.full(len(complete), np.nan) for _ in range(2))
        posterior = flat.posterior[complete]
        bits = information_gain_bits(flat.prior[complete, None], posterior[:, 0])
        eig[complete] = bits.mean(axis=1)
        if self.num_samples > 1:
            # belief noise scatters the draws too
            stderr[complete] = bits.std(axis=1, ddof=1) / np.sqrt(self.num_samples)
        else:
            one = np.ones(len(posterior))
            both = np.concatenate([posterior, np.full_like(posterior, np.nan)], axis=1)
            noise = np.concatenate([flat.posterior_noise[complete]] * 2, axis=1)
            unknown = np.full(len(posterior), np.nan)
            stderr[complete] = noise_bits(
                flat.prior[complete], one, both, "entropy", unknown, noise
            )
        gap = np.where(complete, flat.posterior[:, 0].mean(axis=1) - flat.prior, np.nan)
        is_told = self.num_samples == 1 or self.num_samples >= FEWEST_DRAWS
        return assembled(
            problems,
            present,
            [futures],
            flat,
            eig=eig,
            eig_stderr=stderr,
            branch_weight=at_base_rates(problems, flat.weight, self.base_rates),
            # the branches were drawn at the moved weights, so there is no other gap to report
            coherence_gap=gap,
            raw_coherence_gap=np.full(len(complete), np.nan),
            grounds=[
                Grounds(
                    of_gap,
                    of_stderr if is_told else np.full_like(of_stderr, np.nan),
                    allowed_gap(False, len(plan)),
                    (RECALIBRATE, "draw more samples"),
                    (REPEAT, "draw more samples"),
                )
                for of_gap, of_stderr, plan in zip(
                    split(problems, gap), split(problems, stderr), plans, strict=True
                )
            ],
        )

    def _plan(self, problem: DesignProblem, now: Present) -> Plan:
        weight = at_base_rates([problem], now.weight, self.base_rates)
        plan: Plan = {}
        for k, (x, w) in enumerate(zip(problem.candidates, weight, strict=True)):
            for n in range(self.num_samples):
                seed = derive_seed(problem.seed, "nested outcome", n, x.id)
                # a failed weight fails its candidate later; the branch drawn here is of no use
                branch = bool(uniform(derive_seed(seed, "branch")) < w)
                plan[k, 0, n] = OutcomeRequest(x, branch, problem.evidence, seed)
        return plan
