"""The wire against a real server on loopback."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

aiohttp = pytest.importorskip("aiohttp")
web = pytest.importorskip("aiohttp.web")

from bed.transport import Call, Endpoint, EndpointDownError, HttpTransport  # noqa: E402


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


async def garbled(request: Any) -> Any:
    return web.Response(body=b'{"text": "\xff"}', content_type="application/json")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    loop = asyncio.new_event_loop()
    app = web.Application()
    for path, handler in (
        *(("/echo", echo), ("/hang", hang), ("/moved", moved)),
        *(("/cut", cut), ("/page", page), ("/vast", vast), ("/garbled", garbled)),
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
        ("/page", "its answer is no JSON object or list: <html>"),
        ("/vast", "larger than 64 MiB"),
        ("/garbled", "no JSON object or list"),
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
    with (
        HttpTransport(Endpoint(("http://127.0.0.1:9",), tries=1, patience=0)) as transport,
        pytest.raises(EndpointDownError, match=r"none of http://127.0.0.1:9 .*cannot connect"),
    ):
        transport.send([Call("/echo", {})])


def test_health_is_asked_of_each_replica(url: str) -> None:
    with HttpTransport(Endpoint((url, "http://127.0.0.1:9"))) as transport:
        sound, dead = transport.get("/health").values()
    assert sound.body == "<html>"
    assert dead.reason is not None
    assert "cannot connect" in dead.reason


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()], ids=["nan", "set", "object"])
def test_a_body_that_is_no_json_fails_alone(url: str, value: object) -> None:
    with HttpTransport(Endpoint((url,))) as transport:
        bad, good = transport.send([Call("/echo", {"value": value}), Call("/echo", {"value": 1})])
    assert bad.reason is not None
    assert f"the body of a call to {url}/echo is no JSON" in bad.reason
    assert good.body["got"] == {"value": 1}


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where whoever started the tests had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_stops_the_calls_and_leaves_the_transport_usable(
    url: str, interrupts: None
) -> None:
    with HttpTransport(Endpoint((url,), max_in_flight=4)) as transport:
        assert transport.send([Call("/echo", {})])[0].reason is None
        main = threading.main_thread().ident
        assert main is not None
        threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            transport.send([Call("/hang", {})] * 20)
        assert time.monotonic() - start < 5
        assert transport.send([Call("/echo", {})])[0].reason is None
        # none of the 16 that waited was sent after the interrupt
        assert transport.tally.snapshot()["requests"] == 1 + 4 + 1


def test_closing_ends_what_other_threads_wait_for(url: str) -> None:
    transport = HttpTransport(Endpoint((url,)))
    ended = []

    def ask() -> None:
        with pytest.raises(CancelledError):
            transport.send([Call("/hang", {})])
        ended.append(True)

    thread = threading.Thread(target=ask)
    thread.start()
    while not transport.tally.snapshot():
        time.sleep(0.01)
    transport.close()
    thread.join(5)
    assert ended


def test_one_that_is_dropped_leaves_no_thread(url: str) -> None:
    before = set(threading.enumerate())
    transport = HttpTransport(Endpoint((url,)))
    transport.send([Call("/echo", {})])
    (ours,) = set(threading.enumerate()) - before
    del transport
    gc.collect()
    ours.join(5)
    assert not ours.is_alive()


def test_a_program_ends_without_closing_it(url: str) -> None:
    program = (
        "from bed.transport import Call, Endpoint, HttpTransport\n"
        f"transport = HttpTransport(Endpoint(({url!r},)))\n"
        "print(transport.send([Call('/echo', {})])[0].status)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "200\n", "")


# Python 3.12 warns of forks beside threads, which are what is tested
_FORKS = """
import os, sys
from bed.transport import Call, Endpoint, EndpointDownError, HttpTransport

with HttpTransport(Endpoint((sys.argv[1],), timeout=5, tries=1)) as transport:
    transport.send([Call("/echo", {})] * 4)
    child = os.fork()
    where = "parent" if child else "child"
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for reply in transport.send([Call("/echo", {"at": where})] * 4):
        assert reply.reason is None, reply.reason
        assert reply.body["got"] == {"at": where}
"""


def test_a_forked_child_has_connections_of_its_own(url: str) -> None:
    """In an interpreter of its own: JAX, which other tests load, does not bear a fork."""
    command = [sys.executable, "-W", "ignore", "-c", _FORKS, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_thousand_calls(url: str) -> None:
    with HttpTransport(Endpoint((url,), max_in_flight=32)) as transport:
        replies = transport.send([Call("/echo", {"i": i}) for i in range(1000)])
    assert [reply.body["got"]["i"] for reply in replies] == list(range(1000))
