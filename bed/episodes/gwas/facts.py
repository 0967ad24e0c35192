"""All that is known of an association besides its result, as the fields of hypotheses."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from bed.episodes.building import InputFiles
from bed.episodes.gwas.catalog import Association, Catalog, read_catalog
from bed.episodes.gwas.loci import locus
from bed.episodes.gwas.sides import read_expression, read_parents, read_pathways
from bed.episodes.gwas.traits import Traits
from bed.errors import DataError

__all__ = ["Facts", "GwasTables", "load"]


@dataclass(frozen=True, slots=True)
class GwasTables(InputFiles):
    """The input files of the GWAS builder.

    Attributes:
        associations: the association table of the GWAS Catalog.
        efo: its trait mappings, reported trait -> EFO term -> parent term.
        pathways: gene sets such as Reactome's, .gmt.
        expression: median TPM of genes by tissue, such as GTEx's, .gct or a table.
    """

    associations: Path
    efo: Path | None = None
    pathways: Path | None = None
    expression: Path | None = None


class Facts:
    """Associations with a known place, by index, and what is known of each.

    Args:
        catalog: the associations.
        traits: which traits are one and which are related.
        pathways: gene -> pathways.
        expression: gene -> (tissue, TPM) of the tissues that express it most.
    """

    def __init__(
        self,
        catalog: Catalog,
        traits: Traits,
        pathways: Mapping[str, tuple[str, ...]],
        expression: Mapping[str, tuple[tuple[str, str], ...]],
    ) -> None:
        places = (locus(a.region, a.chromosome, a.position) for a in catalog.associations)
        placed = [
            (a, place) for a, place in zip(catalog.associations, places, strict=True) if place
        ]
        self.associations: list[Association] = [found for found, _ in placed]
        self.loci: list[str] = [place for _, place in placed]
        self.traits: list[str] = [traits.key(found) for found in self.associations]
        self.excluded = Counter(catalog.excluded)
        self.excluded["rows: no place on the genome"] = len(catalog.associations) - len(placed)
        self._traits, self._pathways, self._expression = traits, pathways, expression
        self._known: dict[int, dict[str, Any]] = {}

    def __getitem__(self, at: int) -> dict[str, Any]:
        """Return the fields of an association; what is not known is left out."""
        if at not in self._known:
            self._known[at] = self._fields(self.associations[at])
        return self._known[at]

    def _fields(self, found: Association) -> dict[str, Any]:
        pathways = [name for gene in found.genes for name in self._pathways.get(gene, ())]
        fields = {
            "claim": "association",
            "snp": found.snp,
            "trait": found.trait,
            "genes": found.genes,
            "trait_terms": found.terms,
            "trait_groups": self._traits.groups(found),
            "chromosome": found.chromosome,
            "position": found.position,
            "region": found.region,
            "pathways": tuple(dict.fromkeys(pathways)),
            "functional_class": found.functional_class,
            "gtex": next((self._expression[g] for g in found.genes if g in self._expression), ()),
            "efo_parent": self._traits.parent(found),
        }
        return {name: value for name, value in fields.items() if value not in (None, "", ())}

    @cached_property
    def days(self) -> list[date]:
        """All days of publication, sorted."""
        return sorted(found.day for found in self.associations if found.day is not None)


def load(tables: GwasTables, seed: int) -> Facts:
    """Return what the files say.

    Args:
        tables: the input files.
        seed: of the build; it draws among repeated reports.

    Raises:
        DataError: for a malformed file.
    """
    catalog = read_catalog(tables.associations, seed)
    parents = None if tables.efo is None else read_parents(tables.efo)
    pathways = {} if tables.pathways is None else read_pathways(tables.pathways)
    expression = {} if tables.expression is None else read_expression(tables.expression)
    genes = {gene for found in catalog.associations for gene in found.genes}
    for path, found in ((tables.pathways, pathways), (tables.expression, expression)):
        if path is not None and genes.isdisjoint(found):
            raise DataError(
                f"{path.name} and {tables.associations.name} share no gene ({next(iter(found))!r} "
                f"against {min(genes, default='none')!r}); give a file with gene symbols"
            )
    return Facts(catalog, Traits(catalog.associations, parents), pathways, expression)
