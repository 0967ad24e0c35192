"""Laplace approximations against conjugate answers."""

from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from bed.belief.laplace import laplace_draws

Y = np.array([0.9, 1.4, 0.7, 1.2, 1.1, 1.6], dtype=np.float32)


def model(y: Any, scale: Any) -> None:
    """A mean with a normal prior, seen through unit noise."""
    mean = numpyro.sample("mean", dist.Normal(0.0, scale))
    numpyro.factor("data", dist.Normal(mean, 1.0).log_prob(y).sum())


def log_evidence(scale: float) -> float:
    """y ~ N(0, I + scale^2 11')."""
    size = len(Y)
    _, log_det = np.linalg.slogdet(np.eye(size) + scale**2)
    inverse = np.linalg.inv(np.eye(size) + scale**2)
    return float(-0.5 * (log_det + Y @ inverse @ Y))


@pytest.mark.parametrize("scales", [[0.01, 0.1, 1.0, 30.0], [10.0, 0.3, 3.0]])
def test_the_scale_of_most_evidence_is_taken(scales: list[float]) -> None:
    found, _ = laplace_draws(model, (Y,), np.array(scales, dtype=np.float32), jax.random.key(0), 4)
    assert found == pytest.approx(max(scales, key=log_evidence))


def test_draws_are_those_of_the_conjugate_posterior() -> None:
    one = np.array([2.0], dtype=np.float32)
    _, draws = laplace_draws(model, (Y,), one, jax.random.key(1), 4000)
    precision = len(Y) + 1 / 4
    error = 1 / np.sqrt(precision * 4000)
    assert draws["mean"].shape == (4000,)
    assert draws["mean"].mean() == pytest.approx(Y.sum() / precision, abs=5 * error)
    assert draws["mean"].std() == pytest.approx(precision**-0.5, rel=0.06)


def test_parameters_come_back_in_their_own_range() -> None:
    def bounded(y: Any, scale: Any) -> None:
        share = numpyro.sample("share", dist.Beta(1.0, 1.0).expand((3,)).to_event(1))
        numpyro.factor("data", dist.Normal(share[0], scale).log_prob(y).sum())

    one = np.array([1.0], dtype=np.float32)
    _, draws = laplace_draws(bounded, (Y,), one, jax.random.key(2), 50)
    assert draws["share"].shape == (50, 3)
    assert ((draws["share"] > 0) & (draws["share"] < 1)).all()
