"""Outcomes conditioned on evidence: a semiparametric Gaussian copula over training outcomes.

The outcomes of one kind and branch, ranked by support, are the marginal. Where in the ranking an
outcome falls depends on the evidence about the experiment's own h':

    z = b . phi(h', I) + exp(c . m(h', I)) eps,   eps ~ N(0, 1),   rank = Phi(z)

phi are shrunken means of level and score by relation and m how much evidence there is; both are 0
without evidence, so that the draws then follow the marginal. The fit is by maximum a posteriori to
intervals of rank (an ordered probit with known thresholds), so that tied and binned outcomes need
no special case. Every draw is a real training outcome.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri

from bed.domains import kind, reading, relation
from bed.domains.encoding import Encoded, encode
from bed.errors import DataError
from bed.evidence import Episode, Evidence, Hypothesis, Outcome
from bed.protocols import OutcomeRequest, Outcomes
from bed.seeds import generator
from bed.simulators.exemplar import Shelf, ranked_outcomes, shelf_of

__all__ = ["ConditionalSimulator", "fit_conditional_simulator"]

Array = NDArray[np.float64]

_ROWS_PER_SHELF = 4000
_FEWEST_ROWS = 30
_RIDGE = 4.0


@dataclass(frozen=True, eq=False)
class ConditionalSimulator:
    """Draws y ~ p(y | x, theta', I) by inverse CDF over ranked outcomes.

    Attributes:
        tags: relations between h' and the evidence that it knows.
        shelves: ranked training outcomes by domain, kind and branch.
        coefficients: shelf -> b, shape (num_features,).
        log_spread: shelf -> c, shape (num_tags,).
    """

    tags: tuple[str, ...]
    shelves: Mapping[Shelf, tuple[Outcome, ...]]
    coefficients: Mapping[Shelf, Array]
    log_spread: Mapping[Shelf, Array]

    ranks_outcomes: ClassVar[bool] = True

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw every outcome; a kind or branch never seen in training fails its request."""
        encoded = encode([(r.experiment.hypothesis, r.evidence) for r in requests], self.tags)
        features, bounded = _features(encoded)
        values: list[Outcome | None] = [None] * len(requests)
        reasons = list(encoded.reasons)
        for i, request in enumerate(requests):
            if reasons[i] is not None:
                continue
            try:
                shelf = shelf_of(request, self.shelves)
            except DataError as error:
                reasons[i] = str(error)
                continue
            ranked = self.shelves[shelf]
            spread = np.exp(bounded[i] @ self.log_spread[shelf])
            centre = features[i] @ self.coefficients[shelf]
            rank = ndtr(centre + spread * ndtri(request.position))
            values[i] = ranked[min(int(rank * len(ranked)), len(ranked) - 1)]
        return Outcomes(tuple(values), tuple(reasons))


def fit_conditional_simulator(episodes: Sequence[Episode], seed: int = 0) -> ConditionalSimulator:
    """Fit one copula regression for each kind and branch of the training episodes.

    A shelf with fewer than 30 rows keeps its marginal.

    Args:
        episodes: training episodes.
        seed: of the contexts in which each outcome is seen.
    """
    # the order of a file must not matter
    episodes = sorted(episodes, key=lambda episode: episode.id)
    shelves = ranked_outcomes(episodes)
    rows = _rows(episodes, seed)
    tags = sorted(
        {
            relation(hypothesis, stub.experiment).tag
            for of_shelf in rows.values()
            for hypothesis, evidence, _ in of_shelf
            for stub in evidence
        }
    )
    coefficients, log_spread = {}, {}
    for shelf in shelves:
        encoded = encode([(hypothesis, evidence) for hypothesis, evidence, _ in rows[shelf]], tags)
        scores = np.array([score for _, _, score in rows[shelf]])
        coefficients[shelf], log_spread[shelf] = _fitted(*_features(encoded), scores)
    return ConditionalSimulator(tuple(tags), shelves, coefficients, log_spread)


def _rows(
    episodes: Sequence[Episode], seed: int
) -> dict[Shelf, list[tuple[Hypothesis, Evidence, float]]]:
    """Return, for each shelf, local hypotheses with a random context and the outcome's score."""
    rng = generator(seed, "conditional contexts")
    rows: dict[Shelf, list[tuple[Hypothesis, Evidence, float]]] = defaultdict(list)
    for e in rng.permutation(len(episodes)):
        pool = episodes[e].pool
        for i, stub in enumerate(pool):
            x = stub.experiment
            found = reading(x, stub.outcome)
            shelf = (x.hypothesis.domain, kind(x), found.supported)
            if len(rows[shelf]) >= _ROWS_PER_SHELF:
                continue
            others = [j for j in rng.permutation(len(pool)) if j != i]
            context = tuple(pool[j] for j in others[: int(rng.integers(0, len(pool)))])
            rows[shelf].append((x.hypothesis, context, found.score))
    return rows


def _features(encoded: Encoded) -> tuple[Array, Array]:
    """Return shrunken means of level and score by relation, and the bounded amount of evidence."""
    size, num_tags, num_levels = encoded.count.shape
    total = encoded.count.sum(axis=2)
    levels = (encoded.count / (total + 1.0)[:, :, None]).reshape(size, num_tags * num_levels)
    scores = encoded.score.sum(axis=2) / (total + 1.0)
    features = np.concatenate([levels, scores], axis=1)
    return features.astype(np.float64), (total / (total + 1.0)).astype(np.float64)


def _fitted(features: Array, bounded: Array, scores: Array) -> tuple[Array, Array]:
    """Return b and c; zeros, which leave the marginal, where rows are few or all tied."""
    num_features, num_tags = features.shape[1], bounded.shape[1]
    start = np.zeros(num_features + num_tags)
    if len(scores) < _FEWEST_ROWS or np.ptp(scores) == 0:
        return start[:num_features], start[num_features:]
    ordered = np.sort(scores)
    low = np.searchsorted(ordered, scores, side="left") / len(scores)
    high = np.searchsorted(ordered, scores, side="right") / len(scores)
    edge = 1e-6
    below, above = (ndtri(np.clip(p, edge, 1 - edge)) for p in (low, high))

    @jax.jit
    def loss(parameters: Any) -> Any:
        centre = features @ parameters[:num_features]
        scale = jnp.exp(bounded @ parameters[num_features:])
        high_z, low_z = (above - centre) / scale, (below - centre) / scale
        # the interval is taken in the tail where it does not cancel
        flip = jnp.where(low_z + high_z > 0, -1.0, 1.0)
        lower, upper = (
            jnp.minimum(flip * low_z, flip * high_z),
            jnp.maximum(flip * low_z, flip * high_z),
        )
        share = jax.scipy.stats.norm.cdf(upper) - jax.scipy.stats.norm.cdf(lower)
        penalty = 0.5 * _RIDGE * (parameters**2).sum()
        return penalty - jnp.log(jnp.maximum(share, 1e-12)).sum()

    def value_and_gradient(parameters: Array) -> tuple[float, Array]:
        value, gradient = jax.value_and_grad(loss)(jnp.asarray(parameters, dtype=jnp.float32))
        return float(value), np.asarray(gradient, dtype=np.float64)

    fit = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return fit.x[:num_features], fit.x[num_features:]
