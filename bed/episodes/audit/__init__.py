"""`bed episodes check`: does a file keep the principles by which episodes are built?

The audit needs the file alone, not the tables that it was built from.
"""

from bed.episodes.audit import depmap, expression, generic, gwas
from bed.episodes.audit.checks import Check, State, views
from bed.episodes.audit.leakage import held_out, order, pools, splits
from bed.episodes.audit.predictors import name_only, tiers
from bed.episodes.audit.quotas import balance, relevance, sufficiency_thirds, targets
from bed.episodes.audit.rules import Rules
from bed.episodes.files import EpisodeFile
from bed.errors import DataError

__all__ = ["Check", "State", "audit"]

_RULES = {"depmap": depmap.RULES, "expression": expression.RULES, "gwas": gwas.RULES}


def audit(file: EpisodeFile) -> dict[str, list[Check]]:
    """Return every check of the principles P1 to P5 in their order, for each domain of the file.

    Args:
        file: all splits of an episode file.

    Raises:
        DataError: for a file without episodes, or of a domain that has no audit.
    """
    if not file.episodes:
        raise DataError("the file holds no episodes; build it again")
    parts = file.by_domain()
    if unknown := [domain for domain in parts if domain not in {"generic", *_RULES}]:
        raise DataError(
            f"no audit for the domain {unknown}; only for {sorted({'generic', *_RULES})}"
        )
    return {
        domain: _checks(part, _RULES[domain]) if domain in _RULES else generic.checks(part)
        for domain, part in parts.items()
    }


def _checks(file: EpisodeFile, rules: Rules) -> list[Check]:
    seen = views(file, rules.control_tier, rules.counts, rules.verdict)
    outcomes = [None if found is None else found.fields for found in file.held_out]
    features = {"the number of stubs of each tier": tiers(rules.control_tier), **rules.features}
    return [
        *targets(seen, file.info, rules),
        *balance(seen, file.info, rules),
        *relevance(seen, file.info, rules),
        *sufficiency_thirds(seen),
        *pools(seen, rules),
        *held_out(seen, outcomes, rules),
        *splits(seen, file.info, rules),
        *rules.more(seen, file.info),
        *order(seen),
        *name_only(seen, rules.balanced, features),
    ]
