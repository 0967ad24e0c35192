"""Whole sequences of experiments in the assay world: how fast and how much each rule learns.

Prints, for fixed and for fresh candidates, the entropy lost by the first experiment; steps until
the mean belief in the truth reaches 0.8, and that beside exact greedy choice; and, in a second
table, the information in the first 4 experiments and in all 16 between its lower and upper bound. A
fixed pool of 16 candidates is run to its end in 16 steps, so that there every rule ends with the
same information. The third kind is the finite world "redundant", run by `bed simulate` on an eighth
of the episodes: there relevance alone does not do.

    python -m benchmarks.sequences [--episodes 4096] [--seed 0]
"""

import argparse
from collections.abc import Sequence
from typing import get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import logit

from bed.assays import RULES, Factored, Pool, Rule, assay_study
from bed.engine import world_study
from bed.estimators import sequence_bounds
from bed.information import LOG2, entropy_bits
from bed.report import experiments_to
from bed.seeds import generator
from bed.simulation import simulate

Array = NDArray[np.float64]

LEVEL = 0.8
NUM_CONTRASTIVE = 1023
NUM_DRAWS = 2000
SEQUENCES = (4, 16)
DEPENDENT = ("random", "relevance", "eig-simulate", "eig-levels", "eig", "exact")
DEPENDENT_LEVEL = 0.7
POLICIES: dict[str, Rule] = {
    "random": RULES["random"],
    "relevance": RULES["relevance"],
    "paper": RULES["paper"],
    "KL, coupled": RULES["coupled"],
    "KL, median": Factored("kl", 0.5),
    **{f"KL, level {level:.2f}": Factored("kl", level) for level in (0.6, 0.65, 0.7)},
    "JS, level 0.65": RULES["levels"],
    "screened": RULES["screened"],
    "exact": RULES["exact"],
}


def truths(belief: Array, label: Array) -> Array:
    """Return the belief in the truth, shape (policy, episode, step)."""
    return np.where(label[:, None] == 1, belief, 1.0 - belief)


def steps_with_ratios(truth: Array, level: float, seed: int) -> tuple[Array, Array]:
    """Return steps to a level, (policy,), and draws of the ratio to the last, (draw, policy).

    A bootstrap draw resamples the episodes, the same ones for every policy.
    """
    num_episodes = truth.shape[1]
    rng = generator(seed, "bootstrap")
    shares = np.full(num_episodes, 1.0 / num_episodes)
    weights = rng.multinomial(num_episodes, shares, NUM_DRAWS) / num_episodes
    drawn = experiments_to(np.einsum("de,pes->dps", weights, truth, optimize=True), level)
    return experiments_to(truth.mean(axis=1), level), drawn / drawn[:, -1:]


def mean_with_stderr(bits: Array) -> str:
    """Return a mean and its standard error as text."""
    return f"{bits.mean():.4f} ± {bits.std(ddof=1) / np.sqrt(len(bits)):.4f}"


def sequence_information(study: xr.Dataset, policy: str, num_steps: int, seed: int) -> list[str]:
    """Return lower bound, exact information and upper bound after some steps in bits, as text."""
    belief = study["belief"].sel(policy=policy).values.astype(np.float64)
    label, prior = study["label"].values, belief[:, 0]
    # the bounds hang on likelihood ratios alone, which are what moved the belief
    logs = np.stack([np.zeros_like(prior), logit(belief[:, num_steps]) - logit(prior)], axis=1)
    own = np.take_along_axis(logs, label[:, None], axis=1)
    marginal = np.logaddexp(logs[:, 0] + np.log1p(-prior), logs[:, 1] + np.log(prior))
    rng = generator(seed, "contrastive")
    theta = (rng.random((len(label), NUM_CONTRASTIVE)) < prior[:, None]).astype(np.int64)
    contrastive = np.take_along_axis(logs, theta, axis=1)
    bounds = sequence_bounds(np.concatenate([own, contrastive], axis=1))
    return [
        f"{bounds.lower:.4f} ± {bounds.lower_stderr:.4f}",
        f"{np.mean(own[:, 0] - marginal) / LOG2:.4f}",
        f"{bounds.upper:.4f} ± {bounds.upper_stderr:.4f}",
    ]


def steps_text(steps: float, num_steps: int) -> str:
    """Return steps to the level as text."""
    return f"> {num_steps}" if np.isnan(steps) else f"{steps:.2f}"


def ratio_text(ratio: float, draws: Array) -> str:
    """Return a ratio with its interval, open where draws never reach the level."""
    if np.isnan(ratio):
        return "-"
    low, high = np.percentile(np.nan_to_num(draws, nan=np.inf), (2.5, 97.5))
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]"


def tables(pool: Pool, num_episodes: int, seed: int) -> list[Table]:
    """Run the study of one kind of pool, and return its tables."""
    study = assay_study(POLICIES, num_episodes, pool, seed=seed)
    num_steps = study.sizes["choice"]
    belief = study["belief"].values
    gain = entropy_bits(belief[:, :, 0]) - entropy_bits(belief[:, :, 1])
    steps, ratios = steps_with_ratios(truths(belief, study["label"].values), LEVEL, seed)
    path = _table(
        f"{pool} candidates, {num_episodes} episodes",
        ("policy", "first gain, bits", f"steps to {LEVEL}", "x exact [95%]"),
    )
    bounds = _table(
        f"information in sequences, {pool} candidates, {NUM_CONTRASTIVE} contrastive draws, bits",
        ("policy", *(f"{k}: {name}" for k in SEQUENCES for name in ("sPCE", "exact", "sNMC"))),
    )
    for p, policy in enumerate(POLICIES):
        path.add_row(
            policy,
            mean_with_stderr(gain[p]),
            steps_text(steps[p], num_steps),
            ratio_text(steps[p] / steps[-1], ratios[:, p]),
        )
        found = [sequence_information(study, policy, k, seed) for k in SEQUENCES]
        bounds.add_row(policy, *(cell for of_length in found for cell in of_length))
    return [path, bounds]


def dependent_table(num_episodes: int, seed: int) -> Table:
    """Run `bed simulate` in worlds whose candidates repeat each other, and return its table."""
    study = world_study("redundant", DEPENDENT, num_episodes, seed=seed)
    run = simulate(study)
    belief = run["belief"].values[0]
    gain = entropy_bits(belief[:, :, 0]) - entropy_bits(belief[:, :, 1])
    truth = truths(belief, run["label"].values)
    steps, ratios = steps_with_ratios(truth, DEPENDENT_LEVEL, seed)
    made = _table(
        f"fixed candidates that repeat each other ('redundant'), {num_episodes} episodes",
        ("policy", "first gain, bits", f"steps to {DEPENDENT_LEVEL}", "x exact [95%]"),
    )
    for p, policy in enumerate(DEPENDENT):
        ratio = ratio_text(steps[p] / steps[-1], ratios[:, p])
        made.add_row(policy, mean_with_stderr(gain[p]), steps_text(steps[p], study.steps), ratio)
    return made


def _table(title: str, columns: Sequence[str]) -> Table:
    made = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return made


def main() -> None:
    """Print two tables a kind of pool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.episodes < 16:
        parser.error(f"--episodes is {options.episodes}; 16 are the fewest")
    console = Console(width=140)
    for pool in get_args(Pool):
        for made in tables(pool, options.episodes, options.seed):
            console.print(made)
    console.print(dependent_table(options.episodes // 8, options.seed))


if __name__ == "__main__":
    main()
