"""What each policy prefers, and whole runs of all of them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from bed.belief import ExactBelief
from bed.estimators import ExactEIG, FactoredEIG, NestedMonteCarloEIG
from bed.evidence import Episode
from bed.policies import (
    HindsightPolicy,
    InformationPolicy,
    RandomPolicy,
    RelevancePolicy,
    UncertaintyPolicy,
    choose_one,
)
from bed.protocols import BeliefQuery, DesignProblem, Policy
from bed.simulation import Study, simulate
from bed.simulators import ExactSimulator
from bed.worlds import World
from tests.factories import TARGET, ScriptedBelief, flag, plain, plains


def test_random_choices_follow_the_seed_and_not_the_order() -> None:
    pool = plains(6)
    for seed in range(20):
        chosen = {
            order[choose_one(RandomPolicy(), DesignProblem(TARGET, (), order, seed)).index or 0].id
            for order in (pool, pool[::-1], pool[3:] + pool[:3])
        }
        assert len(chosen) == 1


def test_random_choices_are_uniform() -> None:
    size, pool = 3000, plains(6)
    problems = [DesignProblem(TARGET, (), pool, seed) for seed in range(size)]
    choices = RandomPolicy().choose(problems)
    counts = np.bincount([c.index for c in choices if c.index is not None], minlength=6)
    # four standard errors of a share of one sixth
    assert np.abs(counts / size - 1 / 6).max() < 4 * math.sqrt(5 / 36 / size)
    assert choices[0].eig is None
    assert choices[0].calls.belief == 0


def test_relevance_takes_the_best_tier_in_pool_order() -> None:
    pool = (plain(0, tier=3), plain(1, tier=2), plain(2, tier=5), plain(3, tier=2))
    choice = choose_one(RelevancePolicy(), DesignProblem(TARGET, (), pool))
    assert (choice.index, choice.tied) == (1, (1, 3))
    assert choice.reason == "of the most relevant tier"


def by_number(shares: list[float | str]) -> ScriptedBelief:
    return ScriptedBelief(lambda query: shares[int(query.hypothesis.text.split()[-1])])


def test_uncertainty_takes_the_weight_nearest_to_one_half() -> None:
    belief = by_number([0.9, 0.35, "unreadable", 0.6])
    choice = choose_one(UncertaintyPolicy(belief), DesignProblem(TARGET, (), plains(4), 3))
    assert choice.index == 3
    assert choice.failures == ("branch weight: unreadable",)
    assert (choice.calls.belief, choice.calls.belief_sent) == (4, 4)
    assert {query.hypothesis for query in belief.queries} == {x.hypothesis for x in plains(4)}


def test_uncertainty_may_use_base_rates() -> None:
    # at a base rate of 0.2 the odds of 4 and 1 become 1 and 1/4
    policy = UncertaintyPolicy(by_number([0.5, 0.8]), {"evidence of tier 1": 0.2})
    choice = choose_one(policy, DesignProblem(TARGET, (), plains(2)))
    assert choice.index == 1
    assert choice.worth.tolist() == pytest.approx([-0.3, 0.0])


@pytest.mark.parametrize(("label", "index"), [(1, 1), (0, 2)])
def test_hindsight_takes_the_outcome_that_convinces_most_of_the_truth(
    label: int, index: int
) -> None:
    after: list[float | str] = [0.6, 0.9, 0.2, "unreadable"]

    def answer(query: BeliefQuery) -> float | str:
        assert query.hypothesis == TARGET
        assert query.evidence[0] == known
        return after[int(query.evidence[-1].experiment.id[1:])]

    known = flag(plain(9), True)
    pool = tuple(flag(x, True) for x in plains(4))
    episode = Episode("e", TARGET, label, pool, (1,) * 4, ("",) * 4)
    policy = HindsightPolicy(ScriptedBelief(answer), {"e": episode})
    choice = choose_one(policy, DesignProblem(TARGET, (known,), plains(4), id="e"))
    assert choice.index == index
    assert choice.failures == ("unreadable",)
    assert choice.calls.belief == choice.calls.belief_sent == 4


def world_of_twenty() -> World:
    rng = np.random.default_rng(4)
    local = rng.uniform(0.05, 0.95, (20, 2)).tolist()
    return World.factored(0.4, local, [[[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]]] * 20)


def policies(world: World, episode: Episode) -> dict[str, Policy]:
    worlds = {world.name: world}
    belief, simulator = ExactBelief(worlds), ExactSimulator(worlds)
    return {
        "random": RandomPolicy(),
        "relevance": RelevancePolicy(),
        "uncertainty": UncertaintyPolicy(belief),
        "hindsight": HindsightPolicy(belief, {episode.id: episode}),
        "exact": InformationPolicy(ExactEIG(worlds)),
        "factored": InformationPolicy(FactoredEIG(belief, simulator)),
        "paper": InformationPolicy(FactoredEIG.paper(belief, simulator, 2)),
        "nested": InformationPolicy(NestedMonteCarloEIG(belief, simulator)),
    }


def drawn_episode(world: World, seed: int = 0) -> Episode:
    label, pool = world.sample(np.random.default_rng(seed))
    size = len(pool)
    return Episode("e", world.target(), label, pool, (1,) * size, ("",) * size)


def test_twenty_asks_of_a_pool_of_twenty_give_twenty_candidates() -> None:
    world = world_of_twenty()
    episode = drawn_episode(world)
    study = Study([episode], policies(world, episode), {"exact": ExactBelief({world.name: world})})
    run = simulate(study)
    chosen = run["chosen"].sel(episode="e").transpose("policy", "choice").values
    assert chosen.shape == (8, 20)
    for of_policy in chosen:
        assert sorted(of_policy.tolist()) == list(range(20))
    # whatever the order, the same evidence leads to the same belief
    final = run["belief"].sel(tracker="exact", episode="e").isel(step=-1).values
    assert final == pytest.approx(final[0])
    exact_order = chosen[list(study.policies).index("exact")].tolist()
    outcomes = [stub.outcome.fields["y"] for stub in episode.pool]
    assert exact_order == world.greedy_sequence(outcomes, 20).order


def test_what_is_repeatable_stays_available() -> None:
    world = World.from_likelihood(0.5, [[0.1, 0.9], [0.45, 0.55]])
    episode = drawn_episode(world)
    strong = replace(
        episode.pool[0], experiment=replace(episode.pool[0].experiment, is_repeatable=True)
    )
    episode = replace(episode, pool=(strong, episode.pool[1]))
    worlds = {world.name: world}
    policy = InformationPolicy(ExactEIG(worlds))
    run = simulate(Study([episode], {"exact": policy}, {"exact": ExactBelief(worlds)}))
    assert run["chosen"].values.ravel().tolist() == [0, 0]


@pytest.mark.parametrize("name", ["exact", "factored", "paper", "nested"])
def test_information_is_weighed_against_cost(name: str) -> None:
    world = World.from_likelihood(0.5, [[0, 1], [0, 1], [0.5, 0.5]])
    cheap = [
        replace(x, cost=cost) for x, cost in zip(world.experiments(), (3, 2, 0.01), strict=True)
    ]
    policy = policies(world, drawn_episode(world))[name]
    choice = choose_one(policy, DesignProblem(world.target(), (), tuple(cheap), 1))
    assert choice.index == 1
    assert choice.worth.tolist() == pytest.approx([1 / 3, 1 / 2, 0], abs=1e-12)


@pytest.mark.parametrize("name", ["random", "relevance", "uncertainty", "hindsight"])
def test_the_other_policies_ignore_cost_and_say_so(name: str) -> None:
    world = world_of_twenty()
    episode = drawn_episode(world)
    policy = policies(world, episode)[name]
    plain_pool = world.experiments()
    costly = tuple(replace(x, cost=1.0 + i) for i, x in enumerate(plain_pool))
    first, second = (
        choose_one(policy, DesignProblem(world.target(), (), pool, 1, "e"))
        for pool in (plain_pool, costly)
    )
    assert first.index == second.index
    assert "cost" in str(type(policy).__doc__)


@pytest.mark.parametrize(
    "name", ["random", "uncertainty", "hindsight", "exact", "factored", "paper", "nested"]
)
def test_the_order_of_the_candidates_does_not_matter(name: str) -> None:
    world = World.factored(
        0.4, [[0.3, 0.6], [0.1, 0.7], [0.2, 0.9]], [[[0.7, 0.3], [0.2, 0.8]]] * 3
    )
    policy = policies(world, drawn_episode(world))[name]
    chosen = set()
    for pool in itertools.permutations(world.experiments()):
        choice = choose_one(policy, DesignProblem(world.target(), (), pool, 5, "e"))
        if len(choice.tied) == 1 and choice.index is not None:
            chosen.add(pool[choice.index].id)
    assert len(chosen) == 1
