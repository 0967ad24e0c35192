import numpy as np
import pytest

from bed.errors import DataError
from bed.evaluation.revision import (
    Updates,
    bearing,
    by_verdict,
    cumulative_to_truth,
    reaction,
    updates_from_forecasts,
    verdict,
)
from bed.evidence import Experiment, Fields, Hypothesis, Outcome, Stub
from tests.factories import TARGET, chronos, dependency, flag, knockout, plain


def regulation(direction: str) -> Hypothesis:
    fields = Fields(claim="regulation", gene="G", direction=direction)
    return Hypothesis(f"Drug D moves G {direction}", "expression", fields)


def measured(direction: str, change: float) -> Stub:
    """A significant change of a gene, by an experiment that claims a direction."""
    experiment = Experiment("x", regulation(direction), fields=Fields(kind="differential"))
    return Stub(experiment, Outcome(Fields(log2_fold_change=change, p_adjusted=1e-6)))


def association(p: float) -> Stub:
    local = Hypothesis("S is associated with T", "gwas")
    return Stub(
        Experiment("a", local, fields=Fields(kind="association")), Outcome(Fields(p_value=p))
    )


def test_updates_of_paths_of_different_lengths() -> None:
    found = updates_from_forecasts([[0.5, 0.8, 0.8], [0.2, 0.5]], [1, 0])
    np.testing.assert_allclose(found.weight_db, [10 * np.log10(4), 10 * np.log10(4)], atol=1e-9)
    np.testing.assert_allclose(found.log_odds, [0.0, -np.log(4)], atol=1e-9)
    assert found.theta.tolist() == [1, 0]
    assert found.episode.tolist() == [0, 1]
    assert found.step.tolist() == [1, 1]
    assert found.num_zero == 1


def test_equal_moves_of_a_grid_are_equal_updates() -> None:
    grid = np.array([0.1 + 0.2, 0.3, 0.6000000000000001, 0.6])
    found = updates_from_forecasts([grid], [1])
    assert found.num_zero == 2
    assert found.weight_db.size == 1


@pytest.mark.parametrize(
    ("forecasts", "theta", "message"),
    [
        pytest.param([], [], "empty", id="none"),
        pytest.param([[0.5]], [1], "too few", id="one forecast"),
        pytest.param([[0.5, np.nan]], [1], "NaN", id="missing"),
        pytest.param([[0.5, 1.2]], [1], r"outside the range \[0, 1\]", id="no probability"),
        pytest.param([[0.5, 0.6]], [2], "binary label", id="no label"),
        pytest.param([[0.5, 0.6]], [1, 0], "lengths differ", id="too many labels"),
    ],
)
def test_paths_that_are_refused(
    forecasts: list[list[float]], theta: list[int], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        updates_from_forecasts(forecasts, theta)


def test_updates_of_different_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="lengths differ"):
        Updates.of([0.0, 1.0], [1.0], [1])


@pytest.mark.parametrize(
    ("target", "stub", "expected"),
    [
        pytest.param(
            dependency("G", "C"), chronos(knockout("G", "D"), -1.0), "supporting", id="dependency"
        ),
        pytest.param(
            dependency("G", "C"), chronos(knockout("G", "D"), 0.4), "refuting", id="no dependency"
        ),
        pytest.param(regulation("up"), measured("up", 2.0), "supporting", id="up as claimed"),
        pytest.param(
            regulation("up"), measured("down", 2.0), "supporting", id="up, tested for down"
        ),
        pytest.param(regulation("up"), measured("down", -2.0), "refuting", id="down as tested"),
        pytest.param(TARGET, association(1e-9), "significant", id="significant"),
        pytest.param(TARGET, association(1e-6), "sub-threshold", id="sub-threshold"),
        pytest.param(TARGET, flag(plain(0), False), "refuting", id="flag"),
        pytest.param(
            TARGET, Stub(plain(0), Outcome(Fields(text="it grew"))), "in words", id="words"
        ),
    ],
)
def test_verdict(target: Hypothesis, stub: Stub, expected: str) -> None:
    assert verdict(target, stub) == expected


def test_bearing_is_the_same_whichever_direction_was_tested() -> None:
    up = bearing(regulation("up"), measured("up", 2.0))
    assert up == bearing(regulation("up"), measured("down", 2.0))
    assert up.score > 0 > bearing(regulation("down"), measured("down", 2.0)).score


def test_weights_by_verdict() -> None:
    even = [0.5, 0.8, 0.5]
    found = by_verdict([even, [0.5, 0.2]], [["supporting", "refuting"], ["refuting"]])
    move = 10 * np.log10(4)
    assert found["supporting"].mean_db == pytest.approx(move)
    assert found["refuting"].mean_db == pytest.approx(-move)
    assert found["refuting"].count.tolist() == [1, 1]


def test_weights_by_verdict_of_resampled_episodes() -> None:
    found = by_verdict([[0.5, 0.8], [0.5, 0.5, 0.8]], [["a"], ["a", "b"]])
    draws = np.array([[1.0, 1.0], [3.0, 0.0], [0.0, 2.0]])
    move = 10 * np.log10(4)
    np.testing.assert_allclose(found["a"].resampled(draws), [move / 2, move, 0.0], atol=1e-9)
    np.testing.assert_allclose(found["b"].resampled(draws), [move, np.nan, move], atol=1e-9)


def test_verdicts_that_do_not_fit_the_path_are_refused() -> None:
    with pytest.raises(DataError, match="episode 0: 2 updates with 1 verdicts"):
        by_verdict([[0.5, 0.6, 0.7]], [["a"]])


def test_cumulative_weight_is_oriented_to_the_truth() -> None:
    found = cumulative_to_truth([[0.5, 0.8, 0.8], [0.5, 0.2]], [1, 0])
    move = 10 * np.log10(4)
    np.testing.assert_allclose(found.per_episode, [[0, move, move], [0, move, np.nan]])
    np.testing.assert_allclose(found.mean, [0, move, move])
    assert found.count.tolist() == [2, 2, 1]


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        pytest.param(0.4, 0.9, "overreacts", id="below 1"),
        pytest.param(1.1, 1.5, "underreacts", id="above 1"),
        pytest.param(0.9, 1.1, "cannot be told", id="holds 1"),
        pytest.param(0.5, 1.0, "cannot be told", id="ends at 1"),
    ],
)
def test_reaction_in_words(low: float, high: float, words: str) -> None:
    assert reaction(low, high) == words


def test_an_interval_that_is_none_is_refused() -> None:
    with pytest.raises(DataError, match="not in order, or not finite"):
        reaction(float("nan"), 1.0)
