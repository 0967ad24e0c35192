"""A language model with a scalar head, served by vLLM: p(theta = 1) is the sigmoid of its logit.

The paper's belief model. Prompts travel as token ids and the raw logit comes back: the sigmoid is
taken here, because a server may apply it or not by the checkpoint's configuration.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bed.belief.asking import Systems, asked, encoded_each, shared_start
from bed.errors import BedError, DataError
from bed.information import probability
from bed.prompts import Prompt
from bed.protocols import BeliefQuery, Beliefs
from bed.tokens import ChatTemplate
from bed.transport import Call, Failure, Transport, send_batches

__all__ = ["ClassifierBelief", "Golden", "ModelCheckError", "read_golden"]

_SATURATED = 30.0
"""A logit beyond this comes from a head that was never loaded."""
_SAME = 1e-6
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
        ids: the prompt's token ids.
        logit: from the model in process.
    """

    ids: tuple[int, ...]
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
        encoded = encoded_each(self.template, prompts)
        good = [
            (ids, shared_start(prompt))
            for ids, prompt in zip(encoded, prompts, strict=True)
            if not isinstance(ids, Failure)
        ]
        answers = iter(self._asked(good))
        return [ids if isinstance(ids, Failure) else next(answers) for ids in encoded]

    def _asked(self, items: Sequence[tuple[Sequence[int], str]]) -> list[float | Failure]:
        def call(part: Sequence[tuple[Sequence[int], str]]) -> Call:
            return self._call([list(ids) for ids, _ in part], part[0][1])

        return send_batches(self.transport, items, self.batch_size, call, _logits)

    def _call(self, ids: list[list[int]], prefix: str = "", activated: bool = False) -> Call:
        body = {"model": self.model, "input": ids, "use_activation": activated}
        return Call("/classify", body, prefix, len(ids))

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
        ids = [self.template.continuation(text) for text in _PROBES]
        found = self._sound([(tuple(of), "") for of in ids])
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
        self._check_activation(ids, found)
        answers = self._sound([(of.ids, "") for of in golden])
        for place, (of, logit) in enumerate(zip(golden, answers, strict=True)):
            if not abs(logit - of.logit) <= tolerance:
                raise ModelCheckError(
                    f"{self.model}: golden prompt {place} gets the logit {logit:.4f} instead of "
                    f"{of.logit:.4f} (tolerance {tolerance:g}); another checkpoint or precision is "
                    "served"
                )
        return found

    def _sound(self, items: Sequence[tuple[Sequence[int], str]]) -> list[float]:
        found = []
        for answer in self._asked(items):
            if isinstance(answer, Failure):
                raise DataError(f"{self.model} gives no answer: {answer.reason}")
            found.append(answer)
        return found

    def _check_activation(self, ids: list[list[int]], logits: Sequence[float]) -> None:
        """Raise unless the server's own activation is the sigmoid, or it applies none."""
        (reply,) = self.transport.send([self._call(ids, activated=True)])
        if reply.reason is not None:
            raise DataError(f"{self.model} gives no answer: {reply.reason}")
        shown = [row["probs"][-1] for row in _by_index(reply.body)]
        sigmoid = [float(probability(logit)) for logit in logits]
        for wanted in (sigmoid, list(logits)):
            if np.allclose(shown, wanted, atol=0.02):
                return
        raise ModelCheckError(
            f"{self.model}: with its activation the server answers {shown}, which is neither the "
            f"sigmoid of the logits {list(logits)} nor the logits; it must be vLLM with a head of "
            "one or two labels"
        )


def read_golden(path: Path) -> list[Golden]:
    """Return golden prompts from JSON lines such as {"ids": [1, 2], "logit": -0.3}.

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
            row = json.loads(line)
            ids, logit = tuple(row["ids"]), float(row["logit"])
            if not ids or not all(type(i) is int and i >= 0 for i in ids):
                raise ValueError("ids must be whole numbers of 0 or more")
            if not math.isfinite(logit):
                raise ValueError("the logit must be finite")
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f'{path}, line {number}: {error}; write {{"ids": [1, 2, 3], "logit": -0.3}}'
            ) from error
        found.append(Golden(ids, logit))
    return found


def _logits(body: Any, count: int) -> list[float]:
    return [_logit(row["probs"]) for row in _by_index(body)]


def _by_index(body: Any) -> list[Mapping[str, Any]]:
    return sorted(body["data"], key=lambda row: int(row["index"]))


def _logit(probs: Sequence[float]) -> float:
    """Return the logit of the second of two labels over the first, or of the only one."""
    values = [float(value) for value in probs]
    if len(values) not in (1, 2) or not all(map(math.isfinite, values)):
        raise ValueError(f"a head of one or two labels gives as many finite numbers, not {probs}")
    return values[-1] - values[0] if len(values) == 2 else values[0]
