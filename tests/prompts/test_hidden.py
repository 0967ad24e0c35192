"""Nothing of a candidate's result is ever printed."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome, Stub
from bed.prompts import Prompt, choice_prompt, simulation_prompt
from bed.prompts.page import experiment_lines, result_form
from tests.prompts.schemas import SCHEMAS, Schema, stub_of, target_of

RESULT = re.compile(
    r"\s*(Result|Direction|95% CI|baseMean|Risk allele|RAF|log2FoldChange|Wald|p-value|z-score|"
    r"Chronos|RNAi gene-effect|P\(dependency\)|Effect bin|Responding genes|Number of|Supported|"
    r"Reported)\b"
)
PHRASES = re.compile(
    r"upregulates|downregulates|significant|fitness|dependency|sensitive|wild-type|mutation\b.*"
    r"(found|driver)|response\b|increases|decreases|amplified|expressed"
)


def plain_fields(schema: Schema) -> dict[str, object]:
    names = {name: f"name of {name}" for name in schema.texts}
    return {**names, **schema.settings}


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_candidate_shows_no_line_or_word_of_a_result(schema: Schema) -> None:
    fields = plain_fields(schema)
    experiment = stub_of(target_of(schema, fields), schema, fields, Outcome(Fields())).experiment
    hidden = experiment_lines(experiment, None)
    assert len(hidden) >= 3 or schema.domain == "generic"
    for line in hidden:
        assert not RESULT.match(line), line
        assert not PHRASES.search(line.replace("Measurement share of all", "")), line


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_shown_result_adds_its_lines_and_changes_no_other(
    schema: Schema, data: st.DataObject
) -> None:
    fields, outcome = data.draw(schema.fields()), data.draw(schema.outcomes())
    experiment = stub_of(target_of(schema, fields), schema, fields, outcome).experiment
    hidden, shown = experiment_lines(experiment, None), experiment_lines(experiment, outcome)
    rest = iter(shown)
    assert all(line in rest for line in hidden), "the hidden lines, in order, among the shown"
    added = [line for line in shown if line not in hidden]
    assert bool(added) == bool(outcome.fields)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_prompts_do_not_hang_on_the_outcome_of_a_candidate(
    schema: Schema, data: st.DataObject
) -> None:
    """Each problem is built twice, with another true outcome: the prompts are the same bytes."""
    fields = data.draw(schema.fields())
    target = target_of(schema, fields)
    prompts: list[tuple[Prompt, ...]] = []
    for outcome in (data.draw(schema.outcomes()), data.draw(schema.outcomes())):
        stub = stub_of(target, schema, fields, outcome)
        other = Experiment("y", target, fields=stub.experiment.fields)
        local = Hypothesis(target.text, schema.domain, stub.experiment.hypothesis.fields)
        named = Experiment("x", local, fields=stub.experiment.fields)
        prompts.append(
            (
                choice_prompt(target, (), [named, other]),
                simulation_prompt(named, True, ()),
                simulation_prompt(named, False, ()),
            )
        )
    assert prompts[0] == prompts[1]
    assert prompts[0][1].user != prompts[0][2].user


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_simulator_is_asked_for_every_line_of_the_result(schema: Schema) -> None:
    fields = plain_fields(schema)
    experiment = stub_of(target_of(schema, fields), schema, fields, Outcome(Fields())).experiment
    form = "\n".join(result_form(experiment, ()))
    hidden = "\n".join(experiment_lines(experiment, None))
    local = Hypothesis("a local claim", schema.domain, Fields(fields))
    user = simulation_prompt(Experiment("x", local, fields=Fields(fields)), True, ()).user
    assert user.endswith(
        "that supports the target hypothesis, in exactly this form and with no other text:\n" + form
    )
    assert "EXPERIMENT TO SIMULATE (result hidden):" in user
    assert all(line in user for line in hidden.splitlines())


def test_candidates_are_numbered_from_0_and_no_probability_is_asked() -> None:
    schema = SCHEMAS[0]
    fields = plain_fields(schema)
    target = target_of(schema, fields)
    shown = stub_of(target, schema, fields, Outcome(Fields(chronos=0.1)), "first")
    others = [
        Experiment(f"y{i}", stub.experiment.hypothesis, fields=stub.experiment.fields)
        for i in range(3)
        for stub in [stub_of(target, schema, fields, Outcome(Fields()), f"candidate {i}")]
    ]
    user = choice_prompt(target, (shown,), others).user
    numbered = re.findall(r"^\[\d+\] .*", user, re.MULTILINE)
    assert numbered == ["[1] first", *(f"[{i}] candidate {i}" for i in range(3))]
    assert "\nCANDIDATE NEXT EXPERIMENTS (results hidden):\n" in user
    assert "probability" not in user
    assert user.endswith("<choice>i</choice>")
    with pytest.raises(DataError, match="no candidates"):
        choice_prompt(target, (), [])


def test_evidence_of_a_simulation_is_related_to_the_local_hypothesis() -> None:
    local = Hypothesis("the local one")
    seen = Experiment("a", Hypothesis("another"), fields=Fields(tier=3))
    asked = Experiment("b", local, fields=Fields(tier=2))
    user = simulation_prompt(asked, False, (Stub(seen, Outcome(Fields(supported=True))),)).user
    assert "[1] evidence of tier 3\n  Tests: another\n  Result:\n    Supported: yes\n" in user
    assert "Hypothesis: the local one" in user
    assert "tier 2" not in user
    assert "that does not support the target hypothesis" in user
