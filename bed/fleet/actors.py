"""The workers of a fleet as Ray actors, on this machine or on the nodes of a cluster."""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import ActorUnavailableError, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from bed import __version__
from bed.errors import BedError
from bed.fleet.dispatch import WorkerDiedError, WorkerGoneError
from bed.fleet.models import answered
from bed.transport import AnswerStore, HttpTransport

__all__ = ["Counts", "RayStore", "RayWorker"]

_CALLS_AT_ONCE = 8
"""Of one actor: two shards of each of the parts that are asked at the same time, and more."""

Counts = Mapping[str, Mapping[tuple[str, str | int], int]]
"""Endpoint -> what a worker counted since it last told, see `bed.transport.Tally.take`."""


class _Actor:
    """Holds a copy of the parts and of the connections to the servers that they ask.

    Every call brings the reference to them: one that Ray has started again has nothing.
    """

    def __init__(self, place: int, count: int) -> None:
        self._share = (place, count)
        self._lock = threading.Lock()
        self._held: tuple[Mapping[str, Any], Mapping[str, HttpTransport]] | None = None

    def version(self, packed: Sequence[Any]) -> str:
        self._unpacked(packed)
        return __version__

    def answer(
        self, packed: Sequence[Any], part: str, items: Sequence[Any]
    ) -> tuple[Sequence[Any], Counts]:
        parts, servers = self._unpacked(packed)
        found = answered(parts[part], items)
        return found, {name: server.tally.take() for name, server in servers.items()}

    def _unpacked(
        self, packed: Sequence[Any]
    ) -> tuple[Mapping[str, Any], Mapping[str, HttpTransport]]:
        with self._lock:
            if self._held is None:
                self._held = ray.cloudpickle.loads(ray.get(packed[0]))
                for server in self._held[1].values():
                    server.share = self._share
            return self._held


class RayWorker:
    """One actor, which Ray starts again where it dies, on another node where its node is gone.

    Args:
        packed: reference to the pickled parts and servers.
        place: of the worker among all.
        count: of all workers.
        num_gpus: that it needs.
        on_counts: told what it counted.
    """

    def __init__(
        self,
        packed: Any,
        place: int,
        count: int,
        num_gpus: float,
        on_counts: Callable[[Counts], None],
    ) -> None:
        # in a list it travels as a reference: what it names is fetched once a process
        self._packed, self._on_counts = [packed], on_counts
        self._actor = (
            ray.remote(_Actor)
            .options(
                num_cpus=0,
                num_gpus=num_gpus,
                max_concurrency=_CALLS_AT_ONCE,
                max_restarts=-1,
                max_task_retries=0,
                scheduling_strategy="SPREAD",
            )
            .remote(place, count)
        )

    def version(self) -> "Future[str]":
        """Return a future of the version of bed where the worker runs, once it has its models."""
        found: Future[str] = self._actor.version.remote(self._packed).future()
        return found

    def submit(self, part: str, items: Sequence[Any]) -> "Future[Sequence[Any]]":
        """Return a future of the answers, see `bed.fleet.dispatch.Worker`."""
        told: Future[Sequence[Any]] = Future()

        def pass_on(done: "Future[tuple[Sequence[Any], Counts]]") -> None:
            try:
                answers, counts = done.result()
                self._on_counts(counts)
            except BaseException as error:
                told.set_exception(_translated(error))
            else:
                told.set_result(answers)

        try:
            asked = self._actor.answer.remote(self._packed, part, items).future()
        except RayError as error:
            told.set_exception(_translated(error))
        else:
            asked.add_done_callback(pass_on)
        return told

    def kill(self) -> None:
        """End it now, whatever it is doing."""
        ray.kill(self._actor)


def _translated(error: BaseException) -> BaseException:
    """Return an error in the terms of `bed.fleet.dispatch`; what a model raised stays."""
    if isinstance(error, ActorUnavailableError):
        return WorkerDiedError(_first_line(error))
    if isinstance(error, RayActorError):
        return WorkerGoneError(_first_line(error))
    if isinstance(error, RayTaskError):
        cause = error.cause
        return cause if isinstance(cause, BedError) else error
    return error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]


class RayStore:
    """A store of answers for workers on any node; the file stays on this one.

    Args:
        path: of the file.
        max_bytes: limit of its size.

    Raises:
        DataError: as `bed.transport.AnswerStore` does.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        AnswerStore(path, max_bytes).close()
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._actor = (
            ray.remote(AnswerStore)
            .options(
                num_cpus=0,
                max_concurrency=_CALLS_AT_ONCE,
                max_restarts=-1,
                max_task_retries=1,
                scheduling_strategy=here,
            )
            .remote(path.resolve(), max_bytes)
        )

    def recall(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        """Return the answers that are there, see `bed.transport.AnswerStore`."""
        found: dict[bytes, Any] = self._done(self._actor.recall.remote(list(keys)))
        return found

    def keep(self, answers: Mapping[bytes, Any]) -> None:
        """Keep answers, see `bed.transport.AnswerStore`."""
        self._done(self._actor.keep.remote(dict(answers)))

    def close(self) -> None:
        """Let the file go."""
        ray.kill(self._actor)

    def _done(self, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except RayError as error:
            # to those who ask it is a store that failed, whatever the cause
            raise sqlite3.OperationalError(_first_line(error)) from error
