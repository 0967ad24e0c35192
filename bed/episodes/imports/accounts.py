"""The account of an import, in the form in which builders give theirs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bed import __version__
from bed.episodes.frames import sha256

__all__ = ["UNREAD", "account", "combined", "described"]

UNREAD = "prompts that came with the file, but in a layout that bed cannot check: {}; used as is"
"""Note on how many there are."""


def described(role: str, path: Path, **more: Any) -> dict[str, Any]:
    """Return the entry of an input file: its name and digest, never its path.

    Args:
        role: what the file is to the import.
        path: the file.
        more: further entries.
    """
    return {"role": role, "file": path.name, "sha256": sha256(path), **more}


def account(
    domain: str,
    builder: str,
    inputs: Sequence[Mapping[str, Any]],
    splits: Iterable[str],
    notes: Iterable[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return the account of one domain; an import has no seed, leaves nothing out, has no quotas.

    Args:
        domain: as bed calls it.
        builder: the importer and its version.
        inputs: an entry a file, from `described`.
        splits: of the episodes.
        notes: what a reader must know of the data.
        more: further entries.
    """
    return {
        "domain": domain,
        "seed": None,
        "builder": builder,
        "bed_version": __version__,
        "inputs": list(inputs),
        "excluded": {},
        "short": {},
        "counts": dict(Counter(splits)),
        "notes": sorted(notes),
        **more,
    }


def combined(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the account of a file: that of its one domain, or one a domain under "parts".

    Args:
        parts: domain -> account.
    """
    return dict(next(iter(parts.values()))) if len(parts) == 1 else {"parts": dict(parts)}
