"""Several episode files as one, so that one simulation covers their domains."""

from collections.abc import Mapping
from pathlib import Path

from bed.episodes.files import EpisodeFile, read_episodes
from bed.errors import DataError

__all__ = ["combined"]


def combined(paths: list[Path]) -> EpisodeFile:
    """Return the episodes of all files, with each domain's own account in `info["parts"]`.

    Args:
        paths: of episode files, no domain in two of them.

    Raises:
        DataError: for fewer than two files, or a domain that stands in two.
    """
    if len(paths) < 2:
        raise DataError(f"{len(paths)} file to combine; give at least two")
    source: dict[str, Path] = {}
    parts: dict[str, EpisodeFile] = {}
    for path in paths:
        for domain, part in read_episodes(path).by_domain().items():
            if domain in source:
                raise DataError(
                    f"{source[domain]} and {path} both hold {domain} episodes; their accounts "
                    "cannot be told apart: build that domain as one file"
                )
            source[domain], parts[domain] = path, part
    return _joined(dict(sorted(parts.items())))


def _joined(parts: Mapping[str, EpisodeFile]) -> EpisodeFile:
    files = list(parts.values())
    has_prompts = any(file.prompts for file in files)
    return EpisodeFile(
        tuple(episode for file in files for episode in file.episodes),
        {"parts": {domain: dict(file.info) for domain, file in parts.items()}},
        tuple(outcome for file in files for outcome in file.held_out),
        tuple(found for file in files for found in (file.prompts or ({},) * len(file.episodes)))
        if has_prompts
        else (),
    )
