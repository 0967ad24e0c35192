"""Sampled estimates against exact worlds. Tolerances are four of the estimate's own errors."""

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from bed.belief import ExactBelief
from bed.estimators import Estimator, ExactEIG, FactoredEIG, NestedMonteCarloEIG
from bed.estimators.factored import Coupling, Form
from bed.evidence import Evidence
from bed.information import entropy_bits
from bed.simulators import ExactSimulator
from bed.worlds import World
from tests.factories import shown

RANDOM: tuple[Coupling, ...] = ("independent", "candidates", "branches")
FORMS: tuple[Form, ...] = get_args(Form)

INDEPENDENT = World.factored(
    0.3,
    [[0.2, 0.7], [0.1, 0.9], [0.5, 0.6], [0.4, 0.4]],
    [
        [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]],
        [[0.8, 0.2], [0.3, 0.7]],
        [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]],
        [[0.9, 0.1], [0.1, 0.9]],
    ],
    name="independent",
)
# y hangs on the state beyond theta', so a simulator that ignores the evidence goes wrong
RNG = np.random.default_rng(1)
ENTANGLED = World(
    prior=np.array([0.2, 0.3, 0.3, 0.2]),
    theta=np.array([0, 0, 1, 1]),
    local=tuple(RNG.random(4) for _ in range(3)),
    outcome=tuple(RNG.dirichlet(np.full(3, 0.5), size=(4, 2)) for _ in range(3)),
    name="entangled",
)
WORLDS = {world.name: world for world in (INDEPENDENT, ENTANGLED)}
BELIEF = ExactBelief(WORLDS)
AWARE, IGNORANT = ExactSimulator(WORLDS), ExactSimulator(WORLDS, knows_evidence=False)

SITUATIONS = pytest.mark.parametrize(
    ("world", "evidence"),
    [
        (INDEPENDENT, ()),
        (INDEPENDENT, (shown(INDEPENDENT, 0, 2), shown(INDEPENDENT, 0, 0))),
        (ENTANGLED, ()),
        (ENTANGLED, (shown(ENTANGLED, 0, 1),)),
    ],
    ids=["independent", "independent, two known", "entangled", "entangled, one known"],
)


def assert_converged(
    estimator: Estimator, world: World, evidence: Evidence, truth: Any, seed: int = 1
) -> None:
    left = [x for x in world.experiments() if x.id not in {s.experiment.id for s in evidence}]
    scores = estimator.score(world.target(), evidence, left, seed)
    expected = np.array([value for value in truth if value is not None])
    error = np.abs(scores["eig"].values - expected)
    assert (error <= 4 * scores["eig_stderr"].values + 1e-12).all(), (
        scores["eig"].values,
        expected,
    )
    # the test has teeth: the tolerance is small beside the best candidate
    assert (4 * scores["eig_stderr"].values).max() < 0.35 * expected.max()


@SITUATIONS
@pytest.mark.parametrize("coupling", RANDOM)
@pytest.mark.parametrize("form", FORMS)
def test_factored_reaches_the_exact_eig(
    world: World, evidence: Evidence, form: Form, coupling: Coupling
) -> None:
    estimator = FactoredEIG(BELIEF, AWARE, 400, form, coupling)
    assert_converged(estimator, world, evidence, world.exact_eig(world.observed(evidence)))


@SITUATIONS
@pytest.mark.parametrize("form", FORMS)
def test_levels_are_a_quadrature_of_the_exact_eig(
    world: World, evidence: Evidence, form: Form
) -> None:
    truth = np.array([e for e in world.exact_eig(world.observed(evidence)) if e is not None])
    left = [x for x in world.experiments() if x.id not in {s.experiment.id for s in evidence}]

    def error(num_samples: int) -> float:
        estimator = FactoredEIG(BELIEF, AWARE, num_samples, form, "levels")
        scores = estimator.score(world.target(), evidence, left)
        assert np.isnan(scores["eig_stderr"].values).all()
        return float(np.abs(scores["eig"].values - truth).max())

    # each edge between outcomes misplaces at most half a stratum, worth at most a bit or so
    assert error(400) < 2.5 / 400
    assert error(400) < error(4)


@SITUATIONS
def test_nested_monte_carlo_reaches_the_exact_eig(world: World, evidence: Evidence) -> None:
    truth = world.exact_eig(world.observed(evidence))
    assert_converged(NestedMonteCarloEIG(BELIEF, AWARE, 800), world, evidence, truth)


@SITUATIONS
def test_the_papers_form_reaches_its_own_limit(world: World, evidence: Evidence) -> None:
    truth = world.exact_factored_eig(world.observed(evidence))
    assert_converged(FactoredEIG.paper(BELIEF, IGNORANT, 800), world, evidence, truth)


def test_ignoring_the_evidence_picks_the_wrong_candidate(shared_data: Path) -> None:
    stored = json.loads((shared_data / "golden" / "worlds.json").read_text())["defs"]["dependent"]
    world = World.from_joint(stored["rows"], stored["n_outcomes"])
    worlds = {world.name: world}
    evidence, left = (shown(world, 0, 0),), world.experiments()[1:]
    exact = np.array(world.exact_eig([(0, 0)])[1:], dtype=float)
    limit = np.array(world.exact_factored_eig([(0, 0)])[1:], dtype=float)
    assert [int(exact.argmax()), int(limit.argmax())] == [1, 0]
    for knows, truth in ((True, exact), (False, limit)):
        simulator = ExactSimulator(worlds, knows_evidence=knows)
        estimator = FactoredEIG.paper(ExactBelief(worlds), simulator, 1000)
        scores = estimator.score(world.target(), evidence, left)
        eig, stderr = scores["eig"].values, scores["eig_stderr"].values
        assert (np.abs(eig - truth) <= 4 * stderr).all()
        assert eig.argmax() == truth.argmax()


def test_the_exact_estimator_is_the_world() -> None:
    evidence = (shown(ENTANGLED, 0, 1),)
    scores = ExactEIG(WORLDS).score(ENTANGLED.target(), evidence, ENTANGLED.experiments()[1:])
    observed = [(0, 1)]
    assert scores["eig"].values.tolist() == [ENTANGLED.candidate_eig(k, observed) for k in (1, 2)]
    assert scores["eig_stderr"].values.tolist() == [0, 0]
    assert scores["branch_weight"].values.tolist() == [
        ENTANGLED.branch_weight(k, observed) for k in (1, 2)
    ]
    assert scores.attrs["prior"] == ENTANGLED.posterior(observed)


@pytest.mark.parametrize("coupling", RANDOM)
@pytest.mark.parametrize("form", FORMS)
def test_the_standard_error_says_how_far_estimates_scatter(form: Form, coupling: Coupling) -> None:
    estimator = FactoredEIG(BELIEF, AWARE, 32, form, coupling)
    x, truth = INDEPENDENT.experiment(1), INDEPENDENT.candidate_eig(1)
    scores = [estimator.score(INDEPENDENT.target(), (), [x], seed) for seed in range(150)]
    z = [(float(s["eig"][0]) - truth) / float(s["eig_stderr"][0]) for s in scores]
    # the standard deviation of 150 standard scores is 1 with an error of 0.058
    assert np.std(z) == pytest.approx(1, abs=4 * 0.058)


@pytest.mark.parametrize("p_theta", [0.5, 0.1, 0.001])
@pytest.mark.parametrize("build", [NestedMonteCarloEIG, FactoredEIG.paper, FactoredEIG])
def test_deterministic_outcomes_are_worth_the_entropy_in_every_draw(
    p_theta: float, build: Any
) -> None:
    world = World.from_likelihood(p_theta, [[0, 1], [1, 0]])
    worlds = {world.name: world}
    estimator = build(ExactBelief(worlds), ExactSimulator(worlds), 1)
    for seed in range(60):
        eig = estimator.score(world.target(), (), world.experiments(), seed)["eig"].values
        assert eig == pytest.approx([float(entropy_bits(p_theta))] * 2, abs=1e-12)


def test_nested_monte_carlo_stays_between_its_bounds() -> None:
    # a posterior has at most one bit of entropy, so H - 1 <= estimate <= H
    table = [[0.0, 1.0], [0.0, 0.3], [0.5, 0.6], [0.02, 1.0]]
    world = World.from_likelihood(0.1, table)
    worlds = {world.name: world}
    before = float(entropy_bits(0.1))
    estimator = NestedMonteCarloEIG(ExactBelief(worlds), ExactSimulator(worlds), 2)
    for seed in range(150):
        scores = estimator.score(world.target(), (), world.experiments(), seed)
        assert (scores["eig"].values <= before + 1e-12).all()
        assert (scores["eig"].values >= before - 1 - 1e-12).all()
        assert np.isfinite(scores["eig_stderr"].values).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("num_samples", [1, 4])
def test_branches_that_cannot_happen_do_not_spoil_a_candidate(form: Form, num_samples: int) -> None:
    world = World.from_likelihood(0.5, [[0, 0], [1, 1], [0.2, 0.8]])
    worlds = {world.name: world}
    estimator = FactoredEIG(ExactBelief(worlds), ExactSimulator(worlds), num_samples, form)
    scores = estimator.score(world.target(), (), world.experiments())
    assert scores["status"].values.tolist() == ["scored"] * 3
    assert scores["eig"].values == pytest.approx([0, 0, world.candidate_eig(2)], abs=1e-12)


@pytest.mark.parametrize("build", [ExactEIG, "factored", "paper", "nested"])
def test_a_twin_of_what_is_known_is_scored_as_worthless(build: Any) -> None:
    # both candidates report the same noiseless readout: the first outcome settles the second
    rows = [
        {"theta": theta, "local": [y, y], "y": [y, y], "p": 0.5 * (0.8 if y == theta else 0.2)}
        for theta in (0, 1)
        for y in (0, 1)
    ]
    world = World.from_joint(rows, [2, 2])
    worlds = {world.name: world}
    belief, simulator = ExactBelief(worlds), ExactSimulator(worlds)
    estimator: Estimator = {
        "factored": FactoredEIG(belief, simulator),
        "paper": FactoredEIG.paper(belief, simulator),
        "nested": NestedMonteCarloEIG(belief, simulator),
        ExactEIG: ExactEIG(worlds),
    }[build]
    scores = estimator.score(world.target(), (shown(world, 0, 1),), [world.experiment(1)])
    assert scores["status"].values.tolist() == ["scored"], scores["reason"].values
    assert float(scores["eig"][0]) == pytest.approx(0, abs=1e-12)
