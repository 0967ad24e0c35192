import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import expit, logit, ndtri
from scipy.stats import beta, chi2, kstest, norm, uniform

from bed import (
    BeliefQuery,
    Beliefs,
    DesignProblem,
    Experiment,
    FactoredEIG,
    Fields,
    Hypothesis,
    Outcome,
    OutcomeRequest,
    Outcomes,
    ScreenedEIG,
    World,
    factored_eig,
)
from bed.assays import (
    RULES,
    Exact,
    Factored,
    Pool,
    Relevance,
    Rule,
    Uniforms,
    assay_paths,
    assay_study,
    assay_uniforms,
)
from bed.assays.draws import Keys, Purpose, draw, keys, seed_words
from bed.assays.world import Assays, Truth, divergence, exact_eig, normal_quantile, truth
from bed.errors import DataError
from bed.estimators.forms import Form
from bed.information import LOG2, entropy_bits, kl_bits

Array = NDArray[np.float64]

POOLS: tuple[Pool, ...] = get_args(Pool)
EVERY = tuple(RULES)
FAR = 4.5
"""Standard errors allowed: one false alarm in 150,000 draws of a figure."""


def host(array: Any) -> Array:
    return np.asarray(array, dtype=np.float64)


def of(seed: int, num_episodes: int) -> Keys:
    return keys(seed_words(seed), num_episodes)


@cache
def everyone(pool: Pool) -> xr.Dataset:
    """Every policy through the same 4,000 episodes, 8 steps among 8 candidates, seed 0."""
    return assay_study(EVERY, 4000, pool, 8, 8)


def numbers(seed: int = 0, purpose: Purpose = Purpose.MU, num_episodes: int = 256) -> Array:
    """Shape (step, candidate, episode)."""
    return host(draw(of(seed, num_episodes), purpose, 16, 16))


def bits_of(numbers: Array) -> NDArray[np.int64]:
    """The 23 bits of each number, highest first, along a new last axis."""
    whole = np.round((numbers - 2.0**-24) * 2**23).astype(np.int64)
    return np.asarray((whole[..., None] >> np.arange(22, -1, -1)) & 1)


# The generator


@pytest.mark.parametrize("purpose", [Purpose.RADIUS, Purpose.MU, Purpose.COUPLED])
@pytest.mark.parametrize("seed", [0, 1, 2**62])
def test_numbers_are_uniform(seed: int, purpose: Purpose) -> None:
    drawn = numbers(seed, purpose).ravel()
    assert 0 < drawn.min() < drawn.max() < 1
    assert kstest(drawn, uniform.cdf).pvalue > 1e-4
    counts = np.bincount((drawn * 1024).astype(int), minlength=1024)
    expected = len(drawn) / 1024
    # two-sided: counts that are too even are as suspicious
    p = chi2.sf(((counts - expected) ** 2 / expected).sum(), 1023)
    assert 1e-4 < p < 1 - 1e-4


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["step", "candidate", "episode"])
def test_neighbours_are_independent(axis: int) -> None:
    drawn = numbers()
    for lag in (1, 2, 3, 4, 8):
        ahead = np.take(drawn, range(lag, drawn.shape[axis]), axis=axis)
        behind = np.take(drawn, range(drawn.shape[axis] - lag), axis=axis)
        check_independent(ahead.ravel(), behind.ravel())


@pytest.mark.parametrize(
    ("seed", "purpose"),
    [(1, Purpose.MU), (0, Purpose.P0), (0, Purpose.LOCAL), (0, Purpose.RHO)],
    ids=["next seed", "P0", "LOCAL", "RHO"],
)
def test_other_streams_are_independent(seed: int, purpose: Purpose) -> None:
    check_independent(numbers().ravel(), numbers(seed, purpose).ravel())


def check_independent(x: Array, y: Array) -> None:
    """Neither correlated, nor uneven over a grid of 16 by 16 cells."""
    assert abs(np.corrcoef(x, y)[0, 1]) < FAR / math.sqrt(len(x))
    cells = np.bincount((x * 16).astype(int) * 16 + (y * 16).astype(int), minlength=256)
    expected = len(x) / 256
    p = chi2.sf(((cells - expected) ** 2 / expected).sum(), 255)
    assert 1e-5 < p < 1 - 1e-5


def test_bits_are_balanced_and_uncorrelated() -> None:
    bits = bits_of(numbers()).reshape(-1, 23)
    limit = FAR / math.sqrt(len(bits))
    assert (abs(2 * bits.mean(axis=0) - 1) < limit).all()
    correlation = np.corrcoef(bits.T) - np.eye(23)
    assert (abs(correlation) < limit).all()


def test_one_bit_of_a_counter_or_key_flips_half_of_the_bits() -> None:
    drawn = bits_of(numbers())
    words = seed_words(0)
    flipped: list[NDArray[np.int64]] = []
    for i in range(4):
        for bit in (0, 13, 31):
            nearby = words.copy()
            nearby[i] ^= np.uint32(1 << bit)
            flipped.append(bits_of(host(draw(keys(nearby, 256), Purpose.MU, 16, 16))))
    for axis in range(3):
        order = np.arange(drawn.shape[axis])
        for bit in (1, 2, 4, 8):
            flipped.append(np.take(drawn, order ^ bit, axis=axis))
    flipped.append(bits_of(numbers(purpose=Purpose(Purpose.MU ^ 1))))
    # each pair of counters is met twice where both lie in the array
    limit = FAR * math.sqrt(2.0) / math.sqrt(drawn[..., 0].size)
    for bits in flipped:
        change = (drawn != bits).reshape(-1, 23).mean(axis=0)
        assert (abs(2 * change - 1) < limit).all()


# The world


def test_law_of_the_world() -> None:
    world = truth(assay_uniforms(20_000, num_steps=1, num_candidates=4))
    prior, theta = host(world.prior), host(world.theta)
    base, rho, mu = (host(part) for part in world.assays)
    assert kstest((prior - 0.02) / 0.96, beta(1.5, 1.5).cdf).pvalue > 1e-4
    assert kstest(rho.ravel(), beta(1, 2).cdf).pvalue > 1e-4
    assert kstest(mu.ravel(), uniform(0.5, 2.5).cdf).pvalue > 1e-4
    p0 = base / (1 - rho)
    assert kstest(p0[rho < 0.9], uniform(0.15, 0.45).cdf).pvalue > 1e-4
    surprise = (theta - prior) / np.sqrt((prior * (1 - prior)).mean())
    assert abs(surprise.mean()) < FAR / math.sqrt(len(prior))
    # p(theta'=1 | theta=1) as the law has it
    np.testing.assert_allclose(base + rho, p0 + (1 - p0) * rho, atol=1e-6)


def test_normal_quantile() -> None:
    # the numbers that a draw can give, the extremes among them
    u = (np.append(np.arange(0, 2**23, 1999), 2**23 - 1) + 0.5) / 2**23
    found = normal_quantile(jnp.array(u, dtype=jnp.float32))
    np.testing.assert_allclose(found, ndtri(u), rtol=2e-5, atol=1e-6)


def density(assays: tuple[Any, Any, Any], y: Any, theta: int) -> Any:
    base, rho, mu = assays
    p = base + rho * theta
    return (1 - p) * norm.pdf(y) + p * norm.pdf(y - mu)


def replayed(
    study: xr.Dataset, policy: str, uniforms: Uniforms, world: Truth
) -> tuple[Array, Array]:
    """Beliefs and final log likelihoods in float64 from what was chosen alone."""
    prior, theta = host(world.prior), host(world.theta)
    chosen = study["chosen"].sel(policy=policy).values
    local, noise = host(uniforms.local), ndtri(host(uniforms.noise))
    episode = np.arange(len(prior))
    logs = np.zeros((2, len(prior)))
    odds = [logit(prior)]
    for t in range(chosen.shape[1]):
        k = chosen[:, t]
        is_fixed = study.attrs["pool"] == "fixed"
        base, rho, mu = (host(part)[0 if is_fixed else t, k, episode] for part in world.assays)
        slot = k if is_fixed else t
        y = noise[slot, episode] + mu * (local[slot, episode] < base + rho * theta)
        for label in (0, 1):
            logs[label] += np.log(density((base, rho, mu), y, label))
        odds.append(logit(prior) + logs[1] - logs[0])
    return expit(np.array(odds).T), logs.T


@pytest.mark.parametrize("pool", POOLS)
def test_beliefs_replay_in_float64(pool: Pool) -> None:
    study = everyone(pool)
    uniforms = assay_uniforms(4000, pool, 8, 8)
    world = truth(uniforms)
    np.testing.assert_array_equal(study["label"], host(world.theta))
    for policy in EVERY:
        belief, logs = replayed(study, policy, uniforms, world)
        np.testing.assert_allclose(study["belief"].sel(policy=policy), belief, atol=1e-5)
        np.testing.assert_allclose(study["log_likelihood"].sel(policy=policy), logs, atol=1e-4)


@pytest.mark.parametrize("pool", POOLS)
def test_beliefs_are_calibrated(pool: Pool) -> None:
    study = everyone(pool)
    label = study["label"].values
    for policy in EVERY:
        belief = study["belief"].sel(policy=policy, step=4).values
        for low in np.arange(0.0, 1.0, 0.2):
            here = (belief >= low) & (belief < low + 0.2)
            error = math.sqrt((belief[here] * (1 - belief[here])).sum())
            assert abs((label[here] - belief[here]).sum()) < FAR * error


# What candidates are worth


def assays(*rows: tuple[float, float, float]) -> Assays:
    """Candidates, shape (candidate, 1)."""
    return Assays(*(jnp.array(column, dtype=jnp.float32)[:, None] for column in zip(*rows)))  # noqa: B905


CANDIDATES = (
    (0.2, 0.5, 2.0),
    (0.5, 0.05, 0.5),
    (0.01, 0.98, 3.0),
    (0.001, 0.6, 3.0),
    (0.1, 0.3, 1),
)
BELIEFS = (1e-4, 0.03, 0.5, 0.8, 0.999)


@pytest.mark.parametrize("p", BELIEFS)
def test_exact_eig_by_quadrature(p: float) -> None:
    found = exact_eig(assays(*CANDIDATES), jnp.array([logit(p)], dtype=jnp.float32))[:, 0]
    for bits, candidate in zip(host(found), CANDIDATES, strict=True):

        def information(y: float, of: tuple[float, float, float] = candidate) -> float:
            given = [density(of, y, theta) for theta in (0, 1)]
            marginal = (1 - p) * given[0] + p * given[1]
            parts = zip((1 - p, p), given, strict=True)
            return float(sum(w * g * np.log2(g / marginal) for w, g in parts))

        expected, _ = quad(information, -9, candidate[2] + 9, epsabs=1e-10, limit=200)
        assert bits == pytest.approx(expected, abs=1e-5, rel=1e-3)


@pytest.mark.parametrize("p", BELIEFS)
def test_exact_eig_of_a_finely_binned_world(p: float) -> None:
    edges = np.linspace(-6, 9, 601)
    readouts = []
    for _, _, mu in CANDIDATES:
        bins = np.diff(norm.cdf(edges[None] - np.array([[0], [mu]])), axis=1)
        readouts.append((bins / bins.sum(axis=1, keepdims=True)).tolist())
    world = World.factored(p, [[base, base + rho] for base, rho, _ in CANDIDATES], readouts)
    found = exact_eig(assays(*CANDIDATES), jnp.array([logit(p)], dtype=jnp.float32))[:, 0]
    np.testing.assert_allclose(host(found), np.array(world.exact_eig()), atol=1e-4)


@pytest.mark.parametrize("p", [1e-7, 1e-3, 0.5, 0.999, 1 - 1e-6])
@pytest.mark.parametrize("log_ratio", [-8.0, -0.5, -0.01, 0.001, 0.3, 9.0])
def test_divergence_keeps_its_digits(p: float, log_ratio: float) -> None:
    odds, ratio = np.float32(logit(p)), np.float32(np.expm1(log_ratio))
    found = float(divergence(jnp.array(odds), jnp.array(ratio), jnp.log1p(jnp.array(ratio))))
    prior, posterior = expit(float(odds)), expit(float(odds) + np.log1p(float(ratio)))
    assert found == pytest.approx(float(kl_bits(posterior, prior)) * LOG2, rel=2e-3)


def scored(rule: Rule, stacked: Assays, odds: Array) -> Array:
    """The scores of one step, shape (candidate, episode)."""
    shape = stacked.mu.shape
    prepared = (jnp.broadcast_to(x, shape)[0] for x in rule.prepare(stacked, of(0, shape[2]), 1))
    none_gone = jnp.zeros(shape[1:], dtype=bool)
    return host(rule.scores(tuple(prepared), jnp.asarray(odds, dtype=jnp.float32), none_gone))


@pytest.mark.parametrize("form", get_args(Form))
def test_factored_eig_by_hand(form: Form) -> None:
    level, p = 0.65, float(expit(-0.8))
    stacked = Assays(*(part[None] for part in assays(*CANDIDATES)))
    found = scored(Factored(form, level), stacked, np.array([-0.8]))[:, 0]
    for bits, (base, rho, mu) in zip(found, CANDIDATES, strict=True):
        weight, z = base + rho * p, ndtri(level)
        posts = []
        for y in (mu + z, -z):
            given = [density((base, rho, mu), y, theta) for theta in (0, 1)]
            posts.append(p * given[1] / (p * given[1] + (1 - p) * given[0]))
        expected = factored_eig(p, weight, [posts[0]], [posts[1]], form)
        assert bits == pytest.approx(expected, abs=2e-6)


@dataclass(frozen=True)
class AssayModels:
    """Exact belief and simulator of single assays whose fields hold base, rho, mu and the prior."""

    ranks_outcomes: ClassVar[bool] = True

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        return Beliefs(np.array([self._probability(query) for query in queries]))

    def _probability(self, query: BeliefQuery) -> float:
        fields = query.hypothesis.fields
        p = fields["prior"]
        if "mu" in fields:
            return float(fields["base"] + fields["rho"] * p)
        for stub in query.evidence:
            candidate = tuple(stub.experiment.hypothesis.fields[k] for k in ("base", "rho", "mu"))
            given = [density(candidate, stub.outcome.fields["y"], theta) for theta in (0, 1)]
            p = p * given[1] / (p * given[1] + (1 - p) * given[0])
        return float(p)

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        means = [r.experiment.hypothesis.fields["mu"] * r.supportive for r in requests]
        drawn = [ndtri(request.position) for request in requests]
        return Outcomes(
            tuple(Outcome(Fields(y=float(mean + z))) for mean, z in zip(means, drawn, strict=True))
        )


def test_the_compiled_rules_are_the_estimators() -> None:
    size = 60
    world = truth(assay_uniforms(size, "fixed", seed=3))
    odds = logit(host(world.prior))
    base, rho, mu = (host(part)[0].T for part in world.assays)
    problems = []
    for e in range(size):
        prior = float(host(world.prior)[e])
        candidates = tuple(
            Experiment(
                f"x{k}",
                Hypothesis(f"x{k}", fields=Fields(base=b, rho=r, mu=m, prior=prior)),
            )
            for k, (b, r, m) in enumerate(
                zip(base[e].tolist(), rho[e].tolist(), mu[e].tolist(), strict=True)
            )
        )
        target = Hypothesis(f"theta of {e}", fields=Fields(prior=prior))
        problems.append(DesignProblem(target, (), candidates))
    models = AssayModels(), AssayModels()
    for name, estimator in (("levels", FactoredEIG(*models)), ("screened", ScreenedEIG(*models))):
        found = scored(RULES[name], world.assays, odds)
        scores = estimator.score_batch(problems)
        # the compiled rule does not turn to both branches of all where finalists raise a doubt
        alike = [e for e in range(size) if scores[e].calls.simulator == 32]
        assert len(alike) > 0.9 * size
        expected = np.array([scores[e].eig for e in alike]).T
        assert found[:, alike] == pytest.approx(expected, abs=3e-6)


def test_coupled_nodes_share_one_level_and_independent_ones_do_not() -> None:
    stacked = Assays(*(part[None] for part in assays((0.2, 0.5, 2.0), (0.2, 0.5, 2.0))))
    shared = Factored("kl", "coupled").prepare(stacked, of(0, 1), 3)
    apart = Factored("kl", "independent").prepare(stacked, of(0, 1), 3)
    for branch in (2, 4):
        np.testing.assert_array_equal(shared[branch][:, 0], shared[branch][:, 1])
        assert (apart[branch][:, 0] != apart[branch][:, 1]).all()
        assert len(np.unique(shared[branch][:, 0])) == 3


def test_exact_rule_keeps_its_promise() -> None:
    study = everyone("fresh").sel(policy="exact")
    belief, promised = study["belief"].values, study["promised"].values
    gain = entropy_bits(belief[:, :-1]) - entropy_bits(belief[:, 1:])
    error = (gain - promised).std(axis=0) / math.sqrt(len(gain))
    assert (abs((gain - promised).mean(axis=0)) < FAR * error).all()


def test_greedy_choice_learns_most() -> None:
    entropy = entropy_bits(everyone("fixed")["belief"].values[:, :, :2]).mean(axis=1)
    gain = dict(zip(EVERY, entropy[:, 0] - entropy[:, 1], strict=True))
    assert gain["random"] < gain["paper"] < gain["coupled"] < gain["exact"]
    assert gain["levels"] > 0.97 * gain["exact"]


# The study


@pytest.mark.parametrize("pool", POOLS)
def test_same_seed_same_study(pool: Pool) -> None:
    again, other = (assay_study(EVERY, 4000, pool, 8, 8, seed) for seed in (0, 1))
    xr.testing.assert_identical(everyone(pool), again)
    assert not again["belief"].equals(other["belief"])


@pytest.mark.parametrize("pool", POOLS)
def test_more_episodes_leave_the_first_as_they_are(pool: Pool) -> None:
    names = ["paper", "levels"]
    few = assay_study(names, 17, pool, 8, 8)
    many = everyone(pool).sel(policy=names).isel(episode=slice(17))
    np.testing.assert_array_equal(few["label"], many["label"])
    # vectors of another length may round the last digit another way
    np.testing.assert_array_equal(few["chosen"], many["chosen"])
    np.testing.assert_allclose(few["belief"], many["belief"], atol=1e-5)


def test_more_steps_leave_the_first_as_they_are() -> None:
    short = assay_study(["paper"], 4000, "fresh", 2, 8)
    long = everyone("fresh").sel(policy=["paper"], step=slice(0, 2))
    np.testing.assert_allclose(short["belief"], long["belief"], atol=1e-5)


def test_candidates_of_a_fixed_pool_are_run_once() -> None:
    chosen = np.sort(everyone("fixed")["chosen"].values, axis=-1)
    np.testing.assert_array_equal(chosen, np.broadcast_to(np.arange(8), chosen.shape))


def test_a_pool_run_to_its_end_shows_the_same_to_every_policy() -> None:
    last = everyone("fixed")["belief"].isel(step=-1).values
    np.testing.assert_allclose(last, np.broadcast_to(last[0], last.shape), atol=1e-5)


def test_random_choice_is_even() -> None:
    chosen = everyone("fixed")["chosen"].sel(policy="random").values
    for step in range(8):
        share = np.bincount(chosen[:, step], minlength=8) / len(chosen)
        assert (abs(share - 1 / 8) < FAR * math.sqrt(7 / 64 / len(chosen))).all()


@pytest.mark.parametrize("pool", POOLS)
def test_rules_that_promise_nothing_have_no_promise(pool: Pool) -> None:
    promised = everyone(pool)["promised"]
    assert np.isnan(promised.sel(policy=["random", "relevance"])).all()
    assert np.isfinite(promised.drop_sel(policy=["random", "relevance"])).all()


def test_rules_by_names_of_ones_own() -> None:
    study = assay_study({"blunt": Factored("kl", 0.5), "best": Exact()}, 4, "fresh", 2, 3)
    assert study["policy"].values.tolist() == ["blunt", "best"]
    assert study.sizes == {"policy": 2, "episode": 4, "step": 3, "choice": 2, "theta": 2}


def test_seeds_share_the_compiled_program() -> None:
    arguments = ([Relevance()], 7, "fresh", 2, 3)
    assay_paths(*arguments, seed=0)  # type: ignore[arg-type]
    with jax.no_tracing():
        assay_paths(*arguments, seed=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policies": ["exact", "best"]}, "unknown policy 'best'; use some of random, relevance"),
        ({"policies": []}, "no policies: name at least one of random"),
        ({"pool": "stale"}, "unknown pool 'stale'; use 'fixed' or 'fresh'"),
        ({"num_episodes": 0}, "num_episodes is 0: it must be a whole number of at least 1"),
        ({"num_steps": -1}, "num_steps is -1: it must be a whole number of at least 1"),
        ({"num_candidates": 5000}, "num_candidates is 5000: .* below 4096"),
        ({"num_steps": 9}, "num_steps is 9, but a fixed pool of 8 .*; take fewer steps"),
    ],
    ids=["policy", "no policy", "pool", "episodes", "steps", "candidates", "exhausted pool"],
)
def test_wrong_arguments(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"policies": ["exact"], "num_episodes": 2, "pool": "fixed"}
    arguments |= {"num_steps": 2, "num_candidates": 8} | change
    with pytest.raises(DataError, match=message):
        assay_study(**arguments)


@pytest.mark.parametrize(
    ("form", "nodes", "message"),
    [
        ("cross", 0.5, "form 'cross' is not one of"),
        ("kl", "shared", "nodes 'shared': use 'independent', 'coupled' or a level"),
        ("kl", 1.0, r"nodes 1.0: a level must lie inside \(0, 1\)"),
        ("kl", math.nan, "nodes nan: a level must lie inside"),
    ],
    ids=["form", "name", "edge", "nan"],
)
def test_wrong_rules(form: Any, nodes: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Factored(form, nodes)
