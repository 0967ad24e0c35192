"""The worked examples of the published format as hypotheses, experiments and outcomes."""

import json
from pathlib import Path
from typing import Any

from bed.evidence import Evidence, Experiment, Fields, Hypothesis, Outcome, Stub

DRUG = {
    "Drug": "perturbation",
    "MOA (broad)": "moa_broad",
    "MOA (fine)": "moa_fine",
    "Targets": "targets",
    "Human-approved": "human_approved",
    "In clinical trials": "in_trials",
    "Notes": "notes",
    "Canonical SMILES": "smiles",
    "PubChem CID": "pubchem_cid",
}
CELL_LINE = {
    "Cell line": "context",
    "DepMap ID": "depmap_id",
    "Cellosaurus ID": "cellosaurus_id",
    "Organ": "organ",
    "Driver gene": "driver_gene",
    "Driver variant type": "driver_variant_type",
    "Driver zygosity": "driver_zygosity",
    "Driver protein/cDNA effect": "driver_effect",
    "Driver mechanism (LoF/GoF)": "driver_mechanism",
    "Driver gene type": "driver_gene_type",
}
GENE = {"Gene": "gene", "Ensembl ID": "ensembl_id"}
EXPERIMENT = {
    "Plate": "plate",
    "n_cells treated": "num_treated",
    "n_cells control": "num_control",
    "baseMean (avg normalized counts across both arms)": "base_mean",
}
RESULT = {
    "log2FoldChange": "log2_fold_change",
    "lfcSE": "lfc_se",
    "Wald statistic": "wald",
    "p-value (raw)": "p_value",
    "p-value (adjusted)": "p_adjusted",
}


def examples(folder: Path) -> list[dict[str, Any]]:
    """All worked examples of the shared file."""
    file = json.loads((folder / "golden/facts/worked_examples.json").read_text())
    return [*file["examples"], *file["extra"]]


def problem(example: dict[str, Any]) -> tuple[Hypothesis, Evidence]:
    """The target and the shown stubs; each stub's tag is stated, not derived."""
    build = {"tahoe": _tahoe, "depmap": _depmap, "gwas": _gwas}[example["domain"]]
    return build(example)


def _named(labels: dict[str, str], block: dict[str, Any]) -> dict[str, Any]:
    return {labels[label]: value for label, value in block.items() if label in labels}


def _stub(
    number: int, local: Hypothesis, target: str, tag: str, fields: dict[str, Any], outcome: Any
) -> Stub:
    stated = {"to": target, "tier": 1, "tag": tag}
    experiment = Experiment(f"x{number}", local, fields=Fields(fields, stated_relation=stated))
    return Stub(experiment, Outcome(Fields(outcome)))


def _tahoe(example: dict[str, Any]) -> tuple[Hypothesis, Evidence]:
    target, claim = example["target"], example["target"]["claim"]

    def subject(block: dict[str, Any]) -> dict[str, Any]:
        parts = ((DRUG, "drug"), (CELL_LINE, "cell_line"), (GENE, "gene"))
        return {k: v for labels, name in parts for k, v in _named(labels, block[name]).items()}

    def hypothesis(fields: dict[str, Any]) -> Hypothesis:
        verb = {"up": "upregulates", "down": "downregulates"}[claim["direction"]]
        text = (
            f"Drug {fields['perturbation']} {verb} gene {fields['gene']} in cell line "
            f"{fields['context']}."
        )
        own = {"claim": "regulation", "direction": claim["direction"]}
        return Hypothesis(text, "tahoe", Fields(fields, **own))

    h = hypothesis(subject(target))
    stubs = []
    for number, block in enumerate(example["stubs"]):
        numbers = {
            name: float(value)
            for name, value in _named(
                EXPERIMENT | RESULT, block["experiment"] | block["result"]
            ).items()
        }
        plate = block["experiment"]["Plate"]
        counts = {name: int(numbers.pop(name)) for name in ("num_treated", "num_control")}
        del numbers["plate"]
        fields = {"kind": "differential", **subject(block), "plate": plate, **counts}
        local = hypothesis(subject(block))
        stubs.append(_stub(number, local, h.text, block["tag"], fields, numbers))
    return h, tuple(stubs)


def _depmap(example: dict[str, Any]) -> tuple[Hypothesis, Evidence]:
    def subject(block: dict[str, Any]) -> dict[str, Any]:
        gene, line = block["gene"], dict(block["cell_line"])
        return {
            "gene": gene["Gene"],
            "gene_name": gene["name"],
            "gene_family": gene["family"],
            "cell_line": line.pop("Cell line"),
            "depmap_id": line.pop("DepMap"),
            **line,
        }

    def hypothesis(fields: dict[str, Any], claim: str) -> Hypothesis:
        gene, line = fields["gene"], fields["cell_line"]
        text = (
            f"Gene {gene} is a dependency (essential for fitness) in cell line {line}: a held-out "
            f"genome-wide CRISPR knockout screen of {line} would score gene {gene} at Chronos "
            "gene-effect <= -0.5 AND P(dependency) >= 0.5."
        )
        return Hypothesis(text, "depmap", Fields(fields, claim=claim))

    h = hypothesis(subject(example["target"]), "dependency")
    stubs = []
    for number, block in enumerate(example["stubs"]):
        result = block["result"]
        outcome = (
            {"status": result}
            if block["modality"] == "mutation"
            else {
                "chronos": float(result["Chronos gene-effect"]),
                "p_dependency": float(result["P(dependency)"]),
            }
        )
        fields = {"kind": block["modality"], **subject(block)}
        local = hypothesis(subject(block), block["modality"])
        stubs.append(_stub(number, local, h.text, block["tag"], fields, outcome))
    return h, tuple(stubs)


def _gwas(example: dict[str, Any]) -> tuple[Hypothesis, Evidence]:
    def subject(block: dict[str, Any]) -> dict[str, Any]:
        snp = block["snp"]
        chromosome, position = snp["position"].removeprefix("chr").split(":")
        return {
            "snp": snp["SNP"],
            "chromosome": chromosome,
            "position": int(position),
            "genes": (snp["Mapped gene"],),
            "functional_class": snp["Functional class"],
            "pathways": snp["Reactome pathways"],
            "gtex": snp["GTEx expression"],
        }

    target, claim = example["target"], example["target"]["claim"]
    text = (
        f"SNP {claim['snp']} ({claim['allele']} allele) {claim['direction']}s {claim['trait']}. "
        "A held-out GWAS would report p < 5e-8 for this SNP-trait pair with a consistent "
        "direction of effect."
    )
    fields = {
        "claim": "association",
        "allele": claim["allele"],
        "direction": claim["direction"] + "s",
        "trait": claim["trait"],
        "risk_allele_frequency": target["RAF"],
        "efo_parent": target["EFO parent"],
    }
    h = Hypothesis(text, "gwas", Fields(subject(target), **fields))
    stubs = []
    for number, block in enumerate(example["stubs"]):
        result = block["result"]
        tested = {**subject(block), "trait": block["trait"]}
        local = Hypothesis(
            f"SNP {tested['snp']} is associated with {tested['trait']}: a GWAS reports p < 5e-8.",
            "gwas",
            Fields(tested, claim="association"),
        )
        fields = {
            "kind": "association",
            **tested,
            "study": block["Study"],
            "ancestry": block["Ancestry"],
            "sample_size": int(block["Sample size"].replace(",", "")),
            "platform": block["Platform"],
        }
        outcome = {
            "p_value": result["p"],
            "effect": result["OR/beta"],
            "interval": result["95% CI"],
            "risk_allele": block["Risk allele"],
            "risk_allele_frequency": block["RAF"],
            "direction": block["direction"]["word"],
        }
        stubs.append(_stub(number, local, h.text, block["tag"], fields, outcome))
    return h, tuple(stubs)
