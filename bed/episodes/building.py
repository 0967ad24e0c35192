"""What all builders share: input files, which targets become episodes, the account of a build.

A builder of a domain reads its tables, offers candidates with pools, and writes episodes; `drawn`
makes the choice among the candidates and `episode_file` the file.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from bed import __version__
from bed.episodes.files import EpisodeFile
from bed.episodes.frames import sha256
from bed.episodes.selection import Candidate, Quotas, select
from bed.episodes.split import SHARES
from bed.errors import DataError
from bed.evidence import Episode, Outcome
from bed.seeds import derive_seed

__all__ = ["Drawn", "InputFiles", "Progress", "drawn", "episode_file", "wanted"]

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The input files of a builder: its fields that hold a path, named by their role."""

    def given(self) -> dict[str, Path]:
        """Return role -> file, for the files that are given."""
        named = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: path for name, path in named.items() if isinstance(path, Path)}

    def absent(self) -> list[str]:
        """Return the fields without a file, sorted."""
        return sorted({item.name for item in fields(self)} - self.given().keys())


class _Pool(Protocol):
    @property
    def short(self) -> Counter[str]: ...


class _Target(Protocol):
    @property
    def pool(self) -> _Pool: ...


Target = TypeVar("Target", bound=_Target)


@dataclass(frozen=True, slots=True)
class Drawn(Generic[Target]):
    """The targets that became episodes.

    Attributes:
        targets: what the builder knows of each.
        pairs: each episode with the held-out outcome that gives its label.
        short: which quotas were not filled, and by how much.
    """

    targets: tuple[Target, ...]
    pairs: tuple[tuple[Episode, Outcome], ...]
    short: Counter[str]


def wanted(max_episodes: int) -> dict[str, int]:
    """Return how many episodes each split is to get: pairs of labels, what is left to training.

    Raises:
        DataError: for fewer than 2 episodes.
    """
    if max_episodes < 2:
        raise DataError(f"--max-episodes {max_episodes}: at least 2 are needed (one of each label)")
    pairs = max_episodes // 2
    num = {split: 2 * int(pairs * share + 1e-9) for split, share in SHARES.items()}
    num["train"] += 2 * pairs - sum(num.values())
    return num


def drawn(
    candidates: Mapping[str, Sequence[Candidate[Target]]],
    num: Mapping[str, int],
    seed: int,
    quotas: Mapping[str, Quotas],
    write: Callable[[str, Candidate[Target]], tuple[Episode, Outcome]],
    *,
    excluded: Mapping[str, int],
    lacking: str,
    progress: Progress,
) -> Drawn[Target]:
    """Select the targets of every split and write their episodes.

    Args:
        candidates: split -> possible targets.
        num: split -> episodes wanted.
        seed: of the build.
        quotas: split -> the shares wanted.
        write: from a split and a chosen candidate, the episode and its held-out outcome.
        excluded: what was left out before, by reason, for messages.
        lacking: what the tables lack where nothing can be chosen, for messages.
        progress: told how many episodes are written.

    Raises:
        DataError: where there is nothing to choose.
    """
    chosen: list[tuple[str, Candidate[Target]]] = []
    short: Counter[str] = Counter()
    for split, most in num.items():
        found = select(candidates.get(split, ()), most, seed, split, quotas[split])
        short[f"{split} episodes"] += most - len(found)
        chosen += [(split, item) for item in found]
    if not chosen:
        left_out = {name: times for name, times in excluded.items() if times}
        raise DataError(f"no episodes: {lacking}; left out: {left_out}; give a larger table")
    pairs = []
    for done, (split, item) in enumerate(chosen, start=1):
        pairs.append(write(split, item))
        short.update(item.content.pool.short)
        progress("writing episodes", done, len(chosen))
    return Drawn(tuple(item.content for _, item in chosen), tuple(pairs), short)


def episode_file(
    domain: str,
    seed: int,
    builder: str,
    found: Drawn[Any],
    *,
    inputs: InputFiles,
    excluded: Mapping[str, int],
    notes: Sequence[str],
    more: Mapping[str, Any],
) -> EpisodeFile:
    """Return the episodes in a random order that the seed fixes, with the account of the build.

    Args:
        domain: of the episodes.
        seed: of the build.
        builder: its name and version, such as "depmap/2".
        found: the episodes.
        inputs: names and digests of these files are kept, never paths.
        excluded: what was left out, by reason.
        notes: what a reader must know of the data.
        more: further entries of the account.
    """
    pairs = sorted(found.pairs, key=lambda pair: derive_seed(seed, "order", pair[0].id))
    info = {
        "domain": domain,
        "seed": seed,
        "builder": builder,
        "bed_version": __version__,
        "inputs": [
            {"role": role, "file": path.name, "sha256": sha256(path)}
            for role, path in sorted(inputs.given().items())
        ],
        "excluded": {name: num for name, num in sorted(excluded.items()) if num},
        "short": {name: num for name, num in sorted(found.short.items()) if num},
        "counts": dict(Counter(episode.split for episode, _ in pairs)),
        "notes": list(notes),
        **more,
    }
    return EpisodeFile(
        tuple(episode for episode, _ in pairs), info, tuple(outcome for _, outcome in pairs)
    )
