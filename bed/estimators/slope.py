"""How much does a belief overreact? The slope of its updates, from cases whose truth is known.

    log odds of the truth = log odds before + intercept + slope * (log odds after - before)

A slope below 1 says that results move the belief too far, above 1 too little; an intercept that any
result moves it one way. `FactoredEIG(..., slope=found.slope)` takes it to heart. Noise in the
answers lowers the slope too, as it should: noisy updates deserve less trust.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from bed.errors import DataError
from bed.estimators.asking import ask_beliefs
from bed.evidence import Episode
from bed.information import CLIP, checked_probabilities, log_odds, probability
from bed.protocols import BeliefModel, BeliefQuery
from bed.seeds import derive_seed, generator

__all__ = ["Slope", "fit_slope", "measured_slope"]

_FEWEST = 10


@dataclass(frozen=True)
class Slope:
    """What resolved cases say of a belief's updates.

    Attributes:
        slope: the log-odds update that the truth bears out, per update made; above 0.
        stderr: its standard error.
        intercept: natural log odds.
        num_cases: how many cases the fit rests on.
    """

    slope: float
    stderr: float
    intercept: float
    num_cases: int


def fit_slope(
    before: ArrayLike, after: ArrayLike, label: ArrayLike, case: ArrayLike | None = None
) -> Slope:
    """Fit the slope of a belief's updates by maximum a posteriori.

    The priors, N(0, 1) on the logarithm of the slope and on the intercept, keep few cases from
    extremes. Probabilities are clipped to [0.001, 0.999]. The standard error allows for updates of
    one case, which share their truth (the sandwich estimator with clusters).

    Args:
        before: p(theta=1) before some result, shape (n,).
        after: the same after it.
        label: the truth, 0 or 1, shape (n,).
        case: names the case of each update, shape (n,); None takes each as its own.

    Raises:
        DataError: for shapes that differ, labels other than 0 and 1 or of one kind, fewer than 10
            cases, or a case with two truths.
    """
    start = log_odds(checked_probabilities(before, "before"), CLIP)
    update = log_odds(checked_probabilities(after, "after"), CLIP) - start
    y = np.asarray(label, dtype=np.float64)
    cases = np.arange(y.size) if case is None else np.asarray(case)
    if start.ndim != 1 or not start.shape == update.shape == y.shape == cases.shape:
        raise DataError(
            f"beliefs before {start.shape}, after {update.shape}, labels {y.shape} and cases "
            f"{cases.shape} must be lists of one length"
        )
    if not np.isin(y, (0.0, 1.0)).all():
        raise DataError("a label is neither 0 nor 1")
    names, of_case = np.unique(cases, return_inverse=True)
    if names.size < _FEWEST:
        raise DataError(f"{names.size} resolved cases are too few for a slope; give {_FEWEST}")
    if np.unique(y).size < 2:
        raise DataError(f"all {names.size} cases have label {int(y[0])}; a slope needs both")

    shares = np.bincount(of_case, y) / np.bincount(of_case)
    if ((shares > 0) & (shares < 1)).any():
        raise DataError(f"case {names[(shares > 0) & (shares < 1)][0]} has both labels")

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        intercept, log_slope = parameters
        moved = np.exp(log_slope) * update
        odds = start + intercept + moved
        residual = probability(odds) - y
        value = np.logaddexp(0.0, odds).sum() - odds @ y + 0.5 * parameters @ parameters
        return float(value), np.array([residual.sum(), residual @ moved]) + parameters

    intercept, log_slope = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    slope = float(np.exp(log_slope))
    effects = np.stack([np.ones_like(update), slope * update])
    p = probability(start + intercept + slope * update)
    curvature = (effects * (p * (1.0 - p))) @ effects.T + np.eye(2)
    of_cases = np.zeros((2, names.size))
    np.add.at(of_cases.T, of_case, ((p - y) * effects).T)
    inverse = np.linalg.inv(curvature)
    # the prior's own precision stands in the middle too: no information leaves its spread
    spread = inverse @ (of_cases @ of_cases.T + np.eye(2)) @ inverse
    return Slope(slope, slope * float(np.sqrt(spread[1, 1])), float(intercept), int(names.size))


def measured_slope(
    belief: BeliefModel, episodes: Sequence[Episode], num_results: int = 8, seed: int = 0
) -> Slope:
    """Ask a belief about resolved episodes before and after single results, and fit its slope.

    Args:
        belief: the model. Queries that fail are left out.
        episodes: with known labels, none of which the model was fitted on.
        num_results: results of each episode to show, one at a time; each is a query.
        seed: of which results are shown, and of sampled beliefs.

    Raises:
        DataError: for no results to show, and as `fit_slope`.
    """
    if num_results < 1:
        raise DataError(f"num_results is {num_results}; at least one result must be shown")
    before, after, owners = [], [], []
    for e, episode in enumerate(episodes):
        of_query = derive_seed(seed, "slope", episode.id)
        before.append(BeliefQuery(episode.target, (), of_query))
        shown = generator(seed, "resolved", episode.id).permutation(len(episode.pool))
        for place in shown[:num_results]:
            owners.append(e)
            after.append(BeliefQuery(episode.target, (episode.pool[place],), of_query))
    owner = np.array(owners, dtype=np.int64)
    answers, _, reasons, _ = ask_beliefs(belief, [*before, *after])
    start, end = answers[: len(before)][owner], answers[len(before) :]
    known = ~np.isnan(start + end)
    if owner.size and not known.any():
        raise DataError(f"no query was answered: {next(filter(None, reasons))}")
    label = np.array([episode.label for episode in episodes], dtype=np.int64)[owner]
    case = np.array([episode.id for episode in episodes])[owner]
    return fit_slope(start[known], end[known], label[known], case[known])
