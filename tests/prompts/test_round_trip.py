"""What is rendered is read back: every printed field, numbers to the printed precision."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome, Stub
from bed.prompts import (
    belief_prompt,
    parse_evidence,
    read_outcome,
    result_regex,
    simulation_prompt,
)
from bed.prompts.page import experiment_lines
from tests.prompts.schemas import SCHEMAS, TEXT, Schema, stub_of, target_of

SETTINGS = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
TWO_DECIMALS = {
    "chronos",
    "p_dependency",
    "log2_tpm",
    "top_quarter_from",
    "relative_copy_number",
}
THREE_DECIMALS = {"log2_fold_change", "lfc_se", "z"}
PRINTED_TO = {**dict.fromkeys(TWO_DECIMALS, 0.0051), **dict.fromkeys(THREE_DECIMALS, 0.00051)}


def assert_read(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if not isinstance(value, float):
            assert found[name] == value, name
        elif name in PRINTED_TO:
            assert found[name] == pytest.approx(value, rel=1e-12, abs=PRINTED_TO[name]), name
        else:
            digits = 0.051 if name == "p_value" else 0.0051
            assert found[name] == pytest.approx(value, rel=digits, abs=1e-300), name


def printed(schema: Schema, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The experiment's fields as a prompt prints them."""
    if schema.domain == "generic":
        return Fields(fields, local_hypothesis="a local claim")
    return Fields({k: v for k, v in fields.items() if _is_placed(k, fields)})


def _is_placed(name: str, fields: Mapping[str, Any]) -> bool:
    """The gene's identifiers stand below the gene, which a summary does not print."""
    return name != "ensembl_id" or "gene" in fields


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@SETTINGS
@given(data=st.data())
def test_a_prompt_is_read_back(schema: Schema, data: st.DataObject) -> None:
    fields = data.draw(schema.fields())
    shown = data.draw(st.lists(st.tuples(schema.fields(), schema.outcomes(), TEXT), max_size=2))
    claim = data.draw(TEXT.filter(str.strip))
    named = {k: v for k, v in fields.items() if k not in schema.unprinted_in_target}
    target = target_of(schema, named, claim)
    evidence = tuple(
        Stub(
            Experiment(f"x{i}", stub.experiment.hypothesis, fields=stub.experiment.fields),
            stub.outcome,
        )
        for i, (tested, outcome, tag) in enumerate(shown)
        for stub in [stub_of(target, schema, tested, outcome, tag if tag.strip() else "tag")]
    )
    found = parse_evidence(schema.domain, belief_prompt(target, evidence).user)
    assert found.target_text == claim
    assert_read(found.target, target.fields)
    assert len(found.stubs) == len(evidence)
    for stub, (tested, outcome, tag) in zip(found.stubs, shown, strict=True):
        assert stub.tag == (tag if tag.strip() else "tag")
        assert_read(stub.experiment, printed(schema, tested))
        assert_read(stub.outcome, outcome.fields)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@SETTINGS
@given(data=st.data())
def test_a_written_result_is_read_back(schema: Schema, data: st.DataObject) -> None:
    fields = data.draw(schema.fields())
    outcome = data.draw(schema.outcomes().filter(lambda drawn: drawn.fields))
    experiment = stub_of(target_of(schema, fields), schema, fields, outcome).experiment
    hidden = experiment_lines(experiment, None)
    lines = [line for line in experiment_lines(experiment, outcome) if line not in hidden]
    answer = "<think>Result: none\n</think>\n```\n" + "\n".join(lines) + "\n```\n"
    assert_read(read_outcome(experiment, answer).fields, outcome.fields)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@SETTINGS
@given(data=st.data())
def test_what_a_server_holds_to_the_pattern_can_be_read(
    schema: Schema, data: st.DataObject
) -> None:
    fields = {**dict.fromkeys(schema.needed, "name"), **schema.settings}
    outcome = data.draw(schema.outcomes())
    stub = stub_of(target_of(schema, fields), schema, fields, outcome)
    known = data.draw(st.sampled_from([(), (stub,)]))
    pattern = result_regex(stub.experiment, known)
    letters = st.characters(codec="latin-1", exclude_categories=("Cc", "Zs")) | st.just(" ")
    text = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=letters | st.just("\n")))
    try:
        assert read_outcome(stub.experiment, text).fields
    except DataError as error:
        # an expression cannot say that one value follows from another
        if "contradicts" not in str(error):
            raise


KNOCKOUT = Experiment(
    "x",
    Hypothesis("h", "depmap", Fields(gene="A", cell_line="B", lineage="C", claim="dependency")),
    fields=Fields(kind="knockout", gene="A", cell_line="B", lineage="C"),
)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("", "'chronos' or 'effect_bin' is missing"),
        ("Chronos gene-effect about -1", "chronos from 'about -1'"),
        ("Chronos gene-effect nan", "chronos from 'nan'"),
        ("Chronos gene-effect -1.00\nI am sure.", "the line 'I am sure.'"),
        ("Effect bin huge", "effect_bin from 'huge'"),
        ("<think>Chronos gene-effect -1.00", "is missing"),
    ],
)
def test_an_unreadable_result_is_named(answer: str, complaint: str) -> None:
    with pytest.raises(DataError, match=re.escape(complaint)):
        read_outcome(KNOCKOUT, answer)


ASSOCIATION = Experiment(
    "x",
    Hypothesis("h", "gwas", Fields(snp="rs1", trait="height", claim="association")),
    fields=Fields(kind="association", snp="rs1", trait="height"),
)
RESPONSE = Experiment(
    "x",
    Hypothesis("h", "expression", Fields(claim="regulation", direction="up", gene="A")),
    fields=Fields(
        kind="differential",
        perturbation="D",
        perturbation_type="drug",
        context="C",
        context_type="cell line",
        gene="A",
    ),
)
SUMMARY = Experiment("x", RESPONSE.hypothesis, fields=Fields(RESPONSE.fields, kind="summary"))
MUTATION = Experiment("x", KNOCKOUT.hypothesis, fields=Fields(KNOCKOUT.fields, kind="mutation"))
CHANGE, ADJUSTED = "log2FoldChange +1", "p-value (adjusted) 0.1"
SENTENCE = Experiment("x", Hypothesis("h", "generic"))


@pytest.mark.parametrize(
    ("experiment", "answer", "complaint"),
    [
        (KNOCKOUT, "Chronos gene-effect -1\nP(dependency) 1.2", "1.2 is impossible"),
        (KNOCKOUT, "Chronos gene-effect -1\nChronos gene-effect 0", "chronos is stated twice"),
        (ASSOCIATION, "Result: p = 1.5", "1.5 is impossible; it must be in [0, 1]"),
        (ASSOCIATION, "Result: p = 0.1\nRAF: 1.3", "not a number in [0, 1]"),
        (ASSOCIATION, "Result: p = 0.1; OR/beta = -1.2", "not a finite number >= 0"),
        (ASSOCIATION, "Result: p = 0.1; OR/beta = 1e999", "not a finite number"),
        (
            ASSOCIATION,
            "Result: p = 0.1; OR/beta = 1.40\n95% CI: [1.03-1.05]",
            "contradicts effect '1.40'",
        ),
        (ASSOCIATION, "Result: p = 0.1\n95% CI: [1.05-1.03]", "the lower end comes first"),
        *(
            (
                ASSOCIATION,
                f"Result: p = 1e-9; OR/beta = {effect}\n{told}"
                f"Risk allele: A\nDirection: A allele {direction} height",
                f"contradicts effect '{effect}'",
            )
            for effect, told, direction in (
                ("1", "", "increases"),
                ("1.00", "95% CI: [0.90-1.10]\n", "decreases"),
                ("0", "", "increases"),
                ("1.20", "", "decreases"),
                ("0.05", "95% CI: [0.01-0.09] unit decrease\n", "increases"),
            )
        ),
        (ASSOCIATION, "Result: p = 0.1 (genome-wide significant)", "contradicts p_value 0.1"),
        (
            ASSOCIATION,
            "Risk allele: A\nResult: p = 1e-9\nDirection: G allele increases height",
            "'G' in 'Direction: G allele increases height' contradicts risk_allele 'A'",
        ),
        (
            ASSOCIATION,
            "Direction: A allele increases weight\nResult: p = 1e-9",
            "contradicts trait 'height'",
        ),
        (KNOCKOUT, "Chronos gene-effect -1\nEffect bin dependency", "two forms of result"),
        (
            KNOCKOUT,
            "Chronos gene-effect -1.2 (no clear fitness effect)",
            "contradicts chronos -1.2",
        ),
        (MUTATION, "Result: banana", "status 'banana' is unknown; use one of"),
        (RESPONSE, f"{CHANGE} ± 0.000\n{ADJUSTED}", "a standard error is above 0"),
        (RESPONSE, f"{CHANGE}\nWald statistic -3\n{ADJUSTED}", "wald -3.0 contradicts the sign"),
        (
            RESPONSE,
            f"{CHANGE} ± 0.100\nWald statistic 3\n{ADJUSTED}",
            "wald 3.0 contradicts log2_fold_change 1.0 over lfc_se 0.1",
        ),
        (RESPONSE, f"{CHANGE}\np-value (raw) 0.5\n{ADJUSTED}", "contradicts p_value 0.5"),
        (SUMMARY, "Responding genes 150%", "it must be in [0, 1]"),
        (
            SUMMARY,
            "Responding genes 50%\nNumber of responding genes 9\nNumber of tested genes 3",
            "num_significant 9 contradicts num_tested 3",
        ),
        (
            SUMMARY,
            "Responding genes 50%\nNumber of responding genes 9\nNumber of tested genes 900",
            "share_significant 0.5 contradicts 9 of 900",
        ),
        (SUMMARY, "Responding genes 5%\nNumber of tested genes -3", "must be at least 0"),
        (SENTENCE, "supported: yes\nSUPPORTED: no", "supported is stated twice"),
        (RESPONSE, "log2FoldChange +1 ± -0.2\np-value (adjusted) 0.1", "-0.2 is impossible"),
        (
            RESPONSE,
            "log2FoldChange -1.2 (upregulates)\np-value (adjusted) 0.1",
            "contradicts log2_fold_change -1.2",
        ),
        (RESPONSE, "log2FoldChange +1\np-value (adjusted) 1.01", "1.01 is impossible"),
        (
            RESPONSE,
            "baseMean (avg normalized counts across both arms) -3\nlog2FoldChange +1",
            "at least 0",
        ),
        (SENTENCE, "Supported: yes\nSupported: no", "supported is stated twice"),
        (SENTENCE, "Result:", "it states no result"),
        (SENTENCE, "", "it states no result"),
    ],
    ids=lambda value: value.splitlines()[-1:][0] if isinstance(value, str) and value else None,
)
def test_an_impossible_result_is_named(experiment: Experiment, answer: str, complaint: str) -> None:
    with pytest.raises(DataError, match=re.escape(complaint)):
        read_outcome(experiment, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Supported: yes\nReported: it grew",
        "Reported: it grew\n\nSupported: yes",
        "```\nResult:\n  Reported: it grew\n  Supported: yes\n```",
        "- Reported: it grew\n- Supported: Yes",
        "**Result:**\n**Reported:** it grew\n**Supported**: yes",
        "supported: **yes**\n`Reported: it grew`",
        "### Result:\n> Supported:yes.\n1. Reported: it grew",
        "Here is a result:\n```text\nSupported: yes\nReported: it grew\n```\nI hope it helps.",
        "<think>Supported: no</think>\n* Supported: yes\n* Supported: yes\n* Reported: it grew",
    ],
    ids=["order", "blank", "fence", "bullets", "bold", "marks", "heading", "prose", "repeated"],
)
def test_the_order_and_the_marks_of_a_chat_model_do_not_matter(answer: str) -> None:
    assert read_outcome(SENTENCE, answer).fields == {"supported": True, "result": "it grew"}


@pytest.mark.parametrize(
    ("experiment", "answer"),
    [
        (ASSOCIATION, "Result: p = 5.0e-08 (genome-wide significant)"),
        (ASSOCIATION, "Result: p = 1.0e-05 (not significant genome-wide)"),
        (RESPONSE, "log2FoldChange +0.000 (downregulates)\np-value (adjusted) 0.9"),
        (KNOCKOUT, "chronos Gene-Effect: -0.25 (no clear fitness effect)"),
        (KNOCKOUT, "Chronos gene-effect -0.9 (quite a fitness defect)"),
        (MUTATION, "Result: Wild-type"),
        (ASSOCIATION, "Result: p = 0.1; OR/beta = 0.01\n95% CI: [0.004-0.006] fl decrease"),
        (ASSOCIATION, "Result: p = 0.1; OR/beta = 1.00\n95% CI: 0.90 to 1.10"),
        (RESPONSE, "log2FoldChange +0.012 ± 0.001\nWald statistic 9.5\np-value (adjusted) 0.1"),
        (RESPONSE, "log2FoldChange -1.2 (Downregulates)\np-value (adjusted) 0.9"),
    ],
    ids=[
        "printed threshold",
        "in other words",
        "printed zero",
        "printed step",
        "own words",
        "status",
        "printed effect",
        "no effect",
        "printed error",
        "capital",
    ],
)
def test_what_the_printed_precision_leaves_open_is_no_contradiction(
    experiment: Experiment, answer: str
) -> None:
    assert read_outcome(experiment, answer).fields


def test_a_result_may_be_padded_and_leave_out_the_words() -> None:
    found = read_outcome(KNOCKOUT, "Result:\n\n  Chronos  gene-effect    \N{MINUS SIGN}0.75\n")
    assert found.fields == {"chronos": -0.75}


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_the_form_that_a_simulator_is_shown_is_no_answer_itself(schema: Schema) -> None:
    fields = {**dict.fromkeys(schema.needed, "name"), **schema.settings}
    experiment = stub_of(target_of(schema, fields), schema, fields, Outcome(Fields())).experiment
    prompt = simulation_prompt(experiment, True, ()).user
    _, form = prompt.split("with no other text:\n")
    if schema.outcome and "status" not in schema.outcome:
        with pytest.raises(DataError, match="simulated result of experiment 'x'"):
            read_outcome(experiment, form)


def test_the_form_follows_the_evidence() -> None:
    binned = Stub(KNOCKOUT, Outcome(Fields(effect_bin="dependency")))
    other = Experiment("y", KNOCKOUT.hypothesis, fields=KNOCKOUT.fields)
    plain, shown = (simulation_prompt(other, False, e).user for e in ((), (binned,)))
    assert plain.endswith(
        "Result:\n  Chronos gene-effect X.XX (phrase)\n  P(dependency) X.XX (phrase)"
    )
    assert shown.endswith("Result:\n  Effect bin strong dependency|dependency|weak dependency")


def test_a_prompt_of_another_layout_is_read() -> None:
    prompt = """CONTEXT EVIDENCE
================
[1]   an unrelated gene knocked out in the target cell line
        CRISPR knockout of   KRT25 in MERO25
        Gene: KRT25  —  keratin 25 (like) (family: Keratins (type I))
        Cell line:  MERO25 — Pleura / Mesothelioma; ?; Primary

        Result:
            Chronos gene-effect   -0.02   (no clear fitness effect)
            P(dependency)          0.03   (almost certainly not a dependency)
TARGET HYPOTHESIS
    A claim.
Gene: DIS3L
Cell line: MERO25
"""
    found = parse_evidence("depmap", prompt)
    [stub] = found.stubs
    assert stub.experiment == {
        "kind": "knockout",
        "gene": "KRT25",
        "gene_name": "keratin 25 (like)",
        "gene_family": "Keratins (type I)",
        "cell_line": "MERO25",
        "lineage": "Pleura",
        "disease": "Mesothelioma",
        "site": "Primary",
    }
    assert stub.outcome == {"chronos": -0.02, "p_dependency": 0.03}
    assert (found.target_text, found.target["gene"]) == ("A claim.", "DIS3L")


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("", "no line 'CONTEXT EVIDENCE'"),
        ("CONTEXT EVIDENCE\n(none)", "no line 'TARGET HYPOTHESIS'"),
        ("TARGET HYPOTHESIS\nCONTEXT EVIDENCE", "stands before"),
        ("CONTEXT EVIDENCE\nTARGET HYPOTHESIS", "the claim must be there"),
        ("CONTEXT EVIDENCE\nsome text\nTARGET HYPOTHESIS\nc", "cannot read 'some text'"),
        (
            "CONTEXT EVIDENCE\n[1] t\nSomatic mutation status of A in B\nGene: A\nCell line: B\n"
            "Outcome: x\nTARGET HYPOTHESIS\nc",
            "evidence [1]: cannot read the line 'Outcome: x'; here may stand ['Result:']",
        ),
        (
            "CONTEXT EVIDENCE\n[1] t\nSomatic mutation status of A in B\nGene: A\nCell line: B\n"
            "TARGET HYPOTHESIS\nc",
            "evidence [1]: the outcome's field 'status' is missing",
        ),
        ("CONTEXT EVIDENCE\nTARGET HYPOTHESIS\nc\nGene: A", "target: field 'cell_line' is missing"),
    ],
)
def test_a_broken_prompt_is_named(broken: str, complaint: str) -> None:
    with pytest.raises(DataError, match=re.escape(complaint)):
        parse_evidence("depmap", broken)
