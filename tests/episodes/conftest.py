from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bed.episodes import EpisodeFile
from bed.episodes.depmap import Tables, build_depmap

LINEAGES = ("LUNG", "SKIN", "BONE", "LIVER", "OVARY")
SUFFIXES = {"LUNG": "lung", "SKIN": "skin", "BONE": "bone", "LIVER": "liver", "OVARY": "ovary"}


@dataclass(frozen=True)
class Frames:
    """Made-up tables in the public formats: 90 genes in 60 lines of five lineages."""

    effect: pd.DataFrame
    probability: pd.DataFrame
    expression: pd.DataFrame
    copy_number: pd.DataFrame
    mutations: pd.DataFrame
    models: pd.DataFrame

    @property
    def bins(self) -> pd.DataFrame:
        """The effects in the form of the 22Q1 bins."""
        numbers = np.select([self.effect <= -1, self.effect <= -0.5], [2, 1], 0)
        symbols = [name.split(" ")[0] for name in self.effect.columns]
        table = pd.DataFrame(numbers.T, columns=self.models["CCLEName"]).astype("int8")
        table.insert(0, "entrez_id", range(1, len(symbols) + 1))
        table.insert(0, "gene", symbols)
        return table


def made_up(seed: int = 0) -> Frames:
    rng = np.random.default_rng(seed)
    ids = [f"ACH-{i:06d}" for i in range(1, 61)]
    names = [f"L{i:02d}_{LINEAGES[i % 5]}" for i in range(60)]
    genes = [f"G{i:03d} ({i + 1})" for i in range(90)]
    module = rng.normal(size=(60, 10))
    effect = np.empty((60, 90))
    effect[:, :15] = -1.3
    effect[:, 15:40] = 0.05
    effect[:, 40:] = -0.35 + 0.5 * module[:, np.arange(50) % 10]
    effect += rng.normal(0, 0.15, effect.shape)
    probability = 1 / (1 + np.exp((effect + 0.5) * 10))
    expression = np.abs(rng.normal(4, 2, (60, 30)))
    copies = np.abs(rng.normal(1, 0.3, effect.shape))
    hit = rng.random((60, 90)) < 0.05
    rows = [
        {
            "ModelID": ids[i],
            "Gene": genes[j],
            "LikelyGoF": False,
            "Driver": False,
            "LikelyDriver": bool((i + j) % 2),
        }
        for i, j in np.argwhere(hit)
    ]
    return Frames(
        effect=pd.DataFrame(effect, ids, genes),
        probability=pd.DataFrame(probability, ids, genes),
        expression=pd.DataFrame(expression, ids, genes[40:70]),
        copy_number=pd.DataFrame(copies, ids, genes),
        mutations=pd.DataFrame(rows),
        models=pd.DataFrame(
            {
                "ModelID": ids,
                "CCLEName": names,
                "OncotreeLineage": [SUFFIXES[LINEAGES[i % 5]].title() for i in range(60)],
            }
        ),
    )


def written(folder: Path, frames: Frames) -> Tables:
    """Write all tables of continuous effects as csv and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("effect", "probability", "expression", "copy_number"):
        getattr(frames, name).to_csv(folder / f"{name}.csv")
    frames.mutations.to_csv(folder / "mutations.csv", index=False)
    frames.models.to_csv(folder / "models.csv", index=False)
    return Tables(
        gene_effect=folder / "effect.csv",
        gene_dependency=folder / "probability.csv",
        expression=folder / "expression.csv",
        copy_number=folder / "copy_number.csv",
        mutations=folder / "mutations.csv",
        models=folder / "models.csv",
    )


@pytest.fixture(scope="session")
def frames() -> Frames:
    return made_up()


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory, frames: Frames) -> Tables:
    return written(tmp_path_factory.mktemp("depmap"), frames)


@pytest.fixture(scope="session")
def small_file(tables: Tables) -> EpisodeFile:
    """A build from the made-up tables."""
    return build_depmap(tables, seed=3, max_episodes=240)


@pytest.fixture(scope="session")
def write_tables() -> Callable[[Path, Frames], Tables]:
    return written


@pytest.fixture(scope="session")
def real_tables(shared_data: Path) -> dict[str, Tables]:
    data = shared_data / "data" / "depmap"
    return {
        "bins": Tables(
            gene_effect_bins=data / "depmap22q1_crispr_bins.parquet",
            rnai_bins=data / "depmap22q1_rnai_bins.parquet",
            models=data / "cell_lines.csv",
        ),
        "chronos": Tables(
            gene_effect=data / "chronos_sample_joint_gene_effect.parquet",
            gene_dependency=data / "chronos_sample_joint_prob.parquet",
            expression=data / "chronos_sample_expression_log2tpm1.parquet",
            copy_number=data / "chronos_sample_copy_number.parquet",
            mutations=data / "chronos_sample_mutations.csv",
            models=data / "cell_lines.csv",
        ),
    }


@pytest.fixture(scope="session")
def real_files(real_tables: dict[str, Tables]) -> dict[str, EpisodeFile]:
    return {name: build_depmap(tables, 0, 300) for name, tables in real_tables.items()}


@pytest.fixture(scope="session")
def without() -> Callable[..., Tables]:
    """Return tables without the named ones."""
    return lambda tables, *names: replace(tables, **dict.fromkeys(names))
