"""Gene sets in the GMT form: a line a set, its name, a description and its genes, by tabs."""

import gzip
import re
from pathlib import Path

from bed.errors import DataError

__all__ = ["read_gene_sets", "read_lines"]

_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?")


def read_gene_sets(path: Path) -> dict[str, tuple[str, ...]]:
    """Return name -> genes, in the order of the file; a name that stands twice joins its sets.

    Args:
        path: .gmt or .gmt.gz.

    Raises:
        DataError: for another kind of file, a line that is no gene set, or no line at all.
    """
    lines = read_lines(path)
    if not path.name.casefold().endswith((".gmt", ".gmt.gz")):
        found = lines[0].split("\t")[:8] if lines else []
        raise DataError(
            f"{path.name}: not a .gmt file of gene sets; its first line holds {found}; expected a "
            "line a set: a name, a description and genes, separated by tabs"
        )
    sets: dict[str, dict[str, None]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, *rest = (part.strip() for part in line.split("\t"))
        genes = [gene for gene in rest[1:] if gene]
        if not name or not genes:
            raise DataError(
                f"{path.name}: line {number} is no gene set; expected a name, a description and "
                f"genes, separated by tabs; found {[name, *rest][:8]}"
            )
        for gene in genes:
            if _NUMBER.fullmatch(gene):
                raise DataError(
                    f"{path.name}: line {number} names {gene!r} as a gene; give gene symbols, not "
                    f"numbers; found {[name, *rest][:8]}"
                )
        sets.setdefault(name, {}).update(dict.fromkeys(genes))
    if not sets:
        raise DataError(f"{path.name}: no gene set; is it the whole file?")
    return {name: tuple(genes) for name, genes in sets.items()}


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text without their ends.

    Args:
        path: UTF-8, perhaps compressed by gzip (.gz).

    Raises:
        DataError: for a file that is absent or cannot be read.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8") as text:
            return [line.rstrip("\r\n") for line in text]
    except UnicodeDecodeError as error:
        raise DataError(f"{path.name}: is not UTF-8 ({error}); save it as UTF-8") from error
    except (EOFError, OSError) as error:
        raise DataError(f"{path.name}: cannot be read ({error}); is it the whole file?") from error
