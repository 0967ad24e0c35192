"""Exact finite worlds against closed forms, enumeration and sampling."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bed.belief import ExactBelief
from bed.errors import DataError, ImpossibleEvidenceError
from bed.evidence import Fields
from bed.information import LOG2, best_index, entropy_bits
from bed.protocols import BeliefQuery
from bed.worlds import Observed, World
from tests.factories import shown

CLOSED_FORMS = [
    (0.5, [0.2, 0.8], 0.192745),
    (0.5, [0, 1], 0.693147),
    (0.1, [0, 1], 0.325083),
    (0.05, [0.5, 1], 0.033407),
    (0.05, [0.02, 0.6], 0.068772),
    (0.9, [0.1, 0.7], 0.071132),
]

# the subnormal numbers have a test of their own
unit = st.just(0.0) | st.floats(1e-300, 1)
rows = st.tuples(unit, unit)


def nats(p_theta: float, row: list[float] | tuple[float, float]) -> float:
    return World.from_likelihood(p_theta, [row]).candidate_eig(0) * LOG2


def random_world(seed: int = 0, num_candidates: int = 3) -> World:
    """Four hidden states, three outcomes a candidate, no structure beyond the definition."""
    rng = np.random.default_rng(seed)
    return World(
        prior=rng.dirichlet(np.ones(4)),
        theta=np.array([0, 1, 0, 1]),
        local=tuple(rng.random(4) for _ in range(num_candidates)),
        outcome=tuple(rng.dirichlet(np.ones(3), size=(4, 2)) for _ in range(num_candidates)),
    )


def enumerated(world: World, observed: Observed) -> tuple[float, list[float]]:
    """P(theta = 1 | observed) and every EIG in bits, from differences of entropies."""

    def joint(seen: Observed) -> list[float]:
        mass = [0.0, 0.0]
        for s, p in enumerate(world.prior):
            for k, y in seen:
                local, given = float(world.local[k][s]), world.outcome[k][s]
                p *= (1 - local) * given[0, y] + local * given[1, y]
            mass[world.theta[s]] += p
        return mass

    def entropy(mass: list[float]) -> float:
        shares = [m / sum(mass) for m in mass if m > 0]
        return -sum(p * math.log2(p) for p in shares)

    now = joint(observed)
    gains = []
    for k in range(world.num_candidates):
        later = [joint([*observed, (k, y)]) for y in range(world.outcome[k].shape[2])]
        expected = sum(sum(m) / sum(now) * entropy(m) for m in later if sum(m) > 0)
        gains.append(entropy(now) - expected)
    return now[1] / sum(now), gains


@pytest.mark.parametrize(("p_theta", "row", "expected"), CLOSED_FORMS)
def test_eig_in_closed_form(p_theta: float, row: list[float], expected: float) -> None:
    assert nats(p_theta, row) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize("p_theta", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("row", [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [0.3, 0.3]], ids=repr)
def test_an_outcome_independent_of_theta_is_worth_exactly_nothing(
    p_theta: float, row: list[float]
) -> None:
    assert nats(p_theta, row) == 0.0


@pytest.mark.parametrize("p_theta", [0.0, 1.0])
@pytest.mark.parametrize("method", ["exact", "factored"])
def test_a_certain_prior_has_nothing_to_learn(p_theta: float, method: str) -> None:
    world = World.from_likelihood(p_theta, [[0.2, 0.8], [0.1, 0.9]])
    assert world.eig(method=method) == [0.0, 0.0]
    assert world.greedy_sequence([0, 0], 2, method).order == [0, 1]


def test_a_weak_experiment_keeps_its_digits() -> None:
    weak, stronger = nats(0.5, [0.5, 0.5 + 1e-8]), nats(0.5, [0.5, 0.5 + 1e-7])
    assert weak == pytest.approx(5e-17, rel=1e-6)
    assert 0 < weak < stronger
    assert stronger == pytest.approx(5e-15, rel=1e-6)


@settings(max_examples=60)
@given(unit, rows)
def test_eig_lies_between_zero_and_the_entropy(p_theta: float, row: tuple[float, float]) -> None:
    bits = nats(p_theta, row) / LOG2
    assert 0 <= bits <= float(entropy_bits(p_theta)) + 1e-12


@settings(max_examples=60)
@given(unit, rows)
def test_swapping_the_labels_of_theta_changes_nothing(
    p_theta: float, row: tuple[float, float]
) -> None:
    assert nats(p_theta, row) == pytest.approx(nats(1 - p_theta, row[::-1]), rel=1e-9, abs=1e-15)


@settings(max_examples=60)
@given(unit, rows)
def test_swapping_the_labels_of_the_outcome_changes_nothing(
    p_theta: float, row: tuple[float, float]
) -> None:
    flipped = (1 - row[0], 1 - row[1])
    assert nats(p_theta, row) == pytest.approx(nats(p_theta, flipped), rel=1e-9, abs=1e-15)


def test_the_order_of_the_pool_changes_nothing() -> None:
    table = [[0.2, 0.8], [0.0, 1.0], [0.5, 0.5], [0.1, 0.7], [0.02, 0.6]]
    plain = World.from_likelihood(0.3, table).exact_eig()
    for order in itertools.permutations(range(5)):
        assert World.from_likelihood(0.3, [table[k] for k in order]).exact_eig() == [
            plain[k] for k in order
        ]


def test_impossible_outcomes_raise_no_floating_point_warning() -> None:
    table = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.5]]
    with np.errstate(all="raise"):
        world = World.from_likelihood(0.1, table)
        exact, factored = world.exact_eig(), world.exact_factored_eig()
        revealed = world.exact_eig([(0, 1)])
    certain = float(entropy_bits(0.1))
    assert exact[:4] == pytest.approx([certain, certain, 0, 0])
    assert factored == pytest.approx(exact)
    assert revealed == [None, 0, 0, 0, 0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("observed", [[], [(0, 2)], [(1, 0), (0, 1)], [(2, 1), (2, 1), (1, 2)]])
def test_enumeration_gives_the_same(seed: int, observed: list[tuple[int, int]]) -> None:
    world = random_world(seed)
    posterior, gains = enumerated(world, observed)
    assert world.posterior(observed) == pytest.approx(posterior, rel=1e-12)
    found = [world.candidate_eig(k, observed) for k in range(3)]
    assert found == pytest.approx(gains, abs=1e-12)
    revealed = {k for k, _ in observed}
    assert world.exact_eig(observed) == [None if k in revealed else found[k] for k in range(3)]


def test_ratios_beyond_the_range_of_floats() -> None:
    # log likelihoods of -1000 and -1001: both underflow unless they stay logarithms
    world = World.from_likelihood(0.5, [[math.exp(-10), math.exp(-10.01)]])
    assert world.posterior([(0, 1)] * 100) == pytest.approx(1 / (1 + math.e), rel=1e-9)


@pytest.mark.parametrize("prior", [0.5, 0.3, 1e-6])
def test_long_evidence_neither_sticks_nor_breaks(prior: float) -> None:
    world = World.from_likelihood(prior, [[0.4, 0.6], [0.2, 0.8]])
    up, down = [(0, 1)] * 5000, [(0, 0)] * 5000
    assert world.posterior(up) == 1.0
    assert world.posterior(down) < 1e-300
    for observed in (up, down):
        assert 0 <= world.candidate_eig(1, observed) < 1e-250
        assert math.isfinite(world.branch_weight(1, observed))
        factored = world.exact_factored_eig(observed)[1]
        assert factored == pytest.approx(0, abs=1e-12)
    assert world.posterior(up + down) == pytest.approx(prior, rel=1e-6)


def test_beliefs_pass_through_the_subnormal_numbers_without_harm() -> None:
    world = World.from_likelihood(0.5, [[0.4, 0.6], [0.2, 0.8], [0, 1]])
    for count in range(1740, 1850):  # the smaller belief goes from 1e-306 to 0
        for y in (0, 1):
            noisy, certain = (world.candidate_eig(k, [(0, y)] * count) for k in (1, 2))
            assert 0 <= noisy <= certain < 1e-290


def test_impossible_evidence_is_an_error_and_leaves_no_trace() -> None:
    world = World.from_likelihood(0.5, [[0, 0], [0.2, 0.8]])
    for ask in (world.posterior, world.exact_eig, world.branch_weights, world.exact_factored_eig):
        with pytest.raises(ImpossibleEvidenceError, match=r"zero probability together in world"):
            ask([(0, 1)])
    assert world.posterior([(1, 1)]) == pytest.approx(0.8)

    model = ExactBelief({world.name: world})
    bad, good = (shown(world, 0, 1),), (shown(world, 1, 1),)
    answers = model.probabilities([BeliefQuery(world.target(), seen) for seen in (bad, good)])
    assert "zero probability" in str(answers.reasons[0])
    assert answers.probabilities[1] == pytest.approx(0.8)


def test_a_repeated_candidate_counts_as_independent_repeats() -> None:
    world = World.from_likelihood(0.5, [[0.2, 0.8], [0.4, 0.6]])
    assert world.posterior([(0, 1)] * 2) == pytest.approx(0.64 / (0.64 + 0.04))
    assert world.exact_eig([(0, 1)])[0] is None
    assert world.candidate_eig(0, [(0, 1)]) == pytest.approx(enumerated(world, [(0, 1)])[1][0])


def test_branches_and_their_outcomes() -> None:
    world = World.factored(0.25, [[0.2, 0.8]], [[[0.7, 0.3], [0.1, 0.9]]])
    assert world.branch_weight(0) == pytest.approx(0.35)
    assert world.branch_outcomes(0, True).tolist() == pytest.approx([0.1, 0.9])
    assert world.branch_outcomes(0, False).tolist() == pytest.approx([0.7, 0.3])
    assert world.marginal(0).tolist() == [pytest.approx([0.58, 0.42]), pytest.approx([0.22, 0.78])]
    sure = World.from_likelihood(0.5, [[1, 1]])
    with pytest.raises(ImpossibleEvidenceError, match="candidate 0: theta'=0 has zero probability"):
        sure.branch_outcomes(0, False)


def test_branches_mix_to_the_marginal_under_evidence() -> None:
    world = random_world(5)
    observed = [(0, 1), (1, 2)]
    weight = world.branch_weight(2, observed)
    mixed = weight * world.branch_outcomes(2, True, observed)
    mixed += (1 - weight) * world.branch_outcomes(2, False, observed)
    assert mixed == pytest.approx(world.state_posterior(observed) @ world.marginal(2))


def test_a_joint_table_and_a_factored_world_of_the_same_law_agree() -> None:
    p_local = [[0.2, 0.9], [0.5, 0.6]]
    p_y = [[[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [[0.8, 0.2], [0.3, 0.7]]]
    factored = World.factored(0.35, p_local, p_y)
    table = []
    for theta, a, b, y, z in itertools.product((0, 1), (0, 1), (0, 1), range(3), range(2)):
        p = 0.35 if theta else 0.65
        for k, (local, outcome) in enumerate(((a, y), (b, z))):
            p *= p_local[k][theta] if local else 1 - p_local[k][theta]
            p *= p_y[k][local][outcome]
        table.append({"theta": theta, "local": [a, b], "y": [y, z], "p": p})
    joint = World.from_joint(table, [3, 2])
    for observed in ([], [(0, 2)], [(1, 0)], [(0, 1), (1, 1)]):
        assert joint.posterior(observed) == pytest.approx(factored.posterior(observed))
        for name in ("branch_weights", "exact_eig", "exact_factored_eig"):
            a, b = (getattr(world, name)(observed) for world in (joint, factored))
            assert [x is None for x in a] == [x is None for x in b]
            assert [x for x in a if x is not None] == pytest.approx(
                [x for x in b if x is not None], abs=1e-12
            )


@pytest.mark.parametrize("seed", range(6))
def test_greedy_takes_the_best_of_what_is_left_at_every_step(seed: int) -> None:
    world = random_world(seed, num_candidates=4)
    outcomes = np.random.default_rng(seed).integers(0, 3, 4).tolist()

    def is_greedy(order: tuple[int, ...]) -> bool:
        for step, k in enumerate(order):
            _, gains = enumerated(world, [(j, outcomes[j]) for j in order[:step]])
            if gains[k] < max(gains[j] for j in order[step:]):
                return False
        return True

    path = world.greedy_sequence(outcomes, 4)
    assert [o for o in itertools.permutations(range(4)) if is_greedy(o)] == [tuple(path.order)]
    seen = [(k, outcomes[k]) for k in path.order]
    beliefs = [enumerated(world, seen[:step])[0] for step in range(5)]
    assert path.beliefs == pytest.approx(beliefs)
    assert path.ig_bits == pytest.approx(-np.diff([float(entropy_bits(p)) for p in beliefs]))


def test_greedy_may_stop_early_and_breaks_ties_by_place() -> None:
    world = World.from_likelihood(0.5, [[0.2, 0.8], [0.2, 0.8], [0.1, 0.9]])
    assert world.greedy_sequence([1, 1, 0], 3).order == [2, 0, 1]
    assert world.greedy_sequence([1, 1, 0], 0).ig_bits == []
    assert world.greedy_sequence([1, 1, 0], 1).order == [2]


def test_a_revealed_twin_is_worth_nothing() -> None:
    # theta' settles y, and both candidates are the same measurement
    table = [
        {"theta": theta, "local": [y, y], "y": [y, y], "p": 0.5 * (0.8 if y == theta else 0.2)}
        for theta, y in itertools.product((0, 1), repeat=2)
    ]
    world = World.from_joint(table, [2, 2])
    first = world.exact_eig()
    assert first[0] == first[1] == pytest.approx(0.192745 / LOG2, abs=1e-6)
    assert world.exact_eig([(0, 1)])[1] == pytest.approx(0, abs=1e-15)


def test_samples_follow_the_law() -> None:
    world = random_world(3)
    rng = np.random.default_rng(0)
    draws = [world.sample(rng) for _ in range(4000)]
    theta = np.array([label for label, _ in draws])
    y = np.array([[stub.outcome.fields["y"] for stub in pool] for _, pool in draws])
    assert [stub.experiment for stub in draws[0][1]] == list(world.experiments())
    observed = [(0, 1)]
    chosen = y[:, 0] == 1
    for found, truth, size in (
        (theta.mean(), world.posterior(), 4000),
        (theta[chosen].mean(), world.posterior(observed), chosen.sum()),
        ((y[:, 2] == 2).mean(), (world.prior @ world.marginal(2))[2], 4000),
    ):
        assert abs(found - truth) < 4 * math.sqrt(truth * (1 - truth) / size)


def test_experiments_carry_no_truth_about_theta() -> None:
    world = World.factored(0.25, [[0.2, 0.8]], [[[0.7, 0.3], [0.1, 0.9]]], name="w")
    x = world.experiment(0)
    assert (x.id, x.hypothesis.fields) == ("x0", Fields(world="w", candidate=0))
    assert x.fields["log_ratio"] == pytest.approx([math.log(1 / 7), math.log(3)])
    assert world.target().fields == Fields(world="w")
    assert world.observed((shown(world, 0, 1),)) == [(0, 1)]


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_outcomes_are_ranked_by_how_much_they_support_the_local_truth(seed: int) -> None:
    world = random_world(seed)
    for k in range(world.num_candidates):
        order = world.by_support(k)
        assert sorted(order) == [0, 1, 2]
        likely, unlikely = (world.branch_outcomes(k, branch) for branch in (True, False))
        # rounded to 9 digits, so that equal outcomes are equal
        assert (np.diff(np.log(likely / unlikely)[order]) > -2e-9).all()


@pytest.mark.parametrize(
    ("unlikely", "likely", "order"),
    [
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0, 1, 2]),
        ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [2, 1, 0]),
        ([0.3, 0.4, 0.3], [0.3, 0.4, 0.3], [0, 1, 2]),
        ([0.2, 0.6, 0.2], [0.3, 0.4, 0.3], [1, 0, 2]),
        ([0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0, 2, 1]),
    ],
    ids=str,
)
def test_the_ranking_by_hand(unlikely: list[float], likely: list[float], order: list[int]) -> None:
    world = World.factored(0.5, [[0.2, 0.8]], [[unlikely, likely]])
    assert world.by_support(0).tolist() == order


@pytest.mark.parametrize(
    ("worth", "expected"),
    [
        ([0.1, math.nan, 0.9], (2, (2,))),
        ([0.9, None, 0.9], (0, (0, 2))),
        ([0.5, 0.5 + 5e-10, 0.5 - 1e-9], (0, (0, 1))),
        ([0.5, 0.5 + 2e-9], (1, (1,))),
        ([-1.0, -2.0], (0, (0,))),
        ([math.nan, -math.inf, -3.0], (2, (2,))),
    ],
)
def test_best_index(worth: list[float | None], expected: tuple[int, tuple[int, ...]]) -> None:
    assert best_index(worth) == expected


def test_best_index_of_nothing() -> None:
    with pytest.raises(DataError, match="no candidate left to choose from"):
        best_index([math.nan, None])


def row(**changes: Any) -> dict[str, Any]:
    return {"theta": 1, "local": [1], "y": [0], "p": 1.0, **changes}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: World.from_likelihood(0.5, [[0.2, 1.8]]), r"outside \[0, 1\]"),
        (lambda: World.from_likelihood(1.5, [[0.2, 0.8]]), "negative probability"),
        (lambda: World.from_likelihood(math.nan, [[0.2, 0.8]]), "not finite"),
        (lambda: World.from_likelihood(0.5, [[0.2, math.nan]]), "candidate 0"),
        (lambda: World.factored(0.5, [[0.2, 0.8]], []), "1 local and 0 outcome arrays: mismatch"),
        (lambda: World.factored(0.5, [[0.2]], [[[1, 0], [0, 1]]]), "do not match 2 states"),
        (
            lambda: World.factored(0.5, [[0.2, 0.8]], [[[0.5, 0.4], [0, 1]]]),
            "candidate 0: .* sum to 0.9, not 1",
        ),
        (lambda: World.from_joint([], [2]), "joint table is empty"),
        (lambda: World.from_joint([row(p=0.5)], [2]), "sum to 0.5, not 1"),
        (lambda: World.from_joint([row(y=[2])], [2]), "outside the range of n_outcomes"),
        (lambda: World.from_joint([row(y=[-1])], [2]), "outside the range of n_outcomes"),
        (lambda: World.from_joint([row(y=[0, 1])], [2]), "differ in length"),
        (lambda: World.from_joint([row(theta=2)], [2]), "binary label"),
    ],
)
def test_malformed_worlds_are_refused(build: Callable[[], World], message: str) -> None:
    with pytest.raises(DataError, match=message):
        build()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda w: w.posterior([(2, 0)]), r"candidate 2 is outside the range 0\.\.1"),
        (lambda w: w.posterior([(-1, 0)]), "candidate -1 is outside"),
        (lambda w: w.posterior([(0, 2)]), "outcome 2 of candidate 0 is outside"),
        (lambda w: w.eig(method="best"), "unknown method 'best': not one of"),
        (lambda w: w.greedy_sequence([0], 1), "1 outcomes for 2 candidates: length mismatch"),
        (lambda w: w.greedy_sequence([0, 0], 3), "3 steps, but only 2 candidates remain"),
        (lambda w: w.greedy_sequence([0, 5], 2), "outcome 5 of candidate 1 is outside"),
        (lambda w: w.candidate_eig(2), "candidate 2 is outside"),
        (lambda w: w.candidate_eig(-1), "candidate -1 is outside"),
        (lambda w: w.branch_weight(2), "candidate 2 is outside"),
        (lambda w: w.branch_outcomes(2, True), "candidate 2 is outside"),
        (lambda w: w.experiment(2), "candidate 2 is outside"),
        (lambda w: w.by_support(2), "candidate 2 is outside"),
    ],
)
def test_questions_outside_a_world_are_refused(
    ask: Callable[[World], object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        ask(World.from_likelihood(0.5, [[0.2, 0.8], [0.4, 0.6]]))
