"""Prompts as the token ids that a model was trained on.

Ids are made here, with the model's own tokenizer and chat template, so that the server has nothing
to decide: which template, with or without the opening of an answer, thinking or not. A control
token inside a prompt's text is refused: it would end the message that it stands in.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bed.errors import DataError
from bed.prompts import Prompt

__all__ = ["ChatTemplate"]


@dataclass(frozen=True)
class ChatTemplate:
    """Renders conversations into token ids, by the tokenizer of a model.

    Attributes:
        tokenizer: name on the hub, or a folder.
        revision: branch, tag or commit on the hub.
        generation_prompt: whether the opening of the answer follows the messages, as it does in
            the training of the released models.
        thinking: passed to the template as `enable_thinking`.
    """

    tokenizer: str
    revision: str | None = None
    generation_prompt: bool = True
    thinking: bool = False

    def ids(self, prompt: Prompt) -> list[int]:
        """Return the token ids of a conversation's opening.

        Args:
            prompt: system and user text; an empty system text is left out.

        Raises:
            DataError: for a control token in the text, a tokenizer that cannot be loaded, one
                without a chat template, or a template that refuses the prompt.
        """
        return self._encoded([self.text(prompt)])[0]

    def many(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return the token ids of every prompt; see `ids`.

        Args:
            prompts: encoded together, on several cores.
        """
        return self._encoded([self.text(prompt) for prompt in prompts])

    def text(self, prompt: Prompt) -> str:
        """Return a conversation's opening as the template lays it out; see `ids`."""
        for part in (prompt.system, prompt.user):
            self._refuse_control(part)
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.user})
        from jinja2 import TemplateError

        try:
            found = self._model.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=self.generation_prompt,
                enable_thinking=self.thinking,
            )
        except TemplateError as error:
            raise DataError(
                f"the chat template of {self.tokenizer} refuses the prompt: {error}; where it "
                "takes no system message, give an empty system prompt"
            ) from error
        return str(found)

    def continuation(self, text: str) -> list[int]:
        """Return the token ids of text that follows a prompt.

        Args:
            text: without control tokens.
        """
        self._refuse_control(text)
        return self._encoded([text])[0]

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        found: list[list[int]] = self._model(list(texts), add_special_tokens=False)["input_ids"]
        return found

    def _refuse_control(self, text: str) -> None:
        for token in self._control:
            if token in text:
                raise DataError(
                    f"the prompt holds {token!r}, a control token of {self.tokenizer}; take it out"
                )

    @cached_property
    def _control(self) -> tuple[str, ...]:
        return tuple(
            str(token) for token in self._model.added_tokens_decoder.values() if token.special
        )

    @cached_property
    def _model(self) -> Any:
        # tokenizers need no torch, whatever transformers advises
        os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
        try:
            from transformers import AutoTokenizer
        except ImportError as error:
            raise DataError(
                "token ids of prompts need transformers: pip install 'bed-engine[http]'"
            ) from error
        try:
            model = AutoTokenizer.from_pretrained(self.tokenizer, revision=self.revision)
        except (OSError, ValueError) as error:
            raise DataError(
                f"no tokenizer at {self.tokenizer!r} (revision {self.revision!r}): {error}"
            ) from error
        if model.chat_template is None:
            raise DataError(f"the tokenizer {self.tokenizer!r} has no chat template; name another")
        return model
