"""Scores against hand-worked values, their own identities, and every pair compared one by one."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bed.errors import DataError
from bed.evaluation import (
    STATISTICS,
    auroc,
    bin_index,
    brier,
    ece,
    histogram,
    log_score,
    murphy,
    reliability_curve,
    roc_curve,
    smece,
)
from bed.seeds import generator

Array = NDArray[np.float64]

P = np.array([0.1, 0.4, 0.35, 0.8])
Y = np.array([0, 0, 1, 1])

SCORES: dict[str, Callable[..., float]] = {
    "brier": brier,
    "log_score": log_score,
    "auroc": auroc,
    "ece": ece,
    "smece": smece,
    "reliability": lambda p, y: murphy(p, y).reliability,
    "resolution": lambda p, y: murphy(p, y).resolution,
    "uncertainty": lambda p, y: murphy(p, y).uncertainty,
}


def drawn(n: int = 60, decimals: int = 2) -> tuple[Array, Array]:
    rng = generator(1, "forecasts")
    p = np.round(rng.random(n), decimals)
    return p, (rng.random(n) < p).astype(np.float64)


# Forecasts on a grid, so that ties and bin edges are common.
FORECASTS = st.lists(
    st.tuples(st.integers(0, 40).map(lambda k: k / 40), st.integers(0, 1)), min_size=1, max_size=40
)


@pytest.mark.parametrize(
    ("score", "p", "y", "value"),
    [
        (brier, P, Y, (0.01 + 0.16 + 0.4225 + 0.04) / 4),
        (brier, [0, 1], [1, 0], 1.0),
        (log_score, [0.5, 0.25], [1, 0], (math.log2(0.5) + math.log2(0.75)) / 2),
        (log_score, [0, 1], [0, 1], 0.0),
        (log_score, [0, 0.5], [1, 1], -math.inf),
        (auroc, P, Y, 0.75),
        (auroc, [0.3, 0.3, 0.3, 0.7], [0, 1, 1, 1], 2 / 3),
        (auroc, [-3.0, 5.0], [1, 0], 0.0),
        (ece, [0.05, 0.05, 0.95, 0.95], [0, 1, 1, 1], 0.25),
        (ece, [0.7, 0.65], [1, 0], 0.175),
    ],
    ids=[
        "brier",
        "brier, sure and wrong",
        "log score",
        "log score, sure and right",
        "log score, the impossible happened",
        "auroc",
        "auroc with ties",
        "auroc of scores that are no probabilities",
        "ece",
        "ece, an edge and below it",
    ],
)
def test_score_by_hand(score: Callable[..., float], p: object, y: object, value: float) -> None:
    assert score(p, y) == pytest.approx(value, abs=1e-14)


def test_edges_of_bins() -> None:
    tenths = np.arange(11) / 10
    assert bin_index(tenths).tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert bin_index(tenths[1:] - 1e-12).tolist() == list(range(10))
    assert bin_index(tenths[1:-1] + 1e-12).tolist() == list(range(9))
    assert bin_index(tenths[:-1] + 1e-10).tolist() == list(range(10))


@given(FORECASTS)
def test_parts_of_the_brier_score_add_up(pairs: list[tuple[float, int]]) -> None:
    p, y = zip(*pairs, strict=True)
    parts = murphy(p, y)
    binned = parts.reliability - parts.resolution + parts.uncertainty
    assert parts.brier_binned == pytest.approx(binned, abs=1e-12)
    assert parts.brier == pytest.approx(brier(p, y), abs=1e-12)
    assert parts.within_bin_remainder == pytest.approx(parts.brier - binned, abs=1e-12)

    curve = reliability_curve(p, y)
    in_bin = np.searchsorted(curve.bin, bin_index(p))
    assert parts.brier_binned == pytest.approx(brier(curve.forecast[in_bin], y), abs=1e-12)
    distance = np.abs(curve.forecast - curve.share)
    assert ece(p, y) == pytest.approx(float(distance @ curve.count / len(p)), abs=1e-12)
    assert parts.reliability == pytest.approx(float(distance**2 @ curve.count / len(p)), abs=1e-12)


@given(FORECASTS)
def test_auroc_is_the_share_of_pairs_in_order(pairs: list[tuple[float, int]]) -> None:
    ones, zeros = ([p for p, y in pairs if y == label] for label in (1, 0))
    p, y = zip(*pairs, strict=True)
    if not (ones and zeros):
        with pytest.raises(DataError, match="needs both classes"):
            auroc(p, y)
        return
    wins = [(a > b) + (a == b) / 2 for a in ones for b in zeros]
    assert auroc(p, y) == pytest.approx(float(np.mean(wins)), abs=1e-12)
    curve = roc_curve(p, y)
    area = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
    assert area == pytest.approx(auroc(p, y), abs=1e-12)


def test_roc_curve_by_hand() -> None:
    curve = roc_curve(P, Y)
    assert curve.false_positive_rate.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0]
    assert curve.true_positive_rate.tolist() == [0.0, 0.5, 0.5, 1.0, 1.0]
    assert curve.threshold.tolist() == [math.inf, 0.8, 0.4, 0.35, 0.1]


def test_reliability_curve_leaves_empty_bins_out() -> None:
    curve = reliability_curve([0.25, 0.3, 0.3, 0.9], [0, 1, 1, 0])
    assert curve.bin.tolist() == [2, 8]
    assert curve.count.tolist() == [3, 1]
    assert curve.forecast == pytest.approx([0.85 / 3, 0.9])
    assert curve.share == pytest.approx([2 / 3, 0.0])


def test_histogram_merges_what_differs_by_rounding() -> None:
    values, counts = histogram([0.3, 0.1 + 0.2, 0.7, 0.1])
    assert values.tolist() == [0.1, 0.3, 0.7]
    assert counts.tolist() == [1, 2, 1]


@pytest.mark.parametrize("name", SCORES)
def test_statistic_of_repeated_rows_is_that_of_weights(name: str) -> None:
    p, y = drawn()
    weights = generator(2, "weights").integers(0, 4, size=(5, len(p))).astype(np.float64)
    repeated = [
        SCORES[name](np.repeat(p, times), np.repeat(y, times)) for times in weights.astype(int)
    ]
    assert STATISTICS[name](p, y, weights) == pytest.approx(repeated, abs=1e-11)


@pytest.mark.parametrize("name", SCORES)
def test_order_of_forecasts_does_not_matter(name: str) -> None:
    p, y = drawn()
    order = generator(3, "order").permutation(len(p))
    assert SCORES[name](p[order], y[order]) == pytest.approx(SCORES[name](p, y), abs=1e-12)


def test_every_statistic_has_a_score() -> None:
    assert set(STATISTICS) == set(SCORES)


@pytest.mark.parametrize(
    ("name", "undefined"),
    [(name, name == "auroc") for name in STATISTICS],
    ids=list(STATISTICS),
)
def test_draw_of_one_class(name: str, undefined: bool) -> None:
    weights = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    one_class, both = STATISTICS[name](P, Y.astype(np.float64), weights)
    assert np.isnan(one_class) == undefined
    assert not np.isnan(both)


@pytest.mark.parametrize("name", STATISTICS)
def test_draw_without_weight_is_undefined(name: str) -> None:
    assert np.isnan(STATISTICS[name](P, Y.astype(np.float64), np.zeros((1, 4)))).all()


@pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize(
    ("p", "y", "says"),
    [
        ([], [], "p is empty: at least one"),
        ([0.1, math.nan], [0, 1], "p holds nan at index 1: missing or not finite"),
        ([0.1, None], [0, 1], "p holds nan at index 1: missing or not finite"),
        ([0.1, 0.2], [0, math.nan], "y holds nan at index 1: missing or not finite"),
        ([0.1, math.inf], [0, 1], "p holds inf at index 1"),
        (["0.1", "0.2"], [0, 1], "p must hold numbers"),
        ([[0.1, 0.2]], [0, 1], r"p must be one list .* shape \(1, 2\)"),
        ([0.1, 0.2], [0, 2], "y holds 2.0 at index 1, not a binary label"),
        ([0.1, 0.2, 0.3], [0, 1], r"lengths differ \(p 3, y 2\)"),
    ],
    ids=["empty", "NaN", "None", "NaN label", "infinite", "text", "matrix", "label 2", "lengths"],
)
def test_bad_input_is_named(score: Callable[..., float], p: object, y: object, says: str) -> None:
    with pytest.raises(DataError, match=says):
        score(p, y)


@pytest.mark.parametrize("name", [name for name in SCORES if name != "auroc"])
def test_no_probability_is_refused(name: str) -> None:
    with pytest.raises(DataError, match=r"1.2, outside the range \[0, 1\]"):
        SCORES[name]([0.2, 1.2], [0, 1])
