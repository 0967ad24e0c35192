"""Laplace approximations of a numpyro model under several priors, of which the evidence picks one.

    log p(data | s) ~ log p(data, z* | s) + (d/2) log 2 pi - (1/2) log det H,

with z* the mode over the d unconstrained parameters and H the Hessian of -log p(data, z | s) there
(MacKay 1992, the evidence framework).
"""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpy.typing import NDArray
from numpyro.infer.util import constrain_fn, initialize_model, potential_energy
from numpyro.optim import Adam

__all__ = ["laplace_draws"]

_STEPS = 800
_LEARNING_RATE = 0.03
_JITTER = 1e-4
"""Added to curvatures, where float32 leaves a flat direction slightly bent the wrong way."""


def laplace_draws(
    model: Callable[..., None],
    data: tuple[NDArray[np.float32], ...],
    scales: NDArray[np.float32],
    key: Any,
    num_draws: int,
) -> tuple[float, Mapping[str, NDArray[np.float32]]]:
    """Return the scale of the most evidence, and draws from the posterior under it.

    Args:
        model: a numpyro model of `(*data, scale)`.
        data: its other arguments.
        scales: of the prior, shape (num_scales,).
        key: of the start and of the draws.
        num_draws: how many of each parameter.
    """
    start = initialize_model(key, model, model_args=(*data, scales[0])).param_info.z
    flat, unravel = ravel_pytree(start)

    def energy(z: Any, scale: Any) -> Any:
        return potential_energy(model, (*data, scale), {}, unravel(z))

    def fitted(scale: Any) -> Any:
        optimizer = Adam(_LEARNING_RATE)

        def step(state: Any, _: Any) -> Any:
            return optimizer.eval_and_update(lambda z: (energy(z, scale), None), state)[1], None

        state, _ = jax.lax.scan(step, optimizer.init(flat), None, length=_STEPS)
        mode = optimizer.get_params(state)
        hessian = jax.hessian(energy)(mode, scale) + _JITTER * jnp.eye(flat.size)
        half_log_det = jnp.log(jnp.abs(jnp.linalg.eigvalsh(hessian))).sum() / 2
        return mode, hessian, -energy(mode, scale) - half_log_det

    modes, hessians, evidence = jax.jit(jax.vmap(fitted))(scales)
    best = int(np.nanargmax(np.asarray(evidence)))
    values, vectors = np.linalg.eigh(np.asarray(hessians[best], dtype=np.float64))
    root = vectors / np.sqrt(np.maximum(values, _JITTER))
    noise = np.asarray(jax.random.normal(key, (num_draws, flat.size)))
    draws = jnp.asarray(np.asarray(modes[best]) + noise @ root.T, dtype=flat.dtype)
    arguments = (*data, scales[best])
    constrained = jax.vmap(lambda z: constrain_fn(model, arguments, {}, unravel(z)))(draws)
    return float(scales[best]), {name: np.asarray(value) for name, value in constrained.items()}
