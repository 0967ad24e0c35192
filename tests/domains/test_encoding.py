"""Evidence as numbers."""

import itertools

import numpy as np

from bed.domains.encoding import LEVELS, SCORE_RANGE, encode
from bed.evidence import Fields, Outcome, Stub
from tests.factories import CONTROL, FAR, NEAR, chronos, dependency, knockout

TARGET = dependency("G", "HOME")
EVIDENCE = (
    chronos(knockout("G", "N1"), -1.0),  # supported, score 1
    chronos(knockout("G", "N2"), -9.0),  # supported, score 17, clipped
    chronos(knockout("G", "N3"), -0.25),  # unsupported, score -0.5
    chronos(knockout("G", "F1", "SKIN"), 0.5),  # refuted, score -2
    chronos(knockout("U", "HOME"), -0.5),  # supported, score 0
)


def test_stubs_count_under_relation_and_level() -> None:
    found = encode(
        [(TARGET, EVIDENCE), (TARGET, ()), (EVIDENCE[4].experiment.hypothesis, EVIDENCE)],
        (NEAR, FAR),
    )
    assert found.count.shape == found.score.shape == (3, 2, len(LEVELS))
    assert found.count[0].tolist() == [[2, 1, 0], [0, 0, 1]]
    assert found.score[0].tolist() == [[1 + SCORE_RANGE, -0.5, 0], [0, 0, -2]]
    assert not found.count[1:].any()  # no evidence, and none that bears on that h' under these tags


def test_the_order_of_evidence_does_not_matter() -> None:
    tags = (NEAR, FAR, CONTROL)
    whole = encode([(TARGET, EVIDENCE)], tags)
    for order in itertools.permutations(EVIDENCE):
        other = encode([(TARGET, order)], tags)
        assert np.array_equal(other.count, whole.count)
        assert np.allclose(other.score, whole.score, rtol=0, atol=1e-6)


def test_nothing_asked_nothing_encoded() -> None:
    assert encode([], (NEAR,)).count.shape == (0, 1, len(LEVELS))
    assert encode([(TARGET, EVIDENCE)], ()).count.shape == (1, 0, len(LEVELS))


def test_an_unreadable_outcome_costs_its_own_row() -> None:
    broken = Stub(knockout("G", "N1"), Outcome(Fields()))
    encoded = encode([(TARGET, EVIDENCE), (TARGET, (broken,))], (NEAR,))
    assert encoded.reasons[0] is None
    assert "'chronos' is None" in str(encoded.reasons[1])
    assert encoded.count[0].any()
    assert not encoded.count[1].any()
    assert not encode([(TARGET, (broken,))], (FAR,)).count.any()
