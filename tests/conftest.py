import os
from collections.abc import Iterable
from pathlib import Path

import hypothesis
import pytest

# Fixed examples, and no time limit: the first call of a compiled function is slow.
hypothesis.settings.register_profile("bed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("bed")

ROOT = Path(__file__).resolve().parents[1]
NO_DATA = "no shared data"
NO_VLLM = "needs vLLM"
NO_NETWORK = "needs a network of its own"
WARNINGS = {
    NO_DATA: "on real data did NOT run (no shared data; see BED_SHARED in CONTRIBUTING.md)",
    NO_VLLM: "on real model servers did NOT run (they need vLLM: make test-vllm)",
    NO_NETWORK: "on a Ray fleet did NOT run (they need a network of their own: make test-fleet)",
}


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data: `BED_SHARED`, else `shared` beside the checkout."""
    named, beside = os.environ.get("BED_SHARED"), ROOT.parent / "shared"
    folder = Path(named) if named else beside
    if not folder.is_dir():
        pytest.skip(
            f"{NO_DATA}: {folder} is not a folder; set BED_SHARED (now {named!r}) to the folder "
            f"or put it at {beside}"
        )
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped: Iterable[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    for reason, words in WARNINGS.items():
        num_missing = sum(reason in str(report.longrepr) for report in skipped)
        if num_missing:
            terminalreporter.write_line(
                f"WARNING: {num_missing} tests {words}", yellow=True, bold=True
            )
