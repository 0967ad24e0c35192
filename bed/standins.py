"""Stand-ins for the language models, fitted on training episodes and kept beside their file.

Every domain has its own. The training units (genes, ...) are halved by hash. One half fits the
belief and the simulators that policies use; the other half fits a second tracker, which shares no
unit with them.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from bed import __version__
from bed.atomic import written_whole
from bed.belief.additive import AdditiveBelief, fit_additive_belief
from bed.episodes.files import read_episodes
from bed.errors import DataError
from bed.estimators.base_rates import BaseRates, training_base_rates
from bed.evidence import Episode, Outcome, from_json, to_json
from bed.seeds import derive_seed
from bed.simulators.conditional import ConditionalSimulator, fit_conditional_simulator
from bed.simulators.exemplar import ExemplarSimulator, Shelf

__all__ = ["StandIns", "cached_stand_ins", "fit_stand_ins", "stand_ins_key"]

_FITTED_BY = (
    "belief",
    "simulators",
    "domains",
    "estimators/base_rates.py",
    "seeds.py",
    "standins.py",
)
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
    """Fit the stand-ins of one domain on the training split of `episodes`.

    Raises:
        DataError: where a half of the training units lacks episodes of both labels.
    """
    halves: tuple[list[Episode], list[Episode]] = ([], [])
    for episode in sorted(episodes, key=lambda episode: episode.id):
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


def cached_stand_ins(path: Path, seed: int = 0) -> dict[str, StandIns]:
    """Return each domain's stand-ins, from beside the episode file where they were fitted before.

    The cache's name holds a digest of the file, the seed and the code that fits; one that is
    damaged is fitted anew, and a folder that cannot be written to is left alone.

    Raises:
        DataError: for a file that cannot be read, or with too few training episodes.
    """
    cache = path.with_name(f"{path.stem}.stand-ins-{stand_ins_key(path, seed)}.json")
    try:
        digest, _, text = cache.read_text().partition("\n")
        if sha256(text.encode()).hexdigest() == digest:
            return {domain: _loaded(part) for domain, part in json.loads(text).items()}
    except (OSError, UnicodeDecodeError):
        pass
    parts = read_episodes(path, "train").by_domain()
    if not parts:
        raise DataError(f"{path}: no training episodes to fit stand-ins on; build a larger file")
    fitted = {domain: fit_stand_ins(part.episodes, seed) for domain, part in parts.items()}
    text = json.dumps({domain: _stored(part) for domain, part in fitted.items()})
    with suppress(DataError), written_whole(cache) as beside:
        beside.write_text(f"{sha256(text.encode()).hexdigest()}\n{text}")
    return fitted


def stand_ins_key(path: Path, seed: int) -> str:
    """Return a digest of all that the stand-ins of an episode file depend on."""
    digest = sha256(f"{__version__} {seed} ".encode())
    try:
        digest.update(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    package = Path(__file__).parent
    for source in sorted(package / name for name in _FITTED_BY):
        for file in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _stored(stand_ins: StandIns) -> dict[str, Any]:
    simulator = stand_ins.conditional
    return {
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
