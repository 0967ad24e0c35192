"""Reading single cells, rows, traits and side files."""

import gzip
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bed.episodes.gwas import GwasTables, build_gwas, cells
from bed.episodes.gwas.catalog import Association, read_catalog
from bed.episodes.gwas.facts import load
from bed.episodes.gwas.families import families
from bed.episodes.gwas.loci import is_in_mhc, locus
from bed.episodes.gwas.sides import Parents, read_expression, read_parents, read_pathways
from bed.episodes.gwas.traits import Traits
from bed.errors import DataError

Write = Callable[..., GwasTables]


def association(**fields: Any) -> Association:
    plain: dict[str, Any] = {"snp": "rs1", "trait": "T", "study": "S", "paper": "1"}
    return Association(**plain | {"p_text": "1E-9", "p": Decimal("1E-9")} | fields)


@pytest.mark.parametrize(
    ("interval", "effect", "expected"),
    [
        ("[0.03-0.05] (unit increase)", ".04", "increases"),
        ("[0.03-0.05] unit decrease", "0.04", "decreases"),
        ("[NR] (mg/dL decrease)", "", "decreases"),
        ("[1.02-1.30]", "1.12", "increases"),
        ("[NR]", "1.12", "increases"),
        ("", "1.12", "increases"),
        ("[0.8-0.9]", ".85", None),
        ("[0.9-1.1]", "1", None),
        ("[0.9-1.1]", "1.00", None),
        ("[0.9-1.1] (unit increase)", "1", "increases"),
        ("[NR] (unit decrease)", "0", None),
        ("[NR] (unit increase)", "3.0E-4", "increases"),
        ("", "", None),
        ("[NR]", "", None),
        ("[NR] (% variance explained)", "1.3", None),
        ("[1-2] (years older)", "1.5", None),
        ("[0.1-0.2] (increase or decrease)", "0.1", None),
        ("[0.1-0.2] (unit increase)", "-0.1", None),
        ("[0.1-0.2]", "NR", None),
    ],
)
def test_directions(interval: str, effect: str, expected: str | None) -> None:
    assert cells.direction(interval, effect) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rs7903146-T", "T"),
        ("rs12 -AT", "AT"),
        ("rs1-?", None),
        ("rs1", None),
        ("", None),
        ("APOE-E4", None),
    ],
)
def test_alleles(text: str, expected: str | None) -> None:
    assert cells.allele(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rs1 x rs2", True),
        ("rs1; rs2", True),
        ("rs1,rs2", True),
        ("rs1-A x rs2-G", True),
        ("rs1", False),
        ("rs1-A", False),
    ],
)
def test_several_snps(text: str, expected: bool) -> None:
    assert cells.several_snps(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[0.03-0.05] (unit increase)", "[0.03-0.05] unit increase"),
        ("[0.03-0.05] unit decrease", "[0.03-0.05] unit decrease"),
        ("[1.03-1.05]", "[1.03-1.05]"),
        (" (unit increase)", "unit increase"),
        ("[NR] (kg increase)", "[NR] kg increase"),
        ("[NR]", None),
        ("NR", None),
        ("", None),
    ],
)
def test_intervals(text: str, expected: str | None) -> None:
    assert cells.interval(text) == expected


def test_other_cells() -> None:
    assert [cells.effect(text) for text in (".03", "-.1", "1.04", "3.0E-4", "NR", "")] == [
        "0.03",
        "-0.1",
        "1.04",
        "3.0E-4",
        None,
        None,
    ]
    assert [cells.frequency(text) for text in ("0.47", ".1", "NR", "(GC)", "0.1-0.2", "7")] == [
        "0.47",
        ".1",
        None,
        None,
        "0.1-0.2",
        None,
    ]
    assert cells.genes("BRINP2 - SEC16B") == ("BRINP2", "SEC16B")
    assert cells.genes("HLA-B, MICA; HLA-B") == ("HLA-B", "MICA")
    assert cells.genes("") == cells.genes("NR") == ()
    assert cells.published("23-Jul-2014") == cells.published("2014-07-23") == date(2014, 7, 23)
    assert cells.published("July") is None


@pytest.mark.parametrize(
    ("text", "size", "ancestry"),
    [
        ("815 Hispanic children from 263 families", 815, "Hispanic"),
        ("Up to 182,413 European ancestry women", 182_413, "European"),
        (
            "1,019 European ancestry cases, 806 European ancestry controls, 50 East Asian cases",
            1_875,
            "European, East Asian",
        ),
        ("115 African ancestry HIV-negative individuals", 115, "African"),
        ("644 individuals", 644, None),
        ("1,000 European cases,2,000 controls", 3_000, "European"),
        ("45 Dutch cases,195 controls;7 others", 247, "Dutch"),
        ("1 019 European cases, 20 controls", 1_039, "European"),
        ("1.019 Dutch cases", 1_019, "Dutch"),
        ("1,234,567 Europeans", 1_234_567, "Europeans"),
        ("1.5 million Europeans", None, None),
        ("500K people", None, None),
        ("1.0195 cases", None, None),
        ("NR", None, None),
    ],
)
def test_samples(text: str, size: int | None, ancestry: str | None) -> None:
    assert (cells.sample_size(text), cells.ancestry(text)) == (size, ancestry)


@pytest.mark.parametrize(
    ("names", "addresses", "expected"),
    [
        ("asthma", "http://x/EFO_1", ("asthma",)),
        ("b|a", "http://x/EFO_1|http://x/EFO_2", ("a", "b")),
        ("b, a", "http://x/EFO_1, http://x/EFO_2", ("a", "b")),
        ("acne, severe", "http://x/EFO_1", ("acne, severe",)),
        ("a, severe, b", "http://x/EFO_1, http://x/EFO_2", ("EFO_1", "EFO_2")),
        ("", "", ()),
    ],
)
def test_terms(names: str, addresses: str, expected: tuple[str, ...]) -> None:
    assert cells.terms(names, addresses) == expected


def test_rows_of_the_old_dump_are_folded(tmp_path: Path, frame: pd.DataFrame) -> None:
    """It repeats a row once a mapped term; more than 8 terms say nothing."""
    one = frame.iloc[[0]]
    two = pd.concat([one.assign(MAPPED_TRAITS=f"t{i}") for i in (1, 2)])
    two.to_csv(tmp_path / "two.tsv", sep="\t", index=False)
    (found,) = read_catalog(tmp_path / "two.tsv", 0).associations
    assert found.terms == ("t1", "t2")
    many = pd.concat([one.assign(MAPPED_TRAITS=f"t{i}") for i in range(9)])
    many.to_csv(tmp_path / "many.tsv", sep="\t", index=False)
    (found,) = read_catalog(tmp_path / "many.tsv", 0).associations
    assert found.terms == ()


@pytest.mark.parametrize(
    ("current", "snp"),
    [("77", "rs77"), ("rs77", "rs77"), ("77.0", "rs77"), ("0", None), ("", None)],
)
def test_a_merged_snp_stands_under_its_current_number(
    tmp_path: Path, frame: pd.DataFrame, current: str, snp: str | None
) -> None:
    row = frame.iloc[[0]].assign(SNP_ID_CURRENT=current)
    row.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    (found,) = read_catalog(tmp_path / "t.tsv", 0).associations
    assert found.snp == snp or (snp is None and found.snp == row["SNPS"].iloc[0])


def test_the_allele_of_another_snp_is_refused(tmp_path: Path, frame: pd.DataFrame) -> None:
    rows = frame.iloc[:2].assign(**{"STRONGEST SNP-RISK ALLELE": ["rs2-A", "rs77-A"]})
    rows["SNP_ID_CURRENT"] = ["", "77"]
    rows.to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    found = read_catalog(tmp_path / "t.tsv", 0)
    assert [(item.snp, item.allele) for item in found.associations] == [("rs77", "A")]
    assert found.excluded == {"rows: the risk allele is that of another SNP": 1}


def test_cells_that_say_nothing_intelligible_are_counted(
    tmp_path: Path, frame: pd.DataFrame
) -> None:
    odd = {
        "OR or BETA": "about 1",
        "RISK ALLELE FREQUENCY": "(GC)",
        "DATE": "July",
        "INITIAL SAMPLE DESCRIPTION": "a cohort",
    }
    frame.iloc[[0]].assign(**odd).to_csv(tmp_path / "odd.tsv", sep="\t", index=False)
    found = read_catalog(tmp_path / "odd.tsv", 0).excluded
    assert found == {
        f"cells: {name} not understood, so not reported": 1
        for name in ("effect", "frequency", "date", "sample")
    }
    frame.iloc[[0]].assign(**dict.fromkeys(odd, "NR")).to_csv(
        tmp_path / "t.tsv", sep="\t", index=False
    )
    assert read_catalog(tmp_path / "t.tsv", 0).excluded == {}


def test_numbers_in_parquet(tmp_path: Path, frame: pd.DataFrame) -> None:
    typed = frame.iloc[:40].assign(
        **{"P-VALUE": 5e-9, "PUBMEDID": 123, "CHR_POS": 1e6, "OR or BETA": 1.5, "CONTEXT": None}
    )
    typed["SNPS"] = [f"rs{i}" for i in range(1, 41)]
    typed["STRONGEST SNP-RISK ALLELE"] = typed["SNPS"] + "-A"
    typed.to_parquet(tmp_path / "t.parquet")
    found = read_catalog(tmp_path / "t.parquet", 0).associations
    assert len(found) == 40
    first = found[0]
    assert (first.p_text, first.paper, first.position, first.effect) == (
        "5e-09",
        "123",
        1_000_000,
        "1.5",
    )
    assert first.functional_class is None


@pytest.mark.parametrize("column", ["P-VALUE", "SNPS", "INITIAL SAMPLE DESCRIPTION"])
def test_a_missing_column(tmp_path: Path, frame: pd.DataFrame, column: str) -> None:
    frame.drop(columns=column).to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    with pytest.raises(DataError, match=rf"lacks the columns .*{column}.*found \['PUBMEDID'"):
        read_catalog(tmp_path / "t.tsv", 0)


def test_a_table_of_unusable_rows(tmp_path: Path, frame: pd.DataFrame) -> None:
    frame.assign(**{"P-VALUE": "5E12"}).to_csv(tmp_path / "t.tsv", sep="\t", index=False)
    with pytest.raises(DataError, match=r"no usable association; rows left out: .*p-value"):
        read_catalog(tmp_path / "t.tsv", 0)


def test_loci() -> None:
    assert locus("16q12.2", "16", 1) == "16q12.2"
    assert locus(None, "16", 53_800_000) == "16:50-55 Mb"
    assert locus(None, "16", None) is None
    assert is_in_mhc(None, "6", 25_000_000)
    assert is_in_mhc("6p21.33", None, None)
    assert not is_in_mhc("6p21.31", "6", 34_000_001)
    assert not is_in_mhc(None, "7", 30_000_000)


def test_traits_without_a_mapping() -> None:
    found = {
        "hdl": association(trait="HDL cholesterol", terms=("hdl",)),
        "other name": association(trait="Cholesterol, HDL", terms=("hdl",)),
        "case": association(trait="hdl CHOLESTEROL", terms=()),
        "ldl": association(trait="LDL cholesterol levels", terms=("ldl",)),
        "crohn": association(trait="Crohn's disease", terms=("crohn's disease",)),
        "colitis": association(trait="Ulcerative colitis"),
        "rare": association(trait="Wombat exposure"),
    }
    traits = Traits(found.values())
    keys = {name: traits.key(item) for name, item in found.items()}
    assert keys["hdl"] == keys["other name"] == keys["case"] == "Cholesterol, HDL"
    assert len(set(keys.values())) == 5
    assert "cholesterol" in traits.groups(found["hdl"])
    assert "level" not in traits.groups(found["ldl"])
    assert set(traits.groups(found["crohn"])) & set(traits.groups(found["colitis"]))
    assert traits.groups(found["rare"]) == ()
    assert traits.parent(found["hdl"]) is None


@pytest.mark.parametrize(
    ("trait", "expected"),
    [
        ("type 1 diabetes", {"immune system disorder"}),
        ("type ii diabetes mellitus", {"metabolic disorder"}),
        ("platelet count", {"haematological measurement"}),
        ("wombat exposure", set()),
    ],
)
def test_families(trait: str, expected: set[str]) -> None:
    assert families(trait) == expected


@pytest.fixture
def mappings(tmp_path: Path) -> Path:
    rows = {
        "Disease trait": ["HDL cholesterol", "Height", "Body mass index"],
        "EFO term": ["high density lipoprotein cholesterol measurement", "body height", "x"],
        "EFO URI": ["http://x/EFO_1", "http://x/EFO_2", "http://x/EFO_3"],
        "Parent term": ["Lipid or lipoprotein measurement", "Body measurement", "Body measurement"],
        "Parent URI": ["http://x/P1", "http://x/P2", "http://x/P2"],
    }
    pd.DataFrame(rows).to_csv(tmp_path / "mappings.tsv", sep="\t", index=False)
    return tmp_path / "mappings.tsv"


def test_parents(mappings: Path) -> None:
    parents = read_parents(mappings)
    assert parents.of("anything", ("Body height",)) == ("Body measurement",)
    assert parents.of("height", ()) == ("Body measurement",)
    assert parents.of("height", ("EFO_1",)) == ("Lipid or lipoprotein measurement",)
    assert parents.of("unknown", ()) == ()
    traits = Traits([association(trait="Height")], Parents(parents.by_name))
    assert traits.groups(association(trait="Height")) == ("Body measurement",)
    assert traits.parent(association(trait="Height")) == "Body measurement"


def test_mappings_without_parents(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text("Disease trait\tEFO term\nHeight\tbody height\n")
    with pytest.raises(DataError, match=r"lacks the columns \['EFO URI', 'Parent term'\]"):
        read_parents(tmp_path / "m.tsv")


def test_pathways(tmp_path: Path) -> None:
    wide = "\t".join(f"G{i}" for i in range(300))
    text = f"Transport\tR-1\tA\tB\tC\nMetabolism\tR-2\tA\t{wide}\nBinding\tR-3\tA\tB\n"
    with gzip.open(tmp_path / "p.gmt.gz", "wt") as file:
        file.write(text)
    found = read_pathways(tmp_path / "p.gmt.gz")
    assert found == {
        "A": ("Binding", "Transport"),
        "B": ("Binding", "Transport"),
        "C": ("Transport",),
    }
    (tmp_path / "bad.gmt").write_text("Transport\tR-1\n")
    with pytest.raises(DataError, match="line 1 is no gene set"):
        read_pathways(tmp_path / "bad.gmt")
    with pytest.raises(DataError, match="no such file"):
        read_pathways(tmp_path / "absent.gmt")
    (tmp_path / "table.tsv").write_text("gene\tpathway\tsource\nA\tB\tC\n")
    with pytest.raises(DataError, match=r"not a \.gmt file .* \['gene', 'pathway', 'source'\]"):
        read_pathways(tmp_path / "table.tsv")


def test_side_files_of_other_genes_are_refused(
    tmp_path: Path, frame: pd.DataFrame, write: Write
) -> None:
    (tmp_path / "p.gmt").write_text("Transport\tR-1\tX1\tX2\n")
    (tmp_path / "e.tsv").write_text("gene\tLiver\nX1\t3\n")
    for role, name in (("pathways", "p.gmt"), ("expression", "e.tsv")):
        tables = write(tmp_path, frame, **{role: tmp_path / name})
        with pytest.raises(DataError, match=rf"{name} and catalog\.tsv share no gene \('X1'"):
            load(tables, 0)


def test_expression(tmp_path: Path) -> None:
    body = "Name\tDescription\tLiver\tLung\tSkin\tBlood\n"
    body += "ENSG1\tFTO\t1\t23.84\t2\t0\nENSG2\tTTN\t0\t0\t0\t5\nENSG3\tFTO\t0\t0\t0\t1\n"
    (tmp_path / "e.gct").write_text(f"#1.2\n3\t4\n{body}")
    found = read_expression(tmp_path / "e.gct")
    assert found["FTO"] == (("Lung", "23.8"), ("Skin", "2.0"), ("Liver", "1.0"))
    (tmp_path / "e.tsv").write_text("gene\tLiver\tLung\nFTO\t3\t4\n")
    assert read_expression(tmp_path / "e.tsv")["FTO"] == (("Lung", "4.0"), ("Liver", "3.0"))
    (tmp_path / "bad.tsv").write_text("gene\tLiver\nFTO\tmuch\n")
    with pytest.raises(DataError, match="expected TPM"):
        read_expression(tmp_path / "bad.tsv")


def test_side_files_reach_the_episodes(
    tmp_path: Path, frame: pd.DataFrame, write: Write, mappings: Path
) -> None:
    genes = "\t".join(f"GENE{i}" for i in range(60))
    (tmp_path / "p.gmt").write_text(f"Lipid transport\tR-1\t{genes}\n")
    (tmp_path / "e.tsv").write_text("gene\tLiver\tLung\nGENE1\t3\t4\nGENE2\t1\t2\n")
    tables = write(
        tmp_path,
        frame,
        efo=mappings,
        pathways=tmp_path / "p.gmt",
        expression=tmp_path / "e.tsv",
    )
    facts = load(tables, 0)
    at = next(i for i, a in enumerate(facts.associations) if a.genes == ("GENE1",))
    assert facts[at]["gtex"] == (("Lung", "4.0"), ("Liver", "3.0"))
    assert facts[at]["pathways"] == ("Lipid transport",)
    file = build_gwas(tables, 3, 200)
    assert file.info["absent"] == []
    assert not any("approximates" in note for note in file.info["notes"])
    tiers = [
        (stub, tier) for e in file.episodes for stub, tier in zip(e.pool, e.tiers, strict=True)
    ]
    assert any(
        t == 5 and "Lipid transport" in s.experiment.fields.get("pathways", ()) for s, t in tiers
    )
    parents = {e.target.fields.get("efo_parent") for e in file.episodes}
    assert parents - {None} <= {"Body measurement", "Lipid or lipoprotein measurement"}
