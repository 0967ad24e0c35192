"""The slope of a belief's updates, on cases drawn from a law with a known slope."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from bed.belief import ExactBelief
from bed.errors import DataError
from bed.estimators import FactoredEIG, Slope, fit_slope, measured_slope
from bed.seeds import generator
from tests.factories import BentBelief, ScriptedBelief, exact_problems

Array = NDArray[np.float64]

REPEATS, CASES = 60, 600
SHRINKAGE = 0.01
"""What the priors on 600 cases take off the logarithm of the slopes tried here, at most."""


def cases(seed: int, reaction: float = 1.0, bias: float = 0.0) -> tuple[Array, Array, Array]:
    """Beliefs before and after a result, and the truth of each case.

    The truth is right to move by `update`; the belief moves by reaction * update + bias.
    """
    rng = generator("slope cases", seed)
    start, update = rng.normal(0.0, 1.0, CASES), rng.normal(0.0, 0.7, CASES)
    label = rng.random(CASES) < expit(start + update)
    return expit(start), expit(start + reaction * update + bias), label.astype(np.float64)


@cache
def fits(reaction: float, bias: float) -> list[Slope]:
    return [fit_slope(*cases(seed, reaction, bias)) for seed in range(REPEATS)]


BENT = pytest.mark.parametrize(
    ("reaction", "bias"),
    [(1.0, 0.0), (2.0, 0.0), (0.5, 0.0), (2.0, 0.6)],
    ids=["sound", "overreacting", "underreacting", "biased"],
)


@BENT
def test_the_slope_is_recovered(reaction: float, bias: float) -> None:
    logs = np.log([fit.slope for fit in fits(reaction, bias)])
    stderr = logs.std(ddof=1) / math.sqrt(REPEATS)
    assert abs(logs.mean() + math.log(reaction)) < 4 * stderr + SHRINKAGE
    intercepts = np.array([fit.intercept for fit in fits(reaction, bias)])
    stderr = intercepts.std(ddof=1) / math.sqrt(REPEATS)
    assert abs(intercepts.mean() + bias / reaction) < 4 * stderr + SHRINKAGE
    assert {fit.num_cases for fit in fits(reaction, bias)} == {CASES}


@BENT
def test_the_standard_error_is_the_scatter(reaction: float, bias: float) -> None:
    slopes = np.array([fit.slope for fit in fits(reaction, bias)])
    told = np.mean([fit.stderr for fit in fits(reaction, bias)])
    # the standard deviation of 60 is known to 9%
    assert slopes.std(ddof=1) / told == pytest.approx(1, abs=4 / math.sqrt(2 * (REPEATS - 1)))


def test_noisy_updates_deserve_less_trust() -> None:
    before, after, label = cases(0)
    rng = generator("noise")
    noisy = expit(np.log(after / (1 - after)) + rng.normal(0, 1.0, CASES))
    sound = fit_slope(before, after, label)
    # updates of variance 0.49 in noise of variance 1
    assert fit_slope(before, noisy, label).slope < 0.5 * sound.slope


def test_updates_of_one_case_widen_the_standard_error() -> None:
    before, after, label = cases(0)
    once = fit_slope(before, after, label)
    before, after, label = (np.repeat(values, 4) for values in (before, after, label))
    clustered = fit_slope(before, after, label, np.repeat(np.arange(CASES), 4))
    careless = fit_slope(before, after, label)
    assert clustered.num_cases == CASES
    assert clustered.slope == pytest.approx(careless.slope, rel=1e-9)
    assert clustered.slope == pytest.approx(once.slope, rel=0.02)  # the priors weigh a quarter
    assert clustered.stderr == pytest.approx(once.stderr, rel=0.05)
    assert careless.stderr == pytest.approx(clustered.stderr / 2, rel=0.05)


def test_few_cases_lead_to_no_extremes() -> None:
    found = fit_slope([0.5] * 10, [0.0, 1.0] * 5, [1, 0] * 5)
    assert 0.05 < found.slope < 1
    assert abs(found.intercept) < 4


def test_results_that_move_nothing_leave_the_prior() -> None:
    found = fit_slope([0.3] * 20, [0.3] * 20, [0, 1] * 10)
    assert found.slope == pytest.approx(1)
    assert found.stderr == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5] * 9, [0.6] * 9, [1] * 9), "9 resolved cases are too few for a slope; give 10"),
        (([0.5] * 20, [0.6] * 20, [1] * 20, [0, 1] * 10), "2 resolved cases are too few"),
        (([0.5] * 20, [0.6] * 20, [1] * 20), "all 20 cases have label 1; a slope needs both"),
        (([0.5] * 20, [0.6] * 20, [1, 0] * 10, [*range(19), 0]), "case 0 has both labels"),
        (([], [], []), "0 resolved cases are too few"),
        (([0.5] * 12, [0.6] * 12, [1] * 11 + [2]), "a label is neither 0 nor 1"),
        (([0.5] * 12, [0.6] * 12, [1] * 11 + [math.nan]), "a label is neither 0 nor 1"),
        (([0.5] * 12, [0.6] * 12, [1] * 11), r"labels \(11,\).*lists of one length"),
        (([0.5] * 12, [0.6] * 12, [1] * 12, [0]), r"cases \(1,\).*lists of one length"),
        (([[0.5] * 12], [[0.6] * 12], [[1] * 12]), "lists of one length"),
        (([1.5] * 12, [0.6] * 12, [1] * 12), "before holds 1.5"),
        (([0.5] * 12, [math.nan] * 12, [1] * 12), "after holds NaN"),
    ],
    ids=str,
)
def test_invalid_cases_are_refused(arguments: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_slope(*arguments)


@pytest.mark.parametrize("reaction", [1.0, 2.5])
def test_the_slope_of_a_belief_is_measured_on_resolved_episodes(reaction: float) -> None:
    posed = exact_problems("gaussian", 150)
    belief = BentBelief(ExactBelief(posed.worlds), reaction)
    found = measured_slope(belief, posed.episodes)
    assert abs(found.slope - 1 / reaction) < 4 * found.stderr
    assert found.stderr < 0.2 / reaction
    assert found.num_cases == 150
    FactoredEIG(belief, posed.models[1], slope=found.slope)


@pytest.mark.parametrize(("num_results", "asked"), [(1, 2), (8, 9), (16, 17), (99, 17)])
def test_each_episode_costs_one_query_more_than_results_are_shown(
    num_results: int, asked: int
) -> None:
    episodes = exact_problems("graded", 12).episodes
    belief = ScriptedBelief(lambda query: 0.6 if query.evidence else 0.5)
    measured_slope(belief, episodes, num_results)
    (batch,) = belief.batches
    for episode in episodes:
        of_episode = [query for query in batch if query.hypothesis == episode.target]
        assert len(of_episode) == asked
        assert len({query.seed for query in of_episode}) == 1
        shown = [query.evidence for query in of_episode]
        assert shown[0] == ()
        assert len(set(shown)) == asked
        assert {stub for evidence in shown for stub in evidence} <= set(episode.pool)
        assert max(len(evidence) for evidence in shown) == 1


def test_the_seed_decides_which_results_are_shown() -> None:
    posed = exact_problems("graded", 20)
    belief = ExactBelief(posed.worlds)
    first, again, other = (
        measured_slope(belief, posed.episodes, num_results=3, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first.slope != other.slope


def test_failed_queries_are_left_out() -> None:
    posed = exact_problems("graded", 24)
    exact = ExactBelief(posed.worlds)
    lost = {episode.target for episode in posed.episodes[:4]}

    belief = ScriptedBelief(
        lambda query: (
            "lost"
            if query.hypothesis in lost
            else float(exact.probabilities([query]).probabilities[0])
        )
    )
    found = measured_slope(belief, posed.episodes)
    assert found == measured_slope(exact, posed.episodes[4:])
    assert found.num_cases == 20


@pytest.mark.parametrize("num_results", [0, -1])
def test_at_least_one_result_must_be_shown(num_results: int) -> None:
    posed = exact_problems("graded", 12)
    with pytest.raises(DataError, match="num_results"):
        measured_slope(ExactBelief(posed.worlds), posed.episodes, num_results)


def test_episodes_without_results_tell_nothing() -> None:
    posed = exact_problems("graded", 16)
    belief = ExactBelief(posed.worlds)
    first, *rest = posed.episodes
    empty = replace(first, pool=(), tiers=(), tags=())
    assert measured_slope(belief, [empty, *rest]) == measured_slope(belief, rest)
    with pytest.raises(DataError, match="0 resolved cases are too few"):
        measured_slope(belief, [])
