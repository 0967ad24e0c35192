"""When are scores not to be trusted? Doubts in words, each with its remedy.

Two signs can be read while a run goes on. The coherence gap: where the posteriors of all
candidates lie on one side of the prior, belief and simulator contradict each other. The noise:
where the best score does not stand out of its own standard error, the order of the candidates is
chance. Overreaction shows in neither; only resolved cases tell (see `fit_slope`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from bed.information import log_odds

__all__ = ["allowed_gap", "common_gap", "doubts"]

Array = NDArray[np.float64]

_SENSITIVE = 0.2
_ROBUST = 1.0
_ONE_DRAW = 0.7


def allowed_gap(is_robust: bool, num_draws: float) -> float:
    """Return how far posteriors may lie from the prior, in nats, before scores are doubted.

    The limits are set by `benchmarks/estimators.py`, which prints how often they are passed in
    coherent and in faulty worlds.

    Args:
        is_robust: whether the estimator leaves a common shift out of account (form "js", or
            renormalised posteriors); the others count it as information from about 0.2 nats.
        num_draws: independent random draws behind the gaps; one alone may give a coherent belief
            a gap of 0.7 nats. Infinite where nothing is random.
    """
    return (_ROBUST if is_robust else _SENSITIVE) + _ONE_DRAW / math.sqrt(num_draws)


def doubts(
    prior: float,
    coherence_gap: Array,
    eig: Array,
    eig_stderr: Array,
    allowed: float,
) -> tuple[str, ...]:
    """Return why the scores of one problem are not to be trusted; empty where they are.

    Args:
        prior: p(theta=1 | I).
        coherence_gap: mean posterior minus prior, shape (num_candidates,); NaN where unknown.
        eig: bits, shape (num_candidates,).
        eig_stderr: bits; NaN where unknown.
        allowed: see `allowed_gap`.
    """
    found = (
        _incoherent(common_gap(prior, coherence_gap), allowed),
        _indistinct(eig, eig_stderr),
    )
    return tuple(doubt for doubt in found if doubt is not None)


def common_gap(prior: float, coherence_gap: Array) -> float:
    """Return the median distance of mean posteriors from the prior over candidates, nats.

    Args:
        prior: p(theta=1 | I).
        coherence_gap: mean posterior minus prior, shape (num_candidates,); NaN where unknown.

    Returns:
        0 where the prior is certain or unknown, or no gap is known.
    """
    mean = prior + coherence_gap[~np.isnan(coherence_gap)]
    if not (0 < prior < 1) or mean.size == 0:
        return 0.0
    inside = np.clip(mean, np.finfo(float).tiny, 1.0 - 1e-16)
    return float(np.median(log_odds(inside) - log_odds(prior)))


def _incoherent(gap: float, allowed: float) -> str | None:
    if abs(gap) <= allowed:
        return None
    return (
        f"imagined posteriors lie {gap:+.2f} nats from the prior over all candidates (allowed: "
        f"{allowed:.2f}), so belief and simulator contradict each other; recalibrate the belief "
        "(fit_platt), move branch weights to base rates, renormalise, or draw more samples"
    )


def _indistinct(eig: Array, eig_stderr: Array) -> str | None:
    if np.isnan(eig).all():
        return None
    best = int(np.nanargmax(eig))
    if not eig[best] < 2.0 * eig_stderr[best]:
        return None
    return (
        f"the best candidate promises {eig[best]:.3g} bits with a standard error of "
        f"{eig_stderr[best]:.2g}, so nothing stands out of the noise; draw more samples, or "
        "average repeated beliefs"
    )
