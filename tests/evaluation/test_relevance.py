import numpy as np
import pytest
from scipy.stats import spearmanr

from bed.errors import DataError
from bed.evaluation.relevance import (
    relative_weight_by_tier,
    relevance_spearman,
    resampled_spearman,
)
from bed.seeds import generator


def test_resampled_correlations_are_those_of_repeated_stubs() -> None:
    rng = generator("relevance")
    w, tier = np.round(rng.normal(size=60), 1), rng.integers(1, 5, 60)
    weights = rng.integers(0, 3, (4, 60))
    expected = [
        spearmanr(np.repeat(np.abs(w), row), -np.repeat(tier, row)).statistic for row in weights
    ]
    np.testing.assert_allclose(resampled_spearman(w, tier, weights.astype(float)), expected)


def test_a_draw_of_one_tier_has_no_correlation() -> None:
    draws = np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    found = resampled_spearman([1.0, 2.0, 3.0], [1, 1, 2], draws)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(relevance_spearman([1.0, 2.0, 3.0], [1, 1, 2]))


def test_moves_that_differ_by_rounding_alone_are_ties() -> None:
    assert relevance_spearman([0.1 + 0.2, 0.3, 1.0], [1, 2, 1]) == pytest.approx(
        relevance_spearman([0.3, 0.3, 1.0], [1, 2, 1])
    )


@pytest.mark.parametrize(
    ("w", "tier", "message"),
    [
        pytest.param([1.0, -1.0], [1, 2], "undefined", id="equal sizes"),
        pytest.param([1.0, 2.0], [3, 3], "undefined", id="equal tiers"),
        pytest.param([1.0, 2.0], [3], "lengths differ", id="lengths"),
        pytest.param([1.0, np.inf], [1, 2], "not finite", id="infinite"),
    ],
)
def test_correlations_that_are_refused(w: list[float], tier: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        relevance_spearman(w, tier)


def test_episodes_without_movement_are_left_out() -> None:
    found = relative_weight_by_tier([2.0, 1.0, 0.0, 0.0], [1, 2, 1, 3], ["a", "a", "b", "b"])
    assert found.means == pytest.approx({1: 4 / 3, 2: 2 / 3})


def test_relative_weights_of_resampled_episodes() -> None:
    found = relative_weight_by_tier([2.0, 1.0, 10.0, 30.0], [1, 2, 1, 2], ["a", "a", "b", "b"])
    draws = np.array([[2.0, 0.0], [0.0, 0.0]])
    expected = [[4 / 3, 2 / 3], [np.nan, np.nan]]
    np.testing.assert_allclose(found.resampled(draws), expected)
