"""Shards on workers that may be slow, refuse, or die.

Each worker has at most two shards in flight; what waits for a slow one is taken over by one that
has nothing left. A worker that dies costs the shards that it held: they are asked again at the end,
one at a time, halved as often as they kill a worker, so that only a query to blame fails. Which
worker answers never changes an answer.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from bed.errors import BedError
from bed.fleet.shards import Shard
from bed.transport import EndpointDownError

__all__ = ["FleetError", "Lost", "Worker", "WorkerDiedError", "WorkerGoneError", "dispatch"]

_AT_ONCE = 2
_DEATHS_TO_LOSE = 3
_SECONDS_BETWEEN_LOOKS = 0.5


class FleetError(BedError, RuntimeError):
    """There is no worker left, or the fleet was closed."""


class WorkerDiedError(BedError, RuntimeError):
    """A worker died with what it held, and comes back."""


class WorkerGoneError(BedError, RuntimeError):
    """A worker is no more, and does not come back."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Stands for the answer to an item that no worker survived."""

    reason: str


class Worker(Protocol):
    """Answers items somewhere else, several shards at once."""

    def submit(self, part: str, items: Sequence[Any]) -> Future[Sequence[Any]]:
        """Return a future of an answer to every item, in order.

        It raises WorkerDiedError or WorkerGoneError where the worker did not survive,
        EndpointDownError where it reaches no server, and whatever the part raises.
        """
        ...


def dispatch(
    workers: Sequence[Worker],
    part: str,
    items: Sequence[Any],
    shards: Sequence[Sequence[Shard]],
    is_closed: Callable[[], bool] = lambda: False,
) -> list[Any]:
    """Return an answer to every item, in order; `Lost` where it killed three workers, alone.

    Args:
        workers: at least one.
        part: which of the workers' models is asked.
        items: queries or requests.
        shards: of each worker, as `shared_out` gives them.
        is_closed: whether to give up; looked at twice a second.

    Raises:
        EndpointDownError: where no worker reaches a server.
        FleetError: where all workers are gone, or to give up.
    """
    under_way = _UnderWay({at: deque(map(_Held, of)) for at, of in enumerate(shards)})
    answers: list[Any] = [None] * len(items)
    while under_way.fill(lambda at, shard: workers[at].submit(part, [items[i] for i in shard])):
        done, _ = wait(under_way.running, _SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
        if is_closed():
            raise FleetError("the fleet was closed while it was asked")
        for future in done:
            for place, answer in under_way.take(future):
                answers[place] = answer
    return answers


@dataclass(eq=False)
class _Held:
    """A shard, and what happened to it.

    Attributes:
        shard: places of its items.
        unfit: workers that reached no server for it, and what they said.
        deaths: of workers that held it alone.
        last: the worker that died with it.
    """

    shard: Shard
    unfit: dict[int, EndpointDownError] = field(default_factory=dict)
    deaths: int = 0
    last: int | None = None


@dataclass(eq=False)
class _UnderWay:
    """What waits, what runs, and what is under suspicion.

    Attributes:
        waiting: shards by the worker that they wait for, which is fit for them; a worker that has
            no queue is gone.
        suspects: shards that a worker died with, to be run alone.
        running: who answers what.
        alone: workers that run a suspect.
    """

    waiting: dict[int, deque[_Held]]
    suspects: list[_Held] = field(default_factory=list)
    running: dict[Future[Sequence[Any]], tuple[int, _Held]] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)

    def fill(self, submit: Callable[[int, Shard], Future[Sequence[Any]]]) -> bool:
        """Give every worker what it can take; return whether anything runs."""
        for at in list(self.waiting):
            while (held := self._next(at)) is not None:
                self.running[submit(at, held.shard)] = (at, held)
        return bool(self.running)

    def _next(self, at: int) -> _Held | None:
        count = sum(worker == at for worker, _ in self.running.values())
        if at in self.alone or count >= _AT_ONCE:
            return None
        own = self.waiting[at]
        if own:
            return own.popleft()
        if (taken := self._taken_over(at)) is not None:
            return taken
        if count or any(self.waiting.values()):
            return None
        return self._suspect(at)

    def _taken_over(self, at: int) -> _Held | None:
        """Return a shard from the end of the longest queue that has one for this worker."""
        for queue in sorted(self.waiting.values(), key=len, reverse=True):
            for held in reversed(queue):
                if at not in held.unfit:
                    queue.remove(held)
                    return held
        return None

    def _suspect(self, at: int) -> _Held | None:
        """Return a suspect for a worker that holds nothing else, another than before if may be."""
        for held in self.suspects:
            fit = self._fit(held)
            if at in fit and (held.last != at or len(fit) == 1):
                self.suspects.remove(held)
                self.alone.add(at)
                return held
        return None

    def take(self, future: Future[Sequence[Any]]) -> list[tuple[int, Any]]:
        """Return the answers that a future brought, by place; put back what it did not bring."""
        at, held = self.running.pop(future)
        was_alone = at in self.alone
        self.alone.discard(at)
        try:
            found = future.result()
        except WorkerGoneError as error:
            self._gone(at, error)
            self._put_back(held, was_alone)
        except EndpointDownError as error:
            held.unfit[at] = error
            self._put_back(held, was_alone)
        except WorkerDiedError as error:
            held.last = at
            if not was_alone:
                self.suspects.append(held)
            elif len(held.shard) > 1:
                middle = len(held.shard) // 2
                halves = (held.shard[:middle], held.shard[middle:])
                self.suspects += [_Held(half, dict(held.unfit), last=at) for half in halves]
            else:
                held.deaths += 1
                if held.deaths >= _DEATHS_TO_LOSE:
                    why = f"{held.deaths} workers that were given it alone died; the last: {error}"
                    return [(held.shard[0], Lost(why))]
                self.suspects.append(held)
        else:
            if len(found) != len(held.shard):
                raise BedError(f"a worker gave {len(found)} answers to {len(held.shard)} items")
            return list(zip(held.shard, found, strict=True))
        return []

    def _gone(self, at: int, error: WorkerGoneError) -> None:
        """Hand what waits for a worker to the others."""
        orphans = self.waiting.pop(at, ())
        if not self.waiting:
            raise FleetError(f"all workers of the fleet are gone; the last: {error}") from error
        for orphan in orphans:
            self._put_back(orphan, to_run_alone=False)
        for suspect in self.suspects:
            self._fit(suspect)

    def _put_back(self, held: _Held, to_run_alone: bool) -> None:
        fit = self._fit(held)
        if to_run_alone:
            self.suspects.append(held)
        else:
            min((self.waiting[at] for at in fit), key=len).append(held)

    def _fit(self, held: _Held) -> list[int]:
        """Return the workers that may reach a server for a shard.

        Raises:
            EndpointDownError: where there is none.
        """
        fit = [at for at in self.waiting if at not in held.unfit]
        if not fit:
            raise list(held.unfit.values())[-1]
        return fit
