"""The contracts of `bed.protocols`, held by every implementation in the package."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from bed.belief import (
    ClassifierBelief,
    DomainBelief,
    ExactBelief,
    LogprobBelief,
    PermutationAveraged,
    Recalibrated,
    Repeated,
    VerbalBelief,
)
from bed.domains import reading
from bed.errors import DataError
from bed.estimators import ExactEIG, FactoredEIG, NestedMonteCarloEIG, ScreenedEIG
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub
from bed.policies import (
    HindsightPolicy,
    InformationPolicy,
    RandomPolicy,
    RelevancePolicy,
    UncertaintyPolicy,
)
from bed.protocols import (
    BeliefModel,
    BeliefQuery,
    Beliefs,
    Calls,
    Choice,
    DesignProblem,
    OutcomeRequest,
    Outcomes,
    OutcomeSimulator,
    Policy,
    ranks_outcomes,
)
from bed.seeds import derive_seed, uniform
from bed.simulators import (
    DomainSimulator,
    ExactSimulator,
    GenerativeSimulator,
    fit_exemplar_simulator,
)
from bed.transport import Call, ScriptedTransport
from bed.worlds import World
from tests.doubles import chat, classifier, template, user
from tests.factories import (
    TARGET,
    ScriptedSimulator,
    chronos,
    conditional_simulator,
    dependency,
    flag,
    graded_episodes,
    knockout,
    made_belief,
    plain,
    shown,
)

WORLD = World.factored(
    0.3,
    [[0.2, 0.7], [0.1, 0.9], [0.5, 0.6]],
    [[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], [[0.8, 0.2], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]]],
    name="w",
)
CERTAIN = World.from_likelihood(0.5, [[0, 0], [0.2, 0.8]])
WORLDS = {WORLD.name: WORLD, CERTAIN.name: CERTAIN}
HOME = dependency("G", "HOME")

Thunk = Callable[[], Any]


def without(experiment: Experiment, field: str) -> Experiment:
    fields = {name: value for name, value in experiment.fields.items() if name != field}
    return replace(experiment, fields=Fields(fields))


# What a query or a request may be made of: (hypothesis or experiment, evidence).
WORLD_QUERIES = [
    BeliefQuery(hypothesis, evidence, seed)
    for seed, hypothesis in enumerate((WORLD.target(), WORLD.experiment(1).hypothesis))
    for evidence in ((), (shown(WORLD, 0, 2),), (shown(WORLD, 0, 2), shown(WORLD, 2, 0)))
]
DEPMAP_QUERIES = [
    BeliefQuery(hypothesis, evidence, seed)
    for seed, hypothesis in enumerate((HOME, knockout("G", "N1").hypothesis))
    for evidence in (
        (),
        (chronos(knockout("G", "N2"), -1.2),),
        tuple(chronos(knockout("G", f"N{i}"), -0.2 * i) for i in range(8)),
    )
]
WORLD_REQUESTS = [
    OutcomeRequest(WORLD.experiment(k), branch, evidence, seed)
    for k in (0, 1)
    for branch in (True, False)
    for evidence in ((), (shown(WORLD, 2, 1),))
    for seed in (1, 2, 3)
]
DEPMAP_REQUESTS = [
    OutcomeRequest(knockout("G", line), branch, evidence, seed)
    for line in ("N1", "N2")
    for branch in (True, False)
    for evidence in ((), (chronos(knockout("G", "N3"), -1.2),))
    for seed in (1, 2, 3)
]

UNREADABLE = Stub(knockout("G", "N1"), Outcome(Fields(chronos="lost")))
FOREIGN = flag(plain(0), True)
ASTROLOGY = Hypothesis("the stars say so", "astrology")

BAD_WORLD = {
    "free text": (TARGET, ()),
    "unknown world": (Hypothesis("h", "world", Fields(world="nowhere")), ()),
    "unknown candidate": (Hypothesis("h", "world", Fields(world="w", candidate=99)), ()),
    "impossible evidence": (CERTAIN.target(), (shown(CERTAIN, 0, 1),)),
    "outcome out of range": (WORLD.target(), (shown(WORLD, 0, 9),)),
    "evidence of another domain": (WORLD.target(), (FOREIGN,)),
}
BAD_DEPMAP = {
    "unreadable outcome": (HOME, (UNREADABLE,)),
    "unknown domain": (ASTROLOGY, (chronos(knockout("G", "N1"), -1.0),)),
    "evidence of another domain": (HOME, (FOREIGN,)),
    "evidence that lacks a field": (HOME, (chronos(without(knockout("G", "N1"), "kind"), -1.0),)),
    "hypothesis without fields": (
        Hypothesis("h", "depmap"),
        (chronos(knockout("G", "N1"), -1.0),),
    ),
}


@dataclass(frozen=True)
class Case:
    """An implementation with questions that it can and one that it cannot answer."""

    build: Thunk
    good: Sequence[Any]
    bad: Any = None


def belief_cases() -> dict[str, Case]:
    exact, additive = (WORLD_QUERIES, BAD_WORLD), (DEPMAP_QUERIES, BAD_DEPMAP)
    builds: dict[str, tuple[Thunk, Any, Any]] = {
        "exact": (lambda: ExactBelief(WORLDS), *exact),
        "exact, recalibrated": (lambda: Recalibrated(ExactBelief(WORLDS), 0.7, 0.1), *exact),
        "exact, permuted": (lambda: PermutationAveraged(ExactBelief(WORLDS)), *exact),
        "exact, repeated": (lambda: Repeated(ExactBelief(WORLDS)), *exact),
        "additive": (made_belief, *additive),
        "additive, recalibrated": (lambda: Recalibrated(made_belief(), 0.7), *additive),
        "additive, permuted": (lambda: PermutationAveraged(made_belief()), *additive),
        "classifier": (lambda: ClassifierBelief(classifier(), template(), "m"), *additive),
        "verbal": (lambda: VerbalBelief(chat(_stated)), *additive),
        "verbal, several draws": (lambda: VerbalBelief(chat(_stated), draws=3), *additive),
        "log probabilities": (
            lambda: LogprobBelief(ScriptedTransport(_completed), template(), "m"),
            *additive,
        ),
        "by domain": (
            lambda: DomainBelief({"depmap": made_belief(), "world": ExactBelief(WORLDS)}),
            WORLD_QUERIES + DEPMAP_QUERIES,
            BAD_WORLD | BAD_DEPMAP,
        ),
    }
    return _each_bad(builds, lambda made: BeliefQuery(*made))


def _completed(call: Call) -> Any:
    """A completion server whose likeliest tokens are never those of a label."""
    choices = []
    for i, ids in enumerate(call.body["prompt"]):
        logprob = -9 * uniform(derive_seed(*ids))
        each = {str(token): {"logprob": logprob} for token in ids}
        told = {"top_logprobs": [{"token_id:0": -0.1}]}
        choices.append({"index": i, "logprobs": told, "prompt_logprobs": [each] * len(ids)})
    return {"choices": choices}


def _stated(body: dict[str, Any]) -> str:
    p = uniform(derive_seed(body["seed"], user(body)))
    return f"<probability>{p:.4f}</probability>"


def _simulated(body: dict[str, Any]) -> str:
    share = uniform(derive_seed(body["seed"], user(body)))
    supports = "that supports the target" in user(body)
    return f"Chronos gene-effect {-0.6 - share if supports else 0.5 * share - 0.4:.4f}"


def simulator_cases() -> dict[str, Case]:
    bad_world = {
        "free text": (plain(0), True, ()),
        "unknown world": (
            replace(
                WORLD.experiment(0), hypothesis=Hypothesis("h", "world", Fields(world="nowhere"))
            ),
            True,
            (),
        ),
        "candidate without an index": (without(WORLD.experiment(0), "index"), True, ()),
        "impossible branch": (CERTAIN.experiment(0), True, ()),
    }
    bad_evidence = {
        "impossible evidence": (CERTAIN.experiment(1), True, (shown(CERTAIN, 0, 1),)),
        "outcome out of range": (WORLD.experiment(0), True, (shown(WORLD, 0, 9),)),
        "evidence of another domain": (WORLD.experiment(0), True, (FOREIGN,)),
    }
    bad_depmap = {
        "kind never seen": (
            replace(
                knockout("G", "N1"),
                fields=Fields({**knockout("G", "N1").fields, "kind": "mutation"}),
            ),
            True,
            (),
        ),
        "unknown kind": (without(knockout("G", "N1"), "kind"), True, ()),
        "unknown domain": (Experiment("x", ASTROLOGY), True, ()),
    }
    bad_reading = {
        name: (replace(knockout("G", "N1"), hypothesis=hypothesis), True, evidence)
        for name, (hypothesis, evidence) in BAD_DEPMAP.items()
        if name != "unknown domain"
    }
    builds: dict[str, tuple[Thunk, Any, Any]] = {
        "exact": (lambda: ExactSimulator(WORLDS), WORLD_REQUESTS, bad_world | bad_evidence),
        "exact, ignorant": (lambda: ExactSimulator(WORLDS, False), WORLD_REQUESTS, bad_world),
        "exemplar": (
            lambda: fit_exemplar_simulator(graded_episodes()),
            DEPMAP_REQUESTS,
            bad_depmap,
        ),
        "conditional": (conditional_simulator, DEPMAP_REQUESTS, bad_depmap | bad_reading),
        "generative": (
            lambda: GenerativeSimulator(chat(_simulated)),
            DEPMAP_REQUESTS,
            {name: bad for name, bad in bad_depmap.items() if name != "kind never seen"},
        ),
        "by domain": (
            lambda: DomainSimulator(
                {"depmap": conditional_simulator(), "world": ExactSimulator(WORLDS)}
            ),
            WORLD_REQUESTS + DEPMAP_REQUESTS,
            bad_world | bad_depmap,
        ),
    }
    return _each_bad(builds, lambda made: OutcomeRequest(*made))


def _each_bad(
    builds: dict[str, tuple[Thunk, Any, Any]], make: Callable[[Any], Any]
) -> dict[str, Case]:
    return {
        f"{name}: {fault}": Case(build, good, make(made))
        for name, (build, good, bad) in builds.items()
        for fault, made in bad.items()
    }


def sound(cases: dict[str, Case]) -> dict[str, Case]:
    """One case an implementation."""
    return {name.partition(":")[0]: case for name, case in cases.items()}


BELIEFS, SIMULATORS = belief_cases(), simulator_cases()
each_belief = pytest.mark.parametrize("case", sound(BELIEFS).values(), ids=sound(BELIEFS))
each_simulator = pytest.mark.parametrize("case", sound(SIMULATORS).values(), ids=sound(SIMULATORS))
RANKING = {name: case for name, case in sound(SIMULATORS).items() if name != "generative"}


class TestBeliefModels:
    @each_belief
    def test_protocol_shape_and_range(self, case: Case) -> None:
        model = case.build()
        assert isinstance(model, BeliefModel)
        answers = model.probabilities(case.good)
        assert isinstance(answers, Beliefs)
        assert answers.probabilities.shape == (len(case.good),)
        assert answers.probabilities.dtype == np.float64
        assert answers.reasons == (None,) * len(case.good)
        assert ((answers.probabilities >= 0) & (answers.probabilities <= 1)).all()
        assert len(set(answers.probabilities)) > 2

    @each_belief
    def test_a_row_of_many_is_a_batch_of_one_in_any_order(self, case: Case) -> None:
        model = case.build()
        whole = model.probabilities(case.good).probabilities
        alone = [model.probabilities([query]).probabilities[0] for query in case.good]
        assert whole == pytest.approx(alone, abs=1e-6)
        backwards = model.probabilities(case.good[::-1]).probabilities
        assert backwards == pytest.approx(whole[::-1], abs=1e-6)
        many = model.probabilities(list(case.good) * 40).probabilities  # another compiled shape
        assert many == pytest.approx(np.tile(whole, 40), abs=1e-6)

    @each_belief
    def test_equal_queries_get_equal_answers(self, case: Case) -> None:
        model = case.build()
        first, again = (model.probabilities(case.good).probabilities for _ in range(2))
        assert np.array_equal(first, again)
        doubled = model.probabilities([case.good[1]] * 3).probabilities
        assert len(set(doubled)) == 1

    @each_belief
    def test_nothing_asked_nothing_answered(self, case: Case) -> None:
        answers = case.build().probabilities([])
        assert answers.probabilities.shape == (0,)
        assert answers.reasons == ()

    @pytest.mark.parametrize("case", BELIEFS.values(), ids=BELIEFS)
    def test_one_unanswerable_query_fails_alone(self, case: Case) -> None:
        model = case.build()
        queries = [*case.good[:3], case.bad, *case.good[3:]]
        answers = model.probabilities(queries)
        assert [i for i, reason in enumerate(answers.reasons) if reason is not None] == [3]
        assert answers.reasons[3]
        assert np.isnan(answers.probabilities[3])
        others = np.delete(answers.probabilities, 3)
        assert others == pytest.approx(model.probabilities(case.good).probabilities, abs=1e-6)


class TestSimulators:
    @each_simulator
    def test_protocol_shape_and_kind(self, case: Case) -> None:
        simulator = case.build()
        assert isinstance(simulator, OutcomeSimulator)
        outcomes = simulator.sample(case.good)
        assert isinstance(outcomes, Outcomes)
        assert len(outcomes.values) == len(outcomes.reasons) == len(case.good)
        assert outcomes.reasons == (None,) * len(case.good)
        assert all(isinstance(value, Outcome) for value in outcomes.values)
        assert len(set(outcomes.values)) > 2

    @each_simulator
    def test_a_row_of_many_is_a_batch_of_one_in_any_order(self, case: Case) -> None:
        simulator = case.build()
        whole = simulator.sample(case.good).values
        assert tuple(simulator.sample([request]).values[0] for request in case.good) == whole
        assert simulator.sample(case.good[::-1]).values == whole[::-1]

    @each_simulator
    def test_the_seed_decides(self, case: Case) -> None:
        simulator = case.build()
        assert simulator.sample(case.good) == simulator.sample(case.good)
        assert simulator.sample(case.good) == case.build().sample(case.good)
        other = [replace(request, seed=seed) for request in case.good for seed in range(9)]
        of_one = {request.experiment.id for request in case.good}
        assert len(set(simulator.sample(other).values)) > len(of_one)

    @pytest.mark.parametrize("case", RANKING.values(), ids=RANKING)
    def test_levels_rank_the_outcomes(self, case: Case) -> None:
        simulator = case.build()
        assert ranks_outcomes(simulator)
        spread = []
        for request in case.good[::3]:  # each stands there with three seeds
            asked = [replace(request, level=level) for level in np.linspace(0.01, 0.99, 25)]
            outcomes = simulator.sample(asked).values
            scores = [reading(request.experiment, y).score for y in outcomes if y is not None]
            assert len(scores) == 25
            assert scores == sorted(scores)
            spread.append(len(set(scores)))
            reseeded = [replace(one, seed=request.seed + 9) for one in asked]
            assert simulator.sample(reseeded).values == outcomes
        assert min(spread) > 1

    @each_simulator
    def test_nothing_asked_nothing_answered(self, case: Case) -> None:
        assert case.build().sample([]) == Outcomes(())

    @pytest.mark.parametrize("case", SIMULATORS.values(), ids=SIMULATORS)
    def test_one_unanswerable_request_fails_alone(self, case: Case) -> None:
        simulator = case.build()
        requests = [*case.good[:3], case.bad, *case.good[3:]]
        outcomes = simulator.sample(requests)
        assert [i for i, reason in enumerate(outcomes.reasons) if reason is not None] == [3]
        assert outcomes.reasons[3]
        assert outcomes.values[:3] + outcomes.values[4:] == simulator.sample(case.good).values


def stubs() -> tuple[Stub, ...]:
    return tuple(shown(WORLD, k, y) for k, y in ((0, 1), (1, 0), (2, 1)))


EPISODES = {
    name: Episode(name, WORLD.target(), 1, stubs(), (1,) * 3, ("",) * 3) for name in ("a", "b", "c")
}
PROBLEMS = [
    DesignProblem(WORLD.target(), (), WORLD.experiments(), 1, "a"),
    DesignProblem(WORLD.target(), stubs()[:1], WORLD.experiments()[1:], 2, "b"),
    DesignProblem(WORLD.target(), stubs()[1:], WORLD.experiments()[:1], 3, "c"),
]
BELIEF, SIMULATOR = ExactBelief(WORLDS), ExactSimulator(WORLDS)
POLICIES: dict[str, Policy] = {
    "random": RandomPolicy(),
    "relevance": RelevancePolicy(),
    "uncertainty": UncertaintyPolicy(BELIEF),
    "uncertainty at base rates": UncertaintyPolicy(BELIEF, {"candidate of tier 1": 0.3}),
    "hindsight": HindsightPolicy(BELIEF, EPISODES),
    "exact": InformationPolicy(ExactEIG(WORLDS)),
    "factored": InformationPolicy(FactoredEIG(BELIEF, SIMULATOR, 3)),
    "at base rates": InformationPolicy(
        FactoredEIG(BELIEF, SIMULATOR, base_rates={"candidate of tier 1": 0.3})
    ),
    "paper": InformationPolicy(FactoredEIG.paper(BELIEF, SIMULATOR)),
    "nested": InformationPolicy(NestedMonteCarloEIG(BELIEF, SIMULATOR)),
    "screened": InformationPolicy(ScreenedEIG(BELIEF, SIMULATOR)),
}
each_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


def same(a: Choice, b: Choice) -> bool:
    """Whether two choices agree; what was sent depends on the rest of the batch."""
    for name in ("worth", "eig", "coherence_gap", "raw_coherence_gap"):
        x, y = getattr(a, name), getattr(b, name)
        if (x is None) != (y is None):
            return False
        if x is not None and not np.array_equal(x, y, equal_nan=True):
            return False
    names = ("index", "reason", "tied", "within_noise", "doubts", "failures", "calls")
    return all(getattr(a, name) == getattr(b, name) for name in names)


class TestPolicies:
    @each_policy
    def test_protocol_and_choice(self, policy: Policy) -> None:
        assert isinstance(policy, Policy)
        choices = policy.choose(PROBLEMS)
        assert len(choices) == len(PROBLEMS)
        for choice, problem in zip(choices, PROBLEMS, strict=True):
            assert choice.worth.shape == (len(problem.candidates),)
            assert choice.index == choice.tied[0]
            assert set(choice.tied) <= set(choice.within_noise)
            assert choice.worth[choice.index] == pytest.approx(choice.worth.max(), abs=1e-9)
            assert choice.reason
            assert choice.failures == ()
            assert choice.calls.belief_sent <= choice.calls.belief
            assert choice.calls.simulator_sent <= choice.calls.simulator

    @each_policy
    def test_a_row_of_many_is_a_batch_of_one_in_any_order(self, policy: Policy) -> None:
        whole = policy.choose(PROBLEMS)
        for problem, choice in zip(PROBLEMS, whole, strict=True):
            assert same(policy.choose([problem])[0], choice)
        for a, b in zip(policy.choose(PROBLEMS[::-1]), whole[::-1], strict=True):
            assert same(a, b)

    @each_policy
    def test_nothing_asked_nothing_chosen(self, policy: Policy) -> None:
        assert policy.choose([]) == []

    @pytest.mark.parametrize(
        "bad",
        [
            DesignProblem(
                CERTAIN.target(), (shown(CERTAIN, 0, 1),), CERTAIN.experiments()[1:], 1, "d"
            ),
            DesignProblem(ASTROLOGY, (), (plain(0), plain(1)), 1, "d"),
            DesignProblem(WORLD.target(), (), (plain(0), plain(1)), 1, "d"),
            DesignProblem(WORLD.target(), (FOREIGN,), WORLD.experiments(), 1, "d"),
        ],
        ids=["impossible evidence", "unknown domain", "foreign candidates", "foreign evidence"],
    )
    @each_policy
    def test_one_hopeless_problem_spoils_no_other(self, policy: Policy, bad: DesignProblem) -> None:
        if isinstance(policy, HindsightPolicy):
            pool = tuple(Stub(x, Outcome(Fields(y=0))) for x in bad.candidates)
            size = len(pool)
            episode = Episode("d", bad.target, 1, pool, (1,) * size, ("",) * size)
            policy = replace(policy, episodes=EPISODES | {"d": episode})
        mixed = policy.choose([PROBLEMS[0], bad, *PROBLEMS[1:]])
        for a, b in zip(mixed[:1] + mixed[2:], policy.choose(PROBLEMS), strict=True):
            assert same(a, b)
        # a policy that needs none of the broken parts may choose; otherwise it says why not
        assert mixed[1].index is not None or len(mixed[1].failures) == len(bad.candidates)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Beliefs(np.array([0.5, 1.5])), "belief 1 is .*1.5.*, outside"),
        (lambda: Beliefs(np.array([np.nan])), "belief 0 is .*nan.*give a failed query a reason"),
        (lambda: Beliefs(np.array([0.5]), (None, "late")), "2 reasons: mismatch"),
        (lambda: Beliefs(np.array([[0.5]])), "shape"),
        (lambda: Beliefs(np.array([0.5]), noise=np.ones(2)), r"noise of shape \(2,\) for beliefs"),
        (lambda: Beliefs(np.array([0.5] * 2), noise=np.array([0.1, -1])), "noise 1 is .*-1.0"),
        (
            lambda: Beliefs(np.array([0.5] * 3), noise=np.array([np.nan, -1, 0.1])),
            "noise 1 is -1.0; a standard error is finite and 0 or more",
        ),
        (
            lambda: OutcomeRequest(plain(0), True, level=0.0),
            r"level 0.0 of 'x0' is outside \(0, 1\)",
        ),
        (lambda: OutcomeRequest(plain(0), True, level=1.0), r"level 1.0 of 'x0' is outside"),
        (lambda: OutcomeRequest(plain(0), True, level=np.nan), r"level nan of 'x0' is outside"),
        (lambda: Outcomes((None,)), "outcome 0 must have either a value or a reason"),
        (lambda: Outcomes((Outcome(Fields()),), ("why",)), "outcome 0 must have either"),
        (lambda: Outcomes((), ("why",)), "0 outcomes with 1 reasons: length mismatch"),
    ],
)
def test_answers_check_themselves(build: Thunk, message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()


def test_a_failed_belief_is_never_a_number() -> None:
    answers = Beliefs(np.array([0.5, 0.7]), (None, "no parse"))
    assert answers.probabilities[0] == 0.5
    assert np.isnan(answers.probabilities[1])


def test_noise_is_unknown_where_a_belief_failed() -> None:
    answers = Beliefs(np.full(4, 0.5), (None, "no parse", None, None), np.array([0, -1, np.nan, 2]))
    assert answers.noise is not None
    np.testing.assert_array_equal(answers.noise, [0, np.nan, np.nan, 2])
    assert Beliefs(np.array([0.5])).noise is None


def test_a_level_stands_in_for_the_seeds_uniform_number() -> None:
    drawn, placed = (
        OutcomeRequest(plain(0), True, seed=3),
        OutcomeRequest(plain(0), True, level=0.3),
    )
    assert (drawn.position, placed.position) == (uniform(3), 0.3)


def test_calls_add_up() -> None:
    assert Calls(1, 2, 3, 4) + Calls(10, 20, 30, 40) == Calls(11, 22, 33, 44)
    assert Calls(1, 2, 3, 4) + Calls() == Calls(1, 2, 3, 4)


@pytest.mark.parametrize(("said", "ranks"), [(True, True), (False, False), (None, False)], ids=str)
def test_a_simulator_ranks_only_where_it_says_so(said: object, ranks: bool) -> None:
    simulator = ScriptedSimulator()
    assert not ranks_outcomes(simulator)
    simulator.ranks_outcomes = said  # type: ignore[attr-defined]
    assert ranks_outcomes(simulator) == ranks
