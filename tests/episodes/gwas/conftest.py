from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bed.episodes import EpisodeFile
from bed.episodes.gwas import GwasTables, build_gwas

TRAITS = {
    "HDL cholesterol": ("high density lipoprotein cholesterol measurement", "mg/dl"),
    "LDL cholesterol": ("low density lipoprotein cholesterol measurement", "mg/dl"),
    "Triglycerides": ("triglyceride measurement", "mg/dl"),
    "Body mass index": ("body mass index", "unit"),
    "Height": ("body height", "cm"),
    "Coronary heart disease": ("coronary heart disease", ""),
    "Myocardial infarction": ("myocardial infarction", ""),
    "Crohn's disease": ("Crohn's disease", ""),
    "Ulcerative colitis": ("ulcerative colitis", ""),
}
SYNONYMS = {"HDL cholesterol": "Cholesterol, HDL", "Height": "Stature"}
"""Other reported names of the same mapped term."""
NUM_LOCI = 90


def row(rng: np.random.Generator, at: int, snp: int, trait: str, paper: int) -> dict[str, str]:
    """One association; the effect's sign and significance are drawn independently."""
    term, unit = TRAITS[trait]
    is_null, falls = rng.random() < 0.5, rng.random() < 0.5
    mantissa = rng.integers(1, 10)
    exponent = rng.integers(6, 8) if is_null else rng.integers(9, 30)
    interval = "[1.02-1.30]" if not unit else f"[0.1-0.3] ({unit} {'de' if falls else 'in'}crease)"
    band = f"{1 + at % 20}q{1 + at // 20}.{1 + at % 3}"
    return {
        "PUBMEDID": str(1000 + paper),
        "DISEASE/TRAIT": SYNONYMS.get(trait, trait) if paper % 5 == 0 else trait,
        "STRONGEST SNP-RISK ALLELE": f"rs{10_000 + 100 * at + snp}-{'ACGT'[rng.integers(4)]}",
        "SNPS": f"rs{10_000 + 100 * at + snp}",
        "P-VALUE": f"{mantissa}E-{exponent}",
        "OR or BETA": "1.12" if not unit else ".2",
        "95% CI (TEXT)": interval,
        "CHR_ID": str(1 + at % 20),
        "CHR_POS": str(40_000_000 + 5_000_000 * (at // 20) + 10_000 * snp),
        "REGION": band,
        "MAPPED_GENE": (f"GENE{at} - NEXT{at}", f"GENE{at}", f"NEAR{at}")[snp % 3],
        "CONTEXT": "intron",
        "RISK ALLELE FREQUENCY": "0.31",
        "PLATFORM [SNPS PASSING QC]": "Illumina [~2.5 million] (imputed)",
        "DATE": f"{1 + paper:02d}-Mar-{2005 + paper % 10}",
        "INITIAL SAMPLE DESCRIPTION": "1,019 European ancestry cases, 806 Japanese controls",
        "MAPPED_TRAITS": term,
        "MAPPED_TRAIT_URIS": f"http://www.ebi.ac.uk/efo/{term.replace(' ', '_')}",
    }


def made_up(seed: int = 0) -> pd.DataFrame:
    """A catalog in the columns of 2015: 90 loci of one gene, three SNPs each, nine traits."""
    rng = np.random.default_rng(seed)
    rows = [
        row(rng, at, snp, trait, int(paper))
        for at in range(NUM_LOCI)
        for snp in range(3)
        for trait in TRAITS
        for paper in rng.choice(20, size=rng.integers(0, 3), replace=False)
    ]
    odd = [row(rng, 7, 1, "Height", 19) for _ in range(6)]
    odd[0] |= {"STRONGEST SNP-RISK ALLELE": "rs10701-?", "DISEASE/TRAIT": "Eye color"}
    odd[1] |= {"SNPS": "rs701 x rs702", "STRONGEST SNP-RISK ALLELE": "rs701-A x rs702-G"}
    odd[2] |= {"P-VALUE": "5E12"}
    odd[3] |= {"SNPS": "kgp5", "STRONGEST SNP-RISK ALLELE": "kgp5-A"}
    odd[4] |= {"REGION": "", "CHR_POS": "", "SNPS": "rs9999999"}
    odd[4]["STRONGEST SNP-RISK ALLELE"] = "rs9999999-A"
    odd[5] |= {"P-VALUE": "NS"}
    hla = [row(rng, 85, snp, trait, 3) for snp in (5, 6, 7) for trait in TRAITS]
    for item in hla:
        item |= {"CHR_ID": "6", "CHR_POS": f"3{rng.integers(0, 4)}000000", "REGION": "6p21.33"}
        item["MAPPED_GENE"] = "HLA-B"
    known = [row(rng, 86, 0, "Crohn's disease", paper) for paper in range(12)]
    for item in known:
        item |= {"MAPPED_GENE": "NOD2"}
    return pd.DataFrame(rows + odd + hla + known)


def present(table: pd.DataFrame) -> pd.DataFrame:
    """The same catalog in the columns of the present download."""
    new = table.rename(
        columns={
            "INITIAL SAMPLE DESCRIPTION": "INITIAL SAMPLE SIZE",
            "MAPPED_TRAITS": "MAPPED_TRAIT",
            "MAPPED_TRAIT_URIS": "MAPPED_TRAIT_URI",
        }
    )
    new["STUDY ACCESSION"] = "GCST" + table["PUBMEDID"]
    new["DATE"] = pd.to_datetime(table["DATE"], format="%d-%b-%Y").dt.strftime("%Y-%m-%d")
    new["95% CI (TEXT)"] = table["95% CI (TEXT)"].str.replace(r"[()]", "", regex=True)
    return new


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return made_up()


@pytest.fixture(scope="session")
def present_frame(frame: pd.DataFrame) -> pd.DataFrame:
    return present(frame)


@pytest.fixture(scope="session")
def write() -> Callable[..., GwasTables]:
    def written(folder: Path, table: pd.DataFrame, **more: Any) -> GwasTables:
        folder.mkdir(parents=True, exist_ok=True)
        table.to_csv(folder / "catalog.tsv", sep="\t", index=False)
        return GwasTables(folder / "catalog.tsv", **more)

    return written


@pytest.fixture(scope="session")
def tables(
    tmp_path_factory: pytest.TempPathFactory,
    frame: pd.DataFrame,
    write: Callable[..., GwasTables],
) -> GwasTables:
    return write(tmp_path_factory.mktemp("gwas"), frame)


@pytest.fixture(scope="session")
def small_gwas(tables: GwasTables) -> EpisodeFile:
    return build_gwas(tables, seed=3, max_episodes=400)


@pytest.fixture(scope="session")
def dated_gwas(tables: GwasTables) -> EpisodeFile:
    return build_gwas(tables, seed=3, max_episodes=400, split_by="date")


@pytest.fixture(scope="session")
def real_table(shared_data: Path) -> GwasTables:
    return GwasTables(shared_data / "data" / "gwas" / "gwas_catalog_2015-06-08.tsv.gz")


@pytest.fixture(scope="session")
def real_gwas(real_table: GwasTables) -> dict[str, EpisodeFile]:
    return {"locus": build_gwas(real_table), "date": build_gwas(real_table, split_by="date")}


@pytest.fixture(params=["made-up, by locus", "made-up, by date", "real, by locus", "real, by date"])
def file(request: pytest.FixtureRequest) -> Any:
    """A file of each kind."""
    table, _, rule = request.param.split()
    if table == "made-up,":
        return request.getfixturevalue("small_gwas" if rule == "locus" else "dated_gwas")
    return request.getfixturevalue("real_gwas")[rule]
