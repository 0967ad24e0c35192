from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bed.episodes import EpisodeFile
from bed.episodes.expression import Columns, ExpressionTables, build_expression

DRUGS = tuple(f"D{i}" for i in range(10))
LINES = tuple(f"L{i}" for i in range(8))
SEED = 3


def made_up(num_genes: int = 240, seed: int = 0) -> pd.DataFrame:
    """A long table of ten drugs in eight lines; D0 has two doses in every line.

    Even drugs move a gene in the same direction, so that evidence bears on targets. Of each ten
    genes one never moves.
    """
    rng = np.random.default_rng(seed)
    genes = [f"G{i:03d}" for i in range(num_genes)]
    genes[:4] = ["MT-ND1", "RPL7", "G010P1", "RP11-34P13.7"]
    own = rng.normal(0, 1.0, num_genes) * (np.arange(num_genes) % 10 != 9)
    frames = []
    for i, drug in enumerate(DRUGS):
        by_drug = own if i % 2 == 0 else rng.normal(0, 0.5, num_genes)
        for line in LINES:
            for dose in (0.5, 5.0) if drug == "D0" else (5.0,):
                change = by_drug + rng.normal(0, 0.3, num_genes)
                error = np.full(num_genes, 0.25)
                p = np.exp(-0.717 * np.abs(change / error) - 0.416 * (change / error) ** 2)
                frames.append(
                    pd.DataFrame(
                        {
                            "gene": genes,
                            "perturbation": drug,
                            "context": line,
                            "dose": dose,
                            "log2FoldChange": change.round(4),
                            "lfcSE": error,
                            "pvalue": p,
                            "padj": np.minimum(1, 2 * p),
                            "baseMean": np.where(np.arange(num_genes) == 4, 3.0, 200.0),
                            "num_treated": 40,
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return made_up()


Tabled = Callable[..., ExpressionTables]


@pytest.fixture(scope="session")
def tabled(tmp_path_factory: pytest.TempPathFactory) -> Tabled:
    """Writes a frame, and returns the tables that read it by dose."""

    def written(frame: pd.DataFrame, name: str = "table.parquet", **more: Any) -> ExpressionTables:
        path = tmp_path_factory.mktemp("tables") / name
        if path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        by_dose = ExpressionTables(path, Columns(condition=("dose",)))
        return replace(by_dose, **more)

    return written


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("classes") / "classes.gmt"
    path.write_text("EVEN\tabout\tD0\tD2\tD4\nODD\tabout\tD1\tD3\n")
    return path


@pytest.fixture(scope="session")
def tables(frame: pd.DataFrame, tabled: Tabled, classes: Path) -> ExpressionTables:
    return tabled(frame, classes=classes)


@pytest.fixture(scope="session")
def small_file(tables: ExpressionTables) -> EpisodeFile:
    return build_expression(tables, SEED, 400)


@pytest.fixture(scope="session")
def morphic(shared_data: Path) -> EpisodeFile:
    folder = shared_data / "data" / "expression"
    columns = Columns(
        perturbation="perturbed",
        context=("system",),
        condition=("strategy", "day", "oxygen", "dataset"),
        ensembl_id="gene_ID",
    )
    return build_expression(
        ExpressionTables(
            folder / "morphic_ko_deseq2.parquet",
            columns,
            perturbation_type="knockout",
            context_type="system",
            leave_out=("strategy=reverted",),
            classes=folder / "msigdb_hallmark_v6.0_symbols.gmt",
        ),
        max_episodes=800,
    )


@pytest.fixture(scope="session")
def l1000(shared_data: Path) -> EpisodeFile:
    folder = shared_data / "data" / "expression"
    columns = Columns(
        perturbation="pert_iname",
        context=("cell_id",),
        condition=("pert_idose", "pert_itime", "id"),
    )
    return build_expression(
        ExpressionTables(
            folder / "l1000_3drugs_65lines_modz.parquet",
            columns,
            signatures=folder / "l1000_3drugs_65lines_signatures.csv",
            drugs=folder / "tahoe100m_drug_metadata.parquet",
            contexts=folder / "tahoe100m_cell_line_metadata.parquet",
        ),
        max_episodes=800,
    )
