"""What is known of drugs, cell lines and classes."""

from pathlib import Path

import pandas as pd
import pytest

from bed.episodes.expression import ExpressionTables
from bed.episodes.expression.metadata import DESCRIPTIVE, Metadata, load_metadata
from bed.errors import DataError


@pytest.fixture
def drugs(tmp_path: Path) -> Path:
    table = pd.DataFrame(
        {
            "drug": ["Encorafenib", "Adenosine", "Doxorubicin (hydrochloride)", "Talc"],
            "targets": ["BRAF", "ADORA1, ADORA2A", None, None],
            "moa-broad": ["inhibitor/antagonist", "unclear", "unclear", "unclear"],
            "moa-fine": ["RAF inhibitor", "unclear", "DNA synthesis/repair inhibitor", "unclear"],
            "human-approved": ["yes", "yes", "yes", "no"],
            "clinical-trials": ["yes", "no", "yes", None],
            "canonical_smiles": ["CC", "C1", None, "O"],
            "pubchem_cid": [50922675.0, 60961.0, None, 1.0],
        }
    )
    table.to_parquet(tmp_path / "drugs.parquet")
    return tmp_path / "drugs.parquet"


def loaded(**files: Path) -> Metadata:
    return load_metadata(ExpressionTables(Path("table.csv"), **files))  # type: ignore[arg-type]


def test_drugs(drugs: Path) -> None:
    found = loaded(drugs=drugs)
    assert found.perturbation("encorafenib ") == {
        "moa_broad": "inhibitor/antagonist",
        "moa_fine": "RAF inhibitor",
        "targets": ("BRAF",),
        "human_approved": True,
        "in_trials": True,
        "smiles": "CC",
        "pubchem_cid": 50922675,
    }
    assert found.perturbation("Talc") == {
        "moa_broad": "unclear",
        "moa_fine": "unclear",
        "human_approved": False,
        "smiles": "O",
        "pubchem_cid": 1,
    }
    assert found.perturbation("Aspirin") == {}
    assert set(found.perturbation("Encorafenib")) <= DESCRIPTIVE


def test_classes_of_drugs_are_mechanisms_or_else_targets(drugs: Path) -> None:
    found = loaded(drugs=drugs)
    assert found.classes_of("Encorafenib") == ("RAF inhibitor",)
    assert found.classes_of("Adenosine") == ("ADORA1", "ADORA2A")
    assert found.classes_of("Talc") == ()


def test_a_drug_is_found_without_its_salt(drugs: Path) -> None:
    found = loaded(drugs=drugs)
    assert found.classes_of("doxorubicin") == ("DNA synthesis/repair inhibitor",)
    assert found.perturbation("Doxorubicin")["in_trials"] is True


def test_flags_must_be_yes_or_no(drugs: Path) -> None:
    table = pd.read_parquet(drugs).assign(**{"human-approved": ["yes", "maybe", "no", "no"]})
    table.to_parquet(drugs)
    with pytest.raises(DataError, match="row 2, column 'human-approved' holds 'maybe'"):
        loaded(drugs=drugs)


def test_one_driver_a_cell_line_whatever_the_order(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "cell_name": ["HS-578T", "HS-578T", "A549"],
            "Cell_ID_DepMap": ["ACH-000148", "ACH-000148", None],
            "Driver_Gene_Symbol": ["TP53", "CDKN2A", "KRAS"],
            "Driver_VarZyg": ["Het", "Hom", None],
        }
    )
    for order in ([0, 1, 2], [2, 1, 0]):
        table.iloc[order].to_csv(tmp_path / "lines.csv", index=False)
        found = loaded(contexts=tmp_path / "lines.csv")
        assert found.context("Hs 578T") == {
            "depmap_id": "ACH-000148",
            "driver_gene": "CDKN2A",
            "driver_zygosity": "Hom",
        }
        assert found.context("A549") == {"driver_gene": "KRAS"}


def test_gene_sets(tmp_path: Path) -> None:
    path = tmp_path / "sets.gmt"
    path.write_text("B\turl\tTP63\tMAFF\n\nA\turl\tMAFF\t\n")
    found = loaded(classes=path)
    assert found.classes_of("MAFF") == ("A", "B")
    assert found.classes_of("SOX1") == ()
    path.write_text("A\turl\tX\nB\turl\n")
    with pytest.raises(DataError, match=r"sets\.gmt: line 2 is no gene set"):
        loaded(classes=path)
    with pytest.raises(DataError, match="no such file"):
        loaded(classes=tmp_path / "absent.gmt")
    path.write_text("gene\turl\tcount\nA\turl\t12\n")
    with pytest.raises(DataError, match=r"line 2 names '12' as a gene; give gene symbols"):
        loaded(classes=path)
    path.rename(tmp_path / "sets.tsv")
    with pytest.raises(DataError, match=r"not a \.gmt file .* holds \['gene', 'url', 'count'\]"):
        loaded(classes=tmp_path / "sets.tsv")


def test_files_of_another_kind_are_refused(drugs: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'cell_name'.*--contexts takes") as error:
        loaded(contexts=drugs)
    assert "--column" not in str(error.value)
    pd.DataFrame({"drug": ["A"], "price": [1]}).to_parquet(drugs)
    with pytest.raises(DataError, match="no column that describes 'A' is known"):
        loaded(drugs=drugs)


def test_real_metadata(shared_data: Path) -> None:
    folder = shared_data / "data" / "expression"
    found = loaded(
        drugs=folder / "tahoe100m_drug_metadata.parquet",
        contexts=folder / "tahoe100m_cell_line_metadata.parquet",
        classes=folder / "msigdb_hallmark_v6.0_symbols.gmt",
    )
    assert found.classes_of("Encorafenib") == ("RAF inhibitor",)
    assert found.classes_of("Belumosudil (mesylate)") == ("ROCK1", "ROCK2")
    line = found.context("SNU-1")
    assert (line["depmap_id"], line["driver_gene"]) == ("ACH-000932", "ARID1A")
    assert (line["driver_effect"], line["organ"]) == ("p.D1633fs", "Esophagus/Stomach")
    assert found.classes_of("PPARG") == (
        "HALLMARK_ADIPOGENESIS",
        "HALLMARK_CHOLESTEROL_HOMEOSTASIS",
        "HALLMARK_UV_RESPONSE_DN",
    )
