"""Plans against real runs of the same engine, and their arithmetic against closed forms."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bed.engine import Engine, Sources, connected, engine_study, load_engine, plan_job
from bed.engine.build import stand_ins_of
from bed.engine.plan import Batch, Cost, job_cost, measured_steps, step_weights, total_stderr
from bed.episodes import write_episodes
from bed.episodes.files import EpisodeFile
from bed.errors import BedError, DataError
from bed.report import report
from bed.simulation import simulate
from bed.transport import EndpointDownError, Reply, ScriptedTransport, Transport
from tests.doubles import classifier, template
from tests.engine.fake_server import FakeServer, serving
from tests.engine.files import engine, written
from tests.factories import graded_episodes

CALLS = ("belief_calls", "belief_calls_sent", "simulator_calls", "simulator_calls_sent")
STAND_IN = {"kind": "stand-in"}


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeServer]:
    with serving("classifier") as server:
        yield server


@pytest.fixture(scope="module")
def writer() -> Iterator[FakeServer]:
    with serving("chat") as server:
        yield server


def written_episodes(path: Path, pools: Sequence[int]) -> Path:
    """Write test episodes with pools of these sizes, and as many to train on."""
    test, train = graded_episodes()[: len(pools)], graded_episodes()[100 : 100 + len(pools)]
    episodes = [
        replace(
            episode,
            split="test",
            pool=episode.pool[:size],
            tiers=episode.tiers[:size],
            tags=episode.tags[:size],
        )
        for episode, size in zip(test, pools, strict=True)
    ]
    write_episodes(path, EpisodeFile((*episodes, *train), {"builder": "test"}))
    return path


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_episodes(tmp_path_factory.mktemp("episodes") / "graded.parquet", [12] * 16)


def ran(
    engine: Engine, path: Path, policies: Sequence[str], limit: int, steps: int | None = None
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The report of a real run, and what it sent to each endpoint."""
    with connected(engine, path, uses_cache=False) as sources:
        found = report(simulate(engine_study(sources, path, policies, limit, steps)))
        return found["policies"], sources.tallies()


def planned(engine: Engine, path: Path, *arguments: Any, **options: Any) -> dict[str, Any]:
    with connected(engine, path, uses_cache=False) as sources:
        return plan_job(sources, path, *arguments, **options)


@pytest.mark.parametrize("num_steps", range(1, 20))
def test_a_quadratic_is_summed_exactly(num_steps: int) -> None:
    degree = min(num_steps, 3)
    steps = np.arange(num_steps)
    at = list(measured_steps(num_steps))
    assert at == sorted({0, (num_steps - 1) // 2, num_steps - 1})
    for power in range(degree):
        values = (steps + 2.0) ** power
        assert step_weights(num_steps) @ values[at] == pytest.approx(values.sum())


def test_three_steps_are_not_interpolated() -> None:
    for num_steps in (1, 2, 3):
        assert measured_steps(num_steps) == tuple(range(num_steps))
        np.testing.assert_allclose(step_weights(num_steps), np.ones(num_steps))


def batch(rows: Sequence[int], weights: Sequence[float], sent: Sequence[float]) -> Batch:
    """A batch whose episodes sent so many belief queries of 10 tokens, 2 a second."""
    calls = np.array([[2.0 * count, 0.0, count, 0.0] for count in sent])
    usage = {"judge": {"requests": 1.0, "prompt_tokens": 10.0 * sum(sent)}}
    return Batch(rows, np.array(weights), calls, usage, sum(sent) / 2)


def test_tokens_and_seconds_count_as_often_as_their_queries() -> None:
    """An episode of 4 queries that counts twice, and one of 2 that counts five times."""
    cost = job_cost([batch([0, 1], [2.0, 5.0], [4, 2]), batch([1], [1.0], [3])], 2)
    np.testing.assert_allclose(cost.calls[:, 2], [8, 13])
    np.testing.assert_allclose(cost.calls[:, 0], [16, 26])
    assert cost.usage["judge"]["prompt_tokens"] == pytest.approx(10 * 21)
    assert cost.seconds == pytest.approx(21 / 2)
    twice = cost + cost
    assert twice.usage["judge"]["prompt_tokens"] == pytest.approx(20 * 21)
    assert twice.seconds == pytest.approx(21)


def test_what_sends_no_query_counts_by_episode() -> None:
    cost = job_cost([batch([0, 1], [2.0, 4.0], [0, 0])], 2)
    assert cost.usage["judge"]["requests"] == pytest.approx(3.0)
    assert isinstance(job_cost([], 2), Cost)
    assert job_cost([], 2).seconds == 0


def test_the_standard_error_is_that_of_drawing_without_replacement() -> None:
    """The spread of predictions over draws of 5 from 40; 20,000 of them tell it within 2%."""
    rng = np.random.default_rng(3)
    job = rng.gamma(2.0, 10.0, 40)
    draws = np.array([rng.choice(job, 5, replace=False) for _ in range(20_000)])
    spread = np.sqrt(np.mean((draws.mean(axis=1) * 40 - job.sum()) ** 2))
    told = np.sqrt(np.mean([total_stderr(draw[:, None], 40)[0] ** 2 for draw in draws]))
    assert told == pytest.approx(spread, rel=0.03)
    assert total_stderr(job[:, None], 40)[0] == 0
    assert np.isnan(total_stderr(job[:1, None], 40)[0])


def test_a_plan_is_what_the_run_then_takes(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    """Pools of one size: queries are equal, and tokens lie within 3% (here within 1%)."""
    served = engine(tmp_path, judge.url, writer.url)
    policies = ["random", "naive", "eig", "hindsight"]
    found = planned(served, episodes, 16, policies, trial=4, num_steps=6)
    figures, tallies = ran(served, episodes, policies, 16, 6)
    for name in policies:
        assert [found["policies"][name][key] for key in CALLS] == [
            figures[name][key] for key in CALLS
        ]
    for name in ("judge", "chat"):
        told = found["total"]["endpoints"][name]
        for key in ("prompt_tokens", "completion_tokens"):
            assert told[key] == pytest.approx(tallies[name].get(key, 0), rel=0.03)
    # the writer answers one prompt a request; the judge's batches of a larger job are fuller
    assert found["total"]["endpoints"]["chat"]["requests"] == tallies["chat"]["requests"]
    assert found["total"]["endpoints"]["judge"]["requests"] >= tallies["judge"]["requests"]
    # two trackers' worth: each episode at the start, then after each step of each policy
    assert found["trackers"]["belief_calls"] == 16 * (1 + 6 * len(policies))
    assert found["trial"]["steps"] == [1, 3, 6]
    assert found["left_out"] == []
    json.dumps(found, allow_nan=False)


def test_pools_of_different_sizes_are_each_summed_to_their_end(
    tmp_path: Path, judge: FakeServer, writer: FakeServer
) -> None:
    served = engine(tmp_path, judge.url, writer.url)
    path = written_episodes(tmp_path / "pools.parquet", [1, 2, 3, 6, 9, 12])
    found = planned(served, path, 6, ["eig"], trial=6)
    figures, tallies = ran(served, path, ["eig"], 6)
    assert [found["policies"]["eig"][key] for key in CALLS] == [
        figures["eig"][key] for key in CALLS
    ]
    assert found["policies"]["eig"]["stderr"]["belief_calls"] == 0
    told = found["total"]["endpoints"]["judge"]["prompt_tokens"]
    # prompts of the larger pools show more stubs than the batch's mean
    assert told == pytest.approx(tallies["judge"]["prompt_tokens"], rel=0.1)
    wider = planned(served, path, 60, ["eig"], trial=6)
    assert wider["policies"]["eig"]["belief_calls"] == 10 * figures["eig"]["belief_calls"]
    assert wider["policies"]["eig"]["stderr"]["belief_calls"] > 0


def test_a_job_of_the_trial_alone_takes_what_was_measured(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    """Three steps are all measured: requests are equal too, and no error is left."""
    served = engine(tmp_path, judge.url, writer.url)
    found = planned(served, episodes, 4, ["naive", "eig"], 3, trial=50)
    figures, tallies = ran(served, episodes, ["naive", "eig"], 4, 3)
    assert found["trial"]["episodes"] == 4
    for name in ("judge", "chat"):
        assert found["total"]["endpoints"][name]["requests"] == tallies[name]["requests"]
    assert found["policies"]["eig"]["belief_calls"] == figures["eig"]["belief_calls"]
    assert set(found["total"]["stderr"].values()) == {0.0}


def test_an_engine_of_stand_ins_alone_has_queries_and_hours(tmp_path: Path, episodes: Path) -> None:
    tables = {"belief": STAND_IN, "simulator": STAND_IN, "tracker": STAND_IN}
    alone = load_engine(written(tmp_path, tables))
    exact = ["uncertainty", "eig-simulate", "hindsight"]
    found = planned(alone, episodes, 12, [*exact, "eig"], trial=4)
    figures, tallies = ran(alone, episodes, [*exact, "eig"], 12)
    assert tallies == found["endpoints"] == {}
    for name in exact:
        assert found["policies"][name]["belief_calls"] == figures[name]["belief_calls"]
    # screening rounds the number of finalists up, and asks all where it is in doubt
    assert found["policies"]["eig"]["belief_calls"] == pytest.approx(
        figures["eig"]["belief_calls"], rel=0.15
    )
    assert found["trackers"]["belief_calls"] == 2 * 12 * (1 + 12 * 4)
    parts = [*found["policies"].values(), found["trackers"]]
    assert found["total"]["hours"] == pytest.approx(sum(part["hours"] for part in parts))
    assert found["total"]["hours"] > 0
    assert (found["gpus"], found["per_episode"]["tokens"]) == (0, 0)
    assert "Nothing is served" in found["assumptions"][-1]


def test_replicas_grow_with_the_hours_that_are_short(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    endpoints = {
        "judge": {"urls": [judge.url, judge.url.replace("127.0.0.1", "localhost")]},
        "chat": {"urls": [writer.url], "max_in_flight": 2},
    }
    served = engine(tmp_path, "", "", endpoints=endpoints)
    found = planned(served, episodes, 16, ["eig"], 2, trial=2, hours=1e-4)
    times = found["total"]["hours"] / 1e-4
    assert times > 1
    of_judge, of_chat = found["endpoints"]["judge"], found["endpoints"]["chat"]
    assert of_judge["replicas"] == found["gpus"] - 1 == 2
    assert of_judge["replicas_needed"] == math.ceil(2 * times)
    assert of_chat["replicas_needed"] == math.ceil(times)
    assert found["gpus_needed"] == math.ceil(2 * times) + math.ceil(times)
    assert (of_chat["most_in_flight"], of_chat["may_be_in_flight"]) == (2, 2)
    assert of_judge["most_in_flight"] < of_judge["may_be_in_flight"] == 32
    (of_throughput,) = [line for line in found["assumptions"] if "throughput of judge" in line]
    assert "on 2 replicas" in of_throughput
    assert "where 32 may be" in of_throughput
    enough = planned(served, episodes, 16, ["eig"], 2, trial=2, hours=1000)
    assert enough["gpus_needed"] == 2


def scripted(engine: Engine, path: Path, **transports: Transport) -> Sources:
    return Sources(engine, transports, stand_ins_of(path))


def test_calls_that_fail_are_said(tmp_path: Path, episodes: Path) -> None:
    served = engine(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:2")
    refused = Reply(reason="http://127.0.0.1:2: status 400: too long", status=400)
    count = iter(range(10**9))
    answers = FakeServer("chat")
    writer = ScriptedTransport(
        lambda call: answers.chatted(dict(call.body)) if next(count) % 3 else refused
    )
    sources = scripted(served, episodes, judge=classifier(), chat=writer)
    found = plan_job(sources, episodes, 8, ["eig"], 1, trial=2)
    of_endpoint, of_policy = found["left_out"]
    assert of_endpoint.startswith("endpoint chat: ")
    assert of_endpoint.endswith(": http://127.0.0.1:2: status 400: too long")
    assert re.match(r"eig: \d+ failures, .*status 400: too long", of_policy)
    # these servers do not count tokens
    assert found["total"]["endpoints"]["chat"]["prompt_tokens"] is None
    assert found["per_episode"]["tokens"] is None
    assert found["endpoints"]["judge"]["tokens_per_second"] is None


def test_an_endpoint_that_only_fails_is_an_error(
    tmp_path: Path, judge: FakeServer, writer: FakeServer, episodes: Path
) -> None:
    simulator = {"kind": "generative", "endpoint": "chat", "model": "large"}
    served = engine(tmp_path, judge.url, writer.url, simulator=simulator)
    with pytest.raises(
        DataError, match=r"requests to endpoint 'chat' failed.* `large` does not exist"
    ):
        planned(served, episodes, 8, ["random", "eig"], 1)
    # who does not ask it can be planned
    without = planned(served, episodes, 8, ["uncertainty"], 1)
    assert without["left_out"] == []
    assert without["endpoints"]["chat"]["gpus_needed"] == 0
    assert "This job does not ask chat." in without["assumptions"]
    dead = {"urls": ["http://127.0.0.1:9"], "tries": 1, "patience": 0.0}
    endpoints = {"judge": dead, "chat": {"urls": [writer.url]}}
    with pytest.raises((EndpointDownError, DataError), match=r"127\.0\.0\.1:9"):
        planned(engine(tmp_path, "", "", endpoints=endpoints), episodes, 8, ["eig"], 1)


@pytest.mark.parametrize(
    ("device", "arguments", "gpus"),
    [
        ("gpu", (), 1),
        ("gpu", ("--tensor-parallel-size", "4"), 4),
        ("gpu", ("--seed", "3", "--tensor-parallel-size=2"), 2),
        ("gpu", ("-tp", "8", "--hf-overrides", '{"num_labels":1}'), 8),
        ("cpu", (), 0),
    ],
    ids=["none said", "two words", "one word", "short", "cpu"],
)
def test_gpus_are_those_of_the_server(
    tmp_path: Path, episodes: Path, device: str, arguments: Sequence[str], gpus: int
) -> None:
    served = with_server(tmp_path, device, arguments)
    sources = scripted(served, episodes, judge=classifier())
    found = plan_job(sources, episodes, 2, ["uncertainty"], 1, trial=1)
    assert found["endpoints"]["judge"]["gpus_per_replica"] == found["gpus"] == gpus


def test_a_number_of_gpus_that_is_none_is_refused(tmp_path: Path, episodes: Path) -> None:
    served = with_server(tmp_path, "gpu", ("--tensor-parallel-size", "all"))
    sources = scripted(served, episodes, judge=classifier())
    with pytest.raises(DataError, match=r"extra_args of \[serve\.here\].*'all'.*number of GPUs"):
        plan_job(sources, episodes, 2, ["uncertainty"], 1, trial=1)


def with_server(folder: Path, device: str, arguments: Sequence[str]) -> Engine:
    server = {"model": "tiny", "kind": "classifier", "port": 8199, "device": device}
    tables = {
        "serve": {"here": {**server, "extra_args": [text.replace('"', "'") for text in arguments]}},
        "endpoints": {"judge": {"serve": "here"}},
        "belief": {
            "kind": "classifier",
            "endpoint": "judge",
            "tokenizer": template().tokenizer,
        },
        "simulator": STAND_IN,
    }
    return load_engine(written(folder, tables))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_episodes": 0}, "episodes is 0; at least one"),
        ({"trial": 0}, "trial is 0; at least one"),
        ({"hours": 0.0}, "hours is 0; it must be above 0"),
        ({"hours": math.nan}, "hours is nan; it must be above 0"),
        ({"num_steps": 0}, "steps is 0; at least one"),
        ({"policies": ["eigg"]}, "policy 'eigg' is unknown here"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_planned_is_named(
    tmp_path: Path, episodes: Path, options: Mapping[str, Any], message: str
) -> None:
    alone = load_engine(written(tmp_path, {"belief": STAND_IN, "simulator": STAND_IN}))
    with pytest.raises(BedError, match=message):
        planned(alone, episodes, **{"num_episodes": 4, **options})


def test_a_file_without_test_episodes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    write_episodes(path, EpisodeFile(graded_episodes()[:4], {"builder": "test"}))
    alone = load_engine(written(tmp_path, {"belief": STAND_IN, "simulator": STAND_IN}))
    with pytest.raises(DataError, match=r"train\.parquet has no test episodes"):
        planned(alone, path, 4)


def test_every_batch_is_told_before_it_is_asked(tmp_path: Path, episodes: Path) -> None:
    alone = load_engine(written(tmp_path, {"belief": STAND_IN, "simulator": STAND_IN}))
    told: list[tuple[int, int, str]] = []
    planned(alone, episodes, 4, ["eig"], trial=2, on_progress=lambda *of: told.append(of))
    assert [done for done, _, _ in told] == list(range(len(told)))
    assert {count for _, count, _ in told} == {len(told)}
    assert "eig, step 12" in [what for _, _, what in told]
