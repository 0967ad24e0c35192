"""Doubts: none about coherent worlds, some about beliefs with a known fault."""

import math
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from bed.belief import Repeated
from bed.estimators import Estimator, FactoredEIG, NestedMonteCarloEIG, ScreenedEIG
from bed.estimators.factored import Coupling
from bed.estimators.forms import Form
from bed.estimators.trust import Grounds, allowed_gap, doubts
from bed.policies import InformationPolicy, choose_one
from bed.report import report
from bed.simulation import Study, simulate
from tests.factories import (
    TARGET,
    BentBelief,
    ExactProblems,
    RankedSimulator,
    ScriptedBelief,
    ScriptedSimulator,
    exact_problems,
    plains,
    two_way_belief,
)

Array = NDArray[np.float64]

each_world = pytest.mark.parametrize("name", ["gaussian", "six-level", "graded"])
COHERENT, NO_NOISE = np.zeros(3), np.full(3, math.nan)
EIG = np.array([0.1, 0.3, 0.2])


def doubted(prior: float, gap: Array, eig: Array, stderr: Array, allowed: float) -> tuple[str, ...]:
    """Doubts where every candidate costs alike."""
    grounds = Grounds(gap, stderr, allowed, ("recalibrate",), ("average repeated beliefs",))
    return doubts(prior, eig, np.ones(len(eig)), grounds)


def test_the_best_is_the_best_per_cost() -> None:
    eig, stderr = np.array([0.41, 0.28]), np.array([1.0, 0.01])
    grounds = Grounds(np.full(2, math.nan), stderr, 0.2, (), ("repeat",))
    (doubt,) = doubts(0.5, eig, np.ones(2), grounds)
    assert "promises 0.41 bits" in doubt
    assert doubts(0.5, eig, np.array([1000.0, 1.0]), grounds) == ()


def num_doubted(estimator: Estimator, posed: ExactProblems) -> int:
    return sum(bool(scores.doubts) for scores in estimator.score_batch(posed.problems))


@pytest.mark.parametrize(
    ("is_robust", "num_draws", "nats"),
    [(True, math.inf, 1.0), (False, math.inf, 0.2), (False, 1, 0.9), (True, 49, 1.1)],
    ids=str,
)
def test_the_gap_allowed(is_robust: bool, num_draws: float, nats: float) -> None:
    assert allowed_gap(is_robust, num_draws) == pytest.approx(nats)


@each_world
@pytest.mark.parametrize("coupling", get_args(Coupling))
def test_coherent_worlds_raise_no_doubt(name: str, coupling: Coupling) -> None:
    posed = exact_problems(name)
    assert num_doubted(FactoredEIG(*posed.models, form="kl", coupling=coupling), posed) == 0


@each_world
def test_coherent_worlds_raise_no_doubt_about_the_defaults(name: str) -> None:
    posed = exact_problems(name)
    for build in (ScreenedEIG, FactoredEIG):
        assert num_doubted(build(*posed.models), posed) == 0


@each_world
@pytest.mark.parametrize("bias", [-0.5, 0.5])
def test_biased_posteriors_are_doubted_where_they_count_as_information(
    name: str, bias: float
) -> None:
    posed = exact_problems(name, 50)
    exact, simulator = posed.models
    belief = BentBelief(exact, bias=bias)
    assert num_doubted(FactoredEIG(belief, simulator, form="kl"), posed) == 50
    for estimator in (
        FactoredEIG(belief, simulator),
        FactoredEIG(belief, simulator, form="kl", renormalise=True),
        ScreenedEIG(belief, simulator),
    ):
        assert num_doubted(estimator, posed) == 0


@each_world
def test_a_large_bias_is_doubted_in_every_form(name: str) -> None:
    posed = exact_problems(name, 20)
    exact, simulator = posed.models
    for form in get_args(Form):
        estimator = FactoredEIG(BentBelief(exact, bias=2.0), simulator, form=form)
        assert num_doubted(estimator, posed) == 20


@pytest.mark.parametrize(
    ("prior", "mean", "shown"),
    [(0.5, 0.8, "+1.39"), (0.5, 0.2, "-1.39"), (0.8, 0.5, "-1.39"), (0.9, 0.5, "-2.20")],
)
def test_the_doubt_names_the_gap_and_the_remedy(prior: float, mean: float, shown: str) -> None:
    (doubt,) = doubted(prior, np.full(3, mean - prior), EIG, NO_NOISE, 1.0)
    assert f"{shown} nats from the prior over all candidates (allowed: 1.00)" in doubt
    assert doubt.endswith("; recalibrate")
    assert doubted(prior, np.full(3, mean - prior), EIG, NO_NOISE, 2.5) == ()


def test_the_gap_is_the_median_over_the_candidates_that_have_one() -> None:
    far, near = 0.3, 0.01
    for gaps, count in (
        ([far, near, near, math.nan], 0),
        ([far, far, near, math.nan], 1),
        ([far, math.nan, math.nan, math.nan], 1),
        ([far, -far, near, math.nan], 0),
        ([math.nan] * 4, 0),
    ):
        found = doubted(0.5, np.array(gaps), np.full(4, 0.1), np.full(4, math.nan), 1.0)
        assert len(found) == count, gaps


@pytest.mark.parametrize("prior", [0.0, 1.0, math.nan])
def test_a_prior_that_is_certain_or_failed_has_no_gap(prior: float) -> None:
    assert doubted(prior, np.full(3, 0.5 - prior), EIG, NO_NOISE, 0.2) == ()


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_certain_posteriors_lie_far_from_the_prior(mean: float) -> None:
    (doubt,) = doubted(0.5, np.full(3, mean - 0.5), EIG, NO_NOISE, 1.0)
    assert "nats from the prior" in doubt


@pytest.mark.parametrize(
    ("best", "stderr", "is_doubted"),
    [
        (0.3, 0.16, True),
        (0.3, 0.15, False),
        (0.3, 0.0, False),
        (0.0, 0.0, False),
        (-0.1, 0.01, True),
        (0.3, math.nan, False),
    ],
)
def test_the_best_must_stand_out_of_its_noise(best: float, stderr: float, is_doubted: bool) -> None:
    eig, errors = np.array([best - 0.1, best, math.nan]), np.array([9.0, stderr, math.nan])
    found = doubted(0.5, COHERENT, eig, errors, 0.2)
    assert len(found) == is_doubted
    if is_doubted:
        assert f"promises {best:.3g} bits with a standard error of {stderr:.2g}" in found[0]
        assert "average repeated beliefs" in found[0]


def test_nothing_scored_nothing_doubted() -> None:
    nothing = np.full(3, math.nan)
    assert doubted(0.5, nothing, nothing, nothing, 0.2) == ()
    belief = ScriptedBelief(lambda query: "down")
    for estimator in (
        FactoredEIG(belief, ScriptedSimulator()),
        FactoredEIG(belief, RankedSimulator(ScriptedSimulator())),
        NestedMonteCarloEIG(belief, ScriptedSimulator()),
    ):
        assert estimator.score(TARGET, (), plains(3)).attrs["doubts"] == ""


def test_noisy_beliefs_of_worthless_candidates_are_doubted() -> None:
    # every posterior is the prior, so that all bits are noise
    belief = Repeated(BentBelief(two_way_belief(0.4, 0.5, 0.4, 0.4), jitter=0.5), 4)
    scores = FactoredEIG(belief, RankedSimulator(ScriptedSimulator())).score(TARGET, (), plains(1))
    (doubt,) = scores.attrs["doubts"].splitlines()
    assert "nothing stands out of the noise" in doubt


def test_doubts_reach_the_choice_the_run_and_the_report() -> None:
    posed = exact_problems("graded", 5)
    exact, simulator = posed.models
    estimators = {
        "biased": FactoredEIG(BentBelief(exact, bias=0.5), simulator, form="kl"),
        "eig": FactoredEIG(exact, simulator),
    }
    problem = posed.problems[0]
    attrs = {
        name: estimator.score(problem.target, (), problem.candidates, problem.seed).attrs
        for name, estimator in estimators.items()
    }
    policies = {name: InformationPolicy(estimator) for name, estimator in estimators.items()}
    choices = {name: choose_one(policy, problem) for name, policy in policies.items()}
    for name, count in (("biased", 1), ("eig", 0)):
        assert len(choices[name].doubts) == count
        assert attrs[name]["doubts"].splitlines() == list(choices[name].doubts)
    run = simulate(Study(posed.episodes, dict(policies), {"exact": exact}, num_steps=2))
    doubt = run["doubt"].sel(choice=1)
    assert all("nats from the prior" in text for text in doubt.sel(policy="biased").values)
    assert doubt.sel(policy="eig").values.tolist() == [""] * 5
    found = report(run, num_draws=10)["policies"]
    assert found["biased"]["doubted"] == int((run["doubt"].values[0] != "").sum()) >= 5
    assert found["eig"]["doubted"] == int((run["doubt"].values[1] != "").sum())
