"""Wrappers of any belief model: Platt recalibration, averages over orders and repeats, noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from bed.errors import DataError
from bed.evidence import Evidence
from bed.information import CLIP, checked_probabilities, log_odds, probability
from bed.protocols import BeliefModel, BeliefQuery, Beliefs
from bed.seeds import derive_seed, generator

__all__ = ["PermutationAveraged", "Recalibrated", "Repeated", "WithNoise", "fit_platt"]

_PENALTY = 1e-6

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Recalibrated:
    """A belief with log odds mapped to `slope * log_odds + intercept` (Platt 1999).

    Attributes:
        belief: the model to mend.
        slope: below 1 tames overconfidence.
        intercept: natural log odds.
    """

    belief: BeliefModel
    slope: float
    intercept: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.slope) and self.slope > 0 and np.isfinite(self.intercept)):
            raise DataError(
                f"slope {self.slope!r} must be finite and above 0, and intercept "
                f"{self.intercept!r} finite"
            )

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; failed ones stay failed."""
        raw = self.belief.probabilities(queries)
        known = np.where(np.isnan(raw.probabilities), 0.5, raw.probabilities)
        mended = probability(self.slope * log_odds(known, CLIP) + self.intercept)
        return Beliefs(mended, raw.reasons, None if raw.noise is None else self.slope * raw.noise)


def fit_platt(p: ArrayLike, label: ArrayLike) -> tuple[float, float]:
    """Return slope and intercept that fit labels best on the log odds of forecasts.

    Forecasts are clipped to [0.001, 0.999]; the slope is penalised with C = 1e6.

    Args:
        p: forecasts, shape (n,).
        label: 0 or 1, shape (n,).

    Raises:
        DataError: where the shapes differ or the labels are of one class.
    """
    odds = log_odds(checked_probabilities(p), CLIP)
    y = np.asarray(label, dtype=np.float64)
    if odds.shape != y.shape:
        raise DataError(f"{odds.shape} forecasts and {y.shape} labels differ in shape")
    if not {0.0, 1.0} == set(np.unique(y)):
        raise DataError("labels of one class, or not binary: the fit is undefined")
    # centred, slope and intercept hardly depend on each other
    centre = odds.mean()
    features = np.stack([odds - centre, np.ones_like(odds)], axis=1)
    penalty = np.array([_PENALTY, 0.0])

    def loss(coefficients: Array) -> float:
        fitted = features @ coefficients
        return float((np.logaddexp(0.0, fitted) - y * fitted).sum() + penalty @ coefficients**2 / 2)

    def gradient(coefficients: Array) -> Array:
        residual = probability(features @ coefficients) - y
        return np.asarray(features.T @ residual + penalty * coefficients)

    def hessian(coefficients: Array) -> Array:
        fitted = probability(features @ coefficients)
        return np.asarray((features.T * (fitted * (1.0 - fitted))) @ features + np.diag(penalty))

    # convex in two dimensions: it stops at the gradient's tolerance, or where the loss falls by no
    # more than rounding
    start = np.array([0.0, log_odds(y.mean())])
    found = minimize(
        loss, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-9}
    )
    slope, intercept = found.x
    return float(slope), float(intercept - slope * centre)


@dataclass(frozen=True)
class PermutationAveraged:
    """A belief averaged over several orders of the evidence, for models that mind the order.

    Attributes:
        belief: the model to mend.
        num_orders: orders to ask about, the given one first; the probabilities are averaged.
    """

    belief: BeliefModel
    num_orders: int = 4

    def __post_init__(self) -> None:
        if self.num_orders < 1:
            raise DataError(f"num_orders is {self.num_orders}; at least one order is needed")

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; it fails where any of its orders failed."""
        asked = [
            BeliefQuery(query.hypothesis, order, query.seed)
            for query in queries
            for order in self._orders(query)
        ]
        return _averaged(self.belief, asked, self.num_orders)

    def _orders(self, query: BeliefQuery) -> list[Evidence]:
        rng = generator(query.seed, "orders")
        shuffled = [
            tuple(query.evidence[i] for i in rng.permutation(len(query.evidence)))
            for _ in range(self.num_orders - 1)
        ]
        return [query.evidence, *shuffled]


@dataclass(frozen=True)
class Repeated:
    """A sampled belief asked several times, averaged, with its noise.

    Attributes:
        belief: a model whose answers depend on the query's seed; one that ignores it shows no
            noise at all.
        num_draws: how often each query is asked, each time with a seed of its own.
    """

    belief: BeliefModel
    num_draws: int = 4

    def __post_init__(self) -> None:
        if self.num_draws < 2:
            raise DataError(f"num_draws is {self.num_draws}; a spread needs at least two draws")

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; it fails where any of its draws failed."""
        asked = [
            BeliefQuery(query.hypothesis, query.evidence, derive_seed(query.seed, "repeat", draw))
            for query in queries
            for draw in range(self.num_draws)
        ]
        return _averaged(self.belief, asked, self.num_draws)


@dataclass(frozen=True)
class WithNoise:
    """A belief whose answers are known to scatter, as those of a served model do.

    Batching, concurrency and cached prefixes change a server's arithmetic. Estimators show gains
    that differ by less than such noise as not told apart.

    Attributes:
        belief: the model.
        noise: standard error of each answer's log odds (nats); where the model itself tells a
            larger one, that stays.
    """

    belief: BeliefModel
    noise: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.noise) and self.noise >= 0):
            raise DataError(f"noise {self.noise!r} must be finite and 0 or more: nats of log odds")

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; failed ones stay failed."""
        found = self.belief.probabilities(queries)
        told = np.nan if found.noise is None else found.noise
        noise = np.fmax(np.full(len(queries), self.noise), told)
        return Beliefs(found.probabilities, found.reasons, noise)


def _averaged(belief: BeliefModel, asked: Sequence[BeliefQuery], times: int) -> Beliefs:
    """Ask, and return the mean of each `times` answers with its standard error in log odds."""
    answers = belief.probabilities(asked)
    values = answers.probabilities.reshape(-1, times)
    mean = values.mean(axis=1)
    reasons = tuple(
        next(filter(None, answers.reasons[row : row + times]), None)
        for row in range(0, len(asked), times)
    )
    # equal questions get equal answers, which tell nothing of the noise
    is_told = np.array(
        [len(set(asked[row : row + times])) > 1 for row in range(0, len(asked), times)], dtype=bool
    )
    variance = mean * (1.0 - mean)
    spread = np.full(mean.shape, np.nan)
    if is_told.any():
        spread = values.std(axis=1, ddof=1) / np.sqrt(times) / np.where(variance > 0, variance, 1.0)
    if answers.noise is None:
        return Beliefs(mean, reasons, np.where(is_told, spread, np.nan))
    inner = answers.noise.reshape(-1, times).mean(axis=1)
    noise = np.where(is_told, np.fmax(spread, inner / np.sqrt(times)), inner)
    return Beliefs(mean, reasons, noise)
