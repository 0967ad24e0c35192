"""Stand-ins for the language models, fitted on training episodes and kept beside their file.

The training units (genes, ...) are halved by hash. One half fits the belief and the simulators
that policies use; the other half fits a second tracker, which shares no unit with them.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bed.belief.additive import AdditiveBelief, fit_additive_belief
from bed.episodes.files import read_episodes
from bed.errors import DataError
from bed.estimators.base_rates import BaseRates, training_base_rates
from bed.evidence import Episode, Outcome, from_json, to_json
from bed.seeds import derive_seed
from bed.simulators.conditional import ConditionalSimulator, fit_conditional_simulator
from bed.simulators.exemplar import ExemplarSimulator, Shelf

__all__ = ["StandIns", "cached_stand_ins", "fit_stand_ins"]

_FORMAT = "bed-stand-ins/1"
_ARRAYS = ("intercept", "weight", "slope", "redundancy")


@dataclass(frozen=True)
class StandIns:
    """Everything that plays a language model's part.

    Attributes:
        belief: fitted on one half of the training units; the main tracker too.
        disjoint: a belief fitted on the other half.
        exemplar: draws the first half's outcomes.
        conditional: draws them given the evidence.
        base_rates: of the first half.
    """

    belief: AdditiveBelief
    disjoint: AdditiveBelief
    exemplar: ExemplarSimulator
    conditional: ConditionalSimulator
    base_rates: BaseRates


def fit_stand_ins(episodes: Sequence[Episode], seed: int = 0) -> StandIns:
    """Fit all stand-ins on the training split of `episodes`.

    Raises:
        DataError: where a half of the training units lacks episodes of both labels.
    """
    halves: tuple[list[Episode], list[Episode]] = ([], [])
    for episode in episodes:
        if episode.split == "train":
            halves[derive_seed(seed, "half", episode.unit) % 2].append(episode)
    if not all(halves):
        raise DataError(
            f"stand-ins need training episodes of at least two units, got "
            f"{len(halves[0])} and {len(halves[1])} in the halves; build a larger file"
        )
    own, other = halves
    conditional = fit_conditional_simulator(own, seed)
    return StandIns(
        belief=fit_additive_belief(own, seed),
        disjoint=fit_additive_belief(other, seed),
        exemplar=ExemplarSimulator(conditional.shelves),
        conditional=conditional,
        base_rates=training_base_rates(own),
    )


def cached_stand_ins(path: Path, seed: int = 0) -> StandIns:
    """Return the stand-ins of an episode file, from beside it where they were fitted before.

    The cache's name holds a digest of the file and the seed; one that is damaged is fitted anew,
    and a folder that cannot be written to is left alone.

    Raises:
        DataError: for a file that cannot be read, or with too few training episodes.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    key = hashlib.sha256(f"{_FORMAT} {seed} {digest}".encode()).hexdigest()[:16]
    cache = path.with_name(f"{path.stem}.stand-ins-{key}.json")
    try:
        return _loaded(json.loads(cache.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        fitted = fit_stand_ins(read_episodes(path, "train").episodes, seed)
    beside = cache.with_name(f".{cache.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(_stored(fitted)))
        beside.replace(cache)
    except OSError:
        beside.unlink(missing_ok=True)
    return fitted


def _stored(stand_ins: StandIns) -> dict[str, Any]:
    simulator = stand_ins.conditional
    return {
        "format": _FORMAT,
        "belief": _stored_belief(stand_ins.belief),
        "disjoint": _stored_belief(stand_ins.disjoint),
        "base_rates": dict(stand_ins.base_rates),
        "tags": list(simulator.tags),
        "shelves": [
            {
                "shelf": list(shelf),
                "coefficients": simulator.coefficients[shelf].tolist(),
                "log_spread": simulator.log_spread[shelf].tolist(),
                "outcomes": [to_json(outcome) for outcome in outcomes],
            }
            for shelf, outcomes in simulator.shelves.items()
        ],
    }


def _loaded(stored: Mapping[str, Any]) -> StandIns:
    if stored["format"] != _FORMAT:
        raise DataError(f"stand-ins of format {stored['format']!r}, not {_FORMAT!r}")
    shelves, coefficients, log_spread = {}, {}, {}
    for row in stored["shelves"]:
        domain, kind, supportive = row["shelf"]
        shelf: Shelf = (domain, kind, supportive)
        shelves[shelf] = tuple(from_json(Outcome, text) for text in row["outcomes"])
        coefficients[shelf] = np.array(row["coefficients"])
        log_spread[shelf] = np.array(row["log_spread"])
    return StandIns(
        _loaded_belief(stored["belief"]),
        _loaded_belief(stored["disjoint"]),
        ExemplarSimulator(shelves),
        ConditionalSimulator(tuple(stored["tags"]), shelves, coefficients, log_spread),
        stored["base_rates"],
    )


def _stored_belief(belief: AdditiveBelief) -> dict[str, Any]:
    arrays = {name: getattr(belief, name).tolist() for name in _ARRAYS}
    return {"tags": list(belief.tags), **arrays}


def _loaded_belief(stored: Mapping[str, Any]) -> AdditiveBelief:
    arrays = (np.array(stored[name], dtype=np.float32) for name in _ARRAYS)
    return AdditiveBelief(tuple(stored["tags"]), *arrays)
