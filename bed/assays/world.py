"""The assay world: a binary hypothesis, and noisy read-outs of local hypotheses that depend on it.

    prior ~ .02 + .96 Beta(3/2, 3/2),  theta ~ Bernoulli(prior)
    p(theta'=1 | theta=0) = p0 (1 - rho),  p(theta'=1 | theta=1) = p0 + (1 - p0) rho
    y | theta' ~ Normal(mu theta', 1),  rho ~ Beta(1, 2),  p0 ~ U(.15, .6),  mu ~ U(.5, 3)

Candidates are independent given theta. Nothing is approximated: p(y | theta) is a mixture of two
normals, so log odds of theta add up exactly. With tilt = p(y | theta'=1) / p(y | theta'=0) - 1,

    p(y | theta) / p(y | theta'=0) = 1 + p(theta'=1 | theta) tilt.

Arrays are float32, (..., candidate, episode): the compiler works on vectors of episodes.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bed.assays.draws import Uniforms
from bed.information import LOG2

__all__ = [
    "Assays",
    "Truth",
    "divergence",
    "evidence",
    "exact_eig",
    "likelihood_ratio",
    "normal_quantile",
    "truth",
]

_NUM_NODES = 24
_REACH = 5.0
"""How many standard deviations the grid of y reaches beyond the two means."""


class Assays(NamedTuple):
    """Candidates: p(theta'=1 | theta=0), by how much theta = 1 raises it, and mu.

    Each has shape (step, candidate, episode), where a fixed pool has one step, or a part of it.
    """

    base: jax.Array
    rho: jax.Array
    mu: jax.Array


class Truth(NamedTuple):
    """What the world holds: prior and theta (bool) of shape (episode,), and the candidates."""

    prior: jax.Array
    theta: jax.Array
    assays: Assays


def truth(uniforms: Uniforms) -> Truth:
    """Return the world by inverse distribution functions."""
    # one coordinate of a uniform point of the disc follows the semicircle law, a Beta(3/2, 3/2)
    coordinate = jnp.sqrt(uniforms.radius) * jnp.cos(2.0 * math.pi * uniforms.angle)
    prior = 0.02 + 0.48 * (1.0 + coordinate)
    rho = 1.0 - jnp.sqrt(1.0 - uniforms.rho)
    p0 = 0.15 + 0.45 * uniforms.p0
    mu = 0.5 + 2.5 * uniforms.mu
    return Truth(prior, uniforms.theta < prior, Assays(p0 * (1.0 - rho), rho, mu))


def normal_quantile(u: jax.Array) -> jax.Array:
    """Return the quantile of the standard normal distribution."""
    return np.float32(math.sqrt(2.0)) * lax.erf_inv(2.0 * u - 1.0)


def likelihood_ratio(assays: Assays, y: jax.Array) -> jax.Array:
    """Return p(y | theta=1) / p(y | theta=0)."""
    tilt = _tilt(assays, y)
    return (1.0 + (assays.base + assays.rho) * tilt) / (1.0 + assays.base * tilt)


def evidence(
    assays: Assays, theta: jax.Array, local: jax.Array, noise: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return what running candidates shows: log p(y | theta=0) and the log likelihood ratio, nats.

    Args:
        assays: the candidates run.
        theta: the truth.
        local: uniform numbers that decide theta'.
        noise: of the read-out, standard normal.
    """
    is_local = local < assays.base + jnp.where(theta, assays.rho, 0.0)
    y = noise + jnp.where(is_local, assays.mu, 0.0)
    given_0 = jnp.log(1.0 + assays.base * _tilt(assays, y)) - 0.5 * (y * y + math.log(2 * math.pi))
    return given_0, jnp.log(likelihood_ratio(assays, y))


def divergence(odds: jax.Array, ratio_minus_one: jax.Array, log_ratio: jax.Array) -> jax.Array:
    """Return KL(posterior || prior) in nats from the prior's log odds and the likelihood ratio.

    With p the less likely label's probability and 1 + r its likelihood ratio, it is
    q log(1 + r) - log(1 + p r), where q = p (1 + r) / (1 + p r); so near certainty no digit is
    lost, nor where r is small, for the logarithm gets back what rounding takes from 1 + p r.
    """
    swap = odds > 0
    r = jnp.where(swap, -ratio_minus_one / (1.0 + ratio_minus_one), ratio_minus_one)
    p = jax.nn.sigmoid(-jnp.abs(odds))
    total = 1.0 + p * r
    # one division serves both terms, and is cheaper than log1p
    inverse = 1.0 / total
    log_sum = jnp.log(total) + (p * r + (1.0 - total)) * inverse
    q = p * (1.0 + r) * inverse
    return q * jnp.where(swap, -log_ratio, log_ratio) - log_sum


def exact_eig(assays: Assays, odds: jax.Array) -> jax.Array:
    """Return the mutual information of theta and y in bits, to 1e-4, by the trapezoid rule.

    Args:
        assays: candidates, (..., candidate, episode).
        odds: log odds of theta, shape (episode,).
    """
    spacing = (assays.mu + 2.0 * _REACH) / (_NUM_NODES - 1)
    p = jax.nn.sigmoid(odds)

    def add(node: jax.Array, so_far: jax.Array) -> jax.Array:
        y = spacing * node - _REACH
        ratio = likelihood_ratio(assays, y)
        given_0 = jnp.exp(-0.5 * y * y) * (1.0 + assays.base * _tilt(assays, y))
        density = given_0 * (1.0 + p * (ratio - 1.0))
        return so_far + density * divergence(odds, ratio - 1.0, jnp.log(ratio))

    # a loop over nodes: one sum over an axis of nodes would not be compiled to vector code
    total: jax.Array = lax.fori_loop(0, _NUM_NODES, add, jnp.zeros_like(assays.mu))
    return total * spacing / np.float32(math.sqrt(2.0 * math.pi) * LOG2)


def _tilt(assays: Assays, y: jax.Array) -> jax.Array:
    return jnp.exp(assays.mu * (y - 0.5 * assays.mu)) - 1.0
