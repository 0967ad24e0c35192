"""What each cell line is called, and which lineage it is of.

A line is called by its CCLE name where the models file gives one, else by its id (ACH-...).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from bed.episodes.frames import read_frame
from bed.errors import DataError

__all__ = ["DESCRIPTIVE", "Lines", "read_lines"]

_ID = ("ModelID", "DepMap_ID", "depmap_id", "model_id")
_NAME = ("CCLEName", "CCLE_Name", "ccle_name", "CCLE Name")
_LINEAGE = ("OncotreeLineage", "lineage", "Lineage", "primary_tissue")
DESCRIPTIVE = {
    "depmap_id": _ID,
    "disease": ("OncotreePrimaryDisease", "primary_disease", "disease"),
    "subtype": ("OncotreeSubtype", "Subtype", "lineage_subtype", "disease_subtype"),
    "sex": ("Sex", "sex", "gender"),
    "site": ("PrimaryOrMetastasis", "primary_or_metastasis"),
}
"""What a prompt tells of a line beside its lineage -> the columns that may hold it."""
_UNKNOWN = {"", "nan", "na", "none", "unknown", "other"}
_AGREEMENT = 0.9
"""Share of a suffix's lines that must be of one lineage before the suffix stands for it."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a models file; empty where there is none.

    Attributes:
        names: id or CCLE name -> the name used throughout.
        lineages: that name -> lineage.
        suffixes: CCLE name after the first underscore -> the lineage that it stands for.
        described: the name used -> what else is known of it, see `DESCRIPTIVE`.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    lineages: Mapping[str, str] = field(default_factory=dict)
    suffixes: Mapping[str, str] = field(default_factory=dict)
    described: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def name(self, label: str) -> str:
        """Return the name used for a line that a table calls `label`."""
        return self.names.get(label.strip(), label.strip())

    def lineage(self, name: str) -> str | None:
        """Return the lineage by the models file, else by the CCLE name, else None."""
        if known := self.lineages.get(name):
            return known
        suffix = name.partition("_")[2]
        return self.suffixes.get(suffix) or _lineage(suffix) or None


def _lineage(text: str) -> str:
    plain = text.strip().lower().replace("_", " ")
    return "" if plain in _UNKNOWN else plain


def read_lines(path: Path | None) -> Lines:
    """Return the lines of Model.csv, of the older sample_info.csv, or none for no file.

    Raises:
        DataError: where the id column is missing, or one line has two names or lineages.
    """
    if path is None:
        return Lines()
    frame = read_frame(path).fillna("").astype(str)
    ids, ccle = _column(frame, _ID), _column(frame, _NAME)
    if ids is None and ccle is None:
        raise DataError(
            f"{path.name}: no column names the cell lines; expected one of {[*_ID, *_NAME]}, found "
            f"{list(frame.columns)[:8]}"
        )
    blank = [""] * len(frame)
    lineages = _column(frame, _LINEAGE) or blank
    names: dict[str, str] = {}
    lineage_of: dict[str, str] = {}
    described: dict[str, dict[str, str]] = {}
    told = {key: _column(frame, of) or blank for key, of in DESCRIPTIVE.items()}
    for row, (line_id, ccle_name, lineage) in enumerate(
        zip(ids or blank, ccle or blank, lineages, strict=True)
    ):
        name = ccle_name or line_id
        if not name:
            continue
        for key, cells in told.items():
            if cells[row].lower() not in _UNKNOWN:
                described.setdefault(name, {}).setdefault(key, cells[row])
        for alias in filter(None, (line_id, ccle_name)):
            _set(names, alias, name, path, "name")
        if known := _lineage(lineage):
            _set(lineage_of, name, known, path, "lineage")
    return Lines(names, lineage_of, _suffixes(lineage_of), described)


def _column(frame: pd.DataFrame, names: tuple[str, ...]) -> list[str] | None:
    for name in names:
        if name in frame.columns:
            return [str(cell).strip() for cell in frame[name]]
    return None


def _set(known: dict[str, str], key: str, value: str, path: Path, what: str) -> None:
    if known.setdefault(key, value) != value:
        raise DataError(
            f"{path.name}: cell line {key!r} has two values of {what}: {known[key]!r} and "
            f"{value!r}; keep one row"
        )


def _suffixes(lineages: Mapping[str, str]) -> dict[str, str]:
    """Return the lineage that nearly all lines of a CCLE suffix have."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for name, lineage in lineages.items():
        if suffix := name.partition("_")[2]:
            counts[suffix][lineage] += 1
    most = {suffix: found.most_common(1)[0] for suffix, found in counts.items()}
    return {
        suffix: lineage
        for suffix, (lineage, num) in most.items()
        if num >= max(2, _AGREEMENT * counts[suffix].total())
    }
