"""Calls to a model server, what comes back, and where the server is."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from bed.errors import DataError
from bed.transport.tally import Tally

__all__ = ["Call", "Endpoint", "Reply", "Transport"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Call:
    """One POST to a model server.

    Attributes:
        path: below the base URL, such as "/classify".
        body: what is sent as JSON.
        prefix: calls of equal prefix share the start of their prompts; they go to one replica, one
            after the other, so that its prefix cache serves them.
        batch: the field of the body that lists several prompts; empty where it is one prompt.
        rows: the field of the answer that lists a row for each prompt, with its "index"; empty
            where answers are of another form and are not to be remembered.
        salt: tells apart calls of equal bodies that are to be answered anew.
    """

    path: str
    body: Mapping[str, Any]
    prefix: str = ""
    batch: str = ""
    rows: str = ""
    salt: str = ""

    @property
    def num_items(self) -> int:
        """Prompts in it. A server too busy for several refuses them, for the sender to halve."""
        return len(self.body[self.batch]) if self.batch else 1


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        body: decoded JSON; None where the call failed.
        reason: why it failed; None where it did not. It never holds a key.
        status: the last HTTP status, None where no answer came.
    """

    body: Any = None
    reason: str | None = None
    status: int | None = None


@runtime_checkable
class Transport(Protocol):
    """Sends calls to a model server."""

    @property
    def tally(self) -> Tally:
        """What was sent and what came of it."""
        ...

    def send(self, calls: Sequence[Call]) -> list[Reply]:
        """Return a reply for every call, in order; a call that failed has a reason."""
        ...


@dataclass(frozen=True)
class Endpoint:
    """The replicas of one model, and how patiently they are asked.

    Attributes:
        urls: base URLs, without "/v1".
        key_env: name of the environment variable that holds the key. It is read at each send, and
            the key is never kept, shown or logged.
        timeout: seconds to wait for the answer to one request.
        max_in_flight: requests at once to one replica.
        tries: of a request that a server did not answer or refused for a while.
        patience: seconds to wait for a server to come back when none of the replicas answers, and
            the longest that a server may ask to wait.

    Raises:
        DataError: for a URL that is none, no URL at all, or a number below its least.
    """

    urls: tuple[str, ...]
    key_env: str | None = None
    timeout: float = 120.0
    max_in_flight: int = 16
    tries: int = 4
    patience: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "urls", tuple(url.rstrip("/") for url in self.urls))
        if not self.urls:
            raise DataError("an endpoint needs at least one URL, such as http://127.0.0.1:8000")
        for url in self.urls:
            try:
                parts = urlsplit(url)
                is_base = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
            except ValueError:
                is_base = False
            if not is_base:
                # what stands before an @ is a password
                raise DataError(
                    f"{url.rpartition('@')[2]!r} is no base URL; write http://HOST:PORT"
                )
            if parts.username or parts.password or parts.query or parts.fragment:
                raise DataError(
                    f"the URL of {parts.hostname!r} holds credentials or a query; name the "
                    "environment variable of the key in key_env instead"
                )
            if parts.path.endswith("/v1"):
                raise DataError(f"{url!r} ends in /v1; leave it out, bed adds it where it belongs")
        if len(set(self.urls)) < len(self.urls):
            raise DataError(f"URLs {list(self.urls)} hold one twice; list each replica once")
        if self.key_env is not None and not _NAME.fullmatch(self.key_env):
            raise DataError(
                "key_env must be the name of an environment variable, such as OPENAI_API_KEY, and "
                "never the key itself"
            )
        for name, least in (
            ("timeout", 0.001),
            ("max_in_flight", 1),
            ("tries", 1),
            ("patience", 0),
        ):
            if not least <= getattr(self, name) < inf:
                raise DataError(
                    f"{name} is {getattr(self, name)!r}; it must be {least} or more, and finite"
                )
