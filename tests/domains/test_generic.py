"""Free text, exact worlds, and the table of domains."""

import math

import pytest

from bed.domains import Reading, Relation, kind, reading, relation
from bed.errors import DataError
from bed.evidence import Experiment, Fields, Hypothesis, Outcome
from bed.worlds import World
from tests.factories import TARGET, plain

WORLD = World.factored(
    0.4, [[0.2, 0.8], [0.5, 0.5]], [[[0.7, 0.2, 0.1], [0.35, 0.2, 0.45]], [[0.5, 0.5]] * 2]
)


def test_free_text_states_its_own_tier() -> None:
    assert relation(TARGET, plain(0)) == Relation(1, "evidence of tier 1")
    assert relation(TARGET, plain(0, tier=3)) == Relation(3, "evidence of tier 3")


@pytest.mark.parametrize("tier", [0, -1, 1.5, "near", True, None], ids=repr)
def test_a_tier_that_is_no_rank_is_refused(tier: object) -> None:
    with pytest.raises(DataError, match=r"experiment 'x0': tier .* must be 1 or more"):
        relation(TARGET, plain(0, tier=tier))


def test_the_flag_supported_is_the_reading() -> None:
    assert reading(plain(0), Outcome(Fields(supported=True))) == Reading(True, "supporting", 1.0)
    refuted = reading(plain(0), Outcome(Fields(supported=False)))
    assert refuted == Reading(False, "refuting", -1.0)
    assert refuted.level == "refuted"


@pytest.mark.parametrize("fields", [{}, {"supported": 1}, {"supported": "yes"}], ids=str)
def test_an_outcome_without_the_flag_needs_a_reader(fields: dict[str, object]) -> None:
    with pytest.raises(DataError, match="no flag 'supported'"):
        reading(plain(0), Outcome(Fields(fields)))


def test_kind_of_free_text() -> None:
    assert kind(plain(0)) == "experiment"
    assert kind(plain(0, kind="survey")) == "survey"


def test_a_worlds_candidate_states_its_tier_and_kind() -> None:
    x = WORLD.experiment(0)
    assert relation(WORLD.target(), x) == Relation(1, "candidate of tier 1")
    assert kind(x) == "readout"


@pytest.mark.parametrize(
    ("candidate", "y", "expected"),
    [
        (0, 0, Reading(False, "refuting", -math.log(2))),
        (0, 1, Reading(False, "inconclusive", 0.0)),
        (0, 2, Reading(True, "supporting", math.log(4.5))),
        (1, 0, Reading(False, "inconclusive", 0.0)),
    ],
)
def test_a_worlds_outcome_is_read_by_its_likelihood_ratio(
    candidate: int, y: int, expected: Reading
) -> None:
    found = reading(WORLD.experiment(candidate), Outcome(Fields(y=y)))
    assert (found.supported, found.verdict) == (expected.supported, expected.verdict)
    assert found.score == pytest.approx(expected.score, abs=1e-9)


@pytest.mark.parametrize("y", [3, -1, None, "0", 1.0], ids=repr)
def test_outcomes_outside_a_world_are_refused(y: object) -> None:
    with pytest.raises(DataError, match=r"outside the range 0\.\.2"):
        reading(WORLD.experiment(0), Outcome(Fields(y=y)))


def test_impossible_outcomes_of_a_world_have_finite_scores() -> None:
    certain = World.from_likelihood(0.5, [[0, 1]]).experiment(0)
    scores = [reading(certain, Outcome(Fields(y=y))).score for y in (0, 1)]
    assert scores[0] == -scores[1] < -700
    assert math.isfinite(scores[0])


def test_an_unknown_domain_is_named() -> None:
    strange = Hypothesis("h", "astrology")
    x = Experiment("x", strange)
    for ask in (
        lambda: relation(strange, x),
        lambda: reading(x, Outcome(Fields())),
        lambda: kind(x),
    ):
        with pytest.raises(DataError, match="unknown domain 'astrology'; use one of"):
            ask()
