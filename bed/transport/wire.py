"""One HTTP exchange, by aiohttp; tests put a function of the same shape in its place."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from bed.errors import BedError, DataError

__all__ = ["Answer", "ExchangeError", "Post", "UnreachableError", "Wire"]

_CONNECT_SECONDS = 3.0
# below the 5 s after which uvicorn closes an idle connection: none is closed as it is used again
_KEEP_ALIVE_SECONDS = 4.0
_LARGEST = 64 * 2**20


class ExchangeError(BedError):
    """No answer came: refused, cut off, or out of time."""


class UnreachableError(ExchangeError):
    """The server was not even reached, so that nothing is the fault of what was to be asked."""


class Answer(NamedTuple):
    """What a server answered: status, decoded body (text where it is no JSON), Retry-After."""

    status: int
    body: Any
    retry_after: float | None = None


class Post(Protocol):
    """Sends one request: POST with a body, GET without."""

    async def __call__(
        self, url: str, body: Mapping[str, Any] | None, headers: Mapping[str, str], timeout: float
    ) -> Answer:
        """Return the answer, or raise ExchangeError."""
        ...


class Wire:
    """`Post` over one pool of connections, which belongs to the loop that first uses it."""

    def __init__(self) -> None:
        try:
            import aiohttp
        except ImportError as error:
            raise DataError("model servers need aiohttp: pip install 'bed-engine[http]'") from error
        self._aiohttp = aiohttp
        self._session: aiohttp.ClientSession | None = None

    async def __call__(
        self, url: str, body: Mapping[str, Any] | None, headers: Mapping[str, str], timeout: float
    ) -> Answer:
        """Return the answer, or raise ExchangeError; DataError for a body that is no JSON."""
        aiohttp = self._aiohttp
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # in flight are bounded by whoever calls
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        data = None if body is None else _encoded(url, body)
        try:
            async with self._session.request(
                "GET" if data is None else "POST",
                url,
                data=data,
                headers={"Content-Type": "application/json", **headers},
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=_CONNECT_SECONDS),
            ) as response:
                content = await _content(response)
                return Answer(
                    response.status,
                    _decoded(content),
                    _seconds(response.headers.get("Retry-After")),
                )
        except aiohttp.InvalidURL as error:
            raise DataError(f"{url!r} is no URL") from error
        except aiohttp.ConnectionTimeoutError as error:
            raise UnreachableError(f"cannot connect within {_CONNECT_SECONDS:g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise UnreachableError(f"cannot connect ({error.os_error or error})") from error
        except TimeoutError as error:
            raise ExchangeError(f"no answer within {timeout:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ExchangeError(f"cut off ({error or type(error).__name__})") from error

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            # lets the transports close, so that no warning of open ones follows
            await asyncio.sleep(0)


def _encoded(url: str, body: Mapping[str, Any]) -> str:
    try:
        return json.dumps(body, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"the body of a call to {url} is no JSON ({error})") from error


async def _content(response: Any) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_chunked(2**16):
        size += len(part)
        if size > _LARGEST:
            raise ExchangeError(f"its answer is larger than {_LARGEST // 2**20} MiB")
        parts.append(part)
    return b"".join(parts)


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")


def _seconds(value: str | None) -> float | None:
    """Return a Retry-After in seconds; a date is left to the back-off."""
    try:
        return None if value is None else max(0.0, float(value))
    except ValueError:
        return None
