"""Many items in few calls, so that a bad item fails alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bed.transport.values import Call, Reply, Transport

__all__ = ["Failure", "in_order", "send_batches"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_REFUSED = (400, 413, 422, 503)
"""A batch of several that is refused like this may hold one bad item, or be too much at once."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an item has no result."""

    reason: str


def send_batches(
    transport: Transport,
    items: Sequence[_Item],
    size: int,
    call: Callable[[Sequence[_Item]], Call],
    read: Callable[[Any, int], Sequence[_Result]],
) -> list[_Result | Failure]:
    """Return the result of every item, in order.

    Items that stand together travel together. A batch that is refused as a whole is halved until
    only the item to blame is refused.

    Args:
        transport: sends the calls.
        items: what to ask about, those that share a prefix side by side.
        size: most items of one call.
        call: makes the call of a batch.
        read: body of an answer and number of items -> their results; an answer that it cannot read
            (KeyError, TypeError, ValueError) fails its items.
    """
    results: list[_Result | Failure] = [Failure("not asked")] * len(items)
    spans = [(at, min(at + size, len(items))) for at in range(0, len(items), size)]
    while spans:
        replies = transport.send([call(items[start:stop]) for start, stop in spans])
        halves: list[tuple[int, int]] = []
        for (start, stop), reply in zip(spans, replies, strict=True):
            if reply.status in _REFUSED and stop - start > 1:
                middle = (start + stop) // 2
                halves += [(start, middle), (middle, stop)]
            else:
                results[start:stop] = _read(reply, stop - start, read)
        spans = halves
    return results


def _read(
    reply: Reply, count: int, read: Callable[[Any, int], Sequence[_Result]]
) -> list[_Result | Failure]:
    if reply.reason is not None:
        return [Failure(reply.reason)] * count
    try:
        found = list(read(reply.body, count))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        shown = str(reply.body)[:200]
        return [Failure(f"the server's answer cannot be read ({error}): {shown}")] * count
    if len(found) != count:
        return [Failure(f"the server gave {len(found)} answers to {count} prompts")] * count
    return list(found)


def in_order(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a server's answer in the order of the prompts that they answer.

    Args:
        rows: each with the place of its prompt, "index".

    Raises:
        ValueError: for places that are not 0, 1, 2 and so on, each once.
    """
    found = sorted(rows, key=lambda row: int(row["index"]))
    if (places := [int(row["index"]) for row in found]) != list(range(len(found))):
        raise ValueError(f"its rows answer the prompts {places}")
    return found
