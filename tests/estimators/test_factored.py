"""The factored formula and its mended forms, on beliefs with chosen answers."""

import dataclasses
import math
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bed.belief import Repeated
from bed.errors import DataError
from bed.estimators import ExactEIG, FactoredEIG, NestedMonteCarloEIG, factored_eig
from bed.estimators.base_rates import at_base_rates, training_base_rates
from bed.estimators.coherence import recalibrated, renormalised, shifted
from bed.estimators.factored import Coupling, Form
from bed.estimators.forms import branch_mean
from bed.evidence import Episode
from bed.information import entropy_bits, kl_bits
from bed.protocols import BeliefQuery, DesignProblem
from tests.factories import (
    TARGET,
    BentBelief,
    RankedSimulator,
    ScriptedBelief,
    ScriptedSimulator,
    flag,
    plain,
    plains,
    two_way_belief,
)

forms = pytest.mark.parametrize("form", get_args(Form))
unit = st.floats(0, 1)
inner = st.floats(1e-3, 1 - 1e-3)


def eig(belief: ScriptedBelief, form: Form = "entropy", **settings: object) -> float:
    estimator = FactoredEIG(belief, ScriptedSimulator(), form=form, **settings)  # type: ignore[arg-type]
    scores = estimator.score(TARGET, (), [plain(0)])
    assert scores["reason"].values.tolist() == [""]
    return float(scores["eig"][0])


@settings(max_examples=40)
@given(unit, inner, unit, unit)
def test_the_estimator_computes_the_formula(
    weight: float, prior: float, supported: float, unsupported: float
) -> None:
    belief = two_way_belief(prior, weight, supported, unsupported)
    after = np.array([supported, unsupported])
    bits: dict[Form, np.ndarray] = {
        "entropy": entropy_bits(prior) - entropy_bits(after),
        "kl": kl_bits(after, prior),
    }
    for form, of_branch in bits.items():
        expected = pytest.approx(of_branch @ [weight, 1 - weight], abs=1e-12)
        assert eig(belief, form) == expected
        assert factored_eig(prior, weight, [supported], [unsupported], form) == expected


@settings(max_examples=40)
@given(inner, inner, unit, unit)
def test_the_forms_agree_on_coherent_beliefs_and_kl_is_never_negative(
    weight: float, prior: float, supported: float, unsupported: float
) -> None:
    belief = two_way_belief(prior, weight, supported, unsupported)
    assert eig(belief, "kl") >= 0
    mean = weight * supported + (1 - weight) * unsupported
    if 1e-6 < mean < 1 - 1e-6:
        coherent = two_way_belief(mean, weight, supported, unsupported)
        assert eig(coherent, "kl") == pytest.approx(eig(coherent, "entropy"), abs=1e-9)


def test_an_incoherent_belief_may_promise_less_than_nothing() -> None:
    # the prior is surer than either posterior; the estimate is not clipped
    assert eig(two_way_belief(0.05, 0.5, 0.4, 0.3)) < -0.5


@forms
@pytest.mark.parametrize(("weight", "kept"), [(0.0, 0.2), (1.0, 0.9)])
def test_a_branch_without_weight_counts_for_nothing(form: Form, weight: float, kept: float) -> None:
    belief = two_way_belief(0.5, weight, supported=0.9, unsupported=0.2)
    # from an even prior two forms are equal; and a foregone conclusion tells nothing
    expected = 0.0 if form == "js" else float(kl_bits(kept, 0.5))
    assert eig(belief, form) == pytest.approx(expected)
    supportive, other = ([], [kept]) if weight == 0 else ([kept], [])
    assert factored_eig(0.5, weight, supportive, other, form) == pytest.approx(expected)


@forms
@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_failed_posterior_of_a_branch_without_weight_fails_nothing(
    form: Form, renormalise: bool, weight: float
) -> None:
    sound = two_way_belief(0.5, weight, supported=0.5, unsupported=0.5)

    def answer(query: BeliefQuery) -> float | str:
        is_idle = query.evidence and query.evidence[-1] == flag(plain(0), weight == 0.0)
        return "unreadable" if is_idle else sound.answer(query)

    assert eig(ScriptedBelief(answer), form, renormalise=renormalise) == 0.0


@forms
@pytest.mark.parametrize("prior", [0.0, 1.0])
@pytest.mark.parametrize("renormalise", [False, True])
def test_a_certain_coherent_belief_has_nothing_to_learn(
    form: Form, prior: float, renormalise: bool
) -> None:
    belief = two_way_belief(prior, 0.3, prior, prior)
    assert eig(belief, form, renormalise=renormalise) == 0.0


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_certain_belief_that_an_outcome_moves_is_flagged(prior: float) -> None:
    belief = two_way_belief(prior, 0.5, 0.6, prior)
    for estimator in (FactoredEIG, FactoredEIG.paper):
        scores = estimator(belief, ScriptedSimulator()).score(TARGET, (), [plain(0)])
        assert scores["reason"].values.tolist() == [
            f"the belief is certain at {prior}, yet an outcome moves it"
        ]
        assert np.isnan(scores["eig"]).all()
        assert abs(float(scores["coherence_gap"][0])) == pytest.approx(abs(0.6 - prior) / 2)


@forms
def test_both_outcomes_to_the_same_belief(form: Form) -> None:
    belief = two_way_belief(0.5, 0.5, 0.9, 0.9)
    naive = FactoredEIG(belief, ScriptedSimulator(), form=form, renormalise=False)
    coherent = FactoredEIG(belief, ScriptedSimulator(), form=form, renormalise=True)
    raw, mended = (e.score(TARGET, (), [plain(0)]) for e in (naive, coherent))
    counted = 0.0 if form == "js" else 0.368
    assert float(raw["eig"][0]) * math.log(2) == pytest.approx(counted, abs=5e-4)
    assert float(mended["eig"][0]) == pytest.approx(0, abs=1e-12)
    for scores in (raw, mended):  # the model's own gap and answers are reported either way
        assert float(scores["coherence_gap"][0]) == pytest.approx(0.4)
        assert scores["posterior"].values.tolist() == [[[0.9], [0.9]]]


@settings(max_examples=60)
@given(
    st.floats(1e-6, 1 - 1e-6),
    unit,
    st.lists(st.tuples(inner, inner), min_size=1, max_size=4),
)
def test_renormalised_posteriors_average_to_the_prior(
    prior: float, weight: float, samples: list[tuple[float, float]]
) -> None:
    posterior, one = np.array(samples).T[None], np.array([weight])
    moved = renormalised(np.array([prior]), one, posterior)
    assert branch_mean(one, moved) == pytest.approx([prior], abs=1e-9)
    # one common shift: distances in log odds stay
    assert np.array_equal(np.argsort(moved.ravel()), np.argsort(posterior.ravel()))
    back = shifted(moved, np.log(samples[0][0] / (1 - samples[0][0])) - _logit(moved[0, 0, 0]))
    assert back == pytest.approx(posterior, rel=1e-6)


def _logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def test_coherent_posteriors_are_left_alone() -> None:
    posterior = np.array([[[0.8], [0.2]]])
    assert renormalised(np.array([0.5]), np.array([0.5]), posterior).tolist() == posterior.tolist()


@forms
@pytest.mark.parametrize(
    ("prior", "posteriors"),
    [(0.5, (1.0, 1.0)), (0.2, (1.0, 0.5)), (0.9, (0.3, 0.0)), (0.0, (0.6, 0.2))],
    ids=repr,
)
def test_posteriors_that_cannot_be_made_coherent_are_not_scored(
    form: Form, prior: float, posteriors: tuple[float, float]
) -> None:
    belief = two_way_belief(prior, 0.5, *posteriors)
    estimator = FactoredEIG(belief, ScriptedSimulator(), form=form, renormalise=True)
    scores = estimator.score(TARGET, (), [plain(0)])
    assert scores["status"].values.tolist() == ["failed"]
    assert scores["reason"].values.tolist() == [
        "no logit shift makes the posteriors average to the prior"
    ]
    assert np.isnan(scores["eig"].values).all()


def test_a_certain_posterior_is_kept_where_the_other_can_give_way() -> None:
    moved = renormalised(np.array([0.7]), np.array([0.5]), np.array([[[1.0], [0.5]]]))
    assert moved.ravel().tolist() == pytest.approx([1.0, 0.4])


@pytest.mark.parametrize(
    ("prior", "posterior", "slope", "expected"),
    [
        (0.5, 0.9, 0.5, 0.75),  # odds 9 ** 0.5 = 3
        (0.5, 0.1, 0.5, 0.25),
        (0.2, 0.5, 2.0, 0.8),  # odds 1/4, times 4, once more times 4
        (0.3, 0.3, 0.1, 0.3),
        (0.5, 0.9, 1.0, 0.9),
        (0.5, 1.0, 0.5, 1.0),
        (0.0, 0.6, 0.5, 0.6),
    ],
)
def test_a_slope_scales_the_update_in_log_odds(
    prior: float, posterior: float, slope: float, expected: float
) -> None:
    found = recalibrated(np.array([prior]), np.array([[[posterior]]]), slope)
    assert found.ravel().tolist() == pytest.approx([expected])


@forms
def test_the_estimator_applies_its_slope(form: Form) -> None:
    found = eig(two_way_belief(0.5, 0.5, 0.9, 0.1), form, slope=0.5)
    assert found == pytest.approx(1 - float(entropy_bits(0.75)))


@pytest.mark.parametrize(
    ("weight", "rates", "expected"),
    [
        (0.5, {"evidence of tier 1": 0.02}, 0.02),
        (0.8, {"evidence of tier 1": 0.1}, 4 / 9 / (1 + 4 / 9)),
        (0.8, {"evidence of tier 1": 0.5}, 0.8),
        (0.8, {"evidence of tier 2": 0.1}, 0.8),
        (0.0, {"evidence of tier 1": 0.1}, 0.0),
        (0.8, {}, 0.8),
        (0.8, None, 0.8),
    ],
    ids=str,
)
def test_branch_weights_move_to_their_base_rate(
    weight: float, rates: dict[str, float] | None, expected: float
) -> None:
    belief = two_way_belief(0.5, weight, 0.9, 0.2)
    for build in (FactoredEIG, FactoredEIG.paper):
        scores = build(belief, ScriptedSimulator(), base_rates=rates).score(TARGET, (), plains(1))
        assert float(scores["branch_weight"][0]) == pytest.approx(expected)
        assert float(scores["coherence_gap"][0]) == pytest.approx(0.7 * expected - 0.3)
        assert float(scores["raw_coherence_gap"][0]) == pytest.approx(0.7 * weight - 0.3)
    nested = NestedMonteCarloEIG(belief, ScriptedSimulator(), base_rates=rates)
    scores = nested.score(TARGET, (), plains(1))
    assert float(scores["branch_weight"][0]) == pytest.approx(expected)


def test_nested_monte_carlo_draws_branches_at_their_base_rate() -> None:
    simulator = ScriptedSimulator()
    rates = {"evidence of tier 1": 0.1}
    NestedMonteCarloEIG(two_way_belief(), simulator, 2000, rates).score(TARGET, (), [plain(0)])
    share = np.mean([request.supportive for request in simulator.requests])
    assert abs(share - 0.1) < 4 * math.sqrt(0.09 / 2000)


def test_a_failed_weight_stays_failed_at_base_rates() -> None:
    problem = DesignProblem(TARGET, (), plains(2))
    moved = at_base_rates([problem], np.array([np.nan, 0.5]), {"evidence of tier 1": 0.1})
    assert np.isnan(moved[0])
    assert moved[1] == pytest.approx(0.1)


def test_training_base_rates_add_one_of_each_kind() -> None:
    near, far = [plain(n) for n in range(3)], plain(3, tier=2)
    pool = (flag(near[0], True), flag(near[1], False), flag(near[2], False), flag(far, True))
    episode = Episode("e", TARGET, 1, pool, (1, 1, 1, 2), ("",) * 4)
    assert training_base_rates([episode]) == {
        "evidence of tier 1": 2 / 5,
        "evidence of tier 2": 2 / 3,
    }


def test_scores_as_a_dataset() -> None:
    estimator = FactoredEIG(two_way_belief(), ScriptedSimulator(), 3)
    scores = estimator.score(TARGET, (), [plain(0, 2.5), plain(1)])
    assert dict(scores.sizes) == {"candidate": 2, "branch": 2, "sample": 3}
    assert set(scores.data_vars) == {
        "eig",
        "eig_stderr",
        "branch_weight",
        "posterior",
        "coherence_gap",
        "raw_coherence_gap",
        "cost",
        "status",
        "reason",
    }
    assert scores["candidate"].values.tolist() == ["x0", "x1"]
    assert scores["posterior"].dims == ("candidate", "branch", "sample")
    assert scores["posterior"].values[:, :, 0].tolist() == [[0.8, 0.2]] * 2  # supportive first
    assert scores["cost"].values.tolist() == [2.5, 1.0]
    assert scores["eig_stderr"].values.tolist() == [0.0, 0.0]
    assert scores["eig"].attrs["units"] == "bits"
    assert scores.attrs == {
        "prior": 0.5,
        "belief_calls": 15,
        "belief_calls_sent": 7,
        "simulator_calls": 12,
        "simulator_calls_sent": 12,
        "doubts": "",
    }


@pytest.mark.parametrize("build", [FactoredEIG, NestedMonteCarloEIG])
def test_one_draw_has_no_standard_error_and_says_so(build: Callable[..., FactoredEIG]) -> None:
    scores = build(two_way_belief(), ScriptedSimulator(), 1).score(TARGET, (), plains(2))
    assert np.isnan(scores["eig_stderr"].values).all()
    assert "NaN: unknown, as one draw" in scores["eig_stderr"].attrs["note"]


def test_the_papers_settings() -> None:
    belief, simulator = two_way_belief(), ScriptedSimulator()
    assert FactoredEIG.paper(belief, simulator, 2) == FactoredEIG(
        belief, simulator, 2, form="entropy", coupling="independent"
    )
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        FactoredEIG(belief, simulator).slope = 2.0  # type: ignore[misc]


def test_the_defaults_go_by_what_the_simulator_promises() -> None:
    unranked, ranked = (
        FactoredEIG(two_way_belief(), simulator)
        for simulator in (ScriptedSimulator(), RankedSimulator(ScriptedSimulator()))
    )
    assert (unranked.coupling, unranked.form) == ("branches", "kl")
    assert (ranked.coupling, ranked.form) == ("levels", "js")
    drawn = FactoredEIG(two_way_belief(), RankedSimulator(ScriptedSimulator()), coupling="branches")
    assert (drawn.coupling, drawn.form) == ("branches", "kl")


@pytest.mark.parametrize(
    ("num_samples", "outward", "supportive", "other"),
    [
        (1, 0.65, [0.65], [0.35]),
        (1, 0.5, [0.5], [0.5]),
        (2, 0.65, [0.25, 0.75], [0.25, 0.75]),
        (4, 0.9, [0.125, 0.375, 0.625, 0.875], [0.125, 0.375, 0.625, 0.875]),
    ],
)
def test_the_levels_that_are_asked(
    num_samples: int, outward: float, supportive: list[float], other: list[float]
) -> None:
    simulator = RankedSimulator(ScriptedSimulator())
    FactoredEIG(two_way_belief(), simulator, num_samples, outward=outward).score(
        TARGET, (), plains(1)
    )
    (batch,) = simulator.batches
    size = num_samples
    assert [request.supportive for request in batch] == [True] * size + [False] * size
    assert [request.level for request in batch] == pytest.approx(supportive + other)


@pytest.mark.parametrize("coupling", ["independent", "candidates", "branches"])
def test_random_draws_are_placed_by_their_seed(coupling: Coupling) -> None:
    simulator = RankedSimulator(ScriptedSimulator())
    FactoredEIG(two_way_belief(), simulator, 2, coupling=coupling).score(TARGET, (), plains(3))
    (batch,) = simulator.batches
    assert {request.level for request in batch} == {None}
    count = {"independent": 12, "candidates": 4, "branches": 2}[coupling]
    assert len({request.seed for request in batch}) == count


@pytest.mark.parametrize("form", ["kl", "js"])
def test_noise_of_beliefs_reaches_the_standard_error(form: Form) -> None:
    belief = Repeated(BentBelief(two_way_belief(0.5, 0.5, 0.8, 0.2), jitter=0.1), 16)
    simulator = RankedSimulator(ScriptedSimulator())
    scores = [
        FactoredEIG(belief, simulator, form=form).score(TARGET, (), plains(1), seed)
        for seed in range(200)
    ]
    eig, stderr = (np.array([float(s[name][0]) for s in scores]) for name in ("eig", "eig_stderr"))
    if form == "kl":
        # the noise of the prior, common to all candidates, is not counted: what it would add
        prior = np.array([s.attrs["prior"] for s in scores])
        eig -= np.array([float(kl_bits(0.5, p)) for p in prior])
    # a standard deviation of 200 is known to 5%
    assert np.sqrt((stderr**2).mean()) == pytest.approx(eig.std(), rel=4 * 0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_samples": 0}, "num_samples is 0; it must be a whole number"),
        ({"coupling": "levels"}, "ScriptedSimulator does not rank.*use coupling='branches'"),
        ({"outward": 1.0}, r"outward 1.0 is no level inside \(0, 1\)"),
        ({"outward": 0.0}, r"outward 0.0 is no level"),
        ({"form": "mi"}, "form 'mi' is not one of"),
        ({"coupling": "all"}, "coupling 'all' is not one of"),
        ({"slope": 0.0}, "slope 0.0 must be a number, finite and above 0"),
        ({"slope": math.nan}, "slope nan"),
        ({"slope": "1"}, "slope '1' must be a number"),
        ({"slope": True}, "slope True must be a number"),
        ({"base_rates": {"a": 0.0}}, r"base rate of 'a' is 0.0; use a rate inside \(0, 1\)"),
        ({"base_rates": {"a": 1.5}}, "base rate of 'a'"),
    ],
    ids=str,
)
def test_invalid_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        FactoredEIG(two_way_belief(), ScriptedSimulator(), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_samples": 0}, "num_samples is 0; it must be a whole number"),
        ({"base_rates": {"a": 1.0}}, "base rate of 'a' is 1.0"),
    ],
    ids=str,
)
def test_invalid_nested_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        NestedMonteCarloEIG(two_way_belief(), ScriptedSimulator(), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.5, 0.5, [], [0.2]), "post_supportive is empty although its branch has weight 0.5"),
        ((0.5, 0.5, [0.2], []), "post_nonsupportive is empty"),
        ((math.nan, 0.5, [0.5], [0.5]), "p_theta holds NaN"),
        ((0.5, 1.5, [0.5], [0.5]), r"p_local holds .*1\.5"),
        ((0.5, 0.0, [1.5], [0.5]), r"post_supportive holds .*1\.5"),
    ],
    ids=str,
)
def test_invalid_posteriors_are_refused(
    arguments: tuple[float, float, list[float], list[float]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        factored_eig(*arguments)


def test_the_exact_estimator_fails_a_problem_alone() -> None:
    scores = ExactEIG({}).score_batch([DesignProblem(TARGET, (), plains(2))])
    assert scores[0].reasons == ("no world 'None' here, asked by 'the claim'",) * 2
