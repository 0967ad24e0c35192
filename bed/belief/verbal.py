"""A chat model that states its belief: `<probability>0.XX</probability>`, the mean of its draws."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bed.belief.asking import Systems, asked, shared_start
from bed.chat import Chat, ChatRequest, Completion
from bed.errors import DataError
from bed.information import CLIP, log_odds
from bed.prompts import parse_probability
from bed.protocols import BeliefQuery, Beliefs
from bed.seeds import derive_seed

__all__ = ["VerbalBelief"]

_ANSWER = r"<probability>0\.\d\d</probability>"
_SHOWN = 160


@dataclass(frozen=True)
class VerbalBelief:
    """Asks a chat model to state a probability.

    Draws that cannot be read are left out of the mean and counted in the transport's tally as
    `unreadable`. A query fails where more than half of its draws are.

    Attributes:
        chat: the model; its `thinking` also decides which system prompt is shown.
        draws: how often each question is asked. Two or more tell their own noise.
        systems: domain -> system prompt instead of bed's own.
    """

    chat: Chat
    draws: int = 1
    systems: Systems = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise DataError(f"draws is {self.draws}; at least one is needed")

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query by the mean of its readable draws."""
        found = asked(queries, self.systems, self.chat.thinking, is_sampled=True)
        requests = [
            ChatRequest(
                prompt, derive_seed(seed, "draw", draw), _ANSWER, prefix=shared_start(prompt)
            )
            for prompt, seed in found.prompts
            for draw in range(self.draws)
        ]
        completions = self.chat.complete(requests)
        values, noise = np.full(len(queries), np.nan), np.full(len(queries), np.nan)
        reasons = list(found.reasons)
        answers = [
            self._answer(completions[row * self.draws : (row + 1) * self.draws])
            for row in range(len(found.prompts))
        ]
        for i, row in enumerate(found.rows):
            if row is not None:
                values[i], noise[i], reasons[i] = answers[row]
        return Beliefs(values, tuple(reasons), noise if self.draws > 1 else None)

    def _answer(self, drawn: Sequence[Completion]) -> tuple[float, float, str | None]:
        """Return the mean, the standard error of its log odds, and why there is none."""
        read = [None if of.text is None else parse_probability(of.text) for of in drawn]
        unread = [of for of, p in zip(drawn, read, strict=True) if p is None]
        written = sum(of.text is not None for of in unread)
        self.chat.transport.tally.add(unreadable=written)
        stated = np.array([p for p in read if p is not None], dtype=np.float64)
        if 2 * len(unread) > len(drawn):
            return np.nan, np.nan, f"{len(unread)} of {len(drawn)} draws failed: {_why(unread[0])}"
        noise = np.nan
        if stated.size > 1:
            noise = float(log_odds(stated, CLIP).std(ddof=1) / np.sqrt(stated.size))
        return float(stated.mean()), noise, None


def _why(completion: Completion) -> str:
    if completion.text is None:
        return str(completion.reason)
    cut = " (cut at max_tokens)" if completion.is_cut else ""
    return f"no <probability> can be read in {completion.text[-_SHOWN:]!r}{cut}"
