"""Shards on workers that are slow, die, disappear or reach no server; the answers stay the same."""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bed.errors import BedError
from bed.fleet import FleetError, Lost, WorkerDiedError, WorkerGoneError, dispatch, shared_out
from bed.seeds import derive_seed, uniform
from bed.transport import EndpointDownError

KEYS = [f"gene {n % 37}" for n in range(1200)]
ITEMS = [f"item {n}" for n in range(1200)]
ANSWERS = [item.upper() for item in ITEMS]


@dataclass
class Double:
    """A worker on threads.

    Attributes:
        poison: items that kill it.
        lives: shards that it answers before it is gone for good.
        reaches: whether it reaches a server.
        pace: seconds that a shard takes, at most.
        gate: waited for before anything is answered.
        asked: how often it was asked about each item.
        held: the most shards that it had at the same time.
    """

    poison: frozenset[str] = frozenset()
    lives: float = float("inf")
    reaches: bool = True
    pace: float = 0.0
    gate: threading.Event | None = None
    asked: Counter[str] = field(default_factory=Counter)
    held: int = 0
    _now: int = 0
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))
    _lock: Any = field(default_factory=threading.Lock)

    def submit(self, part: str, items: Sequence[Any]) -> Future[Sequence[Any]]:
        with self._lock:
            self._now += 1
            self.held = max(self.held, self._now)
            self.asked.update(items)
        return self._pool.submit(self._answer, part, items)

    def _answer(self, part: str, items: Sequence[Any]) -> Sequence[Any]:
        try:
            if self.gate is not None:
                assert self.gate.wait(20)
            time.sleep(self.pace * uniform(derive_seed(items[0], len(items))))
            with self._lock:
                self.lives -= 1
            if self.lives < 0:
                raise WorkerGoneError("its node is gone")
            if not self.reaches:
                raise EndpointDownError("none of http://127.0.0.1:9 answers")
            if self.poison.intersection(items):
                raise WorkerDiedError("it ran out of memory")
            return [getattr(item, part)() for item in items]
        finally:
            with self._lock:
                self._now -= 1

    def close(self) -> None:
        self._pool.shutdown()


@contextmanager
def at_work(*workers: Double) -> Iterator[Sequence[Double]]:
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()


def answers_of(workers: Sequence[Double], **more: Any) -> list[Any]:
    return dispatch(workers, "upper", ITEMS, shared_out(KEYS, len(workers)), **more)


def asked_of(workers: Sequence[Double]) -> Counter[str]:
    return sum((worker.asked for worker in workers), Counter())


@pytest.mark.parametrize("count", [1, 4, 16])
def test_every_item_is_asked_once_and_answered_in_order(count: int) -> None:
    with at_work(*[Double(pace=0.02) for _ in range(count)]) as workers:
        assert answers_of(workers) == ANSWERS
    assert asked_of(workers) == Counter(ITEMS)
    assert max(worker.held for worker in workers) <= 2


def test_what_waits_for_a_slow_worker_is_taken_over() -> None:
    gate = threading.Event()
    with at_work(Double(gate=gate), Double(), Double()) as workers:
        slow, *others = workers

        def open_gate() -> None:
            until = time.monotonic() + 10
            while len(asked_of(workers)) < len(ITEMS) and time.monotonic() < until:
                time.sleep(0.01)
            gate.set()

        opening = threading.Thread(target=open_gate)
        opening.start()
        assert answers_of(workers) == ANSWERS
        opening.join()
    waited = sum(map(len, shared_out(KEYS, 3)[0]))
    assert 0 < slow.asked.total() < waited
    assert slow.asked.total() + asked_of(others).total() == len(ITEMS)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_an_item_that_kills_workers_fails_alone(count: int) -> None:
    poison = frozenset({"item 7", "item 900"})
    with at_work(*[Double(poison) for _ in range(count)]) as workers:
        found = answers_of(workers)
    lost = {item: answer for item, answer in zip(ITEMS, found, strict=True) if item in poison}
    for answer in lost.values():
        assert isinstance(answer, Lost)
        assert answer.reason == (
            "3 workers that were given it alone died; the last: it ran out of memory"
        )
    sound = [answer for answer in found if not isinstance(answer, Lost)]
    assert sound == [answer for answer in ANSWERS if answer.lower() not in poison]
    times = asked_of(workers)
    # once with others, then as its shard is halved; then alone until it is lost
    size = max(len(shard) for of in shared_out(KEYS, count) for shard in of)
    assert all(times[item] <= size.bit_length() + 4 for item in ITEMS)


def test_what_a_dying_worker_held_besides_is_not_blamed() -> None:
    with at_work(Double(frozenset({"item 3"}), pace=0.01), Double(pace=0.01)) as workers:
        assert answers_of(workers) == ANSWERS
    assert max(asked_of(workers).values()) <= 3


def test_the_work_of_workers_that_are_gone_is_done_by_the_others() -> None:
    with at_work(Double(lives=1), Double(lives=0), Double(), Double()) as workers:
        assert answers_of(workers) == ANSWERS


def test_without_a_worker_left_there_is_one_error() -> None:
    with (
        at_work(Double(lives=2), Double(lives=0)) as workers,
        pytest.raises(FleetError, match="all workers of the fleet are gone; the last: its node"),
    ):
        answers_of(workers)


def test_a_worker_that_reaches_no_server_is_relieved() -> None:
    with at_work(Double(reaches=False), Double(), Double(reaches=False)) as workers:
        assert answers_of(workers) == ANSWERS


def test_where_no_worker_reaches_a_server_the_run_ends() -> None:
    with (
        at_work(Double(reaches=False), Double(reaches=False)) as workers,
        pytest.raises(EndpointDownError, match="none of http"),
    ):
        answers_of(workers)


def test_what_a_part_raises_is_raised() -> None:
    with at_work(Double(), Double()) as workers, pytest.raises(AttributeError, match="no_such"):
        dispatch(workers, "no_such", ITEMS, shared_out(KEYS, 2))


def test_a_worker_that_answers_too_little_is_found() -> None:
    class Short(Double):
        def _answer(self, part: str, items: Sequence[Any]) -> Sequence[Any]:
            return items[1:]

    with at_work(Short()) as workers, pytest.raises(BedError, match=r"gave \d+ answers to \d+"):
        answers_of(workers)


def test_one_who_waits_for_a_fleet_that_is_closed_gets_an_error() -> None:
    gate = threading.Event()
    with at_work(Double(gate=gate)) as workers:
        started = time.monotonic()
        with pytest.raises(FleetError, match="closed while it was asked"):
            answers_of(workers, is_closed=lambda: time.monotonic() - started > 0.2)
        gate.set()
    assert time.monotonic() - started < 5


def test_nothing_asked_is_nothing_answered() -> None:
    with at_work(Double()) as workers:
        assert dispatch(workers, "upper", [], shared_out([], 1)) == []


@settings(max_examples=40, deadline=None)
@given(
    poison=st.frozensets(st.sampled_from(ITEMS), max_size=4),
    lives=st.lists(st.integers(0, 12), max_size=3),
    unreachable=st.integers(0, 2),
)
@example(poison=frozenset({"item 3", "item 700"}), lives=[0, 3, 12], unreachable=2)
def test_whatever_happens_the_sound_items_are_answered(
    poison: frozenset[str], lives: list[int], unreachable: int
) -> None:
    """One worker stays; the others disappear at any time or reach nothing."""
    workers = [
        Double(poison),
        *[Double(poison, lives=count) for count in lives],
        *[Double(poison, reaches=False) for _ in range(unreachable)],
    ]
    with at_work(*workers):
        found = answers_of(workers)
    for item, answer in zip(ITEMS, found, strict=True):
        assert isinstance(answer, Lost) if item in poison else answer == item.upper()
