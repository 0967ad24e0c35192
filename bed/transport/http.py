"""Calls over HTTP to the replicas of an endpoint.

The protocols of bed are synchronous and a notebook already runs a loop, so requests run on a loop
thread of their own. Each replica has a queue and a bounded number of requests in flight. What can
pass is tried again: no answer, 408, 429 and 5xx, with full jitter, on another replica first. Other
refusals are final. The jitter comes from a hash of the call, never from hidden state.
"""

import asyncio
import atexit
import json
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Self
from weakref import WeakSet

from bed.errors import DataError
from bed.seeds import derive_seed, uniform
from bed.transport.replicas import Replica, ranked
from bed.transport.tally import Tally
from bed.transport.values import Call, Endpoint, Reply
from bed.transport.wire import Answer, ExchangeError, Post, TimedOutError, Wire

__all__ = ["HttpTransport"]

_PASSING = (408, 429, 500, 502, 503, 504)
_LEAST_WAIT, _MOST_WAIT = 0.5, 8.0
_HEALTH_SECONDS = 5.0
_SHOWN = 300

_open: "WeakSet[HttpTransport]" = WeakSet()


class HttpTransport:
    """A `Transport` over HTTP; safe to use from several threads and from a running event loop.

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
        self._post, self._sleep, self._clock = post, sleep, clock
        self._replicas = [Replica(url, clock) for url in endpoint.urls]
        self._out_since: float | None = None
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wire: Post | None = None
        self._pid = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (HttpTransport, (self.endpoint, self._post, self._sleep, self._clock))

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
            DataError: where the key's environment variable is not set, or aiohttp is missing.
        """
        if not calls:
            return []
        headers = self._headers()
        replies: list[Reply] = self._run(self._send(calls, headers))
        self.tally.add(failures=sum(reply.reason is not None for reply in replies))
        return replies

    def get(self, path: str) -> list[Reply]:
        """Return what each replica answers to a GET, asked once; text where it is no JSON.

        Args:
            path: such as "/health" or "/metrics".
        """
        headers = self._headers()

        async def ask(replica: Replica) -> Reply:
            try:
                answer = await self._exchange(replica, path, None, headers, _HEALTH_SECONDS)
            except ExchangeError as error:
                return Reply(reason=self._told(replica, str(error), headers))
            if answer.status == 200:
                return Reply(answer.body, status=200)
            return Reply(reason=self._refusal(replica, answer, headers), status=answer.status)

        async def ask_all() -> list[Reply]:
            return list(await asyncio.gather(*map(ask, self._replicas)))

        found: list[Reply] = self._run(ask_all())
        return found

    def close(self) -> None:
        """Close the connections and end the loop's thread; the next send opens them again."""
        with self._lock:
            loop, self._loop = self._loop, None
            wire, self._wire = self._wire, None
        if loop is None or self._pid != os.getpid():
            return
        if isinstance(wire, Wire):
            asyncio.run_coroutine_threadsafe(wire.close(), loop).result(timeout=5)
        loop.call_soon_threadsafe(loop.stop)

    def _run(self, work: Any) -> Any:
        try:
            loop = self._running_loop()
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # a forked child has the loop without its thread
            if self._loop is None or self._pid != os.getpid():
                loop = asyncio.new_event_loop()
                threading.Thread(target=_forever, args=(loop,), daemon=True).start()
                self._loop, self._pid = loop, os.getpid()
                self._wire = self._post or Wire()
                _open.add(self)
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
        return {"Authorization": f"Bearer {key}"}

    async def _send(self, calls: Sequence[Call], headers: Mapping[str, str]) -> list[Reply]:
        replies: list[Reply] = [Reply(reason="not sent")] * len(calls)
        queues: dict[str, deque[int]] = {replica.url: deque() for replica in self._replicas}
        # calls without a prefix go anywhere
        orders = [ranked(self._replicas, call.prefix or f"\0{at}") for at, call in enumerate(calls)]
        for at in _adjacent(calls):
            queues[orders[at][0].url].append(at)

        async def work(queue: deque[int]) -> None:
            while queue:
                at = queue.popleft()
                replies[at] = await self._reply(calls[at], orders[at], headers)

        most = self.endpoint.max_in_flight
        await asyncio.gather(
            *(work(queue) for queue in queues.values() for _ in range(min(most, len(queue))))
        )
        return replies

    async def _reply(
        self, call: Call, order: Sequence[Replica], headers: Mapping[str, str]
    ) -> Reply:
        """Return the first usable answer, or why there is none."""
        reason, status = "", None
        num_tries = 0
        while num_tries < self.endpoint.tries:
            replica = await self._available(order, headers)
            if replica is None:
                return Reply(reason=self._all_out(reason), status=status)
            num_tries += 1
            self.tally.add(requests=1, retries=int(num_tries > 1))
            wait = None
            try:
                answer = await self._exchange(
                    replica, call.path, call.body, headers, self.endpoint.timeout
                )
            except ExchangeError as error:
                replica.failed()
                reason, status = self._told(replica, str(error), headers), None
                # a server that is gone does not use up the tries; its coming back is waited for
                if replica.is_out and not isinstance(error, TimedOutError):
                    num_tries -= 1
            else:
                replica.answered()
                self._out_since = None
                if answer.status == 200 and isinstance(answer.body, dict | list):
                    self._count_tokens(answer.body)
                    return Reply(answer.body, status=200)
                reason, status = self._refusal(replica, answer, headers), answer.status
                is_crowded = answer.status == 503 and call.num_items > 1
                if is_crowded or answer.status not in (200, *_PASSING):
                    return Reply(reason=reason, status=status)
                wait = answer.retry_after
            order = [*(r for r in order if r is not replica), replica]
            if num_tries < self.endpoint.tries:
                await self._sleep(_jitter(call, num_tries) if wait is None else wait)
        return Reply(reason=f"{reason} ({num_tries} tries)", status=status)

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
            await self._sleep(_LEAST_WAIT)

    async def _is_back(self, replica: Replica, headers: Mapping[str, str]) -> bool:
        if not replica.may_check():
            return False
        try:
            answer = await self._exchange(replica, "/health", None, headers, _HEALTH_SECONDS)
        except ExchangeError:
            return False
        # a hosted service may know no /health: any answer shows that it is there
        if answer.status >= 500:
            return False
        replica.answered()
        self._out_since = None
        return True

    async def _exchange(
        self,
        replica: Replica,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        timeout: float,
    ) -> Answer:
        assert self._wire is not None
        return await self._wire(replica.url + path, body, headers, timeout)

    def _count_tokens(self, body: Any) -> None:
        usage = body.get("usage") if isinstance(body, dict) else None
        if isinstance(usage, dict):
            counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
            self.tally.add(**{k: v for k, v in counts.items() if isinstance(v, int)})

    def _refusal(self, replica: Replica, answer: Answer, headers: Mapping[str, str]) -> str:
        body = answer.body
        error = body.get("error", body.get("detail", body)) if isinstance(body, dict) else body
        message = error.get("message", error) if isinstance(error, dict) else error
        if answer.status == 200:
            return self._told(replica, f"its answer is no JSON: {message}", headers)
        hint = {
            401: "; check the key",
            403: "; check the key",
            404: "; check the URL and the model's name",
        }.get(answer.status, "")
        return self._told(replica, f"status {answer.status}: {message}{hint}", headers)

    def _told(self, replica: Replica, what: str, headers: Mapping[str, str]) -> str:
        """Return a reason that names the replica and holds no key."""
        key = headers.get("Authorization", "").removeprefix("Bearer ")
        text = f"{replica.url}: {' '.join(what.split())}"
        return (text.replace(key, "***") if key else text)[:_SHOWN]

    def _all_out(self, reason: str) -> str:
        return (
            f"none of {', '.join(self.endpoint.urls)} answers, nor did for "
            f"{self.endpoint.patience:g} s; start the servers and go on"
            + (f" (last: {reason})" if reason else "")
        )


def _adjacent(calls: Sequence[Call]) -> Iterable[int]:
    """Return the places of the calls with those of equal prefix side by side, else in order."""
    first: dict[str, int] = {}
    for at, call in enumerate(calls):
        first.setdefault(call.prefix, at)
    return sorted(range(len(calls)), key=lambda at: (first[calls[at].prefix], at))


def _jitter(call: Call, num_tries: int) -> float:
    """Return seconds to wait: full jitter under a ceiling that doubles with each try."""
    ceiling = min(_MOST_WAIT, _LEAST_WAIT * 2.0**num_tries)
    seed = derive_seed("jitter", call.path, json.dumps(call.body, default=str), num_tries)
    return _LEAST_WAIT + (ceiling - _LEAST_WAIT) * uniform(seed)


def _forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


@atexit.register
def _close_all() -> None:
    for transport in list(_open):
        transport.close()
