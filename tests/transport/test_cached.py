"""Which answers are remembered, and what an equal question costs."""

import math
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bed.transport import AnswerStore, CachedTransport, Call, Reply, ScriptedTransport
from bed.transport.values import OnReply


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnswerStore]:
    found = AnswerStore(tmp_path / "answers.sqlite")
    yield found
    found.close()


def batch(*prompts: float, **more: Any) -> Call:
    return Call("/square", {"input": list(prompts), **more}, batch="input", rows="data")


def squares(call: Call) -> Any:
    """Rows out of order, as a server may give them; 13 spoils its batch."""
    prompts = call.body["input"]
    if 13 in prompts:
        return Reply(reason="HTTP 400: unlucky", status=400)
    rows = [{"index": i, "value": prompt**2} for i, prompt in enumerate(prompts)]
    return {"data": rows[::-1], "usage": 1}


def values(reply: Reply) -> list[int]:
    rows = sorted(reply.body["data"], key=lambda row: row["index"])
    return [row["value"] for row in rows]


def test_only_what_is_new_is_sent(store: AnswerStore) -> None:
    inner = ScriptedTransport(squares)
    cached = CachedTransport(inner, store, None)
    first = cached.send([batch(1, 2, 3)])
    again = cached.send([batch(3, 4, 1, 5), batch(2, 2)])
    assert [values(reply) for reply in (*first, *again)] == [[1, 4, 9], [9, 16, 1, 25], [4, 4]]
    assert [call.body["input"] for call in inner.calls] == [[1, 2, 3], [4, 5]]
    assert cached.tally.snapshot()["cache_hits"] == 4


def test_what_was_answered_before_a_send_broke_off_is_kept(store: AnswerStore) -> None:
    def answer(call: Call) -> Any:
        if 4 in call.body["input"]:
            raise KeyboardInterrupt
        return squares(call)

    class OneByOne(ScriptedTransport):
        """Tells each reply as it comes, as a real transport does."""

        def send(self, calls: Sequence[Call], on_reply: OnReply | None = None) -> list[Reply]:
            def told(at: int) -> OnReply:
                return lambda _, reply: on_reply(at, reply) if on_reply else None

            send = super().send
            return [send([call], told(at))[0] for at, call in enumerate(calls)]

    cached = CachedTransport(OneByOne(answer), store, None)
    with pytest.raises(KeyboardInterrupt):
        cached.send([batch(1, 2), batch(3), batch(4), batch(5)])
    again = CachedTransport(inner := ScriptedTransport(squares), store, None)
    assert values(again.send([batch(1, 2, 3, 5)])[0]) == [1, 4, 9, 25]
    assert [call.body["input"] for call in inner.calls] == [[5]]


@pytest.mark.parametrize(
    ("identity", "call"),
    [
        ("main", batch(1)),
        (None, batch(1, use_activation=True)),
        (None, Call("/cube", {"input": [1]}, batch="input", rows="data")),
        (None, Call("/square", {"input": [1]}, batch="input", rows="data", salt="7")),
        (None, batch(2)),
        (None, batch(1.000000001)),
    ],
    ids=["identity", "parameter", "path", "salt", "prompt", "ninth decimal"],
)
def test_another_question_is_asked(store: AnswerStore, identity: str | None, call: Call) -> None:
    inner = ScriptedTransport(squares)
    CachedTransport(inner, store, None).send([batch(1)])
    CachedTransport(inner, store, identity).send([call])
    assert len(inner.calls) == 2


def test_a_refusal_is_not_kept_and_costs_the_known_nothing(store: AnswerStore) -> None:
    inner = ScriptedTransport(squares)
    cached = CachedTransport(inner, store, None)
    cached.send([batch(1, 2)])
    for _ in range(2):
        bad, good = cached.send([batch(1, 13), batch(1, 2)])
        assert bad.status == 400
        assert values(good) == [1, 4]
    assert [call.body["input"] for call in inner.calls] == [[1, 2], [13], [13]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"data": []},
        {"data": [{"index": 1, "value": 1}]},
        {"data": [{"value": 1}]},
        {"data": [{"index": 0, "value": math.nan}]},
        {"data": [[0]]},
        [1],
        None,
    ],
    ids=["no rows", "none", "misplaced", "no place", "nan", "no row", "list", "nothing"],
)
def test_a_malformed_answer_comes_through_and_is_not_kept(store: AnswerStore, body: Any) -> None:
    cached = CachedTransport(ScriptedTransport(lambda call: Reply(body, status=200)), store, None)
    assert cached.send([batch(1)]) == [Reply(body, status=200)]
    assert store.info().num_answers == 0


def test_one_prompt_is_known_by_its_whole_body(store: AnswerStore) -> None:
    """A service may leave out the place of its only answer."""
    inner = ScriptedTransport(lambda call: {"choices": [{"text": call.body["say"]}]})
    cached = CachedTransport(inner, store, None)
    calls = [Call("/chat", {"say": word}, rows="choices") for word in ("a", "b")]
    first = cached.send(calls)
    again = cached.send(calls[::-1])
    assert [reply.body["choices"][0]["text"] for reply in (*first, *again)] == ["a", "b", "b", "a"]
    assert len(inner.calls) == 2


def test_calls_of_another_form_pass_by(store: AnswerStore) -> None:
    inner = ScriptedTransport(lambda call: "pong")
    cached = CachedTransport(inner, store, None)
    assert [cached.send([Call("/ping", {})])[0].body for _ in range(2)] == ["pong", "pong"]
    assert len(inner.calls) == 2


def test_a_store_that_fails_costs_no_answer(
    store: AnswerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(AnswerStore, "recall", full)
    monkeypatch.setattr(AnswerStore, "keep", full)
    cached = CachedTransport(ScriptedTransport(squares), store, None)
    assert values(cached.send([batch(2)])[0]) == [4]
    assert cached.tally.snapshot() == {"cache_errors": 2, "requests": 1}
