"""What estimators ask of their models: how often, with which seeds, and what a failure does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bed.errors import BedError, NothingScoredError
from bed.estimators import Estimator, FactoredEIG, NestedMonteCarloEIG
from bed.estimators.factored import Coupling
from bed.evidence import Experiment
from bed.policies import InformationPolicy, choose_one
from bed.protocols import BeliefQuery, Beliefs, DesignProblem, OutcomeRequest, Outcomes
from bed.seeds import derive_seed, uniform
from tests.factories import (
    TARGET,
    ScriptedBelief,
    ScriptedSimulator,
    flag,
    plain,
    plains,
    two_way_belief,
)

ESTIMATORS: dict[str, Callable[..., Estimator]] = {
    "factored": FactoredEIG,
    "paper": FactoredEIG.paper,
    "nested": NestedMonteCarloEIG,
}
every_estimator = pytest.mark.parametrize("build", ESTIMATORS.values(), ids=ESTIMATORS)


@pytest.mark.parametrize(
    ("build", "num_samples", "belief_calls", "simulator_calls"),
    [
        (FactoredEIG, 1, 1 + 16 * 3, 16 * 2),
        (FactoredEIG.paper, 1, 49, 32),
        (FactoredEIG, 5, 1 + 16 * 11, 16 * 10),
        (NestedMonteCarloEIG, 2, 49, 32),
    ],
    ids=["factored", "paper", "five draws", "nested"],
)
def test_calls_of_sixteen_candidates(
    build: Callable[..., Estimator], num_samples: int, belief_calls: int, simulator_calls: int
) -> None:
    belief, simulator = two_way_belief(), ScriptedSimulator()
    scores = build(belief, simulator, num_samples).score(TARGET, (), plains(16))
    assert scores.attrs["belief_calls"] == belief_calls
    assert scores.attrs["simulator_calls"] == simulator_calls
    assert scores.attrs["belief_calls_sent"] == len(belief.queries)
    assert scores.attrs["simulator_calls_sent"] == len(simulator.requests)
    assert (len(belief.batches), len(simulator.batches)) == (2, 1)


def test_identical_queries_are_sent_once() -> None:
    belief, simulator = two_way_belief(), ScriptedSimulator()
    scores = FactoredEIG(belief, simulator, 5).score(TARGET, (), plains(3))
    # five equal outcomes a branch need one posterior; the draws differ by their seeds
    assert len(belief.queries) == len(set(belief.queries)) == 1 + 3 + 3 * 2
    assert scores.attrs["belief_calls_sent"] == 10
    assert scores.attrs["belief_calls"] == 1 + 3 + 3 * 10
    assert scores.attrs["simulator_calls_sent"] == len(simulator.requests) == 30


def test_a_question_shared_by_two_problems_is_sent_once() -> None:
    belief = two_way_belief()
    problem = DesignProblem(TARGET, (), plains(2), seed=4)
    first, second = FactoredEIG(belief, ScriptedSimulator()).score_batch([problem, problem])
    assert len(belief.queries) == len(set(belief.queries))
    assert first.eig.tolist() == second.eig.tolist()
    assert (first.calls.belief, second.calls.belief) == (7, 7)
    assert (first.calls.belief_sent, second.calls.belief_sent) == (7, 0)


def test_every_question_carries_the_evidence_and_the_problems_seed() -> None:
    belief, simulator = two_way_belief(), ScriptedSimulator()
    known = (flag(plain(9), True),)
    FactoredEIG(belief, simulator).score(TARGET, known, plains(2), seed=7)
    assert {query.seed for query in belief.queries} == {7}
    assert all(query.evidence[:1] == known for query in belief.queries)
    futures = [query.evidence[1:] for query in belief.batches[1]]
    assert futures == [(flag(x, branch),) for x in plains(2) for branch in (True, False)]
    assert {request.evidence for request in simulator.requests} == {known}


def seeds(coupling: Coupling) -> dict[tuple[int, bool, str], int]:
    """(draw, branch, candidate) -> the seed of its request."""
    simulator = ScriptedSimulator()
    FactoredEIG(two_way_belief(), simulator, 2, coupling=coupling).score(TARGET, (), plains(3))
    found: dict[tuple[int, bool, str], int] = {}
    for request in simulator.requests:
        draw = (request.experiment.id, request.supportive)
        number = sum(key[2:0:-1] == draw for key in found)
        found[number, request.supportive, request.experiment.id] = request.seed
    assert len(found) == 12
    return found


def test_independent_draws_share_no_seed() -> None:
    assert len(set(seeds("independent").values())) == 12


def test_coupled_candidates_share_the_seed_of_a_branch_and_draw() -> None:
    found = seeds("candidates")
    assert len(set(found.values())) == 4
    assert {(n, branch): seed for (n, branch, _), seed in found.items()} == {
        (n, branch): found[n, branch, "x0"] for n in (0, 1) for branch in (True, False)
    }


def test_coupled_branches_share_it_too() -> None:
    found = seeds("branches")
    assert len(set(found.values())) == 2
    assert all(seed == found[n, True, "x0"] for (n, _, _), seed in found.items())


@pytest.mark.parametrize("coupling", ["independent", "candidates", "branches"])
def test_seeds_follow_the_problem(coupling: Coupling) -> None:
    simulator = ScriptedSimulator()
    estimator = FactoredEIG(two_way_belief(), simulator, coupling=coupling)
    for seed in (1, 2, 1):
        estimator.score(TARGET, (), plains(2), seed)
    first, second, again = ([request.seed for request in batch] for batch in simulator.batches)
    assert first == again
    assert set(first).isdisjoint(second)


def noisy(query: BeliefQuery) -> float:
    """A belief that reads every detail of its query."""
    return uniform(derive_seed(query.hypothesis.text, str(query.evidence), query.seed))


@every_estimator
def test_a_candidate_scores_the_same_alone_in_any_order_and_in_any_batch(
    build: Callable[..., Estimator],
) -> None:
    estimator = build(ScriptedBelief(noisy), ScriptedSimulator(), 3)
    pool = plains(5)
    whole = estimator.score(TARGET, (), pool, seed=3)
    backwards = estimator.score(TARGET, (), pool[::-1], seed=3)
    for x in pool:
        alone = estimator.score(TARGET, (), [x], seed=3)
        for other in (alone, backwards):
            for name in ("eig", "eig_stderr", "posterior", "branch_weight", "coherence_gap"):
                found, expected = (s[name].sel(candidate=x.id).values for s in (other, whole))
                assert np.array_equal(found, expected)
    problems = [DesignProblem(TARGET, (), pool, seed) for seed in (3, 4)]
    batch = estimator.score_batch(problems)
    assert batch[0].eig.tolist() == whole["eig"].values.tolist()
    assert batch[1].eig.tolist() != whole["eig"].values.tolist()


def failing(part: str, bad: Experiment) -> tuple[ScriptedBelief, ScriptedSimulator]:
    """Models that fail in one part of one candidate."""
    sound = two_way_belief()

    def answer(query: BeliefQuery) -> float | str:
        is_future = query.hypothesis == TARGET and query.evidence
        if part == "prior" and query.hypothesis == TARGET and not query.evidence:
            return "unreadable"
        if part == "branch weight" and query.hypothesis == bad.hypothesis:
            return "unreadable"
        if part == "posterior" and is_future and query.evidence[-1] == flag(bad, True):
            return "unreadable"
        return sound.answer(query)

    def fails(request: OutcomeRequest) -> str | None:
        is_bad = request.experiment == bad and request.supportive
        return "unreadable" if part == "simulator" and is_bad else None

    return ScriptedBelief(answer), ScriptedSimulator(fails)


@every_estimator
@pytest.mark.parametrize("part", ["branch weight", "posterior", "simulator"])
def test_one_failed_part_fails_its_candidate_alone(
    build: Callable[..., Estimator], part: str
) -> None:
    pool = plains(4)
    scores = build(*failing(part, pool[2]), 8).score(TARGET, (), pool)
    sound = build(two_way_belief(), ScriptedSimulator(), 8).score(TARGET, (), pool)
    assert scores["status"].values.tolist() == ["scored", "scored", "failed", "scored"]
    assert scores["reason"].values.tolist() == ["", "", f"{part}: unreadable", ""]
    assert np.isnan(scores["eig"].values[2])
    assert np.isnan(scores["eig_stderr"].values[2])
    others = [0, 1, 3]
    for name in ("eig", "eig_stderr"):
        assert scores[name].values[others].tolist() == sound[name].values[others].tolist()


@every_estimator
def test_a_failed_prior_fails_every_candidate_of_its_problem_alone(
    build: Callable[..., Estimator],
) -> None:
    sound = two_way_belief()
    belief = ScriptedBelief(
        lambda q: "unreadable" if q.hypothesis == TARGET and q.seed == 1 else sound.answer(q)
    )
    problems = [DesignProblem(TARGET, (), plains(2), seed, f"p{seed}") for seed in (0, 1, 2)]
    estimator = build(belief, ScriptedSimulator())
    scores = estimator.score_batch(problems)
    assert [s.reasons for s in scores] == [(None,) * 2, ("prior: unreadable",) * 2, (None,) * 2]
    choices = InformationPolicy(estimator).choose(problems)
    assert [choice.index for choice in choices] == [0, None, 0]
    assert choices[1].reason == "nothing could be scored: prior: unreadable"
    assert choices[1].failures == ("prior: unreadable",) * 2
    with pytest.raises(NothingScoredError, match=r"problem 'p1': .*prior: unreadable"):
        choose_one(InformationPolicy(estimator), problems[1])


@every_estimator
def test_an_unscored_candidate_is_never_chosen(build: Callable[..., Estimator]) -> None:
    pool = plains(3)
    choice = choose_one(
        InformationPolicy(build(*failing("simulator", pool[0]), 8)), DesignProblem(TARGET, (), pool)
    )
    assert choice.index == 1
    assert choice.tied == (1, 2)
    assert choice.failures == ("simulator: unreadable",)


@every_estimator
def test_no_problems_give_no_scores(build: Callable[..., Estimator]) -> None:
    assert build(two_way_belief(), ScriptedSimulator()).score_batch([]) == []


class Short:
    """Models that lose an answer."""

    def probabilities(self, queries: Any) -> Beliefs:
        return Beliefs(np.full(len(queries) - 1, 0.5))

    def sample(self, requests: Any) -> Outcomes:
        return Outcomes(())


@every_estimator
def test_a_model_that_loses_answers_is_named(build: Callable[..., Estimator]) -> None:
    with pytest.raises(BedError, match="Short gave 2 answers to 3 questions"):
        build(Short(), ScriptedSimulator()).score(TARGET, (), plains(2))
    with pytest.raises(BedError, match="Short gave 0 answers to 4 questions"):
        build(two_way_belief(), Short(), 2 if build is NestedMonteCarloEIG else 1).score(
            TARGET, (), plains(2)
        )
