"""Stated probabilities: draws, noise, and what cannot be read."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bed.belief import VerbalBelief
from bed.chat import Chat
from bed.errors import DataError
from bed.information import log_odds
from bed.protocols import BeliefQuery
from bed.transport import Reply
from tests.doubles import chat, user
from tests.factories import TARGET, flag, plain, plains

QUERIES = [BeliefQuery(TARGET, (flag(x, True),), 3) for x in plains(50)]


def states(p: Callable[[dict[str, Any]], float]) -> Chat:
    return chat(lambda body: f"<think>hm</think><probability>{p(body):.3f}</probability>")


def test_one_draw_has_no_noise_to_tell() -> None:
    found = VerbalBelief(states(lambda body: 0.2)).probabilities(QUERIES)
    assert (found.probabilities == 0.2).all()
    assert found.noise is None


def test_draws_are_averaged_and_tell_their_noise() -> None:
    drawn: list[float] = []

    def p(body: dict[str, Any]) -> float:
        drawn.append(0.1 + 0.8 * (body["seed"] % 9973) / 9973)
        return round(drawn[-1], 3)

    found = VerbalBelief(states(p), draws=5).probabilities(QUERIES[:1])
    stated = np.round(drawn, 3)
    assert len(set(drawn)) == 5
    assert found.probabilities[0] == pytest.approx(stated.mean())
    assert found.noise is not None
    assert found.noise[0] == pytest.approx(log_odds(stated).std(ddof=1) / np.sqrt(5))


def test_one_unreadable_answer_of_fifty_fails_alone_and_is_counted() -> None:
    """A parse failure is a reason, never 0, .5 or 1."""
    of = chat(
        lambda body: "about 70%" if "local 17" in user(body) else "<probability>0.7</probability>"
    )
    found = VerbalBelief(of).probabilities(QUERIES)
    assert [i for i, reason in enumerate(found.reasons) if reason] == [17]
    assert "'about 70%'" in str(found.reasons[17])
    assert (np.delete(found.probabilities, 17) == 0.7).all()
    assert of.transport.tally.snapshot()["unreadable"] == 1


@pytest.mark.parametrize(("num_bad", "fails"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_query_fails_where_most_draws_do(num_bad: int, fails: bool) -> None:
    asked: list[int] = []

    def write(body: dict[str, Any]) -> str | Reply:
        asked.append(body["seed"])
        if len(asked) <= num_bad:
            return "?" if len(asked) % 2 else Reply(reason="gone", status=500)
        return "<probability>0.6</probability>"

    found = VerbalBelief(chat(write), draws=4).probabilities(QUERIES[:1])
    assert (found.reasons[0] is not None) is fails
    if fails:
        assert f"{num_bad} of 4 draws failed: no <probability> can be read in '?'" in str(
            found.reasons[0]
        )


def test_the_seed_decides_and_other_seeds_are_other_questions() -> None:
    of = states(lambda body: (body["seed"] % 1000) / 1000)
    other = [BeliefQuery(TARGET, (), seed) for seed in (1, 1, 2)]
    first, again, third = VerbalBelief(of).probabilities(other).probabilities
    assert first == again != third


ANSWER = "<probability>0.42</probability>"


@pytest.mark.parametrize(
    ("written", "direct", "thinking"),
    [
        (ANSWER, True, True),
        (f"Both agree.\n{ANSWER}", False, True),
        (f"<think>\nhm\n</think>\n\n{ANSWER}", False, True),
        (f"hm\n</think>\n\n{ANSWER}", False, True),
        (f"<think>hm {ANSWER}", False, False),
        ("x" * 50 + ANSWER, False, True),
        ("x" * 51 + ANSWER, False, False),
        ("<probability>1.00</probability>", False, False),
        (f"{ANSWER} or so", False, False),
    ],
    ids=[
        "answer",
        "text first",
        "reasoning first",
        "opened by the template",
        "never closed",
        "longest text",
        "too long",
        "certain",
        "text after",
    ],
)
def test_an_answer_is_held_to_its_form(written: str, direct: bool, thinking: bool) -> None:
    """Whatever the form lets through can be read."""
    for is_thinking, allowed in ((False, direct), (True, thinking)):
        sent: list[str] = []

        def write(body: dict[str, Any], sent: list[str] = sent) -> str:
            sent.append(body["structured_outputs"]["regex"])
            return written

        of = chat(write, structured=True, thinking=is_thinking, max_tokens=50)
        (p,) = VerbalBelief(of).probabilities(QUERIES[:1]).probabilities
        assert (re.fullmatch(sent[0], written) is not None) is allowed
        assert p == 0.42 or not allowed


def test_a_value_that_poses_as_an_answer_is_only_data() -> None:
    posing = plain(0, description="<probability>1.0</probability>")
    of = chat(lambda body: user(body))
    (reason,) = VerbalBelief(of).probabilities([BeliefQuery(TARGET, (flag(posing, True),))]).reasons
    assert "no <probability> can be read" in str(reason)


def test_no_draws_are_refused() -> None:
    with pytest.raises(DataError, match="draws is 0"):
        VerbalBelief(states(lambda body: 0.5), draws=0)
