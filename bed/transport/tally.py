"""Counts of what was sent to a server and what came of it."""

from collections import Counter
from threading import Lock
from typing import Any

__all__ = ["Tally"]


class Tally:
    """Counters by name, safe to use from several threads.

    Names in use: requests, retries, failures, prompt_tokens, completion_tokens; cache_hits and
    cache_errors; and from those who read the answers, unreadable, contradictory and fallbacks.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, **counts: int) -> None:
        """Add to the counters."""
        with self._lock:
            self._counts.update(counts)

    def snapshot(self) -> dict[str, int]:
        """Return the counters that are not 0, by name."""
        with self._lock:
            return {name: count for name, count in sorted(self._counts.items()) if count}

    def __reduce__(self) -> tuple[Any, ...]:
        return (Tally, ())
