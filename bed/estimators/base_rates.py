"""Branch weights at the base rate of their relation.

A belief is fitted on targets that are balanced 50:50, but few local hypotheses come out supported.
Moving the branch weight's log odds to the training base rate of the relation mends that.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bed.domains import canonical, reading, relation
from bed.errors import DataError
from bed.estimators.coherence import shifted
from bed.evidence import Episode, Experiment, Hypothesis, Stub
from bed.information import checked_probabilities, log_odds
from bed.protocols import DesignProblem

__all__ = ["BaseRates", "at_base_rates", "check_base_rates", "training_base_rates"]

BaseRates = Mapping[str, float]
"""Relation tag -> share of supported outcomes in training, inside (0, 1)."""


def check_base_rates(base_rates: BaseRates | None) -> None:
    """Raise DataError for a rate of 0 or 1, after which no evidence could move a weight."""
    for tag, rate in (base_rates or {}).items():
        if not 0 < float(checked_probabilities(rate, f"base rate of {tag!r}")) < 1:
            raise DataError(f"base rate of {tag!r} is {rate}; use a rate inside (0, 1)")


def training_base_rates(episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the share of supported outcomes by relation, with one of each kind added.

    Outcomes in words alone, which say neither, are left out.
    """
    supported: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for episode in episodes:
        for stub in episode.pool:
            tag = relation(episode.target, stub.experiment).tag
            if _is_in_words(stub):
                continue
            supported[tag] += reading(stub.experiment, stub.outcome).supported
            total[tag] += 1
    return {tag: (supported[tag] + 1) / (total[tag] + 2) for tag in sorted(total)}


def at_base_rates(
    problems: Sequence[DesignProblem], weight: NDArray[np.float64], base_rates: BaseRates | None
) -> NDArray[np.float64]:
    """Return branch weights with their log odds moved from 50:50 to the relation's base rate.

    Relations that are unknown or have no known rate keep their weight; failed weights stay NaN.

    Args:
        problems: say which candidate each weight belongs to.
        weight: p(theta'=1 | I) as the belief gave it, flat over the candidates of all problems.
        base_rates: see `BaseRates`.
    """
    if not base_rates:
        return weight
    rates = np.array([_rate(p.target, x, base_rates) for p in problems for x in p.candidates])
    known = ~np.isnan(weight)
    return np.where(known, shifted(np.where(known, weight, 0.5), log_odds(rates)), np.nan)


def _rate(target: Hypothesis, candidate: Experiment, base_rates: BaseRates) -> float:
    try:
        return base_rates.get(relation(target, candidate).tag, 0.5)
    except DataError:
        return 0.5


def _is_in_words(stub: Stub) -> bool:
    is_text = canonical(stub.experiment.hypothesis.domain) == "generic"
    return is_text and "supported" not in stub.outcome.fields
