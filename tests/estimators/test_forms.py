"""Three forms of expected information on chosen posteriors, and what noise does to them."""

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit

from bed.errors import DataError
from bed.estimators import factored_eig
from bed.estimators.forms import Form, branch_mean, check_form, information_bits, noise_bits
from bed.information import LOG2, entropy_bits, kl_bits

Array = NDArray[np.float64]

FORMS: tuple[Form, ...] = get_args(Form)
forms = pytest.mark.parametrize("form", FORMS)
unit = st.floats(0, 1)
inner = st.floats(1e-3, 1 - 1e-3)
branch = st.lists(inner, min_size=1, max_size=4)
NAN = math.nan


def mean(weight: float, supportive: list[float], other: list[float]) -> float:
    return weight * float(np.mean(supportive)) + (1 - weight) * float(np.mean(other))


@settings(max_examples=60)
@given(inner, unit, branch, branch)
def test_kl_is_js_plus_the_incoherence(
    prior: float, weight: float, supportive: list[float], other: list[float]
) -> None:
    kl, js = (factored_eig(prior, weight, supportive, other, form) for form in ("kl", "js"))
    gap = float(kl_bits(mean(weight, supportive, other), prior))
    assert kl == pytest.approx(js + gap, abs=1e-9)


@settings(max_examples=60)
@given(unit, branch, branch)
def test_all_forms_agree_where_the_mean_is_the_prior(
    weight: float, supportive: list[float], other: list[float]
) -> None:
    prior = mean(weight, supportive, other)
    kl, *others = (factored_eig(prior, weight, supportive, other, form) for form in FORMS)
    assert others == pytest.approx([kl] * 2, abs=1e-9)


@settings(max_examples=60)
@given(inner, inner, unit, unit, unit)
@example(0.5, 0.5, 0.0, 0.0, 1.0)
@example(0.5, 0.5, 1.0, 0.0, 1.0)
def test_js_knows_no_prior_and_lies_between_nothing_and_the_branches_entropy(
    first: float, second: float, weight: float, supported: float, unsupported: float
) -> None:
    found = factored_eig(first, weight, [supported], [unsupported], "js")
    assert found == factored_eig(second, weight, [supported], [unsupported], "js")
    assert 0 <= found <= float(entropy_bits(weight)) + 1e-9


@settings(max_examples=60)
@given(unit, unit, st.integers(1, 4))
def test_js_is_nothing_where_all_posteriors_are_equal(p: float, weight: float, size: int) -> None:
    assert factored_eig(0.5, weight, [p] * size, [p], "js") == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("weight", "supportive", "other", "kl", "js", "entropy"),
    [
        # 1 - H(0.8)
        (0.5, [0.8], [0.2], 0.278072, 0.278072, 0.278072),
        # 1 - H(0.9), of which nothing is told by the branch
        (0.5, [0.9], [0.9], 0.531004, 0.0, 0.531004),
        # 1 - H(0.25), less KL(0.375 || 0.5) = 1 - H(0.375)
        (0.25, [0.75], [0.25], 0.188722, 0.143156, 0.188722),
        # 3/4 of 1 - H(0.25), less 1 - H(0.4375)
        (0.5, [0.75, 0.5], [0.25], 0.141541, 0.130241, 0.141541),
        # certainty either way settles an even prior
        (0.5, [1.0], [0.0], 1.0, 1.0, 1.0),
    ],
    ids=["symmetric", "one-sided", "weighted", "two samples", "certain"],
)
def test_bits_by_hand(
    weight: float, supportive: list[float], other: list[float], kl: float, js: float, entropy: float
) -> None:
    expected: dict[Form, float] = {"entropy": entropy, "kl": kl, "js": js}
    for form, bits in expected.items():
        assert factored_eig(0.5, weight, supportive, other, form) == pytest.approx(bits, abs=1e-6)


@forms
@settings(max_examples=30)
@given(inner, unit, branch, branch)
def test_padding_changes_nothing(
    form: Form, prior: float, weight: float, supportive: list[float], other: list[float]
) -> None:
    size = max(len(supportive), len(other)) + 2
    padded = np.full((1, 2, size), NAN)
    padded[0, 0, : len(supportive)], padded[0, 1, -len(other) :] = supportive, other
    expected = factored_eig(prior, weight, supportive, other, form)
    bits = information_bits(np.array([prior]), np.array([weight]), padded, form)
    assert np.array_equal(np.isnan(bits), np.isnan(padded))
    assert branch_mean(np.array([weight]), bits) == pytest.approx([expected], abs=1e-12)


@pytest.mark.parametrize(
    ("weight", "values", "expected"),
    [
        (0.25, [[1.0, 3.0], [6.0, NAN]], 5.0),
        (0.0, [[NAN, NAN], [6.0, 2.0]], 4.0),
        (1.0, [[1.0, NAN], [NAN, NAN]], 1.0),
        (0.0, [[9.0, 9.0], [6.0, 2.0]], 4.0),
        (0.25, [[NAN, NAN], [6.0, 2.0]], NAN),
        (0.25, [[1.0, 3.0], [NAN, NAN]], NAN),
        (NAN, [[1.0, 3.0], [6.0, 2.0]], NAN),
    ],
    ids=str,
)
def test_branch_mean(weight: float, values: list[list[float]], expected: float) -> None:
    found = branch_mean(np.array([weight]), np.array([values]))
    assert found == pytest.approx([expected], nan_ok=True)


WEIGHT_NOISE, POSTERIOR_NOISE = 0.02, 0.03


def noise(
    weight: float,
    posterior: Array,
    form: Form,
    of_weight: float = WEIGHT_NOISE,
    of_posterior: float = POSTERIOR_NOISE,
) -> float:
    (found,) = noise_bits(
        np.array([0.5]),
        np.array([weight]),
        posterior[None],
        form,
        np.array([of_weight]),
        np.where(np.isnan(posterior), NAN, of_posterior)[None],
    )
    return float(found)


@forms
@pytest.mark.parametrize(
    ("weight", "posterior"),
    [
        (0.3, [[0.8], [0.15]]),
        (0.9, [[0.6], [0.02]]),
        (0.6, [[0.9, 0.6, 0.7], [0.2, 0.1, NAN]]),
        (0.6, [[1.0, 0.7], [0.2, 0.0]]),
        (1.0, [[0.9, 0.7], [0.2, NAN]]),
    ],
    ids=["one sample", "unlikely branch", "padded", "certain posteriors", "idle branch"],
)
def test_noise_bits_foretell_the_scatter(
    form: Form, weight: float, posterior: list[list[float]]
) -> None:
    rng, size, p = np.random.default_rng(0), 20_000, np.array(posterior)
    weights = expit(logit(weight) + WEIGHT_NOISE * rng.normal(size=size))
    moved = expit(logit(p) + POSTERIOR_NOISE * rng.normal(size=(size, *p.shape)))
    found = branch_mean(weights, information_bits(np.full(size, 0.5), weights, moved, form))
    # a standard deviation of 20,000 is known to 0.5%; the second order adds about 1%
    assert noise(weight, p, form) == pytest.approx(found.std(), rel=4 * 0.005 + 0.01)


@pytest.mark.parametrize("form", ["kl", "js"])
def test_noise_alone_seems_to_be_worth_something(form: Form) -> None:
    # where nothing is told the slope is 0, and 1/2 p (1 - p) noise^2 nats seem to be
    p, equal = 0.2, np.full((2, 1), 0.2)
    found = noise_bits(
        np.array([p]), np.array([0.3]), equal[None], form, np.array([0.1]), np.full((1, 2, 1), 0.1)
    )
    assert found == pytest.approx([0.5 * 0.16 * 0.01 / LOG2], rel=1e-6)
    draws = np.random.default_rng(0).normal(size=20_000)
    seeming = kl_bits(expit(logit(p) + 0.1 * draws), p)
    stderr = seeming.std() / math.sqrt(len(draws))
    # the third order is 1% of it
    assert abs(seeming.mean() - found[0]) < 4 * stderr + 0.01 * found[0]


@forms
def test_noise_that_is_unknown(form: Form) -> None:
    posterior = np.array([[0.8, 0.7], [0.2, NAN]])
    assert math.isnan(noise(0.3, posterior, form, NAN, NAN))
    assert noise(0.3, posterior, form, 0.0, 0.0) == 0
    # a part that is not known counts as none
    for of_weight, of_posterior in ((0.1, NAN), (NAN, 0.1)):
        known = np.nan_to_num(of_weight), np.nan_to_num(of_posterior)
        found = noise(0.3, posterior, form, of_weight, of_posterior)
        assert found == noise(0.3, posterior, form, *map(float, known))
        assert found > 0


@forms
def test_noise_of_samples_averages_out(form: Form) -> None:
    alone, many = (np.repeat([[0.8], [0.2]], size, axis=1) for size in (1, 16))
    found = [noise(0.5, p, form, 0.0, 0.01) for p in (alone, many)]
    assert found[1] == pytest.approx(found[0] / 4, rel=0.02)


def test_the_forms_have_names() -> None:
    for form in FORMS:
        check_form(form)
    with pytest.raises(DataError, match="form 'mi' is not one of 'entropy', 'kl', 'js'"):
        check_form("mi")
