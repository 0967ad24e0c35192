"""Outcomes that really happened."""

import numpy as np
import pytest

from bed.domains import reading
from bed.errors import DataError
from bed.evidence import Episode, Evidence
from bed.protocols import OutcomeRequest
from bed.seeds import uniform
from bed.simulators import fit_exemplar_simulator
from tests.factories import (
    TARGET,
    chronos,
    dependency,
    flag,
    graded_episodes,
    knockout,
    plain,
)

SIMULATOR = fit_exemplar_simulator(graded_episodes())
X = knockout("new", "L0")


def episode(name: str, *pool: object) -> Episode:
    stubs: Evidence = pool  # type: ignore[assignment]
    return Episode(name, TARGET, 1, stubs, (1,) * len(pool), ("",) * len(pool))


def drawn(supportive: bool, size: int = 400) -> np.ndarray:
    outcomes = SIMULATOR.sample([OutcomeRequest(X, supportive, (), s) for s in range(size)])
    return np.array([y.fields["chronos"] for y in outcomes.values if y is not None])


@pytest.mark.parametrize("supportive", [True, False])
def test_draws_are_training_outcomes_of_the_branch(supportive: bool) -> None:
    seen = {
        stub.outcome.fields["chronos"]
        for one in graded_episodes()
        for stub in one.pool
        if reading(stub.experiment, stub.outcome).supported == supportive
    }
    found = drawn(supportive)
    assert len(found) == 400
    assert set(found) <= seen


@pytest.mark.parametrize("supportive", [True, False])
def test_draws_grow_in_support_with_the_uniform_number(supportive: bool) -> None:
    u = np.array([uniform(seed) for seed in range(400)])
    assert (np.diff(drawn(supportive)[np.argsort(u)]) <= 0).all()  # lower effects support more
    shelf = SIMULATOR.shelves["depmap", "knockout", supportive]
    ranks = np.array([y.fields["chronos"] for y in shelf])
    assert (np.diff(ranks) <= 0).all()
    assert np.array_equal(drawn(supportive), ranks[(u * len(ranks)).astype(int)])


def test_equal_seeds_give_the_same_rank_in_both_branches() -> None:
    ranks = []
    for supportive in (True, False):
        shelf = [y.fields["chronos"] for y in SIMULATOR.shelves["depmap", "knockout", supportive]]
        ranks.append([shelf.index(y) / len(shelf) for y in drawn(supportive)])
    assert np.abs(np.diff(np.array(ranks), axis=0)).max() < 0.02  # ties share their first rank


def test_the_evidence_is_not_looked_at() -> None:
    known = (chronos(knockout("new", "L1"), -2.5),)
    bare, informed = (
        SIMULATOR.sample([OutcomeRequest(X, True, evidence, s) for s in range(50)])
        for evidence in ((), known)
    )
    assert bare == informed


def test_an_experiment_in_many_pools_counts_once() -> None:
    common, rare = flag(plain(0, note="common"), True), flag(plain(1), True)
    episodes = [episode(f"e{i}", common) for i in range(9)] + [episode("last", rare)]
    (shelf,) = fit_exemplar_simulator(episodes).shelves.values()
    assert len(shelf) == 2


def test_a_branch_or_kind_never_seen_fails_its_request_alone() -> None:
    simulator = fit_exemplar_simulator([episode("e", flag(plain(0), True))])
    asked = [
        OutcomeRequest(plain(5), True),
        OutcomeRequest(plain(5), False),
        OutcomeRequest(plain(5, kind="survey"), True),
        OutcomeRequest(X, True),
    ]
    outcomes = simulator.sample(asked)
    assert outcomes.values[0] is not None
    assert outcomes.reasons[1:] == (
        "no unsupported experiment outcome of domain generic in the training episodes",
        "no supported survey outcome of domain generic in the training episodes",
        "no supported knockout outcome of domain depmap in the training episodes",
    )


def test_no_episodes_are_refused() -> None:
    with pytest.raises(DataError, match="no episodes to take outcomes from"):
        fit_exemplar_simulator([])


def test_an_unreadable_training_outcome_is_named() -> None:
    broken = flag(X, True)  # a knockout that reports a flag
    with pytest.raises(DataError, match=r"knockout:new:L0.*'chronos' is None"):
        fit_exemplar_simulator([Episode("e", dependency("G", "L"), 1, (broken,), (1,), ("",))])
