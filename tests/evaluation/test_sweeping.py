"""Beliefs asked along nested sweeps: who is asked what, and which answers are kept."""

from dataclasses import replace

import numpy as np
import pytest

from bed.errors import DataError
from bed.evaluation.sweeping import sweep
from bed.evidence import Episode
from bed.protocols import BeliefQuery
from tests.factories import (
    TARGET,
    ScriptedBelief,
    chronos,
    dependency,
    flag,
    knockout,
    plain,
)


def episode(id: str, num_stubs: int = 3, label: int = 1, unit: str = "") -> Episode:
    """Stubs of tiers 1, 2, ... that support, refute, support, ..."""
    pool = tuple(flag(plain(i), i % 2 == 0) for i in range(num_stubs))
    tiers, tags = tuple(range(1, num_stubs + 1)), ("",) * num_stubs
    return Episode(id, replace(TARGET, text=f"claim {id}"), label, pool, tiers, tags, unit=unit)


def counting() -> ScriptedBelief:
    """A belief that grows by a tenth with every stub."""
    return ScriptedBelief(lambda query: (1 + len(query.evidence)) / 10)


def test_every_number_of_stubs_is_asked_in_pool_order() -> None:
    belief = counting()
    episodes = [episode("one", unit="u"), episode("two", label=0)]
    found = sweep(episodes, {"m": belief})
    (of,) = found.forecasts
    assert [query.evidence for query in belief.queries] == [
        of_one.pool[:k] for of_one in episodes for k in range(4)
    ]
    assert of.k.tolist() == [0, 1, 2, 3] * 2
    assert of.p.tolist() == [0.1, 0.2, 0.3, 0.4] * 2
    assert of.label.tolist() == [1.0] * 4 + [0.0] * 4
    assert of.tier.tolist() == [0, 1, 2, 3] * 2
    assert of.verdict.tolist() == ["", "supporting", "refuting", "supporting"] * 2
    assert of.unit.tolist() == ["u"] * 4 + ["two"] * 4
    sweeps = of.sweeps()["generic"]
    assert sweeps.p.tolist() == [[0.1, 0.2, 0.3, 0.4]] * 2
    assert (found.num_short, dict(found.failed)) == (0, {})


def test_models_get_the_same_questions_whose_seeds_hang_on_the_episode() -> None:
    first, second, third = counting(), counting(), counting()
    sweep([episode("one")], {"a": first, "b": second}, seed=3)
    sweep([episode("zero"), episode("one")], {"c": third}, seed=3)
    assert first.queries == second.queries == third.queries[4:]
    assert len({query.seed for query in third.queries}) == 8


def test_the_commonest_pool_of_a_domain_sets_its_length() -> None:
    target = dependency("G", "C")
    stubs = tuple(chronos(knockout("G", f"L{i}"), -1.0) for i in range(2))
    other = Episode("other", target, 1, stubs, (1, 1), ("", ""))
    sizes = [3, 3, 2, 5]
    found = sweep([*(episode(f"e{i}", n) for i, n in enumerate(sizes)), other], {"m": counting()})
    (of,) = found.forecasts
    assert found.num_short == 1
    assert {name: s.p.shape for name, s in of.sweeps().items()} == {
        "depmap": (1, 3),
        "generic": (3, 4),
    }


def test_of_two_lengths_as_common_the_longer_is_taken() -> None:
    found = sweep([episode("e", 2), episode("f", 3)], {"m": counting()})
    assert (found.num_short, found.forecasts[0].k.max()) == (1, 3)


def fails_late(query: BeliefQuery) -> float | str:
    return "too long" if query.hypothesis.text == "claim two" and len(query.evidence) > 2 else 0.5


def test_an_episode_with_a_row_unanswered_is_missing_whole() -> None:
    found = sweep([episode("one"), episode("two")], {"m": ScriptedBelief(fails_late)})
    (of,) = found.forecasts
    assert set(of.episode.tolist()) == {"one"}
    assert (found.failed, found.reasons) == ({"m": 1}, {"m": "too long"})


def test_of_a_model_that_abstains_the_row_alone_is_missing() -> None:
    models = {"m": ScriptedBelief(fails_late)}
    (of,) = sweep([episode("one"), episode("two")], models, abstaining=("m",)).forecasts
    assert of.p.size == 7
    assert of.abstains
    assert of.sweeps() == {}


def test_a_model_that_answers_nothing_is_left_out_with_the_reason() -> None:
    models = {"mute": ScriptedBelief(lambda query: "no server"), "m": counting()}
    found = sweep([episode("one")], models)
    assert [of.model for of in found.forecasts] == ["m"]
    assert found.reasons == {"mute": "no server"}
    del models["m"]
    with pytest.raises(DataError, match=r"no model answers a whole sweep; 'mute', .*: no server"):
        sweep([episode("one")], models)


def test_progress_runs_to_the_number_of_all_questions() -> None:
    told: list[tuple[int, int]] = []
    episodes = [episode(f"e{i}") for i in range(100)]
    models = {"a": counting(), "b": counting()}
    sweep(episodes, models, told=lambda done, count: told.append((done, count)))
    assert told == [(256, 800), (400, 800), (656, 800), (800, 800)]


def test_pools_without_stubs_are_asked_once() -> None:
    (of,) = sweep([episode("one", 0), episode("two", 0)], {"m": counting()}).forecasts
    assert of.k.tolist() == [0, 0]
    assert np.array_equal(of.p, [0.1, 0.1])


@pytest.mark.parametrize(
    ("episodes", "models", "message"),
    [
        ([], {"m": counting()}, "no episodes to ask about"),
        ([episode("one")], {}, "no models to ask"),
        (
            [episode("one"), episode("one", 2)],
            {"m": counting()},
            "episode 'one' of 'generic' is a duplicate",
        ),
    ],
    ids=["no episodes", "no models", "one name twice"],
)
def test_what_cannot_be_asked_is_refused(
    episodes: list[Episode], models: dict[str, ScriptedBelief], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        sweep(episodes, models)


def test_one_name_in_two_domains_is_two_episodes() -> None:
    stub = chronos(knockout("G", "L"), -1.0)
    other = Episode("one", dependency("G", "C"), 1, (stub,), (1,), ("",))
    (of,) = sweep([episode("one", 1), other], {"m": counting()}).forecasts
    assert of.domains == ("depmap", "generic")
