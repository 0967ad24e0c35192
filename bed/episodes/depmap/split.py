"""Who sees what: genes into train, validation and test, lines into reference and target lines.

Both by a salted hash of the name, so that a gene stays in its split whatever else the file holds.
"""

from bed.seeds import derive_seed, uniform

__all__ = ["SHARES", "gene_split", "is_reference"]

SHARES = {"train": 0.6, "validation": 0.1, "test": 0.3}
REFERENCE_SHARE = 0.6


def gene_split(seed: int, gene: str) -> str:
    """Return the split of a gene: 60 % train, 10 % validation, 30 % test."""
    left = uniform(derive_seed(seed, "depmap gene", gene))
    for split, share in SHARES.items():
        left -= share
        if left < 0:
            return split
    return "test"


def is_reference(seed: int, line: str) -> bool:
    """Return whether co-essential partners are computed on a line; targets use the others."""
    return uniform(derive_seed(seed, "depmap line", line)) < REFERENCE_SHARE
