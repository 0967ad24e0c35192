"""Smooth calibration error against a kernel between every two forecasts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evaluation import smece, smece_bandwidth
from bed.evaluation.smooth import weighted_smece
from bed.seeds import generator

Array = NDArray[np.float64]


def direct(p: Array, y: Array) -> float:
    """By the definition: the regression at each forecast, images at -p and 2 - p."""
    width = max(0.02, 1.06 * p.std() * len(p) ** -0.2)
    kernel = sum(np.exp(-(((p[:, None] - image) / width) ** 2) / 2) for image in (p, -p, 2.0 - p))
    return float(np.abs(kernel @ y / kernel.sum(axis=1) - p).mean())


FORECASTS = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.integers(0, 20).map(lambda k: k / 20)), st.booleans()),
    min_size=1,
    max_size=50,
)


@given(FORECASTS)
def test_smece_is_the_direct_regression(pairs: list[tuple[float, bool]]) -> None:
    p, y = np.array(pairs, dtype=np.float64).T
    assert smece(p, y) == pytest.approx(direct(p, y), abs=1e-10)


@pytest.mark.parametrize(
    ("p", "width"),
    [
        ([0.0, 1.0], 0.46),
        (np.linspace(0, 1, 1000), 0.077),
        (np.append(np.full(200, 0.5), [0.51, 0.9]), 0.02),
        (np.append(np.full(300, 1e-9), [1.0, 0.5]), 0.02),
    ],
    ids=["across the whole range", "common", "floor", "floor at the border, lone forecasts"],
)
def test_smece_at_every_bandwidth(p: Array, width: float) -> None:
    p = np.asarray(p, dtype=np.float64)
    y = (np.arange(len(p)) % 3 == 0).astype(np.float64)
    assert smece_bandwidth(p) == pytest.approx(width, rel=0.2)
    assert smece(p, y) == pytest.approx(direct(p, y), abs=1e-10)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_equal_forecasts_have_the_narrowest_bandwidth(n: int) -> None:
    assert smece_bandwidth([0.37] * n) == 0.02
    y = np.arange(n) % 2
    assert smece([0.37] * n, y) == pytest.approx(abs(y.mean() - 0.37), abs=1e-12)


def test_bandwidth_by_hand() -> None:
    assert smece_bandwidth([0.2, 0.6]) == pytest.approx(1.06 * 0.2 * 2**-0.2, abs=1e-15)


def test_each_draw_has_a_bandwidth_of_its_own() -> None:
    rng = generator(4, "smooth")
    p, y = rng.random(30), rng.integers(0, 2, 30).astype(np.float64)
    spread, narrow = np.ones(30), (np.abs(p - np.median(p)) < 0.1).astype(np.float64)
    found = weighted_smece(p, y, np.stack([spread, narrow]))
    kept = narrow > 0
    assert found == pytest.approx([direct(p, y), direct(p[kept], y[kept])], abs=1e-10)


@pytest.mark.parametrize(
    ("p", "says"),
    [([], "p is empty"), ([0.1, np.nan], "missing or not finite"), ([1.5], "outside the range")],
    ids=["empty", "NaN", "out of range"],
)
def test_bandwidth_names_bad_input(p: list[float], says: str) -> None:
    with pytest.raises(DataError, match=says):
        smece_bandwidth(p)
