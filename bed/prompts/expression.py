"""How experiments on gene expression under a drug or a knock-out are printed.

The differential stub of a drug in a cell line follows the published format; knock-outs, other cell
systems, z-scores and genome-wide summaries are in its style. The mean count `base_mean` mixes
treated and control cells, so it is hidden with the result. Field names: `bed.domains.expression`.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from bed.domains.expression import REGULATION, STRONG_EFFECT
from bed.prompts.forms import (
    COUNT,
    GENERAL,
    INTEGER,
    LIST,
    P_GENERAL,
    PERCENT,
    REMARK,
    SIGNED,
    THREE_DECIMALS,
    YES_NO,
    Form,
    at_least,
    real,
    shown,
    within,
)
from bed.prompts.layout import Layout
from bed.prompts.lines import Line
from bed.prompts.wording import Claim, Wording

__all__ = ["WORDING"]

_AGENTS = {"drug": "Drug", "knockout": "Knockout"}
_PLACES = {"cell line": "Cell line", "system": "System"}
_DIRECTIONS = {"up": "upregulates", "down": "downregulates"}
_THOUSANDTH = 0.001
_ROUNDED_DOWN = 0.95
"""What two digits may take from a number."""


def _direction_word(change: Any) -> str:
    value = real(change)
    if value == 0:
        return "no change"
    return _DIRECTIONS["up" if value > 0 else "down"]


def _agrees(change: Any, text: str) -> bool:
    """Return whether a number can stand beside a word; one printed as 0 may have either sign."""
    return change == 0 or text.casefold() == _direction_word(change)


_SHARE_WORDS = at_least(
    (0.2, "very strong response"),
    (0.05, "strong response"),
    (0.01, "moderate response"),
    (0.001, "weak response"),
    below="hardly any response",
    rounding=5e-5,
)


def _differential(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what cannot be true of a gene's differential expression, as printed."""
    change, error = values["log2_fold_change"], values.get("lfc_se")
    wald, p, adjusted = (values.get(name) for name in ("wald", "p_value", "p_adjusted"))
    if error == 0:
        yield f"lfc_se {error} contradicts that a standard error is above 0"
    if wald is not None and wald * change < 0:
        yield f"wald {wald} contradicts the sign of log2_fold_change {change}"
    elif wald is not None and error and not _is_ratio(wald, change, error):
        yield f"wald {wald} contradicts log2_fold_change {change} over lfc_se {error}"
    if p is not None and adjusted is not None and adjusted < p * _ROUNDED_DOWN:
        yield f"p_adjusted {adjusted} contradicts p_value {p}; adjusting never lowers it"


def _is_ratio(wald: float, change: float, error: float) -> bool:
    """Return whether a Wald statistic is the ratio of two numbers of three decimals."""
    least = max(abs(change) - _THOUSANDTH, 0) / (error + _THOUSANDTH)
    most = (abs(change) + _THOUSANDTH) / max(error - _THOUSANDTH, _THOUSANDTH / 2)
    return least * _ROUNDED_DOWN <= abs(wald) <= most / _ROUNDED_DOWN


def _summary(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield what cannot be true of counts of genes and their share, as printed."""
    share, responding = values["share_significant"], values.get("num_significant")
    tested = values.get("num_tested")
    if responding is None or tested is None:
        return
    if responding > tested:
        yield f"num_significant {responding} contradicts num_tested {tested}; it is a part of them"
    elif not math.isclose(responding, share * tested, rel_tol=1 - _ROUNDED_DOWN, abs_tol=1):
        yield f"share_significant {share} contradicts {responding} of {tested} genes"


_INCONSISTENCIES = {"differential": _differential, "summary": _summary}

_FORMS: dict[str, Form] = {
    "classes": LIST,
    "targets": LIST,
    "human_approved": YES_NO,
    "in_trials": YES_NO,
    "pubchem_cid": INTEGER,
    "num_treated": INTEGER,
    "num_control": INTEGER,
    "median_share": PERCENT,
    "base_mean": within(GENERAL, 0, pattern=r"\d{1,5}(\.\d)?"),
    "log2_fold_change": SIGNED,
    # a small one is printed as 0.000
    "lfc_se": within(THREE_DECIMALS, 0, pattern=r"\d\.\d{3}"),
    "word": shown(_direction_word, "upregulates|downregulates", _agrees),
    "wald": GENERAL,
    "p_value": P_GENERAL,
    "p_adjusted": P_GENERAL,
    "z": SIGNED,
    "share_significant": PERCENT,
    "share_words": _SHARE_WORDS,
    "num_significant": COUNT,
    "num_tested": COUNT,
    "rule": REMARK,
}


def _line(template: str, level: int = 1) -> Line:
    return Line(template, _FORMS, level=level)


def _result(template: str, level: int = 1) -> Line:
    return Line(template, _FORMS, is_outcome=True, level=level)


_AGENT = (
    Line("Classes {classes}", _FORMS, level=1, unless=("moa_broad", "moa_fine")),
    _line("MOA (broad) {moa_broad}"),
    _line("MOA (fine) {moa_fine}"),
    _line("Targets {targets}"),
    _line("Human-approved {human_approved}"),
    _line("In clinical trials {in_trials}"),
    _line("Notes {notes}"),
    _line("Canonical SMILES {smiles}"),
    _line("PubChem CID {pubchem_cid}"),
)
_PLACE = (
    _line("DepMap ID {depmap_id}"),
    _line("Cellosaurus ID {cellosaurus_id}"),
    _line("Organ {organ}"),
    _line("Driver gene {driver_gene}"),
    _line("Driver variant type {driver_variant_type}"),
    _line("Driver zygosity {driver_zygosity}"),
    _line("Driver protein/cDNA effect {driver_effect}"),
    _line("Driver mechanism (LoF/GoF) {driver_mechanism}"),
    _line("Driver gene type {driver_gene_type}"),
)
_GENE = (_line("Gene: {gene}", 0), _line("Ensembl ID {ensembl_id}"))
_EXPERIMENT = (
    _line("Plate {plate}"),
    _line("Dose {dose}"),
    _line("Time {time}"),
    _line("Condition {condition}"),
    _line("n_cells treated {num_treated}"),
    _line("n_cells control {num_control}"),
)

_KINDS: dict[str, tuple[tuple[Line, ...], tuple[Line, ...], tuple[str, ...]]] = {
    "differential": (
        (),
        (
            _result("baseMean (avg normalized counts across both arms) {base_mean}"),
            _result("Result:", 0),
            _result("log2FoldChange {log2_fold_change}[ ± {lfc_se}][ ({log2_fold_change:word})]"),
            _result("Wald statistic {wald}"),
            _result("p-value (raw) {p_value}"),
            _result("p-value (adjusted) {p_adjusted}"),
        ),
        ("log2_fold_change", "p_adjusted"),
    ),
    "zscore": (
        (_line("Measurement z-score of the gene's expression against controls"),),
        (_result("Result:", 0), _result("z-score {z}[ ({z:word})]")),
        ("z",),
    ),
    "summary": (
        (
            _line("Measurement share of all tested genes that respond (genome-wide summary)"),
            _line("Median share over experiments {median_share}"),
        ),
        (
            _result("Result:", 0),
            _result("Responding genes {share_significant}[ ({share_significant:share_words})]"),
            _result("Number of responding genes {num_significant}"),
            _result("Number of tested genes {num_tested}"),
        ),
        ("share_significant",),
    ),
}
"""Kind -> lines of the experiment block, lines of the result, what the result must state."""


def _subject(agent: str, place: str) -> tuple[Line, ...]:
    return (
        _line(_AGENTS[agent] + ": {perturbation}", 0),
        *_AGENT,
        _line(_PLACES[place] + ": {context}", 0),
        *_PLACE,
    )


def _settings(agent: str, place: str) -> dict[str, Any]:
    return {"perturbation_type": agent, "context_type": place}


def _stub(kind: str, agent: str, place: str) -> Layout:
    experiment, result, stated = _KINDS[kind]
    is_summary = kind == "summary"
    return Layout(
        (
            *_subject(agent, place),
            *(() if is_summary else _GENE),
            _line("Experiment:", 0),
            *experiment,
            *_EXPERIMENT,
            *result,
        ),
        {"kind": kind, **_settings(agent, place)},
        ("perturbation", "context", *(() if is_summary else ("gene",))),
        tuple((name,) for name in stated),
        inconsistencies=_INCONSISTENCIES.get(kind, lambda values: ()),
    )


def _target(agent: str, place: str) -> Layout:
    return Layout(
        (*_subject(agent, place), *_GENE), _settings(agent, place), ("perturbation", "context")
    )


def _claims() -> tuple[Claim, ...]:
    """Return the forms of claims; "in cell line X" is tried before "in X"."""
    found = []
    for (place, where), (agent, who) in product(
        {"cell line": "in cell line {context}", "system": "in {context}"}.items(),
        {"drug": "Drug {perturbation}", "knockout": "Knockout of {perturbation}"}.items(),
    ):
        settings = _settings(agent, place)
        for direction, verb in _DIRECTIONS.items():
            regulation = {"claim": REGULATION, "direction": direction, **settings}
            found.append(Claim(Line(f"{who} {verb} gene {{gene}} {where}."), regulation))
        # "changes the transcriptome of cell line X strongly"
        of_place = where.removeprefix("in ")
        text = f"{who} changes the transcriptome of {of_place} strongly: {{rule}}"
        found.append(Claim(Line(text, _FORMS), {"claim": STRONG_EFFECT, **settings}))
    return tuple(found)


WORDING = Wording(
    stubs=tuple(_stub(*which) for which in product(_KINDS, _AGENTS, _PLACES)),
    targets=tuple(_target(*which) for which in product(_AGENTS, _PLACES)),
    claims=_claims(),
    defaults={"perturbation_type": "drug", "context_type": "cell line"},
    role=(
        "You are an expert in transcriptomics and pharmacology. You judge from limited evidence "
        "whether a perturbation (a drug or the knock-out of a gene) changes gene expression in a "
        "cell line or another cell system."
    ),
    generated=(
        "Cells were exposed to a drug, or had a gene knocked out, and their gene expression was "
        "compared with that of control cells in the same batch.",
        "In single-cell screens many cell lines are treated together on a plate and told apart "
        "by their genotype; the cells of one line and condition are summed into one profile.",
        "Differential expression was then computed for each gene, with p-values adjusted for the "
        "number of genes tested.",
        "Each numbered item is one such measurement: of one gene under one perturbation in one "
        "cell line or system, or a summary over all genes. The line beside the number says how it "
        "relates to the target hypothesis.",
        "The measurement that decides the target hypothesis is held out; it is not among the "
        "items.",
    ),
    definitions_title="Column definitions (DESeq2 conventions):",
    definitions=(
        "baseMean: mean of the normalised counts over treated and control samples.",
        "log2FoldChange: log2 of treated over control, ± its standard error; positive means "
        "higher under the perturbation. The word in brackets follows the sign alone, also where "
        "the change is not significant.",
        "Wald statistic: log2FoldChange divided by its standard error.",
        "p-value (raw): two-sided, of the Wald test.",
        "p-value (adjusted): the same, adjusted for multiple testing (Benjamini-Hochberg).",
        "n_cells treated, n_cells control: cells (or samples) in each arm.",
        "z-score: expression relative to controls in standard deviations, where no counts exist.",
        "Responding genes: share of the tested genes that are significant, with adjusted p < 0.05 "
        "and |log2FoldChange| > 0.5.",
    ),
    claim_form=(
        "that a named perturbation upregulates or downregulates a named gene in a named cell line "
        "or system (or, without a gene, that it changes expression strongly there)"
    ),
    support=(
        "The hypothesis counts as supported if the held-out measurement is significant (adjusted "
        "p < 0.05 and |log2FoldChange| > 0.5) with the claimed sign, and as not supported if it is "
        "not significant or has the other sign. A hypothesis without a gene states its own rule."
    ),
    weigh=(
        "Things to weigh: how strongly the perturbation acts in this and in similar cell lines; "
        "what perturbations with a similar mechanism do to the gene; how readily the gene responds "
        "to anything in this line; the strength of the response over all genes; and evidence that "
        "contradicts the claim or itself."
    ),
)
