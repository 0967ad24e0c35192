"""The one error root of bed and its few branches.

A message names the argument, what it got, and the remedy.
"""

__all__ = ["BedError", "DataError", "ImpossibleEvidenceError", "NothingScoredError"]


class BedError(Exception):
    """Root of every error that bed raises on purpose."""


class DataError(BedError, ValueError):
    """A file or a value handed to bed is malformed; the message says where and what to mend."""


class ImpossibleEvidenceError(BedError, ValueError):
    """Evidence has zero probability under both values of theta, so no posterior exists."""


class NothingScoredError(BedError, RuntimeError):
    """No candidate could be scored; the message carries the reasons."""
