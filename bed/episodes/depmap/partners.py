"""Co-essential partners: genes whose knockout effects rise and fall together over lines.

Pearson correlation over the reference lines alone, a missing effect taken as the gene's mean.
Partners are training genes for every gene, so that no field tells of a held-out gene's screen.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bed.evidence import Fields
from bed.seeds import derive_seed, uniform

__all__ = ["Partners", "is_reference"]

NUM_PARTNERS = 10
FLOOR = 0.2
NOISE_DEVIATIONS = 3.0
MIN_VARIED = 5
_CHUNK = 1024
_REFERENCE_SHARE = 0.6


def is_reference(seed: int, line: str) -> bool:
    """Return whether partners are computed on a line, by a salted hash; targets use the others."""
    return uniform(derive_seed(seed, "depmap line", line)) < _REFERENCE_SHARE


class Partners:
    """The partners of every gene of a screen.

    Args:
        genes: symbols, sorted.
        effects: genes x reference lines; NaN where not measured.
        candidates: which genes may be partners.
    """

    def __init__(
        self,
        genes: tuple[str, ...],
        effects: NDArray[np.float64],
        candidates: NDArray[np.bool_],
    ) -> None:
        self.floor = max(FLOOR, NOISE_DEVIATIONS / max(effects.shape[1], 1) ** 0.5)
        self._genes = genes
        self._z = _standardised(effects)
        self._of = np.flatnonzero(candidates & self._z.any(axis=1))
        self._z_of = self._z[self._of]

    @cached_property
    def top(self) -> list[list[tuple[int, float]]]:
        """The best partners of each gene: (index, correlation), best first."""
        found: list[list[tuple[int, float]]] = []
        for start in range(0, len(self._genes), _CHUNK):
            found += self._best(np.arange(start, min(start + _CHUNK, len(self._genes))))
        return found

    def _best(self, rows: NDArray[np.int64]) -> list[list[tuple[int, float]]]:
        r = np.round(self._z[rows] @ self._z_of.T, 3)
        r[rows[:, None] == self._of[None, :]] = -1
        keep = min(NUM_PARTNERS, r.shape[1])
        # A stable order: ties of the rounded correlation go to the name that sorts first.
        cut = -np.partition(-r, keep - 1, axis=1)[:, keep - 1] if keep else np.ones(len(rows))
        best = []
        for values, least in zip(r, cut, strict=True):
            at = np.flatnonzero(values >= max(least, self.floor))
            at = at[np.argsort(-values[at], kind="stable")][:keep]
            best.append([(int(self._of[i]), float(values[i])) for i in at])
        return best

    def fields(self, gene: int) -> Fields:
        """Return {partner: correlation} as hypotheses and experiments carry it."""
        return Fields({self._genes[i]: r for i, r in self.top[gene]})

    def related(self, gene: int) -> NDArray[np.bool_]:
        """Return which genes correlate at the floor or above, so that none is called unrelated."""
        found = np.zeros(len(self._genes), dtype=bool)
        found[self._of] = np.round(self._z_of @ self._z[gene], 3) >= self.floor
        found[gene] = True
        return found


def _standardised(effects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of mean 0 and norm 1; rows that hardly vary are 0 and correlate with nothing."""
    known = ~np.isnan(effects)
    num = known.sum(axis=1, keepdims=True)
    filled = np.where(known, effects, 0.0)
    mean = filled.sum(axis=1, keepdims=True) / np.maximum(num, 1)
    centred = np.where(known, filled - mean, 0.0)
    norm = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    # Binned rows: lines away from the median bin. One odd line alone would give r = 1 by chance.
    median = np.array(
        [np.median(row[ok]) if ok.any() else 0.0 for row, ok in zip(effects, known, strict=True)]
    )
    varied = (known & (effects != median[:, None])).sum(axis=1, keepdims=True) >= MIN_VARIED
    usable = varied & (norm > 0)
    return np.where(usable, centred / np.where(norm > 0, norm, 1.0), 0.0)
