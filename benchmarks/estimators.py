"""Estimators of expected information gain against worlds in which the exact answer is known.

Prints one table a world: how far each estimator is from the exact EIG of 16 candidates (RMSE), how
well it ranks them (Spearman), how often it picks the best and what it loses where it does not, with
standard errors over problems, and how many outcomes it asked for a candidate. All but the rows that
say so make the paper's calls: 3 to the belief and 2 to the simulator a candidate.
`docs/estimators.md` draws the conclusions.

    python -m benchmarks.estimators [--problems 1000] [--seed 0] [--figure docs/estimators.svg]
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import rankdata

from bed.atomic import require_writable
from bed.belief import Repeated
from bed.estimators import Estimator, FactoredEIG, NestedMonteCarloEIG, ScreenedEIG
from bed.policies import InformationPolicy
from bed.simulators import ExactSimulator
from benchmarks.problems import (
    BATCHES,
    Build,
    Setting,
    Study,
    direct_study,
    faulty_study,
    world_study,
)

Array = NDArray[np.float64]


def _factored(**options: Any) -> Build:
    return lambda s: FactoredEIG(*s.models, **options)


def _sloped(**options: Any) -> Build:
    return lambda s: FactoredEIG(*s.models, slope=s.fitted_slope, **options)


PAPER: Build = lambda s: FactoredEIG.paper(*s.models)  # noqa: E731
SCREENED: Build = lambda s: ScreenedEIG(*s.models)  # noqa: E731

COHERENT: dict[str, Build] = {
    "nested Monte Carlo": lambda s: NestedMonteCarloEIG(*s.models),
    "paper": PAPER,
    "paper, 8 draws (17+16 calls)": lambda s: FactoredEIG.paper(*s.models, num_samples=8),
    "KL, independent draws": _factored(form="kl", coupling="independent"),
    "JS, independent draws": _factored(form="js", coupling="independent"),
    "KL, common draws": _factored(form="kl", coupling="candidates"),
    "KL, branches too": _factored(form="kl", coupling="branches"),
    "KL, branches, renormalised": _factored(form="kl", coupling="branches", renormalise=True),
    "JS, branches too": _factored(form="js", coupling="branches"),
    "entropy, medians": _factored(form="entropy", outward=0.5),
    "KL, medians": _factored(form="kl", outward=0.5),
    "KL, levels .60/.40": _factored(form="kl", outward=0.60),
    "KL, levels .65/.35": _factored(form="kl"),
    "KL, levels .70/.30": _factored(form="kl", outward=0.70),
    "JS, levels .65/.35": _factored(),
    "screened": SCREENED,
    "JS, 4 strata (9+8 calls)": _factored(num_samples=4),
}

FAULTY: dict[str, Build] = {
    "paper": PAPER,
    "KL, independent draws": _factored(form="kl", coupling="independent"),
    "KL, branches, renormalised": _factored(form="kl", coupling="branches", renormalise=True),
    "KL, levels": _factored(form="kl"),
    "JS, levels": _factored(),
    "screened": SCREENED,
    "known slope, renormalised medians": lambda s: FactoredEIG(
        *s.models, form="kl", outward=0.5, slope=s.known_slope, renormalise=True
    ),
    "fitted slope, renormalised medians": _sloped(form="kl", outward=0.5, renormalise=True),
    "fitted slope, KL, independent": _sloped(form="kl", coupling="independent"),
    "fitted slope, JS, independent": _sloped(form="js", coupling="independent"),
    "fitted slope, KL, branches": _sloped(form="kl", coupling="branches"),
    "fitted slope, KL, levels": _sloped(form="kl"),
    "fitted slope, JS, levels": _sloped(),
    "fitted slope, screened": lambda s: ScreenedEIG(*s.models, slope=s.fitted_slope),
    "the same, belief asked 4 times": lambda s: ScreenedEIG(
        Repeated(s.belief, 4), s.simulator, slope=s.fitted_slope
    ),
}


def _ignorant(build: Build) -> Build:
    """Let the simulator ignore the evidence."""

    def built(setting: Setting) -> Estimator:
        assert isinstance(setting.simulator, ExactSimulator)
        blind = ExactSimulator(setting.simulator.worlds, knows_evidence=False)
        return build(Setting(setting.belief, blind))

    return built


DIRECT: dict[str, Build] = {
    label + ending: change(COHERENT[label])
    for label in ("paper", "KL, levels .65/.35", "JS, levels .65/.35", "screened")
    for ending, change in (("", lambda build: build), (", ignorant", _ignorant))
}


@dataclass(frozen=True)
class Figures:
    """Means over problems.

    Attributes:
        mean: in the order of `COLUMNS`.
        stderr: their standard errors.
        doubted: share of problems whose scores carry a doubt.
        outcomes: outcomes asked of the simulator, a candidate.
    """

    mean: Array
    stderr: Array
    doubted: float
    outcomes: float


COLUMNS = ("RMSE, bits", "Spearman", "P(best)", "regret, bits")
FORMATS = (".4f", ".3f", ".3f", ".4f")


def figures(study: Study, build: Build) -> Figures:
    """Score every problem of a study with one estimator."""
    rows, doubted, outcomes = [], [], []
    for setting, problems, truths in study.batches:
        for truth, scores in zip(truths, build(setting).score_batch(problems), strict=True):
            best = int(np.nanargmax(scores.eig))
            error = np.mean((scores.eig - truth) ** 2)
            is_best, regret = truth[best] == truth.max(), truth.max() - truth[best]
            rows.append([error, _rank_correlation(truth, scores.eig), is_best, regret])
            doubted.append(bool(scores.doubts))
            outcomes.append(scores.calls.simulator / len(truth))
    table = np.array(rows, dtype=np.float64)
    mean, stderr = np.nanmean(table, axis=0), np.nanstd(table, axis=0) / np.sqrt(len(table))
    mean[0] = np.sqrt(mean[0])
    stderr[0] /= 2.0 * mean[0]
    return Figures(mean, stderr, float(np.mean(doubted)), float(np.mean(outcomes)))


def _rank_correlation(truth: Array, estimate: Array) -> float:
    """Return Spearman's correlation; 0 where the estimate does not tell candidates apart."""
    ranks = rankdata(truth), rankdata(estimate)
    if min(np.ptp(ranks[0]), np.ptp(ranks[1])) == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def show(console: Console, study: Study, found: dict[str, Figures]) -> None:
    """Print the table of a study."""
    count = sum(len(problems) for _, problems, _ in study.batches)
    table = _table(
        f"{study.title} ({count} problems)", ("estimator", *COLUMNS, "outcomes", "doubted")
    )
    for label, of_row in found.items():
        cells = [
            f"{mean:{form}} ± {stderr:{form}}"
            for mean, stderr, form in zip(of_row.mean, of_row.stderr, FORMATS, strict=True)
        ]
        table.add_row(label, *cells, f"{of_row.outcomes:.2f}", f"{100 * of_row.doubted:.0f}%")
    console.print(table)


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return table


def guard_table(console: Console, count: int, seed: int) -> None:
    """Print how often scores are doubted where one fault is present, and where none is."""
    rows = {label: COHERENT[label] for label in GUARDED}
    table = _table(f"share of problems doubted ({count} a cell)", ("belief", *GUARDED))
    for label, faults in FAULTS.items():
        study = faulty_study("gaussian", label, count, seed, faults, rows)
        cells = [f"{100 * figures(study, build).doubted:.0f}%" for build in rows.values()]
        table.add_row(label, *cells)
    console.print(table)


def tie_table(console: Console, count: int, seed: int) -> None:
    """Print what the ties within the noise are worth, where a belief is asked four times."""
    title = f"ties within the noise: JS, levels, 4 repeats ({count} problems a row)"
    columns = ("noise of a call", "tied with the best", "P(best tied)", "P(best chosen)", "doubted")
    table = _table(title, columns)
    for noise in (0.05, 0.2, 0.5):
        study = faulty_study("gaussian", "", count, seed, NO_FAULT | {"noise": noise}, {})
        found = []
        for setting, problems, truths in study.batches:
            estimator = FactoredEIG(Repeated(setting.belief, 4), setting.simulator)
            choices = InformationPolicy(estimator).choose(problems)
            for truth, choice in zip(truths, choices, strict=True):
                best, tied = int(truth.argmax()), choice.within_noise
                found.append([len(tied), best in tied, choice.index == best, bool(choice.doubts)])
        size, covered, chosen, doubted = np.mean(np.array(found, dtype=float), axis=0)
        table.add_row(
            f"{noise} nats",
            f"{size:.1f}",
            f"{covered:.2f}",
            f"{chosen:.2f}",
            f"{100 * doubted:.0f}%",
        )
    console.print(table)


GUARDED = (
    "paper",
    "KL, independent draws",
    "KL, branches too",
    "KL, levels .65/.35",
    "JS, levels .65/.35",
    "screened",
)
NO_FAULT = {"reaction": 1.0, "noise": 0.0, "bias": 0.0}
FAULTS: dict[str, dict[str, float]] = {
    "no fault": NO_FAULT,
    "bias .25 nats": NO_FAULT | {"bias": 0.25},
    "bias .5 nats": NO_FAULT | {"bias": 0.5},
    "bias 1.5 nats": NO_FAULT | {"bias": 1.5},
    "noise .2 nats": NO_FAULT | {"noise": 0.2},
    "noise .5 nats": NO_FAULT | {"noise": 0.5},
    "overreaction 2.5": NO_FAULT | {"reaction": 2.5},
    "all three": {},
}


def draw(path: Path, tables: dict[str, dict[str, Figures]]) -> None:
    """Draw how often each estimator picks the best candidate, one panel a world."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    # text stays text, and the same figures give the same file
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bed"})
    figure, axes = plt.subplots(2, 2, figsize=(10.5, 9.0), layout="constrained")
    for ax, (title, found) in zip(axes.flat, tables.items(), strict=True):
        labels, place = list(found), np.arange(len(found))
        mean, stderr = (
            np.array([getattr(of, key)[2] for of in found.values()]) for key in ("mean", "stderr")
        )
        ax.errorbar(mean, place, xerr=1.96 * stderr, fmt="o", markersize=4, color="#1f4e79")
        ax.axvline(mean[labels.index("paper")], color="#b0b0b0", linewidth=1, zorder=0)
        ax.set_yticks(place, labels, fontsize=8)
        ax.set_xlim(0.4, 1.0)
        ax.invert_yaxis()
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xlabel("P(best of 16), 95% interval; grey: the paper's")
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def studies(count: int, seed: int) -> dict[str, Callable[[], Study]]:
    """Every study by the title of its panel, built when its turn comes."""
    three = "slope 2.5, noise .5 nats, bias .5 nats"
    return {
        "Gaussian outcomes": lambda: world_study(
            "gaussian", "calibrated beliefs, Gaussian outcomes", count, seed, (0,), COHERENT
        ),
        "six-level outcomes": lambda: world_study(
            "six-level", "calibrated beliefs, six-level outcomes", count, seed, (0,), COHERENT
        ),
        **{
            name: lambda name=name: world_study(  # type: ignore[misc]
                name,
                f"dependent candidates, {name}, after 0 and 4 results",
                count,
                seed,
                (0, 4),
                COHERENT,
            )
            for name in ("graded", "redundant", "decisive")
        },
        "all three faults, Gaussian": lambda: faulty_study(
            "gaussian", f"faulty beliefs ({three}), Gaussian outcomes", count, seed, {}, FAULTY
        ),
        "all three faults, six-level": lambda: faulty_study(
            "six-level", f"faulty beliefs ({three}), six-level outcomes", count, seed, {}, FAULTY
        ),
        "direct": lambda: direct_study(count, seed, DIRECT),
    }


PANELS = (
    "Gaussian outcomes",
    "six-level outcomes",
    "redundant",
    "all three faults, Gaussian",
)


def main() -> None:
    """Print one table a world, and draw the figure where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--problems", type=int, default=1000, help="a world (default 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(studies(0, 0)), help="one world alone")
    parser.add_argument("--figure", type=Path, help="where to draw P(best), as .svg or .png")
    options = parser.parse_args()
    if options.problems < BATCHES:
        parser.error(f"--problems is {options.problems}; {BATCHES} are the fewest")
    if options.figure is not None:
        if options.only is not None:
            parser.error("--figure shows several worlds; leave --only out")
        require_writable(options.figure)
    console = Console(width=130)
    panels = {}
    for name, build in studies(options.problems, options.seed).items():
        if options.only not in (None, name):
            continue
        study = build()
        found = {
            label: figures(study, row)
            for label, row in track(
                study.rows.items(), name, console=Console(stderr=True), transient=True
            )
        }
        show(console, study, found)
        if name in PANELS:
            panels[name] = found
    if options.only is None:
        guard_table(console, max(BATCHES, options.problems // 4), options.seed)
        tie_table(console, max(BATCHES, options.problems // 4), options.seed)
    if options.figure is not None:
        draw(options.figure, panels)


if __name__ == "__main__":
    main()
