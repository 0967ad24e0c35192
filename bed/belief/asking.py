"""Belief queries as prompts: rendered, merged where they are identical, and put in order.

Sorted by their text, prompts that share a beginning stand side by side, and a server's prefix
cache serves them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from bed.domains import canonical
from bed.errors import DataError
from bed.prompts import Prompt, belief_prompt
from bed.protocols import BeliefQuery, Beliefs
from bed.tokens import ChatTemplate
from bed.transport import Failure

__all__ = ["Asked", "Systems", "asked", "encoded_each", "shared_start"]

Systems = Mapping[str, str]
"""Domain -> a system prompt, taken to the letter instead of bed's own."""

_SECOND_ITEM = re.compile(r"^(?:\[2\] |TARGET HYPOTHESIS$)", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """The prompts of a batch of queries.

    Attributes:
        prompts: each once, sorted by text, with the seed of those who ask it.
        rows: for each query the place of its prompt, or None.
        reasons: why a query has no prompt, or None.
    """

    prompts: tuple[tuple[Prompt, int], ...]
    rows: tuple[int | None, ...]
    reasons: tuple[str | None, ...]

    def beliefs(self, answers: Sequence[float | Failure]) -> Beliefs:
        """Return the answer to every query.

        Args:
            answers: p(theta = 1) for each prompt, or why there is none.
        """
        values, reasons = np.full(len(self.rows), np.nan), list(self.reasons)
        for i, row in enumerate(self.rows):
            answer = Failure("") if row is None else answers[row]
            if not isinstance(answer, Failure):
                values[i] = answer
            elif row is not None:
                reasons[i] = answer.reason
        return Beliefs(values, tuple(reasons))


def asked(
    queries: Sequence[BeliefQuery],
    systems: Systems,
    thinking: bool = False,
    is_sampled: bool = False,
    system: str | None = None,
) -> Asked:
    """Render queries into prompts; one that cannot be rendered fails alone.

    Args:
        queries: in any order.
        systems: domain -> system prompt.
        thinking: whether the prompts ask for reasoning first.
        is_sampled: whether the model draws its answers, so that queries of other seeds are other
            questions.
        system: of the domains that `systems` leaves out, instead of bed's own.
    """
    rendered: list[tuple[Prompt, int] | None] = []
    reasons: list[str | None] = []
    for query in queries:
        try:
            prompt = belief_prompt(
                query.hypothesis,
                query.evidence,
                thinking=thinking,
                system=systems.get(canonical(query.hypothesis.domain), system),
            )
        except DataError as error:
            rendered.append(None)
            reasons.append(str(error))
        else:
            rendered.append((prompt, query.seed if is_sampled else 0))
            reasons.append(None)
    once = sorted(
        {item for item in rendered if item is not None},
        key=lambda item: (item[0].system, item[0].user, item[1]),
    )
    place = {item: row for row, item in enumerate(once)}
    rows = tuple(None if item is None else place[item] for item in rendered)
    return Asked(tuple(once), rows, tuple(reasons))


def shared_start(prompt: Prompt) -> str:
    """Return a key of what a prompt shares with others about the same evidence.

    That is its beginning up to the second piece of evidence: at each step of an episode the
    evidence only grows at its end.

    Args:
        prompt: of any role.
    """
    second = _SECOND_ITEM.search(prompt.user)
    start = prompt.user[: second.start() if second else None]
    return blake2b(f"{prompt.system}\0{start}".encode(), digest_size=8).hexdigest()


def encoded_each(template: ChatTemplate, prompts: Sequence[Prompt]) -> list[list[int] | Failure]:
    """Return the token ids of every prompt; one that cannot be encoded fails alone.

    Args:
        template: of the model.
        prompts: encoded together where nothing is wrong with any of them.
    """
    try:
        return list(template.many(prompts))
    except DataError:
        return [_encoded(template, prompt) for prompt in prompts]


def _encoded(template: ChatTemplate, prompt: Prompt) -> list[int] | Failure:
    try:
        return template.ids(prompt)
    except DataError as error:
        return Failure(str(error))
