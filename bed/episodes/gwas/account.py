"""What a reader of an episode file must know of its data, in sentences."""

from collections.abc import Mapping, Sequence

from bed.domains.gwas import NEIGHBOURHOOD, between
from bed.episodes.gwas.facts import Facts, GwasTables
from bed.episodes.gwas.splits import SplitBy
from bed.episodes.gwas.targets import Target

__all__ = ["copies", "limits", "what_cut"]

_SAME_GENE = (1, 2)


def limits(tables: GwasTables, split_by: SplitBy) -> list[str]:
    """Return what these files cannot tell.

    Args:
        tables: the input files.
        split_by: the rule of splitting.
    """
    notes = ["the catalog lists p < 1e-5 only: a negative is suggestive, not an absent effect"]
    if tables.efo is None:
        notes.append(
            "no trait mappings: traits count as related that share a mapped term, or a family or "
            "a word by their names, which approximates a shared EFO parent"
        )
    if tables.pathways is None:
        notes.append("no pathways: neighbours are SNPs within 500 kb, or of one cytoband")
    if split_by == "date":
        notes.append(
            "split by date of publication: a locus may stand in several splits; pools show nothing "
            "published after the target's study"
        )
    return notes


def copies(facts: Facts, targets: Sequence[Target]) -> list[str]:
    """Return how many stubs may repeat the target's signal or its study.

    Args:
        facts: the associations.
        targets: of the file.
    """
    pairs = [(target.at, stub) for target in targets for stub in target.pool.stubs]
    same_gene = [at for at in pairs if between(facts[at[0]], facts[at[1]]).tier in _SAME_GENE]
    near = [_are_near(facts, *at) for at in same_gene]
    papers = [found.paper for found in facts.associations]
    own = [papers[target] == papers[stub] for target, stub in pairs]
    return [
        f"stubs of tiers 1 and 2 within {NEIGHBOURHOOD // 1000} kb of the target, which may be "
        f"copies by linkage: {_share(near)}",
        f"stubs from the target's own paper: {_share(own)}",
    ]


def what_cut(possible: int, chosen: int, excluded: Mapping[str, int]) -> str:
    """Return how many targets there were, and what cut their number.

    Args:
        possible: targets with a pool.
        chosen: targets of the file.
        excluded: what was left out, by reason.
    """
    reasons = [
        f"{num} {name}"
        for name, num in sorted(excluded.items())
        if not name.startswith(("rows", "cells"))
    ]
    return (
        f"{possible} possible targets; balance within trait, direction and number of related "
        f"stubs, and the number asked for, leave {chosen}; left out before: "
        f"{'; '.join(reasons) or 'none'}"
    )


def _are_near(facts: Facts, one: int, other: int) -> bool:
    here, there = facts.associations[one], facts.associations[other]
    if here.position is None or there.position is None:
        return here.region == there.region
    return (
        here.chromosome == there.chromosome and abs(here.position - there.position) <= NEIGHBOURHOOD
    )


def _share(found: Sequence[bool]) -> str:
    share = f" ({sum(found) / len(found):.1%})" if found else ""
    return f"{sum(found)} of {len(found)}{share}"
