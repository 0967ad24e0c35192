"""Simulation, check and command line over servers on loopback that play vLLM."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bed.belief import ClassifierBelief, Recalibrated, TransformersBelief, WithNoise
from bed.cli import app
from bed.engine import check_engine, connected, engine_study
from bed.engine.build import build_belief
from bed.episodes import write_episodes
from bed.episodes.files import EpisodeFile
from bed.errors import DataError
from bed.evidence import Hypothesis
from bed.prompts import Prompt
from bed.protocols import BeliefQuery
from bed.report import report
from bed.runs import load_run, load_usage
from bed.simulation import simulate
from bed.tokens import ChatTemplate
from bed.transport import EndpointDownError
from tests.doubles import template
from tests.engine.fake_server import FakeServer, serving
from tests.engine.files import engine, written
from tests.factories import graded_episodes

POLICIES = ["random", "relevance", "uncertainty", "naive", "eig-nested", "eig-simulate", "eig"]


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeServer]:
    with serving("classifier", jitter=0.01) as server:
        yield server


@pytest.fixture(scope="module")
def writer() -> Iterator[FakeServer]:
    with serving("chat") as server:
        yield server


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few graded episodes, most of them to train on."""
    graded = graded_episodes()[:30]
    split = [replace(e, split="test" if i < 6 else "train") for i, e in enumerate(graded)]
    path = tmp_path_factory.mktemp("episodes") / "graded.parquet"
    write_episodes(path, EpisodeFile(tuple(split), {"builder": "test"}))
    return path


def test_every_policy_runs_with_served_models(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    served = engine(tmp_path, judge.url, writer.url)
    with connected(served, episodes) as sources:
        study = engine_study(sources, episodes, num_steps=2)
        assert list(study.policies) == [*POLICIES, "hindsight"]
        found = report(simulate(study))
        tallies = sources.tallies()
    for name in POLICIES:
        assert found["policies"][name]["steps_without_choice"] == 0
        assert found["policies"][name]["failed"] == 0
    assert found["policies"]["naive"]["fallbacks"] == 0
    assert tallies["judge"]["requests"] > 0
    assert tallies["chat"]["completion_tokens"] > 0


def test_the_same_seed_gives_the_same_run(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    judge.jitter = 0.0
    runs = []
    for limit in (1, 16):
        endpoints = {
            "judge": {"urls": [judge.url], "max_in_flight": limit},
            "chat": {"urls": [writer.url], "max_in_flight": limit},
        }
        with connected(engine(tmp_path, "", "", endpoints=endpoints), episodes) as sources:
            runs.append(simulate(engine_study(sources, episodes, ["naive", "eig"], num_steps=2)))
    judge.jitter = 0.01
    assert runs[0].drop_attrs().equals(runs[1].drop_attrs())


def test_a_run_that_is_made_again_asks_nothing(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    """The judge is noisy here: only what it answered the first time gives the same run."""
    remembering = engine(tmp_path, judge.url, writer.url, cache={"path": "answers.sqlite"})
    runs, tallies = [], []
    for uses_cache in (True, True, False):
        with connected(remembering, episodes, uses_cache=uses_cache) as sources:
            study = engine_study(sources, episodes, ["naive", "eig"], num_steps=2)
            runs.append(simulate(study).drop_attrs())
            tallies.append(sources.tallies())
    assert runs[1].equals(runs[0])
    assert not runs[2].equals(runs[0])
    first, again, without = tallies
    for name in ("judge", "chat"):
        assert first[name]["requests"] > 0
        assert set(again[name]) == {"cache_hits"}
        assert "cache_hits" not in without[name]
    told = CliRunner().invoke(app, ["cache", "info", str(tmp_path / "answers.sqlite")])
    assert re.fullmatch(r"[\d,]+ answers, [\d.]+ MB\n", told.stdout), told.output
    cleared = CliRunner().invoke(app, ["cache", "clear", str(tmp_path / "answers.sqlite")])
    assert cleared.stdout.replace(" forgotten", "").strip() == told.stdout.rpartition(",")[0]
    empty = CliRunner().invoke(app, ["cache", "info", str(tmp_path / "answers.sqlite")])
    assert empty.stdout.startswith("0 answers")


def test_a_run_whose_servers_are_gone_ends_with_an_error_and_is_resumed(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    judge.jitter = 0.0
    command = ["simulate", "--episodes", str(episodes), "--steps", "2", "--policy", "eig"]
    command += ["--policy", "relevance"]

    def ran(name: str, chat_url: str, *more: str) -> Result:
        endpoints = {
            "judge": {"urls": [judge.url]},
            "chat": {"urls": [chat_url], "tries": 1, "patience": 0},
        }
        path = engine(tmp_path, "", "", endpoints=endpoints).file
        out = str(tmp_path / f"{name}.nc")
        return CliRunner().invoke(app, [*command, "--engine", str(path), "--out", out, *more])

    broken = ran("broken", "http://127.0.0.1:9")
    assert isinstance(broken.exception, EndpointDownError)
    assert "none of http://127.0.0.1:9 answers" in str(broken.exception)
    # the terminal breaks lines where it likes
    told = "".join(broken.stderr.split())
    assert f"{tmp_path / 'broken.nc.partial'}iskept:goonwith--resume" in told
    assert ran("broken", writer.url, "--resume").exit_code == 0
    assert ran("whole", writer.url).exit_code == 0
    judge.jitter = 0.01
    broken_off, whole = (load_run(tmp_path / f"{name}.nc") for name in ("broken", "whole"))
    assert broken_off.identical(whole)
    first, second = load_usage(tmp_path / "broken.nc")
    assert "prompt_tokens" not in first.get("chat", {})
    assert second["chat"]["prompt_tokens"] > 0


def test_a_server_that_misses_a_golden_prompt_is_asked_nothing(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    golden = tmp_path / "golden.jsonl"
    with connected(engine(tmp_path, judge.url, writer.url), episodes) as sources:
        belief = build_belief(sources, "belief")
        assert isinstance(belief, ClassifierBelief)
        prompt = Prompt("", "Is it so?")
        (logit,) = belief.logits([prompt])
    assert isinstance(logit, float)
    for shift in (0.0, 0.5):
        row = {"system": "", "user": "Is it so?", "logit": logit + shift}
        golden.write_text(json.dumps(row))
        asking = {
            "kind": "classifier",
            "endpoint": "judge",
            "model": "tiny",
            "tokenizer": template().tokenizer,
            "golden": str(golden),
        }
        vetted = engine(tmp_path, judge.url, writer.url, belief=asking)
        with connected(vetted, episodes) as sources:
            belief = build_belief(sources, "belief")
            if shift:
                message = f"{judge.url}: golden prompt 0 gets the logit"
                with pytest.raises(EndpointDownError, match=message):
                    belief.probabilities([BeliefQuery(Hypothesis("The coin is fair."))])
                assert sources.tallies()["judge"] == {}
            else:
                found = belief.probabilities([BeliefQuery(Hypothesis("The coin is fair."))])
                assert found.reasons == (None,)


def test_an_evaluation_that_is_made_again_asks_nothing(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    path = engine(tmp_path, judge.url, writer.url, cache={"path": "answers.sqlite"}).file
    command = ["evaluate", "--engine", str(path), "--episodes", str(episodes), "--draws", "20"]
    first, again = (
        json.loads(CliRunner().invoke(app, [*command, "--limit", "4", "--json"]).stdout)
        for _ in range(2)
    )
    assert next(iter(first["score"])) == "belief"
    for name in ("judge", "chat"):
        assert first["run"]["endpoints"][name]["requests"] > 0
        assert set(again["run"]["endpoints"][name]) == {"cache_hits"}
    assert first.pop("run") != again.pop("run")
    assert again == first
    shown = CliRunner().invoke(app, [*command, "--limit", "4"])
    assert re.search(r"endpoint judge: .*cache hits", shown.stdout)


def test_a_belief_that_answers_nothing_is_no_evaluation(
    tmp_path: Path, writer: FakeServer, episodes: Path
) -> None:
    """Baselines answer, and must not stand in its place."""
    endpoints = {
        "judge": {"urls": ["http://127.0.0.1:9"], "tries": 1, "patience": 0},
        "chat": {"urls": [writer.url]},
    }
    path = engine(tmp_path, "", "", endpoints=endpoints).file
    command = ["evaluate", "--engine", str(path), "--episodes", str(episodes), "--limit", "2"]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, EndpointDownError)
    assert "none of http://127.0.0.1:9 answers" in str(result.exception)


def test_choices_at_random_are_counted_and_said(
    tmp_path: Path, judge: FakeServer, episodes: Path
) -> None:
    with serving("chat", garbage=True) as writer:
        served = engine(tmp_path, judge.url, writer.url)
        with connected(served, episodes) as sources:
            found = report(simulate(engine_study(sources, episodes, ["naive"], num_steps=1)))
    row = found["policies"]["naive"]
    assert row["fallbacks"] == row["choices"] > 0
    assert "no <choice> can be read in 'I would rather not say.'" in row["fallback"]


def test_a_policy_without_its_model_is_refused(tmp_path: Path, episodes: Path) -> None:
    path = written(tmp_path, {"belief": {"kind": "stand-in"}, "simulator": {"kind": "stand-in"}})
    result = CliRunner().invoke(
        app, ["simulate", "--engine", str(path), "--episodes", str(episodes), "--policy", "naive"]
    )
    assert isinstance(result.exception, DataError)
    assert "a table [naive]" in str(result.exception)


def test_stand_ins_and_served_models_mix(tmp_path: Path, judge: FakeServer, episodes: Path) -> None:
    mixed = engine(
        tmp_path, judge.url, judge.url, simulator={"kind": "stand-in"}, tracker={"kind": "stand-in"}
    )
    with connected(mixed, episodes) as sources:
        study = engine_study(sources, episodes, ["eig"], num_steps=1)
        assert type(study.policies["eig"].estimator).__name__ == "ScreenedEIG"  # type: ignore[attr-defined]
        assert list(study.trackers) == ["own", "tracker"]
        assert report(simulate(study))["policies"]["eig"]["choices"] > 0


def test_beliefs_are_built_as_the_file_says(tmp_path: Path, judge: FakeServer) -> None:
    belief = {
        "kind": "classifier",
        "endpoint": "judge",
        "model": "tiny",
        "tokenizer": "t",
        "thinking": True,
        "noise": 0.3,
    }
    tracker = {**belief, "kind": "transformers", "dtype": "bfloat16", "model": "folder"}
    tracker.pop("endpoint")
    (tmp_path / "folder").mkdir()
    more = {"belief": belief, "tracker": tracker, "calibration": {"slope": 0.5}}
    with connected(engine(tmp_path, judge.url, judge.url, **more)) as sources:
        own, other = (build_belief(sources, part) for part in ("belief", "tracker"))
    assert isinstance(own, Recalibrated)
    assert (own.slope, own.intercept) == (0.5, 0.0)
    assert isinstance(own.belief, WithNoise)
    assert own.belief.noise == 0.3
    asked = own.belief.belief
    assert isinstance(asked, ClassifierBelief)
    assert asked.thinking
    assert asked.template == ChatTemplate("t", thinking=True)
    assert isinstance(other, WithNoise), "the calibration is the belief's alone"
    assert isinstance(other.belief, TransformersBelief)
    assert (other.belief.model, other.belief.dtype) == (str(tmp_path / "folder"), "bfloat16")
    assert other.belief.thinking


def test_gains_below_the_noise_are_shown_as_not_told_apart(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    untold = []
    for noise in (0.0, 5.0):
        belief = {"kind": "classifier", "endpoint": "judge", "model": "tiny", "noise": noise}
        belief["tokenizer"] = template().tokenizer
        served = engine(tmp_path, judge.url, writer.url, belief=belief)
        with connected(served, episodes) as sources:
            row = report(simulate(engine_study(sources, episodes, ["eig"], num_steps=1)))
        figures = row["policies"]["eig"]
        untold.append(figures["not_told_apart"] / figures["choices"])
    assert untold == [0.0, 1.0]


def test_each_part_is_tried(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    for source in (None, episodes):
        with connected(engine(tmp_path, judge.url, writer.url), source) as sources:
            found = {finding.part: finding for finding in check_engine(sources, source)}
        wanted = {"endpoints.judge", "endpoints.chat", "belief", "naive"}
        assert {part for part, finding in found.items() if finding.is_sound} >= wanted
        belief = "\n".join(found["belief"].lines)
        assert "its head is loaded" in belief
        (noise,) = re.findall(r"noise = (\S+)", belief)
        # batches of 16 and of 5 move the logit by .15 and .04
        assert 0.05 < float(noise) < 0.2


def test_a_part_that_fails_is_said_and_the_others_are_tried(
    tmp_path: Path, judge: FakeServer, episodes: Path
) -> None:
    dead = {"urls": ["http://127.0.0.1:9"], "tries": 1, "patience": 0.0}
    served = {
        "endpoints": {"judge": {"urls": [judge.url]}, "chat": dead},
        "naive": {"endpoint": "chat", "model": "tiny"},
    }
    path = engine(tmp_path, judge.url, "", **served).file
    result = CliRunner().invoke(app, ["engine", "check", str(path)])
    assert result.exit_code == 1
    assert "[belief] works" in result.output
    assert "[naive] FAILED" in result.output
    assert "cannot connect" in result.output


def test_a_model_that_is_not_served_is_named(tmp_path: Path, judge: FakeServer) -> None:
    belief = {"kind": "logprob", "endpoint": "judge", "model": "large", "tokenizer": "t"}
    served = engine(tmp_path, judge.url, judge.url, belief=belief)
    with connected(served) as sources:
        found = {finding.part: finding for finding in check_engine(sources)}
    assert not found["endpoints.judge"].is_sound
    assert "serves tiny, but [belief] asks for 'large'" in found["endpoints.judge"].lines[0]


def test_the_command_line_shows_what_was_sent_and_resumes(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    path = engine(tmp_path, judge.url, writer.url).file
    command = ["simulate", "--engine", str(path), "--episodes", str(episodes), "--steps", "1"]
    command += ["--policy", "naive", "--policy", "eig", "--out", str(tmp_path / "run.nc")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert re.search(r"endpoint judge: .*requests", shown.output)
    again = CliRunner().invoke(app, [*command, "--resume", "--json"])
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["run"]["endpoints"] == {"chat": {}, "judge": {}}
    other = engine(tmp_path, judge.url, writer.url, policy={"slope": 0.5}).file
    refused = CliRunner().invoke(app, [*command, "--resume"])
    assert other == path
    assert isinstance(refused.exception, DataError)


def test_servers_are_started_and_stopped_by_the_command(tmp_path: Path) -> None:
    """A server that is none: the command says so, shows its log and leaves nothing behind."""
    serve = {"model": "m", "kind": "chat", "port": 8199, "device": "cpu", "python": sys.executable}
    tables = {
        "belief": {"kind": "stand-in"},
        "simulator": {"kind": "stand-in"},
        "serve": {"writer": serve},
    }
    path = written(tmp_path, tables)
    command = [sys.executable, "-c", "from bed.cli import main; main()", "serve", str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
    )
    try:
        output, _ = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
    assert process.returncode == 2
    assert "ended with status" in output
    assert (tmp_path / "writer.log").is_file()
