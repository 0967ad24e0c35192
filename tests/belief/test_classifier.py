"""The classifier over a double of vLLM's endpoint."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bed.belief import ClassifierBelief, ModelCheckError
from bed.belief.asking import asked, shared_start
from bed.belief.classifier import Golden, read_golden
from bed.errors import DataError
from bed.evidence import Fields, Hypothesis
from bed.prompts import Prompt
from bed.protocols import BeliefQuery
from bed.transport import Call, Reply, ScriptedTransport
from tests.doubles import LONGEST, classifier, template
from tests.factories import TARGET, chronos, dependency, flag, knockout, plain

EVIDENCE = tuple(chronos(knockout("G", f"N{i}"), -0.1 * i) for i in range(6))
QUERIES = [
    BeliefQuery(hypothesis, EVIDENCE[:k], seed)
    for seed, hypothesis in enumerate((dependency("G", "HOME"), knockout("G", "N9").hypothesis))
    for k in range(5)
]


def model(transport: ScriptedTransport | None = None, **settings: Any) -> ClassifierBelief:
    return ClassifierBelief(transport or classifier(), template(), "belief", **settings)


def test_the_sigmoid_is_taken_here() -> None:
    belief = model(classifier(lambda ids: 1.5))
    found = belief.probabilities(QUERIES).probabilities
    assert found == pytest.approx([1 / (1 + math.exp(-1.5))] * len(QUERIES))


def test_identical_prompts_travel_once_and_shared_beginnings_side_by_side() -> None:
    transport = classifier()
    again = [BeliefQuery(query.hypothesis, query.evidence, 99) for query in QUERIES]
    model(transport, batch_size=3).probabilities([*QUERIES[::-1], *again])
    sent = [ids for call in transport.calls for ids in call.body["input"]]
    assert len(sent) == len(QUERIES)
    texts = [prompt.user for prompt, _ in asked(QUERIES[::-1], {}).prompts]
    assert texts == sorted(texts)
    assert all(call.num_items == len(call.body["input"]) <= 3 for call in transport.calls)


def test_a_growing_history_keeps_its_key() -> None:
    target = dependency("G", "HOME")
    keys = [
        shared_start(asked([BeliefQuery(target, EVIDENCE[:k])], {}).prompts[0][0]) for k in range(5)
    ]
    assert len(set(keys[1:])) == 1
    other = asked([BeliefQuery(target, EVIDENCE[1:3])], {}).prompts[0][0]
    assert shared_start(other) != keys[1]


def test_a_prompt_too_long_fails_alone() -> None:
    long = plain(0, description="word " * LONGEST)
    queries = [*QUERIES, BeliefQuery(TARGET, (flag(long, True),)), *QUERIES]
    found = model().probabilities(queries)
    failed = [i for i, reason in enumerate(found.reasons) if reason]
    assert failed == [len(QUERIES)]
    assert found.reasons[failed[0]] == "maximum context length is 20000 tokens"
    assert np.isfinite(np.delete(found.probabilities, failed)).all()


def test_a_prompt_that_cannot_be_made_fails_alone() -> None:
    found = model().probabilities([QUERIES[0], BeliefQuery(Hypothesis("h", "depmap", Fields()))])
    assert found.reasons[0] is None
    assert "'gene' is missing" in str(found.reasons[1])


def test_two_labels_give_the_difference_of_their_logits() -> None:
    def answer(call: Call) -> Any:
        return {"data": [{"index": 0, "probs": [0.5, 2.0]}]}

    found = model(ScriptedTransport(answer)).probabilities(QUERIES[:1]).probabilities
    assert found == pytest.approx(1 / (1 + math.exp(-1.5)))


@pytest.mark.parametrize("probs", [[], [1, 2, 3], ["x"], [math.nan], None], ids=str)
def test_a_head_of_another_shape_fails_its_prompt_alone(probs: Any) -> None:
    def answer(call: Call) -> Any:
        rows = [{"index": i, "probs": [0.5]} for i in range(len(call.body["input"]))]
        rows[1]["probs"] = probs
        return {"data": rows}

    reasons = model(ScriptedTransport(answer)).probabilities(QUERIES).reasons
    (failed,) = (reason for reason in reasons if reason)
    assert "a head of one or two labels" in failed


@pytest.mark.parametrize("places", [[0, 0], [1, 2], [0, 2]], ids=str)
def test_rows_that_answer_other_prompts_are_not_assigned(places: list[int]) -> None:
    rows = [{"index": i, "probs": [0.5]} for i in places]
    found = model(ScriptedTransport(lambda call: {"data": rows})).probabilities(QUERIES[:2])
    assert all("its rows answer the prompts" in str(reason) for reason in found.reasons)


def test_a_system_prompt_is_taken_to_the_letter() -> None:
    lengths = [
        len(call.body["input"][0])
        for systems in ({}, {"depmap": "Judge."})
        for transport in [classifier()]
        for _ in [model(transport, systems=systems).probabilities(QUERIES[:1])]
        for call in transport.calls
    ]
    assert lengths[1] < lengths[0]


def test_a_sound_server_passes_its_check() -> None:
    assert len(model().check()) == 3


@pytest.mark.parametrize("is_text", [False, True], ids=["ids", "conversation"])
def test_a_golden_prompt_holds_the_server_to_its_logit(is_text: bool) -> None:
    prompt = Prompt("Judge.", "Is it so?")
    (right,) = model().logits([prompt])
    assert isinstance(right, float)
    given = prompt if is_text else tuple(template().ids(prompt))
    model().check([Golden(given, right + 0.01)], tolerance=0.02)
    with pytest.raises(ModelCheckError, match="golden prompt 1 gets the logit"):
        model().check([Golden(given, right), Golden(given, right + 0.03)], tolerance=0.02)


@pytest.mark.parametrize(
    ("logit", "activate", "message"),
    [
        (lambda ids: 0.3, None, "unlike texts all get the logit 0.3"),
        (lambda ids: 31.0 + len(ids), None, "score.weight"),
        (None, lambda value: 1.0, "neither the sigmoid"),
    ],
    ids=["constant", "saturated", "unloaded"],
)
def test_a_head_that_was_not_loaded_is_found(
    logit: Callable[[list[int]], float] | None,
    activate: Callable[[float], float] | None,
    message: str,
) -> None:
    with pytest.raises(ModelCheckError, match=message):
        model(classifier(logit, activate)).check()


def test_a_regression_head_that_answers_raw_passes() -> None:
    model(classifier(activate=lambda value: value)).check()


def test_a_silent_server_is_no_fault_of_the_model() -> None:
    transport = ScriptedTransport(lambda call: Reply(reason="cannot connect"))
    with pytest.raises(DataError, match="gives no answer: cannot connect"):
        model(transport).check()


def test_an_activation_that_cannot_be_read_is_no_traceback() -> None:
    of = classifier()

    def answer(call: Call) -> Any:
        return {"detail": "?"} if call.body["use_activation"] else of.answer(call)

    with pytest.raises(DataError, match=r"gives no answer: .* cannot be read"):
        model(ScriptedTransport(answer)).check()


def test_golden_prompts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    rows = [{"ids": [1, 2], "logit": -0.5}, {"system": "", "user": "u", "logit": 1}]
    path.write_text("\n\n".join(map(json.dumps, rows)))
    assert read_golden(path) == [Golden((1, 2), -0.5), Golden(Prompt("", "u"), 1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1"),
        ('{"ids": [1]}', r"the keys are \['ids'\]"),
        ('{"ids": [1], "user": "u", "logit": 1}', "the keys are"),
        ('{"user": "u", "logit": 1}', "the keys are"),
        ('{"system": null, "user": "u", "logit": 1}', "must be texts"),
        ('{"ids": 5, "logit": 1}', "ids must be whole numbers"),
        ('{"ids": [1], "logit": "0.3"}', "the logit is '0.3'"),
        ('{"ids": [1], "logit": true}', "the logit is True"),
        ('{"ids": [], "logit": 1}', "ids must be whole numbers"),
        ('{"ids": [-1], "logit": 1}', "ids must be whole numbers"),
        ('{"ids": [1], "logit": NaN}', "must be a finite number"),
        ("[]", "line 1"),
    ],
)
def test_a_bad_golden_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(line)
    with pytest.raises(DataError, match=message):
        read_golden(path)
