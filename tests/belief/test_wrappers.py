"""Platt recalibration, averages over orders and over repeats."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from bed.belief import PermutationAveraged, Recalibrated, Repeated, WithNoise, fit_platt
from bed.errors import DataError
from bed.information import log_odds, probability
from bed.protocols import BeliefQuery
from bed.seeds import derive_seed, uniform
from tests.factories import TARGET, BentBelief, ScriptedBelief, flag, plains, two_way_belief

EVIDENCE = tuple(flag(x, True) for x in plains(4))


def first_counts_most(query: BeliefQuery) -> float:
    """A belief that minds the order: only the first stub's number matters."""
    if not query.evidence:
        return 0.5
    return 0.1 + 0.2 * int(query.evidence[0].experiment.id[1:])


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.5, 0.3), (2.0, -1.0)])
def test_platt_recovers_what_bent_the_forecasts(slope: float, intercept: float) -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(0, 1.5, 6000)
    label = rng.random(6000) < probability(slope * odds + intercept)
    found = fit_platt(probability(odds), label)
    x = np.stack([odds, np.ones(6000)], axis=1)
    p = probability(x @ [slope, intercept])
    error = np.sqrt(np.diag(np.linalg.inv(x.T @ (x * (p * (1 - p))[:, None]))))
    assert (np.abs(np.subtract(found, (slope, intercept))) < 4 * error).all()


def test_platt_solves_its_equations() -> None:
    p, y = np.array([0.1, 0.4, 0.6, 0.9, 0.8, 0.3]), np.array([0, 1, 1, 1, 0, 0])
    slope, intercept = fit_platt(p, y)
    residual = probability(slope * log_odds(p) + intercept) - y
    # likelihood equations of the penalised fit
    assert residual.sum() == pytest.approx(0, abs=1e-4)
    assert (residual * log_odds(p)).sum() + slope / 1e6 == pytest.approx(0, abs=1e-4)


def test_platt_of_forecasts_without_information() -> None:
    slope, intercept = fit_platt([0.5, 0.5, 0.5, 0.5], [0, 1, 1, 1])
    assert probability(intercept) == pytest.approx(0.75, abs=1e-4)
    assert math.isfinite(slope)


def test_platt_of_certain_and_separable_forecasts_is_finite() -> None:
    slope, intercept = fit_platt([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1])
    assert 0 < slope < 100
    assert abs(intercept) < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_platt([0.2, 0.8], [1, 1]), "labels of one class"),
        (lambda: fit_platt([0.2, 0.8], [0, 2]), "not binary"),
        (lambda: fit_platt([0.2, 0.8], [0, math.nan]), "not binary"),
        (lambda: fit_platt([0.2, 0.8, 0.5], [0, 1]), "differ in shape"),
        (lambda: fit_platt([0.2, math.nan], [0, 1]), "holds NaN"),
        (lambda: fit_platt([0.2, 1.2], [0, 1]), "outside the range"),
        (lambda: fit_platt([], []), "one class"),
        (lambda: Recalibrated(ScriptedBelief(first_counts_most), 0.0), "slope 0.0"),
        (lambda: Recalibrated(ScriptedBelief(first_counts_most), math.inf), "slope inf"),
        (lambda: Recalibrated(ScriptedBelief(first_counts_most), 1, math.nan), "intercept nan"),
        (lambda: PermutationAveraged(ScriptedBelief(first_counts_most), 0), "at least one order"),
        (lambda: Repeated(ScriptedBelief(first_counts_most), 1), "num_draws is 1; .* two draws"),
        (lambda: WithNoise(ScriptedBelief(first_counts_most), -0.1), "noise -0.1 must be"),
        (lambda: WithNoise(ScriptedBelief(first_counts_most), math.nan), "noise nan must be"),
    ],
)
def test_invalid_settings_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


@pytest.mark.parametrize(
    ("raw", "slope", "intercept", "mended"),
    [
        (0.9, 0.5, 0.0, 0.75),
        (0.5, 3.0, math.log(3), 0.75),
        (0.2, 1.0, 0.0, 0.2),
        (1.0, 1.0, 0.0, 0.999),
        (0.0, 1.0, 0.0, 0.001),
    ],
)
def test_recalibrated(raw: float, slope: float, intercept: float, mended: float) -> None:
    model = Recalibrated(ScriptedBelief(lambda query: raw), slope, intercept)
    assert model.probabilities([BeliefQuery(TARGET)]).probabilities == pytest.approx([mended])


def test_recalibration_keeps_failures() -> None:
    model = Recalibrated(
        ScriptedBelief(lambda query: "unreadable" if query.seed == 1 else 0.9), 0.5
    )
    answers = model.probabilities([BeliefQuery(TARGET, seed=seed) for seed in range(3)])
    assert answers.reasons == (None, "unreadable", None)
    assert answers.probabilities == pytest.approx([0.75, math.nan, 0.75], nan_ok=True)


def test_one_order_is_the_belief_itself() -> None:
    inner = ScriptedBelief(first_counts_most)
    model = PermutationAveraged(inner, 1)
    answer = model.probabilities([BeliefQuery(TARGET, EVIDENCE)])
    assert answer.probabilities.tolist() == [first_counts_most(BeliefQuery(TARGET, EVIDENCE))]
    assert len(inner.queries) == 1


def test_averaging_mends_a_belief_that_minds_the_order() -> None:
    inner = ScriptedBelief(first_counts_most)
    model = PermutationAveraged(inner, 400)
    p = model.probabilities([BeliefQuery(TARGET, EVIDENCE)]).probabilities[0]
    # the first stub is uniform over the four: mean 0.4, standard deviation 0.2 * sqrt(5/4)
    assert abs(p - 0.4) < 4 * 0.2 * math.sqrt(1.25 / 400)
    assert {frozenset(query.evidence) for query in inner.queries} == {frozenset(EVIDENCE)}


def test_the_given_order_comes_first_and_every_query_keeps_its_seed() -> None:
    inner = ScriptedBelief(first_counts_most)
    queries = [BeliefQuery(TARGET, EVIDENCE, 3), BeliefQuery(TARGET, EVIDENCE[:2], 4)]
    answers = PermutationAveraged(inner, 3).probabilities(queries)
    assert len(inner.batches) == 1
    assert [query.seed for query in inner.queries] == [3] * 3 + [4] * 3
    assert inner.queries[0] == queries[0]
    assert inner.queries[3] == queries[1]
    expected = [np.mean([first_counts_most(q) for q in inner.queries[i : i + 3]]) for i in (0, 3)]
    assert answers.probabilities == pytest.approx(expected)


def test_a_failed_order_fails_its_query_alone() -> None:
    def answer(query: BeliefQuery) -> float | str:
        is_swapped = query.evidence[0].experiment.id == "x1"
        return "no parse" if query.seed == 1 and is_swapped else 0.7

    model = PermutationAveraged(ScriptedBelief(answer), 12)
    queries = [BeliefQuery(TARGET, EVIDENCE[:2], seed) for seed in range(3)]
    answers = model.probabilities(queries)
    assert answers.reasons == (None, "no parse", None)
    assert answers.probabilities == pytest.approx([0.7, math.nan, 0.7], nan_ok=True)


def by_seed(query: BeliefQuery) -> float:
    """A belief that answers with a new number for every seed."""
    return 0.2 + 0.6 * uniform(query.seed)


def test_repeats_are_averaged_with_their_noise() -> None:
    inner = ScriptedBelief(by_seed)
    queries = [BeliefQuery(TARGET, EVIDENCE, 3), BeliefQuery(TARGET, (), 4)]
    answers = Repeated(inner, 5).probabilities(queries)
    assert len(inner.batches) == 1
    assert [(q.hypothesis, q.evidence) for q in inner.queries] == [
        (q.hypothesis, q.evidence) for q in queries for _ in range(5)
    ]
    assert len({query.seed for query in inner.queries}) == 10
    assert answers.noise is not None
    for row in range(2):
        drawn = np.array([by_seed(query) for query in inner.queries[5 * row : 5 * row + 5]])
        p = drawn.mean()
        assert answers.probabilities[row] == pytest.approx(p)
        # the slope of the log odds is 1 / p (1 - p)
        spread = drawn.std(ddof=1) / math.sqrt(5) / (p * (1 - p))
        assert answers.noise[row] == pytest.approx(spread)


def test_noise_by_hand() -> None:
    seen = iter([0.3, 0.5, 1.0, 1.0])
    answers = Repeated(ScriptedBelief(lambda query: next(seen)), 2).probabilities(
        [BeliefQuery(TARGET, (), seed) for seed in (0, 1)]
    )
    assert answers.probabilities.tolist() == pytest.approx([0.4, 1.0])
    # half the difference of two, over 0.4 * 0.6; and none where both are certain
    assert answers.noise == pytest.approx([0.1 / 0.24, 0.0])


def test_the_noise_is_the_scatter_of_the_mean() -> None:
    model = Repeated(BentBelief(two_way_belief(0.3), jitter=0.3), 4)
    answers = model.probabilities([BeliefQuery(TARGET, (), seed) for seed in range(2000)])
    scatter = log_odds(answers.probabilities).std()
    assert answers.noise is not None
    # 0.3 / sqrt(4), each known to 1/sqrt(4000); the second order takes about 1%
    told = math.sqrt((answers.noise**2).mean())
    for found in (scatter, told):
        assert found == pytest.approx(0.15, rel=4 / math.sqrt(4000) + 0.02)


def test_a_failed_repeat_fails_its_query_alone() -> None:
    seeds = [derive_seed(1, "repeat", draw) for draw in range(3)]
    model = Repeated(ScriptedBelief(lambda q: "no parse" if q.seed == seeds[2] else 0.7), 3)
    answers = model.probabilities([BeliefQuery(TARGET, (), seed) for seed in range(3)])
    assert answers.reasons == (None, "no parse", None)
    assert answers.probabilities == pytest.approx([0.7, math.nan, 0.7], nan_ok=True)
    assert answers.noise == pytest.approx([0.0, math.nan, 0.0], nan_ok=True, abs=1e-12)


def test_orders_scatter_too() -> None:
    query = BeliefQuery(TARGET, EVIDENCE)
    # one order, or evidence that has one only, tells nothing of the noise
    for orders, evidence in ((1, EVIDENCE), (4, EVIDENCE[:1]), (4, ())):
        alone = PermutationAveraged(ScriptedBelief(first_counts_most), orders)
        noise = alone.probabilities([BeliefQuery(TARGET, evidence)]).noise
        assert np.isnan(np.asarray(noise)).all()
    inner = ScriptedBelief(first_counts_most)
    answers = PermutationAveraged(inner, 6).probabilities([query])
    drawn = np.array([first_counts_most(asked) for asked in inner.queries])
    p = drawn.mean()
    spread = drawn.std(ddof=1) / math.sqrt(6) / (p * (1 - p))
    assert answers.noise == pytest.approx([spread])


def test_recalibration_stretches_the_noise() -> None:
    sampled = Repeated(ScriptedBelief(by_seed), 4)
    raw, mended = (
        model.probabilities([BeliefQuery(TARGET, (), seed) for seed in range(3)]).noise
        for model in (sampled, Recalibrated(sampled, 0.4, 1.0))
    )
    assert raw is not None
    assert mended == pytest.approx(0.4 * raw)
    plain = Recalibrated(ScriptedBelief(by_seed), 0.4)
    assert plain.probabilities([BeliefQuery(TARGET)]).noise is None


def test_measured_noise_stands_in_for_what_a_model_does_not_tell() -> None:
    silent = ScriptedBelief(lambda query: "no parse" if query.seed == 1 else 0.7)
    queries = [BeliefQuery(TARGET, (), seed) for seed in range(3)]
    answers = WithNoise(silent, 0.2).probabilities(queries)
    assert answers.reasons == (None, "no parse", None)
    assert answers.noise == pytest.approx([0.2, math.nan, 0.2], nan_ok=True)
    # one order tells no noise; the larger of two that are told stays
    unknown = PermutationAveraged(ScriptedBelief(first_counts_most), 1)
    assert WithNoise(unknown, 0.2).probabilities(queries).noise == pytest.approx([0.2] * 3)
    told = Repeated(ScriptedBelief(by_seed), 4).probabilities(queries).noise
    assert told is not None
    between = float(np.median(told))
    both = WithNoise(Repeated(ScriptedBelief(by_seed), 4), between).probabilities(queries).noise
    assert both == pytest.approx(np.maximum(told, between))
