"""Which units (genes, loci, ...) are seen in training, and which are held out.

By a salted hash of the name, so that a unit stays in its split whatever else the file holds.
"""

from bed.seeds import derive_seed, uniform

__all__ = ["SHARES", "split_of"]

SHARES = {"train": 0.6, "validation": 0.1, "test": 0.3}
_UNITS = {"depmap": "gene", "expression": "gene", "gwas": "locus"}


def split_of(seed: int, domain: str, unit: str) -> str:
    """Return the split of a unit: 60 % train, 10 % validation, 30 % test.

    Args:
        seed: of the build.
        domain: of the episodes; each domain hashes its own units.
        unit: what is split, such as a gene's symbol.
    """
    left = uniform(derive_seed(seed, f"{domain} {_UNITS.get(domain, 'unit')}", unit))
    for split, share in SHARES.items():
        left -= share
        if left < 0:
            return split
    return "test"
