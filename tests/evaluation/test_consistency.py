import numpy as np
import pytest
from numpy.typing import ArrayLike

from bed.errors import DataError
from bed.evaluation.consistency import composition_residual, position_bias
from bed.information import probability

NAMES = ("p0", "p_support", "p_refute", "p_support_first", "p_refute_first")


def forecasts(*odds: ArrayLike) -> dict[str, ArrayLike]:
    return dict(zip(NAMES, (probability(value) for value in odds), strict=True))


def test_position_does_not_matter_to_a_sum_of_evidence() -> None:
    found = position_bias(np.full((3, 4), 0.7))
    assert found.mean_db == 0
    assert found.centred_mean_by_position.tolist() == [0.0] * 4


def test_a_stub_that_counts_more_in_front() -> None:
    found = position_bias([[0.8, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]])
    assert found.mean_db == pytest.approx(5 * np.log10(4))
    assert found.centred_mean_by_position[0] > 0


def test_weights_that_add_up_leave_no_residual() -> None:
    prior, up, down = np.array([-0.3, 0.8]), np.array([1.0, 0.4]), np.array([-0.6, -1.5])
    both = prior + up + down
    found = composition_residual({"a": forecasts(prior, prior + up, prior + down, both, both)})
    np.testing.assert_allclose(found.signed_per_episode["a"], 0.0, atol=1e-9)


def test_opposite_residuals_cancel_only_in_the_mean() -> None:
    none = np.zeros(1)
    found = composition_residual(
        {
            "more": forecasts(none, none, none, none + 1, none + 1),
            "less": forecasts(none, none, none, none - 1, none - 1),
        }
    )
    one = 10 / np.log(10)
    assert found.signed_mean_by_domain == pytest.approx({"more": one, "less": -one})
    assert found.abs_of_macro_mean == pytest.approx(0.0, abs=1e-9)
    assert found.macro_of_abs_domain_mean == pytest.approx(one)
    assert found.macro_mean_of_abs == pytest.approx(one)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param({}, "no domains", id="no domains"),
        pytest.param({"a": {"p0": [0.5]}}, "'p_support'.* are missing", id="missing"),
        pytest.param(
            {"a": dict(zip(NAMES, [[0.5], [0.5], [0.5], [0.5], [0.5, 0.5]], strict=True))},
            "differ in length",
            id="lengths",
        ),
    ],
)
def test_compositions_that_are_refused(
    given: dict[str, dict[str, ArrayLike]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        composition_residual(given)


def test_another_number_of_positions_is_refused() -> None:
    with pytest.raises(DataError, match=r"shape \(1, 3\)"):
        position_bias([[0.5, 0.6, 0.7]])
