"""Worlds of independent assays, in which every EIG is known: the paper's factored model itself.

    theta ~ Bernoulli(prior),                 prior = 0.02 + 0.96 Beta(1.5, 1.5)
    P(theta'=1 | theta=1) = p0 + (1 - p0) rho,  P(theta'=1 | theta=0) = p0 (1 - rho),
    rho ~ Beta(1, 2),  p0 ~ U(0.15, 0.6)

and two ways to read theta' out. "gaussian": y ~ N(mu theta', 1), mu ~ U(0.5, 3), in bins of 0.1;
`bed.assays` compiles the same world without bins. "six-level": a test that comes out significant or
not, with a small, middling or large effect. It is significant with power U(0.2, 0.9) where theta'=1
and with level U(0.01, 0.15) where it is 0, and the size of the effect leans towards large or small
by exp(+-tilt / 2) a step, tilt ~ U(0, 1.5). Its decisive outcomes are rare and its middle tells
little, which is hard for estimators that look at typical outcomes.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr

from bed.worlds import World

__all__ = ["gaussian_world", "six_level_world"]

Array = NDArray[np.float64]

_NUM_CANDIDATES = 16
_TIERS = np.repeat([1, 2, 3, 4], [3, 3, 3, 7])
_BIN_EDGES = np.arange(-3.95, 7.0, 0.1)


def gaussian_world(name: str, rng: Generator) -> World:
    """Draw a world whose outcomes are bins of a Gaussian read-out."""
    mu = rng.uniform(0.5, 3.0, _NUM_CANDIDATES)
    means = mu[:, None, None] * np.array([0.0, 1.0])[:, None]
    below = ndtr(_BIN_EDGES - means)
    edges = np.concatenate([np.zeros_like(means), below, np.ones_like(means)], axis=2)
    return _world(name, rng, np.diff(edges, axis=2), "gaussian")


def six_level_world(name: str, rng: Generator) -> World:
    """Draw a world whose outcomes are significance (no, yes) by effect size, in six levels."""
    level, power = (
        rng.uniform(low, high, _NUM_CANDIDATES) for low, high in ((0.01, 0.15), (0.2, 0.9))
    )
    lean = rng.uniform(0.0, 1.5, _NUM_CANDIDATES)[:, None] * np.array([-0.5, 0.0, 0.5])
    size = np.stack([np.exp(-lean), np.exp(lean)], axis=1)
    size /= size.sum(axis=2, keepdims=True)
    significant = np.stack([level, power], axis=1)[:, :, None]
    p_y = np.concatenate([(1.0 - significant) * size, significant * size], axis=2)
    return _world(name, rng, p_y, "six-level")


def _world(name: str, rng: Generator, p_y: Array, kind: str) -> World:
    """Return the world of read-outs P(y | theta'), shape (candidate, theta', outcome)."""
    prior = 0.02 + 0.96 * rng.beta(1.5, 1.5)
    rho, p0 = rng.beta(1.0, 2.0, _NUM_CANDIDATES), rng.uniform(0.15, 0.6, _NUM_CANDIDATES)
    local = np.stack([p0 * (1.0 - rho), p0 + (1.0 - p0) * rho], axis=1)
    tiers = np.empty(_NUM_CANDIDATES, dtype=np.int64)
    tiers[np.argsort(-rho)] = _TIERS
    return World(
        prior=np.array([1.0 - prior, prior]),
        theta=np.array([0, 1]),
        local=tuple(local),
        outcome=tuple(np.repeat(rows[None], 2, axis=0) for rows in p_y),
        tiers=tuple(tiers.tolist()),
        kinds=(kind,) * _NUM_CANDIDATES,
        name=name,
    )
