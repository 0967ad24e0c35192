"""From imagined posteriors to bits: three forms of the expected information gain.

    entropy:  H(prior) - sum_b w_b H(p_b)       the paper's (Ibis0 / EDB-Bio, section 6)
    kl:       sum_b w_b KL(p_b || prior)
    js:       sum_b w_b KL(p_b || mean),        mean = sum_b w_b p_b

w_b is the weight of a branch, and each p_b stands for the average over its imagined outcomes. The
three agree in expectation where the belief is coherent, that is where the mean is the prior. Where
it is not, kl = js + KL(mean || prior) counts the incoherence as information, entropy as gain or
loss, and js, the Jensen-Shannon divergence of the branches, leaves it out.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bed.errors import DataError
from bed.information import LOG2, entropy_bits, kl_bits, log_odds

__all__ = ["Form", "branch_mean", "check_form", "information_bits", "noise_bits"]

Array = NDArray[np.float64]

Form = Literal["entropy", "kl", "js"]


def check_form(form: str) -> None:
    """Raise DataError unless this is the name of a form."""
    if form not in get_args(Form):
        raise DataError(f"form {form!r} is not one of {', '.join(map(repr, get_args(Form)))}")


def branch_mean(branch_weight: Array, values: Array) -> Array:
    """Return w mean(values of theta'=1) + (1 - w) mean(values of theta'=0), shape (n,).

    Args:
        branch_weight: p(theta'=1 | I), shape (n,).
        values: shape (n, 2, samples), branch 0 the supportive one; NaN pads a branch with fewer
            samples, and a branch without any makes its row NaN unless its weight is 0.
    """
    count = (~np.isnan(values)).sum(axis=2)
    mean = np.nansum(values, axis=2) / np.where(count > 0, count, np.nan)
    weights = np.stack([branch_weight, 1.0 - branch_weight], axis=1)
    return np.asarray((weights * np.where(weights == 0, 0.0, mean)).sum(axis=1))


def information_bits(prior: Array, branch_weight: Array, posterior: Array, form: Form) -> Array:
    """Return the bits that each posterior is worth, of the shape of `posterior`.

    Their `branch_mean` is the expected information gain.

    Args:
        prior: p(theta=1 | I), shape (n,).
        branch_weight: p(theta'=1 | I), shape (n,).
        posterior: p(theta=1 | I, x, y), shape (n, 2, samples), NaN where there is no sample.
        form: see the module.
    """
    padded = np.isnan(posterior)
    before = prior[:, None, None]
    known = np.where(padded, before, posterior)
    if form == "entropy":
        bits = entropy_bits(before) - entropy_bits(known)
    else:
        bits = kl_bits(known, _reference(prior, branch_weight, posterior, form))
    return np.where(padded, np.nan, bits)


def noise_bits(
    prior: Array,
    branch_weight: Array,
    posterior: Array,
    form: Form,
    weight_noise: Array,
    posterior_noise: Array,
) -> Array:
    """Return the standard error that noisy beliefs give the expected information, bits.

    By the delta method, with what noise alone would seem to be worth (second order) added in
    square. The noise of the prior is common to all candidates and not counted.

    Args:
        prior: see `information_bits`.
        branch_weight: likewise.
        posterior: likewise.
        form: likewise.
        weight_noise: standard error of the weights' log odds (nats), shape (n,).
        posterior_noise: the same of the posteriors, of their shape.

    Returns:
        Shape (n,); NaN where no noise is known.
    """
    unknown = np.isnan(weight_noise) & np.isnan(posterior_noise).all(axis=(1, 2))
    weight_noise, posterior_noise = np.nan_to_num(weight_noise), np.nan_to_num(posterior_noise)
    certain = np.isnan(posterior) | (posterior == 0) | (posterior == 1)
    p = np.where(certain, 0.5, posterior)
    reference = _reference(prior, branch_weight, posterior, form)
    open_ended = (reference == 0) | (reference == 1) | certain
    away = log_odds(p) - log_odds(np.where(open_ended, 0.5, reference))
    spread = np.where(open_ended, 0.0, p * (1.0 - p) * posterior_noise)
    count = np.maximum((~np.isnan(posterior)).sum(axis=2), 1)
    share = np.stack([branch_weight, 1.0 - branch_weight], axis=1) / count
    slope = (share[:, :, None] * spread * away) ** 2
    bits = information_bits(prior, branch_weight, posterior, form)
    supportive, other = (np.nansum(bits[:, b], axis=1) / count[:, b] for b in (0, 1))
    undecided = branch_weight * (1.0 - branch_weight)
    # what a branch without weight would tell may be infinite, and counts for nothing
    apart = np.where(undecided > 0, supportive, 0.0) - np.where(undecided > 0, other, 0.0)
    of_weight = undecided * apart * weight_noise
    curvature = 0.5 * spread * posterior_noise
    floor = (share[:, :, None] * curvature).sum(axis=(1, 2)) / LOG2
    variance = slope.sum(axis=(1, 2)) / LOG2**2 + of_weight**2 + floor**2
    return np.where(unknown, np.nan, np.sqrt(variance))


def _reference(prior: Array, branch_weight: Array, posterior: Array, form: Form) -> Array:
    """Return the belief at which a posterior is worth nothing, shape (n, 1, 1)."""
    if form == "entropy":
        return np.full((len(prior), 1, 1), 0.5)
    if form == "kl":
        return prior[:, None, None]
    # rounding must not take the mean past the posteriors themselves
    low, high = np.nanmin(posterior, axis=(1, 2)), np.nanmax(posterior, axis=(1, 2))
    return np.clip(branch_mean(branch_weight, posterior), low, high)[:, None, None]
