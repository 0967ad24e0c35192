"""Calls to a model server, what comes back, and where the server is."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from bed.errors import BedError, DataError
from bed.transport.tally import Tally

__all__ = [
    "Call",
    "Endpoint",
    "EndpointDownError",
    "OnReply",
    "Reply",
    "Transport",
    "Vetting",
]


class EndpointDownError(BedError, RuntimeError):
    """No replica of an endpoint can be asked; what was asked may be asked again later."""


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


OnReply = Callable[[int, Reply], None]
"""Told the place of a call and its reply as soon as it is there, from any thread."""


class Vetting(Protocol):
    """What a replica must show before it is asked anything, and again when it comes back."""

    @property
    def calls(self) -> Sequence[Call]:
        """What it is asked."""
        ...

    def fault(self, bodies: Sequence[Any]) -> str | None:
        """Return what is wrong with the decoded answers; None where nothing is."""
        ...


@runtime_checkable
class Transport(Protocol):
    """Sends calls to a model server."""

    @property
    def tally(self) -> Tally:
        """What was sent and what came of it."""
        ...

    def send(self, calls: Sequence[Call], on_reply: OnReply | None = None) -> list[Reply]:
        """Return a reply for every call, in order; a call that failed has a reason.

        Raises:
            EndpointDownError: where nothing can be asked; `on_reply` was told what was answered.
        """
        ...


@dataclass(frozen=True)
class Endpoint:
    """The replicas of one model, and how patiently they are asked.

    Attributes:
        urls: base URLs, without "/v1".
        urls_file: instead of `urls`, a file with one a line ("#" starts a comment), which may
            change at any time.
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

    urls: tuple[str, ...] = ()
    key_env: str | None = None
    timeout: float = 120.0
    max_in_flight: int = 16
    tries: int = 4
    patience: float = 60.0
    urls_file: Path | None = None

    def __post_init__(self) -> None:
        if (self.urls_file is not None) is bool(self.urls):
            raise DataError(
                "an endpoint needs at least one URL, such as http://127.0.0.1:8000, or a file of "
                "them; give either"
            )
        object.__setattr__(self, "urls", _checked_urls(self.urls))
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

    @property
    def place(self) -> str:
        """Where the replicas are: their URLs, or the file that lists them."""
        return ", ".join(self.urls) if self.urls_file is None else str(self.urls_file)

    def listed(self) -> tuple[str, ...]:
        """Return the URLs that are listed at present; none where a file has no line yet.

        Raises:
            DataError: for a file that cannot be read, or a line that is no base URL.
        """
        if self.urls_file is None:
            return self.urls
        try:
            text = self.urls_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            # the scheduler has not written it yet
            return ()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"{self.urls_file} cannot be read as a list of URLs: {error}"
            ) from error
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        try:
            return _checked_urls([line for line in lines if line])
        except DataError as error:
            raise DataError(f"{self.urls_file}: {error}") from error


def _checked_urls(urls: Sequence[str]) -> tuple[str, ...]:
    """Return base URLs without a slash at their end; raise DataError for one that is none."""
    found = tuple(url.rstrip("/") for url in urls)
    for url in found:
        try:
            parts = urlsplit(url)
            is_base = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            is_base = False
        if not is_base:
            # what stands before an @ is a password
            raise DataError(f"{url.rpartition('@')[2]!r} is no base URL; write http://HOST:PORT")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise DataError(
                f"the URL of {parts.hostname!r} holds credentials or a query; name the "
                "environment variable of the key in key_env instead"
            )
        if parts.path.endswith("/v1"):
            raise DataError(f"{url!r} ends in /v1; leave it out, bed adds it where it belongs")
    if len(set(found)) < len(found):
        raise DataError(f"URLs {list(found)} hold one twice; list each replica once")
    return found
