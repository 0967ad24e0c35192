"""What a scoring round makes of a server that dies, hangs or is too busy."""

import os
import signal
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bed.belief import ClassifierBelief
from bed.episodes import EpisodeFile
from bed.protocols import BeliefQuery
from bed.serve import Server, ServeSpec
from bed.tokens import ChatTemplate
from bed.transport import Endpoint, HttpTransport
from bed.transport.wire import Answer, ExchangeError, Wire
from tests.served.conftest import BELIEF, Serve, spec

MAX_QUEUED = 8


class Weak:
    """A classifier's server that takes few requests at once, and can be started anew."""

    def __init__(self, serve: Serve, what: ServeSpec) -> None:
        self._serve, self._what = serve, what
        self.server = self.start()

    def start(self) -> Server:
        self.server = self._serve(self._what)
        self.server.wait()
        return self.server


@pytest.fixture(scope="module")
def weak(serve: Serve, models: Path) -> Weak:
    return Weak(serve, spec(models / "classifier", "--max-num-queued-reqs", str(MAX_QUEUED)))


@pytest.fixture(scope="module")
def round_of_64(test_split: EpisodeFile) -> list[BeliefQuery]:
    """64 unlike questions about one target."""
    first, *others = test_split.episodes[:9]
    pool = [stub for other in others for stub in other.pool]
    return [BeliefQuery(first.target, (*first.pool[:6], stub)) for stub in pool[:64]]


@pytest.fixture(scope="module")
def expected(classifier: ClassifierBelief, round_of_64: list[BeliefQuery]) -> np.ndarray[Any, Any]:
    """What a sound server answers."""
    found = classifier.probabilities(round_of_64).probabilities
    assert len(set(found)) == len(found)
    return found


def asking(template: ChatTemplate, transport: HttpTransport, batch: int) -> ClassifierBelief:
    return ClassifierBelief(transport, template, "classifier", batch, systems=BELIEF)


def test_a_round_outlives_the_death_of_its_server(
    weak: Weak,
    template: ChatTemplate,
    round_of_64: list[BeliefQuery],
    expected: np.ndarray[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scored: Counter[tuple[int, ...]] = Counter()
    lost: list[str] = []
    starting = threading.Thread(target=weak.start)

    exchange = Wire.__call__

    async def overheard(
        wire: Wire,
        url: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        timeout: float,
    ) -> Answer:
        try:
            answer = await exchange(wire, url, body, headers, timeout)
        except ExchangeError as error:
            lost.append(str(error))
            raise
        if answer.status == 200 and body is not None:
            scored.update(tuple(ids) for ids in body["input"])
            if sum(scored.values()) == 24:
                weak.server.stop(grace=0)
                starting.start()
        return answer

    monkeypatch.setattr(Wire, "__call__", overheard)
    endpoint = Endpoint((weak.server.url,), max_in_flight=2, patience=300)
    with HttpTransport(endpoint) as transport:
        found = asking(template, transport, 4).probabilities(round_of_64)
    starting.join()
    assert found.reasons == (None,) * 64
    np.testing.assert_allclose(found.probabilities, expected, rtol=0, atol=1e-5)
    assert lost
    assert len(scored) == 64
    assert set(scored.values()) == {1}


def test_a_server_that_hangs_times_out(
    weak: Weak, template: ChatTemplate, round_of_64: list[BeliefQuery]
) -> None:
    with HttpTransport(Endpoint((weak.server.url,), timeout=2, tries=2)) as transport:
        belief = asking(template, transport, 4)
        os.killpg(weak.server.pid, signal.SIGSTOP)
        try:
            found = belief.probabilities(round_of_64[:2])
        finally:
            os.killpg(weak.server.pid, signal.SIGCONT)
        for reason in found.reasons:
            assert reason is not None
            assert reason.startswith(weak.server.url)
            assert "no answer within 2 s" in reason
            assert reason.endswith("(2 tries)")
        assert belief.probabilities(round_of_64[:2]).reasons == (None, None)


@pytest.mark.parametrize("batch", [1, 64], ids=["single", "batch-above-the-queue"])
def test_one_that_is_too_busy_is_asked_again(
    weak: Weak,
    template: ChatTemplate,
    round_of_64: list[BeliefQuery],
    expected: np.ndarray[Any, Any],
    batch: int,
) -> None:
    endpoint = Endpoint((weak.server.url,), max_in_flight=4 * MAX_QUEUED, tries=10)
    with HttpTransport(endpoint) as transport:
        found = asking(template, transport, batch).probabilities(round_of_64)
        counts = transport.tally.snapshot()
    assert found.reasons == (None,) * 64
    np.testing.assert_allclose(found.probabilities, expected, rtol=0, atol=1e-5)
    # refused at first: single prompts come again, a batch comes again in halves
    assert counts["requests"] > 64 // batch
