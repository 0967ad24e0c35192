"""Whole studies of the assay world: every episode of every policy in one compiled program.

All policies face the same truths: what a candidate shows is the same whoever runs it (in a fresh
pool: at the same step), so that differences between policies are paired. The first call for a set
of rules and sizes compiles for about a second; seeds share the program.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from scipy.special import expit

from bed.assays.draws import LIMIT, Keys, Pool, Uniforms, draw_uniforms, keys, seed_words
from bed.assays.rules import RULES, Rule
from bed.assays.world import evidence, normal_quantile, truth
from bed.errors import DataError

__all__ = ["Paths", "assay_paths", "assay_study", "assay_uniforms"]


class Paths(NamedTuple):
    """What happened, as arrays on the device; policies in the order given.

    Attributes:
        theta: the truth, bool, shape (episode,).
        log_odds: of theta = 1, natural, shape (policy, 1 + num_steps, episode).
        chosen: index of the candidate run, shape (policy, num_steps, episode).
        promised: its score, bits where that is an EIG, the same shape.
        log_given_0: log p(history | theta=0), nats, shape (policy, episode).
    """

    theta: jax.Array
    log_odds: jax.Array
    chosen: jax.Array
    promised: jax.Array
    log_given_0: jax.Array


def assay_study(
    policies: Sequence[str] | Mapping[str, Rule],
    num_episodes: int,
    pool: Pool = "fixed",
    num_steps: int = 16,
    num_candidates: int = 16,
    seed: int = 0,
) -> xr.Dataset:
    """Run every policy through the same episodes.

    Args:
        policies: names in `RULES`, or rules by names of your own.
        num_episodes: how many; more of them extend a study, the first ones stay as they are.
        pool: "fixed", whose candidates can be run once each, or "fresh" at every step.
        num_steps: experiments an episode.
        num_candidates: to choose from.
        seed: of everything random.

    Returns:
        `label` (episode), theta. `belief` (policy, episode, step from 0), p(theta=1 | history).
        `chosen` (policy, episode, choice from 1), the index in the pool. `promised`, the EIG of
        what was chosen in bits, NaN for rules that promise none. `log_likelihood` (policy,
        episode, theta), log p(history | theta) in nats.

    Raises:
        DataError: for an unknown policy or pool, and for sizes out of range.
    """
    rules = _named(policies)
    paths = assay_paths(tuple(rules.values()), num_episodes, pool, num_steps, num_candidates, seed)
    odds = np.moveaxis(np.asarray(paths.log_odds, dtype=np.float64), 1, 2)
    given_0 = np.asarray(paths.log_given_0, dtype=np.float64)
    given_1 = given_0 + odds[:, :, -1] - odds[:, :, 0]
    is_eig = np.array([rule.is_eig for rule in rules.values()])[:, None, None]
    promised = np.where(is_eig, np.moveaxis(np.asarray(paths.promised), 1, 2), np.nan)
    choices = ("policy", "episode", "choice")
    return xr.Dataset(
        {
            "label": ("episode", np.asarray(paths.theta, dtype=np.int64)),
            "belief": (("policy", "episode", "step"), expit(odds), {"is": "p(theta = 1)"}),
            "chosen": (choices, np.moveaxis(np.asarray(paths.chosen), 1, 2)),
            "promised": (choices, promised, {"units": "bits"}),
            "log_likelihood": (
                ("policy", "episode", "theta"),
                np.stack([given_0, given_1], axis=-1),
                {"units": "nats"},
            ),
        },
        {
            "policy": list(rules),
            "step": np.arange(num_steps + 1),
            "choice": np.arange(1, num_steps + 1),
            "theta": [0, 1],
        },
        {"pool": pool, "num_candidates": num_candidates, "seed": seed},
    )


def assay_paths(
    rules: Sequence[Rule],
    num_episodes: int,
    pool: Pool = "fixed",
    num_steps: int = 16,
    num_candidates: int = 16,
    seed: int = 0,
) -> Paths:
    """Return the bare arrays of `assay_study`, not yet waited for.

    Raises:
        DataError: for an unknown pool, and for sizes out of range.
    """
    _check_sizes(num_episodes, pool, num_steps, num_candidates, seed)
    of = keys(seed_words(seed), num_episodes)
    paths: Paths = _compiled(of, tuple(rules), pool, num_steps, num_candidates)
    return paths


def assay_uniforms(
    num_episodes: int,
    pool: Pool = "fixed",
    num_steps: int = 16,
    num_candidates: int = 16,
    seed: int = 0,
) -> Uniforms:
    """Return the random numbers behind the truths and outcomes of the study of these arguments.

    Raises:
        DataError: for an unknown pool, and for sizes out of range.
    """
    _check_sizes(num_episodes, pool, num_steps, num_candidates, seed)
    return draw_uniforms(keys(seed_words(seed), num_episodes), pool, num_steps, num_candidates)


def _named(policies: Sequence[str] | Mapping[str, Rule]) -> Mapping[str, Rule]:
    if not policies:
        raise DataError(f"no policies: name at least one of {', '.join(RULES)}")
    if isinstance(policies, str):
        raise DataError(f"policies is the text {policies!r}; give a list of names")
    if isinstance(policies, Mapping):
        for name, rule in policies.items():
            if not isinstance(rule, Rule):
                raise DataError(f"policy {name!r} is {rule!r}, no rule of bed.assays")
        return policies
    unknown = [name for name in policies if name not in RULES]
    if unknown:
        raise DataError(f"unknown policy {unknown[0]!r}; use some of {', '.join(RULES)}")
    return {name: RULES[name] for name in policies}


def _check_sizes(
    num_episodes: int, pool: Pool, num_steps: int, num_candidates: int, seed: int
) -> None:
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or abs(seed) >= 1 << 63:
        raise DataError(f"seed is {seed!r}: it must be a whole number of at most 63 bits")
    if pool not in get_args(Pool):
        raise DataError(f"unknown pool {pool!r}; use 'fixed' or 'fresh'")
    for name, value, limit in (
        ("num_episodes", num_episodes, 1 << 31),
        ("num_steps", num_steps, LIMIT),
        ("num_candidates", num_candidates, LIMIT),
    ):
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_whole or not 1 <= value < limit:
            raise DataError(
                f"{name} is {value!r}: it must be a whole number of at least 1 and below {limit}"
            )
    if pool == "fixed" and num_steps > num_candidates:
        raise DataError(
            f"num_steps is {num_steps}, but a fixed pool of {num_candidates} candidates lasts no "
            "longer; take fewer steps, more candidates or a fresh pool"
        )


@partial(jax.jit, static_argnums=(1, 2, 3, 4))
def _compiled(
    of: Keys, rules: tuple[Rule, ...], pool: Pool, num_steps: int, num_candidates: int
) -> Paths:
    uniforms = draw_uniforms(of, pool, num_steps, num_candidates)
    prior, theta, assays = truth(uniforms)
    local, noise = uniforms.local, normal_quantile(uniforms.noise)
    # a fixed pool is small: what each candidate would show is worked out once
    shown = evidence(_at(assays, 0), theta, local, noise) if pool == "fixed" else None
    start = jnp.log(prior) - jnp.log1p(-prior)

    def path(rule: Rule) -> tuple[jax.Array, ...]:
        prepared = rule.prepare(assays, of, num_steps)

        def step(carry: tuple[jax.Array, ...], t: jax.Array) -> tuple[Any, Any]:
            odds, log_given_0, is_gone = carry
            scores = jnp.where(is_gone, -jnp.inf, rule.scores(_at(prepared, t), odds, is_gone))
            index = _best(scores)
            pick = partial(_picked, index)
            if shown is not None:
                given_0, log_ratio = map(pick, shown)
                is_gone = is_gone | (jnp.arange(num_candidates)[:, None] == index)
            else:
                run = type(assays)(*map(pick, _at(assays, t)))
                given_0, log_ratio = evidence(run, theta, local[t], noise[t])
            odds = odds + log_ratio
            return (odds, log_given_0 + given_0, is_gone), (odds, index, pick(scores))

        none_gone = jnp.zeros((num_candidates, *start.shape), dtype=bool)
        first = (start, jnp.zeros_like(start), none_gone)
        (_, log_given_0, _), (odds, chosen, promised) = lax.scan(step, first, jnp.arange(num_steps))
        return jnp.concatenate([start[None], odds]), chosen, promised, log_given_0

    paths = zip(*(path(rule) for rule in rules), strict=True)
    return Paths(theta, *(jnp.stack(arrays) for arrays in paths))


def _at(arrays: Any, step: jax.Array | int) -> Any:
    """Return one step's part of a tuple of arrays; an array of one step serves all."""
    return jax.tree.map(lambda array: array[0] if len(array) == 1 else array[step], arrays)


def _picked(index: jax.Array, rows: jax.Array) -> jax.Array:
    """Return the row of each episode, from shape (candidate, episode)."""
    return jnp.take_along_axis(rows, index[None], axis=0, mode="promise_in_bounds")[0]


def _best(scores: jax.Array) -> jax.Array:
    """Return the lowest index of the highest score in each episode.

    A loop over candidates compares whole vectors of episodes; `argmax` would draw the work on
    scores into a scalar loop, several times slower.
    """

    def compare(k: jax.Array, so_far: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        score, index = so_far
        is_better = scores[k] > score
        return jnp.where(is_better, scores[k], score), jnp.where(is_better, k, index)

    first = scores[0], jnp.zeros(scores.shape[1:], dtype=jnp.int32)
    best: tuple[jax.Array, jax.Array] = lax.fori_loop(1, len(scores), compare, first, unroll=5)
    return best[1]
