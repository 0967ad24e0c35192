import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from bed.errors import DataError
from bed.estimators.bounds import sequence_bounds

PRIOR = 0.3
POSITIVE = np.array([[0.2, 0.4, 0.1], [0.7, 0.5, 0.6]])
"""P(result = 1 | theta) of three yes/no tests."""


def exact_bits() -> float:
    total = 0.0
    for history in product((0, 1), repeat=POSITIVE.shape[1]):
        given = np.where(np.array(history) == 1, POSITIVE, 1 - POSITIVE).prod(axis=1)
        joint = given * [1 - PRIOR, PRIOR]
        total += float(joint @ np.log2(given / joint.sum()))
    return total


def log_likelihood(num_histories: int, num_draws: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    theta = (rng.random((num_histories, 1 + num_draws)) < PRIOR).astype(int)
    results = rng.random((num_histories, POSITIVE.shape[1])) < POSITIVE[theta[:, 0]]
    given = np.where(results[:, None], POSITIVE, 1 - POSITIVE)
    logs = np.log(given).sum(axis=-1)
    return np.take_along_axis(logs, theta, axis=1)


@pytest.mark.parametrize("num_draws", [1, 3, 31, 255])
def test_bounds_hold_the_exact_information(num_draws: int) -> None:
    found = sequence_bounds(log_likelihood(4000, num_draws))
    # 4 standard errors: one chance in 30,000
    assert found.lower <= exact_bits() + 4 * found.lower_stderr
    assert found.upper >= exact_bits() - 4 * found.upper_stderr
    assert found.lower <= found.upper
    assert found.lower <= math.log2(num_draws + 1)


def test_bounds_close_as_contrastive_draws_grow() -> None:
    few, many = (sequence_bounds(log_likelihood(4000, n)) for n in (7, 1023))
    assert many.upper - many.lower < 0.1 * (few.upper - few.lower)
    assert many.lower == pytest.approx(exact_bits(), abs=4 * many.lower_stderr + 1e-3)
    assert many.upper == pytest.approx(exact_bits(), abs=4 * many.upper_stderr + 1e-3)


def test_bounds_by_hand() -> None:
    found = sequence_bounds(np.log([[0.8, 0.2, 0.4], [0.5, 0.5, 0.5]]))
    first = math.log2(0.8 * 3 / 1.4), math.log2(0.8 * 2 / 0.6)
    assert found.lower == pytest.approx(first[0] / 2)
    assert found.upper == pytest.approx(first[1] / 2)
    assert found.lower_stderr == pytest.approx(abs(first[0]) / 2)
    assert found.upper_stderr == pytest.approx(abs(first[1]) / 2)


def test_extreme_likelihoods_neither_overflow_nor_vanish() -> None:
    found = sequence_bounds([[-2000.0, -3000.0], [-2000.0, -2000.0]])
    assert found.lower == pytest.approx(0.5)
    assert found.upper == pytest.approx(500 / math.log(2))


def test_history_impossible_for_every_draw_makes_the_upper_bound_infinite() -> None:
    found = sequence_bounds([[-1.0, -np.inf, -np.inf], [-1.0, -1.0, -np.inf]])
    assert found.upper == np.inf
    assert math.isnan(found.upper_stderr)
    assert found.lower == pytest.approx((math.log2(3) + math.log2(1.5)) / 2)


def test_single_history_has_no_standard_error() -> None:
    assert math.isnan(sequence_bounds([[-1.0, -2.0]]).lower_stderr)


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ([-1.0, -2.0], r"shape \(2,\)"),
        ([[-1.0], [-2.0]], r"shape \(2, 1\).*one contrastive draw"),
        (np.zeros((0, 3)), r"shape \(0, 3\).*at least one history"),
        ([[-1.0, -2.0], [-1.0, np.nan]], "nan in row 1, column 1"),
        ([[-1.0, np.inf]], "inf in row 0, column 1"),
        ([[-np.inf, -1.0]], "-inf in row 0, column 0.*made the history"),
    ],
    ids=["flat", "no contrast", "no histories", "nan", "plus infinity", "impossible own"],
)
def test_malformed_likelihoods(logs: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        sequence_bounds(logs)  # type: ignore[arg-type]
