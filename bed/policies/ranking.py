"""From worths to a choice: the best, ties to the lowest index, unscored ones never."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bed.errors import NothingScoredError
from bed.information import best_index
from bed.protocols import Calls, Choice, DesignProblem, Policy

__all__ = ["choose_one", "ranked"]

Array = NDArray[np.float64]


def ranked(
    worth: Array,
    wording: str,
    reasons: Sequence[str | None] = (),
    cost: Array | None = None,
    stderr: Array | None = None,
    doubts: tuple[str, ...] = (),
    eig: Array | None = None,
    coherence_gap: Array | None = None,
    raw_coherence_gap: Array | None = None,
    calls: Calls | None = None,
) -> Choice:
    """Return the choice of the highest worth.

    Args:
        worth: shape (num_candidates,); NaN is never chosen.
        wording: why the best one is the best.
        reasons: why a candidate has no worth, or None.
        cost: of each candidate, where worth is per cost.
        stderr: standard error of each worth, NaN where unknown; None where there is none.
        doubts: why the worths are not to be trusted.
        eig: bits promised, where the policy promises any.
        coherence_gap: see `bed.estimators.Scores`.
        raw_coherence_gap: likewise.
        calls: what the ranking cost.
    """
    failures = tuple(reason for reason in reasons if reason is not None)
    index: int | None = None
    tied: tuple[int, ...] = ()
    within_noise: tuple[int, ...] = ()
    if np.isnan(worth).all():
        wording = (
            f"nothing could be scored: {'; '.join(sorted(set(failures))) or 'no reason given'}"
        )
    else:
        index, tied = best_index(worth, cost)
        within_noise = _within_noise(worth, stderr, index, tied)
    return Choice(
        index=index,
        worth=worth,
        reason=wording,
        tied=tied,
        within_noise=within_noise,
        doubts=doubts,
        eig=eig,
        coherence_gap=coherence_gap,
        raw_coherence_gap=raw_coherence_gap,
        failures=failures,
        calls=calls or Calls(),
    )


def _within_noise(
    worth: Array, stderr: Array | None, best: int, tied: Sequence[int]
) -> tuple[int, ...]:
    """Return which candidates cannot be told from the best, the best and its ties included."""
    close = np.isin(np.arange(len(worth)), tied)
    if stderr is not None:
        known = np.nan_to_num(stderr)
        close |= worth[best] - worth < np.hypot(known, known[best])
    return tuple(np.flatnonzero(close).tolist())


def choose_one(policy: Policy, problem: DesignProblem) -> Choice:
    """Return the policy's choice for one problem.

    Raises:
        NothingScoredError: where no candidate could be scored, with the reasons.
    """
    (choice,) = policy.choose([problem])
    if choice.index is None:
        raise NothingScoredError(f"problem {problem.id!r}: {choice.reason}")
    return choice
