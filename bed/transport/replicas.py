"""The replicas of an endpoint: which one a call goes to, and which are passed over."""

import hashlib
from asyncio import Semaphore
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Replica", "ranked"]

_ERRORS_TO_OPEN = 3
_SECONDS_BETWEEN_CHECKS = 1.0


@dataclass
class Replica:
    """One server and its state: after three errors in a row it is passed over.

    Attributes:
        url: its base URL.
        slots: one for each request that it may have in flight.
        clock: seconds, from any start.
        num_errors: exchanges without an answer since the last one that had one.
    """

    url: str
    slots: Semaphore
    clock: Callable[[], float]
    num_errors: int = 0
    _checked_at: float = float("-inf")

    @property
    def is_out(self) -> bool:
        """Whether it is passed over until its health check passes."""
        return self.num_errors >= _ERRORS_TO_OPEN

    def answered(self) -> None:
        """Count it as sound."""
        self.num_errors = 0

    def failed(self) -> None:
        """Count an exchange without an answer."""
        self.num_errors += 1

    def may_check(self) -> bool:
        """Return whether its health is to be asked now, at most once a second."""
        now = self.clock()
        if now - self._checked_at < _SECONDS_BETWEEN_CHECKS:
            return False
        self._checked_at = now
        return True


def ranked(replicas: Sequence[Replica], prefix: str) -> list[Replica]:
    """Return the replicas in the order in which a prefix prefers them.

    Rendezvous hashing: a replica more or less moves only the prefixes that are its own.
    """

    def weight(replica: Replica) -> bytes:
        return hashlib.blake2b(f"{replica.url}\0{prefix}".encode(), digest_size=8).digest()

    return sorted(replicas, key=weight)
