"""P(Yes) against P(No): every surface form, jointly over tokens, never zero."""

import math
from typing import Any

import numpy as np
import pytest

from bed.belief import LogprobBelief
from bed.errors import DataError
from bed.protocols import BeliefQuery
from bed.transport import Call, Reply, ScriptedTransport
from tests.doubles import template
from tests.factories import TARGET, flag, plains

YES, NO = ("Yes", "yes", "Yep"), ("No", "no", "Nope")
QUERIES = [BeliefQuery(TARGET, (flag(x, True),)) for x in plains(5)]
FORMS = {form: tuple(template().continuation(form)) for form in (*YES, *NO)}
P = {"Yes": 0.3, "yes": 0.05, "Yep": 0.002, "No": 0.1, "no": 0.01, "Nope": 1e-7}
EXPECTED = sum(P[form] for form in YES) / sum(P.values())


def server(hidden: tuple[str, ...] = (), rescores: bool = True) -> ScriptedTransport:
    """Knows the joint probability of each form, spread over its tokens; hides some first ones."""

    def answer(call: Call) -> Any:
        choices = []
        for i, ids in enumerate(call.body["prompt"]):
            if "prompt_logprobs" in call.body:
                if not rescores:
                    return Reply(reason="status 400: prompt_logprobs", status=400)
                (form,) = (f for f, of in FORMS.items() if tuple(ids[-len(of) :]) == of)
                each = math.log(P[form]) / len(FORMS[form])
                told = [{str(token): {"logprob": each}, "9": {"logprob": -1.0}} for token in ids]
                choices.append({"index": i, "prompt_logprobs": [None, *told[1:]]})
            else:
                shown = {
                    f"token_id:{of[0]}": math.log(P[form])
                    for form, of in FORMS.items()
                    if len(of) == 1 and form not in hidden
                }
                choices.append({"index": i, "logprobs": {"top_logprobs": [shown]}})
        return {"choices": choices[::-1]}

    return ScriptedTransport(answer)


def model(transport: ScriptedTransport, **settings: Any) -> LogprobBelief:
    return LogprobBelief(transport, template(), "m", yes=YES, no=NO, **settings)


@pytest.mark.parametrize("hidden", [(), ("No",), ("No", "no"), ("Yes", "yes", "No", "no")])
def test_every_form_counts_whether_the_server_lists_it_or_not(hidden: tuple[str, ...]) -> None:
    """A label outside the likeliest tokens is asked for by itself."""
    found = model(server(hidden)).probabilities(QUERIES)
    assert found.probabilities == pytest.approx([EXPECTED] * 5)


def test_some_forms_are_single_tokens_and_some_are_several() -> None:
    lengths = {len(of) for of in FORMS.values()}
    assert 1 in lengths
    assert max(lengths) > 1


def test_the_prompt_asks_for_one_word() -> None:
    transport = server()
    model(transport).probabilities(QUERIES[:1])
    from transformers import AutoTokenizer

    text = AutoTokenizer.from_pretrained(template().tokenizer).decode(
        transport.calls[0].body["prompt"][0]
    )
    assert "Answer with one word, Yes or No." in text
    assert "<probability>" not in text


def test_a_server_that_cannot_rescore_is_a_reason_never_a_zero() -> None:
    found = model(server(("No",), rescores=False)).probabilities(QUERIES)
    assert np.isnan(found.probabilities).all()
    assert all("prompt_logprobs" in str(reason) for reason in found.reasons)


@pytest.mark.parametrize("body", [{}, {"choices": [{"index": 0, "logprobs": None}]}], ids=str)
def test_an_answer_of_another_shape_is_a_reason(body: Any) -> None:
    (reason,) = model(ScriptedTransport(lambda call: body)).probabilities(QUERIES[:1]).reasons
    assert "cannot be read" in str(reason)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"yes": ()}, "two sets"),
        ({"no": ("Yes",)}, "two sets"),
        ({"top": 0}, "top is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        LogprobBelief(server(), template(), "m", **settings)
