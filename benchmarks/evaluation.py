"""Bootstraps of scores beside other packages that score one draw at a time, in the same run.

Each contest resamples the same 2,000 forecasts a domain. The peer is handed each draw's forecasts
and labels in a Python loop; bed turns the same resamples into weights and takes all draws at once,
interval included. Repeats are interleaved. A slow peer is timed on a part of the draws and scaled:
the table says how many. Figures of both on the first draw stand beside each other.

BLAS is held to one thread, as the peers use one. A peer that is missing is named and left out:

    pip install relplot scikit-learn torchmetrics torch
    python -m benchmarks.evaluation [--forecasts 2000] [--repeats 7] [--seed 0]
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bed.evaluation import STATISTICS, bootstrap_macro, index_weights
from bed.seeds import generator

Array = NDArray[np.float64]
Score = Callable[[Array, Array], float]


@dataclass(frozen=True)
class Contest:
    """One statistic of bed against a peer's.

    Attributes:
        statistic: its name in bed.
        peer: what it is compared with.
        packages: what pip installs for it.
        load: imports the peer; returns its score of forecasts and labels.
        num_domains: domains, with forecasts of their own.
        num_draws: bootstrap draws a domain.
        num_timed: draws of a domain that the peer takes.
        at_least: times faster that bed is meant to be.
        difference: between the two figures.
    """

    statistic: str
    peer: str
    packages: str
    load: Callable[[], Score]
    num_domains: int
    num_draws: int
    num_timed: int
    at_least: float
    difference: str


def relplot() -> Score:
    """Return relplot's smooth calibration error."""
    score = import_module("relplot").smECE
    return lambda p, y: float(score(p, y))


def scikit_learn() -> Score:
    """Return scikit-learn's area under the ROC curve."""
    score = import_module("sklearn.metrics").roc_auc_score
    return lambda p, y: float(score(y, p))


def torchmetrics() -> Score:
    """Return torchmetrics' expected calibration error with ten bins."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    name = "torchmetrics.functional.classification"
    score = import_module(name).binary_calibration_error

    def scored(p: Array, y: Array) -> float:
        labels = torch.from_numpy(y).long()
        return float(score(torch.from_numpy(p), labels, n_bins=10, norm="l1"))

    return scored


CONTESTS = (
    Contest(
        "smece",
        "relplot",
        "relplot",
        relplot,
        num_domains=3,
        num_draws=200,
        num_timed=20,
        at_least=50,
        difference="Not equal by design: relplot integrates the smoothed residuals, at a bandwidth "
        "that it searches for; bed averages the distance of a kernel regression of the labels from "
        "the forecasts, at Silverman's bandwidth.",
    ),
    Contest(
        "auroc",
        "scikit-learn",
        "scikit-learn",
        scikit_learn,
        num_domains=1,
        num_draws=2000,
        num_timed=200,
        at_least=50,
        difference="The same but for rounding.",
    ),
    Contest(
        "ece",
        "torchmetrics",
        "torchmetrics torch",
        torchmetrics,
        num_domains=1,
        num_draws=2000,
        num_timed=200,
        at_least=15,
        difference="The same but for forecasts on an edge: torchmetrics closes bins on the left "
        "and gives 1 a bin of its own; bed closes them on the right.",
    ),
)

COLUMNS = (
    "domains x draws",
    "peer takes",
    "bed, ms",
    "peer, ms",
    "x bed",
    "80% of repeats",
    "aim",
    "bed's first draw",
    "peer's",
)


def drawn(contest: Contest, num_forecasts: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return forecasts with labels, and resamples of them, by domain."""
    domains, indices = {}, {}
    for domain in map(str, range(contest.num_domains)):
        rng = generator(seed, contest.statistic, domain)
        p = rng.beta(1.2, 1.6, num_forecasts)
        domains[domain] = (p, (rng.random(num_forecasts) < p**1.2).astype(np.float64))
        indices[domain] = rng.integers(num_forecasts, size=(contest.num_draws, num_forecasts))
    return domains, indices


def timed(contest: Contest, score: Score, num_forecasts: int, repeats: int, seed: int) -> list[str]:
    """Return the row of a contest: seconds of both, their ratio and both figures."""
    domains, indices = drawn(contest, num_forecasts, seed)
    scale = contest.num_draws / contest.num_timed

    def own() -> Array:
        weights = {name: index_weights(rows, num_forecasts) for name, rows in indices.items()}
        found = bootstrap_macro(STATISTICS[contest.statistic], domains, weights)
        return found.domains["0"].draws

    def theirs() -> list[float]:
        return [
            score(p[rows], y[rows])
            for name, (p, y) in domains.items()
            for rows in indices[name][: contest.num_timed]
        ]

    first, other = own()[0], theirs()[0]
    seconds = np.empty((repeats, 2))
    for row in seconds:
        start = time.perf_counter()
        own()
        between = time.perf_counter()
        theirs()
        row[:] = between - start, scale * (time.perf_counter() - between)
    ratios = seconds[:, 1] / seconds[:, 0]
    low, high = np.percentile(ratios, (10, 90))
    return [
        f"{contest.statistic} against {contest.peer}",
        f"{contest.num_domains} x {contest.num_draws}",
        f"{contest.num_timed}",
        f"{1e3 * np.median(seconds[:, 0]):.0f}",
        f"{1e3 * np.median(seconds[:, 1]):.0f}",
        f"{np.median(ratios):.0f}",
        f"{low:.0f} to {high:.0f}",
        f"{contest.at_least:.0f}",
        f"{first:.8f}",
        f"{other:.8f}",
    ]


def main() -> None:
    """Print one table, and what the figures' differences mean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--forecasts", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.forecasts < 10 or options.repeats < 1:
        parser.error("--forecasts must be at least 10 and --repeats at least 1")
    console = Console(width=150)
    table = Table(title=f"{options.forecasts} forecasts a domain", title_justify="left")
    table.add_column("", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    notes = []
    # scikit-learn brings it
    with import_module("threadpoolctl").threadpool_limits(1):
        for contest in CONTESTS:
            try:
                score = contest.load()
            except ImportError as error:
                notes.append(
                    f"{contest.peer} is left out ({error}): pip install {contest.packages}"
                )
                continue
            row = timed(contest, score, options.forecasts, options.repeats, options.seed)
            table.add_row(*row)
            notes.append(f"{contest.statistic}: {contest.difference}")
    console.print(table)
    for note in notes:
        console.print(note)


if __name__ == "__main__":
    main()
