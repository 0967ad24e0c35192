"""Platt scaling against the conditions of its optimum and maps known beforehand."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evaluation import crossfit_platt, platt_apply, platt_fit, random_folds
from bed.information import log_odds
from bed.seeds import generator

Array = NDArray[np.float64]


def drawn(n: int, a: float = 1.0, b: float = 0.0) -> tuple[Array, Array]:
    """Forecasts whose truth is their own map by a and b."""
    rng = generator(5, "platt", n)
    p = rng.uniform(0.01, 0.99, n)
    return p, (rng.random(n) < platt_apply(p, a, b)).astype(np.float64)


CASES = {
    "few": drawn(40),
    "many": drawn(20_000, 0.5, 0.3),
    "reversed": drawn(500, -1.5),
    "separated": (np.array([0.2, 0.3, 0.6, 0.7]), np.array([0.0, 0.0, 1.0, 1.0])),
    "separated by little": (np.array([0.5, 0.5001, 0.5002, 0.5003]), np.array([0.0, 0, 1, 1])),
    "constant": (np.full(8, 0.8), np.array([0.0, 1, 1, 1, 1, 1, 1, 1])),
    "0 and 1": (np.array([0.0, 1.0, 0.0, 1.0, 1.0]), np.array([0.0, 1, 1, 1, 0])),
}


@pytest.mark.parametrize(("p", "y"), CASES.values(), ids=CASES)
def test_fit_is_where_the_gradient_vanishes(p: Array, y: Array) -> None:
    fit = platt_fit(p, y)
    odds = log_odds(p, 1e-3)
    residual = platt_apply(p, fit.a, fit.b) - y
    assert residual.sum() == pytest.approx(0, abs=1e-9 * len(p))
    assert residual @ odds + 1e-6 * fit.a == pytest.approx(0, abs=1e-8 * len(p))


def test_fit_finds_the_map_of_the_truth() -> None:
    # five standard errors of n = 20,000
    fit = platt_fit(*CASES["many"])
    assert fit.a == pytest.approx(0.5, abs=0.06)
    assert fit.b == pytest.approx(0.3, abs=0.08)


def test_fit_of_constant_forecasts_is_the_base_rate() -> None:
    fit = platt_fit(*CASES["constant"])
    assert fit.a == pytest.approx(0, abs=1e-9)
    assert platt_apply([0.1, 0.8], fit.a, fit.b) == pytest.approx([7 / 8, 7 / 8], abs=1e-9)


def test_map_clips_before_the_logit() -> None:
    assert platt_apply([0.0, 0.001, 0.999, 1.0], 1.0, 0.0) == pytest.approx(
        [0.001, 0.001, 0.999, 0.999]
    )
    assert platt_apply([0.2], -1.0, 0.0) == pytest.approx([0.8])


def test_each_fold_is_mapped_by_the_other() -> None:
    p, y = drawn(60)
    fold = np.arange(60) % 2
    mapped = crossfit_platt(p, y, fold)
    for half in (0, 1):
        fit = platt_fit(p[fold != half], y[fold != half])
        assert mapped[fold == half] == pytest.approx(platt_apply(p[fold == half], fit.a, fit.b))
    changed = np.where(fold == 0, 1 - y, y)
    assert np.array_equal(crossfit_platt(p, changed, fold)[fold == 0], mapped[fold == 0])


def test_random_folds_halve_the_units_and_split_none() -> None:
    units = [f"gene {i // 3}" for i in range(33)]
    folds = random_folds(units, seed=1)
    by_unit = folds.reshape(11, 3)
    assert (by_unit == by_unit[:, :1]).all()
    assert by_unit[:, 0].sum() == 5
    assert np.array_equal(folds, random_folds(units, seed=1))
    assert not np.array_equal(folds, random_folds(units, seed=2))


@pytest.mark.parametrize(
    ("fold", "says"),
    [
        ([0, 0, 0, 0], "fold 1 holds 0 forecasts"),
        ([0, 1, 0, 1], "fold 0 holds 2 forecasts, 0 of them with label 1: .* both classes"),
        ([0, 1, 1, 2], "fold holds 2.0 at index 3"),
        ([0, 1], r"lengths differ \(p 4, y 4, fold 2\)"),
    ],
    ids=["empty fold", "one class", "third fold", "lengths"],
)
def test_bad_folds_are_named(fold: list[int], says: str) -> None:
    with pytest.raises(DataError, match=says):
        crossfit_platt([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1], fold)


def test_one_class_has_no_fit() -> None:
    with pytest.raises(DataError, match=r"undefined: all 2 labels are 1, .* both classes"):
        platt_fit([0.1, 0.6], [1, 1])


@pytest.mark.parametrize(
    ("p", "a", "says"),
    [
        ([], 1.0, "p is empty"),
        ([0.5, 1.5], 1.0, "outside the range"),
        ([0.5], np.nan, r"coefficients \(a, b\) holds nan"),
    ],
    ids=["empty", "out of range", "NaN slope"],
)
def test_map_names_bad_input(p: list[float], a: float, says: str) -> None:
    with pytest.raises(DataError, match=says):
        platt_apply(p, a, 0.0)


def test_one_unit_cannot_be_folded() -> None:
    with pytest.raises(DataError, match="1 units are too few"):
        random_folds(["gene"] * 4, seed=0)
