"""Episodes drawn from exact finite worlds, in which the best choice is known.

Each episode has a world of its own: 16 candidates in four tiers whose links to theta weaken from
tier to tier, read out with noise. In "graded", "redundant" and "decisive" worlds candidates are
independent given theta and one hidden context, so that results hang together beyond theta and
redundancy matters. "gaussian" and "six-level" are worlds of independent assays (`assay_worlds`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bed.episodes.assay_worlds import gaussian_world, six_level_world
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
        world = _LAWS[name](f"{name}-{split}-{i}", rng)
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


def _hidden_context(name: str, rng: Generator, context: float, shift: float = 0.0) -> World:
    """Draw a world with a hidden context.

    Args:
        name: of the world.
        rng: what it is drawn with.
        context: how far the hidden context moves local log odds, typically.
        shift: of all local log odds; far below 0, theta' is mostly 0 but settles theta where it
            is 1.
    """
    odds = _local_odds(rng, context)
    order = rng.permutation(len(odds))
    tiers, readouts = np.array(_tiers())[order], rng.choice(list(_READOUTS), size=len(odds))
    local = 1.0 / (1.0 + np.exp(-(odds + shift)))[order]
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


_LAWS: dict[str, Callable[[str, Generator], World]] = {
    "graded": partial(_hidden_context, context=0.7),
    "redundant": partial(_hidden_context, context=2.0),
    "decisive": partial(_hidden_context, context=0.4, shift=-2.5),
    "gaussian": gaussian_world,
    "six-level": six_level_world,
}

NAMES = tuple(_LAWS)
