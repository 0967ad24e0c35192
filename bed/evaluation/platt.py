"""Platt scaling: recalibrated forecasts sigma(a logit p + b) (Platt 1999).

The slope carries a penalty a^2 / (2 C) with C = 1e6, so that forecasts which separate the classes
keep finite coefficients; the intercept carries none. Forecasts are clipped to [0.001, 0.999] before
the logit. Cross-fitting maps each half of the forecasts by the fit of the other half.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.belief import fit_platt
from bed.errors import DataError
from bed.evaluation.statistic import (
    Array,
    checked_forecasts,
    checked_labels,
    checked_numbers,
    checked_same_length,
)
from bed.information import CLIP, log_odds, probability
from bed.seeds import generator

__all__ = ["Platt", "crossfit_platt", "platt_apply", "platt_fit", "random_folds"]


@dataclass(frozen=True)
class Platt:
    """A linear map of natural log odds.

    Attributes:
        a: slope; below 1 the forecasts were too extreme.
        b: intercept, natural log odds.
    """

    a: float
    b: float


def platt_fit(p: ArrayLike, y: ArrayLike) -> Platt:
    """Return the map that fits forecasts p to labels y best.

    Raises:
        DataError: where all labels are of one class; for forecasts outside [0, 1], labels other
            than 0/1, none, NaN and unequal lengths.
    """
    p, y = checked_forecasts(p, y)
    if y.min() == y.max():
        raise DataError(
            f"a Platt fit is undefined: all {len(y)} labels are {int(y[0])}, and it needs both "
            "classes"
        )
    return Platt(*fit_platt(p, y))


def platt_apply(p: ArrayLike, a: float, b: float) -> Array:
    """Return forecasts p mapped by slope a and intercept b, in [0, 1].

    Raises:
        DataError: for forecasts outside [0, 1], none, NaN, and coefficients that are not finite.
    """
    slope, intercept = checked_numbers([a, b], "the coefficients (a, b)")
    return probability(slope * log_odds(checked_numbers(p, "p"), CLIP) + intercept)


def random_folds(units: Sequence[Hashable], seed: int) -> NDArray[np.int64]:
    """Return the fold, 0 or 1, of each forecast: a random half of the units is fold 1.

    Args:
        units: what each forecast belongs to, shape (n,); a unit is never split.
        seed: of the halves.

    Raises:
        DataError: for fewer than two units.
    """
    number = {unit: i for i, unit in enumerate(dict.fromkeys(units))}
    if len(number) < 2:
        raise DataError(f"{len(number)} units are too few to fold: at least two are needed")
    order = generator(seed, "folds").permutation(len(number))
    return (order % 2)[[number[unit] for unit in units]]


def crossfit_platt(p: ArrayLike, y: ArrayLike, fold: ArrayLike) -> Array:
    """Return forecasts recalibrated, those of each fold by the fit of the other fold.

    Args:
        p: forecasts, shape (n,).
        y: labels 0/1, shape (n,).
        fold: 0 or 1, shape (n,); given, or from `random_folds`.

    Raises:
        DataError: as `platt_fit`; where a fold is empty or holds one class.
    """
    p, y = checked_forecasts(p, y)
    folds = checked_labels(fold, "fold")
    checked_same_length(p=p, y=y, fold=folds)
    fits = []
    for half in (0, 1):
        inside = folds == half
        ones, count = int(y[inside].sum()), int(inside.sum())
        if ones in (0, count):
            raise DataError(
                f"fold {half} holds {count} forecasts, {ones} of them with label 1: the fit on a "
                "fold needs both classes"
            )
        fits.append(platt_fit(p[inside], y[inside]))
    first, second = (platt_apply(p, fit.a, fit.b) for fit in fits)
    return np.where(folds == 0, second, first)
