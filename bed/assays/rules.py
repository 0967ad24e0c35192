"""Rules that choose the next assay: at random, by relevance, by the factored or the exact EIG.

The rules of `bed.estimators`, compiled. In this world a branch is a normal distribution, so an
imagined outcome is a quantile of it: at a random level, as a simulator draws it, or at a fixed one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.special import ndtri

from bed.assays.draws import Keys, Purpose, draw
from bed.assays.world import Assays, divergence, exact_eig, likelihood_ratio, normal_quantile
from bed.errors import DataError
from bed.estimators.forms import Form, check_form
from bed.information import LOG2

__all__ = ["RULES", "Exact", "Factored", "Prepared", "Random", "Relevance", "Rule", "Screened"]

_OUTWARD = 0.75
_OTHER = (1 / 6, 1 / 2, 5 / 6)
_LEVELS = (0.25, 0.75, *_OTHER)
_SMALLEST = 1e-7

Prepared = tuple[jax.Array, ...]
"""Arrays of shape (step, candidate, episode) that no belief changes; one step where all agree."""


class Rule(ABC):
    """Scores candidates; the one with the highest score is run.

    Attributes:
        is_eig: whether the score is an expected information gain at the present belief, bits.
    """

    is_eig: ClassVar[bool] = True

    @abstractmethod
    def prepare(self, assays: Assays, keys: Keys, num_steps: int) -> Prepared:
        """Return what can be worked out for all steps before the first."""

    @abstractmethod
    def scores(self, prepared: Prepared, odds: jax.Array, is_gone: jax.Array) -> jax.Array:
        """Return the scores of one step, shape (candidate, episode).

        Args:
            prepared: this step's part, without the axis of steps.
            odds: log odds of theta, shape (episode,).
            is_gone: which candidates have been run, shape (candidate, episode); their scores are
                of no account.
        """


@dataclass(frozen=True)
class Random(Rule):
    """Any candidate that is left, with equal chances."""

    is_eig: ClassVar[bool] = False

    def prepare(self, assays: Assays, keys: Keys, num_steps: int) -> Prepared:
        """Draw the scores."""
        return (draw(keys, Purpose.RANDOM, num_steps, assays.mu.shape[1]),)

    def scores(self, prepared: Prepared, odds: jax.Array, is_gone: jax.Array) -> jax.Array:
        """Return the scores drawn."""
        return prepared[0]


@dataclass(frozen=True)
class Relevance(Rule):
    """Perfect relevance: the exact EIG at even odds, blind to what is believed by now."""

    is_eig: ClassVar[bool] = False

    def prepare(self, assays: Assays, keys: Keys, num_steps: int) -> Prepared:
        """Work out the relevance of each candidate."""
        return (exact_eig(assays, jnp.zeros(assays.mu.shape[-1])),)

    def scores(self, prepared: Prepared, odds: jax.Array, is_gone: jax.Array) -> jax.Array:
        """Return the relevance."""
        return prepared[0]


@dataclass(frozen=True)
class Factored(Rule):
    """The factored EIG at one imagined outcome a branch (`bed.estimators.factored`).

    Attributes:
        form: "entropy", as in the paper, "kl" or "js" (`bed.estimators.forms`).
        nodes: the outcome imagined. "independent": drawn for each candidate and branch;
            "coupled": at one random level for all candidates and both branches; a number in
            (0, 1): at this level in the supportive branch, and at 1 minus it in the other.
    """

    form: Form
    nodes: Literal["independent", "coupled"] | float

    def __post_init__(self) -> None:
        check_form(self.form)
        if isinstance(self.nodes, str):
            if self.nodes not in ("independent", "coupled"):
                raise DataError(
                    f"nodes {self.nodes!r}: use 'independent', 'coupled' or a level in (0, 1)"
                )
        elif not 0.0 < self.nodes < 1.0:
            raise DataError(f"nodes {self.nodes!r}: a level must lie inside (0, 1)")

    def prepare(self, assays: Assays, keys: Keys, num_steps: int) -> Prepared:
        """Imagine the outcomes, and work out their likelihood ratios."""
        above, below = self._noise(keys, num_steps, assays.mu.shape[1])
        supportive = likelihood_ratio(assays, assays.mu + above)
        other = likelihood_ratio(assays, jnp.broadcast_to(below, supportive.shape))
        return (assays.base, assays.rho, *_both(supportive), *_both(other))

    def scores(self, prepared: Prepared, odds: jax.Array, is_gone: jax.Array) -> jax.Array:
        """Return the factored EIG in bits."""
        base, rho, *ratios = prepared
        weight = base + rho * jax.nn.sigmoid(odds)
        imagined = (Imagined(weight, *ratios[:2]), Imagined(1.0 - weight, *ratios[2:]))
        return information(self.form, odds, imagined) / np.float32(LOG2)

    def _noise(
        self, keys: Keys, num_steps: int, num_candidates: int
    ) -> tuple[jax.Array, jax.Array]:
        """Return how far the imagined outcomes lie above their branches' means."""
        if self.nodes == "independent":
            drawn = [
                draw(keys, branch, num_steps, num_candidates)
                for branch in (Purpose.SUPPORTIVE, Purpose.NONSUPPORTIVE)
            ]
            return normal_quantile(drawn[0]), normal_quantile(drawn[1])
        if self.nodes == "coupled":
            shared = normal_quantile(draw(keys, Purpose.COUPLED, num_steps))
            return shared, shared
        above = jnp.float32(ndtri(self.nodes))
        return above, -above


@dataclass(frozen=True)
class Screened(Rule):
    """Successive halving: one look at every candidate, four more at the best quarter.

    See `bed.estimators.screened`. Beliefs are exact here, so it never turns to `Factored`.
    """

    def prepare(self, assays: Assays, keys: Keys, num_steps: int) -> Prepared:
        """Imagine the outcomes of both branches at every level that may be asked for."""
        supportive = [_ratio_at(assays, assays.mu, level) for level in _LEVELS]
        other = [_ratio_at(assays, 0.0, 1.0 - level) for level in _LEVELS]
        return (assays.base, assays.rho, *(part for pair in supportive + other for part in pair))

    def scores(self, prepared: Prepared, odds: jax.Array, is_gone: jax.Array) -> jax.Array:
        """Return the EIG in bits, of the best quarter at a second look."""
        base, rho, *ratios = prepared
        weight = base + rho * jax.nn.sigmoid(odds)
        is_rare, share = weight <= 0.5, jnp.minimum(weight, 1.0 - weight)
        pairs = list(zip(ratios[::2], ratios[1::2], strict=True))
        supportive, other = pairs[: len(_LEVELS)], pairs[len(_LEVELS) :]

        def at(level: float, of_rarer: bool) -> tuple[jax.Array, jax.Array]:
            """Return the outcome at a level counted from the other branch outwards."""
            up, down = (branch[_LEVELS.index(level)] for branch in (supportive, other))
            use_up = is_rare if of_rarer else ~is_rare
            return jnp.where(use_up, up[0], down[0]), jnp.where(use_up, up[1], down[1])

        look = at(_OUTWARD, of_rarer=True)
        p, moved = jax.nn.sigmoid(odds), _posterior(odds, look[1])
        implied = jnp.clip(p - share / (1.0 - share) * (moved - p), _SMALLEST, 1.0 - _SMALLEST)
        log_ratio = jnp.log(implied) - jnp.log1p(-implied) - odds
        first = information(
            "js",
            odds,
            (Imagined(share, *look), Imagined(1.0 - share, jnp.expm1(log_ratio), log_ratio)),
        )
        inward = at(1.0 - _OUTWARD, of_rarer=True)
        strata = [at(level, of_rarer=False) for level in _OTHER]
        second = information(
            "js",
            odds,
            (
                *(Imagined(share / 2.0, *seen) for seen in (look, inward)),
                *(Imagined((1.0 - share) / 3.0, *seen) for seen in strata),
            ),
        )
        first = jnp.where(is_gone, -jnp.inf, first)
        count = jnp.maximum(2, jnp.ceil(0.25 * (~is_gone).sum(axis=0)).astype(jnp.int32))
        is_final = _rank(first) < count
        # a hair below, so that no tie goes to a candidate that was looked at once
        worst = 0.999 * jnp.min(jnp.where(is_final & ~is_gone, second, jnp.inf), axis=0)
        return jnp.where(is_final, second, jnp.minimum(first, worst)) / np.float32(LOG2)


@dataclass(frozen=True)
class Exact(Rule):
    """The exact EIG, by quadrature over the outcome."""

    def prepare(self, assays: Assays, keys: Keys, num_steps: int) -> Prepared:
        """Pass the candidates on."""
        return assays

    def scores(self, prepared: Prepared, odds: jax.Array, is_gone: jax.Array) -> jax.Array:
        """Return the exact EIG in bits."""
        return exact_eig(Assays(*prepared), odds)


RULES: dict[str, Rule] = {
    "random": Random(),
    "relevance": Relevance(),
    "paper": Factored("entropy", "independent"),
    "coupled": Factored("kl", "coupled"),
    "levels": Factored("js", 0.65),
    "screened": Screened(),
    "exact": Exact(),
}
"""Rules by the names that studies know them by."""


class Imagined(NamedTuple):
    """An imagined outcome: its weight, likelihood ratio of theta minus one, and log ratio."""

    weight: jax.Array
    ratio_minus_one: jax.Array
    log_ratio: jax.Array


def information(form: Form, odds: jax.Array, imagined: Sequence[Imagined]) -> jax.Array:
    """Return what imagined outcomes are worth, nats.

    Args:
        form: see `bed.estimators.forms`.
        odds: log odds of theta before them.
        imagined: the outcomes; their weights sum to 1.
    """
    if form == "entropy":
        return _total(
            of.weight * (_entropy(odds) - _entropy(odds + of.log_ratio)) for of in imagined
        )
    nats = _total(of.weight * divergence(odds, *of[1:]) for of in imagined)
    if form == "js":
        for_, against = (
            _total(of.weight * _posterior(sign * odds, sign * of.log_ratio) for of in imagined)
            for sign in (1, -1)
        )
        # the ratio that would move the prior to the mean of the posteriors
        log_ratio = jnp.log(for_) - jnp.log(against) - odds
        nats -= divergence(odds, jnp.expm1(log_ratio), log_ratio)
    return nats


def _total(parts: Iterable[jax.Array]) -> jax.Array:
    return reduce(jnp.add, parts)


def _ratio_at(assays: Assays, mean: jax.Array | float, level: float) -> tuple[jax.Array, jax.Array]:
    y = jnp.broadcast_to(mean + np.float32(ndtri(level)), assays.mu.shape)
    return _both(likelihood_ratio(assays, y))


def _both(ratio: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a likelihood ratio minus one, which is exact, and its logarithm, which agrees."""
    return ratio - 1.0, jnp.log(ratio)


def _posterior(odds: jax.Array, log_ratio: jax.Array) -> jax.Array:
    return jax.nn.sigmoid(odds + log_ratio)


def _rank(scores: jax.Array) -> jax.Array:
    """Return how many candidates stand before each one; equal scores stand in order."""
    index = jnp.arange(len(scores))[:, None]

    def count(k: jax.Array, so_far: jax.Array) -> jax.Array:
        before = (scores[k] > scores) | ((scores[k] == scores) & (k < index))
        return so_far + before

    rank: jax.Array = lax.fori_loop(0, len(scores), count, jnp.zeros(scores.shape, dtype=jnp.int32))
    return rank


def _entropy(odds: jax.Array) -> jax.Array:
    """Return the entropy in nats of a belief with these log odds."""
    size = jnp.abs(odds)
    return jnp.log1p(jnp.exp(-size)) + size * jax.nn.sigmoid(-size)
