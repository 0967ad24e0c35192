"""Stand-ins for model servers, as functions of what is asked, and a small tokenizer."""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from bed.chat import Chat
from bed.seeds import derive_seed, uniform
from bed.tokens import ChatTemplate
from bed.transport import Call, Reply, ScriptedTransport

LONGEST = 20_000
"""Tokens that the double takes."""


@cache
def template() -> ChatTemplate:
    """A template over a tokenizer trained on a few words, with Qwen3's control tokens."""
    from tests.models.tokenizer import make_tokenizer

    folder = Path(tempfile.mkdtemp(prefix="bed-tokenizer-"))
    words = ["Yes", "No", "yes", "no", "the gene", " is a dependency", " in cell line"] * 30
    make_tokenizer(words).save_pretrained(folder)
    return ChatTemplate(str(folder))


def classifier(
    logit: Callable[[list[int]], float] | None = None,
    activate: Callable[[float], float] | None = None,
) -> ScriptedTransport:
    """A vLLM classification server: a logit that depends on every token."""
    from bed.information import probability

    of = logit or (lambda ids: 4.0 * uniform(derive_seed(*ids)) - 2.0)
    shape = activate or (lambda value: float(probability(value)))

    def answer(call: Call) -> Any:
        assert call.path == "/classify"
        assert set(call.body) == {"model", "input", "use_activation"}
        if any(len(ids) > LONGEST for ids in call.body["input"]):
            return Reply(reason="maximum context length is 20000 tokens", status=400)
        found = [of(ids) for ids in call.body["input"]]
        shown = [shape(value) if call.body["use_activation"] else value for value in found]
        rows = [{"index": i, "probs": [value]} for i, value in enumerate(shown)]
        return {"data": rows[::-1], "usage": {"prompt_tokens": 1}}

    return ScriptedTransport(answer)


def chat(
    write: Callable[[dict[str, Any]], str | Reply], finish: str = "stop", **settings: Any
) -> Chat:
    """A chat endpoint that writes what a function of the request's body says."""

    def answer(call: Call) -> Any:
        assert call.path == "/v1/chat/completions"
        written = write(dict(call.body))
        if isinstance(written, Reply):
            return written
        message = {"role": "assistant", "content": written}
        return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}

    return Chat(ScriptedTransport(answer), "chat", **settings)


def user(body: dict[str, Any]) -> str:
    """The last message of a request."""
    return str(body["messages"][-1]["content"])
