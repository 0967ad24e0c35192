"""Waiting calls, shared out over replicas so that calls of equal prefix stay together."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bed.transport.values import Call

__all__ = ["Waiting", "runs_of"]

_LONGEST_RUN = 64

Run = deque[int]
"""Places of calls of one prefix."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Runs of calls by the URL of the replica that they wait for.

    A replica that has nothing left takes a run from another that has more waiting than it can have
    in flight.

    Attributes:
        runs: each replica's, the next one first.
        max_in_flight: of one replica.
    """

    runs: dict[str, deque[Run]]
    max_in_flight: int

    def next_of(self, url: str) -> int | None:
        """Return the place of the next call of a replica; None where nothing is left for it.

        Args:
            url: of the replica; one that nothing waited for takes from the others.
        """
        own = self.runs.setdefault(url, deque())
        if not own and (taken := self._taken()) is not None:
            own.append(taken)
        if not own:
            return None
        at = own[0].popleft()
        if not own[0]:
            own.popleft()
        return at

    def _taken(self) -> Run | None:
        longest = max(self.runs.values(), key=_num_calls)
        if len(longest) < 2 or _num_calls(longest) <= self.max_in_flight:
            return None
        return longest.pop()


def _num_calls(runs: deque[Run]) -> int:
    return sum(map(len, runs))


def runs_of(calls: Sequence[Call], home: Callable[[str], str], max_in_flight: int) -> Waiting:
    """Return the calls as runs of equal prefix, in the order in which the prefixes first stand.

    A long run is cut, so that a prefix that all calls share does not keep one replica busy alone.

    Args:
        calls: in any order; one without a prefix is a run by itself.
        home: prefix -> URL of its replica.
        max_in_flight: of one replica.
    """
    found: dict[tuple[str, int], Run] = {}
    count: dict[str, int] = {}
    for at, call in enumerate(calls):
        if call.prefix:
            before = count.get(call.prefix, 0)
            count[call.prefix] = before + 1
            key = (call.prefix, before // _LONGEST_RUN)
        else:
            key = ("", at)
        found.setdefault(key, deque()).append(at)
    waiting = Waiting({}, max_in_flight)
    for (prefix, part), run in found.items():
        url = home(f"{prefix}\0{part}" if prefix and part else prefix)
        waiting.runs.setdefault(url, deque()).append(run)
    return waiting
