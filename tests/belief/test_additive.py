"""The additive belief on a law in which log odds really add up (`factories.additive_episode`)."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bed.belief import additive, fit_additive_belief, fit_platt
from bed.belief.additive import AdditiveBelief
from bed.errors import DataError
from bed.evidence import Evidence, Fields, Outcome, Stub
from bed.information import log_odds, probability
from bed.protocols import BeliefQuery
from tests.factories import (
    CONTROL,
    FAR,
    NEAR,
    SHARE_SUPPORTED,
    additive_belief,
    additive_episode,
    chronos,
    dependency,
    knockout,
)

TARGET = dependency("G", "HOME")


def near(count: int, effect: float = -1.0) -> Evidence:
    return tuple(chronos(knockout("G", f"N{i}"), effect) for i in range(count))


def far(count: int, effect: float = -1.0) -> Evidence:
    return tuple(chronos(knockout("G", f"F{i}", "SKIN"), effect) for i in range(count))


def controls(count: int, effect: float = -1.0) -> Evidence:
    return tuple(chronos(knockout(f"U{i}", "HOME"), effect) for i in range(count))


def odds(*evidence: Evidence) -> NDArray[np.float64]:
    queries = [BeliefQuery(TARGET, known) for known in evidence]
    return log_odds(additive_belief().probabilities(queries).probabilities)


@cache
def fresh() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Forecasts, true posteriors and labels of fresh episodes with random contexts."""
    rng = np.random.default_rng(0)
    queries, truth, labels = [], [], []
    for number in range(1500):
        episode = additive_episode(number, "test")
        members = rng.permutation(12)[: rng.integers(0, 13)]
        weight = 0.0
        for i in members:
            p0, p1 = SHARE_SUPPORTED[episode.tags[i]]
            is_supported = episode.pool[i].outcome.fields["chronos"] <= -0.5
            weight += math.log(p1 / p0) if is_supported else math.log((1 - p1) / (1 - p0))
        queries.append(BeliefQuery(episode.target, tuple(episode.pool[i] for i in members)))
        truth.append(weight)
        labels.append(episode.label)
    forecasts = additive_belief().probabilities(queries).probabilities
    return forecasts, probability(truth), np.array(labels)


def test_forecasts_of_fresh_episodes_are_calibrated() -> None:
    p, _, label = fresh()
    slope, intercept = fit_platt(p, label)
    x = np.stack([log_odds(p, 1e-3), np.ones(len(p))], axis=1)
    fitted = probability(x @ [slope, intercept])
    covariance = np.linalg.inv(x.T @ (x * (fitted * (1 - fitted))[:, None]))
    error = np.sqrt(np.diag(covariance))
    # four standard errors of the recalibration fit
    assert abs(slope - 1) < 4 * error[0]
    assert abs(intercept) < 4 * error[1]
    assert 4 * error[0] < 0.3


def test_forecasts_are_near_the_true_posterior() -> None:
    p, truth, _ = fresh()
    assert np.corrcoef(log_odds(p), log_odds(truth))[0, 1] > 0.95
    assert np.abs(p - truth).mean() < 0.06


def test_evidence_moves_belief_in_its_direction_and_by_its_strength() -> None:
    start, up_near, up_far, down_near, down_far, unrelated = odds(
        (), near(1), far(1), near(1, 0.0), far(1, 0.0), controls(1)
    )
    assert down_near < down_far < start < up_far < up_near
    assert abs(start) < 0.3
    assert abs(unrelated - start) < 0.5 * (up_near - start)


def test_repeated_evidence_saturates() -> None:
    start, one, four, twenty = odds((), near(1), near(4), near(20))
    assert start < one < four < twenty
    assert twenty - start < 0.5 * 20 * (one - start)
    copies = near(1) * 20
    start, repeated = odds((), copies)
    assert repeated == pytest.approx(twenty)
    assert math.isfinite(odds(near(1) * 2000)[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_evidence_does_not_matter(seed: int) -> None:
    evidence = (*near(3), *far(2, -0.2), *near(1, 0.6), *controls(2))
    order = np.random.default_rng(seed).permutation(len(evidence))
    plain, shuffled = odds(evidence, tuple(evidence[i] for i in order))
    assert shuffled == pytest.approx(plain, abs=1e-5)


def test_relations_never_seen_in_training_change_nothing() -> None:
    other = chronos(knockout("A", "ELSEWHERE", "BONE"), -2.0)
    assert additive_belief().tags == tuple(sorted((NEAR, FAR, CONTROL)))
    before, after, mixed, known = odds((), (other,), (*near(1), other), near(1))
    assert before == after
    assert mixed == known


def test_an_unreadable_outcome_of_an_unknown_relation_changes_nothing() -> None:
    broken = Stub(knockout("A", "ELSEWHERE", "BONE"), Outcome(Fields()))
    assert odds((broken,)) == odds(())


def num_programs() -> int:
    compiled: Any = additive._mean_probability
    return int(compiled._cache_size())


def test_all_batches_share_one_program() -> None:
    belief = additive_belief()
    query = BeliefQuery(TARGET, near(2))
    belief.probabilities([query])
    before = num_programs()
    sizes = [*range(1, 66), 128, 200]
    answers = [belief.probabilities([query] * size).probabilities for size in sizes]
    assert num_programs() == before
    assert [len(found) for found in answers] == sizes
    assert len(np.unique(np.concatenate(answers))) == 1


def test_the_company_of_a_query_does_not_change_its_answer() -> None:
    """To the last bit, so that shards may be cut anywhere."""
    belief = additive_belief()
    rng = np.random.default_rng(0)
    queries = [
        BeliefQuery(
            TARGET, (*near(int(rng.integers(9)), -rng.random()), *far(int(rng.integers(9))))
        )
        for _ in range(150)
    ]
    together = belief.probabilities(queries).probabilities
    assert len(np.unique(together)) > 100
    order = rng.permutation(len(queries))
    shuffled = belief.probabilities([queries[i] for i in order]).probabilities
    assert np.array_equal(shuffled, together[order])
    alone = [belief.probabilities([query]).probabilities[0] for query in queries]
    assert np.array_equal(alone, together)


def test_probabilities_average_over_draws_of_the_posterior() -> None:
    belief = additive_belief()
    ones = np.ones(belief.intercept.shape, dtype=np.float32)
    zeros = np.zeros_like(belief.weight)
    two = AdditiveBelief(
        belief.tags,
        np.where(np.arange(len(ones)) % 2, 2.0, -1.0).astype(np.float32) * ones,
        zeros,
        zeros,
        belief.redundancy,
    )
    found = two.probabilities([BeliefQuery(TARGET, near(3))]).probabilities[0]
    assert found == pytest.approx((probability(2.0) + probability(-1.0)) / 2, abs=1e-6)


def test_the_formula_for_one_setting_of_the_parameters() -> None:
    def table(value: float) -> NDArray[np.float32]:
        return np.full((1, 1, 3), value, dtype=np.float32)

    one = AdditiveBelief(
        (NEAR,), np.array([0.2], np.float32), table(0.7), table(0.3), np.array([[0.5]], np.float32)
    )
    # three stubs, scores 1, 1 and -0.5, and a design effect of 1 + 2 * 0.5
    evidence = (*near(2), *near(3, -0.25)[2:])
    found = one.probabilities([BeliefQuery(TARGET, evidence)]).probabilities[0]
    expected = 0.2 + (3 * 0.7 + 1.5 * 0.3) / 2
    assert log_odds(found) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_of_labels_is_refused(label: int) -> None:
    episodes = [e for e in (additive_episode(i, "train") for i in range(20)) if e.label == label]
    with pytest.raises(DataError, match=r"episodes of both labels, got .* one class only"):
        fit_additive_belief(episodes)


def test_no_episodes_are_refused() -> None:
    with pytest.raises(DataError, match="got 0 of"):
        fit_additive_belief([])


@pytest.mark.parametrize(
    ("units", "labels", "share"),
    [
        ("abcd", (0, 1, 0, 1), 1.0),  # every episode a unit of its own
        ("aabb", (0, 0, 1, 1), 0.5),  # two of a unit say the same thing
        ("aabb", (0, 1, 0, 1), 1.0),  # within a unit labels differ more than by chance
        ("aaaabbbb", (0, 0, 0, 0, 1, 1, 1, 1), 0.25),
        ("aaaabbbb", (0, 0, 0, 1, 1, 1, 1, 0), 0.625),  # correlation 1/5: 1 / (1 + 3/5)
    ],
)
def test_labels_of_one_unit_count_by_their_correlation(
    units: str, labels: tuple[int, ...], share: float
) -> None:
    episodes = [
        replace(additive_episode(i, "train"), unit=unit, label=label)
        for i, (unit, label) in enumerate(zip(units, labels, strict=True))
    ]
    assert additive._independent_share(episodes) == pytest.approx([share] * len(units), abs=1e-6)
