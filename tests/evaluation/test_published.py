"""Scores of real language models' forecasts against the published ones of every run."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bed.evaluation import brier, log_score

# The runs that state 0 or 1 for what then happens otherwise; their published scores are clipped.
PROVED_WRONG = set()


@pytest.fixture(scope="module")
def runs(shared_data: Path) -> dict[str, pd.DataFrame]:
    forecasts = pd.read_parquet(shared_data / "data" / "forecasts" / "forecasts.parquet")
    return {str(name): run for name, run in forecasts.groupby("run")}


@pytest.fixture(scope="module")
def published(shared_data: Path) -> dict[str, Any]:
    path = shared_data / "data" / "forecasts" / "reference_summaries.json"
    summaries: dict[str, Any] = json.loads(path.read_text())
    return summaries
