"""When are scores not to be trusted? Doubts in words, each with its remedy.

Two signs can be read while a run goes on. The coherence gap: where the posteriors of all
candidates lie on one side of the prior, belief and simulator contradict each other. The noise:
where the best score does not stand out of its own standard error, the order of the candidates is
chance. Overreaction shows in neither; only resolved cases tell (see `fit_slope`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bed.information import log_odds

__all__ = [
    "FEWEST_DRAWS",
    "RECALIBRATE",
    "REPEAT",
    "Grounds",
    "allowed_gap",
    "common_gap",
    "doubts",
    "per_cost",
]

Array = NDArray[np.float64]

FEWEST_DRAWS = 4
"""Fewer random draws tell too little of their own scatter to base a doubt on."""

RECALIBRATE = "recalibrate the belief (bed.belief.fit_platt, bed.belief.Recalibrated)"
REPEAT = "average repeated beliefs (bed.belief.Repeated)"

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


@dataclass(frozen=True)
class Grounds:
    """What doubts about the scores of one problem go by.

    Attributes:
        gap: mean posterior minus prior, with the belief mended as for scoring, shape
            (num_candidates,); NaN where unknown.
        stderr: standard error of the EIG, bits; NaN where unknown or told by few draws.
        allowed: see `allowed_gap`.
        gap_remedies: what the user can do about a gap.
        noise_remedies: what the user can do about noise.
    """

    gap: Array
    stderr: Array
    allowed: float
    gap_remedies: Sequence[str]
    noise_remedies: Sequence[str]


def doubts(prior: float, eig: Array, cost: Array, grounds: Grounds) -> tuple[str, ...]:
    """Return why the scores of one problem are not to be trusted; empty where they are.

    Args:
        prior: p(theta=1 | I).
        eig: bits, shape (num_candidates,).
        cost: of each candidate.
        grounds: see `Grounds`.
    """
    found = (
        _incoherent(common_gap(prior, grounds.gap), grounds.allowed, grounds.gap_remedies),
        _indistinct(eig, cost, grounds.stderr, grounds.noise_remedies),
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


def _incoherent(gap: float, allowed: float, remedies: Sequence[str]) -> str | None:
    if abs(gap) <= allowed:
        return None
    return (
        f"imagined posteriors lie {gap:+.2f} nats from the prior over all candidates (allowed: "
        f"{allowed:.2f}), so belief and simulator contradict each other; {' or '.join(remedies)}"
    )


def _indistinct(eig: Array, cost: Array, stderr: Array, remedies: Sequence[str]) -> str | None:
    if np.isnan(eig).all():
        return None
    best = int(np.nanargmax(per_cost(eig, cost)))
    if not eig[best] < 2.0 * stderr[best]:
        return None
    return (
        f"the best candidate promises {eig[best]:.3g} bits with a standard error of "
        f"{stderr[best]:.2g}, so nothing stands out of the noise; {' or '.join(remedies)}"
    )


def per_cost(worth: Array, cost: Array) -> Array:
    """Return worth per cost; a loss is not made smaller by a high cost."""
    return np.where(worth > 0, worth / cost, worth)
