"""A belief that adds up learned weights of evidence, with redundancy, fitted on training episodes.

    logit p(theta=1 | I) = a + sum_t  [sum_l  w_tl n_tl + v_tl s_tl] / (1 + (n_t - 1) rho_t)

Over relation tags t and levels of support l: n counts stubs and s sums their scores; n_t is the
tag's total. The denominator is the design effect of n_t observations with intraclass correlation
rho_t: repeated evidence of one kind saturates instead of adding up. The posterior over (a, w, v,
rho) is a Laplace approximation; predictions average the probability over draws from it. How far the
prior lets w and v stray from 0 is chosen by the evidence, so that a few uninformative episodes
teach little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.typing import NDArray

from bed.belief.laplace import laplace_draws
from bed.domains import relation
from bed.domains.encoding import Encoded, encode
from bed.errors import DataError
from bed.evidence import Episode
from bed.protocols import BeliefQuery, Beliefs
from bed.seeds import derive_seed, generator

__all__ = ["AdditiveBelief", "fit_additive_belief"]

Array = NDArray[np.float32]

_CONTEXTS_PER_EPISODE = 4
_PRIOR_SCALES = np.array([1.0, 0.5, 0.25, 0.125, 0.0625], dtype=np.float32)
_NUM_DRAWS = 32
_ROWS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class AdditiveBelief:
    """Weights of evidence by relation and level, with posterior uncertainty.

    Attributes:
        tags: relations it knows; others leave the belief as it is.
        intercept: shape (num_draws,), natural log odds without evidence.
        weight: shape (num_draws, num_tags, num_levels), log odds a stub.
        slope: the same shape, log odds a unit of score.
        redundancy: shape (num_draws, num_tags), in (0, 1).
    """

    tags: tuple[str, ...]
    intercept: Array
    weight: Array
    slope: Array
    redundancy: Array

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; an outcome that its domain cannot read fails its query alone."""
        if not queries:
            return Beliefs(np.zeros(0))
        encoded = encode([(query.hypothesis, query.evidence) for query in queries], self.tags)
        return Beliefs(self._mean_probability(encoded), encoded.reasons)

    def _mean_probability(self, encoded: Encoded) -> NDArray[np.float64]:
        size = len(encoded.count)
        # one shape: one program is compiled, and the company of a query does not change its sums
        pad = ((0, -size % _ROWS_AT_ONCE), (0, 0), (0, 0))
        count, score = np.pad(encoded.count, pad), np.pad(encoded.score, pad)
        parameters = (self.intercept, self.weight, self.slope, self.redundancy)
        means = [
            _mean_probability(
                count[at : at + _ROWS_AT_ONCE], score[at : at + _ROWS_AT_ONCE], *parameters
            )
            for at in range(0, size, _ROWS_AT_ONCE)
        ]
        return np.concatenate(means).astype(np.float64)[:size]


def _log_odds(count: Any, score: Any, intercept: Any, weight: Any, slope: Any, rho: Any) -> Any:
    """Return log odds, shape (num_queries,), for one setting of the parameters."""
    support = (count * weight + score * slope).sum(axis=-1)
    total = count.sum(axis=-1)
    effect = 1.0 + jnp.maximum(total - 1.0, 0.0) * rho
    return intercept + (support / effect).sum(axis=-1)


@jax.jit
def _mean_probability(
    count: Any, score: Any, intercept: Any, weight: Any, slope: Any, rho: Any
) -> Any:
    def add(total: Any, draw: Any) -> tuple[Any, None]:
        return total + jax.nn.sigmoid(_log_odds(count, score, *draw)), None

    start = jnp.zeros(count.shape[0])
    total, _ = jax.lax.scan(add, start, (intercept, weight, slope, rho))
    return total / intercept.shape[0]


def _model(count: Any, score: Any, label: Any, share: Any, scale: Any) -> None:
    shape = count.shape[1:]
    intercept = numpyro.sample("intercept", dist.Normal(0.0, 0.5))
    weight = numpyro.sample("weight", dist.Normal(0.0, 2.0 * scale).expand(shape).to_event(2))
    slope = numpyro.sample("slope", dist.Normal(0.0, scale).expand(shape).to_event(2))
    rho = numpyro.sample("redundancy", dist.Beta(1.5, 1.5).expand(shape[:1]).to_event(1))
    odds = _log_odds(count, score, intercept, weight, slope, rho)
    fit = (share * dist.Bernoulli(logits=odds).log_prob(label)).sum()
    numpyro.factor("labels", fit)


def fit_additive_belief(episodes: Sequence[Episode], seed: int = 0) -> AdditiveBelief:
    """Fit the weights on the labels of training episodes.

    Each episode gives a few contexts of random length and membership that share one label, so
    each counts a fraction; and the episodes of one unit (a gene, say), whose labels hang together,
    count as many as their intraclass correlation leaves. The posterior is as wide as the number of
    independent labels warrants.

    Args:
        episodes: training episodes of both labels.
        seed: of the contexts and of the posterior draws.

    Raises:
        DataError: for no episodes, labels of one class only, or evidence that cannot be read.
    """
    # the order of a file must not matter
    episodes = sorted(episodes, key=lambda episode: episode.id)
    labels = {episode.label for episode in episodes}
    if len(labels) < 2:
        raise DataError(
            f"fitting a belief needs episodes of both labels, got {len(episodes)} of {labels}: "
            "one class only"
        )
    tags = sorted({relation(e.target, stub.experiment).tag for e in episodes for stub in e.pool})
    rng = generator(seed, "contexts")
    questions, label, share = [], [], []
    for episode, counts_as in zip(episodes, _independent_share(episodes), strict=True):
        for _ in range(_CONTEXTS_PER_EPISODE):
            size = int(rng.integers(0, len(episode.pool) + 1))
            members = rng.permutation(len(episode.pool))[:size]
            questions.append((episode.target, tuple(episode.pool[i] for i in members)))
            label.append(episode.label)
            share.append(counts_as / _CONTEXTS_PER_EPISODE)
    encoded = encode(questions, tags)
    if unreadable := next(filter(None, encoded.reasons), None):
        raise DataError(f"training evidence cannot be read: {unreadable}")
    label_and_share = np.array([label, share], dtype=np.float32)
    key = jax.random.key(derive_seed(seed, "fit") & 0xFFFFFFFF)
    data = (encoded.count, encoded.score, *label_and_share)
    _, draws = laplace_draws(_model, data, _PRIOR_SCALES, key, _NUM_DRAWS)
    return AdditiveBelief(
        tuple(tags),
        *(np.asarray(draws[name]) for name in ("intercept", "weight", "slope", "redundancy")),
    )


def _independent_share(episodes: Sequence[Episode]) -> Array:
    """Return what each label counts: 1 over the design effect of its unit's episodes.

    The intraclass correlation of labels is the one-way analysis-of-variance estimate, held in
    [0, 1].
    """
    _, unit = np.unique([episode.unit for episode in episodes], return_inverse=True)
    label = np.array([episode.label for episode in episodes], dtype=np.float64)
    size = np.bincount(unit)
    between, within = len(size) - 1, len(label) - len(size)
    if between == 0 or within == 0:
        return np.ones(len(label), dtype=np.float32)
    mean = np.bincount(unit, label) / size
    mean_square_between = (size * (mean - label.mean()) ** 2).sum() / between
    mean_square_within = ((label - mean[unit]) ** 2).sum() / within
    typical = (len(label) - (size**2).sum() / len(label)) / between
    total = mean_square_between + (typical - 1.0) * mean_square_within
    correlation = (mean_square_between - mean_square_within) / total if total > 0 else 1.0
    effect = 1.0 + (size[unit] - 1) * np.clip(correlation, 0.0, 1.0)
    return np.asarray(1.0 / effect, dtype=np.float32)
