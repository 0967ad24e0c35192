"""Episode files: building, reading, writing and auditing them."""

from bed.episodes.files import EpisodeFile, read_episodes, write_episodes

__all__ = ["EpisodeFile", "read_episodes", "write_episodes"]
