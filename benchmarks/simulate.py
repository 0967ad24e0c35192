"""Speed of the compiled study of the assay world beside NumPy, one policy, side by side.

The contenders do the same work with random numbers of their own: bed's compiled program; NumPy
over arrays of candidates and episodes, one step at a time, in float32 as bed and in NumPy's
default float64; and NumPy over the candidates of one episode after the other. Repeats are
interleaved. Fed the same random numbers they choose the same candidates, which is printed too.

    python -m benchmarks.simulate [--episodes 512] [--repeats 15] [--seed 0]
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import ndtri

from bed.assays import Factored, Pool, assay_paths, assay_study, assay_uniforms
from bed.seeds import generator

Array = NDArray[Any]

NUM_STEPS = NUM_CANDIDATES = 16
LEVEL = 0.65
RULE = Factored("kl", LEVEL)
NODE = float(ndtri(LEVEL))


class Draws(NamedTuple):
    """The random numbers of a NumPy study: as in `bed.assays.Uniforms`, but normal noise."""

    radius: Array
    angle: Array
    theta: Array
    rho: Array
    p0: Array
    mu: Array
    local: Array
    noise: Array


def drawn(num_episodes: int, pool: Pool, seed: int, precision: Any) -> Draws:
    """Draw everything in bulk from PCG64."""
    rng = generator(seed, "numpy")
    num_pools = NUM_STEPS if pool == "fresh" else 1
    radius, angle, theta = rng.random((3, num_episodes), precision)
    rho, p0, mu = rng.random((3, num_pools, NUM_CANDIDATES, num_episodes), precision)
    local = rng.random((NUM_STEPS, num_episodes), precision)
    noise = rng.standard_normal((NUM_STEPS, num_episodes), precision)
    return Draws(radius, angle, theta, rho, p0, mu, local, noise)


def as_in_bed(num_episodes: int, pool: Pool, seed: int) -> Draws:
    """Return the numbers that bed's own study draws."""
    own = assay_uniforms(num_episodes, pool, NUM_STEPS, NUM_CANDIDATES, seed)
    draws = Draws(*(np.asarray(part, dtype=np.float64) for part in own))
    return draws._replace(noise=ndtri(draws.noise))


def worlds(draws: Draws) -> tuple[Array, Array, Array, Array, Array]:
    """Return log odds of the priors, theta, and base, rho and mu of the candidates."""
    coordinate = np.sqrt(draws.radius) * np.cos(2 * math.pi * draws.angle)
    prior = 0.02 + 0.48 * (1 + coordinate)
    rho = 1 - np.sqrt(1 - draws.rho)
    base = (0.15 + 0.45 * draws.p0) * (1 - rho)
    return np.log(prior / (1 - prior)), draws.theta < prior, base, rho, 0.5 + 2.5 * draws.mu


def log_ratio(base: Array, rho: Array, mu: Array, y: Array | float) -> tuple[Array, Array, Array]:
    """Return tilt, likelihood ratio minus one, and its logarithm."""
    tilt = np.exp(mu * (y - mu / 2)) - 1
    ratio = rho * tilt / (1 + base * tilt)
    return tilt, ratio, np.log(1 + ratio)


def scores(odds: Any, base: Array, rho: Array, branches: list[tuple[Array, Array]]) -> Array:
    """Return the factored EIG of candidates in nats, KL form."""
    p = 1 / (1 + np.exp(-odds))
    nats = []
    for ratio, log_of_it in branches:
        change = p * ratio
        mean = 1 + change
        nats.append((p + change) / mean * log_of_it - np.log(mean))
    supportive, other = nats
    return np.asarray(other + (base + rho * p) * (supportive - other))


def batched(draws: Draws, pool: Pool) -> Array:
    """Run all episodes together, one step at a time; return what was chosen, (step, episode)."""
    odds, theta, *candidates = worlds(draws)
    num_episodes = len(odds)
    episode = np.arange(num_episodes)
    gone = np.zeros((NUM_CANDIDATES, num_episodes), dtype=odds.dtype)
    path = np.empty((NUM_STEPS + 1, num_episodes), dtype=odds.dtype)
    promised = np.empty((NUM_STEPS, num_episodes), dtype=odds.dtype)
    chosen = np.empty((NUM_STEPS, num_episodes), dtype=np.int64)
    log_given_0 = np.zeros(num_episodes, dtype=odds.dtype)
    path[0] = odds
    for t in range(NUM_STEPS):
        if pool == "fresh" or t == 0:
            base, rho, mu = (values[t] for values in candidates)
            branches = [log_ratio(base, rho, mu, y)[1:] for y in (mu + NODE, -NODE)]
        worth = scores(odds, base, rho, branches)
        if pool == "fixed":
            worth += gone
        k = worth.argmax(axis=0)
        chosen[t], promised[t] = k, worth[k, episode]
        gone[k, episode] = -np.inf
        slot = (k, episode) if pool == "fixed" else (t, episode)
        run = base[k, episode], rho[k, episode], mu[k, episode]
        y = draws.noise[slot] + run[2] * (draws.local[slot] < run[0] + run[1] * theta)
        tilt, _, update = log_ratio(*run, y)
        log_given_0 += np.log(1 + run[0] * tilt) - y * y / 2
        odds = odds + update
        path[t + 1] = odds
    return chosen


def looped(draws: Draws, pool: Pool) -> Array:
    """Run one episode after the other; return what was chosen, (step, episode)."""
    all_odds, all_theta, *candidates = worlds(draws)
    num_episodes = len(all_odds)
    # an episode's numbers side by side
    candidates = [np.ascontiguousarray(np.moveaxis(values, -1, 0)) for values in candidates]
    local, noise = draws.local.T.tolist(), draws.noise.T.tolist()
    path = np.empty((num_episodes, NUM_STEPS + 1))
    promised = np.empty((num_episodes, NUM_STEPS))
    chosen = np.empty((num_episodes, NUM_STEPS), dtype=np.int64)
    log_given_0 = np.zeros(num_episodes)
    for e in range(num_episodes):
        odds, theta, given_0 = float(all_odds[e]), bool(all_theta[e]), 0.0
        gone = np.zeros(NUM_CANDIDATES)
        path[e, 0] = odds
        for t in range(NUM_STEPS):
            if pool == "fresh" or t == 0:
                base, rho, mu = (values[e, t] for values in candidates)
                branches = [log_ratio(base, rho, mu, y)[1:] for y in (mu + NODE, -NODE)]
            worth = scores(odds, base, rho, branches) + gone
            k = int(worth.argmax())
            chosen[e, t], promised[e, t] = k, worth[k]
            if pool == "fixed":
                gone[k] = -np.inf
            slot = k if pool == "fixed" else t
            b, r, m = float(base[k]), float(rho[k]), float(mu[k])
            y = noise[e][slot] + m * (local[e][slot] < b + r * theta)
            tilt = math.exp(m * (y - m / 2)) - 1
            given_0 += math.log(1 + b * tilt) - y * y / 2
            odds += math.log(1 + r * tilt / (1 + b * tilt))
            path[e, t + 1] = odds
        log_given_0[e] = given_0
    return chosen.T


def seconds(run: Callable[[], object], at_least: float = 0.0) -> float:
    """Return how long a call takes, the mean over as many as fill `at_least` seconds."""
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() < start + at_least:
        run()
        calls += 1
    return (time.perf_counter() - start) / calls


def contenders(num_episodes: int, pool: Pool, seed: int) -> dict[str, Callable[[], object]]:
    """Return the runs by name, bed's own first."""

    def compiled() -> object:
        return [np.asarray(part) for part in assay_paths([RULE], num_episodes, pool, seed=seed)]

    return {
        "bed, compiled": compiled,
        "bed, to a Dataset": lambda: assay_study({"": RULE}, num_episodes, pool, seed=seed),
        "NumPy batched, float32": lambda: batched(
            drawn(num_episodes, pool, seed, np.float32), pool
        ),
        "NumPy batched, float64": lambda: batched(
            drawn(num_episodes, pool, seed, np.float64), pool
        ),
        "NumPy loop": lambda: looped(drawn(num_episodes, pool, seed, np.float64), pool),
    }


def report(console: Console, pool: Pool, num_episodes: int, repeats: int, seed: int) -> None:
    """Time the contenders on one kind of pool, and print the table."""
    runs = contenders(num_episodes, pool, seed)
    cold = seconds(runs["bed, compiled"])
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(seconds(run, at_least=0.1))
    own = np.array(times["bed, compiled"])
    table = Table(title=f"{pool} candidates, {num_episodes} episodes", title_justify="left")
    table.add_column("")
    for column in ("ms", "x bed", "80% of repeats", "x bed, compiling too"):
        table.add_column(column, justify="right")
    for name, found in times.items():
        ratio = np.array(found) / own
        low, high = np.percentile(ratio, (10, 90))
        table.add_row(
            name,
            f"{1e3 * np.median(found):.2f}",
            f"{np.median(ratio):.1f}",
            f"{low:.1f} to {high:.1f}",
            f"{np.median(found) / cold:.3f}",
        )
    console.print(table)
    console.print(f"bed's first call, compiling included: {cold:.2f} s")
    draws = as_in_bed(num_episodes, pool, seed)
    chosen = np.asarray(assay_paths([RULE], num_episodes, pool, seed=seed).chosen[0])
    for name, other in (("batched", batched(draws, pool)), ("loop", looped(draws, pool))):
        same = 100 * np.mean(other == chosen)
        console.print(f"same random numbers, same choices as NumPy ({name}): {same:.3f}%")


def main() -> None:
    """Print one table a kind of pool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if min(options.episodes, options.repeats) < 1:
        parser.error("--episodes and --repeats must be at least 1")
    console = Console(width=100)
    for pool in get_args(Pool):
        report(console, pool, options.episodes, options.repeats, options.seed)


if __name__ == "__main__":
    main()
