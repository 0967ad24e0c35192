"""Worlds of independent assays: that they follow their laws, and that bins cost nothing."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import norm

from bed.episodes.assay_worlds import gaussian_world, six_level_world
from bed.episodes.synthetic import NAMES, sample_world_episodes
from bed.errors import DataError
from bed.information import kl_bits
from bed.seeds import generator
from bed.worlds import World

Array = NDArray[np.float64]

LAWS: dict[str, Callable[[str, Generator], World]] = {
    "gaussian": gaussian_world,
    "six-level": six_level_world,
}
each_law = pytest.mark.parametrize("law", LAWS)
COUNT = 500
BIN_MIDDLES = np.arange(-4.0, 7.1, 0.1)


@cache
def worlds(law: str) -> list[World]:
    return [LAWS[law](f"{law}-{i}", generator("assay worlds", law, i)) for i in range(COUNT)]


def links(law: str) -> tuple[Array, Array]:
    """rho and p0 of every candidate, from P(theta'=1 | theta) = p0 (1 - rho) + rho theta."""
    local = np.array([world.local for world in worlds(law)])
    rho = local[:, :, 1] - local[:, :, 0]
    return rho, local[:, :, 0] / (1 - rho)


def assert_moments(values: Array, mean: float, variance: float) -> None:
    """Mean within 4 standard errors, variance within 4 of its own."""
    size, centred = values.size, np.ravel(values) - mean
    assert abs(centred.mean()) < 4 * math.sqrt(variance / size)
    assert abs((centred**2).mean() - variance) < 4 * (centred**2).std() / math.sqrt(size)


@each_law
def test_priors_and_links_follow_their_laws(law: str) -> None:
    prior = np.array([world.posterior() for world in worlds(law)])
    assert ((prior > 0.02) & (prior < 0.98)).all()
    assert_moments(prior, 0.5, 0.96**2 / 16)  # Beta(1.5, 1.5) has variance 1/16
    rho, p0 = links(law)
    assert ((rho >= 0) & (rho <= 1)).all()
    assert_moments(rho, 1 / 3, 1 / 18)  # Beta(1, 2)
    assert ((p0 >= 0.15 - 1e-9) & (p0 <= 0.6 + 1e-9)).all()
    assert_moments(p0, 0.375, 0.45**2 / 12)


@each_law
def test_readouts_hang_on_the_local_truth_alone_and_sum_to_one(law: str) -> None:
    for world in worlds(law)[:20]:
        for p_y in world.outcome:
            assert np.array_equal(p_y[0], p_y[1])
            assert p_y.sum(axis=2) == pytest.approx(np.ones((2, 2)), abs=1e-12)
            assert (p_y > 0).all()


@each_law
def test_tiers_follow_the_links(law: str) -> None:
    rho, _ = links(law)
    for world, of_world in zip(worlds(law), rho, strict=True):
        assert np.bincount(world.tiers).tolist() == [0, 3, 3, 3, 7]
        assert (np.diff(np.array(world.tiers)[np.argsort(-of_world)]) >= 0).all()
        assert set(world.kinds) == {law}


def test_gaussian_readouts_are_shifted_bins() -> None:
    for world in worlds("gaussian")[:20]:
        for p_y in world.outcome:
            null, shifted = p_y[0] @ BIN_MIDDLES
            assert null == pytest.approx(0, abs=1e-4)
            assert 0.5 < shifted < 3
            expected = norm.cdf(1.05 - shifted) - norm.cdf(0.95 - shifted)
            assert p_y[0, 1, 50] == pytest.approx(expected, rel=1e-3)


def test_six_levels_are_significance_by_size() -> None:
    for world in worlds("six-level"):
        for p_y in np.array(world.outcome)[:, 0]:
            assert p_y.shape == (2, 6)
            level, power = p_y[:, 3:].sum(axis=1)
            assert 0.01 <= level <= 0.15
            assert 0.2 <= power <= 0.9
            size = p_y.reshape(2, 2, 3)
            steps = np.diff(np.log(size), axis=2)  # by theta', significance and step
            tilt = 2 * steps[1, 0, 0]
            assert 0 <= tilt <= 1.5
            expected = np.array([-tilt / 2, tilt / 2])[:, None, None]
            assert steps == pytest.approx(np.broadcast_to(expected, (2, 2, 2)), abs=1e-9)


def continuous_eig(prior: float, local: Array, mu: float) -> float:
    """EIG in bits of the read-out N(mu theta', 1) by quadrature."""

    def integrand(y: float) -> float:
        density = np.array([norm.pdf(y), norm.pdf(y - mu)])
        given = (1 - local) * density[0] + local * density[1]
        p_y = (1 - prior) * given[0] + prior * given[1]
        return float(p_y * kl_bits(prior * given[1] / p_y, prior))

    return float(quad(integrand, -9, 9 + mu, epsabs=1e-10, limit=200)[0])


def test_bins_cost_nothing() -> None:
    for world in worlds("gaussian")[:3]:
        prior = world.posterior()
        for k in range(0, 16, 3):
            mu = float(world.outcome[k][0, 1] @ BIN_MIDDLES)
            truth = continuous_eig(prior, world.local[k], mu)
            found = world.candidate_eig(k)
            assert found == pytest.approx(truth, rel=0.01)
            assert found < truth * (1 + 1e-3)  # what is binned tells less, but for mu's rounding


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_the_worlds_and_more_of_them_extend_the_list(name: str) -> None:
    first, more, other = (
        sample_world_episodes(name, count, seed) for count, seed in ((2, 5), (3, 5), (2, 6))
    )
    assert first.episodes == more.episodes[:2]
    for episode in first.episodes:
        ours, again = first.worlds[episode.id], more.worlds[episode.id]
        assert ours.exact_eig() == again.exact_eig()
        assert ours.exact_eig() != other.worlds[episode.id].exact_eig()
        assert episode.tiers == ours.tiers
        assert np.bincount(episode.tiers).tolist() == [0, 3, 3, 3, 7]
    train = sample_world_episodes(name, 2, 5, "train")
    assert train.worlds.keys().isdisjoint(first.worlds)
    ours, theirs = (found.worlds[found.episodes[0].id] for found in (first, train))
    assert ours.exact_eig() != theirs.exact_eig()


def test_unknown_worlds_are_refused() -> None:
    with pytest.raises(DataError, match="unknown world 'flat'; use one of graded, "):
        sample_world_episodes("flat", 1, 0)
