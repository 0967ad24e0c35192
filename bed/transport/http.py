"""Calls over HTTP to the replicas of an endpoint.

Each replica has a bounded number of requests in flight, whoever sends them. Calls of equal prefix
go to one replica, the others in turn. What can pass is tried again, on another replica first;
other refusals are final.
"""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Self

from bed.errors import DataError
from bed.transport.faults import can_pass, refusal, seconds_to_wait
from bed.transport.loop import LoopThread
from bed.transport.replicas import Replica, ranked
from bed.transport.tally import Tally
from bed.transport.values import Call, Endpoint, Reply
from bed.transport.wire import ExchangeError, Post, Wire

__all__ = ["HttpTransport"]

_HEALTH_SECONDS = 5.0
_SECONDS_BETWEEN_LOOKS = 0.5
_SHOWN = 300


class HttpTransport:
    """A `Transport` over HTTP; safe to use from several threads and from a running event loop.

    It pickles by its settings: a copy opens its own connections and counts anew.

    Args:
        endpoint: where the replicas are, and how patiently they are asked.
        post: one exchange; aiohttp by default.
        sleep: waits between tries.
        clock: seconds, from any start.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        post: Post | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.endpoint = endpoint
        self.tally = Tally()
        self._given, self._sleep, self._clock = post, sleep, clock
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (HttpTransport, (self.endpoint, self._given, self._sleep, self._clock))

    def __repr__(self) -> str:
        return f"HttpTransport({self.endpoint!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, calls: Sequence[Call]) -> list[Reply]:
        """Return a reply for every call, in order; a call that failed has a reason.

        An interrupt drops what is under way; the transport stays usable.

        Raises:
            DataError: where the key's environment variable holds none, or aiohttp is missing.
        """
        if not calls:
            return []
        headers = self._headers()
        replies = self._opened().run(self._send(calls, headers))
        self.tally.add(failures=sum(reply.reason is not None for reply in replies))
        return replies

    def get(self, path: str) -> list[Reply]:
        """Return what each replica answers to a GET, asked once; text where it is no JSON.

        Args:
            path: such as "/health" or "/metrics".

        Raises:
            DataError: as `send` does.
        """
        headers = self._headers()

        async def ask(replica: Replica) -> Reply:
            try:
                answer = await self._post(replica.url + path, None, headers, _HEALTH_SECONDS)
            except ExchangeError as error:
                return Reply(reason=_told(replica, str(error), headers))
            if answer.status == 200:
                return Reply(answer.body, status=200)
            return Reply(reason=_told(replica, refusal(answer), headers), status=answer.status)

        async def ask_all() -> list[Reply]:
            return list(await asyncio.gather(*map(ask, self._replicas)))

        return self._opened().run(ask_all())

    def close(self) -> None:
        """Close the connections and drop what is under way; the next send opens them again."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def _opened(self) -> LoopThread:
        """Return the loop; where there is none yet, start it with all that lives on it."""
        with self._lock:
            if self._loop is None or not self._loop.is_running:
                self._post: Post
                if self._given is None:
                    self._post = wire = Wire()
                    at_end = wire.close
                else:
                    self._post, at_end = self._given, None
                self._replicas = [
                    Replica(url, asyncio.Semaphore(self.endpoint.max_in_flight), self._clock)
                    for url in self.endpoint.urls
                ]
                self._turns = count()
                self._out_since: float | None = None
                self._loop = LoopThread(at_end)
            return self._loop

    def _headers(self) -> dict[str, str]:
        name = self.endpoint.key_env
        if name is None:
            return {}
        key = os.environ.get(name, "").strip()
        if not key:
            raise DataError(
                f"the environment variable {name} is not set; it must hold the key of "
                f"{', '.join(self.endpoint.urls)}"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise DataError(
                f"the environment variable {name} holds no key: it has a space, a line break or a "
                "character beyond ASCII"
            )
        return {"Authorization": f"Bearer {key}"}

    async def _send(self, calls: Sequence[Call], headers: Mapping[str, str]) -> list[Reply]:
        replies: list[Reply] = [Reply(reason="not sent")] * len(calls)
        orders = [self._order(call) for call in calls]
        queues: dict[str, deque[int]] = {replica.url: deque() for replica in self._replicas}
        for at in _adjacent(calls):
            queues[orders[at][0].url].append(at)

        async def work(queue: deque[int]) -> None:
            while queue:
                at = queue.popleft()
                try:
                    replies[at] = await self._reply(calls[at], orders[at], headers)
                except DataError as error:
                    replies[at] = Reply(reason=str(error))

        workers = [
            asyncio.ensure_future(work(queue))
            for queue in queues.values()
            for _ in range(min(self.endpoint.max_in_flight, len(queue)))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
        return replies

    def _order(self, call: Call) -> list[Replica]:
        """Return the replicas in the order in which a call tries them."""
        if call.prefix:
            return ranked(self._replicas, call.prefix)
        turn = next(self._turns) % len(self._replicas)
        return [*self._replicas[turn:], *self._replicas[:turn]]

    async def _reply(
        self, call: Call, order: Sequence[Replica], headers: Mapping[str, str]
    ) -> Reply:
        """Return the first usable answer, or why there is none."""
        last = Reply(reason="")
        num_tries = 0
        while True:
            replica = await self._available(order, headers)
            if replica is None:
                return Reply(reason=self._all_out(last), status=last.status)
            async with replica.slots:
                # it may have gone while this call waited for its turn
                if replica.is_out:
                    continue
                num_tries += 1
                self.tally.add(requests=1, retries=int(num_tries > 1))
                wait = None
                try:
                    answer = await self._post(
                        replica.url + call.path, call.body, headers, self.endpoint.timeout
                    )
                except ExchangeError as error:
                    replica.failed()
                    last = Reply(reason=_told(replica, str(error), headers))
                else:
                    replica.answered()
                    self._out_since = None
                    if answer.status == 200 and isinstance(answer.body, dict | list):
                        self._count_tokens(answer.body)
                        return Reply(answer.body, status=200)
                    last = Reply(
                        reason=_told(replica, refusal(answer), headers), status=answer.status
                    )
                    wait = answer.retry_after
                    if not can_pass(call, answer):
                        return last
            if num_tries == self.endpoint.tries:
                tries = "1 try" if num_tries == 1 else f"{num_tries} tries"
                return Reply(reason=f"{last.reason} ({tries})", status=last.status)
            if wait is None:
                wait = seconds_to_wait(call, num_tries)
            elif wait > self.endpoint.patience:
                asked = f"{last.reason}; it asks to wait {wait:g} s, more than the patience"
                return Reply(reason=asked, status=last.status)
            order = [*(other for other in order if other is not replica), replica]
            await self._sleep(wait)

    async def _available(
        self, order: Sequence[Replica], headers: Mapping[str, str]
    ) -> Replica | None:
        """Return the first replica that is not passed over; wait for one while patience lasts."""
        while True:
            for replica in order:
                if not replica.is_out or await self._is_back(replica, headers):
                    return replica
            now = self._clock()
            if self._out_since is None:
                self._out_since = now
            if now - self._out_since > self.endpoint.patience:
                return None
            await self._sleep(_SECONDS_BETWEEN_LOOKS)

    async def _is_back(self, replica: Replica, headers: Mapping[str, str]) -> bool:
        if not replica.may_check():
            return False
        try:
            answer = await self._post(replica.url + "/health", None, headers, _HEALTH_SECONDS)
        except ExchangeError:
            return False
        # a hosted service may know no /health: any answer shows that it is there
        if answer.status >= 500:
            return False
        replica.answered()
        self._out_since = None
        return True

    def _count_tokens(self, body: Any) -> None:
        usage = body.get("usage") if isinstance(body, dict) else None
        if isinstance(usage, dict):
            counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
            self.tally.add(**{k: v for k, v in counts.items() if isinstance(v, int)})

    def _all_out(self, last: Reply) -> str:
        return (
            f"none of {', '.join(self.endpoint.urls)} answers, nor did for "
            f"{self.endpoint.patience:g} s; start the servers and go on"
            + (f" (last: {last.reason})" if last.reason else "")
        )


def _adjacent(calls: Sequence[Call]) -> Iterable[int]:
    """Return the places of the calls with those of equal prefix side by side, else in order."""
    first: dict[str, int] = {}
    for at, call in enumerate(calls):
        first.setdefault(call.prefix, at)
    return sorted(range(len(calls)), key=lambda at: (first[calls[at].prefix], at))


def _told(replica: Replica, what: str, headers: Mapping[str, str]) -> str:
    """Return a reason that names the replica and holds no key."""
    key = headers.get("Authorization", "").removeprefix("Bearer ")
    text = f"{replica.url}: {' '.join(what.split())}"
    return (text.replace(key, "***") if key else text)[:_SHOWN]
