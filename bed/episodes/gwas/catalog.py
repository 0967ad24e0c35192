"""Reading the association table of the GWAS Catalog: rows in, one checked association each out.

Both column sets of its own download are known, that of 2015 (v1.0.1) and the present one. What
cannot be used is left out and counted by its reason.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd

from bed.domains.gwas import is_significant, p_decimal
from bed.episodes.frames import read_frame
from bed.episodes.gwas import cells
from bed.errors import DataError
from bed.seeds import derive_seed

__all__ = ["Association", "Catalog", "read_catalog"]

_NEEDED = {
    "paper": ("PUBMEDID",),
    "trait": ("DISEASE/TRAIT",),
    "strongest": ("STRONGEST SNP-RISK ALLELE",),
    "snps": ("SNPS",),
    "p": ("P-VALUE",),
    "effect": ("OR or BETA",),
    "interval": ("95% CI (TEXT)",),
    "chromosome": ("CHR_ID",),
    "position": ("CHR_POS",),
    "region": ("REGION",),
    "genes": ("MAPPED_GENE",),
    "context": ("CONTEXT",),
    "frequency": ("RISK ALLELE FREQUENCY",),
    "platform": ("PLATFORM [SNPS PASSING QC]",),
    "date": ("DATE",),
    "sample": ("INITIAL SAMPLE SIZE", "INITIAL SAMPLE DESCRIPTION"),
}
_OPTIONAL = {
    "terms": ("MAPPED_TRAITS", "MAPPED_TRAIT"),
    "addresses": ("MAPPED_TRAIT_URIS", "MAPPED_TRAIT_URI"),
    "accession": ("STUDY ACCESSION",),
    "current": ("SNP_ID_CURRENT",),
}
_CURRENT = re.compile(r"(?:rs)?([1-9][0-9]*)(?:\.0)?")
_MOST_TERMS = 8
"""A study mapped to more terms than this is a bundle of phenotypes, and the terms say nothing."""


@dataclass(frozen=True, slots=True)
class Association:
    """One reported association of a SNP with a trait.

    Attributes:
        snp: the SNP's rs number.
        trait: as reported.
        study: accession, or the paper where there is none.
        paper: PubMed number.
        p_text: the p-value as printed.
        p: the same, exact.
        genes: mapped genes; two for a SNP between genes.
        terms: mapped ontology terms, sorted.
        allele: the risk allele.
        direction: "increases" or "decreases", what that allele does.
        effect: odds ratio or beta as printed.
        interval: 95 % interval and unit as printed.
        frequency: of the risk allele, as printed.
        chromosome: such as "19".
        position: base pairs.
        region: cytoband.
        functional_class: such as "missense".
        day: of publication.
        ancestry: of the first sample.
        sample_size: people in the first sample.
        platform: of genotyping.
    """

    snp: str
    trait: str
    study: str
    paper: str
    p_text: str
    p: Decimal
    genes: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    allele: str | None = None
    direction: str | None = None
    effect: str | None = None
    interval: str | None = None
    frequency: str | None = None
    chromosome: str | None = None
    position: int | None = None
    region: str | None = None
    functional_class: str | None = None
    day: date | None = None
    ancestry: str | None = None
    sample_size: int | None = None
    platform: str | None = None

    @property
    def id(self) -> str:
        """Study, SNP and trait, which no two associations of a catalog share."""
        return f"gwas:{self.study}:{self.snp}:{self.trait}"

    @property
    def is_significant(self) -> bool:
        """Whether p is below genome-wide significance."""
        return is_significant(self.p)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The associations of a table.

    Attributes:
        associations: sorted by id.
        excluded: rows left out, and cells passed over, by reason.
    """

    associations: tuple[Association, ...]
    excluded: Mapping[str, int]


def read_catalog(path: Path, seed: int) -> Catalog:
    """Return the associations of single SNPs, one a study, SNP and trait.

    Where a study reports a pair more than once (by sex, by ancestry), the seed draws one of them.

    Args:
        path: the table, .tsv, .tsv.gz, .csv or .parquet.
        seed: of the build.

    Raises:
        DataError: for columns that lack, or a table without a usable row.
    """
    excluded: Counter[str] = Counter()
    by_id: dict[str, list[Association]] = {}
    for row in _rows(path):
        found = _association(row)
        if isinstance(found, str):
            excluded[f"rows: {found}"] += 1
        else:
            by_id.setdefault(found.id, []).append(found)
            excluded.update(f"cells: {name} not understood, so not reported" for name in _odd(row))
    if not by_id:
        raise DataError(f"{path.name}: no usable association; rows left out: {dict(excluded)}")
    kept = []
    for name, reports in sorted(by_id.items()):
        distinct = _folded(reports)
        excluded["rows: repeated, or one more report of the same study, SNP and trait"] += (
            len(reports) - 1
        )
        kept.append(min(distinct, key=lambda report: derive_seed(seed, name, repr(report))))
    return Catalog(tuple(kept), {name: num for name, num in excluded.items() if num})


def _folded(reports: Sequence[Association]) -> list[Association]:
    """Return reports that differ in their mapped terms alone as one with all of the terms.

    The dump of 2015 repeats a row once a term.
    """
    terms: dict[Association, set[str]] = {}
    for report in reports:
        terms.setdefault(replace(report, terms=()), set()).update(report.terms)
    return [
        replace(bare, terms=tuple(sorted(found)) if len(found) <= _MOST_TERMS else ())
        for bare, found in terms.items()
    ]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    frame = read_frame(path)
    columns, missing = {}, []
    for name, known in (_NEEDED | _OPTIONAL).items():
        here = [column for column in known if column in frame.columns]
        if here:
            columns[name] = here[0]
        elif name in _NEEDED:
            missing.append(" or ".join(known))
    if missing:
        raise DataError(
            f"{path.name}: lacks the columns {missing}; found {list(frame.columns)}; give the "
            "association table as the GWAS Catalog offers it for download"
        )
    texts = [[_text(cell) for cell in frame[column]] for column in columns.values()]
    for cells_of_row in zip(*texts, strict=True):
        yield dict.fromkeys(_OPTIONAL, "") | dict(zip(columns, cells_of_row, strict=True))


def _text(cell: object) -> str:
    """Return a cell as text; a table in parquet may hold numbers."""
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or cell is pd.NA or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) >= 1:
        return str(int(cell))
    return str(cell)


def _odd(row: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of cells that hold something, but nothing that their reader understands."""
    readers: dict[str, Callable[[str], object]] = {
        "effect": cells.effect,
        "frequency": cells.frequency,
        "date": cells.published,
        "sample": cells.sample_size,
    }
    for name, read in readers.items():
        if row[name] and not row[name].startswith("NR") and read(row[name]) is None:
            yield name


def _association(row: Mapping[str, str]) -> Association | str:
    """Return the association of a row, or the reason why it is left out."""
    if cells.several_snps(row["snps"]) or cells.several_snps(row["strongest"]):
        return "several SNPs (haplotype or interaction)"
    snp = row["snps"].casefold()
    if not re.fullmatch(r"rs[1-9][0-9]*", snp):
        return "no rs number"
    reported = snp
    # a merged SNP stands under its present number; 0 says that there is none
    if current := _CURRENT.fullmatch(row["current"].casefold()):
        snp = f"rs{current.group(1)}"
    if cells.other_snp(row["strongest"], reported, snp):
        return "the risk allele is that of another SNP"
    if not row["trait"] or not row["paper"]:
        return "no trait or no PubMed number"
    try:
        p = p_decimal(row["p"], "P-VALUE")
    except DataError:
        return "p-value missing, no number or outside [0, 1]"
    found = cells.terms(row["terms"], row["addresses"])
    return Association(
        snp=snp,
        trait=row["trait"],
        study=row["accession"] or row["paper"],
        paper=row["paper"],
        p_text=row["p"],
        p=p,
        genes=cells.genes(row["genes"]),
        terms=found,
        allele=cells.allele(row["strongest"]),
        direction=cells.direction(row["interval"], row["effect"]),
        effect=cells.effect(row["effect"]),
        interval=cells.interval(row["interval"]),
        frequency=cells.frequency(row["frequency"]),
        chromosome=row["chromosome"] if re.fullmatch("[0-9XYMT]+", row["chromosome"]) else None,
        position=int(row["position"]) if re.fullmatch(r"[0-9]+", row["position"]) else None,
        region=row["region"] if row["region"] not in ("", "NR") else None,
        functional_class=row["context"] or None,
        day=cells.published(row["date"]),
        ancestry=cells.ancestry(row["sample"]),
        sample_size=cells.sample_size(row["sample"]),
        platform=row["platform"] or None,
    )
