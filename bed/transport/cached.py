"""A transport that remembers: what a server answered once is not asked again."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from bed.transport.batches import in_order
from bed.transport.store import AnswerStore
from bed.transport.tally import Tally
from bed.transport.values import Call, Reply, Transport

__all__ = ["CachedTransport"]


class CachedTransport:
    """Sends on only what the store does not know; each prompt of a batch is known by itself.

    Refusals and answers without rows are never kept. The tally counts the prompts that were known
    as `cache_hits`. Where the store fails, on a full disk for instance, calls go on without it and
    `cache_errors` are counted.

    Args:
        transport: asks the servers.
        store: where answers are kept; several transports may share it.
        identity: JSON of what answers depend on beside the call: revision, precision, ...
    """

    def __init__(self, transport: Transport, store: AnswerStore, identity: Any) -> None:
        self.transport, self.store, self.identity = transport, store, identity

    @property
    def tally(self) -> Tally:
        """What was sent and what came of it."""
        return self.transport.tally

    def send(self, calls: Sequence[Call]) -> list[Reply]:
        """Return a reply for every call, in order; a call that failed has a reason."""
        keys = [self._keys(call) for call in calls]
        known = self._recalled(key for of in keys for key in of)
        lacking = [[i for i, key in enumerate(of) if key not in known] for of in keys]
        pairs = list(zip(calls, lacking, strict=True))
        asked = [_shortened(call, places) for call, places in pairs if places or not call.rows]
        answers = iter(self.transport.send(asked))
        replies: list[Reply] = []
        new: dict[bytes, Any] = {}
        for (call, places), of in zip(pairs, keys, strict=True):
            reply = next(answers) if places or not call.rows else Reply({}, status=200)
            rows = _rows(call, reply, len(places))
            if rows is None:
                replies.append(reply)
                continue
            here = {of[place]: row for place, row in zip(places, rows, strict=True)}
            new |= here
            whole = [{**(here.get(key) or known[key]), "index": i} for i, key in enumerate(of)]
            replies.append(replace(reply, body={**reply.body, call.rows: whole}))
        self.tally.add(cache_hits=sum(map(len, keys)) - sum(map(len, lacking)))
        self._keep(new)
        return replies

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
