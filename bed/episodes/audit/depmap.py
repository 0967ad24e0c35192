"""The audit's rules for gene dependency."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from bed.domains import Verdict, reading
from bed.domains.depmap import CLAIMS, FUNCTIONAL
from bed.episodes.audit.checks import Check, View, none_of
from bed.episodes.audit.rules import Rules
from bed.episodes.depmap.builder import QUOTAS, SELECTIVE, TARGETS_PER_GENE
from bed.episodes.depmap.lines import DESCRIPTIVE
from bed.episodes.depmap.partners import is_reference
from bed.episodes.depmap.screen import EXPRESSED_FROM
from bed.evidence import Experiment, Fields, Hypothesis, Outcome

__all__ = ["RULES"]

_IMPLAUSIBLE = 1e-6


def _line(view: View) -> str:
    return str(view.episode.target.fields["cell_line"])


def _verdict(target: Hypothesis, outcome: Outcome) -> Verdict:
    own = Experiment("held out", target, fields=Fields(kind="knockout"))
    return reading(own, outcome).verdict


def _pair(fields: Fields) -> tuple[str, str]:
    return fields["gene"], fields["cell_line"]


def _measured(experiment: Experiment) -> Hashable:
    return _pair(experiment.fields) if experiment.fields["kind"] in FUNCTIONAL else None


def _genes(fields: Fields) -> set[str]:
    return {fields["gene"], *fields.get("coessential", ())}


def _targets(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    """P1: no near-constant and no unexpressed target genes."""
    yield none_of(
        "P1",
        "target genes that are hardly ever or nearly always dependencies",
        _near_constant(seen),
        f"{len({view.episode.unit for view in seen})} genes",
    )
    silent = (
        view.episode.id
        for view in seen
        for stub in view.episode.pool
        if stub.experiment.fields["kind"] == "expression"
        and _pair(stub.experiment.fields) == _pair(view.episode.target.fields)
        and stub.outcome.fields.get("log2_tpm", EXPRESSED_FROM) < EXPRESSED_FROM
    )
    yield none_of("P1", "targets not expressed in their line", silent, f"{len(seen)} episodes")


def _near_constant(seen: Sequence[View]) -> Iterator[str]:
    """Yield genes whose distinct stubs in other lines cannot come from a rate of 5-95 %."""
    knockouts: dict[str, dict[str, bool]] = defaultdict(dict)
    for view in seen:
        gene = view.episode.target.fields["gene"]
        for experiment, said in zip(view.experiments(), view.readings, strict=True):
            fields = experiment.fields
            if said and fields["gene"] == gene and fields["kind"] == "knockout":
                knockouts[gene][fields["cell_line"]] = said.supported
    for gene, found in sorted(knockouts.items()):
        num, hits = len(found), sum(found.values())
        too_rare = binom.cdf(hits, num, SELECTIVE[0]) < _IMPLAUSIBLE
        if too_rare or binom.sf(hits - 1, num, SELECTIVE[1]) < _IMPLAUSIBLE:
            yield gene


def _reference(seen: Sequence[View], info: Mapping[str, Any]) -> Iterator[Check]:
    if isinstance(seed := info.get("seed"), int):
        lines = sorted({_line(view) for view in seen})
        among = (line for line in lines if is_reference(seed, line))
        name = "targets in lines that partners were computed on"
        yield none_of("P5", name, among, f"{len(lines)} lines")


def _kinds(view: View) -> list[float]:
    found = [experiment.fields["kind"] for experiment in view.experiments()]
    return [found.count(kind) for kind in CLAIMS]


def _partners(view: View) -> list[float]:
    r = list(view.episode.target.fields.get("coessential", {}).values())
    return [len(r), max(r, default=0.0), float(np.sum(r))]


RULES = Rules(
    control_tier=6,
    unit="gene",
    unit_of=lambda target: str(target.fields["gene"]),
    units_named=_genes,
    balanced={
        "lineage": lambda view: str(view.episode.target.fields.get("lineage")),
        "cell line": _line,
    },
    group="lineage",
    quotas=QUOTAS,
    targets_per_unit=TARGETS_PER_GENE,
    counts=lambda said: said.verdict == "supporting",
    verdict=_verdict,
    own="knockouts or knockdowns of the target itself in its pool",
    repeated="a gene disturbed twice in one line of a pool",
    measured=_measured,
    measured_by_target=lambda target: _pair(target.fields),
    own_experiment=lambda target: "knockout:" + ":".join(_pair(target.fields)),
    experiment_fields=frozenset(
        {"kind", "gene", "cell_line", "lineage", "coessential", "top_quarter_from", *DESCRIPTIVE}
    ),
    features={
        "the kinds of assay in the pool": _kinds,
        "the strength of co-essential partners": _partners,
    },
    targets=_targets,
    more=_reference,
)
