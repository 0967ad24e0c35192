"""What is known of drugs and cell lines, and which classes perturbations belong to."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bed.episodes.expression.cells import numbers, texts
from bed.episodes.expression.tables import ExpressionTables
from bed.episodes.frames import read_frame
from bed.episodes.gene_sets import read_gene_sets
from bed.errors import DataError

__all__ = ["DESCRIPTIVE", "Metadata", "load_metadata"]

_DRUG_TEXTS = {
    "moa_broad": "moa-broad",
    "moa_fine": "moa-fine",
    "targets": "targets",
    "notes": "gpt-notes-approval",
    "smiles": "canonical_smiles",
}
_DRUG_FLAGS = {"human_approved": "human-approved", "in_trials": "clinical-trials"}
_CID = "pubchem_cid"
_CONTEXT_TEXTS = {
    "depmap_id": "Cell_ID_DepMap",
    "cellosaurus_id": "Cell_ID_Cellosaur",
    "organ": "Organ",
    "driver_gene": "Driver_Gene_Symbol",
    "driver_variant_type": "Driver_VarType",
    "driver_zygosity": "Driver_VarZyg",
    "driver_effect": "Driver_ProtEffect_or_CdnaEffect",
    "driver_mechanism": "Driver_Mech_InferDM",
    "driver_gene_type": "Driver_GeneType_DM",
}
DESCRIPTIVE = frozenset({*_DRUG_TEXTS, *_DRUG_FLAGS, _CID, *_CONTEXT_TEXTS, "ensembl_id"})
"""Fields that describe without entering into any relation."""

_UNKNOWN = {"", "unclear", "unknown", "nan", "none"}
_SALT = re.compile(r"\s+\([^()]*\)$")
_FLAGS = {"yes": True, "no": False}

Described = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the metadata files say; empty where there are none.

    Attributes:
        drugs: drug's key -> descriptive fields.
        contexts: context's key -> descriptive fields.
        classes: perturbation's key -> classes, sorted.
    """

    drugs: Described = field(default_factory=dict)
    contexts: Described = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def perturbation(self, name: str) -> Mapping[str, Any]:
        """Return the descriptive fields of a perturbation; none where it is not listed."""
        return self.drugs.get(_drug_key(name), {})

    def context(self, name: str) -> Mapping[str, Any]:
        """Return the descriptive fields of a context; none where it is not listed."""
        return self.contexts.get(_line_key(name), {})

    def classes_of(self, name: str) -> tuple[str, ...]:
        """Return the mechanisms or gene sets of a perturbation."""
        return self.classes.get(_drug_key(name), ())


def _drug_key(name: str) -> str:
    return name.strip().casefold()


def _line_key(name: str) -> str:
    """Return a cell line's letters and digits: HS-578T, Hs 578T and HS578T are one."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def load_metadata(tables: ExpressionTables) -> Metadata:
    """Read the metadata files that are given.

    Raises:
        DataError: for a file without the columns of its kind, or a flag that is not yes or no.
    """
    drugs = {} if tables.drugs is None else _drugs(tables.drugs)
    contexts = {} if tables.contexts is None else _contexts(tables.contexts)
    classes: dict[str, set[str]] = {key: _mechanisms(found) for key, found in drugs.items()}
    if tables.classes is not None:
        for name, members in read_gene_sets(tables.classes).items():
            for member in members:
                classes.setdefault(_drug_key(member), set()).add(name)
    return Metadata(
        drugs, contexts, {key: tuple(sorted(found)) for key, found in classes.items() if found}
    )


def _mechanisms(drug: Mapping[str, Any]) -> set[str]:
    """Return the fine mechanism of action, or else the targets."""
    fine = str(drug.get("moa_fine", ""))
    return set(drug.get("targets", ())) if fine.casefold() in _UNKNOWN else {fine}


def _drugs(path: Path) -> dict[str, dict[str, Any]]:
    frame = _read(path, "drug", "--drugs")
    columns: dict[str, list[Any]] = {
        name: list(texts(frame, column)) for name, column in _DRUG_TEXTS.items() if column in frame
    }
    if "targets" in columns:
        columns["targets"] = [_listed(cell) for cell in columns["targets"]]
    for name, column in _DRUG_FLAGS.items():
        if column in frame:
            columns[name] = [
                _flag(path, row, column, cell) for row, cell in enumerate(texts(frame, column), 1)
            ]
    if _CID in frame:
        cids = numbers(path, frame, _CID, 0, whole=True)
        columns[_CID] = [None if np.isnan(cid) else int(cid) for cid in cids]
    found = _described(path, list(texts(frame, "drug")), columns, _drug_key)
    # tables often leave the salt out: doxorubicin for Doxorubicin (hydrochloride)
    for key, told in list(found.items()):
        found.setdefault(_SALT.sub("", key), told)
    return found


def _read(path: Path, named: str, option: str) -> pd.DataFrame:
    """Return a metadata file; its columns are those of Tahoe-100M and cannot be renamed."""
    frame = read_frame(path)
    if named not in frame:
        raise DataError(
            f"{path.name}: no column {named!r}; found {list(frame.columns)[:20]}; {option} takes "
            f"the metadata of Tahoe-100M, or a table that calls its columns so"
        )
    return frame


def _listed(cell: str) -> tuple[str, ...]:
    parts = (part.strip() for part in cell.split(","))
    return tuple(part for part in parts if part.casefold() not in _UNKNOWN)


def _flag(path: Path, row: int, column: str, cell: str) -> bool | None:
    plain = cell.casefold()
    if plain in _UNKNOWN:
        return None
    if plain not in _FLAGS:
        raise DataError(
            f"{path.name}: row {row}, column {column!r} holds {cell!r}; expected yes or no"
        )
    return _FLAGS[plain]


def _contexts(path: Path) -> dict[str, dict[str, Any]]:
    """Read one row a driver mutation; of a line's drivers the first by name is shown."""
    frame = _read(path, "cell_name", "--contexts")
    columns = {name: column for name, column in _CONTEXT_TEXTS.items() if column in frame}
    frame = frame.assign(**{column: texts(frame, column) for column in columns.values()})
    order = ["cell_name", columns.get("driver_gene", "cell_name")]
    frame = frame.sort_values([*order, *columns.values()], kind="stable")
    told = {name: list(frame[column]) for name, column in columns.items()}
    return _described(path, list(texts(frame, "cell_name")), told, _line_key)


def _described(
    path: Path,
    names: list[str],
    columns: Mapping[str, list[Any]],
    key: Callable[[str], str],
) -> dict[str, dict[str, Any]]:
    """Return the fields that are told, by key; the first row of a name counts."""
    if not columns:
        raise DataError(f"{path.name}: no column that describes {names[0]!r} is known")
    found: dict[str, dict[str, Any]] = {}
    for i, name in enumerate(names):
        told = {column: cells[i] for column, cells in columns.items()}
        found.setdefault(
            key(name), {column: cell for column, cell in told.items() if cell not in (None, "", ())}
        )
    return found
