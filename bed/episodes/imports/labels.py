"""Labels of the released data -> fields of bed's domains, one table a domain.

A label is compared without case and punctuation, so that "MOA (broad)", "moa_broad" and "MOA-broad"
are one; a field's own name is always a label of it. Blocks ("drug", "cell_line", "result", ...) are
walked through, so nesting does not matter.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from bed.episodes.imports import printed
from bed.episodes.imports.printed import (
    Reader,
    choice,
    count,
    flag,
    number,
    p_value,
    share,
    size,
    text,
    texts,
)
from bed.errors import DataError

__all__ = ["STUB_LABELS", "TARGET_LABELS", "Label", "Parts", "read_parts", "readers"]


@dataclass(frozen=True, slots=True)
class Label:
    """A field and how it is labelled.

    Attributes:
        field: its name in the domain.
        names: labels of the released data, beside the field's own name.
        read: turns the value as it stands into the field's value.
        is_result: whether it belongs to the outcome, which is hidden until the experiment is run.
    """

    field: str
    names: tuple[str, ...] = ()
    read: Reader = text
    is_result: bool = False


@dataclass(frozen=True, slots=True)
class Parts:
    """The fields of a stub, or of a target, whose outcome is empty.

    Attributes:
        fields: of the experiment or the hypothesis.
        outcome: what the experiment reported.
    """

    fields: dict[str, Any]
    outcome: dict[str, Any]


def _results(*labels: tuple[str, tuple[str, ...], Reader]) -> tuple[Label, ...]:
    return tuple(Label(field, names, read, is_result=True) for field, names, read in labels)


_EXPRESSION = (
    Label("perturbation", ("Drug",)),
    Label("moa_broad", ("MOA (broad)",)),
    Label("moa_fine", ("MOA (fine)",)),
    Label("targets", ("Targets",), texts),
    Label("human_approved", ("Human-approved",), flag),
    Label("in_trials", ("In clinical trials",), flag),
    Label("notes", ("Notes",)),
    Label("smiles", ("Canonical SMILES",)),
    Label("pubchem_cid", ("PubChem CID",), count),
    Label("context", ("Cell line",)),
    Label("depmap_id", ("DepMap ID",)),
    Label("cellosaurus_id", ("Cellosaurus ID",)),
    Label("organ", ("Organ",)),
    Label("driver_gene", ("Driver gene",)),
    Label("driver_variant_type", ("Driver variant type",)),
    Label("driver_zygosity", ("Driver zygosity",)),
    Label("driver_effect", ("Driver protein/cDNA effect",)),
    Label("driver_mechanism", ("Driver mechanism (LoF/GoF)",)),
    Label("driver_gene_type", ("Driver gene type",)),
    Label("gene", ("Gene",)),
    Label("ensembl_id", ("Ensembl ID",)),
)
_CONDITION = (
    Label("dose", ("Dose",)),
    Label("time", ("Time",)),
    Label("condition", ("Condition",)),
)
_EXPRESSION_STUB = (
    Label("plate", ("Plate",)),
    *_CONDITION,
    Label("num_treated", ("n_cells treated",), count),
    Label("num_control", ("n_cells control",), count),
    *_results(
        ("log2_fold_change", ("log2FoldChange", "log2FC"), number),
        ("lfc_se", ("lfcSE",), size),
        ("wald", ("Wald statistic", "stat"), number),
        ("p_value", ("p-value (raw)", "pvalue"), share),
        ("p_adjusted", ("p-value (adjusted)", "padj"), share),
        ("base_mean", ("baseMean (avg normalized counts across both arms)", "baseMean"), size),
        ("share_significant", ("fraction significant",), share),
        ("num_significant", ("n_significant",), count),
        ("num_tested", ("n_tested",), count),
    ),
)
_DEPMAP = (
    Label("gene", ("Gene",)),
    Label("gene_name", ("name", "full name")),
    Label("gene_family", ("family",)),
    Label("cell_line", ("Cell line",)),
    Label("depmap_id", ("DepMap", "DepMap ID")),
    Label("lineage"),
    Label("disease"),
    Label("subtype"),
    Label("sex"),
    Label("site"),
)
_DEPMAP_STUB = (
    Label("kind", ("modality", "assay")),
    Label("drug", ("Drug",)),
    Label("top_quarter_from", (), number),
    *_results(
        ("chronos", ("Chronos gene-effect", "gene effect"), number),
        ("p_dependency", ("P(dependency)",), share),
        ("effect_bin", (), text),
        ("log2_tpm", ("log2(TPM+1)",), number),
        ("relative_copy_number", (), number),
        ("status", ("mutation status",), printed.status),
        ("sensitive", (), flag),
        ("auc", (), number),
        ("result", (), text),
    ),
)
_GWAS = (
    Label("snp", ("SNP", "rsid")),
    Label("position", (), printed.position),
    Label("chromosome", ("chr",)),
    Label("region", ("cytoband",)),
    Label("genes", ("Mapped gene", "Mapped genes"), printed.genes),
    Label("functional_class", ("Functional class",)),
    Label("pathways", ("Reactome pathways",), texts),
    Label("gtex", ("GTEx expression",), printed.tissues),
    Label("trait", ("Trait",)),
    Label("trait_terms", (), texts),
    Label("trait_groups", (), texts),
    Label("efo_parent", ("EFO parent",)),
)
_STUDY = Label("study", ("Study",))
_EFFECT = choice(increases="increas", decreases="decreas")
_GWAS_STUB = (
    _STUDY,
    Label("ancestry", ("Ancestry",)),
    Label("sample_size", ("Sample size",), count),
    Label("platform", ("Platform",)),
    Label("year", (), count),
    *_results(
        ("p_value", ("p", "p-value"), p_value),
        ("effect", ("OR/beta",), text),
        ("interval", ("95% CI",), text),
        ("risk_allele", ("Risk allele", "allele"), text),
        ("risk_allele_frequency", ("RAF",), text),
        ("direction", ("word",), _EFFECT),
    ),
)

_TAG = Label("tag", ("relevance tag", "relevance"))

STUB_LABELS: Mapping[str, tuple[Label, ...]] = {
    "expression": (_TAG, *_EXPRESSION, *_EXPRESSION_STUB),
    "depmap": (_TAG, *_DEPMAP, *_DEPMAP_STUB),
    "gwas": (_TAG, *_GWAS, *_GWAS_STUB),
}
"""Domain -> labels of a stub; `tag` states its relation to the target."""
TARGET_LABELS: Mapping[str, tuple[Label, ...]] = {
    "expression": (
        *_EXPRESSION,
        *_CONDITION,
        Label("direction", (), choice(up="up", down="down")),
    ),
    "depmap": _DEPMAP,
    "gwas": (
        *_GWAS,
        _STUDY,
        Label("allele", ("Risk allele",)),
        Label("direction", (), _EFFECT),
        Label("risk_allele_frequency", ("RAF",)),
    ),
}
"""Domain -> labels of a target."""


@lru_cache(4096)
def _key(label: str) -> str:
    return re.sub(r"[^a-z0-9]", "", label.casefold())


_DERIVED = set(
    map(_key, ("direction_word", "significance", "chronos_phrase", "p_phrase", "pattern", "title"))
)
"""Labels that repeat in words what a number says."""
_WHOLE = {"gtex", "gtexexpression"}
"""Labels whose value may be a mapping, where every other mapping is a block of labels."""
_TABLES = {
    what: {
        domain: {_key(name): label for label in labels for name in (label.field, *label.names)}
        for domain, labels in by_domain.items()
    }
    for what, by_domain in (("stub", STUB_LABELS), ("target", TARGET_LABELS))
}


@cache
def readers(domain: str) -> Mapping[str, Reader]:
    """Return field -> reader of its values, for targets and stubs of a domain.

    Args:
        domain: as bed calls it; one without labels has no readers.
    """
    labels = (*TARGET_LABELS.get(domain, ()), *STUB_LABELS.get(domain, ()))
    return {label.field: label.read for label in labels}


def read_parts(
    what: Literal["stub", "target"],
    domain: str,
    data: Mapping[str, Any],
    renames: Mapping[str, str],
    where: str,
    unused: Counter[str],
) -> Parts:
    """Return the fields of a stub or target from labelled values, nested as they may be.

    Args:
        what: whose labels count.
        domain: as bed calls it.
        data: the labelled values; None and "" are absent.
        renames: name in the file -> label or field that it stands for.
        where: names the place, for messages.
        unused: counts the labels that are not known, which are left out.

    Raises:
        DataError: for a value that cannot be read, or two labels of one field that disagree.
    """
    known = _TABLES[what][domain]
    renamed = {_key(name): _key(label) for name, label in renames.items()}
    parts = Parts({}, {})
    for name, value in _leaves(data):
        key = renamed.get(_key(name), _key(name))
        label = known.get(key)
        if label is None:
            if key not in _DERIVED:
                unused[name] += 1
            continue
        try:
            found = label.read(value)
        except DataError as error:
            raise DataError(f"{where}: {name!r} ({label.field}): {error}") from error
        into = parts.outcome if label.is_result else parts.fields
        if into.setdefault(label.field, found) != found:
            raise DataError(
                f"{where}: {name!r} says {found!r}, but {label.field!r} is already "
                f"{into[label.field]!r}; one of them must go, or be renamed in the mapping"
            )
    return parts


def _leaves(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping) and _key(name) not in _WHOLE:
            yield from _leaves(value)
        elif (
            value is not None and value != [] and not (isinstance(value, str) and not value.strip())
        ):
            yield name, value
