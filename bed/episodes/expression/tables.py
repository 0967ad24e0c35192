"""The input files of one build, and what their columns are called."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from bed.episodes.building import InputFiles
from bed.errors import DataError

__all__ = ["STATISTICS", "Columns", "ExpressionTables"]

STATISTICS = ("log2_fold_change", "lfc_se", "wald", "p_value", "p_adjusted", "base_mean", "z")
"""Names of the statistics, as outcomes carry them."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What each column is called; the defaults are DESeq2's names.

    Attributes:
        gene: symbol of the measured gene.
        perturbation: the drug, or the gene knocked out.
        context: the cell line or system; several columns are joined by a blank.
        condition: what tells contrasts of one perturbation in one context apart (dose, time, ...).
        log2_fold_change: perturbed against control.
        lfc_se: its standard error; optional.
        wald: the Wald statistic; optional, else log2_fold_change / lfc_se.
        p_value: the raw p value; optional.
        p_adjusted: blank where the authors' filter left the gene out.
        base_mean: mean normalised count over both arms; optional.
        z: z-score of a long table without the columns above.
        ensembl_id: of the measured gene; optional.
        num_treated: cells or samples of the perturbed arm, one number a contrast; optional.
        num_control: the same of the control arm; optional.
        named: what was named on purpose, and must therefore be there and be used; whatever is not
            called by its default counts as named.
    """

    gene: str = "gene"
    perturbation: str = "perturbation"
    context: tuple[str, ...] = ("context",)
    condition: tuple[str, ...] = ()
    log2_fold_change: str = "log2FoldChange"
    lfc_se: str = "lfcSE"
    wald: str = "stat"
    p_value: str = "pvalue"
    p_adjusted: str = "padj"
    base_mean: str = "baseMean"
    z: str = "z"
    ensembl_id: str = "ensembl_id"
    num_treated: str = "num_treated"
    num_control: str = "num_control"
    named: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        changed = {name for name, default in _DEFAULTS.items() if getattr(self, name) != default}
        object.__setattr__(self, "named", self.named | changed)

    def mapped(self, pairs: Sequence[str]) -> "Columns":
        """Return these columns with some of them called otherwise.

        Args:
            pairs: such as "gene=SYMBOL" or, for several columns, "condition=dose,time".

        Raises:
            DataError: for a pair without "=", or an unknown name before it.
        """
        changes: dict[str, Any] = {}
        for pair in pairs:
            name, equals, called = (part.strip() for part in pair.partition("="))
            known = list(_DEFAULTS)
            if not equals or not called or name not in known:
                raise DataError(f"--column {pair!r}: write NAME=COLUMN, with NAME one of {known}")
            several = tuple(part.strip() for part in called.split(",") if part.strip())
            changes[name] = several if name in ("context", "condition") else called
        return replace(self, **changes, named=self.named | set(changes))

    def texts(self) -> set[str]:
        """Return the columns that hold names and conditions, which stay as they are printed."""
        return {self.gene, self.perturbation, *self.context, *self.condition, self.ensembl_id}

    def require_used(self, form: str, used: Collection[str]) -> None:
        """Check that nothing was named that a table of this form does not use.

        Args:
            form: of the table, in words.
            used: names of the columns that are read from it.

        Raises:
            DataError: naming what would be passed over.
        """
        for name in sorted(self.named - set(used)):
            called = getattr(self, name)
            told = called if isinstance(called, str) else ",".join(called)
            raise DataError(
                f"--column {name}={told}: {form} has no use for it; it takes {sorted(used)}; leave "
                "the option out, or give a table of another form"
            )


_DEFAULTS = {item.name: item.default for item in fields(Columns) if item.name != "named"}


@dataclass(frozen=True, slots=True)
class ExpressionTables(InputFiles):
    """The files of one build and how to read them.

    The table comes in one of four forms: long with DESeq2's statistics; long with z-scores; wide
    z-scores, genes x signatures, beside `signatures`; wide z-scores, genes x perturbations, in the
    one context `fixed_context`.

    Attributes:
        table: the measurements.
        columns: what the columns are called.
        perturbation_type: "drug" or "knockout".
        context_type: "cell line" or "system".
        leave_out: "column=value" pairs; rows (or signatures) that hold one of them are left out.
        signatures: a row for each column of a wide table: perturbation, context, conditions.
        fixed_context: the context of a wide table whose columns are perturbations.
        drugs: what is known of drugs, in the columns of the Tahoe-100M drug metadata.
        contexts: what is known of cell lines, in the columns of the Tahoe-100M metadata.
        classes: gene sets (GMT): class -> perturbations that belong to it.
    """

    table: Path
    columns: Columns = field(default_factory=Columns)
    perturbation_type: str = "drug"
    context_type: str = "cell line"
    leave_out: tuple[str, ...] = ()
    signatures: Path | None = None
    fixed_context: str | None = None
    drugs: Path | None = None
    contexts: Path | None = None
    classes: Path | None = None

    def __post_init__(self) -> None:
        if self.perturbation_type not in ("drug", "knockout"):
            raise DataError(
                f"--perturbation-type {self.perturbation_type!r}: use 'drug' or 'knockout'"
            )
        if self.context_type not in ("cell line", "system"):
            raise DataError(f"--context-type {self.context_type!r}: use 'cell line' or 'system'")
        if self.signatures is not None and self.fixed_context is not None:
            raise DataError("give --signatures or --fixed-context, not both: they say the same")
        for pair in self.leave_out:
            column, equals, value = pair.partition("=")
            if not (column.strip() and equals and value.strip()):
                raise DataError(f"--leave-out {pair!r}: write COLUMN=VALUE")
