"""The factored estimator of expected information gain (Ibis0 / EDB-Bio, section 6).

    EIG(x) = H(p(theta|I)) - w E[H(p(theta|I,x,y+))] - (1 - w) E[H(p(theta|I,x,y-))],
    w = p(theta'=1|I),  y+ ~ p(y|x,theta'=1,I),  y- ~ p(y|x,theta'=0,I)

At one outcome a branch it needs 3 belief calls and 2 simulator calls a candidate. What the paper
leaves open makes most of the difference: which form the information takes (see `forms`), and which
outcome stands for a branch. `docs/estimators.md` argues the defaults from measured tables.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.estimators.asking import Plan, draw_outcomes, imagined_futures, present_beliefs
from bed.estimators.base_rates import BaseRates, at_base_rates, check_base_rates
from bed.estimators.coherence import check_slope, recalibrated, renormalised
from bed.estimators.forms import Form, branch_mean, check_form, information_bits, noise_bits
from bed.estimators.scores import (
    Estimator,
    Flat,
    Scores,
    assembled,
    check_num_samples,
    flattened,
    split,
)
from bed.estimators.trust import FEWEST_DRAWS, RECALIBRATE, REPEAT, Grounds, allowed_gap
from bed.evidence import Experiment
from bed.information import LOG2, checked_probabilities
from bed.protocols import (
    BeliefModel,
    DesignProblem,
    OutcomeRequest,
    OutcomeSimulator,
    ranks_outcomes,
)
from bed.seeds import derive_seed

__all__ = [
    "Coupling",
    "Expected",
    "FactoredEIG",
    "Form",
    "Gaps",
    "coherence_gaps",
    "combined_stderr",
    "expected_information",
    "factored_eig",
]

Array = NDArray[np.float64]

Coupling = Literal["independent", "candidates", "branches", "levels"]


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
        form: "entropy" (the paper's), "kl" or "js", see `bed.estimators.forms`.

    Raises:
        DataError: for NaN, values outside [0, 1], or a branch with weight but no samples.
    """
    check_form(form)
    prior = float(checked_probabilities(p_theta, "p_theta"))
    weight = float(checked_probabilities(p_local, "p_local"))
    branches = {"post_supportive": post_supportive, "post_nonsupportive": post_nonsupportive}
    samples = [np.ravel(checked_probabilities(p, name)) for name, p in branches.items()]
    for name, share, values in zip(branches, (weight, 1.0 - weight), samples, strict=True):
        if share > 0 and values.size == 0:
            raise DataError(f"{name} is empty although its branch has weight {share:.3g}")
    posterior = np.full((1, 2, max(values.size for values in samples)), np.nan)
    for branch, values in enumerate(samples):
        posterior[0, branch, : values.size] = values
    before, shares = np.array([prior]), np.array([weight])
    return float(branch_mean(shares, information_bits(before, shares, posterior, form))[0])


@dataclass(frozen=True)
class FactoredEIG(Estimator):
    """Factored EIG over any belief model and outcome simulator.

    Attributes:
        belief: answers p(theta|I), p(theta'|I) and p(theta|I,x,y).
        simulator: draws the outcomes of both branches.
        num_samples: outcomes a branch.
        form: "js", "kl", or "entropy" as in the paper; see `bed.estimators.forms`. None takes "js"
            with levels and "kl" with random draws, whose scatter "js" would take for incoherence.
        coupling: which outcomes stand for a branch. "independent" draws; "candidates" share their
            draws (common random numbers); "branches" share them too. "levels" draws nothing: one
            outcome lies at the level `outward` of the supportive branch and 1 - `outward` of the
            other, several at the middles of equal strata. None takes "levels" where the simulator
            ranks its outcomes and "branches" where it does not. Coupled draws need a simulator
            whose equal seeds give coupled outcomes.
        outward: level in (0, 1) of the one outcome at levels; 0.5 is the median. Above it the
            outcome that stands for a branch is a little more telling than its middle, which makes
            up for the tails. Without effect on several outcomes and on random draws.
        slope: multiplies each log-odds update of the belief; below 1 tames overreaction.
        renormalise: one common logit shift makes the posteriors' weighted mean equal the prior.
        base_rates: relation tag -> share of supported outcomes in training. Where given, the
            branch weight's log odds move from the 50:50 at which beliefs are fitted to this rate.
    """

    belief: BeliefModel
    simulator: OutcomeSimulator
    num_samples: int = 1
    # None until __post_init__ has looked at the simulator
    form: Form = None  # type: ignore[assignment]
    coupling: Coupling = None  # type: ignore[assignment]
    outward: float = 0.65
    slope: float = 1.0
    renormalise: bool = False
    base_rates: BaseRates | None = None

    def __post_init__(self) -> None:
        check_num_samples(self.num_samples)
        if self.coupling is None:
            found = "levels" if ranks_outcomes(self.simulator) else "branches"
            object.__setattr__(self, "coupling", found)
        if self.form is None:
            object.__setattr__(self, "form", "js" if self.coupling == "levels" else "kl")
        check_form(self.form)
        if self.coupling not in get_args(Coupling):
            names = ", ".join(map(repr, get_args(Coupling)))
            raise DataError(f"coupling {self.coupling!r} is not one of {names}")
        if self.coupling == "levels" and not ranks_outcomes(self.simulator):
            raise DataError(
                f"{type(self.simulator).__name__} does not rank its outcomes, so it cannot place "
                "them at levels; use coupling='branches'"
            )
        if not 0 < self.outward < 1:
            raise DataError(f"outward {self.outward!r} is no level inside (0, 1)")
        check_slope(self.slope)
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
        return cls(belief, simulator, num_samples, "entropy", "independent", base_rates=base_rates)

    def score_batch(self, problems: Sequence[DesignProblem]) -> list[Scores]:
        """Score every candidate of every problem: one simulator batch, two belief batches."""
        if not problems:
            return []
        plans = [self._plan(problem) for problem in problems]
        # the branch weights do not need the simulator: ask for both at once
        background = ThreadPoolExecutor(max_workers=1)
        try:
            drawing = background.submit(draw_outcomes, self.simulator, plans)
            present = present_beliefs(self.belief, problems)
            drawn = drawing.result()
        finally:
            # an error or an interrupt need not wait for the other half
            background.shutdown(wait=False, cancel_futures=True)
        futures = imagined_futures(self.belief, problems, plans, drawn)
        flat = flattened(problems, present, [(plans, futures)], (2, self.num_samples))
        weight = at_base_rates(problems, flat.weight, self.base_rates)
        gaps = coherence_gaps(flat, weight, self.slope)
        found = expected_information(
            flat, weight, self.form, self.slope, self.renormalise, self._scatter
        )
        return assembled(
            problems,
            present,
            [futures],
            replace(flat, reasons=found.reasons),
            eig=found.eig,
            eig_stderr=found.stderr,
            branch_weight=weight,
            coherence_gap=gaps.given,
            raw_coherence_gap=gaps.raw,
            grounds=self._grounds(problems, gaps.mended, found.stderr),
        )

    def _grounds(
        self, problems: Sequence[DesignProblem], gap: Array, stderr: Array
    ) -> list[Grounds]:
        is_robust = self.form == "js" or self.renormalise
        is_random = self.coupling != "levels"
        of_gap, of_noise = [RECALIBRATE], [REPEAT]
        if self.base_rates is None:
            of_gap.append("move branch weights to base rates (base_rates=...)")
        if not is_robust:
            of_gap.append("leave the gap out (renormalise=True)")
        if is_random:
            of_gap.append("draw more samples")
            of_noise.append("draw more samples")
        is_told = not is_random or self.num_samples == 1 or self.num_samples >= FEWEST_DRAWS
        return [
            Grounds(
                gap_here,
                stderr_here if is_told else np.full_like(stderr_here, np.nan),
                allowed_gap(is_robust, self._num_draws(problem)),
                of_gap,
                of_noise,
            )
            for problem, gap_here, stderr_here in zip(
                problems, split(problems, gap), split(problems, stderr), strict=True
            )
        ]

    def _scatter(self, weight: Array, values: Array) -> Array:
        """Return the standard error of a branch mean over random draws; NaN where none tell it."""
        if self.num_samples < 2 or self.coupling == "levels":
            return np.full(len(weight), np.nan)
        parts = np.stack([weight, 1.0 - weight], axis=1)[:, :, None] * values
        if self.coupling == "branches":
            # the n-th draws of both branches go together, so their errors do too
            parts = parts.sum(axis=1, keepdims=True)
        return np.asarray(np.sqrt(parts.var(axis=2, ddof=1).sum(axis=1) / self.num_samples))

    def _num_draws(self, problem: DesignProblem) -> float:
        """Return how many independent random draws stand behind the coherence gaps."""
        if self.coupling == "levels":
            return np.inf
        apart = len(problem.candidates) if self.coupling == "independent" else 1
        return self.num_samples * apart

    def _plan(self, problem: DesignProblem) -> Plan:
        return {
            (k, b, n): self._request(problem, x, b, n)
            for k, x in enumerate(problem.candidates)
            for b in (0, 1)
            for n in range(self.num_samples)
        }

    def _request(self, problem: DesignProblem, x: Experiment, b: int, n: int) -> OutcomeRequest:
        is_supportive = b == 0
        if self.coupling == "levels":
            level = (n + 0.5) / self.num_samples
            if self.num_samples == 1:
                level = self.outward if is_supportive else 1.0 - self.outward
            return OutcomeRequest(x, is_supportive, problem.evidence, problem.seed, level)
        names: dict[str, tuple[int | str, ...]] = {
            "branches": (),
            "candidates": (int(is_supportive),),
            "independent": (int(is_supportive), x.id),
        }
        seed = derive_seed(problem.seed, "outcome", n, *names[self.coupling])
        return OutcomeRequest(x, is_supportive, problem.evidence, seed)


class Expected(NamedTuple):
    """The EIG and its standard error in bits, shape (n,), and why there is none; flat."""

    eig: Array
    stderr: Array
    reasons: list[str | None]


def expected_information(
    flat: Flat,
    weight: Array,
    form: Form,
    slope: float,
    renormalise: bool = False,
    scatter: Callable[[Array, Array], Array] | None = None,
) -> Expected:
    """Return the EIG and its standard error from what was asked.

    Candidates of which a part is missing, whose posteriors cannot be mended, or that move a belief
    that is certain, are NaN and have a reason.

    Args:
        flat: see `bed.estimators.scores.Flat`.
        weight: of the supportive branch, at its base rate, shape (n,).
        form: see `bed.estimators.forms`.
        slope: see `FactoredEIG`.
        renormalise: likewise.
        scatter: the standard error of a branch mean over random draws: (weight, values of shape
            (n, 2, samples)) -> shape (n,); None where nothing is random.
    """
    reasons = list(flat.reasons)
    known = np.flatnonzero([reason is None for reason in reasons])
    eig, stderr = np.full(len(weight), np.nan), np.full(len(weight), np.nan)
    if not known.size:
        return Expected(eig, stderr, reasons)
    prior, weight = flat.prior[known], weight[known]
    posterior = recalibrated(prior, flat.posterior[known], slope)
    if renormalise:
        posterior = renormalised(prior, weight, posterior)
    stuck = np.asarray(np.isnan(posterior).all(axis=(1, 2)))
    moves = (posterior != prior[:, None, None]) & ~np.isnan(posterior)
    certain = np.asarray(((prior == 0) | (prior == 1)) & moves.any(axis=(1, 2)))
    for row in np.flatnonzero(stuck | certain):
        reasons[known[row]] = (
            "no logit shift makes the posteriors average to the prior"
            if stuck[row]
            else f"the belief is certain at {prior[row]}, yet an outcome moves it"
        )
    fine = ~(stuck | certain)
    known, prior, weight, posterior = known[fine], prior[fine], weight[fine], posterior[fine]
    bits = information_bits(prior, weight, posterior, form)
    eig[known] = branch_mean(weight, bits)
    noise = flat.weight_noise[known], slope * flat.posterior_noise[known]
    parts = [noise_bits(prior, weight, posterior, form, *noise)]
    if scatter is not None:
        parts.append(scatter(weight, bits))
        if form == "js":
            # the mean that bits are measured from scatters too, which counts in second order
            mean = branch_mean(weight, posterior)
            variance = mean * (1.0 - mean)
            safe = np.where(variance > 0, variance, np.inf)
            parts.append(scatter(weight, posterior) ** 2 / (np.sqrt(2.0) * safe * LOG2))
    stderr[known] = combined_stderr(np.stack(parts))
    return Expected(eig, stderr, reasons)


@dataclass(frozen=True)
class Gaps:
    """How far the mean of imagined posteriors lies from the prior, flat; NaN where incomplete.

    Attributes:
        given: as the belief gave it, at branch weights moved to their base rates.
        raw: as the belief gave it.
        mended: after the slope, which is what scores rest on.
    """

    given: Array
    raw: Array
    mended: Array


def coherence_gaps(flat: Flat, weight: Array, slope: float) -> Gaps:
    """Return the coherence gaps of candidates of which all that was asked is known.

    Args:
        flat: see `bed.estimators.scores.Flat`, before candidates fail for other reasons.
        weight: of the supportive branch, at its base rate, shape (n,).
        slope: see `FactoredEIG`.
    """
    complete = np.array([reason is None for reason in flat.reasons], dtype=bool)
    prior = np.where(complete, flat.prior, 0.5)
    mended = recalibrated(prior, flat.posterior, slope)
    given, raw, left = (
        np.where(complete, branch_mean(w, posterior) - prior, np.nan)
        for w, posterior in (
            (weight, flat.posterior),
            (flat.weight, flat.posterior),
            (weight, mended),
        )
    )
    return Gaps(given, raw, left)


def combined_stderr(parts: Array) -> Array:
    """Return the root sum of squares over the rows of `parts` that are known; NaN where none is."""
    unknown = np.isnan(parts).all(axis=0)
    return np.where(unknown, np.nan, np.sqrt(np.nansum(parts**2, axis=0)))
