"""The side files: EFO parents of traits, pathways of genes, expression of genes in tissues."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bed.episodes.frames import read_frame
from bed.episodes.gene_sets import read_gene_sets, read_lines
from bed.errors import DataError

__all__ = ["Parents", "read_expression", "read_parents", "read_pathways"]

_PARENT_COLUMNS = ("Disease trait", "EFO term", "EFO URI", "Parent term")
_LARGEST_PATHWAY = 200
_MOST_PATHWAYS = 5
_MOST_TISSUES = 3


@dataclass(frozen=True, slots=True)
class Parents:
    """The EFO parents of traits.

    Attributes:
        by_name: reported trait, EFO term or the end of its address, in lower case -> parents.
    """

    by_name: dict[str, frozenset[str]]

    def of(self, trait: str, terms: tuple[str, ...]) -> tuple[str, ...]:
        """Return the parents of the mapped terms, else of the reported trait, sorted.

        Args:
            trait: as reported.
            terms: mapped ontology terms.
        """
        found: set[str] = set()
        for name in terms:
            found |= self.by_name.get(name.casefold(), frozenset())
        return tuple(sorted(found or self.by_name.get(trait.casefold(), frozenset())))


def read_parents(path: Path) -> Parents:
    """Read the trait mappings of the GWAS Catalog.

    Args:
        path: its download gwas_catalog_trait-mappings, .tsv.

    Raises:
        DataError: for columns that lack.
    """
    frame = read_frame(path).fillna("").astype(str)
    if missing := [name for name in _PARENT_COLUMNS if name not in frame.columns]:
        raise DataError(f"{path.name}: lacks the columns {missing}; found {list(frame.columns)}")
    found: dict[str, set[str]] = {}
    for trait, term, address, parent in frame[list(_PARENT_COLUMNS)].itertuples(index=False):
        for name in (trait, term, address.rsplit("/", 1)[-1]):
            if name and parent:
                found.setdefault(name.casefold(), set()).add(parent)
    return Parents({name: frozenset(parents) for name, parents in found.items()})


def read_pathways(path: Path) -> dict[str, tuple[str, ...]]:
    """Return gene -> its smallest pathways.

    Pathways of more than 200 genes ("Metabolism") say too little, and a gene keeps the 5 smallest.

    Args:
        path: gene sets, .gmt or .gmt.gz.

    Raises:
        DataError: for a file that is no list of gene sets, or holds no pathway.
    """
    sizes: dict[str, list[tuple[int, str]]] = {}
    for name, members in read_gene_sets(path).items():
        if 1 < len(members) <= _LARGEST_PATHWAY:
            for gene in members:
                sizes.setdefault(gene, []).append((len(members), name))
    if not sizes:
        raise DataError(f"{path.name}: no pathway of 2 to {_LARGEST_PATHWAY} genes")
    return {
        gene: tuple(name for _, name in sorted(found)[:_MOST_PATHWAYS])
        for gene, found in sizes.items()
    }


def read_expression(path: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return gene -> the three tissues that express it most, with TPM as printed.

    Args:
        path: median TPM a tissue: GTEx's .gct or .gct.gz, or a table with genes in the first
            column and tissues in the others. A symbol that stands twice keeps its larger row.

    Raises:
        DataError: for a cell that is no number or negative.
    """
    frame = _gct(path) if ".gct" in path.name.casefold() else read_frame(path, text=())
    symbols = [str(name) for name in frame.iloc[:, 0]]
    numbers = frame.iloc[:, 1:].apply(pd.to_numeric, errors="coerce")
    if numbers.empty or numbers.isna().to_numpy().any() or (numbers < 0).to_numpy().any():
        raise DataError(f"{path.name}: expected TPM, numbers from 0, in every column but the first")
    found: dict[str, tuple[float, tuple[tuple[str, str], ...]]] = {}
    for symbol, (_, row) in zip(symbols, numbers.iterrows(), strict=True):
        total = float(row.sum())
        if symbol not in found or total > found[symbol][0]:
            highest = row.sort_values(ascending=False, kind="stable")[:_MOST_TISSUES]
            tissues = tuple((str(name), f"{tpm:.1f}") for name, tpm in highest.items())
            found[symbol] = (total, tissues)
    return {symbol: tissues for symbol, (_, tissues) in found.items()}


def _gct(path: Path) -> pd.DataFrame:
    """Return symbols and tissues of a GCT file: two lines of preamble, an id before the symbol."""
    rows = [line.split("\t") for line in read_lines(path) if line.strip()][2:]
    if len(rows) < 2 or len({len(row) for row in rows}) != 1:
        raise DataError(f"{path.name}: not a GCT file; expected #1.2, sizes, a header and rows")
    return pd.DataFrame(rows[1:], columns=rows[0]).iloc[:, 1:]
