"""Conversations with a model behind the OpenAI chat protocol: vLLM's or a hosted one's.

The two dialects differ in what else a request may say. vLLM knows structured output and arguments
of the chat template; it ignores fields that it does not know, so only the right ones are sent.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bed.errors import DataError
from bed.prompts import Prompt
from bed.seeds import derive_seed
from bed.transport import Call, Reply, Transport

__all__ = ["Chat", "ChatRequest", "Completion", "Dialect"]

Dialect = Literal["vllm", "openai"]

_SEED_BITS = 31


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question.

    Attributes:
        prompt: system and user message.
        seed: equal requests with equal seeds get equal answers, where the server keeps to seeds.
        regex: what the answer must match after its reasoning, where output is structured.
        choices: instead, the answers that are allowed.
        prefix: see `bed.transport.Call`.
    """

    prompt: Prompt
    seed: int
    regex: str | None = None
    choices: tuple[str, ...] = ()
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote.

    Attributes:
        text: all of it; None where no answer came.
        reason: why none came, or None.
        is_cut: whether it stopped at the limit of tokens, so that its end is missing.
    """

    text: str | None
    reason: str | None = None
    is_cut: bool = False


@dataclass(frozen=True)
class Chat:
    """Asks a chat endpoint.

    Attributes:
        transport: to the servers.
        model: its name at the server.
        temperature: 0 writes the likeliest answer each time.
        max_tokens: most tokens of an answer, its reasoning included.
        thinking: whether the model shall reason first (vLLM: `enable_thinking` of the template).
        structured: whether answers are held to their form while they are written (vLLM only);
            with `thinking`, after a reasoning of at most `max_tokens` characters.
        dialect: "vllm", or "openai" for a hosted service.
        sends_seed: whether requests carry seeds; some services refuse them.
        extra: fields put into each request as they are; they win over bed's own.
    """

    transport: Transport
    model: str
    temperature: float = 1.0
    max_tokens: int = 512
    thinking: bool = False
    structured: bool = False
    dialect: Dialect = "vllm"
    sends_seed: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise DataError(f"temperature is {self.temperature!r}; it must be 0 or more")
        if self.max_tokens < 1:
            raise DataError(f"max_tokens is {self.max_tokens!r}; it must be at least 1")
        if self.structured and self.dialect != "vllm":
            raise DataError(
                f"structured output is known to vLLM only, and the dialect is {self.dialect!r}; "
                "leave it out, or put the service's own fields into extra"
            )

    def complete(self, requests: Sequence[ChatRequest]) -> list[Completion]:
        """Return what the model wrote to every request, in order."""
        calls = [
            Call(
                "/v1/chat/completions",
                self._body(request),
                request.prefix,
                rows="choices",
                salt=str(request.seed),
            )
            for request in requests
        ]
        return [_completion(reply) for reply in self.transport.send(calls)]

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        prompt = request.prompt
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        messages.append({"role": "user", "content": prompt.user})
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        body["temperature"] = self.temperature
        limit = "max_tokens" if self.dialect == "vllm" else "max_completion_tokens"
        body[limit] = self.max_tokens
        if self.sends_seed:
            body["seed"] = derive_seed(request.seed) >> (63 - _SEED_BITS)
        if self.dialect == "vllm":
            body["chat_template_kwargs"] = {"enable_thinking": self.thinking}
            if self.structured and (form := self._form(request)):
                body["structured_outputs"] = form
        return {**body, **self.extra}

    def _form(self, request: ChatRequest) -> dict[str, Any]:
        """Return what vLLM shall hold an answer to; nothing where any answer will do."""
        if not self.thinking:
            if request.choices:
                return {"choice": list(request.choices)}
            return {"regex": request.regex} if request.regex else {}
        answer = request.regex or "|".join(map(re.escape, request.choices))
        # Reasoning between tags, then plain text: a token has several characters, so that the
        # answer comes before the limit. Some templates write the first tag themselves.
        text = rf"[^<]{{0,{self.max_tokens}}}"
        return {"regex": f"((<think>)?{text}</think>)?{text}({answer})"} if answer else {}


def _completion(reply: Reply) -> Completion:
    if reply.reason is not None:
        return Completion(None, reply.reason)
    try:
        choice = reply.body["choices"][0]
        text = choice["message"]["content"]
        if not isinstance(text, str):
            raise TypeError(f"content is {text!r}")
    except (KeyError, IndexError, TypeError) as error:
        shown = str(reply.body)[:200]
        return Completion(None, f"the server's answer has no text ({error}): {shown}")
    return Completion(text, is_cut=choice.get("finish_reason") == "length")
