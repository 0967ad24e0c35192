"""The wire against a real server on loopback."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

aiohttp = pytest.importorskip("aiohttp")
web = pytest.importorskip("aiohttp.web")

from bed.transport import Call, Endpoint, HttpTransport  # noqa: E402


async def echo(request: Any) -> Any:
    body = await request.json()
    return web.json_response(
        {"got": body, "key": request.headers.get("Authorization"), "usage": {"prompt_tokens": 3}}
    )


async def hang(request: Any) -> Any:
    await asyncio.sleep(60)


async def moved(request: Any) -> Any:
    raise web.HTTPFound("/echo")


async def cut(request: Any) -> Any:
    request.transport.close()
    return web.Response()


async def page(request: Any) -> Any:
    return web.Response(text="<html>", content_type="text/html")


async def vast(request: Any) -> Any:
    return web.Response(body=b" " * (65 * 2**20))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    loop = asyncio.new_event_loop()
    app = web.Application()
    for path, handler in (
        *(("/echo", echo), ("/hang", hang), ("/moved", moved)),
        *(("/cut", cut), ("/page", page), ("/vast", vast)),
    ):
        app.router.add_post(path, handler)
    app.router.add_get("/health", page)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)

    async def start() -> int:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return int(runner.addresses[0][1])

    port = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}"
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_call_and_its_answer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BED_TEST_KEY", "k")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with HttpTransport(Endpoint((url,), key_env="BED_TEST_KEY")) as transport:
        (reply,) = transport.send([Call("/echo", {"text": "é\u2028"})])
        assert reply.body["got"] == {"text": "é\u2028"}
        assert reply.body["key"] == "Bearer k"
        assert transport.tally.snapshot() == {"prompt_tokens": 3, "requests": 1}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/hang", "no answer within 0.3 s"),
        ("/moved", "status 302"),
        ("/cut", "cut off"),
        ("/page", "its answer is no JSON: <html>"),
        ("/vast", "larger than 64 MiB"),
        ("/nothing", "status 404: 404: Not Found; check the URL"),
    ],
)
def test_what_goes_wrong_is_said(url: str, path: str, reason: str) -> None:
    timeout = 0.3 if path == "/hang" else 20
    with HttpTransport(Endpoint((url,), tries=1, timeout=timeout)) as transport:
        (reply,) = transport.send([Call(path, {})])
    assert reply.reason is not None
    assert reason in reply.reason
    assert url in reply.reason


def test_nobody_listens() -> None:
    with HttpTransport(Endpoint(("http://127.0.0.1:9",), tries=1, patience=0)) as transport:
        (reply,) = transport.send([Call("/echo", {})])
    assert reply.reason is not None
    assert "cannot connect" in reply.reason


def test_health_is_asked_of_each_replica(url: str) -> None:
    with HttpTransport(Endpoint((url, "http://127.0.0.1:9"))) as transport:
        sound, dead = transport.get("/health")
    assert sound.body == "<html>"
    assert dead.reason is not None
    assert "cannot connect" in dead.reason


def test_a_thousand_calls(url: str) -> None:
    with HttpTransport(Endpoint((url,), max_in_flight=32)) as transport:
        replies = transport.send([Call("/echo", {"i": i}) for i in range(1000)])
    assert [reply.body["got"]["i"] for reply in replies] == list(range(1000))
