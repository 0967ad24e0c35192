"""The wording and the fields of hypotheses, experiments and episodes."""

from functools import cache
from typing import Any

import numpy as np

from bed.domains import reading, relation
from bed.domains.claims import assay_claim
from bed.domains.depmap import CLAIMS
from bed.episodes.depmap.partners import Partners
from bed.episodes.depmap.pools import Draw, Pool
from bed.episodes.depmap.screen import Screen
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub

__all__ = ["Writer"]


class Writer:
    """Turns drawn indices into values.

    Args:
        screen: the aligned tables.
        partners: the co-essential partners of each gene.
    """

    def __init__(self, screen: Screen, partners: Partners) -> None:
        self._screen = screen
        self._coessential = cache(partners.fields)
        self._decided_by = (
            "bins"
            if screen.is_binned
            else "effect"
            if screen.probability is None
            else "probability"
        )
        self.experiment = cache(self._experiment)

    def episode(self, gene: int, line: int, pool: Pool, split: str) -> tuple[Episode, Outcome]:
        """Return the episode, and apart from it the held-out outcome that gives its label."""
        screen = self._screen
        held_out = self.experiment("knockout", gene, line)
        outcome = self._outcome("knockout", gene, line)
        target = held_out.hypothesis
        stubs = tuple(self._stub(draw) for draw in pool.draws)
        relations = [relation(target, stub.experiment) for stub in stubs]
        return Episode(
            id=f"depmap:{screen.genes[gene]}:{screen.lines[line]}",
            target=target,
            label=int(reading(held_out, outcome).supported),
            pool=stubs,
            tiers=tuple(item.tier for item in relations),
            tags=tuple(item.tag for item in relations),
            split=split,
            unit=screen.genes[gene],
        ), outcome

    def _stub(self, draw: Draw) -> Stub:
        at = (draw.kind, draw.gene, draw.line)
        return Stub(self.experiment(*at), self._outcome(*at))

    def _outcome(self, kind: str, gene: int, line: int) -> Outcome:
        return Outcome(Fields(self._screen.outcome(kind, gene, line)))

    def _experiment(self, kind: str, gene: int, line: int) -> Experiment:
        screen = self._screen
        name, cell = screen.genes[gene], screen.lines[line]
        where: dict[str, Any] = {
            "gene": name,
            "cell_line": cell,
            "lineage": screen.lineages[line],
            "coessential": self._coessential(gene),
            **screen.described.get(cell, {}),
        }
        more = {"top_quarter_from": self._top_quarter(gene)} if kind == "expression" else {}
        text = assay_claim(kind, where | more, self._decided_by)
        return Experiment(
            id=f"{kind}:{name}:{cell}",
            hypothesis=Hypothesis(text, "depmap", Fields(claim=CLAIMS[kind], **where)),
            fields=Fields(kind=kind, **where, **more),
        )

    def _top_quarter(self, gene: int) -> float:
        """Return the 75th percentile of the gene's log2(TPM + 1) over lines."""
        assert self._screen.expression is not None
        return round(float(np.nanpercentile(self._screen.expression[gene], 75)), 3)
