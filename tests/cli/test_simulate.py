"""`bed simulate` as a user meets it: output, files, resuming after a kill, errors."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from bed.atomic import held
from bed.cli import main
from bed.runs import load_run

COMMAND = [sys.executable, "-c", "from bed.cli import main; main()", "simulate"]


def run_bed(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command."""
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["bed", *map(str, arguments)])
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_json_is_the_whole_of_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_bed(
        capsys, "simulate", "--limit", 3, "--steps", 2, "--policy", "eig-levels", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert found["schema"] == "bed-simulate/1"
    assert found["episodes"] == {"world": 3}
    assert found["steps"] == 2
    assert found["seed"] == 0
    figures = found["policies"]["eig-levels"]
    assert set(figures["first_gain_bits"]) == {"mean", "lo", "hi"}
    assert set(figures["first_log_gain_bits"]) == {"mean", "lo", "hi"}
    assert len(figures["belief_in_truth"]) == 3
    assert set(figures["experiments_to"]) == {"0.6", "0.7", "0.8"}
    assert figures["belief_calls"] == 3 * (1 + 3 * 16 + 1 + 3 * 15)
    assert figures["simulator_calls"] == 3 * (2 * 16 + 2 * 15)
    assert figures["failed"] == 0
    assert (figures["choices"], figures["doubted"], figures["not_told_apart"]) == (6, 0, 0)
    assert isinstance(figures["promised_bits"], float)


def test_tables_name_every_policy(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_bed(capsys, "simulate", "--limit", 2, "--steps", 1)
    assert code == 0
    policies = (
        "random relevance uncertainty eig-nested eig-exemplar eig-simulate eig-levels eig exact"
    )
    for policy in [*policies.split(), "hindsight"]:
        assert f"│ {policy} " in out
    assert "95% intervals" in out


def test_files_are_written_and_shown_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out_file, figure = tmp_path / "run.nc", tmp_path / "run.png"
    options = ["--limit", 3, "--steps", 2, "--policy", "random", "--policy", "eig", "--json"]
    code, first, _ = run_bed(capsys, "simulate", *options, "--out", out_file, "--plot", figure)
    assert code == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.nc", "run.png"]
    code, _, err = run_bed(capsys, "simulate", *options, "--out", out_file)
    assert code == 2
    assert "--resume" in err
    code, again, _ = run_bed(capsys, "simulate", *options, "--out", out_file, "--resume")
    assert code == 0
    assert again == first
    code, _, err = run_bed(capsys, "simulate", "--limit", 2, "--out", out_file, "--resume")
    assert code == 2
    assert "another study" in err


def test_killed_and_resumed_is_the_identical_file(tmp_path: Path) -> None:
    options = ["--limit", "12", "--policy", "random", "--policy", "eig", "--json"]
    whole = tmp_path / "whole.nc"
    subprocess.run([*COMMAND, *options, "--out", whole], check=True, capture_output=True)
    killed = tmp_path / "killed.nc"
    partial = tmp_path / "killed.nc.partial"
    with subprocess.Popen(
        [*COMMAND, *options, "--out", killed], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 60
        while not partial.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
    assert partial.exists(), "the run left no checkpoint"
    assert not killed.exists(), "the run ended before it could be killed"
    resumed = subprocess.run(
        [*COMMAND, *options, "--out", killed, "--resume"], check=True, capture_output=True
    )
    xr.testing.assert_identical(load_run(killed), load_run(whole))
    assert not partial.exists()
    assert json.loads(resumed.stdout)["policies"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--world", "flat"], "unknown world 'flat'; use one of"),
        (["--policy", "eigg"], "policy 'eigg' is unknown here; use one of random"),
        (["--limit", "0"], "limit is 0"),
        (["--steps", "0"], "steps is 0"),
        (["--resume"], "--resume needs --out"),
        (["--world", "graded", "--episodes", "x"], "exclude each other"),
        (["--episodes", "nowhere.parquet"], "nowhere.parquet"),
        (["--limit", "1", "--steps", "1", "--plot", "figure.xyz"], "figure.xyz"),
        (["--limit", "1", "--steps", "1", "--out", "no/such/folder/run.nc"], "no/such/folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_named_without_traceback(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = run_bed(capsys, "simulate", *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""


def test_a_checkpoint_is_not_thrown_away(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    partial = tmp_path / "run.nc.partial"
    partial.write_bytes(b"hours of work")
    code, _, err = run_bed(capsys, "simulate", "--limit", 1, "--out", tmp_path / "run.nc")
    assert code == 2
    assert "run.nc.partial exists; go on with --resume" in err
    assert partial.read_bytes() == b"hours of work"


def test_a_second_writer_of_one_file_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with held(tmp_path / "run.nc.lock"):
        code, _, err = run_bed(
            capsys, "simulate", "--limit", 1, "--steps", 1, "--out", tmp_path / "run.nc"
        )
    assert code == 2
    assert "another process holds" in err
    assert not (tmp_path / "run.nc").exists()


def test_one_file_cannot_be_both_run_and_figure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    both = tmp_path / "x.png"
    code, _, err = run_bed(capsys, "simulate", "--limit", 1, "--out", both, "--plot", both)
    assert code == 2
    assert "both name" in err


def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "run.nc"
    with subprocess.Popen(
        [*COMMAND, "--limit", "60", "--policy", "eig", "--out", out],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "run.nc.partial").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"go on with --resume" in err
    assert load_run(tmp_path / "run.nc.partial").attrs["done"] >= 1


def test_an_interrupt_that_a_destructor_dropped_still_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = []

    def run_study(*arguments: Any) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        steps.append(1)
        on_progress = arguments[3]
        on_progress(1, 2)
        steps.append(2)

    monkeypatch.setattr("bed.simulation.simulate", run_study)
    handler = signal.getsignal(signal.SIGINT)
    assert run_bed(capsys, "simulate", "--limit", 2, "--policy", "random")[0] == 130
    assert steps == [1]
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_damaged_run_is_an_error_not_a_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "run.nc"
    options = ["simulate", "--limit", 2, "--steps", 1, "--policy", "random", "--out", out]
    assert run_bed(capsys, *options)[0] == 0
    whole = out.read_bytes()
    for damaged in (whole[: len(whole) // 2], bytes(64) + whole[64:], whole[:40] + b"x" * 4000):
        out.write_bytes(damaged)
        code, _, err = run_bed(capsys, *options, "--resume")
        assert code == 2
        assert "cannot be read as a run" in err
        assert "Traceback" not in err
