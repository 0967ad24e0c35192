"""`bed plan` as a user meets it: tables, JSON, errors."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bed.episodes import write_episodes
from bed.episodes.files import EpisodeFile
from tests.cli.test_simulate import run_bed
from tests.engine.fake_server import FakeServer, serving
from tests.engine.files import engine, written
from tests.factories import graded_episodes


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeServer]:
    with serving("classifier") as server:
        yield server


@pytest.fixture(scope="module")
def writer() -> Iterator[FakeServer]:
    with serving("chat") as server:
        yield server


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("episodes") / "graded.parquet"
    split = [
        replace(episode, split="test" if number < 6 else "train")
        for number, episode in enumerate(graded_episodes()[:24])
    ]
    write_episodes(path, EpisodeFile(tuple(split), {"builder": "test"}))
    return path


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """An engine file of stand-ins."""
    tables = {"belief": {"kind": "stand-in"}, "simulator": {"kind": "stand-in"}}
    return written(tmp_path, tables)


def test_tables_say_what_a_job_takes(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    judge: FakeServer,
    writer: FakeServer,
    episodes: Path,
) -> None:
    cache = tmp_path / "answers.sqlite"
    file = engine(tmp_path, judge.url, writer.url, cache={"path": str(cache)}).file
    options = ("--episodes", 1000, "--steps", 3, "--trial", 2, "--policy", "random")
    code, out, err = run_bed(capsys, "plan", file, episodes, *options, "--policy", "eig")
    assert code == 0, err
    assert "1,000 episodes of 3 steps, seed 0; measured on 2." in out
    # a prior, 12 branch weights and 24 futures, then 11 candidates, then 10
    asked = 1000 * (3 + 3 * (12 + 11 + 10))
    assert re.search(rf"│ eig +│ +{asked:,} ± 0 │", out)
    assert re.search(r"│ random +│ +- │", out)
    assert re.search(rf"│ trackers +│ +{1000 * (1 + 2 * 3):,} ± 0 │", out)
    assert re.search(r"│ chat +│ eig +│ +66,000 │ +6,600,000 │ +660,000 │", out)
    assert re.search(r"│ judge +│ +1 │ +1 │", out)
    assert "24 hours take 2 GPUs" in out
    assert "An episode costs 109 belief queries, 66 outcomes" in out
    assert "- Of 3 steps an episode, 1, 2, 3 were measured" in out
    assert not cache.exists(), "remembered calls would look free"


def test_json_is_the_whole_of_stdout(
    capsys: pytest.CaptureFixture[str], alone: Path, episodes: Path
) -> None:
    options = ("--episodes", 50, "--trial", 1, "--seed", 3, "--hours", 2, "--json")
    code, out, err = run_bed(capsys, "plan", alone, episodes, *options)
    assert code == 0, err
    found = json.loads(out)
    assert (found["schema"], found["episodes"], found["seed"]) == ("bed-plan/1", 50, 3)
    assert (found["steps"], found["within_hours"], found["endpoints"]) == (12, 2, {})
    assert found["trial"] == {
        "episodes": 1,
        "domains": {"depmap": 1},
        "pools": [12, 12],
        "steps": [1, 6, 12],
    }
    assert found["policies"]["uncertainty"]["belief_calls"] == 50 * sum(range(1, 13))
    # one episode shows no spread
    assert found["policies"]["uncertainty"]["stderr"]["belief_calls"] is None
    code, shown, _ = run_bed(capsys, "plan", alone, episodes, *options[:-1])
    assert code == 0
    assert re.search(rf"│ uncertainty +│ +{50 * 78:,} ± \? │", shown)
    assert "Nothing is served" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--episodes", 0), "episodes is 0"),
        (("--episodes", 4, "--trial", 0), "trial is 0"),
        (("--episodes", 4, "--hours", 0), "hours is 0; it must be above 0"),
        (("--episodes", 4, "--steps", 0), "steps is 0"),
        (("--episodes", 4, "--policy", "naive"), "a table [naive]"),
    ],
    ids=["episodes", "trial", "hours", "steps", "policy"],
)
def test_what_cannot_be_is_said(
    capsys: pytest.CaptureFixture[str],
    alone: Path,
    episodes: Path,
    arguments: tuple[object, ...],
    message: str,
) -> None:
    code, out, err = run_bed(capsys, "plan", alone, episodes, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_servers_that_do_not_answer_are_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, writer: FakeServer, episodes: Path
) -> None:
    dead = {"urls": ["http://127.0.0.1:9"], "tries": 1, "patience": 0.0}
    endpoints = {"judge": dead, "chat": {"urls": [writer.url]}}
    file = engine(tmp_path, "", "", endpoints=endpoints).file
    code, out, err = run_bed(capsys, "plan", file, episodes, "--episodes", 4, "--policy", "eig")
    assert (code, out) == (2, "")
    assert "http://127.0.0.1:9" in err
