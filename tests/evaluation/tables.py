"""Tables of forecasts for tests, column by column."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bed.evaluation.forecasts import Forecasts, split_models

__all__ = ["Columns", "forecasts", "swept"]

Columns = dict[str, list[Any]]

_VERDICTS = ("supporting", "refuting", "inconclusive")


def swept(
    domains: Sequence[str] = ("a", "b"),
    num_episodes: int = 24,
    num_stubs: int = 4,
    model: str = "m",
    pull: float = 0.5,
    seed: int = 0,
) -> Columns:
    """Nested sweeps whose belief drifts towards the label by `pull` a stub, with noise.

    Two episodes share a unit; every second unit has label 1.
    """
    rng = np.random.default_rng(seed)
    names = ("model", "episode", "domain", "k", "p", "label", "unit", "tier", "verdict")
    columns: Columns = {name: [] for name in names}
    for domain in domains:
        for episode in range(num_episodes):
            label, odds = (episode // 2) % 2, rng.normal()
            for k in range(num_stubs + 1):
                p = float(1 / (1 + np.exp(-odds)))
                tier, said = ((k - 1) % 3 + 1, _VERDICTS[rng.integers(3)]) if k else (None, "")
                row = (model, f"e{episode}", domain, k, p, label, episode // 2, tier, said)
                for name, value in zip(names, row, strict=True):
                    columns[name].append(value)
                odds += pull * (2 * label - 1) + 0.5 * rng.normal()
    return columns


def forecasts(model: str = "m", *, abstains: bool = False, **columns: Any) -> Forecasts:
    """Forecasts of one model; domain "a", k = 0 and an episode a row where nothing else is said."""
    count = len(columns["p"])
    given: Columns = {
        "model": [model] * count,
        "domain": ["a"] * count,
        "episode": list(range(count)),
        "k": [0] * count,
        "abstains": [abstains] * count,
        **{name: list(values) for name, values in columns.items()},
    }
    (found,) = split_models(given)
    return found
