"""How strongly each contrast moves the transcriptome: the share of genes that respond.

Over training genes alone, so that no summary tells of a held-out gene.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bed.episodes.expression.measurements import Measurements

__all__ = ["MIN_TESTED", "Summaries", "summarise"]

MIN_TESTED = 50
"""Genes that a share must rest on."""


@dataclass(frozen=True, slots=True)
class Summaries:
    """One number of each a contrast.

    Attributes:
        num_significant: training genes that respond either way.
        num_tested: training genes measured.
        median_share: of significant among tested genes, over the contrasts that have a summary.
    """

    num_significant: NDArray[np.int64]
    num_tested: NDArray[np.int64]
    median_share: float

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which contrasts have a summary."""
        return self.num_tested >= MIN_TESTED

    def outcome(self, contrast: int) -> dict[str, float | int]:
        """Return the outcome fields of a contrast's summary; see `bed.domains.expression`."""
        hits, tested = int(self.num_significant[contrast]), int(self.num_tested[contrast])
        return {
            "share_significant": hits / tested,
            "num_significant": hits,
            "num_tested": tested,
        }


def summarise(measurements: Measurements, training: NDArray[np.bool_]) -> Summaries:
    """Return the summary of every contrast.

    Args:
        measurements: all tables.
        training: which genes are training genes.
    """
    tested = measurements.measured()[training].sum(axis=0)
    hits = (measurements.significant()[training] != 0).sum(axis=0)
    known = tested >= MIN_TESTED
    median = float(np.median(hits[known] / tested[known])) if known.any() else 0.0
    return Summaries(hits, tested, median)
