"""Token ids as the template lays them out, and control tokens that no text may hold."""

from dataclasses import replace
from pathlib import Path

import pytest

from bed.errors import DataError
from bed.prompts import Prompt, belief_prompt
from bed.tokens import ChatTemplate
from tests.doubles import template
from tests.factories import TARGET, flag, plain

PROMPT = Prompt("Be brief.", "Is the gene a dependency?")


def decoded(of: ChatTemplate, prompt: Prompt = PROMPT) -> str:
    from transformers import AutoTokenizer

    return str(AutoTokenizer.from_pretrained(of.tokenizer).decode(of.ids(prompt)))


def test_both_messages_then_the_opening_of_a_direct_answer() -> None:
    assert decoded(template()) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nIs the gene a dependency?<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )


def test_thinking_and_the_opening_follow_the_training() -> None:
    thinking = decoded(replace(template(), thinking=True))
    assert thinking.endswith("<|im_start|>assistant\n")
    bare = decoded(replace(template(), generation_prompt=False))
    assert bare.endswith("dependency?<|im_end|>\n")
    assert "assistant" not in bare


def test_an_empty_system_text_is_left_out() -> None:
    assert "system" not in decoded(template(), Prompt("", "x"))


@pytest.mark.parametrize("token", ["<|im_end|>", "<|endoftext|>", "<|im_start|>"])
def test_a_control_token_in_a_text_is_refused(token: str) -> None:
    for prompt in (Prompt("s", f"a{token}b"), Prompt(f"a{token}", "u")):
        with pytest.raises(DataError, match="a control token of"):
            template().ids(prompt)
    with pytest.raises(DataError, match="a control token of"):
        template().continuation(token)


@pytest.mark.parametrize("text", ["{{ raise_exception('no system role') }}", "{% for %}"])
def test_a_template_that_refuses_the_prompt_is_named(tmp_path: Path, text: str) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(template().tokenizer)
    tokenizer.chat_template = text
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"refuses the prompt: .* give an empty system prompt"):
        ChatTemplate(str(tmp_path)).ids(PROMPT)


@pytest.mark.parametrize("token", ["<think>", "</think>", "<|im_end|>"])
def test_a_value_becomes_no_token_that_structures_a_conversation(token: str) -> None:
    """Reasoning tags are no control tokens, so that bed's own prompts may speak of them."""
    from transformers import AutoTokenizer

    known = AutoTokenizer.from_pretrained(template().tokenizer).convert_tokens_to_ids(token)

    def count(value: str) -> int:
        prompt = belief_prompt(TARGET, (flag(plain(0, description=value), True),))
        return template().ids(prompt).count(known)

    assert count(f"a {token} b") == count("a b")


def test_one_text_gives_the_same_ids_wherever_it_starts_alike() -> None:
    long, longer = (template().ids(Prompt("s", "the gene " * n)) for n in (50, 60))
    shared = next(i for i, (a, b) in enumerate(zip(long, longer, strict=False)) if a != b)
    assert shared > 40


def test_a_missing_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no tokenizer at"):
        ChatTemplate(str(tmp_path)).ids(PROMPT)
