"""A language model without a head: P(Yes) against P(No) as the next tokens of its answer.

Every surface form of each label counts, and a form of several tokens by their joint probability.
What the server's list of likeliest tokens leaves out is asked for by itself, so that no label is
zero for want of a place on it; a server that cannot tell is a reason.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bed.belief.asking import Systems, asked, encoded_each, shared_start
from bed.errors import DataError
from bed.information import probability
from bed.prompts import Prompt
from bed.protocols import BeliefQuery, Beliefs
from bed.tokens import ChatTemplate
from bed.transport import Call, Failure, Transport, in_order, send_batches

__all__ = ["LogprobBelief"]

_Form = tuple[int, ...]

YES = ("Yes", "yes", "YES", " Yes", " yes")
NO = ("No", "no", "NO", " No", " no")

_QUESTION = "Is the target hypothesis supported? Answer with one word, Yes or No."
_SYSTEM = (
    "You judge from limited evidence whether a scientific hypothesis is supported. You are shown "
    "pieces of evidence with their results, and a target hypothesis. Answer with one word, Yes or "
    "No, and nothing else."
)
_CLOSING = "Respond using the format specified in the system message:"


@dataclass(frozen=True)
class LogprobBelief:
    """Asks a completion endpoint (vLLM's /v1/completions) for log probabilities.

    Attributes:
        transport: to the servers.
        template: makes the token ids.
        model: its name at the server.
        batch_size: prompts of one request.
        yes: surface forms of the label of theta = 1. One that goes on from another, as "Nope" may
            from "No", is counted with it.
        no: those of theta = 0.
        top: how many of the likeliest tokens are asked for; the server's --max-logprobs bounds it.
        systems: domain -> system prompt instead of bed's own.
    """

    transport: Transport
    template: ChatTemplate
    model: str
    batch_size: int = 64
    yes: Sequence[str] = YES
    no: Sequence[str] = NO
    top: int = 20
    systems: Systems = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.top < 1:
            raise DataError(
                f"batch_size is {self.batch_size} and top is {self.top}; both must be at least 1"
            )
        labels = (self.yes, self.no)
        are_lists = all(of and not isinstance(of, str) and "" not in of for of in labels)
        if not are_lists or {*self.yes} & {*self.no}:
            raise DataError(
                f"labels {self.yes!r} and {self.no!r} must be two sets of texts without a common "
                'or an empty one, such as ("Yes", "yes") and ("No", "no")'
            )

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; one that the server refuses fails alone."""
        found = asked(queries, self.systems, system=_SYSTEM)
        answers = self._answers([_with_question(prompt) for prompt, _ in found.prompts])
        return found.beliefs(answers)

    def _answers(self, prompts: Sequence[Prompt]) -> list[float | Failure]:
        ids = encoded_each(self.template, prompts)
        starts = [shared_start(prompt) for prompt in prompts]
        good = [i for i, of in enumerate(ids) if not isinstance(of, Failure)]
        first = self._likeliest([(ids[i], starts[i]) for i in good])
        yes, no = self._labels()
        forms = (*yes, *no)
        lacking: list[tuple[int, _Form]] = []
        for i, likeliest in zip(good, first, strict=True):
            if not isinstance(likeliest, Failure):
                lacking += [
                    (i, form) for form in forms if len(form) > 1 or form[0] not in likeliest
                ]
        rescored = self._rescored(
            [([*_of(ids[i]), *form], len(form), starts[i]) for i, form in lacking]
        )
        scores: dict[tuple[int, _Form], float | Failure] = dict(zip(lacking, rescored, strict=True))
        answers: list[float | Failure] = [
            of if isinstance(of, Failure) else Failure("not asked") for of in ids
        ]
        for i, likeliest in zip(good, first, strict=True):
            if isinstance(likeliest, Failure):
                answers[i] = likeliest
                continue
            of = {
                form: scores[i, form] if (i, form) in scores else likeliest[form[0]]
                for form in forms
            }
            answers[i] = _share([of[form] for form in yes], [of[form] for form in no])
        return answers

    def _labels(self) -> tuple[list[_Form], list[_Form]]:
        """Return the token ids of the surface forms of both labels, none a part of another."""
        yes, no = (
            [tuple(self.template.continuation(form)) for form in label]
            for label in (self.yes, self.no)
        )
        if any(_starts(a, b) or _starts(b, a) for a in yes for b in no):
            raise DataError(
                f"labels {self.yes} and {self.no}: a form of one starts with one of the other in "
                f"the tokens of {self.template.tokenizer}; choose forms that begin differently"
            )
        return _shortest(yes), _shortest(no)

    def _likeliest(self, items: Sequence[tuple[Any, str]]) -> list[dict[int, float] | Failure]:
        """Return token id -> log probability of the likeliest first tokens of each answer."""

        def call(part: Sequence[tuple[Any, str]]) -> Call:
            body = {
                "model": self.model,
                "prompt": [list(ids) for ids, _ in part],
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": self.top,
                "return_tokens_as_token_ids": True,
            }
            return Call("/v1/completions", body, part[0][1], "prompt", "choices")

        def read(body: Any, count: int) -> list[dict[int, float]]:
            return [
                {
                    int(token.removeprefix("token_id:")): float(logprob)
                    for token, logprob in choice["logprobs"]["top_logprobs"][0].items()
                }
                for choice in in_order(body["choices"])
            ]

        return send_batches(self.transport, items, self.batch_size, call, read)

    def _rescored(self, items: Sequence[tuple[Sequence[int], int, str]]) -> list[float | Failure]:
        """Return the joint log probability of the last tokens of each prompt."""

        def call(part: Sequence[tuple[Sequence[int], int, str]]) -> Call:
            body = {
                "model": self.model,
                "prompt": [list(ids) for ids, _, _ in part],
                "max_tokens": 1,
                "temperature": 0,
                "prompt_logprobs": 0,
            }
            return Call("/v1/completions", body, part[0][2], "prompt", "choices")

        def read(body: Any, count: int) -> list[list[Any]]:
            return [choice["prompt_logprobs"] for choice in in_order(body["choices"])]

        found = send_batches(self.transport, items, self.batch_size, call, read)
        return [
            row if isinstance(row, Failure) else _joint(row, ids, length)
            for row, (ids, length, _) in zip(found, items, strict=True)
        ]


def _starts(form: _Form, other: _Form) -> bool:
    return other[: len(form)] == form


def _shortest(forms: Sequence[_Form]) -> list[_Form]:
    """Return the forms that go on from no other, each once."""
    return [
        form
        for form in dict.fromkeys(forms)
        if not any(other != form and _starts(other, form) for other in forms)
    ]


def _share(yes: Sequence[float | Failure], no: Sequence[float | Failure]) -> float | Failure:
    """Return P(yes) / (P(yes) + P(no)) from the log probabilities of the forms of both."""
    for score in (*yes, *no):
        if isinstance(score, Failure):
            return score
    odds = float(np.logaddexp.reduce(np.array(yes)) - np.logaddexp.reduce(np.array(no)))
    if math.isnan(odds):
        return Failure(f"log probabilities {yes} of yes and {no} of no cannot be compared")
    return float(probability(odds))


def _joint(row: Sequence[Any], ids: Sequence[int], length: int) -> float | Failure:
    try:
        pairs = zip(row[-length:], ids[-length:], strict=True)
        total = math.fsum(float(at[str(token)]["logprob"]) for at, token in pairs)
    except (KeyError, TypeError, ValueError) as error:
        return Failure(f"the server's log probabilities of the prompt cannot be read ({error!r})")
    return total if math.isfinite(total) else Failure(f"a label has the log probability {total}")


def _of(ids: list[int] | Failure) -> list[int]:
    assert not isinstance(ids, Failure)
    return ids


def _with_question(prompt: Prompt) -> Prompt:
    """Return the prompt with a question for one word instead of its closing."""
    return Prompt(prompt.system, prompt.user.partition(_CLOSING)[0] + _QUESTION)
