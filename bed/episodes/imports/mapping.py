"""Which column of a released file holds what, and which label which field.

The defaults cover the names that are likely; a TOML file overrides them:

    [columns]
    episode = "uid"
    stubs = ["context", "context_stubs"]

    [fields.tahoe]
    "compound" = "Drug"

In `[columns]` a role gets one name or several, of which the first present counts, or `[]` for none.
In `[fields.DOMAIN]` a name of the file is set to the label or the field that it stands for, or to
"" to leave it out.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bed.errors import DataError

__all__ = ["COLUMNS", "DOMAINS", "ColumnMapping", "read_mapping"]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "episode": ("episode_id", "episode", "id", "uid"),
    "domain": ("domain", "dataset"),
    "split": ("split",),
    "k": ("k", "n_stubs", "num_stubs", "n_context", "context_length"),
    "label": ("label", "y", "target_label"),
    "claim": ("claim", "target_claim", "target_text", "hypothesis", "target_hypothesis"),
    "target": ("target", "target_fields"),
    "stubs": ("stubs", "context", "context_stubs", "evidence"),
    "system": ("system_prompt", "system"),
    "user": ("user_prompt", "user", "prompt"),
}
"""Role -> names accepted for its column, the first present counts."""

DOMAINS = {"tahoe": "expression", "expression": "expression", "depmap": "depmap", "gwas": "gwas"}
"""Domain as released -> as bed calls it."""

_HOW = """\
To map a column write a TOML file and pass it as the mapping:
[columns]
episode = "NAME IN THE FILE\""""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Names of columns and fields in a released file.

    Attributes:
        columns: role -> accepted column names.
        fields: domain as bed calls it -> {name in the file: known label or field}.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=lambda: dict(COLUMNS))
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def located(self, found: Sequence[str], where: str) -> dict[str, str]:
        """Return role -> column for the columns of one file.

        Args:
            found: the file's columns.
            where: the file, for messages.

        Raises:
            DataError: where a needed column is missing, or one that the mapping names; it lists
                what was found and how to map.
        """
        at = {
            role: name
            for role, names in self.columns.items()
            if (name := next((name for name in names if name in found), None))
        }
        lacking = [role for role in ("episode", "label") if role not in at]
        lacking += [
            f"{role} or user" for role in ("stubs", "target") if not at.keys() & {role, "user"}
        ]
        lacking += [
            role
            for role, names in self.columns.items()
            if names and names != COLUMNS[role] and role not in {*at, *lacking}
        ]
        if lacking:
            accepted = "; ".join(
                f"{role}: {', '.join(self.columns[role])}"
                for role in self.columns
                if any(role in item.split(" or ") for item in lacking)
            )
            raise DataError(
                f"{where}: no column for {lacking}.\nColumns found: {list(found)}\n"
                f"Names accepted: {accepted}\n{_HOW}"
            )
        return at


def read_mapping(path: Path) -> ColumnMapping:
    """Read a TOML file that overrides the default mapping.

    Args:
        path: the TOML file, with the tables `columns` and `fields.DOMAIN`.

    Raises:
        DataError: for a file that is absent or not TOML, or an unknown table, role or domain.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path}: not a TOML file that can be read ({error})") from error
    _require_known(path, "table", data, ("columns", "fields"))
    columns, renames = _table(path, "columns", data), _table(path, "fields", data)
    _require_known(path, "role in [columns]", columns, COLUMNS)
    _require_known(path, "domain in [fields]", renames, DOMAINS)
    fields: dict[str, dict[str, str]] = {}
    for name in renames:
        fields.setdefault(DOMAINS[name], {}).update(_renames(path, name, renames))
    named = {role: _names(path, role, names) for role, names in columns.items()}
    return ColumnMapping({**COLUMNS, **named}, fields)


def _require_known(path: Path, what: str, given: Mapping[str, Any], known: Any) -> None:
    if unknown := sorted(given.keys() - set(known)):
        raise DataError(f"{path}: unknown {what} {unknown}; known: {sorted(known)}")


def _table(path: Path, name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise DataError(f"{path}: {name!r} is {table!r}; write it as a table [{name}]")
    return table


def _names(path: Path, role: str, names: Any) -> tuple[str, ...]:
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{path}: [columns] {role} = {names!r}; give a name or a list of names")
    return tuple(names)


def _renames(path: Path, domain: str, tables: Mapping[str, Any]) -> dict[str, str]:
    table = _table(path, domain, tables)
    for name, label in table.items():
        if not isinstance(label, str):
            raise DataError(f"{path}: [fields.{domain}] {name!r} = {label!r}; give a label as text")
    return table
