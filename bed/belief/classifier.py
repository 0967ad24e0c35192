"""A language model with a scalar head, served by vLLM: p(theta = 1) is the sigmoid of its logit.

The paper's belief model. Prompts travel as token ids and the raw logit comes back: the sigmoid is
taken here, because a server may apply it or not by the checkpoint's configuration.
"""

import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bed.belief.asking import Systems, asked, encoded_each, shared_start
from bed.errors import BedError, DataError
from bed.information import probability
from bed.prompts import Prompt
from bed.protocols import BeliefQuery, Beliefs
from bed.tokens import ChatTemplate
from bed.transport import Call, Failure, Transport, in_order, send_batches

__all__ = ["ClassifierBelief", "Golden", "GoldenVetting", "ModelCheckError", "read_golden"]

_SATURATED = 30.0
"""A logit beyond this comes from a head that was never loaded."""
_SAME = 1e-6
_PARTS_AT_ONCE = 64
_PROBES = (
    "The sky is blue on a clear day.",
    "Seven is an even number. Nine is an odd number.",
    "Gene A is essential in one cell line, and was found not to be in four others.",
)


class ModelCheckError(BedError):
    """A served model is not the one that it should be; the message says what shows it."""


@dataclass(frozen=True)
class Golden:
    """A prompt with the logit that the model must give.

    Attributes:
        prompt: its token ids, or a conversation, which tries the tokenizer and template as well.
        logit: from the model in process.
    """

    prompt: Prompt | tuple[int, ...]
    logit: float


@dataclass(frozen=True)
class ClassifierBelief:
    """Asks a classification endpoint.

    Attributes:
        transport: to the servers.
        template: makes the token ids, as the model was trained.
        model: its name at the server.
        batch_size: prompts of one request.
        thinking: whether the prompts ask for reasoning; the released classifiers were trained
            without.
        systems: domain -> system prompt instead of bed's own.
    """

    transport: Transport
    template: ChatTemplate
    model: str
    batch_size: int = 64
    thinking: bool = False
    systems: Systems = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise DataError(f"batch_size is {self.batch_size}; it must be at least 1")

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; one that the server refuses fails alone."""
        found = asked(queries, self.systems, self.thinking)
        logits = self.logits([prompt for prompt, _ in found.prompts])
        return found.beliefs(
            [of if isinstance(of, Failure) else float(probability(of)) for of in logits]
        )

    def logits(self, prompts: Sequence[Prompt]) -> list[float | Failure]:
        """Return the raw logit of theta = 1 for every prompt, or why there is none.

        Args:
            prompts: those that share a beginning side by side.
        """
        parts = [
            prompts[at : at + self.batch_size] for at in range(0, len(prompts), self.batch_size)
        ]
        pool = ThreadPoolExecutor(_PARTS_AT_ONCE)
        try:
            # the servers work on some prompts while the next are made into tokens
            found = [
                pool.submit(self._sent, part, encoded_each(self.template, part)) for part in parts
            ]
            return [answer for part in found for answer in part.result()]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _sent(
        self, prompts: Sequence[Prompt], encoded: Sequence[list[int] | Failure]
    ) -> list[float | Failure]:
        good = [
            (ids, shared_start(prompt))
            for ids, prompt in zip(encoded, prompts, strict=True)
            if not isinstance(ids, Failure)
        ]
        answers = iter(self._asked(good))
        return [ids if isinstance(ids, Failure) else next(answers) for ids in encoded]

    def _asked(
        self, items: Sequence[tuple[Sequence[int], str]], is_activated: bool = False
    ) -> list[float | Failure]:
        def call(part: Sequence[tuple[Sequence[int], str]]) -> Call:
            return _call(self.model, [ids for ids, _ in part], part[0][1], is_activated)

        read = _last if is_activated else _logits
        return send_batches(self.transport, items, self.batch_size, call, read)

    def check(self, golden: Sequence[Golden] = (), tolerance: float = 0.05) -> list[float]:
        """Return the logits of a few texts, once they show that the head is loaded.

        A server starts without a warning when the checkpoint's head has another name, and then
        answers with an uninitialised one.

        Args:
            golden: prompts with the logits that must come back.
            tolerance: by which they may differ; about 1e-3 in float32, .05 in bfloat16.

        Raises:
            ModelCheckError: for logits that are not finite, saturated or all the same, an
                activation that is not the sigmoid, or a golden prompt missed.
            DataError: where nothing answers.
        """
        probes = [self.template.continuation(text) for text in _PROBES]
        found = self._sound(probes)
        if not all(math.isfinite(logit) and abs(logit) < _SATURATED for logit in found):
            raise ModelCheckError(
                f"{self.model}: logits {found} of plain sentences are not finite or saturated, so "
                "the classification head was not loaded; its weight must be called score.weight"
            )
        if max(found) - min(found) < _SAME:
            raise ModelCheckError(
                f"{self.model}: unlike texts all get the logit {found[0]:g}, so the model does not "
                "read them; check the checkpoint and its head"
            )
        self._check_activation(probes, found)
        answers = self._sound([_ids(self.template, of.prompt) for of in golden])
        if missed := _missed(golden, answers, tolerance):
            raise ModelCheckError(f"{self.model}: {missed}")
        return found

    def _sound(self, prompts: Sequence[Sequence[int]], is_activated: bool = False) -> list[float]:
        found = []
        for answer in self._asked([(ids, "") for ids in prompts], is_activated):
            if isinstance(answer, Failure):
                raise DataError(f"{self.model} gives no answer: {answer.reason}")
            found.append(answer)
        return found

    def _check_activation(self, probes: Sequence[Sequence[int]], logits: Sequence[float]) -> None:
        """Raise unless the server's own activation is the sigmoid, or it applies none."""
        shown = self._sound(probes, is_activated=True)
        sigmoid = [float(probability(logit)) for logit in logits]
        for wanted in (sigmoid, list(logits)):
            if np.allclose(shown, wanted, atol=0.02):
                return
        raise ModelCheckError(
            f"{self.model}: with its activation the server answers {shown}, which is neither the "
            f"sigmoid of the logits {list(logits)} nor the logits; it must be vLLM with a head of "
            "one or two labels"
        )


@dataclass(frozen=True)
class GoldenVetting:
    """Keeps a server out until it gives golden prompts their logits (a `bed.transport.Vetting`).

    Attributes:
        template: of the model.
        model: its name at the server.
        golden: prompts with the logits that must come back.
        tolerance: by which they may differ.
    """

    template: ChatTemplate
    model: str
    golden: tuple[Golden, ...]
    tolerance: float

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The golden prompts, in one call."""
        return (_call(self.model, [_ids(self.template, of.prompt) for of in self.golden]),)

    def fault(self, bodies: Sequence[Any]) -> str | None:
        """Return which prompt is missed by how much; None where none is."""
        try:
            answers = _logits(bodies[0], len(self.golden))
        except (KeyError, TypeError, ValueError) as error:
            return f"golden prompts get an answer that cannot be read ({error})"
        if len(answers) != len(self.golden):
            return f"{len(self.golden)} golden prompts get {len(answers)} answers"
        return _missed(self.golden, answers, self.tolerance)


def _missed(
    golden: Sequence[Golden], answers: Sequence[float | Failure], tolerance: float
) -> str | None:
    for place, (of, logit) in enumerate(zip(golden, answers, strict=True)):
        if isinstance(logit, Failure):
            return f"golden prompt {place} gets no logit: {logit.reason}"
        if not abs(logit - of.logit) <= tolerance:
            return (
                f"golden prompt {place} gets the logit {logit:.4f} instead of {of.logit:.4f} "
                f"(tolerance {tolerance:g}); another checkpoint or precision is served"
            )
    return None


def _ids(template: ChatTemplate, prompt: Prompt | Sequence[int]) -> Sequence[int]:
    return template.ids(prompt) if isinstance(prompt, Prompt) else prompt


def _call(
    model: str, prompts: Sequence[Sequence[int]], prefix: str = "", is_activated: bool = False
) -> Call:
    ids = [list(of) for of in prompts]
    body = {"model": model, "input": ids, "use_activation": is_activated}
    return Call("/classify", body, prefix, "input", "data")


def read_golden(path: Path) -> list[Golden]:
    """Return golden prompts from JSON lines: {"ids", "logit"} or {"system", "user", "logit"}.

    Args:
        path: of the file.

    Raises:
        DataError: for a line that is something else, naming it.
    """
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read golden prompts from {path}: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(_golden(json.loads(line)))
        except ValueError as error:
            raise DataError(
                f'{path}, line {number}: {error}; write {{"ids": [1, 2, 3], "logit": -0.3}} or '
                '{"system": "...", "user": "...", "logit": -0.3}'
            ) from error
    return found


def _golden(row: Any) -> Golden:
    keys = set(row) if isinstance(row, dict) else set()
    if keys not in ({"ids", "logit"}, {"system", "user", "logit"}):
        raise ValueError(f"the keys are {sorted(keys)}")
    logit = row["logit"]
    if type(logit) not in (int, float) or not math.isfinite(logit):
        raise ValueError(f"the logit is {logit!r}; it must be a finite number")
    if "ids" not in row:
        if not isinstance(row["system"], str) or not isinstance(row["user"], str):
            raise ValueError("system and user must be texts")
        return Golden(Prompt(row["system"], row["user"]), logit)
    ids = row["ids"]
    if not isinstance(ids, list) or not ids or not all(type(i) is int and i >= 0 for i in ids):
        raise ValueError("ids must be whole numbers of 0 or more, at least one")
    return Golden(tuple(ids), logit)


def _logits(body: Any, count: int) -> list[float | Failure]:
    return [_logit(row.get("probs")) for row in in_order(body["data"])]


def _last(body: Any, count: int) -> list[float]:
    return [float(row["probs"][-1]) for row in in_order(body["data"])]


def _logit(probs: Any) -> float | Failure:
    """Return the logit of the second of two labels over the first, or of the only one."""
    try:
        values = [float(value) for value in probs]
    except (TypeError, ValueError):
        values = []
    if len(values) not in (1, 2) or not all(map(math.isfinite, values)):
        return Failure(
            "the server's answer cannot be read: a head of one or two labels gives as many finite "
            f"numbers, not {str(probs)[:200]}"
        )
    return values[-1] - values[0] if len(values) == 2 else values[0]
