"""Forecasts of belief models on nested sweeps of episodes: the evidence grows stub by stub."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bed.domains import canonical
from bed.errors import DataError
from bed.evaluation.forecasts import Forecasts
from bed.evaluation.revision import verdict
from bed.evidence import Episode
from bed.protocols import BeliefModel, BeliefQuery
from bed.seeds import derive_seed

__all__ = ["Swept", "sweep"]

_EPISODES_AT_ONCE: Final = 64

Told = Callable[[int, int], None]
"""Gets the number of questions that are done, and of all."""


@dataclass(frozen=True)
class Swept:
    """What models forecast on the sweeps of some episodes.

    Attributes:
        forecasts: of each model that answers. An episode with a row unanswered is missing whole;
            from a model that abstains the row alone.
        failed: model -> number of rows without an answer.
        reasons: model -> why its first such row has none.
        num_short: episodes left out because their pool is shorter than the sweeps of their domain.
    """

    forecasts: tuple[Forecasts, ...]
    failed: Mapping[str, int]
    reasons: Mapping[str, str]
    num_short: int


def sweep(
    episodes: Sequence[Episode],
    models: Mapping[str, BeliefModel],
    abstaining: Collection[str] = (),
    seed: int = 0,
    told: Told = lambda done, count: None,
) -> Swept:
    """Ask every model about the targets after 0, 1, ... K stubs of their pools, in pool order.

    K is the commonest size of a pool in the domain; a larger pool is used up to K.

    Args:
        episodes: to ask about.
        models: name -> model.
        abstaining: models that leave questions unanswered by their nature.
        seed: of the queries; only sampled beliefs use it.
        told: is called as the asking goes on.

    Raises:
        DataError: for no episodes or models, two episodes of one name in a domain, a result that
            its domain cannot read, or where no model answers a sweep.
    """
    if not episodes:
        raise DataError("no episodes to ask about: at least one is needed")
    if not models:
        raise DataError("no models to ask: at least one is needed")
    by_domain: dict[str, list[Episode]] = {}
    for episode in episodes:
        by_domain.setdefault(canonical(episode.target.domain), []).append(episode)
    length = {
        domain: max(Counter(len(of.pool) for of in part).items(), key=lambda item: item[::-1])[0]
        for domain, part in by_domain.items()
    }
    for domain, part in by_domain.items():
        twice, count = Counter(episode.id for episode in part).most_common(1)[0]
        if count > 1:
            raise DataError(f"episode {twice!r} of {domain!r} is a duplicate; rename or drop one")
    kept = [
        (domain, episode)
        for domain, part in by_domain.items()
        for episode in part
        if len(episode.pool) >= length[domain]
    ]
    rows = [(domain, of, k) for domain, of in kept for k in range(length[domain] + 1)]
    columns = {
        "domain": np.array([domain for domain, _, _ in rows]),
        "episode": np.array([of.id for _, of, _ in rows]),
        "unit": np.array([of.unit for _, of, _ in rows]),
        "k": np.array([k for _, _, k in rows]),
        "label": np.array([float(of.label) for _, of, _ in rows]),
        "tier": np.array([of.tiers[k - 1] if k else 0 for _, of, k in rows]),
        "verdict": np.array([verdict(of.target, of.pool[k - 1]) if k else "" for _, of, k in rows]),
    }
    number = np.repeat(np.arange(len(kept)), [length[domain] + 1 for domain, _ in kept])
    queries = [
        BeliefQuery(of.target, of.pool[:k], derive_seed(seed, "sweep", of.id, k))
        for _, of, k in rows
    ]
    num_asked = _EPISODES_AT_ONCE * (max(length.values()) + 1)
    found: list[Forecasts] = []
    failed: dict[str, int] = {}
    why: dict[str, str] = {}
    for m, (name, model) in enumerate(models.items()):
        p = np.full(len(rows), np.nan)
        for start in range(0, len(rows), num_asked):
            answers = model.probabilities(queries[start : start + num_asked])
            p[start : start + num_asked] = answers.probabilities
            reasons = [reason for reason in answers.reasons if reason is not None]
            if reasons:
                failed[name] = failed.get(name, 0) + len(reasons)
                why.setdefault(name, reasons[0])
            told(m * len(rows) + min(start + num_asked, len(rows)), len(models) * len(rows))
        abstains = name in abstaining
        kept_rows = ~np.isnan(p)
        if not abstains:
            broken = np.isin(number, number[~kept_rows])
            kept_rows &= ~broken
        if kept_rows.any():
            whole = Forecasts(name, p=p, **columns, abstains=abstains)
            found.append(whole.rows(kept_rows))
    if not found:
        name, reason = next(iter(why.items()))
        raise DataError(f"no model answers a whole sweep; {name!r}, the first: {reason}")
    return Swept(tuple(found), failed, why, len(episodes) - len(kept))
