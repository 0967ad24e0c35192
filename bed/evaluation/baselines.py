"""Forecasts that any belief model should beat: structured baselines, fitted on training episodes.

Each is a belief model for targets, and answers by rule or by numbers alone:

- `BaseRate`: the share of label 1 among the training episodes of the domain;
- `NumericBoosting`: gradient boosting over counts, means and extremes of the stubs' numbers;
- `PoolLocalEffects`: how the target's row (a gene, say) and column (a cell line) do in the evidence
  itself, added up.

Of the episodes given, the training split alone is used. A query that a baseline has no answer to
fails with a reason.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bed.domains import canonical, relation
from bed.domains.encoding import SCORE_RANGE
from bed.errors import DataError
from bed.evaluation.revision import bearing
from bed.evaluation.statistic import Array, ratio
from bed.evidence import Episode, Evidence, Hypothesis
from bed.protocols import BeliefModel, BeliefQuery, Beliefs

__all__ = [
    "ABSTAINING",
    "BaseRate",
    "Boosted",
    "NumericBoosting",
    "PoolLocalEffects",
    "Scale",
    "baselines",
    "fit_base_rate",
    "fit_numeric_boosting",
    "fit_pool_local_effects",
]

_EFFECTS = {
    "depmap": ("gene", "cell_line"),
    "expression": ("perturbation", "context"),
    "gwas": ("snp", "trait"),
}
"""Domain -> the fields that name a measurement's row and column."""
_ALIKE = {"depmap": ("claim",), "expression": ("claim", "gene"), "gwas": ("claim",)}
"""Domain -> the fields in which measurements of one table agree."""
_LEARNING_RATE = 0.05
_NUM_TREES = 50
_EPISODES_A_LEAF = 20
_SUPPORT = "support"
"""The stub's reading as a number, in the direction of the target; see `Reading.score`."""

_Part = TypeVar("_Part")
_Value = TypeVar("_Value")


ABSTAINING = ("linear effects",)
"""Baselines that leave questions unanswered by their nature."""


def baselines(
    episodes: Sequence[Episode], seed: int = 0
) -> tuple[dict[str, BeliefModel], dict[str, str]]:
    """Return the baselines that the training episodes allow, and why the others cannot be.

    Args:
        episodes: of any domains and splits.
        seed: of the boosting.

    Returns:
        Name -> model, and name -> reason.
    """
    fits: dict[str, Callable[[], BeliefModel]] = {
        "base rate": lambda: fit_base_rate(episodes),
        "boosted numbers": lambda: fit_numeric_boosting(episodes, seed),
        ABSTAINING[0]: lambda: fit_pool_local_effects(episodes),
    }
    found: dict[str, BeliefModel] = {}
    reasons: dict[str, str] = {}
    for name, fit in fits.items():
        try:
            found[name] = fit()
        except DataError as error:
            reasons[name] = str(error)
    return found, reasons


@dataclass(frozen=True)
class BaseRate:
    """The share of label 1, whatever the evidence.

    Attributes:
        rates: by domain.
    """

    rates: Mapping[str, float]

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query."""
        rates, reasons = _each(queries, lambda query: _of_domain(self.rates, query.hypothesis))
        return Beliefs(np.array([math.nan if p is None else p for p in rates]), reasons)


def fit_base_rate(episodes: Sequence[Episode]) -> BaseRate:
    """Count the labels of the training episodes of each domain.

    Raises:
        DataError: for no training episodes.
    """
    return BaseRate(
        {
            domain: float(np.mean([episode.label for episode in part]))
            for domain, part in _training(episodes).items()
        }
    )


@dataclass(frozen=True, eq=False)
class Boosted:
    """What was learned in one domain.

    Attributes:
        tiers: of relevance that are counted.
        fields: of outcomes, whose mean, least and greatest value are taken.
        classifier: a scikit-learn classifier over the counts, the number of supporting stubs and
            the values.
    """

    tiers: tuple[int, ...]
    fields: tuple[str, ...]
    classifier: Any


@dataclass(frozen=True, eq=False)
class NumericBoosting:
    """Gradient-boosted trees over the numbers of the evidence, in any order of its stubs.

    Attributes:
        parts: by domain.
    """

    parts: Mapping[str, Boosted]

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer every query; outcomes that their domain cannot read fail theirs alone."""
        rows, reasons = _each(queries, self._row)
        p = np.full(len(queries), np.nan)
        for domain, part in self.parts.items():
            here = [
                i
                for i, (query, row) in enumerate(zip(queries, rows, strict=True))
                if row is not None and canonical(query.hypothesis.domain) == domain
            ]
            if here:
                with _one_thread():
                    p[here] = part.classifier.predict_proba(np.array([rows[i] for i in here]))[:, 1]
        return Beliefs(p, reasons)

    def _row(self, query: BeliefQuery) -> NDArray[np.float32]:
        part = _of_domain(self.parts, query.hypothesis)
        rows = _features(_read(query.hypothesis, query.evidence), part.tiers, part.fields)
        return np.asarray(rows[-1])


def fit_numeric_boosting(episodes: Sequence[Episode], seed: int = 0) -> NumericBoosting:
    """Fit a classifier a domain to the first k stubs of training pools, k from none to all.

    Domains of one label only, or with outcomes that cannot be read, are left out: queries of theirs
    fail.

    Args:
        episodes: of any domains and splits.
        seed: of the classifier.

    Raises:
        DataError: for no training episodes, or where no domain can be fitted.
    """
    parts: dict[str, Boosted] = {}
    problems: list[str] = []
    for domain, part in _training(episodes).items():
        try:
            parts[domain] = _boosted(part, seed)
        except DataError as error:
            problems.append(f"{domain}: {error}")
    if not parts:
        raise DataError(f"boosting cannot be fitted to any domain: {'; '.join(problems)}")
    return NumericBoosting(parts)


@dataclass(frozen=True)
class _Numbers:
    """A stub as numbers: its tier, whether it supports the target, and its outcome's fields."""

    tier: int
    is_supporting: bool
    values: Mapping[str, float]


def _read(hypothesis: Hypothesis, evidence: Evidence) -> list[_Numbers]:
    found = []
    for stub in evidence:
        said = bearing(hypothesis, stub)
        values = {name: _number(value) for name, value in stub.outcome.fields.items()}
        found.append(
            _Numbers(
                relation(hypothesis, stub.experiment).tier,
                said.supported,
                {name: value for name, value in values.items() if value is not None}
                | {_SUPPORT: said.score},
            )
        )
    return found


def _number(value: object) -> float | None:
    """Return a finite number, also one that is printed as text such as "7E-6"; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _features(
    stubs: Sequence[_Numbers], tiers: tuple[int, ...], fields: tuple[str, ...]
) -> NDArray[np.float32]:
    """Return what stands in the first k stubs, one row for each k from 0.

    In single precision, so that sums do not depend on the order of the stubs.
    """
    counted = np.zeros((len(stubs) + 1, len(tiers) + 1))
    value = np.full((len(stubs) + 1, len(fields)), np.nan)
    for row, stub in enumerate(stubs, start=1):
        counted[row] = [*(stub.tier == tier for tier in tiers), stub.is_supporting]
        value[row] = [stub.values.get(name, math.nan) for name in fields]
    mean = ratio(np.nancumsum(value, axis=0), np.cumsum(~np.isnan(value), axis=0))
    least, greatest = np.fmin.accumulate(value), np.fmax.accumulate(value)
    parts = [np.cumsum(counted, axis=0), mean, least, greatest]
    return np.concatenate(parts, axis=1).astype(np.float32)


def _boosted(episodes: Sequence[Episode], seed: int) -> Boosted:
    from sklearn.ensemble import HistGradientBoostingClassifier

    if len({episode.label for episode in episodes}) < 2:
        raise DataError(f"{len(episodes)} training episodes of one class only: boosting needs both")
    pools = [_read(episode.target, episode.pool) for episode in episodes]
    tiers = tuple(sorted({stub.tier for pool in pools for stub in pool}))
    fields = tuple(sorted({name for pool in pools for stub in pool for name in stub.values}))
    rows = np.concatenate([_features(pool, tiers, fields) for pool in pools])
    labels = np.repeat([e.label for e in episodes], [len(pool) + 1 for pool in pools])
    # rows of one episode share its label: early stopping would validate on what it trains on
    classifier = HistGradientBoostingClassifier(
        learning_rate=_LEARNING_RATE,
        max_iter=_NUM_TREES,
        min_samples_leaf=_EPISODES_A_LEAF * len(rows) // len(episodes),
        early_stopping=False,
        random_state=seed,
    )
    with _one_thread():
        return Boosted(tiers, fields, classifier.fit(rows, labels))


def _one_thread() -> AbstractContextManager[Any]:
    """Keep boosting to one thread: it splits work so fine that several wait for each other."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="openmp")
    return limits


@dataclass(frozen=True)
class Scale:
    """What a measured y means in one domain.

    Attributes:
        threshold: where support begins.
        spread: sd(e).
    """

    threshold: float
    spread: float


@dataclass(frozen=True)
class PoolLocalEffects:
    """Row and column effects from the evidence alone, by ridge regression.

        y_ij = m + r_i + c_j + e_ij,    sd(r) = sd(c) = sd(e)

    y is how strongly a measurement supports its hypothesis (`Reading.score`, in the target's
    direction). The probability that the target's own measurement passes the threshold of support
    follows from its mean and spread under the model. It forecasts only where both the row and the
    column of the target stand in the evidence.

    Attributes:
        scales: by domain.
    """

    scales: Mapping[str, Scale]

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        """Answer the queries whose evidence holds the target's row and its column."""
        found, reasons = _each(queries, self._probability)
        return Beliefs(np.array([math.nan if p is None else p for p in found]), reasons)

    def _probability(self, query: BeliefQuery) -> float:
        scale = _of_domain(self.scales, query.hypothesis)
        table = _table(query.hypothesis, query.evidence)
        for name, same in zip(
            _EFFECTS[canonical(query.hypothesis.domain)], table.same, strict=True
        ):
            if not same.any():
                raise DataError(f"no measurement in the evidence shares the target's {name}")
        mean, variance = _predicted(table)
        return float(ndtr((mean - scale.threshold) / (scale.spread * math.sqrt(variance))))


@dataclass(frozen=True)
class _Table:
    """Measurements of the target's kind.

    Attributes:
        value: y, shape (n,).
        is_supporting: whether each supports its hypothesis, shape (n,).
        shared: how many of row and column each two measurements share, shape (n, n).
        same: whether each has the target's row, and its column, shape (2, n).
    """

    value: Array
    is_supporting: NDArray[np.bool_]
    shared: Array
    same: Array


def _table(hypothesis: Hypothesis, evidence: Evidence) -> _Table:
    domain = canonical(hypothesis.domain)
    if domain not in _EFFECTS:
        raise DataError(f"measurements of domain {domain!r} have no rows and columns")
    names, alike = _EFFECTS[domain], _ALIKE[domain]
    if lacking := [name for name in (*names, *alike) if name not in hypothesis.fields]:
        raise DataError(f"the target lacks the fields {lacking}, which place it in a table")
    stubs = [
        stub
        for stub in evidence
        if all(
            stub.experiment.hypothesis.fields.get(name) == hypothesis.fields[name] for name in alike
        )
    ]
    keys = np.array(
        [[str(stub.experiment.fields.get(name)) for stub in stubs] for name in names], dtype=object
    ).reshape(2, len(stubs))
    own = np.array([[str(hypothesis.fields[name])] for name in names], dtype=object)
    found = [bearing(hypothesis, stub) for stub in stubs]
    value = np.array([said.score for said in found], dtype=np.float64)
    return _Table(
        np.clip(value, -SCORE_RANGE, SCORE_RANGE),
        np.array([said.supported for said in found], dtype=np.bool_),
        (keys[:, :, None] == keys[:, None, :]).sum(axis=0).astype(np.float64),
        keys == own,
    )


def _predicted(table: _Table) -> tuple[float, float]:
    """Return the target's mean, and its variance in units of that of e."""
    weight, middle, share = _fitted(table)
    reach = table.same.sum(axis=0).astype(np.float64)
    mean = middle + reach @ weight @ (table.value - middle)
    unseen = 1.0 - weight.sum(axis=0) @ reach
    # e, r and c of the target, less what the evidence tells of them, and m
    variance = 3.0 - reach @ weight @ reach + unseen**2 / share
    return float(mean), float(variance)


def _fitted(table: _Table) -> tuple[Array, float, float]:
    """Return the inverse covariance of the measurements, m, and the precision of m."""
    weight = np.asarray(np.linalg.inv(np.eye(len(table.value)) + table.shared), dtype=np.float64)
    share = float(weight.sum())
    return weight, float(weight.sum(axis=0) @ table.value) / share, share


def fit_pool_local_effects(episodes: Sequence[Episode]) -> PoolLocalEffects:
    """Measure what row and column leave, and where support begins, over the training pools.

    The threshold of y is the one that tells supporting from other measurements with the fewest
    mistakes. Domains without rows and columns, or without measurements of both kinds, are left out:
    queries of theirs fail.

    Raises:
        DataError: for no training episodes.
    """
    scales = {}
    for domain, part in _training(episodes).items():
        tables = [table for table in map(_training_table, part) if table is not None]
        if tables and (scale := _scale(tables)) is not None:
            scales[domain] = scale
    return PoolLocalEffects(scales)


def _training_table(episode: Episode) -> _Table | None:
    """Return the table of a whole pool; None where it cannot be read or has too few to compare."""
    try:
        table = _table(episode.target, episode.pool)
    except DataError:
        return None
    return table if len(table.value) > 1 else None


def _scale(tables: Sequence[_Table]) -> Scale | None:
    square = 0.0
    for table in tables:
        weight, middle, _ = _fitted(table)
        left = table.value - middle
        square += float(left @ weight @ left)
    value = np.concatenate([table.value for table in tables])
    threshold = _threshold(value, np.concatenate([table.is_supporting for table in tables]))
    if threshold is None or square == 0:
        return None
    return Scale(threshold, math.sqrt(square / (len(value) - len(tables))))


def _threshold(value: Array, is_supporting: NDArray[np.bool_]) -> float | None:
    """Return the midpoint between two values that best parts the supporting from the others."""
    levels, at = np.unique(value, return_inverse=True)
    supporting = np.bincount(at, is_supporting, minlength=len(levels))
    others = np.bincount(at, minlength=len(levels)) - supporting
    if not (supporting.any() and others.any()) or len(levels) == 1:
        return None
    mistakes = np.cumsum(supporting)[:-1] + others.sum() - np.cumsum(others)[:-1]
    best = int(np.argmin(mistakes))
    return float(levels[best] + levels[best + 1]) / 2.0


def _training(episodes: Sequence[Episode]) -> dict[str, list[Episode]]:
    """Return the training episodes by domain, sorted by name and id."""
    parts: dict[str, list[Episode]] = defaultdict(list)
    for episode in sorted(episodes, key=lambda episode: episode.id):
        if episode.split == "train":
            parts[canonical(episode.target.domain)].append(episode)
    if not parts:
        raise DataError("no training episodes: baselines are fitted on the split 'train'")
    return dict(sorted(parts.items()))


def _of_domain(parts: Mapping[str, _Part], hypothesis: Hypothesis) -> _Part:
    domain = canonical(hypothesis.domain)
    if domain not in parts:
        raise DataError(f"the baseline was not fitted to domain {domain!r}")
    return parts[domain]


def _each(
    queries: Sequence[BeliefQuery], answer: Callable[[BeliefQuery], _Value]
) -> tuple[list[_Value | None], tuple[str | None, ...]]:
    """Return an answer or the reason why there is none, for every query."""
    found: list[_Value | None] = []
    reasons: list[str | None] = []
    for query in queries:
        try:
            found.append(answer(query))
            reasons.append(None)
        except DataError as error:
            found.append(None)
            reasons.append(str(error))
    return found, tuple(reasons)
