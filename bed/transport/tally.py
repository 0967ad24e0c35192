"""Counts of what was sent to the servers of an endpoint and what came of it."""

import math
from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import Any

__all__ = ["Tally"]

_QUANTILES = (0.5, 0.9, 0.99)
_STEP = math.log(1.05)

Key = tuple[str, str | int]
"""Server ("" for the endpoint as a whole) and counter; a number counts answers of that latency."""


class Tally:
    """Counters by server and name, safe to use from several threads.

    Names in use: requests, retries, failures, prompt_tokens, completion_tokens; cache_hits and
    cache_errors; and from those who read the answers, unreadable, contradictory and fallbacks.
    Latencies are kept in bins that are 5% wide.
    """

    def __init__(self) -> None:
        self._counts: Counter[Key] = Counter()
        self._lock = Lock()

    def add(self, server: str = "", /, **counts: int) -> None:
        """Add to the counters of a server, or of the endpoint as a whole."""
        with self._lock:
            self._counts.update({(server, name): count for name, count in counts.items()})

    def took(self, server: str, seconds: float) -> None:
        """Count one answer by its latency."""
        bin_ = round(math.log(max(seconds, 1e-6)) / _STEP)
        with self._lock:
            self._counts[server, bin_] += 1

    def take(self) -> dict[Key, int]:
        """Return everything counted, and start anew: for a tally elsewhere, see `give`."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return dict(counts)

    def give(self, counts: Mapping[Key, int]) -> None:
        """Add what another tally counted.

        Args:
            counts: as `take` returns them.
        """
        with self._lock:
            self._counts.update(counts)

    def snapshot(self) -> dict[str, int]:
        """Return the counters that are not 0, by name, over all servers."""
        return _named(self._copy())

    def report(self) -> dict[str, Any]:
        """Return everything counted, as JSON.

        That is the counters, `latency_s` (seconds at the quantiles p50, p90 and p99, within 2.5%,
        where anything was answered), and `servers`: the same for each.
        """
        counts = self._copy()
        servers = sorted({server for server, _ in counts if server})
        each = {
            server: _told(Counter({key: n for key, n in counts.items() if key[0] == server}))
            for server in servers
        }
        return _told(counts) | ({"servers": each} if each else {})

    def _copy(self) -> Counter[Key]:
        with self._lock:
            return Counter(self._counts)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Tally, ())


def _named(counts: Mapping[Key, int]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (_, name), count in counts.items():
        if isinstance(name, str):
            found[name] += count
    return {name: count for name, count in sorted(found.items()) if count}


def _told(counts: Mapping[Key, int]) -> dict[str, Any]:
    bins: Counter[int] = Counter()
    for (_, name), count in counts.items():
        if isinstance(name, int):
            bins[name] += count
    found: dict[str, Any] = dict(_named(counts))
    if bins:
        found["latency_s"] = {f"p{100 * q:g}": _quantile(bins, q) for q in _QUANTILES}
    return found


def _quantile(bins: Mapping[int, int], share: float) -> float:
    left = share * sum(bins.values())
    for place in sorted(bins):
        left -= bins[place]
        if left <= 0:
            break
    return float(f"{math.exp(place * _STEP):.3g}")
