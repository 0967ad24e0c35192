"""Successive halving: one imagined outcome for every candidate, four more for the best quarter.

Most candidates can be told from the best by one look. The first look is at the rarer branch, at an
outward level; what the other branch would do follows from coherence,

    w p(theta | y+) + (1 - w) p(theta | y-) = p(theta).

The rarer branch moves the belief further, and a small incoherence in its posterior is made smaller
by the odds of the two branches on its way to the other's; from the likelier one it would be made
larger, and pass for information.

The finalists' branches are then averaged over the middles of equal strata, two of the rarer
branch and three of the other, and scored in the Jensen-Shannon form (`forms`). For 16 candidates
this comes to 3 belief calls and 2 simulator calls a candidate, as many as `FactoredEIG` makes.

The finalists also tell whether the belief is coherent. Where their gap raises a doubt (`trust`) the
first look has proved nothing, and `FactoredEIG`, which asks both branches of all, takes over; so it
does where no finalist could be scored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from bed.errors import DataError
from bed.estimators.asking import (
    Futures,
    Plan,
    draw_outcomes,
    imagined_futures,
    present_beliefs,
)
from bed.estimators.base_rates import BaseRates, at_base_rates, check_base_rates
from bed.estimators.coherence import check_slope, recalibrated
from bed.estimators.factored import (
    Expected,
    FactoredEIG,
    coherence_gaps,
    combined_stderr,
    expected_information,
)
from bed.estimators.scores import Estimator, Flat, Scores, assembled, flattened, split
from bed.estimators.trust import (
    RECALIBRATE,
    REPEAT,
    Grounds,
    allowed_gap,
    common_gap,
    per_cost,
)
from bed.information import LOG2, kl_bits, log_odds
from bed.protocols import (
    BeliefModel,
    DesignProblem,
    OutcomeRequest,
    OutcomeSimulator,
    ranks_outcomes,
)

__all__ = ["ScreenedEIG"]

Array = NDArray[np.float64]

_SHAPE = (2, 3)
_OUTWARD = (0.75, 0.25)
"""Level of the first look by branch, the supportive one first; also the middle of a half."""

_OTHER = (1 / 6, 1 / 2, 5 / 6)
_SHARE_OF_FINALISTS = 0.25
_FEWEST_FINALISTS = 2
_HAIR = 1e-3
_ALLOWED = allowed_gap(False, inf)


@dataclass(frozen=True)
class ScreenedEIG(Estimator):
    """EIG by successive halving, for simulators that rank their outcomes.

    A quarter of the candidates, at least two, become finalists: those with the most information
    per cost at the first look. The estimate of the others is the first look's, but below that of
    the worst finalist per cost, since a first look at an outward level promises too much.

    Attributes:
        belief: answers p(theta|I), p(theta'|I) and p(theta|I,x,y).
        simulator: gives outcomes at chosen levels.
        slope: multiplies each log-odds update of the belief; below 1 tames overreaction.
        base_rates: see `BaseRates`; moves the weight of each branch.
    """

    belief: BeliefModel
    simulator: OutcomeSimulator
    slope: float = 1.0
    base_rates: BaseRates | None = None

    def __post_init__(self) -> None:
        if not ranks_outcomes(self.simulator):
            raise DataError(
                f"{type(self.simulator).__name__} does not rank its outcomes, so it cannot place "
                "them at levels; use FactoredEIG"
            )
        check_slope(self.slope)
        check_base_rates(self.base_rates)

    def score_batch(self, problems: Sequence[DesignProblem]) -> list[Scores]:
        """Score every candidate of every problem: two rounds, and one more where in doubt."""
        if not problems:
            return []
        scores, unsettled = self._screened(problems)
        thorough = FactoredEIG(
            self.belief, self.simulator, slope=self.slope, base_rates=self.base_rates
        )
        again = thorough.score_batch([problems[i] for i in unsettled])
        for i, of in zip(unsettled, again, strict=True):
            padded = np.full_like(scores[i].posterior, np.nan)
            padded[:, :, :1] = of.posterior
            scores[i] = replace(of, posterior=padded, calls=scores[i].calls + of.calls)
        return scores

    def _screened(self, problems: Sequence[DesignProblem]) -> tuple[list[Scores], list[int]]:
        """Return the scores by screening, and the problems that it cannot settle.

        Those are where the finalists' gap raises a doubt, or where no finalist could be scored.
        """
        present = present_beliefs(self.belief, problems)
        weights = [
            at_base_rates([problem], now.weight, self.base_rates)
            for problem, now in zip(problems, present, strict=True)
        ]
        weight = np.concatenate(weights)
        looks = [_first_look(*of) for of in zip(problems, weights, strict=True)]
        looked = self._imagined(problems, looks)
        seen = flattened(problems, present, [(looks, looked)], _SHAPE)
        first = self._first_estimate(seen, weight)
        finalists = _finalists(problems, first.eig)
        more = [_second_look(*of) for of in zip(problems, weights, finalists, strict=True)]
        futures = self._imagined(problems, more)
        flat = flattened(problems, present, [(looks, looked), (more, futures)], _SHAPE)
        flat = replace(
            flat, reasons=[b or a for a, b in zip(flat.reasons, first.reasons, strict=True)]
        )
        is_final = np.concatenate(finalists)
        # of the others one branch only was asked, which their first estimate has made use of
        final = replace(flat, posterior=np.where(is_final[:, None, None], flat.posterior, np.nan))
        gaps = coherence_gaps(final, weight, self.slope)
        filled = np.where(is_final[:, None, None], flat.posterior, flat.prior[:, None, None])
        second = expected_information(replace(flat, posterior=filled), weight, "js", self.slope)
        others = _below_the_finalists(problems, first.eig, second.eig, is_final)
        stderr = np.where(is_final, second.stderr, first.stderr)
        gap_of = split(problems, gaps.mended)
        scores = assembled(
            problems,
            present,
            [looked, futures],
            replace(flat, reasons=second.reasons),
            eig=np.where(is_final, second.eig, others),
            eig_stderr=stderr,
            branch_weight=weight,
            coherence_gap=gaps.given,
            raw_coherence_gap=gaps.raw,
            grounds=[
                Grounds(gap, of_stderr, _ALLOWED, (RECALIBRATE,), (REPEAT,))
                for gap, of_stderr in zip(gap_of, split(problems, stderr), strict=True)
            ],
        )
        unsettled = [
            i
            for i, of in enumerate(scores)
            if abs(common_gap(of.prior, gap_of[i])) > _ALLOWED
            or (finalists[i].any() and np.isnan(of.eig[finalists[i]]).all())
        ]
        return scores, unsettled

    def _imagined(self, problems: Sequence[DesignProblem], plans: Sequence[Plan]) -> list[Futures]:
        drawn = draw_outcomes(self.simulator, plans)
        return imagined_futures(self.belief, problems, plans, drawn)

    def _first_estimate(self, seen: Flat, weight: Array) -> Expected:
        """Return the EIG from one posterior and what coherence says of the other."""
        # a failed prior fails its candidates by their reasons, whatever stands here
        before = np.where(np.isnan(seen.prior), 0.5, seen.prior)
        posterior = recalibrated(before, seen.posterior, self.slope)[:, :, :1]
        supportive = _is_supportive_looked_at(weight)
        share = np.where(supportive, weight, 1.0 - weight)
        look = np.where(supportive, posterior[:, 0, 0], posterior[:, 1, 0])
        odds = share / np.where(share < 1, 1.0 - share, np.inf)
        other = np.clip(before - odds * (look - before), 0.0, 1.0)
        both = np.where(supportive[:, None], np.stack([look, other], 1), np.stack([other, look], 1))
        filled = replace(
            seen, posterior=both[:, :, None], posterior_noise=np.full((len(look), 2, 1), np.nan)
        )
        found = expected_information(filled, weight, "js", slope=1.0)
        of_look = np.where(supportive, seen.posterior_noise[:, 0, 0], seen.posterior_noise[:, 1, 0])
        noise = _first_noise(before, share, look, other, self.slope * of_look, seen.weight_noise)
        return found._replace(stderr=np.where(np.isnan(found.eig), np.nan, noise))


def _first_noise(
    prior: Array, share: Array, look: Array, other: Array, look_noise: Array, weight_noise: Array
) -> Array:
    """Return the standard error (bits) that noise gives share KL(look) + (1 - share) KL(other).

    The other posterior follows from look and share, so both noises act through it too.
    """
    tiny = 1e-12
    inside = [np.clip(np.nan_to_num(p, nan=0.5), tiny, 1.0 - tiny) for p in (prior, look, other)]
    before, seen, implied = (log_odds(p) for p in inside)
    rest = np.maximum(1.0 - share, tiny)
    by_look = share * (seen - implied) * inside[1] * (1.0 - inside[1])
    apart = LOG2 * (kl_bits(inside[1], inside[0]) - kl_bits(inside[2], inside[0]))
    by_share = apart - (implied - before) * (inside[1] - inside[0]) / rest
    parts = np.stack([by_look * look_noise, by_share * share * rest * weight_noise])
    return combined_stderr(parts / LOG2)


def _is_supportive_looked_at(weight: Array) -> NDArray[np.bool_]:
    """Return whether the first look is at theta'=1: the rarer branch, but an impossible one never.

    Rounding does not decide an even one.
    """
    return np.asarray(((weight > 0) & (weight < 0.5 + 1e-9)) | (weight == 1))


def _first_look(problem: DesignProblem, weight: Array) -> Plan:
    """Plan one outcome of each candidate's rarer branch, at its outward level."""
    plan: Plan = {}
    branches = np.where(_is_supportive_looked_at(weight), 0, 1).tolist()
    for k in np.flatnonzero(~np.isnan(weight)).tolist():
        branch = branches[k]
        plan[k, branch, 0] = _request(problem, k, branch, _OUTWARD[branch])
    return plan


def _second_look(problem: DesignProblem, weight: Array, is_final: NDArray[np.bool_]) -> Plan:
    """Plan the rest of both branches' strata for the finalists."""
    plan: Plan = {}
    branches = np.where(_is_supportive_looked_at(weight), 0, 1).tolist()
    for k in np.flatnonzero(is_final).tolist():
        branch = branches[k]
        plan[k, branch, 1] = _request(problem, k, branch, 1.0 - _OUTWARD[branch])
        if 0 < weight[k] < 1:
            for s, level in enumerate(_OTHER):
                plan[k, 1 - branch, s] = _request(problem, k, 1 - branch, level)
    return plan


def _request(problem: DesignProblem, k: int, branch: int, level: float) -> OutcomeRequest:
    x = problem.candidates[k]
    return OutcomeRequest(x, branch == 0, problem.evidence, problem.seed, level)


def _finalists(problems: Sequence[DesignProblem], eig: Array) -> list[NDArray[np.bool_]]:
    """Return for each problem which candidates are worth a second look."""
    chosen, start = [], 0
    for problem in problems:
        size = len(problem.candidates)
        cost = np.array([x.cost for x in problem.candidates])
        worth = per_cost(eig[start : start + size], cost)
        start += size
        count = max(_FEWEST_FINALISTS, ceil(_SHARE_OF_FINALISTS * size))
        is_final = np.zeros(size, dtype=np.bool_)
        is_final[np.argsort(-worth, kind="stable")[:count]] = True
        chosen.append(is_final & ~np.isnan(worth))
    return chosen


def _below_the_finalists(
    problems: Sequence[DesignProblem], first: Array, eig: Array, is_final: NDArray[np.bool_]
) -> Array:
    """Return first estimates, per cost a hair less than what the worst finalist is worth.

    A tie must not go to a candidate that was looked at once.
    """
    cost = np.array([x.cost for problem in problems for x in problem.candidates])
    owner = np.repeat(np.arange(len(problems)), [len(p.candidates) for p in problems])
    worth = np.where(is_final & ~np.isnan(eig), per_cost(eig, cost), np.inf)
    lowest = np.full(len(problems), np.inf)
    np.minimum.at(lowest, owner, worth)
    return np.asarray(np.minimum(first, (1.0 - _HAIR) * lowest[owner] * cost))
