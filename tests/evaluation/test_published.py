"""Scores of real forecasts against those published for every run and every forecast."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bed.evaluation import brier, log_score

# Means are published with three decimals, some rounded from four.
OF_MEANS = 0.00055
OF_FORECASTS = 0.00005

# These held impossible what then happened; what is published for them is clipped at 1e-8.
INFINITE = {
    "BasicForecaster_llama-3.1-8B_20240501_20240815",
    "CoT_ForecasterTextBeforeParsing_llama-3.1-8B_20240501_20240815",
    "ResolverBasedForecaster_llama-3.1-sonar-large-128k_20240501_20240815",
}
# These said 0 or 1 too, and were right each time.
CERTAIN_AND_RIGHT = {
    "BasicForecaster_llama-3.1-405B_20240501_20240815",
    "CoT_ForecasterTextBeforeParsing_llama-3.1-405B_20240501_20240815",
    "CoT_ForecasterTextBeforeParsing_o1-mini_20240501_20240815",
}


@pytest.fixture(scope="module")
def runs(shared_data: Path) -> dict[str, pd.DataFrame]:
    forecasts = pd.read_parquet(shared_data / "data" / "forecasts" / "forecasts.parquet")
    found = {str(name): run for name, run in forecasts.groupby("run")}
    assert sum(len(run) for run in found.values()) > 10_000
    return found


@pytest.fixture(scope="module")
def published(shared_data: Path) -> dict[str, Any]:
    path = shared_data / "data" / "forecasts" / "reference_summaries.json"
    summaries: dict[str, Any] = json.loads(path.read_text())
    return summaries


def test_brier_scores_are_the_published_ones(
    runs: dict[str, pd.DataFrame], published: dict[str, Any]
) -> None:
    for name, run in runs.items():
        score = brier(run["prob"], run["resolution"])
        assert score == pytest.approx(published[name]["avg_brier_score"], abs=OF_MEANS), name
        assert score == pytest.approx(run["brier_score"].mean(), abs=OF_FORECASTS), name


def test_log_scores_are_the_published_ones_but_for_outcomes_held_impossible(
    runs: dict[str, pd.DataFrame], published: dict[str, Any]
) -> None:
    # published as bits of surprise, lower is better: the negative of ours
    scores = {name: log_score(run["prob"], run["resolution"]) for name, run in runs.items()}
    assert {name for name, score in scores.items() if score == -math.inf} == INFINITE
    for name in set(runs) - INFINITE:
        assert -scores[name] == pytest.approx(published[name]["avg_log_score"], abs=OF_MEANS), name
    for name in INFINITE:
        run = runs[name]
        truth = np.where(run["resolution"], run["prob"], 1 - run["prob"])
        assert run["log_score"].to_numpy()[truth == 0] == pytest.approx(-math.log2(1e-8), abs=1e-4)
        clipped = -np.log2(np.maximum(truth, 1e-8)).mean()
        assert clipped == pytest.approx(published[name]["avg_log_score"], abs=OF_MEANS), name


def test_runs_that_are_certain(runs: dict[str, pd.DataFrame]) -> None:
    certain = {name for name, run in runs.items() if run["prob"].isin([0, 1]).any()}
    assert certain == INFINITE | CERTAIN_AND_RIGHT
