"""All tables of one build, aligned on one list of genes and one list of cell lines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from bed.domains.depmap import (
    AMPLIFIED_FROM,
    DEPENDENCY_EFFECT,
    DEPENDENCY_PROBABILITY,
    MUTATED,
    NOT_REPORTED,
    REFUTED_ABOVE,
)
from bed.episodes.building import InputFiles
from bed.episodes.depmap.lines import Lines, read_lines
from bed.episodes.depmap.mutations import Mutations, read_mutations
from bed.episodes.depmap.tables import BINS, Matrix, read_matrix
from bed.errors import DataError

__all__ = ["EXPRESSED_FROM", "Screen", "Tables", "load"]

Floats = NDArray[np.float64]
EXPRESSED_FROM = 1.0
"""log2(TPM + 1) below which a gene counts as not expressed."""

_BIN_NAMES = {number: name for name, number in BINS.items()}


@dataclass(frozen=True, slots=True)
class Tables(InputFiles):
    """The input files of one build; exactly one of the first two is given.

    Attributes:
        gene_effect: Chronos effects, cell lines x genes.
        gene_effect_bins: the same in bins, genes x cell lines.
        gene_dependency: probabilities of dependency, beside `gene_effect`.
        rnai_bins: binned RNAi scores, genes x cell lines.
        expression: log2(TPM + 1).
        copy_number: relative copy number.
        mutations: one row a mutation.
        models: one row a cell line.
    """

    gene_effect: Path | None = None
    gene_effect_bins: Path | None = None
    gene_dependency: Path | None = None
    rnai_bins: Path | None = None
    expression: Path | None = None
    copy_number: Path | None = None
    mutations: Path | None = None
    models: Path | None = None

    def __post_init__(self) -> None:
        if (self.gene_effect is None) == (self.gene_effect_bins is None):
            raise DataError("give exactly one of --gene-effect and --gene-effect-bins")
        if self.gene_dependency and not self.gene_effect:
            raise DataError("--gene-dependency goes with --gene-effect; bins decide by themselves")


@dataclass(frozen=True, slots=True)
class Screen:
    """Measurements by gene and line; arrays are genes x lines, NaN where nothing was measured.

    Attributes:
        genes: symbols, sorted.
        lines: names, sorted.
        lineages: one a line.
        effect: Chronos effects, or the numbers of the bins.
        is_binned: which of the two.
        probability: P(dependency), or None without that table.
        rnai: bin numbers of RNAi scores, or None.
        expression: log2(TPM + 1), or None.
        copy_number: relative copy number, or None.
        mutations: the mutation table, or None.
        excluded: what was left out, with counts.
        described: line -> what else a prompt tells of it.
    """

    genes: tuple[str, ...]
    lines: tuple[str, ...]
    lineages: tuple[str, ...]
    effect: Floats
    is_binned: bool
    probability: Floats | None = None
    rnai: Floats | None = None
    expression: Floats | None = None
    copy_number: Floats | None = None
    mutations: Mutations | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    described: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def measured(self) -> NDArray[np.bool_]:
        """Return where a knockout has an outcome."""
        known = ~np.isnan(self.effect)
        return known if self.probability is None else known & ~np.isnan(self.probability)

    def supported(self) -> NDArray[np.bool_]:
        """Return where a knockout supports "dependency"; False also where not measured."""
        if self.is_binned:
            return self.effect >= BINS["dependency"]
        found = self.measured() & (self.effect <= DEPENDENCY_EFFECT)
        if self.probability is not None:
            found &= self.probability >= DEPENDENCY_PROBABILITY
        return found

    def refuted(self) -> NDArray[np.bool_]:
        """Return where a knockout refutes "dependency"; bins never do."""
        return (self.effect > REFUTED_ABOVE) & (not self.is_binned)

    def outcome(self, kind: str, gene: int, line: int) -> dict[str, Any]:
        """Return the outcome fields of one measurement; see `bed.domains.depmap`."""
        if kind == "mutation":
            assert self.mutations is not None
            hit = (self.genes[gene], self.lines[line]) in self.mutations.mutated
            return {"status": MUTATED if hit else NOT_REPORTED}
        if kind == "knockdown" or (kind == "knockout" and self.is_binned):
            table = self.rnai if kind == "knockdown" else self.effect
            assert table is not None
            return {"effect_bin": _BIN_NAMES[int(table[gene, line])]}
        if kind == "knockout":
            found = {"chronos": float(self.effect[gene, line])}
            if self.probability is not None:
                found["p_dependency"] = float(self.probability[gene, line])
            return found
        table, name = {
            "expression": (self.expression, "log2_tpm"),
            "copy_number": (self.copy_number, "relative_copy_number"),
        }[kind]
        assert table is not None
        return {name: float(table[gene, line])}


def load(tables: Tables, progress: Callable[[str], None] = lambda stage: None) -> Screen:
    """Read and align the tables.

    Args:
        tables: the files.
        progress: called with what is being read.

    Raises:
        DataError: for a malformed table, or tables that share no gene or no line.
    """
    lines = read_lines(tables.models)

    def read(path: Path | None, low: float, high: float, what: str) -> Matrix | None:
        if path is None:
            return None
        progress(f"reading {path.name}")
        return read_matrix(path, lines, low, high, what)

    main = read(tables.gene_effect, -30, 30, "a gene effect") or read(
        tables.gene_effect_bins, 0, 2, "bins"
    )
    assert main is not None
    if tables.gene_effect is not None:
        _check_effects(main)
    probability = read(tables.gene_dependency, 0, 1, "a probability")
    rnai = read(tables.rnai_bins, 0, 2, "bins")
    expression = read(tables.expression, 0, 25, "log2(TPM + 1)")
    copy_number = read(tables.copy_number, 0, 1000, "a relative copy number")
    mutations = None
    if tables.mutations is not None:
        progress(f"reading {tables.mutations.name}")
        mutations = read_mutations(tables.mutations, lines)
    names, excluded = _lines_with_lineage(main, rnai, lines)
    screen = Screen(
        genes=main.genes,
        lines=names,
        lineages=tuple(lines.lineage(name) or "" for name in names),
        effect=_aligned(main, main.genes, names, main),
        is_binned=tables.gene_effect_bins is not None,
        probability=_optional(probability, main, names),
        rnai=_optional(rnai, main, names),
        expression=_optional(expression, main, names),
        copy_number=_optional(copy_number, main, names),
        mutations=_overlapping(mutations, tables.mutations, main),
        described=lines.described,
    )
    return _rounded(_counted(screen, main, excluded))


def _check_effects(main: Matrix) -> None:
    known = main.values[~np.isnan(main.values)]
    if np.isin(known, (-1, 0, 1, 2)).all():
        raise DataError(f"{main.name}: holds bins; give it as --gene-effect-bins")
    if not (known <= DEPENDENCY_EFFECT).any():
        raise DataError(
            f"{main.name}: no effect is -0.5 or below; is it a table of Chronos gene effects "
            "(0 no effect, -1 as common essential genes)?"
        )


def _lines_with_lineage(
    main: Matrix, rnai: Matrix | None, lines: Lines
) -> tuple[tuple[str, ...], dict[str, int]]:
    every = sorted({*main.lines, *(rnai.lines if rnai else ())})
    kept = tuple(name for name in every if lines.lineage(name))
    if not set(kept) & set(main.lines):
        raise DataError(
            f"{main.name}: no cell line has a lineage ({main.lines[0]!r}, ...); name the lines in "
            "--models, or call them by CCLE names such as A549_LUNG"
        )
    return kept, {"lines without a lineage": len(every) - len(kept)}


def _optional(table: Matrix | None, main: Matrix, lines: tuple[str, ...]) -> Floats | None:
    return None if table is None else _aligned(table, main.genes, lines, main)


def _aligned(table: Matrix, genes: tuple[str, ...], lines: tuple[str, ...], main: Matrix) -> Floats:
    """Return the table's values at `genes` x `lines`."""
    values = np.full((len(genes), len(lines)), np.nan)
    for what, ours, theirs in (("gene", genes, table.genes), ("line", lines, table.lines)):
        if not set(ours) & set(theirs):
            raise DataError(
                f"{table.name} and {main.name} share no {what} ({theirs[0]!r} against "
                f"{ours[0]!r}); use tables of one release, or name the lines in --models"
            )
    rows, from_rows = _matched(genes, table.genes)
    columns, from_columns = _matched(lines, table.lines)
    values[np.ix_(rows, columns)] = table.values[np.ix_(from_rows, from_columns)]
    return values


def _matched(
    ours: tuple[str, ...], theirs: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the names that both have stand in the one and in the other."""
    _, here, there = np.intersect1d(
        np.array(ours), np.array(theirs), assume_unique=True, return_indices=True
    )
    return here, there


def _overlapping(found: Mutations | None, path: Path | None, main: Matrix) -> Mutations | None:
    if found is not None and path is not None and not found.lines & set(main.lines):
        raise DataError(
            f"{path.name} and {main.name} share no line; name the lines in --models so that "
            "their ids can be matched"
        )
    return found


def _counted(screen: Screen, main: Matrix, excluded: dict[str, int]) -> Screen:
    inside = np.isin(np.array(screen.lines), np.array(main.lines))
    unmeasured = np.isnan(screen.effect[:, inside])
    excluded["knockouts not measured"] = int(unmeasured.sum())
    if screen.probability is not None:
        lacking = ~unmeasured & np.isnan(screen.probability[:, inside])
        excluded["knockouts without a probability"] = int(lacking.sum())
    return replace(screen, excluded=excluded)


def _rounded(screen: Screen) -> Screen:
    """Return the screen at three decimals, with more where rounding would cross a threshold."""
    return replace(
        screen,
        effect=_round(screen.effect, DEPENDENCY_EFFECT, REFUTED_ABOVE),
        probability=_round(screen.probability, DEPENDENCY_PROBABILITY),
        expression=_round(screen.expression, EXPRESSED_FROM),
        copy_number=_round(screen.copy_number, AMPLIFIED_FROM),
    )


@overload
def _round(values: Floats, *thresholds: float) -> Floats: ...
@overload
def _round(values: None, *thresholds: float) -> None: ...
def _round(values: Floats | None, *thresholds: float) -> Floats | None:
    if values is None:
        return None
    short = np.round(values, 3)
    for at in thresholds:
        crossed = ((values <= at) != (short <= at)) | ((values >= at) != (short >= at))
        short = np.where(crossed, values, short)
    return short
