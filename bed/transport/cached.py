"""A transport that remembers: what a server answered once is not asked again."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Protocol

from bed.transport.batches import in_order
from bed.transport.tally import Tally
from bed.transport.values import Call, OnReply, Reply, Transport

__all__ = ["CachedTransport", "Store"]

_SECONDS_BETWEEN_KEEPS = 1.0


class Store(Protocol):
    """Keeps JSON values by key, as `bed.transport.AnswerStore` does; it fails by sqlite3.Error."""

    def recall(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        """Return the answers that are there, by key."""
        ...

    def keep(self, answers: Mapping[bytes, Any]) -> None:
        """Keep answers, all of them or none."""
        ...

    def close(self) -> None:
        """Let go of what it holds open."""
        ...


class CachedTransport:
    """Sends on only what the store does not know; each prompt of a batch is known by itself.

    Refusals and answers without rows are never kept. What comes is kept about once a second, so
    that a long batch that is broken off was not in vain. The tally counts the prompts that were
    known as `cache_hits`. Where the store fails, on a full disk for instance, calls go on without
    it and `cache_errors` are counted.

    Args:
        transport: asks the servers.
        store: where answers are kept; several transports may share it.
        identity: JSON of what answers depend on beside the call: revision, precision, ...
    """

    def __init__(self, transport: Transport, store: Store, identity: Any) -> None:
        self.transport, self.store, self.identity = transport, store, identity

    @property
    def tally(self) -> Tally:
        """What was sent and what came of it."""
        return self.transport.tally

    def send(self, calls: Sequence[Call], on_reply: OnReply | None = None) -> list[Reply]:
        """Return a reply for every call, in order; see `bed.transport.Transport`."""
        keys = [self._keys(call) for call in calls]
        known = self._recalled(key for of in keys for key in of)
        lacking = [[i for i, key in enumerate(of) if key not in known] for of in keys]
        self.tally.add(cache_hits=sum(map(len, keys)) - sum(map(len, lacking)))
        replies: dict[int, Reply] = {}
        new = _Fresh(self._keep)

        def take(at: int, reply: Reply) -> None:
            """Add what is known to what a server answered, and keep the rest."""
            call, of, places = calls[at], keys[at], lacking[at]
            rows = _rows(call, reply, len(places))
            if rows is not None:
                here = {of[place]: row for place, row in zip(places, rows, strict=True)}
                new.add(here)
                whole = [{**(here.get(key) or known[key]), "index": i} for i, key in enumerate(of)]
                reply = replace(reply, body={**reply.body, call.rows: whole})
            replies[at] = reply
            if on_reply is not None:
                on_reply(at, reply)

        asked = [at for at, call in enumerate(calls) if lacking[at] or not call.rows]
        for at in sorted(set(range(len(calls))) - set(asked)):
            take(at, Reply({}, status=200))
        try:
            shortened = [_shortened(calls[at], lacking[at]) for at in asked]
            self.transport.send(shortened, lambda i, reply: take(asked[i], reply))
        finally:
            new.keep()
        return [replies[at] for at in range(len(calls))]

    def _keys(self, call: Call) -> list[bytes]:
        """Return a key for each prompt of a call; none where its answer is not to be kept."""
        if not call.rows:
            return []
        rest = {name: value for name, value in call.body.items() if name != call.batch}
        common = json.dumps([self.identity, call.path, call.salt, rest], sort_keys=True)
        prompts = call.body[call.batch] if call.batch else [None]
        return [sha256(f"{common}\0{json.dumps(prompt)}".encode()).digest() for prompt in prompts]

    def _recalled(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        try:
            return self.store.recall(keys)
        except sqlite3.Error:
            self.tally.add(cache_errors=1)
            return {}

    def _keep(self, answers: Mapping[bytes, Any]) -> None:
        try:
            if answers:
                self.store.keep(answers)
        except sqlite3.Error:
            self.tally.add(cache_errors=1)


class _Fresh:
    """Answers that are to be kept, about once a second."""

    def __init__(self, keep: Callable[[Mapping[bytes, Any]], None]) -> None:
        self._keep = keep
        self._answers: dict[bytes, Any] = {}
        self._kept_at = time.monotonic()

    def add(self, answers: Mapping[bytes, Any]) -> None:
        self._answers |= answers
        if time.monotonic() - self._kept_at >= _SECONDS_BETWEEN_KEEPS:
            self.keep()

    def keep(self) -> None:
        answers, self._answers = self._answers, {}
        self._keep(answers)
        self._kept_at = time.monotonic()


def _shortened(call: Call, places: Sequence[int]) -> Call:
    """Return a call with some of its prompts."""
    if not call.batch or not call.rows or len(places) == call.num_items:
        return call
    prompts = [call.body[call.batch][place] for place in places]
    return replace(call, body={**call.body, call.batch: prompts})


def _rows(call: Call, reply: Reply, count: int) -> list[Mapping[str, Any]] | None:
    """Return the rows that answer so many prompts in order; None where they are not all there."""
    if reply.reason is not None or not call.rows:
        return None
    if not count:
        return []
    try:
        found = reply.body[call.rows]
        rows = in_order(found) if call.batch else list(found)
        json.dumps(rows, allow_nan=False)
    except (KeyError, TypeError, ValueError):
        return None
    is_whole = len(rows) == count and all(isinstance(row, Mapping) for row in rows)
    return rows if is_whole else None
