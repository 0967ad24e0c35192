"""The estimators' options on real data: DepMap episodes and the stand-ins fitted on them.

Prints, for every option with and without base rates, what the first experiment brought, how far
imagined posteriors lay from the prior, how many experiments it took to a belief of 0.7 in the
truth, and the paired differences from the paper's estimator, with 95% bootstrap intervals over
genes. The episode file comes from `bed episodes build depmap`.

    python -m benchmarks.depmap EPISODES.parquet [--limit N] [--seed 0]
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from operator import neg
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bed.engine import file_study
from bed.episodes.files import read_episodes
from bed.estimators import Estimator, FactoredEIG, ScreenedEIG, measured_slope
from bed.estimators.base_rates import BaseRates
from bed.policies import InformationPolicy, RandomPolicy, RelevancePolicy
from bed.report import report
from bed.seeds import derive_seed
from bed.simulation import simulate
from bed.standins import cached_stand_ins

LEVEL = "0.7"
SLOPE_CASES = 100


def options(path: Path, seed: int) -> dict[str, Estimator]:
    """Every option by name, the main ones with and without base rates."""
    fitted = cached_stand_ins(path, seed)["depmap"]
    models = fitted.belief, fitted.conditional
    resolved = sorted(
        read_episodes(path, "validation").episodes,
        key=lambda episode: derive_seed(seed, "resolved", episode.id),
    )
    slope = measured_slope(fitted.belief, resolved[:SLOPE_CASES], seed=seed)
    print(f"slope of {slope.num_cases} validation cases: {slope.slope:.2f} ± {slope.stderr:.2f}")

    def both(rates: BaseRates | None) -> dict[str, Estimator]:
        return {
            "paper": FactoredEIG.paper(*models, base_rates=rates),
            "KL, branches": FactoredEIG(*models, coupling="branches", base_rates=rates),
            "KL, levels": FactoredEIG(*models, form="kl", base_rates=rates),
            "JS, levels": FactoredEIG(*models, base_rates=rates),
            "screened": ScreenedEIG(*models, base_rates=rates),
        }

    rates = fitted.base_rates
    return {
        **both(rates),
        "JS, levels, slope": FactoredEIG(*models, slope=slope.slope, base_rates=rates),
        "JS, 4 strata": FactoredEIG(*models, num_samples=4, base_rates=rates),
        **{f"{name}, no rates": estimator for name, estimator in both(None).items()},
    }


def main() -> None:
    """Run every option through the test split and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("episodes", type=Path, help="as built by bed episodes build depmap")
    parser.add_argument("--limit", type=int, help="episodes, drawn by hash (default all)")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    base = file_study(chosen.episodes, ["random"], chosen.limit, None, chosen.seed)
    policies = {
        name: InformationPolicy(estimator)
        for name, estimator in options(chosen.episodes, chosen.seed).items()
    }
    # the report compares every policy with the one named "eig": here the paper's estimator
    study = replace(
        base,
        policies={
            "random": RandomPolicy(),
            "relevance": RelevancePolicy(),
            "eig": policies["paper"],
            **policies,
        },
    )
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("simulating")
        run = simulate(
            study,
            on_progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    print_table(report(run))


def print_table(found: dict[str, Any]) -> None:
    """Print one row a policy."""
    print(f"episodes: {json.dumps(found['episodes'])}")
    against = {row["against"]: row for row in found["comparisons"] if row["policy"] == "eig"}
    table = Table()
    table.add_column("policy", no_wrap=True)
    for column in (
        "first gain, bits",
        "- paper, bits",
        "promised",
        "coherence gap",
        f"to {LEVEL}",
        "% fewer than paper",
        "Brier after",
    ):
        table.add_column(column, justify="right", no_wrap=True)
    for name, of in found["policies"].items():
        if name == "eig":
            continue
        row = against.get(name) if name != "paper" else None
        table.add_row(
            name,
            _interval(of["first_gain_bits"], float),
            "" if row is None else _interval(row["first_gain_bits"], neg),
            _plain(of["promised_bits"]),
            _plain(of["coherence_gap"]),
            _plain(of["experiments_to"][LEVEL], ".2f"),
            ""
            if row is None
            else _interval(row["fewer_experiments_percent"][LEVEL], _turned, ".0f"),
            _plain(found["brier"][name]),
        )
    Console(width=150).print(table)


def _turned(percent: float) -> float:
    """Return how many percent fewer b needs than a, from how many fewer a needs than b."""
    return 100.0 * (1.0 - 1.0 / (1.0 - percent / 100.0))


def _interval(value: dict[str, Any], change: Callable[[float], float], form: str = ".3f") -> str:
    if value["mean"] is None:
        return "-"
    point = format(change(value["mean"]), form)
    if value["lo"] is None:
        return point
    low, high = sorted(change(value[end]) for end in ("lo", "hi"))
    return f"{point} [{low:{form}}, {high:{form}}]"


def _plain(value: float | None, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


if __name__ == "__main__":
    main()
