"""Models on Ray actors: the same answers with any number of workers, and when some die."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bed.engine import file_study, world_study
from bed.episodes import write_episodes
from bed.episodes.files import EpisodeFile
from bed.errors import DataError
from bed.fleet import Fleet, FleetError, open_fleet
from bed.protocols import BeliefModel, OutcomeRequest, ranks_outcomes
from bed.simulation import simulate
from tests.factories import additive_episode, plain
from tests.fleet.doubles import (
    ForeignToNodes,
    HashedBelief,
    HashedSimulator,
    MortalBelief,
    MortalSimulator,
    Unpicklable,
    questions,
)

pytestmark = pytest.mark.usefixtures("cluster")

POLICIES = ["random", "eig-simulate", "eig-levels", "eig"]


def spread(fleet: Fleet, model: Any) -> Any:
    return fleet.spread({"it": model})["it"]


def test_beliefs_are_those_of_the_model() -> None:
    model, asked = HashedBelief(unknown="claim 7"), questions(300)
    here = model.probabilities(asked)
    with open_fleet(3) as fleet:
        there = spread(fleet, model).probabilities(asked)
    assert np.array_equal(there.probabilities, here.probabilities, equal_nan=True)
    assert there.reasons == here.reasons
    assert there.reasons[7] == "claim 7 is not known"
    assert there.noise is not None
    assert here.noise is not None
    assert np.array_equal(there.noise, here.noise, equal_nan=True)


@pytest.mark.parametrize("ranks", [True, False])
def test_outcomes_are_those_of_the_simulator(ranks: bool) -> None:
    model = HashedSimulator(ranks)
    asked = [OutcomeRequest(plain(n), n % 2 == 0, seed=n) for n in range(150)]
    with open_fleet(2) as fleet:
        there = spread(fleet, model)
        assert there.sample(asked) == model.sample(asked)
        assert ranks_outcomes(there) is ranks


@pytest.fixture(scope="module")
def worlds_here() -> xr.Dataset:
    return simulate(world_study("graded", POLICIES, limit=8, num_steps=3))


@pytest.mark.parametrize("num_workers", [1, 4, 16])
def test_a_run_is_the_same_with_any_number_of_workers(
    worlds_here: xr.Dataset, num_workers: int
) -> None:
    with open_fleet(num_workers) as fleet:
        study = world_study("graded", POLICIES, limit=8, num_steps=3, spread=fleet.spread)
        run = simulate(study)
    assert run.identical(worlds_here)


def mortal(fleet: Fleet, folder: Path, deaths: int) -> Callable[..., Mapping[str, Any]]:
    """Spread models whose processes die so often."""

    def spread_mortal(parts: Mapping[str, Any], servers: Mapping[str, Any]) -> Mapping[str, Any]:
        dying = {
            name: MortalBelief(part, folder, deaths)
            if isinstance(part, BeliefModel)
            else MortalSimulator(part, folder, deaths)
            for name, part in parts.items()
        }
        return fleet.spread(dying, servers)

    return spread_mortal


@pytest.mark.parametrize(("num_workers", "deaths"), [(1, 1), (4, 5)])
def test_a_run_is_the_same_when_workers_die(
    worlds_here: xr.Dataset, tmp_path: Path, num_workers: int, deaths: int
) -> None:
    with open_fleet(num_workers) as fleet:
        spread_mortal = mortal(fleet, tmp_path, deaths)
        study = world_study("graded", POLICIES, limit=8, num_steps=3, spread=spread_mortal)
        run = simulate(study)
    assert len(list(tmp_path.iterdir())) == deaths
    # the models have other names
    assert run.drop_attrs().identical(worlds_here.drop_attrs())


def test_a_run_with_stand_ins_is_the_same_on_workers(tmp_path: Path) -> None:
    episodes = [additive_episode(n, "test" if n < 8 else "train") for n in range(80)]
    path = tmp_path / "additive.parquet"
    write_episodes(path, EpisodeFile(tuple(episodes), {}))
    policies = ["relevance", "eig-exemplar", "eig"]
    here = simulate(file_study(path, policies, num_steps=2))
    with open_fleet(3) as fleet:
        there = simulate(file_study(path, policies, num_steps=2, spread=fleet.spread))
    assert there.identical(here)


def test_a_question_that_kills_processes_fails_alone() -> None:
    model, asked = HashedBelief(deadly="claim 120"), questions(200)
    sound = HashedBelief().probabilities(asked)
    with open_fleet(2) as fleet:
        found = spread(fleet, model).probabilities(asked)
    failed = [place for place, reason in enumerate(found.reasons) if reason is not None]
    assert failed == [120]
    assert str(found.reasons[120]).startswith("3 workers that were given it alone died; the last:")
    is_sound = np.arange(200) != 120
    assert np.array_equal(found.probabilities[is_sound], sound.probabilities[is_sound])
    assert np.isnan(found.probabilities[120])


def test_ten_thousand_questions_do_not_pile_up() -> None:
    """What is on its way is bounded: two shards a worker, of 512 questions at most.

    Of 10,000 questions of 10 kB, 100 MB, that is 20 MB at a time; Ray's store of objects, which
    is shared memory, has a fixed size.
    """
    asked = questions(10_000, 10_000)
    expected = HashedBelief().probabilities(asked)
    with open_fleet(2) as fleet:
        model = spread(fleet, HashedBelief())
        model.probabilities(asked[:100])
        with watched_memory() as seen:
            found = model.probabilities(asked)
    assert np.array_equal(found.probabilities, expected.probabilities)
    assert len(seen) > 10
    assert max(seen) - seen[0] < 40e6


@contextmanager
def watched_memory() -> Iterator[list[int]]:
    """Bytes of memory that this process shares with no other, every few milliseconds."""
    seen: list[int] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.005):
            status = Path("/proc/self/status").read_text()
            seen.append(1024 * int(status.partition("RssAnon:")[2].split()[0]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        is_over.set()
        watcher.join()


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (Unpicklable(), DataError, "it: cannot be sent to workers .*lock.* must be picklable"),
        (ForeignToNodes(), FleetError, "worker 1 of 1 cannot start: .*no_such_library"),
    ],
)
def test_a_model_that_cannot_travel_is_named(
    model: object, error: type[Exception], message: str
) -> None:
    with open_fleet(1) as fleet, pytest.raises(error, match=message):
        spread(fleet, model)


def test_what_a_model_raises_is_raised_here() -> None:
    with open_fleet(1) as fleet:
        model = spread(fleet, HashedBelief(weak="claim 3"))
        with pytest.raises(KeyError, match="claim 3 is nowhere"):
            model.probabilities(questions(5))


def test_a_closed_fleet_is_not_asked() -> None:
    with open_fleet(1) as fleet:
        model = spread(fleet, HashedBelief())
    with pytest.raises(FleetError, match="the fleet is closed; ask it inside the block"):
        model.probabilities(questions(1))


def test_more_gpus_than_there_are_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bed.fleet.fleet._SECONDS_TO_START", 1.0)
    with (
        open_fleet(1, gpus_each=1.0) as fleet,
        pytest.raises(FleetError, match="each needs 1 GPUs, and the cluster has 0"),
    ):
        spread(fleet, HashedBelief())
