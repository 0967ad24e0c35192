"""Statistics of forecasts over weights: one form for point estimates and for bootstraps.

A statistic takes forecasts p and labels y, both of shape (n,), and weights of shape (draws, n): how
often each forecast counts in each draw. It returns one value a draw, NaN where the draw leaves it
undefined. A point estimate is the draw in which every forecast counts once.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.information import as_numbers, checked_probabilities

__all__ = [
    "Array",
    "Statistic",
    "checked_forecasts",
    "checked_labels",
    "checked_numbers",
    "checked_same_length",
    "point_estimate",
    "ratio",
]

Array = NDArray[np.float64]

Statistic = Callable[[Array, Array, Array], Array]
"""(p, y, weights) -> values: shapes (n,), (n,), (draws, n) -> (draws,)."""


def checked_numbers(values: ArrayLike, name: str) -> Array:
    """Return `values` as a float array of one dimension, at least one entry, all finite.

    Raises:
        DataError: for no entries, for NaN and infinity, and for what is not a list of numbers.
    """
    array = as_numbers(values, name)
    if array.ndim != 1:
        raise DataError(f"{name} must be one list of numbers, got an array of shape {array.shape}")
    if array.size == 0:
        raise DataError(f"{name} is empty: at least one value is needed")
    if not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise DataError(
            f"{name} holds {float(array[at])!r} at index {at}: missing or not finite; leave it out"
        )
    return array


def checked_labels(y: ArrayLike, name: str = "y") -> Array:
    """Return labels as floats, each 0 or 1.

    Raises:
        DataError: as `checked_numbers`, and for a label that is neither.
    """
    labels = checked_numbers(y, name)
    others = np.flatnonzero((labels != 0) & (labels != 1))
    if others.size:
        at = int(others[0])
        raise DataError(
            f"{name} holds {float(labels[at])!r} at index {at}, not a binary label: use 0 or 1"
        )
    return labels


def checked_same_length(**named: Array) -> None:
    """Require arrays that run along the same forecasts.

    Raises:
        DataError: where lengths differ.
    """
    lengths = {name: len(array) for name, array in named.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise DataError(f"lengths differ ({found}): give one entry of each for every forecast")


def checked_forecasts(p: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return probabilities in [0, 1] and labels 0/1, of the same length, at least one.

    Raises:
        DataError: for what is neither, and where lengths differ.
    """
    forecasts, labels = checked_probabilities(checked_numbers(p, "p")), checked_labels(y)
    checked_same_length(p=forecasts, y=labels)
    return forecasts, labels


def point_estimate(statistic: Statistic, p: Array, y: Array, where: str = "") -> float:
    """Return a statistic of checked forecasts, each counted once.

    Args:
        statistic: of weighted forecasts.
        p: forecasts, shape (n,).
        y: labels 0/1, shape (n,).
        where: named in the error, such as " in domain 'gwas'".

    Raises:
        DataError: where it is undefined.
    """
    value = float(statistic(p, y, np.ones((1, len(p))))[0])
    if np.isnan(value):
        raise DataError(
            f"the statistic is undefined{where}: {int(y.sum())} of {len(y)} labels are 1, "
            "and it needs both classes"
        )
    return value


def ratio(numerator: Array, denominator: Array) -> Array:
    """Return the quotient, NaN where the denominator is 0."""
    quotient = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
