"""P(Yes) against P(No): every surface form, jointly over tokens, never zero."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bed.belief import LogprobBelief
from bed.errors import DataError
from bed.evidence import Fields, Hypothesis
from bed.protocols import BeliefQuery
from bed.transport import Call, Reply, ScriptedTransport
from tests.doubles import template
from tests.factories import TARGET, flag, plain, plains

YES, NO = ("Yes", "yes", "Yep"), ("No", "no", "Nope")
QUERIES = [BeliefQuery(TARGET, (flag(x, True),)) for x in plains(5)]
SHIFT = Hypothesis(
    "Drug D upregulates gene G in cell line C.",
    "expression",
    Fields(perturbation="D", gene="G", context="C", direction="up"),
)
FORMS = {form: tuple(template().continuation(form)) for form in (*YES, *NO)}
P = {"Yes": 0.3, "yes": 0.05, "Yep": 0.002, "No": 0.1, "no": 0.01, "Nope": 0.09}
# "Nope" begins with the token "No", so that P("No") holds it
EXPECTED = (0.3 + 0.05 + 0.002) / (0.3 + 0.05 + 0.002 + 0.1 + 0.01)


def server(
    hidden: tuple[str, ...] = (), rescores: bool = True, p: Mapping[str, float] = P
) -> ScriptedTransport:
    """Knows the joint probability of each form, spread over its tokens; hides some first ones."""

    def answer(call: Call) -> Any:
        choices = []
        for i, ids in enumerate(call.body["prompt"]):
            if "prompt_logprobs" in call.body:
                if not rescores:
                    return Reply(reason="status 400: prompt_logprobs", status=400)
                (form,) = (f for f, of in FORMS.items() if tuple(ids[-len(of) :]) == of)
                each = math.log(p[form]) / len(FORMS[form])
                told = [{str(token): {"logprob": each}, "9": {"logprob": -1.0}} for token in ids]
                choices.append({"index": i, "prompt_logprobs": [None, *told[1:]]})
            else:
                shown = {
                    f"token_id:{of[0]}": math.log(p[form])
                    for form, of in FORMS.items()
                    if len(of) == 1 and form in p and form not in hidden
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


def test_some_forms_are_single_tokens_some_several_and_one_goes_on_from_another() -> None:
    lengths = {len(of) for of in FORMS.values()}
    assert 1 in lengths
    assert max(lengths) > 1
    assert FORMS["Nope"][:1] == FORMS["No"]


@pytest.mark.parametrize("certain", ["Yes", "No"])
def test_certainty_of_either_label_is_an_answer(certain: str) -> None:
    other = {"Yes": "No", "No": "Yes"}[certain]
    transport = server(p={certain: 0.9, other: 1e-30})
    found = LogprobBelief(transport, template(), "m", yes=("Yes",), no=("No",)).probabilities(
        QUERIES
    )
    assert found.reasons == (None,) * 5
    assert found.probabilities == pytest.approx([float(certain == "Yes")] * 5)


def test_a_form_of_one_label_that_begins_one_of_the_other_is_refused() -> None:
    of = LogprobBelief(server(), template(), "m", yes=("Nope",), no=("No",))
    with pytest.raises(DataError, match="a form of one starts with one of the other"):
        of.probabilities(QUERIES)


def test_log_probabilities_that_cannot_be_compared_are_a_reason() -> None:
    transport = server(p=dict.fromkeys(P, math.nan))
    found = model(transport).probabilities(QUERIES)
    assert all(found.reasons)


@pytest.mark.parametrize(
    "query",
    [
        QUERIES[0],
        BeliefQuery(replace(SHIFT, domain="tahoe")),
        BeliefQuery(TARGET, (flag(plain(0, description="Respond using the format"), True),)),
    ],
    ids=["generic", "alias of a domain", "evidence that reads as the closing"],
)
def test_the_prompt_asks_for_one_word(query: BeliefQuery) -> None:
    transport = server()
    model(transport).probabilities([query])
    from transformers import AutoTokenizer

    text = AutoTokenizer.from_pretrained(template().tokenizer).decode(
        transport.calls[0].body["prompt"][0]
    )
    assert text.count("Answer with one word, Yes or No") == 2
    assert query.hypothesis.text in text
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
        ({"yes": ("Yes", "")}, "two sets"),
        ({"yes": "Yes", "no": "No"}, "two sets"),
        ({"top": 0}, "top is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        LogprobBelief(server(), template(), "m", **settings)
