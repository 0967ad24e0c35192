"""Calls over HTTP to the replicas of an endpoint.

Each replica has a bounded number of requests in flight, whoever sends them. Calls of equal prefix
go to one replica, the others in turn; a replica that has nothing left takes from those that have
much. What can pass is tried again, on another replica first; other refusals are final.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any, Self

from bed.errors import DataError
from bed.transport.faults import can_pass, refusal, seconds_to_wait
from bed.transport.loop import LoopThread
from bed.transport.replicas import Replica, Replicas
from bed.transport.runs import Waiting, runs_of
from bed.transport.tally import Tally
from bed.transport.values import Call, Endpoint, EndpointDownError, OnReply, Reply, Vetting
from bed.transport.wire import ExchangeError, Post, UnreachableError, Wire

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
        vetting: what a replica must show before it is asked anything, and when it comes back.
        share: place and number of those who ask the endpoint, see `Replicas`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        post: Post | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        vetting: Vetting | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self.endpoint, self.vetting, self.share = endpoint, vetting, share
        self.tally = Tally()
        self._given, self._sleep, self._clock = post, sleep, clock
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self._given, self._sleep, self._clock)
        return (HttpTransport, (self.endpoint, *given, self.vetting, self.share))

    def __repr__(self) -> str:
        return f"HttpTransport({self.endpoint!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, calls: Sequence[Call], on_reply: OnReply | None = None) -> list[Reply]:
        """Return a reply for every call, in order; a call that failed has a reason.

        An interrupt drops what is under way; the transport stays usable.

        Raises:
            DataError: where the key's environment variable holds none, or aiohttp is missing.
            EndpointDownError: where no replica can be asked for as long as patience lasts.
        """
        if not calls:
            return []
        headers = self._headers()
        replies = self._opened().run(self._send(calls, headers, on_reply))
        self.tally.add(failures=sum(reply.reason is not None for reply in replies))
        return replies

    def get(self, path: str) -> dict[str, Reply]:
        """Return what each replica, by URL, answers to a GET, asked once; text if it is no JSON.

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

        async def ask_all() -> dict[str, Reply]:
            replicas = self._replicas.current()
            replies = await asyncio.gather(*map(ask, replicas))
            return {of.url: reply for of, reply in zip(replicas, replies, strict=True)}

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
                self._replicas = Replicas(
                    self.endpoint, self.share, self.vetting is None, self._clock
                )
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
                f"{self.endpoint.place}"
            )
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise DataError(
                f"the environment variable {name} holds no key: it has a space, a line break or a "
                "character beyond ASCII"
            )
        return {"Authorization": f"Bearer {key}"}

    async def _send(
        self, calls: Sequence[Call], headers: Mapping[str, str], on_reply: OnReply | None
    ) -> list[Reply]:
        replies: list[Reply] = [Reply(reason="not sent")] * len(calls)
        waiting = runs_of(calls, self._home, self.endpoint.max_in_flight)

        async def work(url: str) -> None:
            while (at := waiting.next_of(url)) is not None:
                try:
                    replies[at] = await self._reply(calls[at], url, headers)
                except DataError as error:
                    replies[at] = Reply(reason=str(error))
                if on_reply is not None:
                    on_reply(at, replies[at])

        workers: list[asyncio.Future[None]] = []
        at_work: set[str] = set()
        try:
            while True:
                for url in self._places(waiting) - at_work:
                    at_work.add(url)
                    count = min(self.endpoint.max_in_flight, len(calls))
                    workers += [asyncio.ensure_future(work(url)) for _ in range(count)]
                busy = [worker for worker in workers if not worker.done()]
                if not busy:
                    break
                # replicas that are listed meanwhile take part
                look = None if self.endpoint.urls_file is None else _SECONDS_BETWEEN_LOOKS
                done, _ = await asyncio.wait(
                    busy, timeout=look, return_when=asyncio.FIRST_EXCEPTION
                )
                for worker in done:
                    worker.result()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return replies

    def _home(self, prefix: str) -> str:
        """Return the URL of the replica that a call of this prefix waits for; empty where none."""
        order = self._replicas.order(prefix, 0 if prefix else next(self._turns))
        return order[0].url if order else ""

    def _places(self, waiting: Waiting) -> set[str]:
        """Return for which replicas calls are to be taken: those of this share, and who waits."""
        place, count = self.share
        return {r.url for r in self._replicas.current()[place::count]} | set(waiting.runs)

    async def _reply(self, call: Call, url: str, headers: Mapping[str, str]) -> Reply:
        """Return the first usable answer, or why there is none.

        Args:
            call: what is asked.
            url: of the replica that is asked first.
            headers: of each request.
        """
        last = Reply(reason="")
        tried: list[str] = []
        while True:
            replica = await self._available(call, url, tried, headers, last)
            async with replica.slots:
                # it may have gone while this call waited for its turn
                if replica.is_out:
                    continue
                self.tally.add(replica.url, requests=1, retries=int(bool(tried)))
                tried.append(replica.url)
                wait, tries = None, self.endpoint.tries
                started = self._clock()
                try:
                    answer = await self._post(
                        replica.url + call.path, call.body, headers, self.endpoint.timeout
                    )
                except UnreachableError as error:
                    replica.unreachable()
                    last = Reply(reason=_told(replica, str(error), headers))
                    # no fault of the call; a server that looks sound may yet never be reached
                    wait, tries = 0.0, 2 * tries
                except ExchangeError as error:
                    replica.failed()
                    last = Reply(reason=_told(replica, str(error), headers))
                else:
                    replica.answered()
                    self._out_since = None
                    if answer.status == 200 and isinstance(answer.body, dict | list):
                        self.tally.took(replica.url, self._clock() - started)
                        self._count_tokens(replica, answer.body)
                        return Reply(answer.body, status=200)
                    last = Reply(
                        reason=_told(replica, refusal(answer), headers), status=answer.status
                    )
                    wait = answer.retry_after
                    if not can_pass(call, answer):
                        return last
            if len(tried) >= tries:
                count = "1 try" if len(tried) == 1 else f"{len(tried)} tries"
                return Reply(reason=f"{last.reason} ({count})", status=last.status)
            if wait is None:
                wait = seconds_to_wait(call, len(tried))
            elif wait > self.endpoint.patience:
                asked = f"{last.reason}; it asks to wait {wait:g} s, more than the patience"
                return Reply(reason=asked, status=last.status)
            await self._sleep(wait)

    async def _available(
        self,
        call: Call,
        url: str,
        tried: Sequence[str],
        headers: Mapping[str, str],
        last: Reply,
    ) -> Replica:
        """Return the first replica that is not passed over; wait for one while patience lasts.

        Those that were tried come last, the one that was tried longest ago before the others.
        """

        def place(replica: Replica) -> tuple[int, bool]:
            times = [at for at, other in enumerate(tried) if other == replica.url]
            return max(times, default=-1), replica.url != url

        while True:
            for replica in sorted(self._replicas.order(call.prefix, 0), key=place):
                if not replica.is_out or await self._is_back(replica, headers):
                    return replica
            now = self._clock()
            if self._out_since is None:
                self._out_since = now
            listed = self._replicas.current()
            is_checked = any(replica.is_checked for replica in listed)
            is_over = now - self._out_since > self.endpoint.patience
            # where all are there and none is what it should be, waiting does not help
            is_over |= bool(listed) and all(replica.fault for replica in listed)
            if is_over and not is_checked:
                # whoever asks again waits again
                self._out_since = None
                raise EndpointDownError(self._all_out(last))
            await self._sleep(_SECONDS_BETWEEN_LOOKS)

    async def _is_back(self, replica: Replica, headers: Mapping[str, str]) -> bool:
        if replica.is_checked or not replica.may_check():
            return False
        replica.is_checked = True
        try:
            answer = await self._post(replica.url + "/health", None, headers, _HEALTH_SECONDS)
            # a hosted service may know no /health: any answer shows that it is there
            if answer.status >= 500:
                return False
            replica.fault = await self._fault(replica, headers)
        except ExchangeError:
            replica.fault = ""
            return False
        finally:
            replica.is_checked = False
        if replica.fault:
            return False
        replica.is_vetted = True
        replica.answered()
        self._out_since = None
        return True

    async def _fault(self, replica: Replica, headers: Mapping[str, str]) -> str:
        """Return what a replica fails to show; empty where nothing is wrong."""
        if self.vetting is None:
            return ""
        bodies = []
        for call in self.vetting.calls:
            answer = await self._post(
                replica.url + call.path, call.body, headers, self.endpoint.timeout
            )
            if answer.status != 200:
                return _told(replica, refusal(answer), headers)
            bodies.append(answer.body)
        found = self.vetting.fault(bodies)
        return _told(replica, found, headers) if found else ""

    def _count_tokens(self, replica: Replica, body: Any) -> None:
        usage = body.get("usage") if isinstance(body, dict) else None
        if isinstance(usage, dict):
            counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
            whole = {name: count for name, count in counts.items() if isinstance(count, int)}
            self.tally.add(replica.url, **whole)

    def _all_out(self, last: Reply) -> str:
        listed = self._replicas.current()
        faults = [replica.fault for replica in listed if replica.fault]
        if listed and len(faults) == len(listed):
            return f"no server is what it should be: {'; '.join(faults)}"
        why = "; ".join([*faults, *([f"last: {last.reason}"] if last.reason else [])])
        return (
            f"none of {self.endpoint.place} answers, nor did for {self.endpoint.patience:g} s; "
            "start the servers and go on" + (f" ({why})" if why else "")
        )


def _told(replica: Replica, what: str, headers: Mapping[str, str]) -> str:
    """Return a reason that names the replica and holds no key."""
    key = headers.get("Authorization", "").removeprefix("Bearer ")
    text = f"{replica.url}: {' '.join(what.split())}"
    return (text.replace(key, "***") if key else text)[:_SHOWN]
