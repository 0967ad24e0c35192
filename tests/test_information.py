"""Arithmetic of belief against closed forms and sixty-digit arithmetic."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from bed.errors import DataError
from bed.information import (
    checked_probabilities,
    cumulative_weight_of_evidence_db,
    entropy_bits,
    information_gain_bits,
    kl_bits,
    log_odds,
    probability,
    true_label_probability,
    weight_of_evidence_db,
    weight_of_evidence_series_db,
)

PROBABILITIES = st.floats(1e-12, 1 - 1e-12)


def reference_bits(q: float, p: float) -> float:
    """KL(q || p) of two inner probabilities, taken as exact binary fractions."""
    with localcontext() as context:
        context.prec = 60
        a, b = Decimal(q), Decimal(p)
        nats = a * (a / b).ln() + (1 - a) * ((1 - a) / (1 - b)).ln()
        return float(nats / Decimal(2).ln())


def reference_entropy(p: float) -> float:
    return 1.0 - reference_bits(p, 0.5)


@pytest.mark.parametrize(
    ("p", "bits"),
    [
        (0.0, 0.0),
        (1.0, 0.0),
        (0.5, 1.0),
        (0.25, 2 - 0.75 * math.log2(3)),
        (0.9, 0.4689955935892812),
    ],
)
def test_entropy_at_known_points(p: float, bits: float) -> None:
    assert float(entropy_bits(p)) == pytest.approx(bits, abs=1e-15)


def test_entropy_is_exact_where_it_is_zero_or_one() -> None:
    assert entropy_bits([0, 1, 0.5]).tolist() == [0.0, 0.0, 1.0]


@settings(max_examples=60)
@given(st.integers(1, 2**53 - 1))
def test_entropy_is_symmetric_and_between_zero_and_one(numerator: int) -> None:
    p = numerator / 2**53  # 1 - p is exact
    assert 0.0 < float(entropy_bits(p)) <= 1.0
    assert float(entropy_bits(p)) == pytest.approx(float(entropy_bits(1 - p)), rel=1e-14)
    assert float(entropy_bits(p)) == pytest.approx(reference_entropy(p), rel=1e-13, abs=1e-16)


@settings(max_examples=100)
@given(PROBABILITIES, PROBABILITIES)
@example(0.5, 1e-300)
@example(1e-300, 0.5)
@example(1e-3, 1e-3 * (1 + 1e-3))
def test_kl_matches_sixty_digits(q: float, p: float) -> None:
    found = float(kl_bits(q, p))
    assert found >= 0
    assert found == pytest.approx(reference_bits(q, p), rel=1e-10, abs=1e-300)


@settings(max_examples=60)
@given(PROBABILITIES, st.floats(-12, -7), st.booleans())
@example(0.5, -9.0, True)
def test_kl_keeps_its_digits_for_nearly_equal_beliefs(p: float, power: float, up: bool) -> None:
    q = p + (1 if up else -1) * 10**power * min(p, 1 - p)
    assume(q != p)
    assert float(kl_bits(q, p)) == pytest.approx(reference_bits(q, p), rel=1e-10, abs=0)


@pytest.mark.parametrize(
    ("q", "p", "bits"),
    [
        (0, 0, 0.0),
        (1, 1, 0.0),
        (0.3, 0.3, 0.0),
        (0, 0.5, 1.0),
        (1, 0.25, 2.0),
        (0.5, 0, math.inf),
        (0.5, 1, math.inf),
        (1, 0, math.inf),
        (0, 1, math.inf),
        (1e-300, 0, math.inf),
        (0.9, 0.5, 0.5310044064107188),
    ],
)
def test_kl_at_the_ends(q: float, p: float, bits: float) -> None:
    assert float(kl_bits(q, p)) == pytest.approx(bits, abs=1e-15)


def test_kl_of_a_subnormal_belief_is_finite() -> None:
    assert float(kl_bits(0.5, 1e-310)) == pytest.approx(reference_bits(0.5, 1e-310), rel=1e-9)


def test_certain_beliefs_raise_no_floating_point_warning() -> None:
    ends = np.array([0.0, 1.0, 0.5, 0.1])
    with np.errstate(all="raise"):
        assert entropy_bits(ends)[:2].tolist() == [0.0, 0.0]
        table = kl_bits(ends[:, None], ends[None, :])
        gain = information_gain_bits(ends, [1, 0, 1, 0])
    assert np.isinf(table).sum() == 6  # each of the two certain beliefs excludes three others
    assert gain.tolist() == pytest.approx([0, 0, 1, reference_entropy(0.1)])


@pytest.mark.parametrize(
    ("before", "after", "decibans"),
    [
        (0.5, 0.9, 10 * math.log10(9)),
        (0.9, 0.5, -10 * math.log10(9)),
        (0.5, 10 / 11, 10.0),
        (0.5, 1.0, 10 * math.log10(999)),
        (0.0, 1.0, 20 * math.log10(999)),
        (0.0005, 0.0001, 0.0),
        (0.3, 0.3, 0.0),
    ],
)
def test_weight_of_evidence_in_decibans(before: float, after: float, decibans: float) -> None:
    assert float(weight_of_evidence_db(before, after)) == pytest.approx(decibans, abs=1e-12)


def test_weights_along_a_path() -> None:
    path = [0.5, 0.8, 0.2]
    four = 10 * math.log10(4)
    assert weight_of_evidence_series_db(path).tolist() == pytest.approx([four, -2 * four])
    assert cumulative_weight_of_evidence_db(path, 1).tolist() == pytest.approx([0, four, -four])
    assert cumulative_weight_of_evidence_db(path, 0).tolist() == pytest.approx([0, -four, four])
    assert true_label_probability(path, 0).tolist() == pytest.approx([0.5, 0.2, 0.8])
    assert true_label_probability(path, 1).tolist() == path


@settings(max_examples=40)
@given(st.floats(-700, 30))
def test_log_odds_and_probability_are_inverse(odds: float) -> None:
    # above 30 the probability itself has too few digits left
    assert float(log_odds(probability(odds))) == pytest.approx(odds, abs=1e-2, rel=1e-12)


def test_log_odds_at_the_ends_and_clipped() -> None:
    assert log_odds([0, 1]).tolist() == [-math.inf, math.inf]
    assert probability([-math.inf, math.inf, 0]).tolist() == [0.0, 1.0, 0.5]
    assert log_odds([0, 1e-9, 1], 1e-3).tolist() == pytest.approx(
        [-math.log(999), -math.log(999), math.log(999)]
    )


@settings(max_examples=40)
@given(st.floats(0, 1), st.floats(0, 1))
def test_information_gain_is_a_difference_of_entropies(before: float, after: float) -> None:
    gain = float(information_gain_bits(before, after))
    assert -1 <= gain <= 1
    assert gain == -float(information_gain_bits(after, before))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: entropy_bits([0.2, math.nan]), "p holds NaN"),
        (lambda: entropy_bits([None]), "missing"),  # type: ignore[arg-type]
        (lambda: entropy_bits(["a"]), "p must hold numbers"),
        (lambda: entropy_bits(["0.5"]), "p must hold numbers"),
        (lambda: entropy_bits([[0.1], [0.2, 0.3]]), "p must hold numbers"),
        (lambda: entropy_bits([1.0000001]), r"outside the range \[0, 1\]"),
        (lambda: kl_bits(-1e-9, 0.5), r"q holds .*outside"),
        (lambda: kl_bits(0.5, math.inf), r"p holds .*outside"),
        (lambda: information_gain_bits(0.5, 2), "p_after holds"),
        (lambda: weight_of_evidence_db(math.nan, 0.5), "p_before holds NaN"),
        (lambda: weight_of_evidence_series_db([0.5]), "at least two beliefs, got 1"),
        (lambda: cumulative_weight_of_evidence_db([], 1), "empty"),
        (lambda: cumulative_weight_of_evidence_db([0.5], 2), "theta 2 is not a binary label"),
        (lambda: true_label_probability([], 1), "no forecasts"),
        (lambda: true_label_probability([0.5], -1), "not a binary label"),
    ],
)
def test_what_is_no_belief_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_a_refusal_names_the_argument_and_the_value() -> None:
    with pytest.raises(DataError, match=r"forecast holds .*1\.5"):
        checked_probabilities([0.5, 1.5], "forecast")
