"""How experiments on gene dependency (DepMap) and claims about them are printed.

The knockout and the mutation stub follow the published format; the other assays are in its style.
Field names and units: `bed.domains.depmap`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bed.domains.depmap import AMPLIFIED_FROM, BIN_SCORES, MUTATED, NOT_REPORTED, WILD_TYPE
from bed.prompts.escaping import unescaped
from bed.prompts.forms import (
    GENERAL,
    PROBABILITY,
    REMARK,
    TEXT,
    TWO_DECIMALS,
    Form,
    at_least,
    at_most,
    one_of,
    within,
)
from bed.prompts.layout import Layout
from bed.prompts.lines import Line
from bed.prompts.wording import Claim, Wording

__all__ = ["WORDING"]

_ROUNDING = 0.005
"""Of two decimals."""
_EFFECT_WORDS = at_most(
    (-1.0, "strong fitness defect, as for commonly essential genes"),
    (-0.5, "clear fitness defect"),
    (-0.25, "weak fitness defect"),
    (0.25, "no clear fitness effect"),
    above="cells grow better without the gene",
    rounding=_ROUNDING,
)
_DEPENDENCY_WORDS = at_least(
    (0.95, "almost certainly a dependency"),
    (0.75, "probably a dependency"),
    (0.5, "more likely a dependency than not"),
    (0.25, "more likely not a dependency"),
    (0.05, "probably not a dependency"),
    below="almost certainly not a dependency",
    rounding=_ROUNDING,
)
_EXPRESSION_WORDS = at_least(
    (6.0, "high expression"),
    (3.0, "moderate expression"),
    (1.0, "low expression"),
    (0.1, "barely expressed"),
    below="not expressed",
    rounding=_ROUNDING,
)
_COPY_WORDS = at_least(
    (AMPLIFIED_FROM, "amplified"),
    (1.2, "gained"),
    (0.8, "no clear gain or loss"),
    (0.4, "partly lost"),
    below="deeply lost",
    rounding=_ROUNDING,
)
_STATUSES = {status.casefold(): status for status in (MUTATED, WILD_TYPE, NOT_REPORTED)}
_EITHER_STATUS = "|".join(_STATUSES.values())


def _read_status(text: str) -> str:
    """Return a status of the domain, or another text as it stands in a prompt from elsewhere."""
    said = unescaped(text)
    return _STATUSES.get(said.strip("*`.").casefold(), said)


def _unknown_status(values: Mapping[str, Any]) -> Iterator[str]:
    if values["status"] not in _STATUSES.values():
        yield f"status {values['status']!r} is unknown; use one of {list(_STATUSES.values())}"


_FORMS: dict[str, Form] = {
    "chronos": TWO_DECIMALS,
    "chronos_words": _EFFECT_WORDS,
    "p_dependency": PROBABILITY,
    "p_words": _DEPENDENCY_WORDS,
    "effect_bin": one_of({name: name.replace("_", " ") for name in BIN_SCORES}),
    "log2_tpm": within(TWO_DECIMALS, 0, pattern=r"\d{1,2}\.\d\d"),
    "log2_tpm_words": _EXPRESSION_WORDS,
    "top_quarter_from": TWO_DECIMALS,
    "relative_copy_number": within(TWO_DECIMALS, 0, pattern=r"\d\.\d\d"),
    "copy_words": _COPY_WORDS,
    "status": Form(TEXT.write, _read_status, _EITHER_STATUS, pattern=f"({_EITHER_STATUS})"),
    "sensitive": one_of({True: "sensitive", False: "not sensitive"}),
    "auc": within(GENERAL, 0, pattern=r"0\.\d{1,4}"),
}


def _line(template: str) -> Line:
    return Line(template, _FORMS)


def _result(template: str, level: int = 0) -> Line:
    return Line(template, _FORMS, is_outcome=True, level=level)


_GENE = _line("Gene: {gene}[ — {gene_name}][ (family: {gene_family})]")
_CELL_LINE = _line(
    "Cell line: {cell_line}[ (DepMap {depmap_id})]"
    "[ — {lineage}[ / {disease}[ / {subtype}]]][; {sex}[; {site}]]"
)
_BIN = _result("Effect bin {effect_bin}", 1)
_P_DEPENDENCY = _result("P(dependency) {p_dependency}[ ({p_dependency:p_words})]", 1)


def _stub(kind: str, title: str, *lines: Line, **more: Any) -> Layout:
    return Layout(
        (_line(title), _GENE, _CELL_LINE, *lines), {"kind": kind}, ("gene", "cell_line"), **more
    )


def _fitness(kind: str, title: str, effect: str) -> Layout:
    return _stub(
        kind,
        title,
        _result("Result:"),
        _result(effect + " {chronos}[ ({chronos:chronos_words})]", 1),
        _P_DEPENDENCY,
        _BIN,
        outcome_needs=(("chronos", "effect_bin"),),
        forms_of_result=(("chronos", "p_dependency"), ("effect_bin",)),
    )


_STUBS = (
    _fitness("knockout", "CRISPR knockout of {gene} in {cell_line}", "Chronos gene-effect"),
    _fitness("knockdown", "RNAi knockdown of {gene} in {cell_line}", "RNAi gene-effect"),
    _stub(
        "expression",
        "Expression of {gene} in {cell_line}",
        _line("Top quarter of cell lines: log2(TPM + 1) >= {top_quarter_from}"),
        _result("Result: log2(TPM + 1) = {log2_tpm}[ ({log2_tpm:log2_tpm_words})]"),
        outcome_needs=(("log2_tpm",),),
    ),
    _stub(
        "copy_number",
        "Copy number of {gene} in {cell_line}",
        _result(
            "Result: relative copy number = {relative_copy_number}"
            "[ ({relative_copy_number:copy_words})]"
        ),
        outcome_needs=(("relative_copy_number",),),
    ),
    _stub(
        "mutation",
        "Somatic mutation status of {gene} in {cell_line}",
        _result("Result: {status}"),
        outcome_needs=(("status",),),
        inconsistencies=_unknown_status,
    ),
    Layout(
        (
            _line("Sensitivity of {cell_line} to the drug {drug}"),
            _line("Target gene: {gene}[ — {gene_name}][ (family: {gene_family})]"),
            _CELL_LINE,
            _result("Result: {sensitive}[; AUC = {auc}]"),
        ),
        {"kind": "drug"},
        ("gene", "cell_line", "drug"),
        (("sensitive",),),
    ),
)

_TARGET = Layout((_GENE, _CELL_LINE, _line("Drug: {drug}")), needs=("gene", "cell_line"))

WORDING = Wording(
    stubs=_STUBS,
    targets=(_TARGET,),
    claims=(
        Claim(
            Line(
                "Gene {gene} is a dependency (essential for fitness) in cell line {cell_line}:"
                " {rule}",
                {"rule": REMARK},
            ),
            {"claim": "dependency"},
        ),
    ),
    role=(
        "You are an expert in cancer functional genomics. You judge from limited evidence whether "
        "a gene is a dependency of a cancer cell line."
    ),
    generated=(
        "Cancer cell lines were characterised one by one: genome-wide CRISPR knockout and RNAi "
        "knockdown screens, somatic mutations, copy number, gene expression, drug response.",
        "A knockout screen compares how often guides against a gene are found at its end and at "
        "its start; a model corrects for guide quality, copy number and growth rate, and gives "
        "each gene an effect in each line.",
        "Each numbered item is one such measurement, of one gene in one cell line. The line "
        "beside the number says how it relates to the target hypothesis.",
        "The screen that decides the target hypothesis is held out; it is not among the items.",
    ),
    definitions_title="Quantity definitions:",
    definitions=(
        "Chronos gene-effect: effect of the knockout on the cells' fitness. 0 is no effect, -1 is "
        "the median of commonly essential genes, positive values mean faster growth.",
        "P(dependency): probability, from the screen's own controls, that the gene's effect in "
        "this line is that of an essential gene, in [0, 1].",
        "RNAi gene-effect: the same for a knockdown; on average weaker and less specific.",
        "Effect bin: the gene effect in classes, where only its class is known.",
        "log2(TPM + 1): expression of the gene. Relative copy number: 1 is the line's average. "
        "AUC: area under the dose-response curve, where lower means more sensitive.",
        "Somatic mutation status: whether a damaging or driver mutation of the gene was found; "
        "wild-type where none was.",
    ),
    claim_form="that a named gene is a dependency of a named cell line",
    support=(
        "The hypothesis counts as supported if the held-out knockout screen of that line gives "
        "the gene a Chronos gene-effect <= -0.5 and P(dependency) >= 0.5, and as not supported "
        "otherwise. For a hypothesis on another assay, its own sentence states the rule."
    ),
)
