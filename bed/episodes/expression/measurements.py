"""All measurements of one build, aligned on one list of genes and one list of contrasts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bed.domains.expression import LOG2_FOLD_CHANGE_ABOVE, PADJ_BELOW, Z_FROM
from bed.episodes.expression.contrasts import Contrast

__all__ = ["Measurements"]


@dataclass(frozen=True, slots=True)
class Measurements:
    """Statistics by gene and contrast.

    Attributes:
        genes: symbols, sorted.
        contrasts: sorted.
        values: statistic, named as outcomes name it -> genes x contrasts, NaN where absent.
        ensembl: gene -> Ensembl id, where told.
        excluded: what was left out, with counts.
    """

    genes: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    values: Mapping[str, NDArray[np.float64]]
    ensembl: Mapping[str, str] = field(default_factory=dict)
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of experiment: differential or zscore."""
        return "zscore" if "z" in self.values else "differential"

    @property
    def effect(self) -> NDArray[np.float64]:
        """Effects in units of the threshold; NaN where not measured."""
        if self.kind == "zscore":
            return self.values["z"] / Z_FROM
        return self.values["log2_fold_change"] / LOG2_FOLD_CHANGE_ABOVE

    def measured(self) -> NDArray[np.bool_]:
        """Return where there is an outcome."""
        return ~np.isnan(self.effect)

    def significant(self) -> NDArray[np.int8]:
        """Return +1 where a gene goes up significantly, -1 where down, else 0."""
        sign = np.sign(np.nan_to_num(self.effect)).astype(np.int8)
        if self.kind == "zscore":
            hit = np.abs(self.effect) >= 1
        else:
            hit = (np.abs(self.effect) > 1) & (self.values["p_adjusted"] < PADJ_BELOW)
        return np.where(hit, sign, 0).astype(np.int8)

    def analysed_together(self) -> NDArray[np.bool_]:
        """Return contrasts x contrasts: where both come from one analysis of one context.

        Such contrasts share their controls, so the noise of these stands in both. It shows where
        the mean count over all samples of the analysis is the same for every gene; without mean
        counts nothing shows.
        """
        num = len(self.contrasts)
        found = np.zeros((num, num), dtype=bool)
        if (means := self.values.get("base_mean")) is None:
            return found
        contexts = np.array([contrast.context for contrast in self.contrasts])
        known = ~np.isnan(means)
        for i in range(num):
            both = known & known[:, [i]]
            differ = both & (means != means[:, [i]])
            found[i] = (contexts == contexts[i]) & both.any(axis=0) & ~differ.any(axis=0)
        np.fill_diagonal(found, val=False)
        return found

    def outcome(self, gene: int, contrast: int) -> dict[str, float]:
        """Return the outcome fields of one measurement; see `bed.domains.expression`."""
        cells = {name: float(table[gene, contrast]) for name, table in self.values.items()}
        return {name: value for name, value in cells.items() if value == value}
