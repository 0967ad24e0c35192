"""Files that are written whole or not at all, and by one process at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bed.errors import DataError

__all__ = ["held", "require_writable", "written_whole"]


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the place of `path` at the end.

    Raises:
        DataError: where the file cannot be written. Whatever stood at `path` then still does.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        # gone after success; a read-only folder refuses even to look
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Raise DataError where `path` could not be written, before anything slow is done."""
    if path.is_dir():
        raise DataError(f"{path} cannot be written: it is a folder")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.touch()
        beside.unlink()
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{path} cannot be written: {reason}; name another file") from error


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock file until the end; the lock goes with the process, however it ends.

    Raises:
        DataError: where another process holds it.
    """
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataError(f"another process holds {path}; wait for it to end") from error
        yield
        path.unlink(missing_ok=True)
