from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bed.errors import DataError
from bed.estimators import FactoredEIG
from bed.evaluation.consistency import POSITIONS, composition_residual, position_bias
from bed.evaluation.probes import (
    coherence_probe,
    composition_probe,
    position_probe,
    telling_stub,
)
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub
from bed.information import probability
from bed.protocols import BeliefQuery, OutcomeRequest, Outcomes
from tests.factories import (
    TARGET,
    ScriptedBelief,
    ScriptedSimulator,
    chronos,
    dependency,
    exact_problems,
    flag,
    knockout,
    plain,
    two_way_belief,
)


def pool_episode(supported: str, tiers: tuple[int, ...], id: str = "e") -> Episode:
    """An episode of flags, "+" or "-" a stub."""
    pool = tuple(flag(plain(i), sign == "+") for i, sign in enumerate(supported))
    return Episode(id, TARGET, 1, pool, tiers, ("",) * len(tiers))


TWELVE = pool_episode("-+--+-------", (1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4))


def places_of(stub: Stub, belief: ScriptedBelief) -> list[int]:
    return [query.evidence.index(stub) + 1 for query in belief.queries]


def test_the_telling_stub_supports_from_the_most_relevant_tier() -> None:
    assert telling_stub(TWELVE).experiment.id == "x1"


def test_of_one_tier_the_most_supportive_stub_tells() -> None:
    effects = (-0.6, -1.5, -0.9)
    pool = tuple(chronos(knockout("G", f"L{i}"), effect) for i, effect in enumerate(effects))
    episode = Episode("e", dependency("G", "C"), 1, pool, (1, 1, 1), ("", "", ""))
    assert telling_stub(episode) == pool[1]


def test_a_pool_without_support_tells_nothing() -> None:
    with pytest.raises(DataError, match="no stub of the pool supports the target"):
        telling_stub(pool_episode("--", (1, 2)))


def test_positions_are_asked_in_one_batch_around_the_same_fillers() -> None:
    belief = ScriptedBelief(lambda query: 0.5)
    found = position_probe([TWELVE], belief)
    assert len(belief.batches) == 1
    telling = telling_stub(TWELVE)
    assert places_of(telling, belief) == list(POSITIONS)
    others = [tuple(stub for stub in query.evidence if stub != telling) for query in belief.queries]
    assert len(set(others)) == 1
    assert len({query.seed for query in belief.queries}) == 1
    tiers = sorted(TWELVE.tiers[TWELVE.pool.index(stub)] for stub in others[0])
    assert tiers == [3, 3, 3, 4, 4, 4, 4, 4, 4]
    assert found.p.shape == (1, 4)


def test_the_order_of_the_fillers_hangs_on_seed_and_episode() -> None:
    def order(episode: Episode, seed: int) -> list[str]:
        belief = ScriptedBelief(lambda query: 0.5)
        position_probe([episode], belief, seed)
        return [stub.experiment.id for stub in belief.queries[0].evidence]

    assert order(TWELVE, 1) == order(TWELVE, 1)
    assert order(TWELVE, 1) != order(TWELVE, 2)
    assert order(TWELVE, 1) != order(replace(TWELVE, id="other"), 1)


def test_a_belief_that_heeds_the_first_stub_is_found_out() -> None:
    def answer(query: BeliefQuery) -> float:
        return 0.8 if query.evidence[0].outcome.fields["supported"] else 0.5

    # the other supporting stub is less relevant than the nine fillers
    episode = pool_episode("++----------", (1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3))
    found = position_probe([episode], ScriptedBelief(answer))
    assert position_bias(found.p).mean_db == pytest.approx(10 * np.log10(4))


def test_episodes_that_cannot_be_placed_or_answered_are_left_out_with_the_reason() -> None:
    episodes = [
        pool_episode("-" * 10, (1,) * 10, "no support"),
        pool_episode("+-", (1, 1), "short"),
        replace(TWELVE, id="fails", target=Hypothesis("another claim")),
        TWELVE,
    ]
    belief = ScriptedBelief(
        lambda query: (
            0.5
            if query.hypothesis == TARGET or query.evidence[3] != telling_stub(TWELVE)
            else "too long"
        )
    )
    found = position_probe(episodes, belief)
    assert found.episodes == (TWELVE,)
    assert found.p.shape == (1, 4)
    assert found.left_out == {
        "no support": "no stub of the pool supports the target",
        "short": "a pool of 2 stubs is short of the 10 it takes",
        "fails": "belief: too long",
    }


def test_composition_asks_none_each_and_both_orders() -> None:
    belief = two_way_belief(prior=0.5, supported=0.8, unsupported=0.2)
    found = composition_probe([TWELVE], belief, ScriptedSimulator())
    support = telling_stub(TWELVE)
    refute = flag(support.experiment, False)
    assert [query.evidence for query in belief.queries] == [
        (),
        (support,),
        (refute,),
        (support, refute),
        (refute, support),
    ]
    np.testing.assert_allclose(found.p, [[0.5, 0.8, 0.2, 0.2, 0.8]])


def test_forecasts_of_a_sum_of_evidence_compose() -> None:
    def answer(query: BeliefQuery) -> float:
        flags = [stub.outcome.fields["supported"] for stub in query.evidence]
        return float(probability(0.3 + sum(1.0 if said else -0.7 for said in flags)))

    episodes = [TWELVE, replace(TWELVE, id="other")]
    found = composition_probe(episodes, ScriptedBelief(answer), ScriptedSimulator())
    assert found.by_domain().keys() == {"generic"}
    residuals = composition_residual(found.by_domain()).signed_per_episode["generic"]
    np.testing.assert_allclose(residuals, [0.0, 0.0], atol=1e-9)


def test_an_outcome_that_cannot_be_drawn_or_supports_leaves_the_episode_out() -> None:
    class Stubborn:
        def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
            return Outcomes(tuple(Outcome(Fields(supported=True)) for _ in requests))

    belief = two_way_belief()
    failing = composition_probe([TWELVE], belief, ScriptedSimulator(lambda request: "no server"))
    assert failing.left_out == {"e": "simulator: no server"}
    supporting = composition_probe([TWELVE], belief, Stubborn())
    assert supporting.left_out == {"e": "simulator: the outcome supports what it should refute"}
    assert not belief.queries


def test_an_experiment_tested_for_the_other_direction_is_refuted_by_its_support() -> None:
    def regulation(direction: str) -> Hypothesis:
        fields = Fields(claim="regulation", gene="G", direction=direction)
        return Hypothesis(f"Drug D moves G {direction}", "expression", fields)

    def reported(change: float) -> Outcome:
        return Outcome(Fields(log2_fold_change=change, p_adjusted=1e-6))

    x = Experiment("x", regulation("down"), fields=Fields(kind="differential"))
    episode = Episode("e", regulation("up"), 1, (Stub(x, reported(2.0)),), (1,), ("",))

    class Direction:
        def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
            return Outcomes(
                tuple(reported(-2.0 if request.supportive else 2.0) for request in requests)
            )

    found = composition_probe([episode], ScriptedBelief(lambda query: 0.5), Direction())
    assert found.episodes == (episode,)


def test_a_bayesian_is_coherent() -> None:
    exact = exact_problems("graded", 10)
    belief, simulator = exact.models
    coarse, fine = (
        coherence_probe(exact.episodes, FactoredEIG(belief, simulator, num_samples=size))
        for size in (1, 128)
    )
    assert not fine.left_out
    assert len(fine.gap) == sum(len(episode.pool) for episode in exact.episodes)
    assert fine.mean_abs_gap.shape == (10,)
    # what is left is the scatter of the outcomes
    assert np.abs(fine.gap).mean() < min(0.01, np.abs(coarse.gap).mean())


def test_a_belief_that_only_ever_rises_is_not_coherent() -> None:
    belief = two_way_belief(prior=0.5, weight=0.5, supported=0.9, unsupported=0.5)
    found = coherence_probe([TWELVE], FactoredEIG(belief, ScriptedSimulator()))
    np.testing.assert_allclose(found.gap, 0.2)
    np.testing.assert_allclose(found.prior, 0.5)
    np.testing.assert_allclose(found.mean_abs_gap, [0.2])


def test_candidates_that_fail_are_left_out_of_the_coherence_with_the_reason() -> None:
    def fails(request: OutcomeRequest) -> str | None:
        return "no server" if request.experiment.id == "x3" else None

    found = coherence_probe([TWELVE], FactoredEIG(two_way_belief(), ScriptedSimulator(fails)))
    assert found.left_out == {("e", "x3"): "simulator: no server"}
    assert len(found.gap) == 11


def test_an_episode_without_any_candidate_left_is_no_row() -> None:
    simulator = ScriptedSimulator(lambda request: "no server")
    found = coherence_probe([TWELVE], FactoredEIG(two_way_belief(), simulator))
    assert found.episodes == ()
    assert found.mean_abs_gap.shape == (0,)
    assert len(found.left_out) == 12


def test_an_empty_pool_is_left_out_of_the_coherence() -> None:
    estimator = FactoredEIG(two_way_belief(), ScriptedSimulator())
    found = coherence_probe([pool_episode("", (), "empty"), TWELVE], estimator)
    assert found.episodes == (TWELVE,)
    assert found.left_out == {("empty", ""): "the pool is empty"}
