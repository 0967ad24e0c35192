"""The commands on real episodes, with every part played by a served model."""

import json
import math
from pathlib import Path

import pytest

from bed.serve import Server
from tests.cli.test_simulate import run_bed
from tests.models.engine_file import write_engine_file

POLICIES = ("random", "naive", "eig", "hindsight")


@pytest.fixture(scope="module")
def engine_file(
    servers: dict[str, Server], models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    endpoints = "".join(
        f'[endpoints.{name}]\nurls = ["{server.url}"]\n' for name, server in servers.items()
    )
    return write_engine_file(tmp_path_factory.mktemp("engine"), models, endpoints)


def test_simulate_compares_policies(
    capsys: pytest.CaptureFixture[str], engine_file: Path, episode_file: Path
) -> None:
    options = [word for policy in POLICIES for word in ("--policy", policy)]
    arguments = ["--engine", engine_file, "--episodes", episode_file, "--limit", 30, "--steps", 3]
    code, out, err = run_bed(capsys, "simulate", *arguments, *options, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["episodes"] == {"depmap": 30}
    assert set(found["policies"]) == set(POLICIES)
    for policy in POLICIES:
        figures = found["policies"][policy]
        assert figures["failed"] == 0, policy
        assert all(0 < p < 1 for p in figures["belief_in_truth"]), policy
    assert math.isfinite(found["policies"]["eig"]["promised_bits"])
    first = {name: of["first_gain_bits"]["mean"] for name, of in found["policies"].items()}
    # hindsight knows the results and scores by the tracker itself
    assert first["hindsight"] >= max(first.values())


def test_check_tries_each_part(
    capsys: pytest.CaptureFixture[str], engine_file: Path, episode_file: Path
) -> None:
    code, out, err = run_bed(capsys, "engine", "check", engine_file, "--episodes", episode_file)
    assert code == 0, out + err
    for part in ("belief", "simulator", "naive"):
        assert part in out


def test_evaluate_asks_sweeps_and_probes(
    capsys: pytest.CaptureFixture[str], engine_file: Path, episode_file: Path
) -> None:
    arguments = ["--engine", engine_file, "--episodes", episode_file, "--limit", 4, "--draws", 20]
    code, out, err = run_bed(capsys, "evaluate", *arguments, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["rows"]["belief"]["depmap"] == 4 * 17
    assert 0 < found["score"]["belief"]["depmap"]["brier"] < 1
    assert found["probe_value"]["coherence"]["depmap"] > 0
