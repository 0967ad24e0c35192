"""A transport that a function answers, for tests of whatever talks to a server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bed.transport.tally import Tally
from bed.transport.values import Call, OnReply, Reply

__all__ = ["ScriptedTransport"]


@dataclass
class ScriptedTransport:
    """Answers each call by a function, and records it.

    Attributes:
        answer: the decoded body of a call's answer, or a whole `Reply`.
        calls: every call so far.
        tally: counts requests and failures.
    """

    answer: Callable[[Call], Any]
    calls: list[Call] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def send(self, calls: Sequence[Call], on_reply: OnReply | None = None) -> list[Reply]:
        """Answer every call; see `bed.transport.Transport`."""
        self.calls += calls
        found = [self.answer(call) for call in calls]
        replies = [of if isinstance(of, Reply) else Reply(of, status=200) for of in found]
        failed = sum(reply.reason is not None for reply in replies)
        self.tally.add(requests=len(replies), failures=failed)
        if on_reply is not None:
            for at, reply in enumerate(replies):
                on_reply(at, reply)
        return replies
