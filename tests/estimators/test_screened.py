"""Successive halving on exact worlds, where every answer is known."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from bed.belief import ExactBelief, Repeated
from bed.errors import DataError
from bed.estimators import FactoredEIG, Scores, ScreenedEIG
from bed.estimators.scores import Estimator
from bed.estimators.screened import _first_noise
from bed.estimators.trust import per_cost
from bed.information import entropy_bits, kl_bits, log_odds, probability
from bed.policies import InformationPolicy
from bed.protocols import BeliefQuery, DesignProblem, OutcomeRequest
from bed.seeds import generator
from bed.simulators import ExactSimulator
from bed.worlds import World
from tests.factories import (
    TARGET,
    BentBelief,
    RankedSimulator,
    ScriptedBelief,
    ScriptedSimulator,
    exact_problems,
    plains,
    two_way_belief,
)

each_world = pytest.mark.parametrize("name", ["gaussian", "six-level", "graded"])

# theta' is the outcome, so that one outcome stands for its branch exactly; the last the best
LADDER = World.from_likelihood(0.4, [[0.5 - 0.04 * k, 0.5 + 0.05 * k] for k in range(8)])
POOL, WORLDS = LADDER.experiments(), {LADDER.name: LADDER}
BELIEF, SIMULATOR = ExactBelief(WORLDS), ExactSimulator(WORLDS)
PROBLEM = DesignProblem(LADDER.target(), (), POOL)
EXACT = np.array(LADDER.exact_eig(), dtype=np.float64)


def finalists(scores: Scores) -> NDArray[np.bool_]:
    """Whether a candidate was looked at twice."""
    return np.asarray((~np.isnan(scores.posterior)).sum(axis=(1, 2)) > 1)


def priced(problem: DesignProblem, costs: Sequence[float]) -> DesignProblem:
    pool = [replace(x, cost=c) for x, c in zip(problem.candidates, costs, strict=True)]
    return replace(problem, candidates=tuple(pool))


@each_world
def test_it_makes_as_many_calls_as_the_factored_estimator(name: str) -> None:
    posed = exact_problems(name, 20)
    screened, factored = (
        build(*posed.models).score_batch(posed.problems) for build in (ScreenedEIG, FactoredEIG)
    )
    for ours, theirs in zip(screened, factored, strict=True):
        asked = [(scores.calls.belief, scores.calls.simulator) for scores in (ours, theirs)]
        assert asked == [(49, 32)] * 2


@pytest.mark.parametrize(
    ("size", "count"), [(1, 1), (2, 2), (3, 2), (4, 2), (8, 2), (9, 3), (12, 3), (13, 4), (16, 4)]
)
def test_a_quarter_but_at_least_two_become_finalists(size: int, count: int) -> None:
    posed = exact_problems("graded", 5)
    problems = [replace(p, candidates=p.candidates[:size]) for p in posed.problems]
    for scores in ScreenedEIG(*posed.models).score_batch(problems):
        assert finalists(scores).sum() == count
        assert scores.calls.simulator == size + 4 * count
        assert scores.reasons == (None,) * size


@pytest.mark.parametrize(("weight", "rarer"), [(0.7, False), (0.5, True), (0.2, True)])
def test_the_levels_of_both_looks(weight: float, rarer: bool) -> None:
    simulator = RankedSimulator(ScriptedSimulator())
    coherent = two_way_belief(prior=0.2 + 0.6 * weight, weight=weight)
    ScreenedEIG(coherent, simulator).score(TARGET, (), plains(5), seed=4)
    first, second = ([(r.supportive, r.level) for r in batch] for batch in simulator.batches)
    outward = 0.75 if rarer else 0.25
    assert first == [(rarer, outward)] * 5
    strata = [(not rarer, pytest.approx(level)) for level in (1 / 6, 1 / 2, 5 / 6)]
    assert second == [(rarer, 1 - outward), *strata] * 2
    assert {r.seed for batch in simulator.batches for r in batch} == {4}


def test_it_is_exact_where_one_outcome_stands_for_its_branch() -> None:
    (scores,) = ScreenedEIG(BELIEF, SIMULATOR).score_batch([PROBLEM])
    assert scores.eig == pytest.approx(EXACT, abs=1e-12)
    assert np.flatnonzero(finalists(scores)).tolist() == [6, 7]


def test_a_shift_of_both_branches_does_not_pass_for_information() -> None:
    """Seen from the likelier branch, such a shift would make the idle ones the finalists."""
    pool = plains(8)
    shifted = {True: 0.398, False: 0.423}
    telling = {True: 0.63, False: 0.32}

    def answer(query: BeliefQuery) -> float:
        if query.hypothesis != TARGET:
            return 0.22 if query.hypothesis == pool[0].hypothesis else 0.115
        if not query.evidence:
            return 0.376
        ((seen),) = query.evidence
        posterior = telling if seen.experiment == pool[0] else shifted
        return posterior[bool(seen.outcome.fields["supported"])]

    simulator = RankedSimulator(ScriptedSimulator())
    (scores,) = ScreenedEIG(ScriptedBelief(answer), simulator).score_batch(
        [DesignProblem(TARGET, (), pool)]
    )
    assert scores.eig[0] > 10 * scores.eig[1:].max()


def test_it_ranks_better_than_the_papers_estimator() -> None:
    posed = exact_problems("six-level")
    best = posed.eig.max(axis=1)
    taken = []
    for estimator in (ScreenedEIG(*posed.models), FactoredEIG.paper(*posed.models)):
        choices = InformationPolicy(estimator).choose(posed.problems)
        taken.append([eig[c.index] for eig, c in zip(posed.eig, choices, strict=True)])
    ours, papers = np.array(taken)
    for gained in ((ours == best) * 1.0 - (papers == best), ours - papers):
        stderr = gained.std(ddof=1) / math.sqrt(len(gained))
        assert gained.mean() > 3 * stderr
    assert (ours == best).mean() > 0.7
    assert (best - ours).mean() < 0.05 * best.mean()


@each_world
def test_no_other_candidate_is_worth_more_than_the_worst_finalist(name: str) -> None:
    posed = exact_problems(name, 30)
    rng = generator("costs")
    problems = [priced(problem, rng.lognormal(size=16).tolist()) for problem in posed.problems]
    num_capped = 0
    for scores in ScreenedEIG(*posed.models).score_batch(problems):
        worth, is_final = per_cost(scores.eig, scores.cost), finalists(scores)
        lowest = worth[is_final].min()
        assert worth[~is_final].max() < lowest
        num_capped += bool((worth[~is_final] > 0.9989 * lowest).any())
    assert num_capped > 0


def test_a_cheap_candidate_of_few_bits_becomes_a_finalist() -> None:
    cheap = priced(PROBLEM, [1.0, 1e-3, *[1.0] * 6])
    (scores,) = ScreenedEIG(BELIEF, SIMULATOR).score_batch([cheap])
    assert np.flatnonzero(finalists(scores)).tolist() == [1, 7]
    # its bits bound those of the others at their own cost, which is no bound here
    assert scores.eig == pytest.approx(EXACT, abs=1e-12)


def of(candidate: int, reason: str = "lost") -> Callable[[BeliefQuery], str | None]:
    hypothesis = LADDER.experiment(candidate).hypothesis
    return lambda query: reason if query.hypothesis == hypothesis else None


def sampled(
    candidate: int, first: bool, reason: str = "lost"
) -> Callable[[OutcomeRequest], str | None]:
    """Fail a candidate's request of the first look, or those of the second."""
    # the ladder's best rather comes out unsupported: its weight is 0.472
    is_first = {True: (True, 0.75), False: (False, 0.5)}[first]

    def fails(request: OutcomeRequest) -> str | None:
        is_it = request.experiment.id == f"x{candidate}"
        return reason if is_it and (request.supportive, request.level) == is_first else None

    return fails


def reads(candidate: int, y: int) -> Callable[[BeliefQuery], str | None]:
    """Fail the posterior after one outcome of a candidate."""

    def fails(query: BeliefQuery) -> str | None:
        shown = [(s.experiment.id, s.outcome.fields["y"]) for s in query.evidence]
        return "unreadable" if (f"x{candidate}", y) in shown else None

    return fails


def answers(
    fails: Callable[[BeliefQuery], str | None] = lambda query: None, belief: ExactBelief = BELIEF
) -> ScriptedBelief:
    return ScriptedBelief(
        lambda query: fails(query) or float(belief.probabilities([query]).probabilities[0])
    )


@pytest.mark.parametrize(
    ("belief", "simulator", "reason"),
    [
        (answers(of(7)), SIMULATOR, "branch weight: lost"),
        (answers(), RankedSimulator(SIMULATOR, sampled(7, first=True)), "simulator: lost"),
        (answers(), RankedSimulator(SIMULATOR, sampled(7, first=False)), "simulator: lost"),
        (answers(reads(7, y=0)), SIMULATOR, "posterior: unreadable"),
        (answers(reads(7, y=1)), SIMULATOR, "posterior: unreadable"),
    ],
    ids=["weight", "first outcome", "second outcome", "first posterior", "second posterior"],
)
def test_a_failing_candidate_fails_alone(
    belief: ScriptedBelief, simulator: RankedSimulator, reason: str
) -> None:
    scores = ScreenedEIG(belief, simulator).score(LADDER.target(), (), POOL)
    assert scores["reason"].values.tolist() == [""] * 7 + [reason]
    assert scores["status"].values.tolist() == ["scored"] * 7 + ["failed"]
    assert np.isnan(scores["eig"].values[7])
    assert scores["eig"].values[:7] == pytest.approx(EXACT[:7], abs=1e-12)


@pytest.mark.parametrize(
    ("belief", "simulator", "reason"),
    [
        (answers(lambda query: "down"), SIMULATOR, "prior: down"),
        (answers(lambda q: "down" if q.evidence else None), SIMULATOR, "posterior: down"),
        (answers(), RankedSimulator(SIMULATOR, lambda request: "down"), "simulator: down"),
    ],
    ids=["belief", "posteriors", "outcomes"],
)
def test_nothing_is_scored_where_all_fail(
    belief: ScriptedBelief, simulator: RankedSimulator, reason: str
) -> None:
    (scores,) = ScreenedEIG(belief, simulator).score_batch([PROBLEM])
    assert scores.reasons == (reason,) * 8
    assert np.isnan(scores.eig).all()
    assert scores.doubts == ()


def test_a_failing_problem_spoils_no_other() -> None:
    posed = exact_problems("graded", 3)
    lost = posed.problems[1].target
    inner, simulator = posed.models
    belief = answers(lambda query: "lost" if query.hypothesis == lost else None, inner)
    found = ScreenedEIG(belief, simulator).score_batch(posed.problems)
    whole = ScreenedEIG(inner, simulator).score_batch(posed.problems)
    assert np.isnan(found[1].eig).all()
    for place in (0, 2):
        assert np.array_equal(found[place].eig, whole[place].eig)


@pytest.mark.parametrize("p_theta", [0.5, 0.1])
def test_branches_that_cannot_happen_do_not_spoil_a_candidate(p_theta: float) -> None:
    world = World.from_likelihood(p_theta, [[0, 0], [1, 1], [0.2, 0.8], [0, 0]])
    worlds = {world.name: world}
    simulator = RankedSimulator(ExactSimulator(worlds))
    estimator = ScreenedEIG(ExactBelief(worlds), simulator)
    scores = estimator.score(world.target(), (), world.experiments())
    assert scores["status"].values.tolist() == ["scored"] * 4
    asked = {(r.experiment.id, r.supportive) for batch in simulator.batches for r in batch}
    assert asked == {("x0", False), ("x1", True), ("x2", False), ("x2", True), ("x3", False)}
    expected = [0, 0, world.candidate_eig(2), 0]
    assert scores["eig"].values == pytest.approx(expected, abs=1e-12)
    assert scores["coherence_gap"].values[[0, 2]] == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_certain_belief_has_nothing_to_learn(prior: float) -> None:
    world = World.from_likelihood(prior, [[0.2, 0.8], [0.4, 0.5], [0.3, 0.3]])
    worlds = {world.name: world}
    estimator = ScreenedEIG(ExactBelief(worlds), ExactSimulator(worlds))
    assert (
        estimator.score(world.target(), (), world.experiments())["eig"].values.tolist() == [0] * 3
    )
    moved = two_way_belief(prior, 0.5, 0.6, 0.6)
    scores = ScreenedEIG(moved, RankedSimulator(ScriptedSimulator())).score(TARGET, (), plains(3))
    reason = f"the belief is certain at {prior}, yet an outcome moves it"
    assert scores["reason"].values.tolist() == [reason] * 3
    assert np.isnan(scores["eig"].values).all()


@each_world
def test_neither_order_nor_company_nor_time_matters(name: str) -> None:
    posed = exact_problems(name, 8)
    estimator = ScreenedEIG(*posed.models)
    whole = estimator.score_batch(posed.problems)
    rng = generator("order")
    for problem, scores in zip(posed.problems, whole, strict=True):
        (alone,) = estimator.score_batch([problem])
        order = rng.permutation(16)
        pool = tuple(problem.candidates[k] for k in order)
        (shuffled,) = estimator.score_batch([replace(problem, candidates=pool)])
        for field in ("eig", "branch_weight", "coherence_gap", "posterior"):
            expected = getattr(scores, field)
            assert np.array_equal(getattr(alone, field), expected, equal_nan=True)
            assert np.array_equal(getattr(shuffled, field), expected[order], equal_nan=True)
        assert (alone.doubts, alone.reasons) == (scores.doubts, scores.reasons)


@each_world
@pytest.mark.parametrize("bias", [-0.5, 0.5])
def test_an_incoherent_belief_is_asked_about_all_of_it(name: str, bias: float) -> None:
    posed = exact_problems(name, 20)
    exact, simulator = posed.models
    belief = BentBelief(exact, bias=bias)
    rates = {"candidate of tier 1": 0.3}
    thorough = FactoredEIG(belief, simulator, slope=0.8, base_rates=rates)
    screened = ScreenedEIG(belief, simulator, slope=0.8, base_rates=rates)
    num_found = 0
    for ours, whole in zip(
        screened.score_batch(posed.problems), thorough.score_batch(posed.problems), strict=True
    ):
        if ours.calls.simulator == 32:
            continue
        num_found += 1
        assert np.array_equal(ours.eig, whole.eig)
        assert ours.doubts == whole.doubts
        assert (ours.calls.belief, ours.calls.simulator) == (98, 64)
    assert num_found >= 10


def test_a_tie_goes_to_a_candidate_that_was_looked_at_twice() -> None:
    # the last two are alike and best; a first look alone would not tell the others from them
    links = [[0.24, 0.76], [0.23, 0.77], [0.2, 0.8], [0.2, 0.8]]
    readout = [[0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5]]
    world = World.factored(0.5, links, [readout] * 4, "twins")
    estimator = ScreenedEIG(ExactBelief({"twins": world}), ExactSimulator({"twins": world}))
    problem = DesignProblem(world.target(), (), world.experiments())
    (choice,) = InformationPolicy(estimator).choose([problem])
    assert (choice.index, choice.tied) == (2, (2, 3))


def test_finalists_that_all_fail_are_not_the_end() -> None:
    # a simulator that knows the levels of the first look and of the factored estimator only
    known = (0.25, 0.35, 0.65, 0.75)
    simulator = RankedSimulator(
        SIMULATOR, lambda request: None if request.level in known else "no such level"
    )
    (scores,) = ScreenedEIG(BELIEF, simulator).score_batch([PROBLEM])
    (whole,) = FactoredEIG(BELIEF, simulator).score_batch([PROBLEM])
    assert np.array_equal(scores.eig, whole.eig)
    assert scores.reasons == (None,) * len(POOL)
    assert scores.calls.simulator > whole.calls.simulator


def test_a_stratum_that_failed_leaves_no_gap() -> None:
    simulator = RankedSimulator(
        SIMULATOR, lambda r: "lost" if r.level == 0.5 and r.experiment == POOL[-1] else None
    )
    (scores,) = ScreenedEIG(BELIEF, simulator).score_batch([PROBLEM])
    assert scores.reasons[-1] == "simulator: lost"
    assert np.isnan(scores.coherence_gap[-1])
    assert np.nanmax(np.abs(scores.coherence_gap)) < 1e-9


@pytest.mark.parametrize(("prior", "share", "look"), [(0.5, 0.5, 0.62), (0.3, 0.7, 0.36)])
@pytest.mark.parametrize(("of_look", "of_weight"), [(0.05, 0.0), (0.0, 0.05), (0.05, 0.05)])
def test_the_noise_of_a_first_look_acts_through_both_branches(
    prior: float, share: float, look: float, of_look: float, of_weight: float
) -> None:
    rng, size = generator("first noise"), 20_000

    def logit_noise(p: float, noise: float) -> NDArray[np.float64]:
        return np.asarray(probability(log_odds(p) + noise * rng.normal(size=size)))

    seen, shares = logit_noise(look, of_look), logit_noise(share, of_weight)
    other = prior - shares / (1 - shares) * (seen - prior)
    bits = shares * kl_bits(seen, prior) + (1 - shares) * kl_bits(other, prior)
    implied = prior - share / (1 - share) * (look - prior)
    arrays = (np.array([value]) for value in (prior, share, look, implied, of_look, of_weight))
    # 20,000 draws tell a standard deviation to half a percent; the rest is curvature
    assert _first_noise(*arrays) == pytest.approx([bits.std()], rel=0.05)


def test_nothing_asked_nothing_scored() -> None:
    assert ScreenedEIG(BELIEF, SIMULATOR).score_batch([]) == []


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: ScreenedEIG(BELIEF, ScriptedSimulator()),
            "ScriptedSimulator does not rank its outcomes.*use FactoredEIG",
        ),
        (lambda: ScreenedEIG(BELIEF, SIMULATOR, slope=-1.0), "slope -1.0 must be a number"),
        (lambda: ScreenedEIG(BELIEF, SIMULATOR, base_rates={"a": 1.0}), "base rate of 'a' is 1.0"),
    ],
    ids=["unranked", "slope", "base rates"],
)
def test_invalid_settings_are_refused(build: Callable[[], Estimator], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()


# not in graded worlds, whose weights are 1/2 but for rounding, so that either branch is rarer
@pytest.mark.parametrize("name", ["gaussian", "six-level"])
def test_the_slope_undoes_overreaction(name: str) -> None:
    posed = exact_problems(name, 20)
    belief, simulator = posed.models
    mended = ScreenedEIG(BentBelief(belief, reaction=2.0), simulator, slope=0.5)
    found = mended.score_batch(posed.problems)
    sound = ScreenedEIG(belief, simulator).score_batch(posed.problems)
    screened = [
        (ours.eig, plain.eig)
        for ours, plain in zip(found, sound, strict=True)
        if ours.calls.simulator == plain.calls.simulator == 32
    ]
    assert len(screened) > 10
    for ours, plain in screened:
        assert ours == pytest.approx(plain, abs=1e-9)


def test_the_slope_tames_the_noise_of_every_candidate_alike() -> None:
    """Halved updates carry half of the noise, to the first look's candidates as to finalists."""
    belief = Repeated(BentBelief(BELIEF, jitter=0.05), 4)
    stderr = [
        ScreenedEIG(belief, SIMULATOR, slope).score_batch([PROBLEM])[0].eig_stderr
        for slope in (1.0, 0.01)
    ]
    assert (stderr[0] > 0).all()
    # what is left is the noise of the branch weights, which hardly matters to so small updates
    assert (stderr[1] < 0.02 * stderr[0]).all()


def test_base_rates_move_the_branch_weights() -> None:
    simulator = RankedSimulator(ScriptedSimulator())
    rates = {"evidence of tier 1": 0.1}
    estimator = ScreenedEIG(two_way_belief(0.26, 0.5, 0.8, 0.2), simulator, base_rates=rates)
    scores = estimator.score(TARGET, (), plains(2))
    assert scores["branch_weight"].values == pytest.approx([0.1] * 2)
    assert {request.supportive for request in simulator.batches[0]} == {True}
    expected = entropy_bits(0.26) - 0.1 * entropy_bits(0.8) - 0.9 * entropy_bits(0.2)
    assert scores["eig"].values == pytest.approx([float(expected)] * 2)
    assert scores["coherence_gap"].values == pytest.approx([0.0] * 2, abs=1e-12)
    assert scores["raw_coherence_gap"].values == pytest.approx([0.24] * 2)


def test_scores_as_a_dataset() -> None:
    scores = ScreenedEIG(BELIEF, SIMULATOR).score(LADDER.target(), (), POOL)
    assert dict(scores.sizes) == {"candidate": 8, "branch": 2, "sample": 3}
    known = ~np.isnan(scores["posterior"].values)
    # finalists have two of the rarer branch, here the supported, and three of the other
    assert known.sum(axis=2).tolist() == [[1, 0]] * 6 + [[2, 3]] * 2
    assert np.isnan(scores["coherence_gap"].values).tolist() == [True] * 6 + [False] * 2
    assert np.isnan(scores["eig_stderr"].values).all()
    assert scores.attrs["doubts"] == ""
    assert scores.attrs["belief_calls"] == 1 + 8 + 8 + 8
    assert scores.attrs["simulator_calls"] == 16
