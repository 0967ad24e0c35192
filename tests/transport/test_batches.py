"""A bad item fails alone, whatever batch it travels in."""

from collections.abc import Sequence
from typing import Any

import pytest

from bed.transport import Call, Failure, Reply, ScriptedTransport, send_batches


def server(most: int = 64, bad: frozenset[int] = frozenset()) -> ScriptedTransport:
    """Doubles numbers; refuses bad ones with 400, and batches above its queue with 503."""

    def answer(call: Call) -> Any:
        items = call.body["items"]
        if len(items) > most:
            return Reply(reason="busy", status=503)
        if found := sorted(bad & set(items)):
            return Reply(reason=f"{found[0]} is too long", status=400)
        return {"data": [2 * item for item in items]}

    return ScriptedTransport(answer)


def doubled(
    transport: ScriptedTransport, items: Sequence[int], size: int = 8
) -> list[int | Failure]:
    def call(part: Sequence[int]) -> Call:
        return Call("/double", {"items": list(part)}, batch="items")

    def read(body: Any, count: int) -> list[int]:
        return [int(value) for value in body["data"]]

    return send_batches(transport, items, size, call, read)


@pytest.mark.parametrize("size", [1, 3, 8, 100])
def test_results_keep_the_order(size: int) -> None:
    assert doubled(server(), range(20), size) == [2 * i for i in range(20)]


@pytest.mark.parametrize("bad", [{0}, {19}, {7, 8}, set(range(20))], ids=str)
def test_only_the_bad_items_fail(bad: set[int]) -> None:
    transport = server(bad=frozenset(bad))
    found = doubled(transport, range(20))
    assert found == [Failure(f"{i} is too long") if i in bad else 2 * i for i in range(20)]


def test_a_bad_item_costs_a_few_calls() -> None:
    transport = server(bad=frozenset({5}))
    doubled(transport, range(64), 64)
    assert len(transport.calls) == 1 + 2 * 6


def test_a_batch_too_large_for_the_queue_is_halved() -> None:
    transport = server(most=4)
    assert doubled(transport, range(16), 16) == [2 * i for i in range(16)]
    assert [call.num_items for call in transport.calls] == [16, 8, 8, 4, 4, 4, 4]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "cannot be read"),
        ({"data": None}, "cannot be read"),
        ({"data": ["x", "y"]}, "cannot be read"),
        ({"data": [1]}, "gave 1 answers to 2 prompts"),
        ([], "cannot be read"),
    ],
    ids=str,
)
def test_an_answer_of_another_shape_fails_its_items(body: Any, reason: str) -> None:
    found = doubled(ScriptedTransport(lambda call: body), range(2))
    assert all(isinstance(item, Failure) and reason in item.reason for item in found)


def test_what_is_no_fault_of_the_batch_is_not_sent_again() -> None:
    transport = ScriptedTransport(lambda call: Reply(reason="no such model", status=404))
    assert doubled(transport, range(4)) == [Failure("no such model")] * 4
    assert len(transport.calls) == 1
