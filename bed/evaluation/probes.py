"""Questions that test a belief against itself, made from episodes and asked in one batch each.

Position: the telling stub stands at four places among nine stubs of little relevance. Composition:
the telling stub, and a constructed one that contradicts it, alone and together in both orders.
Coherence: imagined posteriors must average to the prior. `bed.evaluation.consistency` sums up the
first two. An episode for which a question cannot be made, or is not answered, is left out with the
reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bed.domains import canonical, reading
from bed.errors import DataError
from bed.estimators import FactoredEIG
from bed.estimators.asking import ask_beliefs
from bed.evaluation.consistency import POSITIONS
from bed.evaluation.revision import bearing
from bed.evidence import Episode, Evidence, Stub
from bed.protocols import (
    BeliefModel,
    BeliefQuery,
    DesignProblem,
    OutcomeRequest,
    OutcomeSimulator,
)
from bed.seeds import derive_seed, generator

__all__ = [
    "CoherenceProbe",
    "CompositionProbe",
    "PositionProbe",
    "coherence_probe",
    "composition_probe",
    "position_probe",
    "telling_stub",
]

Array = NDArray[np.float64]
_Question = TypeVar("_Question")

_LENGTH = 10
"""Stubs in the evidence of the position probe."""
_COMPOSED = ("p0", "p_support", "p_refute", "p_support_first", "p_refute_first")


@dataclass(frozen=True)
class PositionProbe:
    """Forecasts with the telling stub at each of `POSITIONS`.

    Attributes:
        episodes: those that were asked about and answered in full.
        p: shape (num_episodes, 4), for `position_bias`.
        left_out: id of each other episode -> why.
    """

    episodes: tuple[Episode, ...]
    p: Array
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class CompositionProbe:
    """Forecasts without evidence, after one stub, and after two that contradict each other.

    Attributes:
        episodes: those that were asked about and answered in full.
        p: shape (num_episodes, 5): p0, p_support, p_refute, p_support_first, p_refute_first.
        left_out: id of each other episode -> why.
    """

    episodes: tuple[Episode, ...]
    p: Array
    left_out: Mapping[str, str]

    def by_domain(self) -> dict[str, dict[str, Array]]:
        """Return the forecasts by domain and name, for `composition_residual`."""
        domains = np.array([canonical(episode.target.domain) for episode in self.episodes])
        return {
            name: dict(zip(_COMPOSED, self.p[domains == name].T, strict=True))
            for name in sorted(set(domains.tolist()))
        }


@dataclass(frozen=True)
class CoherenceProbe:
    """Prior against the branch-weighted mean of imagined posteriors, flat over candidates.

    Attributes:
        episodes: those of which at least one candidate is known.
        row: place in `episodes` of each candidate, shape (num_candidates,).
        prior: p(theta = 1) without evidence, one a candidate.
        gap: mean of the posteriors minus the prior, at branch weights moved to their base rates
            where the estimator has such.
        raw_gap: the same at branch weights as the belief gave them.
        left_out: (id of episode, id of experiment) of each other candidate -> why; the experiment
            is "" where an episode has none.
    """

    episodes: tuple[Episode, ...]
    row: NDArray[np.intp]
    prior: Array
    gap: Array
    raw_gap: Array
    left_out: Mapping[tuple[str, str], str]

    @property
    def mean_abs_gap(self) -> Array:
        """Mean absolute gap over the candidates of each episode, shape (num_episodes,)."""
        return np.asarray(np.bincount(self.row, np.abs(self.gap)) / np.bincount(self.row))


def telling_stub(episode: Episode) -> Stub:
    """Return the supporting stub of the most relevant tier; of several the most supportive one.

    Raises:
        DataError: where no stub of the pool supports the target, or one cannot be read.
    """
    found = [bearing(episode.target, stub) for stub in episode.pool]
    places = [place for place, said in enumerate(found) if said.verdict == "supporting"]
    if not places:
        raise DataError("no stub of the pool supports the target")
    return episode.pool[min(places, key=lambda at: (episode.tiers[at], -found[at].score))]


def position_probe(
    episodes: Sequence[Episode], belief: BeliefModel, seed: int = 0
) -> PositionProbe:
    """Ask for four forecasts an episode, with its telling stub at each of `POSITIONS`.

    Around it stand the nine least relevant other stubs, in one random order for all four.

    Args:
        episodes: with pools of ten stubs or more.
        belief: the model to ask.
        seed: of the order of the others; a sampled belief takes the same draws for all four.
    """
    contexts, left_out = _made(episodes, lambda episode: _placed(episode, seed))
    kept, p = _asked(episodes, contexts, left_out, belief, seed, len(POSITIONS))
    return PositionProbe(kept, p, left_out)


def _placed(episode: Episode, seed: int) -> tuple[Evidence, ...]:
    telling = telling_stub(episode)
    if len(episode.pool) < _LENGTH:
        raise DataError(f"a pool of {len(episode.pool)} stubs is short of the {_LENGTH} it takes")
    rng = generator(seed, "fillers", episode.id)
    others = [i for i in rng.permutation(len(episode.pool)) if episode.pool[i] is not telling]
    # the sort is stable, so that chance decides within a tier
    least = sorted(others, key=lambda i: -episode.tiers[i])[: _LENGTH - 1]
    filling = tuple(episode.pool[i] for i in rng.permutation(least))
    return tuple((*filling[: at - 1], telling, *filling[at - 1 :]) for at in POSITIONS)


def composition_probe(
    episodes: Sequence[Episode],
    belief: BeliefModel,
    simulator: OutcomeSimulator,
    seed: int = 0,
) -> CompositionProbe:
    """Ask for five forecasts an episode: see `CompositionProbe`.

    The refuting stub is the telling experiment again, with an outcome of the other branch.

    Args:
        episodes: to make the questions from.
        belief: the model to ask.
        simulator: draws the opposite outcome; `fit_exemplar_simulator` of training episodes takes
            one that really happened.
        seed: of the opposite outcomes.
    """
    tellings, left_out = _made(episodes, telling_stub)
    requests = {
        row: OutcomeRequest(
            telling.experiment,
            supportive=not reading(telling.experiment, telling.outcome).supported,
            seed=derive_seed(seed, "refutation", episodes[row].id),
        )
        for row, telling in tellings.items()
    }
    outcomes = simulator.sample(list(requests.values()))
    contexts: dict[int, tuple[Evidence, ...]] = {}
    for row, outcome, reason in zip(requests, outcomes.values, outcomes.reasons, strict=True):
        episode, support = episodes[row], tellings[row]
        if outcome is None:
            left_out[episode.id] = f"simulator: {reason}"
            continue
        refute = Stub(support.experiment, outcome)
        try:
            if bearing(episode.target, refute).supported:
                raise DataError("the outcome supports what it should refute")
        except DataError as error:
            left_out[episode.id] = f"simulator: {error}"
            continue
        contexts[row] = ((), (support,), (refute,), (support, refute), (refute, support))
    kept, p = _asked(episodes, contexts, left_out, belief, seed, len(_COMPOSED))
    return CompositionProbe(kept, p, left_out)


def coherence_probe(
    episodes: Sequence[Episode], estimator: FactoredEIG, seed: int = 0
) -> CoherenceProbe:
    """Ask for the prior of each episode and for posteriors after imagined outcomes of its pool.

    Args:
        episodes: to ask about, without evidence; each experiment of the pool is a candidate.
        estimator: holds the belief, the simulator and how many outcomes stand for a branch; one
            outcome alone, at a level above the median, does not stand for their mean.
        seed: of the outcomes.
    """
    asked = [episode for episode in episodes if episode.pool]
    scores = estimator.score_batch(
        [
            DesignProblem(
                episode.target,
                (),
                tuple(stub.experiment for stub in episode.pool),
                derive_seed(seed, "coherence", episode.id),
                episode.id,
            )
            for episode in asked
        ]
    )
    kept: list[Episode] = []
    row: list[int] = []
    columns: list[tuple[float, float, float]] = []
    left_out = {(e.id, ""): "the pool is empty" for e in episodes if not e.pool}
    for episode, found in zip(asked, scores, strict=True):
        known = ~np.isnan(found.coherence_gap)
        for x, is_known, reason in zip(found.candidates, known, found.reasons, strict=True):
            if not is_known:
                left_out[episode.id, x.id] = reason or "no reason given"
        if known.any():
            row += [len(kept)] * int(known.sum())
            kept.append(episode)
            gaps = found.coherence_gap[known], found.raw_coherence_gap[known]
            columns += [(found.prior, gap, raw) for gap, raw in zip(*gaps, strict=True)]
    table = np.array(columns, dtype=np.float64).reshape(-1, 3)
    prior, gap, raw = table.T
    return CoherenceProbe(tuple(kept), np.array(row, dtype=np.intp), prior, gap, raw, left_out)


def _made(
    episodes: Sequence[Episode], make: Callable[[Episode], _Question]
) -> tuple[dict[int, _Question], dict[str, str]]:
    """Return what could be made by place of the episode, and why the rest could not by its id."""
    found: dict[int, _Question] = {}
    left_out: dict[str, str] = {}
    for row, episode in enumerate(episodes):
        try:
            found[row] = make(episode)
        except DataError as error:
            left_out[episode.id] = str(error)
    return found, left_out


def _asked(
    episodes: Sequence[Episode],
    contexts: Mapping[int, tuple[Evidence, ...]],
    left_out: dict[str, str],
    belief: BeliefModel,
    seed: int,
    num_forecasts: int,
) -> tuple[tuple[Episode, ...], Array]:
    """Return the episodes answered in full with their forecasts; the others join `left_out`."""
    queries = [
        BeliefQuery(
            episodes[row].target, evidence, derive_seed(seed, "forecasts", episodes[row].id)
        )
        for row, several in contexts.items()
        for evidence in several
    ]
    values, _, reasons, _ = ask_beliefs(belief, queries)
    p = values.reshape(-1, num_forecasts)
    kept = []
    for place, row in enumerate(contexts):
        of_row = reasons[place * num_forecasts : (place + 1) * num_forecasts]
        if failed := next(filter(None, of_row), None):
            left_out[episodes[row].id] = f"belief: {failed}"
        else:
            kept.append(place)
    rows = list(contexts)
    return tuple(episodes[rows[place]] for place in kept), p[kept]
