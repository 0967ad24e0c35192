"""Estimators of expected information gain against exact enumeration, at few model calls.

Prints, for each synthetic world, how well each estimator ranks 16 candidates (before any evidence
and after four results) at the paper's budget of 3 belief and 2 simulator calls a candidate.

    python benchmarks/estimators.py [--episodes 200] [--seed 0]
"""

import argparse
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import ConstantInputWarning, spearmanr

from bed import DesignProblem, Estimator, ExactEIG, FactoredEIG, NestedMonteCarloEIG
from bed.belief import ExactBelief
from bed.episodes.synthetic import NAMES, WorldEpisodes, sample_world_episodes
from bed.seeds import derive_seed
from bed.simulators import ExactSimulator

REVEALED = (0, 4)


def estimators(drawn: WorldEpisodes) -> dict[str, Estimator]:
    """The contenders: the paper's, nested Monte Carlo, and the options one at a time."""
    models = ExactBelief(drawn.worlds), ExactSimulator(drawn.worlds)
    return {
        "nested Monte Carlo": NestedMonteCarloEIG(*models),
        "paper": FactoredEIG.paper(*models),
        "paper, 8 draws a branch": FactoredEIG.paper(*models, num_samples=8),
        "entropy, common draws": FactoredEIG(*models, form="entropy", coupling="candidates"),
        "KL, independent draws": FactoredEIG(*models, coupling="independent"),
        "KL, common draws": FactoredEIG(*models, coupling="candidates"),
        "KL, branches too (default)": FactoredEIG(*models),
        "KL, renormalised": FactoredEIG(*models, renormalise=True),
    }


def problems(drawn: WorldEpisodes, seed: int) -> list[DesignProblem]:
    """Each episode before any evidence, and after its first results."""
    return [
        DesignProblem(
            episode.target,
            episode.pool[:revealed],
            tuple(stub.experiment for stub in episode.pool[revealed:]),
            derive_seed(seed, episode.id, revealed),
            episode.id,
        )
        for episode in drawn.episodes
        for revealed in REVEALED
    ]


def figures(exact: list[np.ndarray], estimate: list[np.ndarray]) -> list[float]:
    """RMSE (bits), mean rank correlation, share of best choices, mean regret (bits)."""
    pairs = list(zip(exact, estimate, strict=True))
    best = [int(e.argmax()) for e in estimate]
    return [
        float(np.sqrt(np.mean(np.concatenate([(a - e) ** 2 for a, e in pairs])))),
        float(np.nanmean([spearmanr(a, e).statistic for a, e in pairs])),
        float(np.mean([a.argmax() == b for a, b in zip(exact, best, strict=True)])),
        float(np.mean([a.max() - a[b] for a, b in zip(exact, best, strict=True)])),
    ]


def main() -> None:
    """Print one table a world."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # an estimate that is equal for all candidates has no rank correlation
    warnings.simplefilter("ignore", ConstantInputWarning)
    console = Console()
    for name in NAMES:
        drawn = sample_world_episodes(name, options.episodes, options.seed)
        asked = problems(drawn, options.seed)
        exact = [scores.eig for scores in ExactEIG(drawn.worlds).score_batch(asked)]
        table = Table(title=f"{name}, {len(asked)} problems", title_justify="left")
        for column in ("estimator", "RMSE, bits", "Spearman", "P(best)", "regret, bits"):
            table.add_column(column, justify="left" if column == "estimator" else "right")
        for label, estimator in estimators(drawn).items():
            found = figures(exact, [scores.eig for scores in estimator.score_batch(asked)])
            forms = (".4f", ".3f", ".3f", ".4f")
            cells = [format(value, form) for value, form in zip(found, forms, strict=True)]
            table.add_row(label, *cells)
        console.print(table)


if __name__ == "__main__":
    main()
