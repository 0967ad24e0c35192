"""Where in a file an error arose."""

from collections.abc import Iterator
from contextlib import contextmanager

from bed.errors import DataError

__all__ = ["placed"]


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Put the place before the message of a DataError that is raised inside.

    Args:
        where: file, row or line, and what it is about.
    """
    try:
        yield
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
