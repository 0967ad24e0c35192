"""Stand-ins: halves that share no unit, and a cache that is never trusted blindly."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bed.domains import reading
from bed.episodes.files import EpisodeFile, write_episodes
from bed.episodes.synthetic import sample_world_episodes
from bed.errors import DataError
from bed.evidence import Episode, Fields, Hypothesis, Outcome, Stub
from bed.protocols import BeliefQuery, OutcomeRequest
from bed.standins import StandIns, cached_stand_ins, fit_stand_ins, stand_ins_key


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return list(sample_world_episodes("graded", 60, 0, "train").episodes)


@pytest.fixture(scope="module")
def fitted(episodes: list[Episode]) -> StandIns:
    return fit_stand_ins(episodes)


def test_the_two_beliefs_come_of_different_units(episodes: list[Episode], fitted: StandIns) -> None:
    assert not np.array_equal(fitted.belief.weight, fitted.disjoint.weight)
    outcomes = sum(len(shelf) for shelf in fitted.exemplar.shelves.values())
    assert 0 < outcomes < 16 * len(episodes), "exemplars must come of one half only"


def test_a_cache_gives_the_same_answers_and_damage_is_mended(
    episodes: list[Episode], fitted: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "episodes.parquet"
    write_episodes(path, EpisodeFile(tuple(episodes), {}))
    first = cached_stand_ins(path)["world"]
    (cache,) = tmp_path.glob("episodes.stand-ins-*.json")
    fits: list[int] = []

    def counted(*_: object) -> StandIns:
        fits.append(1)
        return fitted

    monkeypatch.setattr("bed.standins.fit_stand_ins", counted)
    again = cached_stand_ins(path)["world"]
    assert not fits
    queries = [BeliefQuery(episode.target, episode.pool[:5]) for episode in episodes]
    np.testing.assert_array_equal(
        again.belief.probabilities(queries).probabilities,
        first.belief.probabilities(queries).probabilities,
    )
    requests = [
        OutcomeRequest(stub.experiment, branch, episodes[0].pool[:3], seed)
        for seed, stub in enumerate(episodes[1].pool)
        for branch in (True, False)
    ]
    assert again.conditional.sample(requests) == first.conditional.sample(requests)
    assert again.base_rates == first.base_rates
    cache.write_text(cache.read_text()[:1000])
    cached_stand_ins(path)
    assert fits == [1]
    cached_stand_ins(path)
    assert fits == [1], "the mended cache serves again"
    cached_stand_ins(path, seed=1)
    assert fits == [1, 1], "another seed is another fit"


def test_the_order_of_the_file_does_not_matter(episodes: list[Episode], fitted: StandIns) -> None:
    turned = fit_stand_ins(episodes[::-1])
    np.testing.assert_array_equal(turned.belief.weight, fitted.belief.weight)
    for shelf, coefficients in fitted.conditional.coefficients.items():
        np.testing.assert_array_equal(turned.conditional.coefficients[shelf], coefficients)


def test_the_key_holds_the_code_that_fits(
    episodes: list[Episode], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "episodes.parquet"
    write_episodes(path, EpisodeFile(tuple(episodes[:2]), {}))
    key = stand_ins_key(path, 0)
    assert stand_ins_key(path, 0) == key
    assert stand_ins_key(path, 1) != key
    monkeypatch.setattr("bed.standins._FITTED_BY", ("seeds.py",))
    assert stand_ins_key(path, 0) != key


def test_a_changed_cache_is_not_trusted(
    episodes: list[Episode], fitted: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "episodes.parquet"
    write_episodes(path, EpisodeFile(tuple(episodes[:2]), {}))
    monkeypatch.setattr("bed.standins.fit_stand_ins", lambda *_: fitted)
    cached_stand_ins(path)
    (cache,) = tmp_path.glob("*.json")
    text = cache.read_text()
    cache.write_text(text.replace('"base_rates"', '"base_rate"'))
    assert cached_stand_ins(path)["world"] is fitted
    assert cache.read_text() == text


def test_too_few_units_are_refused(episodes: list[Episode]) -> None:
    with pytest.raises(DataError, match="at least two units"):
        fit_stand_ins(episodes[:1])


def renamed(episode: Episode, domain: str) -> Episode:
    """The episode as one of free text, which knows the flag `supported`."""
    pool = tuple(
        Stub(
            replace(
                stub.experiment, hypothesis=Hypothesis(stub.experiment.hypothesis.text, domain)
            ),
            Outcome(Fields(supported=reading(stub.experiment, stub.outcome).supported)),
        )
        for stub in episode.pool
    )
    target = Hypothesis(episode.target.text, domain)
    return replace(episode, id=f"{domain} {episode.id}", target=target, pool=tuple(pool))


def test_a_domain_has_its_own_whatever_else_the_file_holds(
    episodes: list[Episode], fitted: StandIns, tmp_path: Path
) -> None:
    path = tmp_path / "both.parquet"
    free = tuple(renamed(episode, "generic") for episode in episodes)
    write_episodes(path, EpisodeFile((*free, *episodes)))
    found = cached_stand_ins(path)
    assert list(found) == ["generic", "world"]
    np.testing.assert_array_equal(found["world"].belief.weight, fitted.belief.weight)
    assert {shelf[0] for shelf in found["generic"].exemplar.shelves} == {"generic"}
