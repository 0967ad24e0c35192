"""Is a belief consistent with itself? Where a stub stands, and how two stubs add up.

All in decibans, of forecasts clipped to [0.001, 0.999]. A consistent belief has the same forecast
wherever in its evidence the telling stub stands. Supporting and refuting evidence from one
experiment, y+ and y-, told together should move it by what each moves it alone:

    residual = [L(y+, y-) + L(y-, y+)] / 2 - L(y+) - L(y-) + L(),     L the log odds in decibans.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bed.errors import DataError
from bed.information import checked_probabilities, weight_of_evidence_db

__all__ = ["POSITIONS", "Composition", "PositionBias", "composition_residual", "position_bias"]

Array = NDArray[np.float64]

POSITIONS = (1, 4, 7, 10)
"""Where the telling stub stands among ten."""


@dataclass(frozen=True)
class PositionBias:
    """How much more a stub counts that stands first.

    Attributes:
        per_episode: log odds at the first position minus the mean of the others; decibans.
        centred_mean_by_position: minus each episode's mean; decibans, one a position.
    """

    per_episode: Array
    centred_mean_by_position: Array

    @property
    def mean_db(self) -> float:
        """Mean over episodes, decibans; 0 where the position does not matter."""
        return float(self.per_episode.mean())


def position_bias(forecasts: ArrayLike) -> PositionBias:
    """Return the bias towards the first position.

    Args:
        forecasts: shape (num_episodes, 4), the telling stub at each of `POSITIONS`.

    Raises:
        DataError: for no episodes, another number of positions, NaN, or values outside [0, 1].
    """
    p = checked_probabilities(forecasts, "forecasts")
    if not p.size:
        raise DataError("no episodes: forecasts are empty, at least one row is needed")
    if p.ndim != 2 or p.shape[1] != len(POSITIONS):
        raise DataError(
            f"forecasts have shape {p.shape}; give (episodes, {len(POSITIONS)}), one a position"
        )
    level = _decibans(p)
    return PositionBias(
        level[:, 0] - level[:, 1:].mean(axis=1),
        (level - level.mean(axis=1, keepdims=True)).mean(axis=0),
    )


def _decibans(p: Array) -> Array:
    """Return log odds in decibans, p clipped."""
    return weight_of_evidence_db(0.5, p)


@dataclass(frozen=True)
class Composition:
    """By how much two contrary stubs together differ from the sum of each alone.

    Attributes:
        signed_per_episode: residuals by domain, decibans; positive where support prevails.
    """

    signed_per_episode: Mapping[str, Array]

    @property
    def signed_mean_by_domain(self) -> dict[str, float]:
        """Mean residual of each domain, decibans."""
        return {name: float(found.mean()) for name, found in self.signed_per_episode.items()}

    @property
    def abs_of_macro_mean(self) -> float:
        """Absolute value of the mean over domains; the figure to report, decibans."""
        return float(abs(np.mean(list(self.signed_mean_by_domain.values()))))

    @property
    def macro_of_abs_domain_mean(self) -> float:
        """Mean over domains of their absolute means, decibans."""
        return float(np.mean(np.abs(list(self.signed_mean_by_domain.values()))))

    @property
    def macro_mean_of_abs(self) -> float:
        """Mean over domains of the mean absolute residual, decibans."""
        return float(np.mean([np.abs(found).mean() for found in self.signed_per_episode.values()]))


def composition_residual(domains: Mapping[str, Mapping[str, ArrayLike]]) -> Composition:
    """Return the residuals of telling contrary evidence together.

    Args:
        domains: name -> forecasts, one an episode: `p0` without evidence, `p_support` and
            `p_refute` after one stub, `p_support_first` and `p_refute_first` after both.

    Raises:
        DataError: for no domains or episodes, lengths that differ, NaN, or values outside [0, 1].
    """
    if not domains:
        raise DataError("no domains: at least one is needed")
    return Composition({name: _residuals(name, given) for name, given in domains.items()})


def _residuals(domain: str, given: Mapping[str, ArrayLike]) -> Array:
    names = ("p0", "p_support", "p_refute", "p_support_first", "p_refute_first")
    if lacking := [name for name in names if name not in given]:
        raise DataError(f"domain {domain!r}: forecasts {lacking} are missing")
    found = [checked_probabilities(given[name], f"{domain}: {name}") for name in names]
    if len({p.shape for p in found}) > 1 or found[0].ndim != 1:
        raise DataError(f"domain {domain!r}: forecasts differ in length; give one an episode each")
    if not found[0].size:
        raise DataError(f"domain {domain!r}: no episodes, at least one is needed")
    none, support, refute, support_first, refute_first = map(_decibans, found)
    return np.asarray((support_first + refute_first) / 2.0 - support - refute + none)
