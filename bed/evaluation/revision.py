"""How beliefs move while evidence comes in: weights of evidence along paths of forecasts.

A path holds the beliefs p_0 ... p_K of one episode, before any stub and after each. The update at
step k is the weight of evidence of stub k in decibans, of forecasts clipped to [0.001, 0.999].
Updates and log odds are rounded to nine decimals, so that equal moves of a coarse grid of forecasts
stay equal and a move of nothing is 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.domains import canonical, reading
from bed.errors import DataError
from bed.evidence import Hypothesis, Stub
from bed.information import (
    checked_probabilities,
    cumulative_weight_of_evidence_db,
    log_odds,
    weight_of_evidence_series_db,
)

__all__ = [
    "CLIP",
    "DECIMALS",
    "Cumulative",
    "Updates",
    "VerdictWeights",
    "by_verdict",
    "cumulative_to_truth",
    "reaction",
    "updates_from_forecasts",
    "verdict",
]

Array = NDArray[np.float64]
Paths = Sequence[ArrayLike]

CLIP = 1e-3
"""Forecasts are clipped to [CLIP, 1 - CLIP] wherever their log odds are taken."""
DECIMALS = 9

_OPPOSITE = {
    "supporting": "refuting",
    "refuting": "supporting",
    "inconclusive": "inconclusive",
}
_OF_ASSOCIATIONS = {"supporting": "significant", "inconclusive": "sub-threshold"}


@dataclass(frozen=True)
class Updates:
    """The updates of some episodes that move the belief, flat; one entry an update.

    Attributes:
        log_odds: of the belief that is moved, natural.
        weight_db: by how much it is moved, decibans.
        theta: label of the episode, 0 or 1.
        episode: number of the episode, from 0.
        step: place of the stub in its episode, from 1.
        num_zero: how many updates of 0 were left out.
    """

    log_odds: Array
    weight_db: Array
    theta: NDArray[np.intp]
    episode: NDArray[np.intp]
    step: NDArray[np.intp]
    num_zero: int

    @classmethod
    def of(
        cls,
        log_odds: ArrayLike,
        weight_db: ArrayLike,
        theta: ArrayLike,
        episode: ArrayLike | None = None,
        step: ArrayLike | None = None,
    ) -> "Updates":
        """Return the updates among these that are not 0.

        Args:
            log_odds: see `Updates`; any finite numbers of one length.
            weight_db: likewise.
            theta: likewise.
            episode: likewise; each update is an episode of its own where it is None.
            step: likewise; 1 where it is None.

        Raises:
            DataError: for no updates, lengths that differ, numbers that are not finite, or labels
                other than 0 and 1.
        """
        odds, weight = _finite(log_odds, "log_odds"), _finite(weight_db, "weight_db")
        label = checked_labels(theta)
        number = np.arange(weight.size) if episode is None else np.asarray(episode, dtype=np.intp)
        place = np.ones(weight.size) if step is None else np.asarray(step)
        sizes = [column.size for column in (odds, weight, label, number, place)]
        if len(set(sizes)) > 1:
            raise DataError(f"log odds, weights, labels differ in length: {sizes}; give one each")
        if not weight.size:
            raise DataError("no updates: at least one is needed")
        moves = weight != 0
        return cls(
            odds[moves],
            weight[moves],
            label[moves],
            number[moves],
            place[moves].astype(np.intp),
            int((~moves).sum()),
        )


def checked_labels(theta: ArrayLike) -> NDArray[np.intp]:
    """Return labels as integers.

    Raises:
        DataError: for any other than 0 and 1.
    """
    labels = np.asarray(theta)
    if not np.isin(labels, (0, 1)).all():
        raise DataError(f"theta holds {labels[~np.isin(labels, (0, 1))][0]!r}: no binary label")
    return labels.astype(np.intp)


def _finite(values: ArrayLike, name: str) -> Array:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} holds NaN or an infinity: not finite; leave such updates out")
    return np.round(numbers, DECIMALS)


def updates_from_forecasts(forecasts: Paths, theta: ArrayLike) -> Updates:
    """Return the updates of each path that are not 0.

    Args:
        forecasts: a path an episode, perhaps of different lengths.
        theta: labels, one an episode.

    Raises:
        DataError: for no episodes, a path of fewer than two forecasts, NaN, values outside [0, 1],
            or labels that are not one an episode.
    """
    labels = _labels(forecasts, theta)
    weights = [weight_of_evidence_series_db(path) for path in forecasts]
    sizes = [weight.size for weight in weights]
    before = [log_odds(np.asarray(path)[:-1], CLIP) for path in forecasts]
    return Updates.of(
        np.concatenate(before),
        np.concatenate(weights),
        np.repeat(labels, sizes),
        np.repeat(np.arange(len(sizes)), sizes),
        np.concatenate([np.arange(1, size + 1) for size in sizes]),
    )


def _labels(forecasts: Paths, theta: ArrayLike) -> NDArray[np.intp]:
    labels = checked_labels(theta)
    if not len(forecasts):
        raise DataError("no episodes: at least one path of forecasts is needed")
    if labels.shape != (len(forecasts),):
        raise DataError(
            f"{len(forecasts)} paths with labels of shape {labels.shape}: give one label an episode"
        )
    return labels


def verdict(target: Hypothesis, stub: Stub) -> str:
    """Return what a stub's result says, for the target where both claim a direction.

    Returns:
        "supporting", "refuting" or "inconclusive"; in gwas "significant" or "sub-threshold"; "in
        words" for a result of free text that says neither.

    Raises:
        DataError: for an outcome that its domain cannot read.
    """
    local = stub.experiment.hypothesis
    domain = canonical(local.domain)
    if domain == "generic" and "supported" not in stub.outcome.fields:
        return "in words"
    found = reading(stub.experiment, stub.outcome).verdict
    if domain == "gwas":
        return _OF_ASSOCIATIONS[found]
    return _OPPOSITE[found] if is_opposite(target, local) else found


def is_opposite(target: Hypothesis, local: Hypothesis) -> bool:
    """Return whether the two claim changes in opposite directions."""
    return len({claim.fields.get("direction") for claim in (target, local)} - {None}) > 1


@dataclass(frozen=True)
class VerdictWeights:
    """Weights of evidence of the stubs of one verdict; updates of 0 count.

    Attributes:
        sum_db: decibans, shape (num_episodes,).
        count: how many such stubs each episode showed, shape (num_episodes,).
    """

    sum_db: Array
    count: NDArray[np.intp]

    @property
    def mean_db(self) -> float:
        """Mean weight of evidence of one stub, decibans."""
        return float(self.sum_db.sum() / self.count.sum())

    def resampled(self, weights: Array) -> Array:
        """Return the mean in each draw, shape (draws,); NaN where a draw holds no such stub.

        Args:
            weights: multiplicities of the episodes, shape (draws, num_episodes).
        """
        count = weights @ self.count
        return weights @ self.sum_db / np.where(count > 0, count, np.nan)


def by_verdict(forecasts: Paths, verdicts: Sequence[Sequence[str]]) -> dict[str, VerdictWeights]:
    """Return the weights of evidence by the verdict of the stub revealed.

    Args:
        forecasts: a path an episode.
        verdicts: of the stubs in the order in which they were revealed, one fewer than forecasts.

    Raises:
        DataError: for no episodes, numbers that do not match, NaN, or values outside [0, 1].
    """
    if not len(forecasts) or len(forecasts) != len(verdicts):
        raise DataError(
            f"{len(forecasts)} paths with verdicts of {len(verdicts)} episodes: mismatch, or empty"
        )
    weights = [np.round(weight_of_evidence_series_db(path), DECIMALS) for path in forecasts]
    for number, (weight, said) in enumerate(zip(weights, verdicts, strict=True)):
        if weight.size != len(said):
            raise DataError(
                f"episode {number}: {weight.size} updates with {len(said)} verdicts: mismatch"
            )
    words = np.array([word for said in verdicts for word in said])
    sizes = [weight.size for weight in weights]
    episode, flat = np.repeat(np.arange(len(sizes)), sizes), np.concatenate(weights)
    found = {}
    for word in sorted(set(words.tolist())):
        at = words == word
        found[word] = VerdictWeights(
            np.bincount(episode[at], flat[at], minlength=len(sizes)),
            np.bincount(episode[at], minlength=len(sizes)),
        )
    return found


@dataclass(frozen=True)
class Cumulative:
    """Evidence gathered towards the truth, decibans; negative where the belief strays from it.

    Attributes:
        per_episode: shape (num_episodes, longest path), 0 at k = 0; NaN past the end of a path.
        mean: over the episodes that reach k, shape (longest path,).
        count: how many do.
    """

    per_episode: Array
    mean: Array
    count: NDArray[np.intp]


def cumulative_to_truth(forecasts: Paths, theta: ArrayLike) -> Cumulative:
    """Return the cumulative weight of evidence, oriented to the truth, by number of stubs.

    Raises:
        DataError: for no episodes, an empty path, NaN, values outside [0, 1], or labels that are
            not one an episode.
    """
    labels = _labels(forecasts, theta)
    gained = [
        cumulative_weight_of_evidence_db(checked_probabilities(path), label)
        for path, label in zip(forecasts, labels, strict=True)
    ]
    per_episode = np.full((len(gained), max(path.size for path in gained)), np.nan)
    for row, path in zip(per_episode, gained, strict=True):
        row[: path.size] = path
    count = (~np.isnan(per_episode)).sum(axis=0)
    return Cumulative(per_episode, np.nansum(per_episode, axis=0) / count, count)


def reaction(low: float, high: float) -> str:
    """Return in words what the interval of beta says (see `bed.evaluation.support`).

    A beta below 1 is overreaction: the weights promise more than the odds ratios of support bear
    out. Above 1 is underreaction.

    Args:
        low: lower end of the interval of beta.
        high: upper end.
    """
    if not low <= high:
        raise DataError(f"the interval [{low}, {high}] of beta is not in order, or not finite")
    if high < 1:
        return "overreacts"
    return "underreacts" if low > 1 else "cannot be told"
