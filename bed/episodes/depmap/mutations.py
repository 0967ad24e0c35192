"""Somatic mutations: which genes of which lines carry a damaging or driver mutation."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bed.episodes.depmap.lines import Lines
from bed.episodes.depmap.tables import gene_symbol
from bed.episodes.frames import read_frame
from bed.errors import DataError

__all__ = ["Mutations", "read_mutations"]

_LINE = ("ModelID", "DepMap_ID", "depmap_id", "model_id")
_GENE = ("Gene", "HugoSymbol", "Hugo_Symbol", "gene")
_FLAGS = (
    "LikelyGoF",
    "LikelyLoF",
    "Driver",
    "LikelyDriver",
    "HessDriver",
    "OncogeneHighImpact",
    "TumorSuppressorHighImpact",
    "Hotspot",
    "isDeleterious",
    "isTCGAhotspot",
    "isCOSMIChotspot",
)
_CLASSES = ("Variant_Classification", "VariantInfo")
_DAMAGING = {
    "nonsense_mutation",
    "frame_shift_del",
    "frame_shift_ins",
    "splice_site",
    "start_codon_snp",
    "de_novo_start_outofframe",
}
_YES, _NO = {"true", "yes", "1", "1.0", "y"}, {"false", "no", "0", "0.0", "n", "", "nan", "none"}


@dataclass(frozen=True, slots=True)
class Mutations:
    """What a mutation table reports.

    Attributes:
        mutated: (gene, line) pairs with a damaging or driver mutation.
        lines: lines with any record; of the others the table says nothing.
    """

    mutated: frozenset[tuple[str, str]]
    lines: frozenset[str]


def read_mutations(path: Path, lines: Lines) -> Mutations:
    """Return the damaging or driver mutations of OmicsSomaticMutations.csv or an older MAF.

    Raises:
        DataError: where a column for line, gene or effect is missing, or a flag is not yes or no.
    """
    frame = read_frame(path).fillna("").astype(str)
    line_of, gene_of = _needed(path, frame, _LINE), _needed(path, frame, _GENE)
    damaging = np.zeros(len(frame), dtype=bool)
    for name in (flag for flag in _FLAGS if flag in frame):
        damaging |= _flag(path, frame, name)
    classes = [name for name in _CLASSES if name in frame]
    for name in classes:
        damaging |= frame[name].str.strip().str.lower().isin(_DAMAGING).to_numpy()
    if not classes and not any(flag in frame for flag in _FLAGS):
        raise DataError(
            f"{path.name}: no column says which mutations matter; expected one of "
            f"{[*_FLAGS, *_CLASSES]}"
        )
    names = [lines.name(label) for label in frame[line_of]]
    genes = [gene_symbol(label) for label in frame[gene_of]]
    hit = (pair for pair, bad in zip(zip(genes, names, strict=True), damaging, strict=True) if bad)
    return Mutations(frozenset(hit), frozenset(names))


def _needed(path: Path, frame: pd.DataFrame, names: tuple[str, ...]) -> str:
    found = next((name for name in names if name in frame), None)
    if found is None:
        raise DataError(f"{path.name}: no column {' or '.join(names)}; found {list(frame)[:8]}")
    return found


def _flag(path: Path, frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
    cells = frame[name].str.strip().str.lower()
    unclear = ~cells.isin(_YES | _NO).to_numpy()
    if unclear.any():
        at = int(np.flatnonzero(unclear)[0])
        raise DataError(
            f"{path.name}: row {at + 1}, column {name!r} holds {frame[name].iloc[at]!r}; expected "
            "True or False"
        )
    return cells.isin(_YES).to_numpy(dtype=bool)
