"""Exact finite worlds: joint tables small enough to enumerate, so that every answer is known.

A world is a finite set of latent states s with prior p(s). A state fixes theta, the probability of
each candidate's local theta', and, with theta', the distribution of the candidate's outcome y:

    p(s) p(theta | s) prod_k p(theta'_k | s) p(y_k | theta'_k, s),   theta a function of s.

A joint table is the case where each row is a state; candidates independent given theta are the
case of two states. Evidence is a sequence of (candidate, outcome) pairs; a candidate observed
repeatedly counts as independent repeats given s. Weights are kept as logarithms, so long and
extreme evidence neither underflows nor sticks at certainty.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bed.errors import DataError, ImpossibleEvidenceError
from bed.evidence import Evidence, Experiment, Fields, Hypothesis, Outcome, Stub
from bed.information import (
    LOG2,
    best_index,
    entropy_bits,
    information_gain_bits,
    relative_information,
)

__all__ = ["GreedyPath", "Observed", "World"]

Array = NDArray[np.float64]
Observed = Sequence[tuple[int, int]]
"""What was seen, as (candidate, outcome) pairs."""

_SUM_TOLERANCE = 1e-9
_CERTAIN = 1e-300
"""Below this probability of one label its reciprocal overflows; at most 1e-297 bits are left."""


@dataclass(frozen=True)
class GreedyPath:
    """A greedy run: candidates in order, beliefs p(theta=1) from the start, bits gained a step."""

    order: list[int]
    beliefs: list[float]
    ig_bits: list[float]


@dataclass(frozen=True, eq=False)
class World:
    """An exact finite world.

    Attributes:
        prior: shape (num_states,), p(s).
        theta: shape (num_states,), 0 or 1.
        local: one array a candidate, shape (num_states,): P(theta'_k = 1 | s).
        outcome: one array a candidate, shape (num_states, 2, num_outcomes_k): P(y_k | s, theta').
        tiers: relevance of each candidate, 1 the most relevant.
        kinds: kind of readout of each candidate.
        name: appears in the ids of its hypotheses.
    """

    prior: Array
    theta: NDArray[np.int64]
    local: tuple[Array, ...]
    outcome: tuple[Array, ...]
    tiers: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    name: str = "world"

    def __post_init__(self) -> None:
        for name, dtype in (("prior", np.float64), ("theta", np.int64)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=dtype))
        for name in ("local", "outcome"):
            arrays = tuple(np.asarray(values, dtype=np.float64) for values in getattr(self, name))
            object.__setattr__(self, name, arrays)
        num_states, num_candidates = len(self.prior), len(self.local)
        _check_distribution(self.prior, "prior")
        if not np.isin(self.theta, (0, 1)).all() or len(self.theta) != num_states:
            raise DataError("theta must give a binary label, 0 or 1, for every state")
        if len(self.outcome) != num_candidates:
            raise DataError(
                f"{num_candidates} local and {len(self.outcome)} outcome arrays: mismatch"
            )
        for k, (local, outcome) in enumerate(zip(self.local, self.outcome, strict=True)):
            if local.shape != (num_states,) or outcome.shape[:2] != (num_states, 2):
                raise DataError(f"candidate {k}: arrays do not match {num_states} states in shape")
            if not ((local >= 0) & (local <= 1)).all():
                raise DataError(f"candidate {k}: P(theta'=1 | s) lies outside [0, 1]")
            _check_distribution(outcome, f"candidate {k}: P(y | s, theta')")
        object.__setattr__(self, "tiers", self.tiers or (1,) * num_candidates)
        object.__setattr__(self, "kinds", self.kinds or ("readout",) * num_candidates)
        if not len(self.tiers) == len(self.kinds) == num_candidates:
            raise DataError(f"tiers and kinds must name each of {num_candidates} candidates")

    @classmethod
    def from_joint(cls, rows: Sequence[Mapping[str, Any]], num_outcomes: Sequence[int]) -> "World":
        """Build from rows `{theta, local: [theta'_k], y: [y_k], p}` of a joint table.

        Raises:
            DataError: where the table is empty, ragged or does not sum to 1.
        """
        if not rows:
            raise DataError("the joint table is empty: at least one row is needed")
        local = np.array([row["local"] for row in rows], dtype=np.float64)
        y = np.array([row["y"] for row in rows], dtype=np.int64)
        if y.shape != (len(rows), len(num_outcomes)) or local.shape != y.shape:
            raise DataError("rows of the joint table differ in length from n_outcomes")
        if ((y < 0) | (y >= np.asarray(num_outcomes))).any():
            raise DataError("an outcome y in the joint table is outside the range of n_outcomes")
        outcomes = [
            np.repeat(np.eye(size)[y[:, k]][:, None, :], 2, axis=1)
            for k, size in enumerate(num_outcomes)
        ]
        return cls(
            prior=np.array([row["p"] for row in rows], dtype=np.float64),
            theta=np.array([row["theta"] for row in rows], dtype=np.int64),
            local=tuple(local.T),
            outcome=tuple(outcomes),
        )

    @classmethod
    def factored(
        cls,
        p_theta: float,
        p_local: Sequence[Sequence[float]],
        p_y: Sequence[Sequence[Sequence[float]]],
        name: str = "world",
    ) -> "World":
        """Build a world whose candidates are independent given theta.

        Args:
            p_theta: prior probability of theta = 1.
            p_local: for each candidate `[P(theta'=1 | theta=0), P(theta'=1 | theta=1)]`.
            p_y: for each candidate the rows `P(y | theta'=0)` and `P(y | theta'=1)`.
            name: appears in the ids of the world's hypotheses.
        """
        return cls(
            prior=np.array([1.0 - p_theta, p_theta]),
            theta=np.array([0, 1]),
            local=tuple(np.array(row, dtype=np.float64) for row in p_local),
            outcome=tuple(
                np.repeat(np.array(rows, dtype=np.float64)[None], 2, axis=0) for rows in p_y
            ),
            name=name,
        )

    @classmethod
    def from_likelihood(cls, p_theta: float, likelihood: Sequence[Sequence[float]]) -> "World":
        """Build a yes/no world from rows `[P(y=1 | theta=0), P(y=1 | theta=1)]`; theta' is y."""
        readout = [[1.0, 0.0], [0.0, 1.0]]
        return cls.factored(p_theta, likelihood, [readout] * len(likelihood))

    @property
    def num_candidates(self) -> int:
        """How many experiments the world offers."""
        return len(self.local)

    def marginal(self, candidate: int) -> Array:
        """Return P(y_k | s), shape (num_states, num_outcomes)."""
        self._check_candidate(candidate)
        return self._marginals[candidate]

    @cached_property
    def _marginals(self) -> tuple[Array, ...]:
        return tuple(
            (1.0 - local)[:, None] * outcome[:, 0] + local[:, None] * outcome[:, 1]
            for local, outcome in zip(self.local, self.outcome, strict=True)
        )

    @cached_property
    def _log_marginals(self) -> tuple[Array, ...]:
        with np.errstate(divide="ignore"):
            return tuple(np.log(marginal) for marginal in self._marginals)

    @cached_property
    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.prior))

    def state_posterior(self, observed: Observed = ()) -> Array:
        """Return p(s | observed), shape (num_states,).

        Raises:
            ImpossibleEvidenceError: where every state excludes what was observed.
            DataError: for a candidate or outcome outside the world's range.
        """
        log_weight = self._log_prior
        for candidate, y in observed:
            self._check(candidate, y)
            log_weight = log_weight + self._log_marginals[candidate][:, y]
        highest = log_weight.max()
        if highest == -np.inf:
            raise ImpossibleEvidenceError(
                f"outcomes {list(observed)} have zero probability together in world {self.name!r}"
            )
        weights = np.exp(log_weight - highest)
        return np.asarray(weights / weights.sum())

    def posterior(self, observed: Observed = ()) -> float:
        """Return P(theta = 1 | observed)."""
        return min(1.0, float(self.state_posterior(observed) @ self.theta))

    def branch_weight(self, candidate: int, observed: Observed = ()) -> float:
        """Return P(theta'_k = 1 | observed)."""
        self._check_candidate(candidate)
        return min(1.0, float(self.state_posterior(observed) @ self.local[candidate]))

    def branch_weights(self, observed: Observed = ()) -> list[float | None]:
        """Return P(theta'_k = 1 | observed) for each candidate; None where it is revealed."""
        revealed = {candidate for candidate, _ in observed}
        return [
            None if k in revealed else self.branch_weight(k, observed)
            for k in range(self.num_candidates)
        ]

    def branch_outcomes(self, candidate: int, supportive: bool, observed: Observed = ()) -> Array:
        """Return P(y_k | theta'_k, observed), shape (num_outcomes,).

        Raises:
            ImpossibleEvidenceError: where the branch itself has zero probability.
        """
        self._check_candidate(candidate)
        joint = self._with_local(self.state_posterior(observed), candidate)[int(supportive)]
        total = joint.sum()
        if total <= 0:
            raise ImpossibleEvidenceError(
                f"candidate {candidate}: theta'={int(supportive)} has zero probability"
            )
        return np.asarray(joint @ self.outcome[candidate][:, int(supportive)] / total)

    def exact_eig(self, observed: Observed = ()) -> list[float | None]:
        """Return the mutual information of theta and y_k given `observed`, bits; None if revealed.

        Written with divergences instead of a difference of entropies, which would lose weak
        experiments in rounding.
        """
        return self._each_unrevealed(observed, self._mutual_information)

    def candidate_eig(self, candidate: int, observed: Observed = ()) -> float:
        """Return the exact EIG of one candidate in bits; a revealed one may be run again."""
        self._check_candidate(candidate)
        return self._mutual_information(self.state_posterior(observed), candidate)

    def exact_factored_eig(self, observed: Observed = ()) -> list[float | None]:
        """Return the paper's factored EIG (section 6) with infinitely many draws, bits.

        The simulator is P(y | theta'), ignorant of the evidence, and the posterior is exact; the
        two agree with `exact_eig` where y is independent of the evidence given theta'.
        """
        return self._each_unrevealed(observed, self._factored)

    def eig(self, observed: Observed = (), method: str = "exact") -> list[float | None]:
        """Return `exact_eig` or `exact_factored_eig` by the name "exact" or "factored"."""
        methods = {"exact": self.exact_eig, "factored": self.exact_factored_eig}
        if method not in methods:
            raise DataError(f"unknown method {method!r}: not one of {sorted(methods)}")
        return methods[method](observed)

    def greedy_sequence(
        self, outcomes: Sequence[int], num_steps: int, method: str = "exact"
    ) -> GreedyPath:
        """Run the candidates one after the other, the best EIG first.

        Args:
            outcomes: what each candidate would show, in pool order.
            num_steps: how many to run, at most the number of candidates.
            method: see `eig`.
        """
        if len(outcomes) != self.num_candidates:
            raise DataError(
                f"{len(outcomes)} outcomes for {self.num_candidates} candidates: length mismatch"
            )
        if not 0 <= num_steps <= self.num_candidates:
            raise DataError(f"{num_steps} steps, but only {self.num_candidates} candidates remain")
        observed: list[tuple[int, int]] = []
        beliefs = [self.posterior()]
        for _ in range(num_steps):
            best, _ = best_index(self.eig(observed, method))
            observed.append((best, outcomes[best]))
            beliefs.append(self.posterior(observed))
        gains = information_gain_bits(beliefs[:-1], beliefs[1:]) if num_steps else np.zeros(0)
        return GreedyPath([k for k, _ in observed], beliefs, gains.tolist())

    def by_support(self, candidate: int) -> NDArray[np.int64]:
        """Return a candidate's outcomes, the least supportive of theta' = 1 first.

        The order is that of P(y | theta'=1) / P(y | theta'=0) before any evidence; outcomes that
        are equal in it keep their order.
        """
        self._check_candidate(candidate)
        return self._support_orders[candidate]

    @cached_property
    def _support_orders(self) -> tuple[NDArray[np.int64], ...]:
        return tuple(
            np.argsort(self._log_ratio(k), kind="stable") for k in range(self.num_candidates)
        )

    def target(self) -> Hypothesis:
        """Return the hypothesis that theta = 1."""
        return Hypothesis(f"theta is 1 in {self.name}", "world", Fields(world=self.name))

    def experiment(self, candidate: int) -> Experiment:
        """Return candidate k as an experiment that tests theta'_k."""
        self._check_candidate(candidate)
        local = Hypothesis(
            f"theta' of candidate {candidate} is 1 in {self.name}",
            "world",
            Fields(world=self.name, candidate=candidate),
        )
        return Experiment(
            f"x{candidate}",
            local,
            fields=Fields(
                index=candidate,
                tier=self.tiers[candidate],
                kind=self.kinds[candidate],
                log_ratio=self._log_ratio(candidate).tolist(),
            ),
        )

    def experiments(self) -> tuple[Experiment, ...]:
        """Return every candidate as an experiment, in order."""
        return tuple(self.experiment(k) for k in range(self.num_candidates))

    def observed(self, evidence: Evidence) -> list[tuple[int, int]]:
        """Return evidence in the world's own terms.

        Raises:
            DataError: for evidence of another domain or world.
        """
        return [
            (self.index(stub.experiment), _whole(stub.outcome.fields, "y")) for stub in evidence
        ]

    def index(self, experiment: Experiment) -> int:
        """Return which candidate an experiment is.

        Raises:
            DataError: for an experiment of another domain or world.
        """
        name = experiment.hypothesis.fields.get("world")
        if name != self.name:
            raise DataError(f"experiment {experiment.id!r} is of world {name!r}, not {self.name!r}")
        return _whole(experiment.fields, "index")

    def sample(self, rng: np.random.Generator) -> tuple[int, Evidence]:
        """Draw the truth: theta, and every candidate's outcome."""
        state = rng.choice(len(self.prior), p=self.prior)
        stubs = []
        for k in range(self.num_candidates):
            y = rng.choice(self.marginal(k).shape[1], p=self.marginal(k)[state])
            stubs.append(Stub(self.experiment(k), Outcome(Fields(y=int(y)))))
        return int(self.theta[state]), tuple(stubs)

    def _check_candidate(self, candidate: int) -> None:
        if not isinstance(candidate, int | np.integer) or not 0 <= candidate < self.num_candidates:
            raise DataError(
                f"candidate {candidate!r} is outside the range 0..{self.num_candidates - 1}"
            )

    def _check(self, candidate: int, y: int) -> None:
        self._check_candidate(candidate)
        if not 0 <= y < self.marginal(candidate).shape[1]:
            raise DataError(f"outcome {y} of candidate {candidate} is outside its range")

    def _with_local(self, weights: Array, candidate: int) -> tuple[Array, Array]:
        local = self.local[candidate]
        return weights * (1.0 - local), weights * local

    def _log_ratio(self, candidate: int) -> Array:
        """Return log P(y | theta'=1) / P(y | theta'=0) before any evidence, rounded."""
        unlikely, likely = (self._ignorant(candidate, branch) for branch in (0, 1))
        tiny = np.finfo(float).tiny
        ratio = np.log(np.maximum(likely, tiny)) - np.log(np.maximum(unlikely, tiny))
        return np.asarray(ratio.round(9))

    def _ignorant(self, candidate: int, branch: int) -> Array:
        """Return P(y | theta'), which knows no evidence; uniform where the branch is impossible."""
        joint = self._with_local(self.prior, candidate)[branch]
        given = self.outcome[candidate][:, branch]
        return np.asarray(joint @ given / joint.sum() if joint.sum() > 0 else given.mean(axis=0))

    def _each_unrevealed(
        self, observed: Observed, score: Callable[[Array, int], float]
    ) -> list[float | None]:
        weights = self.state_posterior(observed)
        revealed = {candidate for candidate, _ in observed}
        return [None if k in revealed else score(weights, k) for k in range(self.num_candidates)]

    def _theta_outcomes(self, weights: Array, candidate: int) -> tuple[Array, Array]:
        """Return p(theta), shape (2,), and P(y | theta), shape (2, num_outcomes)."""
        marginal = self.marginal(candidate)
        p_theta = np.array([weights[self.theta == t].sum() for t in (0, 1)])
        joint = np.array([weights[self.theta == t] @ marginal[self.theta == t] for t in (0, 1)])
        given = joint / np.where(p_theta > 0, p_theta, 1.0)[:, None]
        return p_theta / p_theta.sum(), given

    def _mutual_information(self, weights: Array, candidate: int) -> float:
        p_theta, given = self._theta_outcomes(weights, candidate)
        if (p_theta < _CERTAIN).any():
            return 0.0
        # P(y | theta) - P(y) by the other label's share: exact where the two rows nearly agree
        difference = given[1] - given[0]
        p_y = p_theta @ given
        possible = p_y > 0
        ratios = np.array([-p_theta[1] * difference, p_theta[0] * difference])[:, possible]
        nats = p_theta @ relative_information(ratios / p_y[possible]) @ p_y[possible]
        return float(nats / LOG2)

    def _factored(self, weights: Array, candidate: int) -> float:
        p_theta, given = self._theta_outcomes(weights, candidate)
        if (p_theta < _CERTAIN).any():
            return 0.0
        joint = p_theta[:, None] * given
        p_y = joint.sum(axis=0)
        possible = p_y > 0
        entropy = np.where(
            possible, entropy_bits(np.clip(joint[1] / np.where(possible, p_y, 1.0), 0, 1)), 0.0
        )
        branches = [part.sum() for part in self._with_local(weights, candidate)]
        expected = sum(w * (self._ignorant(candidate, b) @ entropy) for b, w in enumerate(branches))
        return float(entropy_bits(p_theta[1]) - expected)


def _whole(fields: Fields, name: str) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"field {name!r} must be a whole number in a finite world, got {value!r}")
    return value


def _check_distribution(p: Array, name: str) -> None:
    if not np.isfinite(p).all():
        raise DataError(f"{name} holds NaN or infinity: not finite")
    if (p < 0).any():
        raise DataError(f"{name} holds a negative probability, outside [0, 1]")
    sums = p.sum(axis=-1)
    if (np.abs(sums - 1.0) > _SUM_TOLERANCE).any():
        worst = np.ravel(sums)[np.argmax(np.abs(np.ravel(sums) - 1.0))]
        raise DataError(f"{name}: the probabilities sum to {worst:.9g}, not 1; normalise them")
