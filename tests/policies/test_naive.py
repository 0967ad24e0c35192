"""Naive prompting: the model's index, or a counted choice at random."""

from typing import Any

import numpy as np
import pytest

from bed.policies import NaivePolicy, RandomPolicy
from bed.protocols import DesignProblem
from bed.transport import Reply
from tests.doubles import chat, user
from tests.factories import TARGET, flag, plain, plains

PROBLEMS = [DesignProblem(TARGET, (flag(plain(9), True),), plains(5), seed) for seed in range(20)]


def test_the_models_index_is_taken() -> None:
    of = chat(lambda body: f"<think>0</think><choice>{body['seed'] % 5}</choice>")
    choices = NaivePolicy(of).choose(PROBLEMS)
    assert {choice.index for choice in choices} == set(range(5))
    for choice in choices:
        assert choice.fallback is None
        assert choice.index == int(np.argmax(choice.worth))
        assert choice.tied == (choice.index,)
        assert choice.eig is None


@pytest.mark.parametrize(
    "written",
    ["experiment 2", "<choice>5</choice>", "<choice>1 or 2</choice>", "<think><choice>1</choice>"],
)
def test_an_unreadable_answer_is_a_random_choice_that_says_so(written: str) -> None:
    of = chat(lambda body: written)
    choices = NaivePolicy(of).choose(PROBLEMS)
    by_chance = RandomPolicy().choose(PROBLEMS)
    assert [choice.index for choice in choices] == [choice.index for choice in by_chance]
    assert all("no <choice> can be read" in str(choice.fallback) for choice in choices)
    assert of.transport.tally.snapshot()["fallbacks"] == len(PROBLEMS)


def test_a_server_that_fails_costs_a_random_choice() -> None:
    (choice,) = NaivePolicy(chat(lambda body: Reply(reason="gone", status=500))).choose(
        PROBLEMS[:1]
    )
    assert choice.fallback == "no answer: gone"
    assert choice.index is not None


def test_the_prompt_lists_the_candidates_and_hides_their_results() -> None:
    seen: list[dict[str, Any]] = []

    def write(body: dict[str, Any]) -> str:
        seen.append(body)
        return "<choice>0</choice>"

    NaivePolicy(chat(write, structured=True)).choose(PROBLEMS[:1])
    assert "CANDIDATE NEXT EXPERIMENTS (results hidden):" in user(seen[0])
    assert seen[0]["structured_outputs"] == {"choice": [f"<choice>{i}</choice>" for i in range(5)]}


def test_a_cut_answer_is_said_to_be_cut() -> None:
    (choice,) = NaivePolicy(chat(lambda body: "<think>long", finish="length")).choose(PROBLEMS[:1])
    assert "(cut at max_tokens)" in str(choice.fallback)
