"""Draws from exact worlds."""

import numpy as np
import pytest

from bed.evidence import Fields
from bed.protocols import OutcomeRequest
from bed.simulators import ExactSimulator
from bed.worlds import World
from tests.factories import plain, shown

RNG = np.random.default_rng(18)
WORLD = World(
    prior=np.array([0.2, 0.3, 0.3, 0.2]),
    theta=np.array([0, 0, 1, 1]),
    local=tuple(RNG.random(4) for _ in range(2)),
    outcome=tuple(RNG.dirichlet(np.full(3, 0.5), size=(4, 2)) for _ in range(2)),
)
EVIDENCE = (shown(WORLD, 0, 1),)
WORLDS = {WORLD.name: WORLD}


def drawn(simulator: ExactSimulator, supportive: bool, size: int) -> np.ndarray:
    x = WORLD.experiment(1)
    requests = [OutcomeRequest(x, supportive, EVIDENCE, seed) for seed in range(size)]
    outcomes = simulator.sample(requests)
    assert set(outcomes.reasons) == {None}
    return np.array([y.fields["y"] for y in outcomes.values if y is not None])


@pytest.mark.parametrize("supportive", [True, False])
@pytest.mark.parametrize("knows_evidence", [True, False])
def test_draws_follow_the_branch(knows_evidence: bool, supportive: bool) -> None:
    size = 3000
    found = np.bincount(drawn(ExactSimulator(WORLDS, knows_evidence), supportive, size)) / size
    law = [WORLD.branch_outcomes(1, supportive, seen) for seen in ([(0, 1)], [])]
    expected, other = law if knows_evidence else law[::-1]
    error = np.sqrt(expected * (1 - expected) / size)
    assert (np.abs(found - expected) < 4 * error).all()
    assert (np.abs(found - other) > 4 * error).any()


def test_equal_seeds_give_the_same_quantile() -> None:
    simulator = ExactSimulator(WORLDS)
    rank = np.argsort(WORLD.by_support(1))
    supported, unsupported = (rank[drawn(simulator, branch, 500)] for branch in (True, False))
    # inverse CDF: both are monotone in one hidden number, so they never go opposite ways
    order = np.lexsort((unsupported, supported))
    assert (np.diff(unsupported[order]) >= 0).all()
    assert np.array_equal(supported, rank[drawn(simulator, True, 500)])


@pytest.mark.parametrize("supportive", [True, False])
def test_levels_run_from_the_least_to_the_most_supportive_outcome(supportive: bool) -> None:
    levels = (np.arange(2000) + 0.5) / 2000
    requests = [
        OutcomeRequest(WORLD.experiment(1), supportive, EVIDENCE, level=level) for level in levels
    ]
    outcomes = ExactSimulator(WORLDS).sample(requests).values
    found = [y.fields["y"] for y in outcomes if y is not None]
    law = WORLD.branch_outcomes(1, supportive, [(0, 1)])
    likely, unlikely = (WORLD.branch_outcomes(1, branch, []) for branch in (True, False))
    assert found == sorted(found, key=lambda y: likely[y] / unlikely[y])
    assert np.bincount(found) / 2000 == pytest.approx(law, abs=1 / 2000)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (
            OutcomeRequest(plain(0), True),
            "no world 'None' here, asked of 'x0'",
        ),
        (
            OutcomeRequest(WORLD.experiment(0), True, (shown(WORLD, 0, 3),)),
            "outcome 3 of candidate 0 is outside its range",
        ),
    ],
    ids=["free text", "evidence outside the world"],
)
def test_unanswerable_requests_get_a_reason(request_: OutcomeRequest, reason: str) -> None:
    outcomes = ExactSimulator(WORLDS).sample([request_, OutcomeRequest(WORLD.experiment(0), True)])
    assert outcomes.reasons == (reason, None)
    assert outcomes.values[0] is None
    assert outcomes.values[1] is not None


def test_an_impossible_branch_gets_a_reason() -> None:
    world = World.from_likelihood(0.5, [[0, 0]])
    simulator = ExactSimulator({world.name: world})
    outcomes = simulator.sample([OutcomeRequest(world.experiment(0), b) for b in (True, False)])
    assert outcomes.reasons == ("candidate 0: theta'=1 has zero probability", None)
    assert outcomes.values[1] is not None
    assert outcomes.values[1].fields == Fields(y=0)
