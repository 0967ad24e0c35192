"""How beliefs move while evidence comes in: weights of evidence along paths of forecasts.

A path holds the beliefs p_0 ... p_K of one episode, before any stub and after each. The update at
step k is the weight of evidence of stub k in decibans, of forecasts clipped to [0.001, 0.999].
Updates and log odds are rounded to nine decimals, so that equal moves of a coarse grid of forecasts
stay equal and a move of nothing is 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.domains import Reading, canonical, reading
from bed.errors import DataError
from bed.evaluation.statistic import (
    Array,
    checked_labels,
    checked_numbers,
    checked_same_length,
    ratio,
)
from bed.evidence import Fields, Hypothesis, Stub
from bed.information import (
    CLIP,
    checked_probabilities,
    cumulative_weight_of_evidence_db,
    log_odds,
    weight_of_evidence_series_db,
)

__all__ = [
    "DECIMALS",
    "Cumulative",
    "Paths",
    "Updates",
    "VerdictWeights",
    "bearing",
    "by_verdict",
    "cumulative_to_truth",
    "reaction",
    "updates_from_forecasts",
    "verdict",
]

Integers = NDArray[np.intp]
Paths = Sequence[ArrayLike] | Array
"""Forecasts of some episodes, one path each; an array where all are of one length."""

DECIMALS = 9

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
    theta: Integers
    episode: Integers
    step: Integers
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
        odds = np.round(checked_numbers(log_odds, "log_odds"), DECIMALS)
        weight = np.round(checked_numbers(weight_db, "weight_db"), DECIMALS)
        label = checked_labels(theta, "theta")
        checked_same_length(log_odds=odds, weight_db=weight, theta=label)
        number = np.arange(len(weight)) if episode is None else np.asarray(episode)
        place = np.ones(len(weight), dtype=np.intp) if step is None else np.asarray(step)
        moves = weight != 0
        return cls(
            odds[moves],
            weight[moves],
            label[moves].astype(np.intp),
            number[moves],
            place[moves],
            int((~moves).sum()),
        )


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


def _labels(forecasts: Paths, theta: ArrayLike) -> Integers:
    labels = checked_labels(theta, "theta").astype(np.intp)
    if len(labels) != len(forecasts):
        raise DataError(f"{len(forecasts)} paths and {len(labels)} labels: lengths differ")
    return labels


def verdict(target: Hypothesis, stub: Stub) -> str:
    """Return what a stub's result says, in the direction that the target claims.

    Returns:
        "supporting", "refuting" or "inconclusive"; in gwas "significant" or "sub-threshold"; "in
        words" for a result of free text that says neither.

    Raises:
        DataError: for an outcome that its domain cannot read.
    """
    domain = canonical(stub.experiment.hypothesis.domain)
    if domain == "generic" and "supported" not in stub.outcome.fields:
        return "in words"
    found = bearing(target, stub).verdict
    return _OF_ASSOCIATIONS[found] if domain == "gwas" else found


def bearing(target: Hypothesis, stub: Stub) -> Reading:
    """Return the reading of a stub's result in the direction that the target claims.

    An experiment whose own hypothesis claims the other direction is read against the target's.

    Raises:
        DataError: for an outcome that its domain cannot read.
    """
    experiment, local = stub.experiment, stub.experiment.hypothesis
    claimed, tested = (claim.fields.get("direction") for claim in (target, local))
    if None not in (claimed, tested) and claimed != tested:
        turned = replace(local, fields=Fields(local.fields, direction=claimed))
        experiment = replace(experiment, hypothesis=turned)
    return reading(experiment, stub.outcome)


@dataclass(frozen=True)
class VerdictWeights:
    """Weights of evidence of the stubs of one verdict; updates of 0 count.

    Attributes:
        sum_db: decibans, shape (num_episodes,).
        count: how many such stubs each episode showed, shape (num_episodes,).
    """

    sum_db: Array
    count: Integers

    @property
    def mean_db(self) -> float:
        """Mean weight of evidence of one stub, decibans."""
        return float(self.sum_db.sum() / self.count.sum())

    def resampled(self, weights: Array) -> Array:
        """Return the mean in each draw, shape (draws,); NaN where a draw holds no such stub.

        Args:
            weights: multiplicities of the episodes, shape (draws, num_episodes).
        """
        return ratio(weights @ self.sum_db, weights @ self.count)


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
            np.bincount(episode[at], flat[at], minlength=len(sizes)).astype(np.float64),
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
    count: Integers


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
