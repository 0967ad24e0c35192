"""Outcomes given evidence, on a law in which effects hang together within a gene."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from bed.domains import reading
from bed.errors import DataError
from bed.evidence import Evidence
from bed.protocols import OutcomeRequest
from bed.seeds import uniform
from bed.simulators import fit_conditional_simulator, fit_exemplar_simulator
from tests.factories import (
    chronos,
    conditional_simulator,
    graded_episode,
    graded_episodes,
    knockout,
)

X = knockout("new", "L0")
SHELF = ("depmap", "knockout", True)


def alike(effect: float, count: int = 3) -> Evidence:
    """The same gene in other lines of the lineage."""
    return tuple(chronos(knockout("new", f"L{i}"), effect) for i in range(1, count + 1))


def unlike(effect: float, count: int = 3) -> Evidence:
    """Other genes in other lines."""
    return tuple(chronos(knockout(f"other-{i}", f"L{i}"), effect) for i in range(1, count + 1))


def drawn(evidence: Evidence, supportive: bool = True, size: int = 1500) -> np.ndarray:
    requests = [OutcomeRequest(X, supportive, evidence, seed) for seed in range(size)]
    outcomes = conditional_simulator().sample(requests)
    assert set(outcomes.reasons) == {None}
    return np.array([y.fields["chronos"] for y in outcomes.values if y is not None])


def marginal(supportive: bool = True) -> np.ndarray:
    """The training outcomes, least supporting first."""
    shelf = conditional_simulator().shelves["depmap", "knockout", supportive]
    return np.array([y.fields["chronos"] for y in shelf])


@pytest.mark.parametrize("supportive", [True, False])
@pytest.mark.parametrize("evidence", [(), alike(-2.0), alike(0.3)], ids=["none", "for", "against"])
def test_draws_are_training_outcomes_of_the_branch(supportive: bool, evidence: Evidence) -> None:
    found = drawn(evidence, supportive, 200)
    assert set(found) <= set(marginal(supportive))
    assert ((found <= -0.5) == supportive).all()


def test_supporting_evidence_moves_supportive_outcomes_up_the_ranking() -> None:
    strong, none, weak = (drawn(evidence).mean() for evidence in (alike(-1.7), (), alike(-0.55)))
    spread = marginal().std()
    assert strong < none - 0.5 * spread
    assert weak > none + 0.5 * spread


def test_more_evidence_moves_it_further() -> None:
    means = [drawn(alike(-1.7, count)).mean() for count in (0, 1, 3)]
    assert means[0] > means[1] > means[2]


def test_evidence_that_does_not_bear_on_it_hardly_moves_it() -> None:
    shift = abs(drawn(unlike(-1.7)).mean() - drawn(unlike(-0.55)).mean())
    assert shift < 0.3 * abs(drawn(alike(-1.7)).mean() - drawn(alike(-0.55)).mean())


def test_fresh_outcomes_are_foretold_almost_as_well_as_the_law_allows() -> None:
    errors: list[tuple[float, float, float]] = []
    for number in range(1000, 1150):
        pool = graded_episode(number).pool
        for first in (0, 4, 8):
            stub, known = pool[first], pool[first + 1 : first + 4]
            effect = stub.outcome.fields["chronos"]
            if effect > -0.5:
                continue
            asked = [OutcomeRequest(stub.experiment, True, known, seed) for seed in range(100)]
            draws = [y.fields["chronos"] for y in conditional_simulator().sample(asked).values if y]
            told = float(np.mean([other.outcome.fields["chronos"] for other in known]))
            guesses = (float(np.mean(draws)), float(marginal().mean()), ideal(told))
            errors.append(tuple((effect - guess) ** 2 for guess in guesses))
    conditional, without, best = np.mean(errors, axis=0)
    assert conditional < 0.6 * without
    assert conditional < 1.3 * best


def ideal(told: float) -> float:
    """The mean of a supported effect given the mean of three others of its gene.

    A gene's centre is N(-1, 0.5), each effect has noise 0.25, and the branch cuts off at -0.5.
    """
    prior, noise = 1 / 0.5**2, 1 / 0.25**2
    centre = (prior * -1.0 + 3 * noise * told) / (prior + 3 * noise)
    spread = math.sqrt(0.25**2 + 1 / (prior + 3 * noise))
    below = (-0.5 - centre) / spread
    return float(centre - spread * norm.pdf(below) / norm.cdf(below))


def test_without_evidence_the_marginal_is_kept() -> None:
    ranks = np.sort(marginal())
    found = np.sort(np.searchsorted(ranks, drawn((), size=4000)) / len(ranks))
    distance = np.abs(found - (np.arange(4000) + 0.5) / 4000).max()
    # Kolmogorov's 0.999 quantile for 4,000 draws from a marginal of about 1,900 outcomes
    assert distance < 1.95 * math.sqrt(1 / 4000 + 1 / len(ranks))


@pytest.mark.parametrize("evidence", [(), alike(-1.5)], ids=["none", "for"])
def test_draws_grow_in_support_with_the_uniform_number(evidence: Evidence) -> None:
    u = [uniform(seed) for seed in range(300)]
    assert (np.diff(drawn(evidence, size=300)[np.argsort(u)]) <= 0).all()


def test_the_shelves_are_the_exemplars() -> None:
    assert conditional_simulator().shelves == fit_exemplar_simulator(graded_episodes()).shelves


def test_few_rows_keep_the_marginal() -> None:
    few = fit_conditional_simulator(graded_episodes()[:2])
    for shelf in few.shelves:
        assert not few.coefficients[shelf].any()
        assert not few.log_spread[shelf].any()
    ranks = np.array([y.fields["chronos"] for y in few.shelves[SHELF]])
    u = np.array([uniform(seed) for seed in range(200)])
    outcomes = few.sample([OutcomeRequest(X, True, alike(-2.0), seed) for seed in range(200)])
    found = [y.fields["chronos"] for y in outcomes.values if y is not None]
    assert found == ranks[(u * len(ranks)).astype(int)].tolist()


def test_a_branch_or_kind_never_seen_fails_its_request_alone() -> None:
    only = [e for e in graded_episodes() if all(_supported(s) for s in e.pool)]
    assert only
    simulator = fit_conditional_simulator(only)
    outcomes = simulator.sample([OutcomeRequest(X, branch) for branch in (True, False)])
    assert outcomes.values[0] is not None
    assert outcomes.reasons == (
        None,
        "no unsupported knockout outcome of domain depmap in the training episodes",
    )


def _supported(stub: object) -> bool:
    return reading(stub.experiment, stub.outcome).supported  # type: ignore[attr-defined]


def test_no_episodes_are_refused() -> None:
    with pytest.raises(DataError, match="no episodes to take outcomes from"):
        fit_conditional_simulator([])
