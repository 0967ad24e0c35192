"""Bodies of requests in both dialects, and what a completion says."""

import re
from typing import Any

import pytest

from bed.chat import Chat, ChatRequest, Completion
from bed.errors import DataError
from bed.prompts import Prompt
from bed.transport import Reply, ScriptedTransport
from tests.doubles import chat

PROMPT = Prompt("be brief", "how likely?")
REQUEST = ChatRequest(PROMPT, 7, regex="a+", prefix="p")


def body(**settings: Any) -> dict[str, Any]:
    of = chat(lambda body: "x", **settings)
    of.complete([REQUEST])
    transport = of.transport
    assert isinstance(transport, ScriptedTransport)
    assert transport.calls[0].prefix == "p"
    return dict(transport.calls[0].body)


def test_a_request_to_vllm() -> None:
    sent = body(structured=True, temperature=0.5, max_tokens=9)
    assert sent.pop("seed") == body()["seed"]
    assert sent == {
        "model": "chat",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "how likely?"},
        ],
        "temperature": 0.5,
        "max_tokens": 9,
        "chat_template_kwargs": {"enable_thinking": False},
        "structured_outputs": {"regex": "a+"},
    }


def test_a_request_to_a_hosted_service_says_nothing_that_only_vllm_knows() -> None:
    sent = body(dialect="openai", sends_seed=False, extra={"reasoning_effort": "low"})
    assert set(sent) == {
        *("model", "messages", "temperature", "max_completion_tokens", "reasoning_effort")
    }


def test_choices_win_over_a_pattern() -> None:
    of = chat(lambda body: "x", structured=True)
    of.complete([ChatRequest(PROMPT, 0, "a", ("b", "c"))])
    assert of.transport.calls[0].body["structured_outputs"] == {"choice": ["b", "c"]}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [(REQUEST, "aa"), (ChatRequest(PROMPT, 0, choices=("b (1)", "c|d")), "c|d")],
    ids=["pattern", "choices"],
)
@pytest.mark.parametrize("before", ["", "so\n", "<think>so</think>\n", "so</think>"])
def test_an_answer_that_is_held_to_its_form_may_be_reasoned_first(
    request_: ChatRequest, answer: str, before: str
) -> None:
    of = chat(lambda body: "x", structured=True, thinking=True)
    of.complete([request_])
    pattern = of.transport.calls[0].body["structured_outputs"]["regex"]  # type: ignore[attr-defined]
    assert re.fullmatch(pattern, before + answer)
    assert not re.fullmatch(pattern, before + "another")


def test_seeds_fit_the_wire_and_differ() -> None:
    of = chat(lambda body: str(body["seed"]))
    found = of.complete([ChatRequest(PROMPT, seed) for seed in (0, 1, 2**62, -5)])
    seeds = [int(str(completion.text)) for completion in found]
    assert len(set(seeds)) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_completion_that_is_cut_says_so() -> None:
    (found,) = chat(lambda body: "half", finish="length").complete([REQUEST])
    assert found == Completion("half", is_cut=True)


@pytest.mark.parametrize(
    "answer",
    [{}, {"choices": []}, {"choices": [{"message": {"content": None}}]}, []],
    ids=["empty", "no choice", "no content", "a list"],
)
def test_an_answer_without_text_is_a_reason(answer: Any) -> None:
    (found,) = Chat(ScriptedTransport(lambda call: answer), "m").complete([REQUEST])
    assert found.text is None
    assert found.reason is not None
    assert "has no text" in found.reason


def test_a_failed_call_keeps_its_reason() -> None:
    (found,) = chat(lambda body: Reply(reason="gone", status=404)).complete([REQUEST])
    assert found == Completion(None, "gone")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -1}, "temperature is -1"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"structured": True, "dialect": "openai"}, "known to vLLM only"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        chat(lambda body: "x", **settings)
