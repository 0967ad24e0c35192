"""Faults of servers, in milliseconds: the exchange, the clock and the waiting are injected."""

import asyncio
import pickle
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bed.errors import DataError
from bed.transport import Call, Endpoint, EndpointDownError, HttpTransport
from bed.transport.wire import Answer, ExchangeError

URL, OTHER = "http://a:1", "http://b:2"
OK = Answer(200, {"data": 1})


class Network:
    """Answers by a function of url, body and how often that url was posted to; records all."""

    def __init__(self, answer: Callable[[str, Any, int], Answer]) -> None:
        self.answer = answer
        self.posts: list[tuple[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.waits: list[float] = []
        self.now = 0.0
        self.is_healthy: Callable[[str], bool] = lambda url: True
        self.in_flight = self.most_in_flight = 0

    async def post(
        self, url: str, body: Mapping[str, Any] | None, headers: Mapping[str, str], timeout: float
    ) -> Answer:
        if body is None:
            if not self.is_healthy(url.removesuffix("/health")):
                raise ExchangeError("cannot connect")
            return Answer(200, "")
        base = url.removesuffix("/classify")
        self.posts.append((base, body))
        self.headers.append(headers)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        return self.answer(base, body, sum(url == base for url, _ in self.posts))

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def transport(self, *urls: str, **settings: Any) -> HttpTransport:
        endpoint = Endpoint(urls or (URL,), **settings)
        return HttpTransport(endpoint, self.post, self.sleep, lambda: self.now)


def calls(count: int, prefix: str = "") -> list[Call]:
    return [Call("/classify", {"item": i}, prefix) for i in range(count)]


def raises(error: Exception) -> Answer:
    raise error


def test_replies_keep_the_order_of_the_calls() -> None:
    network = Network(lambda url, body, n: Answer(200, {"item": body["item"]}))
    with network.transport(URL, OTHER, max_in_flight=3) as transport:
        replies = transport.send(calls(50))
    assert [reply.body["item"] for reply in replies] == list(range(50))
    assert {url for url, _ in network.posts} == {URL, OTHER}
    assert network.most_in_flight == 6
    assert transport.tally.snapshot() == {"requests": 50}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_can_pass_is_tried_again(status: int) -> None:
    network = Network(lambda url, body, n: Answer(status, "busy") if n < 3 else OK)
    with network.transport() as transport:
        (reply,) = transport.send(calls(1))
    assert reply.body == {"data": 1}
    assert len(network.waits) == 2
    assert all(0.5 <= wait <= 8 for wait in network.waits)
    assert transport.tally.snapshot() == {"requests": 3, "retries": 2}


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422])
def test_what_cannot_pass_is_not(status: int) -> None:
    network = Network(lambda url, body, n: Answer(status, {"error": {"message": "no such thing"}}))
    with network.transport() as transport:
        (reply,) = transport.send(calls(1))
    assert (reply.status, len(network.posts), network.waits) == (status, 1, [])
    assert reply.reason is not None
    assert reply.reason.startswith(f"{URL}: status {status}: no such thing")
    assert transport.tally.snapshot() == {"failures": 1, "requests": 1}


def test_tries_end_with_the_last_reason() -> None:
    network = Network(lambda url, body, n: Answer(503, {"detail": "The engine is busy"}))
    with network.transport(tries=3) as transport:
        (reply,) = transport.send(calls(1))
    assert (reply.status, len(network.posts)) == (503, 3)
    assert reply.reason == f"{URL}: status 503: The engine is busy (3 tries)"


def test_the_server_says_how_long_to_wait() -> None:
    network = Network(lambda url, body, n: Answer(429, "slow down", 7.0) if n < 2 else OK)
    with network.transport() as transport:
        transport.send(calls(1))
    assert network.waits == [7.0]


@pytest.mark.parametrize("asked", [61.0, float("inf")], ids=str)
def test_a_server_that_asks_to_wait_too_long_is_not_waited_for(asked: float) -> None:
    network = Network(lambda url, body, n: Answer(429, "quota", asked))
    with network.transport(patience=60) as transport:
        (reply,) = transport.send(calls(1))
    assert network.waits == []
    assert reply.reason == (
        f"{URL}: status 429: quota; it asks to wait {asked:g} s, more than the patience"
    )


def test_a_crowded_server_gives_a_batch_back_at_once() -> None:
    network = Network(lambda url, body, n: Answer(503, "busy"))
    with network.transport() as transport:
        (reply,) = transport.send([Call("/classify", {"input": [[1]] * 6}, batch="input")])
    assert (reply.status, len(network.posts)) == (503, 1)


def test_another_replica_is_tried_first() -> None:
    network = Network(lambda url, body, n: OK if url == OTHER else Answer(500, "broken"))
    with network.transport(URL, OTHER) as transport:
        replies = transport.send(calls(20))
    assert [reply.body for reply in replies] == [{"data": 1}] * 20
    assert sum(url == OTHER for url, _ in network.posts) == 20


def test_a_dead_replica_is_passed_over_and_nothing_is_asked_twice() -> None:
    network = Network(
        lambda url, body, n: OK if url == OTHER else raises(ExchangeError("cannot connect"))
    )
    network.is_healthy = lambda url: url == OTHER
    with network.transport(URL, OTHER, max_in_flight=1) as transport:
        assert all(reply.body for reply in transport.send(calls(40)))
        assert sum(url == URL for url, _ in network.posts) == 3
        answered = [body["item"] for url, body in network.posts if url == OTHER]
        assert sorted(answered) == list(range(40))


def test_a_server_that_comes_back_is_waited_for() -> None:
    network = Network(
        lambda url, body, n: OK if network.now > 30 else raises(ExchangeError("cut off"))
    )
    network.is_healthy = lambda url: network.now > 30
    with network.transport(tries=4, patience=60) as transport:
        replies = transport.send(calls(5))
    assert [reply.body for reply in replies] == [{"data": 1}] * 5
    assert len([body for _, body in network.posts]) <= 5 * 3 + 5


def test_a_server_that_looks_sound_and_cuts_every_call_off_uses_up_the_tries() -> None:
    network = Network(lambda url, body, n: raises(ExchangeError("cut off")))
    with network.transport(tries=4) as transport:
        replies = transport.send(calls(40))
    assert {reply.reason for reply in replies} == {f"{URL}: cut off (4 tries)"}
    assert len(network.posts) == 4 * 40


def test_all_down_is_one_clear_error() -> None:
    network = Network(lambda url, body, n: raises(ExchangeError("cannot connect (refused)")))
    network.is_healthy = lambda url: False
    message = (
        r"none of http://a:1, http://b:2 answers, nor did for 20 s; start the servers and go on "
        r"\(last: http://.:.: cannot connect \(refused\)\)"
    )
    with (
        network.transport(URL, OTHER, patience=20) as transport,
        pytest.raises(EndpointDownError, match=message),
    ):
        transport.send(calls(3))
    assert 20 < network.now < 60


def test_what_was_answered_before_all_went_down_is_told() -> None:
    network = Network(
        lambda url, body, n: OK if n <= 10 else raises(ExchangeError("cannot connect"))
    )
    network.is_healthy = lambda url: False
    told: dict[int, Any] = {}
    with (
        network.transport(max_in_flight=1, patience=5) as transport,
        pytest.raises(EndpointDownError, match="none of"),
    ):
        transport.send(calls(30), lambda at, reply: told.update({at: reply.body}))
    assert told == {at: {"data": 1} for at in range(10)}


def test_a_replica_that_has_nothing_left_takes_from_one_that_has_much() -> None:
    network = Network(lambda url, body, n: OK)
    asked = calls(1000, "a prefix that all share")
    with network.transport(*(f"http://r{i}:1" for i in range(4)), max_in_flight=4) as transport:
        transport.send(asked)
    count = Counter(url for url, _ in network.posts)
    assert len(network.posts) == 1000
    # runs of 64 calls stay whole, so at most one run too many or too few
    assert all(abs(of - 250) <= 64 for of in count.values())


def test_a_share_of_the_replicas_is_asked_first_and_the_others_when_it_fails() -> None:
    urls = [f"http://r{i}:1" for i in range(4)]
    is_down = False

    def answer(url: str, body: Any, n: int) -> Answer:
        return raises(ExchangeError("cannot connect")) if is_down and url in urls[1::2] else OK

    network = Network(answer)
    with HttpTransport(
        Endpoint(tuple(urls)), network.post, network.sleep, lambda: network.now, share=(1, 2)
    ) as transport:
        transport.send([Call("/classify", {}, f"prefix {i}") for i in range(40)])
        assert {url for url, _ in network.posts} == set(urls[1::2])
        is_down, network.posts = True, []
        network.is_healthy = lambda url: False
        replies = transport.send([Call("/classify", {}, f"prefix {i}") for i in range(40)])
    assert all(reply.body for reply in replies)
    assert {url for url, _ in network.posts} == set(urls)


class Says:
    """A vetting: the server must say 7 to one call."""

    calls = (Call("/classify", {"golden": True}),)

    def fault(self, bodies: Sequence[Any]) -> str | None:
        return None if bodies == [{"says": 7}] else f"it says {bodies[0]['says']} instead of 7"


def vetted(network: Network, *urls: str, **settings: Any) -> HttpTransport:
    clock = lambda: network.now  # noqa: E731
    return HttpTransport(Endpoint(urls, **settings), network.post, network.sleep, clock, Says())


def test_a_replica_is_asked_nothing_before_it_is_vetted() -> None:
    says = {URL: 7, OTHER: 8}
    network = Network(
        lambda url, body, n: Answer(200, {"says": says[url]}) if "golden" in body else OK
    )
    with vetted(network, URL, OTHER, max_in_flight=2) as transport:
        transport.send(calls(20))
        assert {url for url, body in network.posts if "item" in body} == {URL}
        says[OTHER] = 7
        network.now += 2
        transport.send(calls(20))
    assert {url for url, body in network.posts if "item" in body} == {URL, OTHER}


def test_one_that_comes_back_with_another_model_stays_out() -> None:
    says, is_up = {"of": 7}, [True]

    def answer(url: str, body: Any, n: int) -> Answer:
        if not is_up[0]:
            raise ExchangeError("cannot connect")
        return Answer(200, {"says": says["of"]}) if "golden" in body else OK

    network = Network(answer)
    network.is_healthy = lambda url: is_up[0]
    with vetted(network, URL, patience=10) as transport:
        assert transport.send(calls(1))[0].body
        is_up[0] = False
        with pytest.raises(EndpointDownError, match="none of"):
            transport.send(calls(3))
        is_up[0], says["of"] = True, 8
        with pytest.raises(
            EndpointDownError,
            match=r"no server is what it should be: http://a:1: it says 8 instead of 7",
        ):
            transport.send(calls(3))
        says["of"] = 7
        network.now += 2
        assert transport.send(calls(1))[0].body


def test_replicas_are_found_in_a_file_that_changes(tmp_path: Path) -> None:
    listed = tmp_path / "hosts.txt"
    listed.write_text(f"# the first node\n{URL}/\n\n")

    def answer(url: str, body: Any, n: int) -> Answer:
        if url == URL and n == 20:
            listed.write_text(f"{OTHER}  # moved\n")
        network.now += 0.2
        return OK

    network = Network(answer)
    endpoint = Endpoint(urls_file=listed, max_in_flight=1)
    with HttpTransport(endpoint, network.post, network.sleep, lambda: network.now) as transport:
        assert all(reply.body for reply in transport.send(calls(60)))
    urls = [url for url, _ in network.posts]
    assert urls[:20] == [URL] * 20
    assert set(urls[30:]) == {OTHER}
    assert len(urls) == 60


def test_a_file_that_lists_nothing_yet_is_waited_for(tmp_path: Path) -> None:
    listed = tmp_path / "hosts.txt"
    network = Network(lambda url, body, n: OK)

    async def sleep(seconds: float) -> None:
        await network.sleep(seconds)
        if network.now > 5:
            listed.write_text(URL)

    endpoint = Endpoint(urls_file=listed, patience=20)
    with HttpTransport(endpoint, network.post, sleep, lambda: network.now) as transport:
        assert all(reply.body for reply in transport.send(calls(3)))


def test_a_line_that_is_no_url_is_named(tmp_path: Path) -> None:
    listed = tmp_path / "hosts.txt"
    listed.write_text("node1:8000\n")
    network = Network(lambda url, body, n: OK)
    endpoint = Endpoint(urls_file=listed)
    with (
        HttpTransport(endpoint, network.post, network.sleep, lambda: network.now) as transport,
        pytest.raises(DataError, match=r"hosts.txt: 'node1:8000' is no base URL"),
    ):
        transport.send(calls(1))


def test_counts_and_latencies_are_kept_by_server() -> None:
    def answer(url: str, body: Any, n: int) -> Answer:
        network.now += 0.1 if url == URL else 0.4
        return Answer(200, {"usage": {"prompt_tokens": 5}})

    network = Network(answer)
    with network.transport(URL, OTHER, max_in_flight=1) as transport:
        for _ in range(20):
            transport.send(calls(1))
    found = transport.tally.report()
    servers = found.pop("servers")
    assert found["requests"] == 20
    assert found["prompt_tokens"] == 100
    assert {url: of["requests"] for url, of in servers.items()} == {URL: 10, OTHER: 10}
    assert servers[URL]["latency_s"] == pytest.approx(
        {"p50": 0.1, "p90": 0.1, "p99": 0.1}, rel=0.03
    )
    assert found["latency_s"] == pytest.approx({"p50": 0.1, "p90": 0.4, "p99": 0.4}, rel=0.03)


def test_a_hung_server_runs_out_of_time() -> None:
    network = Network(lambda url, body, n: raises(ExchangeError("no answer within 120 s")))
    with network.transport(tries=2) as transport:
        (reply,) = transport.send(calls(1))
    assert reply.reason == f"{URL}: no answer within 120 s (2 tries)"


def test_an_answer_that_is_no_json_is_tried_again() -> None:
    network = Network(lambda url, body, n: Answer(200, "<html>") if n < 2 else OK)
    with network.transport() as transport:
        (reply,) = transport.send(calls(1))
    assert reply.body == {"data": 1}


def test_equal_prefixes_go_to_one_replica_side_by_side() -> None:
    network = Network(lambda url, body, n: OK)
    urls = [f"http://r{i}:1" for i in range(4)]
    asked = [Call("/classify", {"p": i % 10}, f"prefix {i % 10}") for i in range(100)]
    with network.transport(*urls, max_in_flight=1) as transport:
        transport.send(asked)
    homes: dict[int, set[str]] = {}
    for url, body in network.posts:
        homes.setdefault(body["p"], set()).add(url)
    assert all(len(home) == 1 for home in homes.values())
    assert len(set().union(*homes.values())) > 1
    for url in urls:
        here = [body["p"] for home, body in network.posts if home == url]
        assert sum(a != b for a, b in pairwise(here)) == max(0, len(set(here)) - 1)


def test_calls_without_a_prefix_are_shared_out_evenly() -> None:
    network = Network(lambda url, body, n: OK)
    with network.transport(URL, OTHER) as transport:
        for _ in range(10):
            transport.send(calls(1))
        transport.send(calls(10))
    assert Counter(url for url, _ in network.posts) == {URL: 10, OTHER: 10}


def test_a_replica_more_moves_few_prefixes() -> None:
    urls = [f"http://r{i}:1" for i in range(5)]

    def homes(urls: Sequence[str]) -> list[str]:
        network = Network(lambda url, body, n: OK)
        asked = [Call("/classify", {"p": i}, f"prefix {i}") for i in range(400)]
        # all are under way at once, so that none is taken over
        with network.transport(*urls, max_in_flight=400) as transport:
            transport.send(asked)
        return [url for _, url in sorted((body["p"], url) for url, body in network.posts)]

    moved = [
        after for before, after in zip(homes(urls[:4]), homes(urls), strict=True) if before != after
    ]
    # 1 in 5 is expected, 8 is the standard deviation
    assert 80 - 40 < len(moved) < 80 + 40
    assert set(moved) == {urls[4]}


def test_a_fault_of_the_exchange_itself_ends_the_send() -> None:
    network = Network(lambda url, body, n: raises(ZeroDivisionError("a bug")))
    with network.transport(max_in_flight=2) as transport:
        with pytest.raises(ZeroDivisionError, match="a bug"):
            transport.send(calls(50))
        sent = len(network.posts)
        transport.get("/health")
        assert len(network.posts) == sent <= 2


def test_tokens_are_counted() -> None:
    usage = {"usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": None}}
    network = Network(lambda url, body, n: Answer(200, usage))
    with network.transport() as transport:
        transport.send(calls(3))
        assert transport.tally.snapshot() == {
            "completion_tokens": 6,
            "prompt_tokens": 21,
            "requests": 3,
        }


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BED_TEST_KEY", "sk-secret")
    network = Network(lambda url, body, n: Answer(401, {"error": {"message": "bad sk-secret"}}))
    with network.transport(key_env="BED_TEST_KEY") as transport:
        (reply,) = transport.send(calls(1))
    assert network.headers[0] == {"Authorization": "Bearer sk-secret"}
    assert reply.reason == f"{URL}: status 401: bad ***; check the key"
    for shown in (repr(transport), str(pickle.dumps(transport.endpoint))):
        assert "sk-secret" not in shown


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BED_TEST_KEY", raising=False)
    network = Network(lambda url, body, n: OK)
    with (
        network.transport(key_env="BED_TEST_KEY") as transport,
        pytest.raises(DataError, match="variable BED_TEST_KEY is not set"),
    ):
        transport.send(calls(1))


@pytest.mark.parametrize("key", ["sk secret", "sk\nsecret", "sk–secret"], ids=ascii)
def test_a_value_that_is_no_key_is_refused_unseen(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("BED_TEST_KEY", key)
    network = Network(lambda url, body, n: OK)
    with (
        network.transport(key_env="BED_TEST_KEY") as transport,
        pytest.raises(DataError, match="variable BED_TEST_KEY holds no key") as error,
    ):
        transport.send(calls(1))
    assert "secret" not in str(error.value)


def test_many_threads_share_one_transport() -> None:
    network = Network(lambda url, body, n: Answer(200, {"item": body["item"]}))
    found: dict[int, list[int]] = {}
    with network.transport(max_in_flight=4) as transport:

        def ask(thread: int) -> None:
            sent = [Call("/classify", {"item": 100 * thread + i}) for i in range(20)]
            found[thread] = [reply.body["item"] for reply in transport.send(sent)]

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {i: [100 * i + j for j in range(20)] for i in range(8)}
    assert network.most_in_flight == 4


def test_it_works_inside_a_running_loop() -> None:
    network = Network(lambda url, body, n: OK)

    async def main() -> Any:
        with network.transport() as transport:
            return transport.send(calls(2))

    assert [reply.body for reply in asyncio.run(main())] == [{"data": 1}] * 2


def test_it_can_be_used_after_it_was_closed_and_pickled_by_its_settings() -> None:
    network = Network(lambda url, body, n: OK)
    transport = network.transport()
    for _ in range(2):
        assert transport.send(calls(1))[0].body == {"data": 1}
        transport.close()
    plain = HttpTransport(Endpoint((URL,)))
    assert pickle.loads(pickle.dumps(plain)).endpoint == plain.endpoint


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"urls": ()}, "at least one URL"),
        ({"urls": ("localhost:8000",)}, "'localhost:8000' is no base URL"),
        ({"urls": ("http://me:pw@host:1",)}, "'host' holds credentials"),
        ({"urls": (URL + "/v1",)}, "leave it out"),
        ({"urls": (URL, URL + "/")}, "hold one twice"),
        ({"urls": (URL,), "key_env": "sk-abc"}, "never the key itself"),
        ({"urls": (URL,), "timeout": 0}, "timeout is 0"),
        ({"urls": (URL,), "max_in_flight": 0}, "max_in_flight is 0"),
        ({"urls": (URL,), "tries": 0}, "tries is 0"),
        ({"urls": (URL,), "patience": -1}, "patience is -1"),
        ({"urls": (URL,), "timeout": float("inf")}, "timeout is inf"),
        ({"urls": (URL,), "patience": float("nan")}, "patience is nan"),
        ({"urls": ("http://host:port",)}, "'http://host:port' is no base URL"),
        ({"urls": ("http://[::1",)}, "is no base URL"),
        ({"urls": ("ftp://me:pw@host",)}, "'host' is no base URL"),
        ({"urls": (URL + "/#a",)}, "credentials or a query"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        Endpoint(**settings)
    assert "pw" not in str(error.value)
    assert "sk-abc" not in str(error.value)
