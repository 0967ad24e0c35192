"""Random numbers of a compiled study, by name: a keyed hash of a counter.

A number is a function of (seed, episode, purpose, step, candidate), so that an episode does not
depend on how many others are run, nor a draw on who asks for it. The counter passes through two
rounds of a 32-bit mixer, each keyed by a secret word of the episode; this costs a sixth of JAX's
threefry on a CPU, and is no cipher.
"""

from enum import IntEnum
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from bed.seeds import derive_seed

__all__ = [
    "LIMIT",
    "Keys",
    "Pool",
    "Purpose",
    "Uniforms",
    "draw",
    "draw_uniforms",
    "keys",
    "seed_words",
]

Pool = Literal["fixed", "fresh"]
"""A fixed pool's candidates can be run once each; a fresh pool is drawn anew at every step."""

LIMIT = 1 << 12
"""Steps and candidates must stay below: they share a 32-bit counter with the purpose."""


class Purpose(IntEnum):
    """What a number is for: the high bits of its counter."""

    RADIUS = 0
    ANGLE = 1
    THETA = 2
    RHO = 3
    P0 = 4
    MU = 5
    LOCAL = 6
    NOISE = 7
    RANDOM = 8
    SUPPORTIVE = 9
    NONSUPPORTIVE = 10
    COUPLED = 11


class Keys(NamedTuple):
    """Two secret words an episode, each uint32 of shape (episode,)."""

    first: jax.Array
    second: jax.Array


class Uniforms(NamedTuple):
    """The uniform numbers in (0, 1) behind truths and outcomes.

    Shapes are (episode,) for `radius`, `angle` (both behind the prior) and `theta`, and
    (step, candidate, episode) for `rho`, `p0` and `mu`, with one step in a fixed pool. `local`
    (theta') and `noise` (of the read-out) are (slot, episode): a slot is a candidate of a fixed
    pool, or a step of a fresh one, in which each step runs one candidate.
    """

    radius: jax.Array
    angle: jax.Array
    theta: jax.Array
    rho: jax.Array
    p0: jax.Array
    mu: jax.Array
    local: jax.Array
    noise: jax.Array


def seed_words(seed: int) -> NDArray[np.uint32]:
    """Return the four words from which the keys of all episodes follow."""
    words = [derive_seed(seed, "assays", i) & 0xFFFFFFFF for i in range(4)]
    return np.array(words, dtype=np.uint32)


def keys(words: NDArray[np.uint32], num_episodes: int) -> Keys:
    """Return the keys of the first episodes.

    They are made by a program of their own: within the study's, XLA would repeat the work for
    every number drawn.
    """
    return Keys(*_key_words(words, num_episodes))


@partial(jax.jit, static_argnames="num_episodes")
def _key_words(words: jax.Array, num_episodes: int) -> tuple[jax.Array, jax.Array]:
    episode = jnp.arange(num_episodes, dtype=jnp.uint32)
    first, second = (_mix(_mix(episode ^ words[i]) + words[i + 1]) for i in (0, 2))
    return first, second


def draw(of: Keys, purpose: Purpose, num_steps: int = 1, num_candidates: int = 1) -> jax.Array:
    """Return numbers in (0, 1), float32, shape (num_steps, num_candidates, episode)."""
    step = jnp.arange(num_steps, dtype=jnp.uint32)[:, None, None]
    candidate = jnp.arange(num_candidates, dtype=jnp.uint32)[:, None]
    counter = jnp.uint32(purpose << 24) | (step << 12) | candidate
    word = _mix(_mix(counter ^ of.first) + of.second)
    # 23 bits become the fraction of a number in [1, 2); half a unit up keeps 0 and 1 out
    number = lax.bitcast_convert_type((word >> 9) | jnp.uint32(0x3F800000), jnp.float32)
    return number - np.float32(1.0 - 2.0**-24)


def draw_uniforms(of: Keys, pool: Pool, num_steps: int, num_candidates: int) -> Uniforms:
    """Return everything random about truths and outcomes."""
    num_pools, num_slots = (num_steps, num_steps) if pool == "fresh" else (1, num_candidates)
    return Uniforms(
        radius=draw(of, Purpose.RADIUS)[0, 0],
        angle=draw(of, Purpose.ANGLE)[0, 0],
        theta=draw(of, Purpose.THETA)[0, 0],
        rho=draw(of, Purpose.RHO, num_pools, num_candidates),
        p0=draw(of, Purpose.P0, num_pools, num_candidates),
        mu=draw(of, Purpose.MU, num_pools, num_candidates),
        local=draw(of, Purpose.LOCAL, 1, num_slots)[0],
        noise=draw(of, Purpose.NOISE, 1, num_slots)[0],
    )


def _mix(word: jax.Array) -> jax.Array:
    """Return a bijection of 32-bit words in which each input bit flips half of the output bits.

    The constants are those of lowbias32 (C. Wellons, "Prospecting for hash functions", 2018).
    """
    word = (word ^ (word >> 16)) * jnp.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * jnp.uint32(0x846CA68B)
    return word ^ (word >> 16)
