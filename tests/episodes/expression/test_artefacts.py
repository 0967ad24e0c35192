"""Genes that must not be targets."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bed.episodes.expression import ExpressionTables
from bed.episodes.expression.artefacts import artefact, eligible
from bed.episodes.expression.contrasts import Contrast
from bed.episodes.expression.measurements import Measurements
from bed.episodes.expression.reading import load


@pytest.mark.parametrize(
    ("gene", "reason"),
    [
        ("MT-ND1", "mitochondrial genes"),
        ("mt-Co1", "mitochondrial genes"),
        ("MTOR", None),
        ("MT1G", None),
        ("RPL7", "ribosomal genes"),
        ("RPL36AL", "ribosomal genes"),
        ("RPL22L1", "ribosomal genes"),
        ("RPS4Y1", "ribosomal genes"),
        ("RPS27A", "ribosomal genes"),
        ("RPL7P9", "ribosomal genes"),
        ("RPLP0", "ribosomal genes"),
        ("RPSA", "ribosomal genes"),
        ("MRPL12", "ribosomal genes"),
        ("MRPS18B", "ribosomal genes"),
        ("RPS6KA1", None),
        ("RPS6KB2", None),
        ("RPRD1A", None),
        ("RP11-34P13.7", "pseudogenes"),
        ("CTC-338M12.4", "pseudogenes"),
        ("HMGB1P5", "pseudogenes"),
        ("ANXA2P2", None),
        ("CHMP5", None),
        ("FOXP1", None),
        ("IGFBP3", None),
    ],
)
def test_symbols(gene: str, reason: str | None) -> None:
    assert artefact(gene, {"HMGB1", "CHM", "FOX", "IGF", gene}) == reason


def measurements(changes: list[list[float]], p: list[list[float]]) -> Measurements:
    contrasts = tuple(Contrast(f"D{i}", "L") for i in range(len(changes[0])))
    genes = tuple(f"GENE{i}" for i in range(len(changes)))
    values = {"log2_fold_change": np.array(changes), "p_adjusted": np.array(p)}
    return Measurements(genes, contrasts, values)


def test_near_constant_genes_by_what_the_others_say() -> None:
    found = measurements(
        [[2.0, 0.1, 0.1, 0.1], [2.0, 2.0, 2.0, 0.1], [0.3, 0.3, 0.1, 0.1]],
        [[0.01] * 4, [0.01] * 4, [0.9] * 4],
    )
    allowed, excluded = eligible(found)
    # The first moves in one contrast only: a target elsewhere, but not there.
    assert allowed.tolist() == [
        [False, True, True, True],
        [True, True, True, False],
        [True, True, True, True],
    ]
    assert excluded["targets: genes that move in no other contrast"] == 1
    assert excluded["targets: genes significant in nearly all other contrasts"] == 1


def test_a_targets_own_outcome_does_not_make_it_eligible() -> None:
    rng = np.random.default_rng(0)
    changes = rng.normal(0, 0.4, (50, 6))
    p = rng.uniform(0, 0.1, (50, 6))
    before, _ = eligible(measurements(changes.tolist(), p.tolist()))
    changes[:, 2] = rng.normal(0, 3, 50)
    p[:, 2] = 1e-9
    after, _ = eligible(measurements(changes.tolist(), p.tolist()))
    np.testing.assert_array_equal(before[:, 2], after[:, 2])


def test_low_counts_are_no_targets_but_evidence(
    frame: pd.DataFrame, tables: ExpressionTables, tabled: Callable[..., ExpressionTables]
) -> None:
    found = load(tables)
    allowed, excluded = eligible(found)
    low = found.genes.index("G004")
    assert found.measured()[low].all()
    assert not allowed[low].any()
    assert excluded["targets: mean count under 10"] == len(found.contrasts)
    without = load(replace(tabled(frame.drop(columns="baseMean"))))
    assert eligible(without)[0][low].any()
