"""The shared golden cases, run by their own checker over `tests/golden_adapter.py`."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.golden_adapter import ADAPTER

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def results(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """One row a case: its function, its status, and why it failed."""
    written = tmp_path_factory.mktemp("golden") / "results.json"
    command: list[str | Path] = [sys.executable, shared_data / "golden" / "check.py", "--adapter"]
    command += [ROOT / "tests" / "golden_adapter.py", "--allow-missing", "--json", written]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows: list[dict[str, str]] = json.loads(written.read_text())
    return rows


@pytest.mark.parametrize("name", ADAPTER)
def test_golden_cases(results: list[dict[str, str]], name: str) -> None:
    status = Counter(row["status"] for row in results if row["fn"] == name)
    assert status["pass"] > 0
    assert set(status) == {"pass"}
