"""A user's own episodes as JSON Lines."""

import json
from typing import Any

import pytest

from bed.domains import reading
from bed.episodes.imports import EXAMPLES, import_plain
from bed.errors import DataError
from bed.evidence import Hypothesis
from tests.episodes.imports.conftest import Write

RECORD: dict[str, Any] = json.loads(EXAMPLES["jsonl"].splitlines()[0])
PROMPT = {"system": "s", "user": "u"}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def changed(**values: Any) -> dict[str, Any]:
    return {**RECORD, **values}


def first_experiment(**values: Any) -> dict[str, Any]:
    experiments = RECORD["experiments"]
    return changed(experiments=[{**experiments[0], **values}, *experiments[1:]])


def without(data: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != name}


def test_example_of_jsonl(write: Write) -> None:
    file = import_plain(write("mine.jsonl", EXAMPLES["jsonl"]))
    first, second = file.episodes
    assert (first.id, first.label, first.split, first.unit) == (
        "caffeine-1",
        1,
        "test",
        "caffeine-1",
    )
    assert first.target == Hypothesis("Caffeine lowers the reaction time of tired drivers.")
    lab, survey = first.pool
    assert (lab.experiment.id, lab.experiment.cost, survey.experiment.cost) == ("lab", 2.5, 1.0)
    assert (first.tiers, first.tags) == ((2, 1), ("evidence of tier 2", "evidence of tier 1"))
    assert lab.outcome.fields["result"].startswith("reaction time fell by 12 ms")
    assert [
        reading(*pair).supported for pair in ((s.experiment, s.outcome) for s in first.pool)
    ] == [
        True,
        False,
    ]
    assert (second.id, second.split, second.pool[0].experiment.id) == ("mine-2", "train", "x1")
    assert file.info["counts"] == {"test": 1, "train": 1}
    assert file.info["inputs"][0]["file"] == "mine.jsonl"


def test_line_separators_inside_a_text(write: Write) -> None:
    said = "one\u2028two\u0085three"
    path = write("a.jsonl", json.dumps(changed(hypothesis=said), ensure_ascii=False))
    assert import_plain(path).episodes[0].target.text == said


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (changed(label=2), r"line 1: episode 'caffeine-1': label 2 must be 0 or 1"),
        (changed(label="1"), "label '1' must be 0 or 1"),
        (changed(label=True), "label True must be 0 or 1"),
        (changed(label=None), "label None must be 0 or 1"),
        (without(RECORD, "label"), r"line 1: lacks \['label'\]; found"),
        (without(RECORD, "hypothesis"), r"lacks \['hypothesis'\]"),
        (changed(experiments=[]), r"experiments is \[\]; list one or more"),
        (changed(experiments=None), "experiments is None"),
        (changed(hypotesis="typo"), r"unknown keys \['hypotesis'\]; known: \['id', 'hypothesis'"),
        (changed(split="tset"), "split 'tset' is not one of the three"),
        (changed(split=1), "split 1 must be text"),
        (changed(id=""), "id '' must be text and not empty"),
        (changed(unit=7), "unit 7 must be text"),
        (changed(hypothesis=" "), "Hypothesis.text must be text and not empty, got ' '"),
        (changed(hypothesis=3), "hypothesis is 3; expected an object"),
        (changed(hypothesis={"text": "t", "domain": "gwass"}), "unknown domain 'gwass'; use one"),
        (changed(hypothesis={"text": "t", "gene": "A"}), r"unknown keys \['gene'\]"),
        (changed(held_out=1), "held_out is 1; expected an object"),
        (changed(prompts={"two": {"system": "", "user": ""}}), "'two' is not a number of stubs"),
        (changed(prompts={"01": PROMPT, "1": PROMPT}), "'01' is not a number of stubs; write 0 to"),
        (changed(prompts={"3": PROMPT}), "prompts: '3' is not a number of stubs; write 0 to 2"),
        (changed(prompts={"9" * 5000: PROMPT}), "'9999.* is not a number of stubs"),
        (changed(prompts={"2": {"system": ""}}), r"prompts: 2: lacks \['user'\]"),
        (changed(prompts={"2": {"system": "", "user": 1}}), "must hold texts"),
        (first_experiment(cost=0), "experiment 1: experiment 'lab': cost 0 must be finite"),
        (first_experiment(cost="2"), "experiment 1: cost '2' must be a number above 0"),
        (first_experiment(cost=True), "cost True must be a number above 0"),
        (first_experiment(cost=10**400), "a number of 401 digits is out of the range"),
        (first_experiment(tier=0), "experiment 1: tier 0 must be a whole number from 1 to 100"),
        (first_experiment(tier=10**30), "tier 10{30} must be a whole number from 1 to 100"),
        (first_experiment(tier=True), "tier True must be a whole number"),
        (first_experiment(fields={"tier": 5}), "tier 2, but fields say tier 5; drop one"),
        (first_experiment(supported="yes"), "supported 'yes' must be true or false"),
        (first_experiment(result={"supported": False}), "supported is True, but result is"),
        (first_experiment(result=["a"]), r"supported is True, but result is \['a'\]"),
        (first_experiment(fields={"a": [1, {"c": "NaN"}]}), "fields, a, 2, c is 'NaN', which is"),
        (first_experiment(result=" nan "), "result is ' nan ', which is no number; leave it out"),
        (first_experiment(result={"supported": "yes"}), "supported 'yes' in the result must be"),
        (first_experiment(fields={"a": json.loads("[" * 900 + "]" * 900)}), "nested too deeply"),
        (first_experiment(is_repeatable=1), "is_repeatable must be True or False"),
        (first_experiment(id="survey"), r"duplicate experiment ids \['survey'\]"),
        (first_experiment(outcome="x"), r"experiment 1: unknown keys \['outcome'\]"),
        (first_experiment(relation={"tier": "1", "tag": ""}), "tier '1' must be a whole number"),
        (first_experiment(relation={"tier": -5, "tag": "t"}), "tier -5 must be a whole number"),
        (
            first_experiment(relation={"tier": 1, "tag": " "}),
            "tag ' ' of the relation must be text",
        ),
        (
            changed(experiments=[{"hypothesis": "x"}]),
            r"experiment 1: no result \(None\); give it in words",
        ),
        (changed(experiments=[{"hypothesis": "x", "result": {}}]), r"no result \(\{\}\)"),
        (changed(experiments=["x"]), "experiment 1 is 'x'; expected an object"),
        ([], r"line 1 is \[\]; expected an object"),
    ],
)
def test_malformed_json_lines(write: Write, record: Any, message: str) -> None:
    path = write("mine.jsonl", lines(record))
    with pytest.raises(DataError, match=message) as caught:
        import_plain(path)
    assert str(caught.value).startswith("mine.jsonl line 1")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"hypothesis": "cut of', "line 2: not whole JSON .*ends in '.*cut of'"),
        ('{"hypothesis": "h", "label": NaN}', "line 2: bare NaN is no JSON"),
        ('{"label": 1, "label": 0}', r"line 2: keys \['label'\] stand twice"),
        ("[" * 100_000, "line 2: nested too deeply"),
        ('{"hypothesis": "\\ud800"}', "line 2: half a surrogate pair"),
        ('{"info": {}}', "line 2: unknown keys"),
    ],
)
def test_malformed_lines_are_named(write: Write, line: str, message: str) -> None:
    path = write("mine.jsonl", lines(RECORD) + line + "\n")
    with pytest.raises(DataError, match=message):
        import_plain(path)


def test_duplicate_episode_ids(write: Write) -> None:
    with pytest.raises(DataError, match=r"duplicate episode ids \['caffeine-1'\]"):
        import_plain(write("a.jsonl", lines(RECORD, RECORD)))


def test_several_domains_have_an_account_each(write: Write) -> None:
    other = {"text": "t", "domain": "tahoe"}
    stated = [{"hypothesis": "x", "result": "r", "tier": 1}]
    record = {"hypothesis": other, "label": 0, "experiments": stated}
    file = import_plain(write("a.jsonl", lines(RECORD, record)))
    assert {name: part["counts"] for name, part in file.info["parts"].items()} == {
        "expression": {"test": 1},
        "generic": {"test": 1},
    }


DEPMAP = {"gene": "AAA1", "cell_line": "LINE1", "claim": "dependency"}
KNOCKOUT = {"gene": "AAA1", "cell_line": "LINE2", "kind": "knockout"}


@pytest.mark.parametrize(
    ("claim", "fields", "message"),
    [
        ({}, KNOCKOUT, r"experiment 1: the hypothesis lacks the fields \['gene', 'cell_line', 'cl"),
        (DEPMAP, {}, r"the experiment lacks .*\['gene', 'cell_line', 'kind'\].* state .*'tier'"),
        ({**DEPMAP, "gene": ["A"]}, KNOCKOUT, r"hypothesis: field 'gene' is \('A',\); in the dom"),
        (DEPMAP, {**KNOCKOUT, "cell_line": None}, "experiment 1: field 'cell_line' is None; in"),
    ],
    ids=["no claim", "no experiment", "list for a gene", "null for a line"],
)
def test_fields_that_the_domain_needs(
    write: Write, claim: dict[str, Any], fields: dict[str, Any], message: str
) -> None:
    record = {
        "hypothesis": {"text": "t", "domain": "depmap", "fields": claim},
        "label": 0,
        "experiments": [{"hypothesis": "x", "fields": fields, "result": {"chronos": -0.4}}],
    }
    with pytest.raises(DataError, match=message):
        import_plain(write("mine.jsonl", lines(record)))
