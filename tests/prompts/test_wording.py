"""System prompts, number formats, graded phrases, and fields that are missing."""

import re
from typing import Any, get_args

import pytest

from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome
from bed.prompts import Prompt, belief_prompt, choice_prompt, simulation_prompt, system_prompt
from bed.prompts.page import experiment_lines
from bed.prompts.system import Role
from tests.prompts.schemas import SCHEMAS, Schema, stub_of, target_of

DOMAINS = ("depmap", "gwas", "expression", "generic")
ANSWER = "<probability>0.XX</probability>"


def bare(schema: Schema) -> dict[str, Any]:
    return {**dict.fromkeys(schema.needed, "x"), **schema.settings}


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_belief_prompt_says_what_is_asked(domain: str) -> None:
    direct, thinking = (system_prompt(domain, "belief", thinking) for thinking in (False, True))
    for text in (direct, thinking):
        parts = [
            "You are an expert",
            "How the evidence was generated:\n- ",
            "You will be shown:\n1. CONTEXT",
            "\n2. A TARGET HYPOTHESIS: ",
            "counts as supported",
            "degree of belief",
        ]
        assert [text.index(part) for part in parts] == sorted(text.index(part) for part in parts)
        assert text.endswith(ANSWER)
    assert "one line only" in direct
    assert "Reason first" not in direct
    assert "Reason first" in thinking
    assert ("Things to weigh" in thinking) == (domain == "expression")
    assert "Things to weigh" not in direct


def test_quantities_are_defined_where_there_are_any() -> None:
    titles = {
        "expression": "Column definitions (DESeq2 conventions):\n- ",
        "depmap": "Quantity definitions:\n- ",
        "gwas": "Quantity definitions:\n- ",
    }
    for domain, title in titles.items():
        assert title in system_prompt(domain, "belief")
    assert "definitions" not in system_prompt("generic", "belief")
    assert system_prompt("tahoe", "choice") == system_prompt("expression", "choice")


@pytest.mark.parametrize("domain", DOMAINS)
def test_other_roles_ask_for_no_probability_tag(domain: str) -> None:
    choice, simulate = (system_prompt(domain, role) for role in ("choice", "simulate"))
    assert choice.endswith("<choice>i</choice>")
    assert "Do not state a probability" in choice
    assert "3. CANDIDATE NEXT EXPERIMENTS" in choice
    assert "3. EXPERIMENT TO SIMULATE" in simulate
    for text in (choice, simulate):
        assert "<probability>" not in text


def test_unknown_roles_and_domains_are_named() -> None:
    wrong: Any = "judge"
    with pytest.raises(DataError, match=r"unknown role 'judge'.*belief"):
        system_prompt("depmap", wrong)
    with pytest.raises(DataError, match="unknown domain 'x'"):
        system_prompt("x", "belief")
    with pytest.raises(DataError, match="'world' has no prompts"):
        system_prompt("world", "belief")
    assert set(get_args(Role)) == {"belief", "choice", "simulate"}


def test_another_system_prompt_is_taken_to_the_letter() -> None:
    own = " My own\n<words> & \u2028 {x}\n"
    experiment = Experiment("x", Hypothesis("local"))
    found: list[Prompt] = [
        belief_prompt(Hypothesis("h"), (), thinking=True, system=own),
        choice_prompt(Hypothesis("h"), (), [experiment], system=own),
        simulation_prompt(experiment, True, (), system=own),
    ]
    assert [prompt.system for prompt in found] == [own] * 3
    assert belief_prompt(Hypothesis("h"), (), system="").system == ""


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_optional_fields_may_be_missing_and_required_ones_are_named(schema: Schema) -> None:
    fields = bare(schema)
    target = target_of(schema, fields)
    experiment = stub_of(target, schema, fields, Outcome(Fields())).experiment
    for value in (None, "", ()):
        empty = {**dict.fromkeys(schema.optional, value), **fields}
        same = stub_of(target, schema, empty, Outcome(Fields())).experiment
        assert experiment_lines(same, None) == experiment_lines(experiment, None)
    assert belief_prompt(target, ()).user
    for name in schema.needed:
        less = {key: value for key, value in fields.items() if key != name}
        lacking = stub_of(target, schema, less, Outcome(Fields())).experiment
        with pytest.raises(DataError, match=f"experiment 'x': field '{name}' is missing"):
            experiment_lines(lacking, None)
        if name not in ("drug", "gene") or (schema.domain == "depmap" and name == "gene"):
            with pytest.raises(DataError, match=f"hypothesis 'a claim': field '{name}' is missing"):
                belief_prompt(target_of(schema, less), ())
    if schema.outcome:
        with pytest.raises(DataError, match=r"experiment 'x': the outcome's field .* is missing"):
            experiment_lines(experiment, Outcome(Fields()))


def shown(schema: Schema, fields: dict[str, Any], **outcome: Any) -> str:
    tested = {**bare(schema), **fields}
    stub = stub_of(target_of(schema, tested), schema, tested, Outcome(Fields(outcome)))
    return "\n".join(experiment_lines(stub.experiment, stub.outcome))


BY_NAME = {str(schema): schema for schema in SCHEMAS}
KNOCKOUT, GWAS = BY_NAME["depmap-knockout"], BY_NAME["gwas-association"]
DIFFERENTIAL = BY_NAME["expression-differential-drug-cell line"]


@pytest.mark.parametrize(
    ("p", "printed"),
    [
        ("3E-971", "3.0e-971 (genome-wide significant)"),
        (5e-9, "5.0e-09 (genome-wide significant)"),
        ("4.96E-8", "5.0e-08 (genome-wide significant)"),
        ("5E-8", "5.0e-08 (suggestive, below genome-wide significance)"),
        (0.25, "2.5e-01 (not significant genome-wide)"),
        (0, "0.0e+00 (genome-wide significant)"),
    ],
)
def test_p_values_of_associations(p: object, printed: str) -> None:
    assert f"Result: p = {printed}" in shown(GWAS, {}, p_value=p).splitlines()


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0.009764, "0.00976"),
        (0.010234, "0.01023"),
        (0.01, "0.01"),
        (999.94, "999.9"),
        (1180.4, "1.18e+03"),
        (90.741, "90.74"),
        (0.0, "0"),
        (8.6612e-05, "8.66e-05"),
    ],
)
def test_general_numbers(value: float, printed: str) -> None:
    text = shown(DIFFERENTIAL, {}, log2_fold_change=1, p_adjusted=1, base_mean=value)
    assert f"  baseMean (avg normalized counts across both arms) {printed}" in text.splitlines()


@pytest.mark.parametrize(
    ("change", "printed"),
    [
        (-0.0004, "-0.000 (downregulates)"),
        (0.0, "+0.000 (no change)"),
        (2, "+2.000 (upregulates)"),
    ],
)
def test_the_word_follows_the_sign(change: float, printed: str) -> None:
    text = shown(DIFFERENTIAL, {}, log2_fold_change=change, p_adjusted=0.9)
    assert f"  log2FoldChange {printed}" in text.splitlines()


@pytest.mark.parametrize(
    ("chronos", "words"),
    [
        (-1.2, "-1.20 (strong fitness defect, as for commonly essential genes)"),
        (-0.5, "-0.50 (clear fitness defect)"),
        (-0.49, "-0.49 (weak fitness defect)"),
        (-0.001, "0.00 (no clear fitness effect)"),
        (0.25, "0.25 (no clear fitness effect)"),
        (0.3, "0.30 (cells grow better without the gene)"),
    ],
)
def test_gene_effects_are_graded_at_the_thresholds(chronos: float, words: str) -> None:
    assert f"  Chronos gene-effect {words}" in shown(KNOCKOUT, {}, chronos=chronos).splitlines()


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.03, "0.03 (almost certainly not a dependency)"),
        (0.4999, "0.50 (more likely not a dependency)"),
        (0.5, "0.50 (more likely a dependency than not)"),
        (1, "1.00 (almost certainly a dependency)"),
    ],
)
def test_probabilities_of_dependency_are_graded(p: float, words: str) -> None:
    text = shown(KNOCKOUT, {}, chronos=0, p_dependency=p)
    assert f"  P(dependency) {words}" in text.splitlines()


def test_a_missing_middle_part_keeps_its_place() -> None:
    text = shown(KNOCKOUT, {"disease": "D", "site": "S", "subtype": "?"}, chronos=0)
    assert "Cell line: x — ? / D / &#63;; ?; S" in text.splitlines()


def test_an_unknown_allele_is_printed_as_in_the_catalog() -> None:
    text = shown(GWAS, {"trait": "height"}, p_value=1, risk_allele="?", direction="increases")
    assert "Risk allele: ?" in text.splitlines()
    assert text.endswith("Direction: ? allele increases height")


def test_three_tissues_are_shown() -> None:
    levels = [("A, b", "1.0"), ("B", 2), ("C", "3.0"), ("D", "4.0")]
    text = shown(GWAS, {"gtex": levels}, p_value=0.1)
    assert "  GTEx expression: A&#44; b 1.0 TPM, B 2.0 TPM, C 3.0 TPM" in text.splitlines()


def test_knockouts_and_systems_have_their_words() -> None:
    schema = BY_NAME["expression-zscore-knockout-system"]
    text = shown(schema, {"perturbation": "TP53", "context": "iPSC", "classes": ("p53",)}, z=-2.5)
    assert text.startswith("Knockout: TP53\n  Classes p53\nSystem: iPSC\nGene: x\nExperiment:\n")
    assert text.endswith("Result:\n  z-score -2.500 (downregulates)")


def test_classes_are_shown_where_no_mechanism_is() -> None:
    numbers = {"log2_fold_change": 1, "p_adjusted": 1}
    without = shown(DIFFERENTIAL, {"classes": ("kinase",)}, **numbers)
    better = shown(DIFFERENTIAL, {"classes": ("kinase",), "moa_fine": "RAF inhibitor"}, **numbers)
    assert "  Classes kinase" in without.splitlines()
    assert "Classes" not in better


@pytest.mark.parametrize(
    ("schema", "fields", "outcome", "complaint"),
    [
        (KNOCKOUT, {}, {"chronos": float("nan")}, "field 'chronos': nan must be a finite number"),
        (KNOCKOUT, {}, {"chronos": "-1"}, "field 'chronos': '-1' must be a finite number"),
        (KNOCKOUT, {}, {"effect_bin": "huge"}, "field 'effect_bin': 'huge' is unknown"),
        (KNOCKOUT, {"kind": "karyotype"}, {}, "field 'kind' is 'karyotype'; use one of"),
        (KNOCKOUT, {"gene_name": True}, {}, "field 'gene_name': True must be text"),
        (GWAS, {}, {"p_value": "low"}, "field 'p_value'"),
        (GWAS, {"sample_size": 1.5}, {}, "field 'sample_size': 1.5 must be a whole number"),
        (GWAS, {"gtex": [("A", "much")]}, {}, "TPM 'much' of 'A' must be a number"),
        (GWAS, {"genes": "A"}, {}, "field 'genes': 'A' must be a list of texts"),
        (GWAS, {"genes": ["A", ""]}, {}, "holds an empty text"),
        (DIFFERENTIAL, {"context_type": "dish"}, {}, "field 'context_type' is 'dish'"),
    ],
)
def test_values_that_cannot_be_printed_are_named(
    schema: Schema, fields: dict[str, Any], outcome: dict[str, Any], complaint: str
) -> None:
    good = {"p_value": 1} if schema is GWAS else {"chronos": 0}
    with pytest.raises(DataError, match=re.escape(complaint)):
        shown(schema, fields, **(outcome or good))
