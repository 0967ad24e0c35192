"""What all builders share: how many episodes, which targets, and the account of a build."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bed import __version__
from bed.episodes.files import EpisodeFile
from bed.episodes.frames import sha256
from bed.episodes.selection import Candidate, Quotas, select
from bed.episodes.split import SHARES
from bed.errors import DataError
from bed.evidence import Episode, Outcome
from bed.seeds import derive_seed

__all__ = ["Progress", "choose", "episode_file", "wanted"]

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much there is."""

Content = TypeVar("Content")


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


def choose(
    candidates: Mapping[str, Sequence[Candidate[Content]]],
    num: Mapping[str, int],
    seed: int,
    quotas: Quotas,
) -> tuple[list[tuple[str, Candidate[Content]]], dict[str, int]]:
    """Select the episodes of every split.

    Args:
        candidates: split -> possible targets.
        num: split -> episodes wanted.
        seed: of the build.
        quotas: the shares wanted.

    Returns:
        The chosen with their split, and by how many episodes each split fell short.
    """
    chosen: list[tuple[str, Candidate[Content]]] = []
    short: dict[str, int] = {}
    for split, most in num.items():
        found = select(candidates.get(split, ()), most, seed, split, quotas)
        if len(found) < most:
            short[f"{split} episodes"] = most - len(found)
        chosen += [(split, item) for item in found]
    return chosen, short


def episode_file(
    domain: str,
    seed: int,
    builder: str,
    pairs: Sequence[tuple[Episode, Outcome]],
    *,
    inputs: Mapping[str, Path],
    excluded: Mapping[str, int],
    short: Mapping[str, int],
    notes: Sequence[str],
    more: Mapping[str, Any] | None = None,
) -> EpisodeFile:
    """Return the episodes in a random order that the seed fixes, with the account of the build.

    Args:
        domain: of the episodes.
        seed: of the build.
        builder: its name and version, such as "depmap/2".
        pairs: each episode with the held-out outcome that gives its label.
        inputs: role -> file; names and digests are kept, never paths.
        excluded: what was left out, by reason.
        short: which quotas were not filled, and by how much.
        notes: what a reader must know of the data.
        more: further entries of the account.
    """
    pairs = sorted(pairs, key=lambda pair: derive_seed(seed, "order", pair[0].id))
    info = {
        "domain": domain,
        "seed": seed,
        "builder": builder,
        "bed_version": __version__,
        "inputs": [
            {"role": role, "file": path.name, "sha256": sha256(path)}
            for role, path in sorted(inputs.items())
        ],
        "excluded": {name: num for name, num in sorted(excluded.items()) if num},
        "short": {name: num for name, num in sorted(short.items()) if num},
        "counts": dict(Counter(episode.split for episode, _ in pairs)),
        "notes": list(notes),
        **(more or {}),
    }
    return EpisodeFile(
        tuple(episode for episode, _ in pairs), info, tuple(outcome for _, outcome in pairs)
    )
