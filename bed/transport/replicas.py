"""The replicas of an endpoint: which there are, which one a call goes to, which are passed over."""

import hashlib
from asyncio import Semaphore
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bed.errors import DataError
from bed.transport.values import Endpoint

__all__ = ["Replica", "Replicas", "ranked"]

_ERRORS_TO_OPEN = 3
_SECONDS_BETWEEN_CHECKS = 1.0
_SECONDS_BETWEEN_READS = 1.0


@dataclass(eq=False)
class Replica:
    """One server and its state: after three errors in a row, or unreachable, it is passed over.

    Attributes:
        url: its base URL.
        slots: one for each request that it may have in flight.
        clock: seconds, from any start.
        is_vetted: whether it has shown what it must before it is asked anything.
        is_gone: whether it is listed no more.
        fault: why it failed its vetting the last time; empty where it did not.
        is_checked: whether somebody looks at it just now.
        num_errors: exchanges without an answer since the last one that had one.
    """

    url: str
    slots: Semaphore
    clock: Callable[[], float]
    is_vetted: bool = True
    is_gone: bool = False
    fault: str = ""
    is_checked: bool = False
    num_errors: int = 0
    _checked_at: float = float("-inf")

    @property
    def is_out(self) -> bool:
        """Whether it is passed over until its checks pass."""
        return self.is_gone or not self.is_vetted or self.num_errors >= _ERRORS_TO_OPEN

    def answered(self) -> None:
        """Count it as sound."""
        self.num_errors = 0

    def failed(self) -> None:
        """Count an exchange without an answer."""
        self.num_errors += 1

    def unreachable(self) -> None:
        """Pass it over at once."""
        self.num_errors = _ERRORS_TO_OPEN

    def may_check(self) -> bool:
        """Return whether it is to be looked at now, at most once a second."""
        now = self.clock()
        if self.is_gone or now - self._checked_at < _SECONDS_BETWEEN_CHECKS:
            return False
        self._checked_at = now
        return True


class Replicas:
    """The replicas that are listed at present.

    Args:
        endpoint: lists them, or names the file that does; it is read again once a second.
        share: place and number of those who ask the endpoint: each prefers its part of the
            replicas, and asks the others where those fail.
        is_vetted: whether a replica may be asked as soon as it is listed.
        clock: seconds, from any start.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        share: tuple[int, int],
        is_vetted: bool,
        clock: Callable[[], float],
    ) -> None:
        self.endpoint, self.share = endpoint, share
        self._is_vetted, self._clock = is_vetted, clock
        self._read_at = float("-inf")
        self._listed: dict[str, Replica] = {}
        if endpoint.urls_file is None:
            self._list(endpoint.urls)

    def current(self) -> list[Replica]:
        """Return those that are listed now, in the order of the list."""
        now = self._clock()
        if self.endpoint.urls_file is not None and now - self._read_at >= _SECONDS_BETWEEN_READS:
            self._read_at = now
            try:
                self._list(self.endpoint.listed())
            except DataError:
                # a scheduler that writes the file anew may be half-way: what was listed stays
                if not self._listed:
                    raise
        return list(self._listed.values())

    def order(self, prefix: str, turn: int) -> list[Replica]:
        """Return the replicas in the order in which a call tries them.

        Args:
            prefix: calls of equal prefix prefer one replica.
            turn: of a call without a prefix.
        """
        listed = self.current()
        place, count = self.share
        preferred = listed[place::count] or listed[place % max(len(listed), 1) :][:1]
        others = [replica for replica in listed if replica not in preferred]
        return [*_arranged(preferred, prefix, turn), *_arranged(others, prefix, turn)]

    def _list(self, urls: Sequence[str]) -> None:
        for url in self._listed.keys() - set(urls):
            self._listed.pop(url).is_gone = True
        # those who share a replica share what it may have in flight
        num_askers = max(1.0, self.share[1] / max(1, len(urls)))
        slots = max(1, int(self.endpoint.max_in_flight / num_askers))
        self._listed = {url: self._listed.get(url) or self._new(url, slots) for url in urls}

    def _new(self, url: str, slots: int) -> Replica:
        return Replica(url, Semaphore(slots), self._clock, self._is_vetted)


def _arranged(replicas: Sequence[Replica], prefix: str, turn: int) -> list[Replica]:
    if prefix:
        return ranked(replicas, prefix)
    at = turn % max(len(replicas), 1)
    return [*replicas[at:], *replicas[:at]]


def ranked(replicas: Sequence[Replica], prefix: str) -> list[Replica]:
    """Return the replicas in the order in which a prefix prefers them.

    Rendezvous hashing: a replica more or less moves only the prefixes that are its own.
    """

    def weight(replica: Replica) -> bytes:
        return hashlib.blake2b(f"{replica.url}\0{prefix}".encode(), digest_size=8).digest()

    return sorted(replicas, key=weight)
