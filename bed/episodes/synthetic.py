"""Episodes drawn from exact finite worlds, in which the best choice is known.

Each episode has a world of its own: 16 candidates in four tiers whose links to theta weaken from
tier to tier, read out with noise. Candidates are independent given theta and one hidden context,
so that results hang together beyond theta and redundancy matters.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evidence import Episode
from bed.seeds import generator
from bed.worlds import World

__all__ = ["NAMES", "WorldEpisodes", "sample_world_episodes"]

Array = NDArray[np.float64]

TIER_SIZES = {1: 3, 2: 3, 3: 3, 4: 7}
_LINK = {1: 2.6, 2: 1.8, 3: 1.2, 4: 0.2}
"""Typical difference in log odds of theta' between theta = 1 and theta = 0, by tier."""

_READOUTS = {
    "sharp": np.array([[0.85, 0.12, 0.03], [0.10, 0.25, 0.65]]),
    "noisy": np.array([[0.60, 0.25, 0.15], [0.20, 0.30, 0.50]]),
}


@dataclass(frozen=True)
class WorldEpisodes:
    """Episodes, and the exact world that each was drawn from by the name in its target."""

    episodes: tuple[Episode, ...]
    worlds: dict[str, World]


def _graded(rng: Generator) -> tuple[Array, Array]:
    """Links by tier; the hidden context shifts the local log odds of all candidates a little."""
    return _local_odds(rng, context=0.7), np.full(16, 0.0)


def _redundant(rng: Generator) -> tuple[Array, Array]:
    """A strong hidden context: candidates of one kind repeat each other."""
    return _local_odds(rng, context=2.0), np.full(16, 0.0)


def _decisive(rng: Generator) -> tuple[Array, Array]:
    """Rare decisive results: theta' is mostly 0, but settles theta where it is 1."""
    return _local_odds(rng, context=0.4), np.full(16, -2.5)


_LAWS: dict[str, Callable[[Generator], tuple[Array, Array]]] = {
    "graded": _graded,
    "redundant": _redundant,
    "decisive": _decisive,
}

NAMES = tuple(_LAWS)


def _local_odds(rng: Generator, context: float) -> Array:
    """Return log odds of theta' over (candidate, theta, context), centred on 0."""
    link = np.array([_LINK[tier] for tier in _tiers()]) * rng.lognormal(0.0, 0.35, 16)
    sign = rng.choice([-1.0, 1.0], size=16, p=[0.2, 0.8])
    theta = (sign * link)[:, None, None] * np.array([-0.5, 0.5])[None, :, None]
    hidden = (context * rng.normal(size=16))[:, None, None] * np.array([-0.5, 0.5])[None, None, :]
    return np.asarray(theta + hidden)


def _tiers() -> tuple[int, ...]:
    return tuple(tier for tier, size in TIER_SIZES.items() for _ in range(size))


def sample_world_episodes(
    name: str, num_episodes: int, seed: int, split: str = "test"
) -> WorldEpisodes:
    """Draw episodes, each from a world of its own.

    Args:
        name: one of `NAMES`.
        num_episodes: how many.
        seed: the same seed and split give the same episodes; more of them extend the list.
        split: also part of the seed, so that training and test differ.

    Raises:
        DataError: for an unknown name.
    """
    if name not in _LAWS:
        raise DataError(f"unknown world {name!r}; use one of {', '.join(NAMES)}")
    episodes, worlds = [], {}
    for i in range(num_episodes):
        rng = generator(seed, "world", name, split, i)
        world = _sample_world(name, f"{name}-{split}-{i}", rng)
        label, pool = world.sample(rng)
        episodes.append(
            Episode(
                id=world.name,
                target=world.target(),
                label=label,
                pool=pool,
                tiers=world.tiers,
                tags=tuple(f"candidate of tier {tier}" for tier in world.tiers),
                split=split,
            )
        )
        worlds[world.name] = world
    return WorldEpisodes(tuple(episodes), worlds)


def _sample_world(law: str, name: str, rng: Generator) -> World:
    odds, shift = _LAWS[law](rng)
    order = rng.permutation(len(odds))
    tiers, readouts = np.array(_tiers())[order], rng.choice(list(_READOUTS), size=len(odds))
    local = 1.0 / (1.0 + np.exp(-(odds + shift[:, None, None])))[order]
    # states run over (theta, context) with theta the slow index
    return World(
        prior=np.full(4, 0.25),
        theta=np.array([0, 0, 1, 1]),
        local=tuple(local.reshape(len(odds), 4)),
        outcome=tuple(np.repeat(_READOUTS[kind][None], 4, axis=0) for kind in readouts),
        tiers=tuple(int(tier) for tier in tiers),
        kinds=tuple(str(kind) for kind in readouts),
        name=name,
    )
