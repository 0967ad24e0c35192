"""The worked examples of the published format, rendered from their fields to the letter."""

from pathlib import Path
from typing import Any

import pytest

from bed.prompts import belief_prompt, parse_evidence
from tests.prompts.printed_examples import examples, problem

CLOSING = [
    "Respond using the format specified in the system message:",
    "<probability>0.XX</probability>",
]
INNER = {"drug": "Drug", "cell_line": "Cell line", "gene": "Gene"}


def lines_of(example: dict[str, Any]) -> list[str]:
    """The prompt's lines, without blank ones and indentation."""
    user = belief_prompt(*problem(example)).user
    return [line.strip() for line in user.splitlines() if line.strip()]


def find(folder: Path, domain: str) -> dict[str, Any]:
    return next(example for example in examples(folder) if example["domain"] == domain)


def test_depmap_to_the_letter(shared_data: Path) -> None:
    line = (
        "Cell line: MERO25 (DepMap ACH-001556) — Pleura / Pleural Mesothelioma / Pleural "
        "Mesothelioma, Biphasic Type; Male; Primary"
    )
    assert lines_of(find(shared_data, "depmap")) == [
        "CONTEXT EVIDENCE",
        "================",
        "[1] somatic mutation status of the target gene in the target cell line",
        "Somatic mutation status of DIS3L in MERO25",
        "Gene: DIS3L — DIS3 like exosome 3'-5' exoribonuclease (family: Exosome complex)",
        line,
        "Result: wild-type",
        "[2] an unrelated gene knocked out in the target cell line",
        "CRISPR knockout of KRT25 in MERO25",
        "Gene: KRT25 — keratin 25 (family: Keratins, type I)",
        line,
        "Result:",
        "Chronos gene-effect -0.02 (no clear fitness effect)",
        "P(dependency) 0.03 (almost certainly not a dependency)",
        "TARGET HYPOTHESIS",
        "=================",
        "Gene DIS3L is a dependency (essential for fitness) in cell line MERO25: a held-out "
        "genome-wide CRISPR knockout screen of MERO25 would score gene DIS3L at Chronos "
        "gene-effect <= -0.5 AND P(dependency) >= 0.5.",
        "Gene: DIS3L — DIS3 like exosome 3'-5' exoribonuclease (family: Exosome complex)",
        line,
        *CLOSING,
    ]


def test_gwas_to_the_letter(shared_data: Path) -> None:
    gene = [
        "Mapped gene: GIPR",
        "Functional class: intron_variant",
        "Gene context:",
        "Reactome pathways: G alpha (s) signalling events, Glucagon-type ligand receptors",
        "GTEx expression: Cells - EBV-transformed lymphocytes 23.8 TPM, Adipose - Visceral "
        "(Omentum) 10.8 TPM, Heart - Atrial Appendage 9.3 TPM",
    ]
    trait = "phospholipids:total lipids ratio, high density lipoprotein cholesterol measurement"
    found = lines_of(find(shared_data, "gwas"))
    assert found[2:18] == [
        "[1] the target SNP, associated with a trait in a different EFO parent",
        "rs2238689 for type 2 diabetes mellitus",
        "SNP: rs2238689 — chr19:45675403",
        "Risk allele: C",
        "RAF: 0.4177",
        *gene,
        "Study: GCST009379",
        "Ancestry: European",
        "Sample size: 898,130",
        "Platform: Affymetrix, Illumina [~ 27000000] (imputed)",
        "Result: p = 5.0e-09 (genome-wide significant); OR/beta = 1.04",
        "95% CI: [1.03-1.05]",
    ]
    assert found[18] == "Direction: C allele increases type 2 diabetes mellitus"
    assert "95% CI: [0.0097-0.0207] unit decrease" in found
    start = found.index("TARGET HYPOTHESIS")
    assert found[start:] == [
        "TARGET HYPOTHESIS",
        "=================",
        f"SNP rs2238689 (T allele) decreases {trait}.",
        "A held-out GWAS would report p < 5e-8 for this SNP-trait pair with a consistent "
        "direction of effect.",
        "SNP: rs2238689 — chr19:45675403",
        "Risk allele: T",
        "RAF: 0.600605",
        *gene,
        f"Trait: {trait}",
        "EFO parent: Other measurement",
        *CLOSING,
    ]


def test_expression_to_the_letter(shared_data: Path) -> None:
    for example in examples(shared_data):
        if example["domain"] == "tahoe":
            expected = ["CONTEXT EVIDENCE", "================"]
            for number, stub in enumerate(example["stubs"], start=1):
                expected += [f"[{number}] {stub['tag']}", *subject(stub), "Experiment:"]
                expected += [f"{label} {value}" for label, value in stub["experiment"].items()]
                expected += ["Result:", *result(stub["result"])]
            claim = example["target"]["claim"]
            verb = {"up": "upregulates", "down": "downregulates"}[claim["direction"]]
            expected += [
                "TARGET HYPOTHESIS",
                "=================",
                f"Drug {claim['drug']} {verb} gene {claim['gene']} in cell line "
                f"{claim['cell_line']}.",
            ]
            assert lines_of(example) == [*expected, *subject(example["target"]), *CLOSING]


def subject(block: dict[str, Any]) -> list[str]:
    lines = []
    for name, first in INNER.items():
        for label, value in block[name].items():
            text = {True: "yes", False: "no"}.get(value) if isinstance(value, bool) else value
            text = ", ".join(text) if isinstance(text, list) else text
            lines.append(f"{label}{':' if label == first else ''} {text}")
    return lines


def result(block: dict[str, str]) -> list[str]:
    change = f"{block['log2FoldChange']} ± {block['lfcSE']} ({block['direction_word']})"
    others = ("Wald statistic", "p-value (raw)", "p-value (adjusted)")
    return [f"log2FoldChange {change}", *(f"{label} {block[label]}" for label in others)]


def test_examples_are_read_back(shared_data: Path) -> None:
    for example in examples(shared_data):
        target, evidence = problem(example)
        found = parse_evidence(example["domain"], belief_prompt(target, evidence).user)
        assert found.target_text == target.text
        assert {name: found.target[name] for name in target.fields} == target.fields
        for read, stub in zip(found.stubs, evidence, strict=True):
            told = dict(stub.outcome.fields)
            if "p_value" in told:
                told["p_value"] = float(told["p_value"])
            assert read.outcome == told
            tested = dict(stub.experiment.fields)
            assert read.tag == tested.pop("stated_relation")["tag"]
            assert {name: read.experiment[name] for name in tested} == tested


@pytest.mark.parametrize("thinking", [False, True])
def test_without_evidence_the_section_says_so(shared_data: Path, thinking: bool) -> None:
    target, _ = problem(find(shared_data, "depmap"))
    user = belief_prompt(target, (), thinking=thinking).user
    assert user.startswith("CONTEXT EVIDENCE\n================\n\n(none)\n\nTARGET HYPOTHESIS\n")
    assert parse_evidence("depmap", user).stubs == ()
