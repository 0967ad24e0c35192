"""Seeds derived by name, never by order of arrival.

Every random draw in bed hangs on one run seed through the names of what it is for (episode, step,
candidate, branch, draw). The same names give the same draw with any number of workers.
"""

import hashlib

from numpy.random import PCG64, Generator

__all__ = ["derive_seed", "generator", "uniform"]


def derive_seed(*parts: int | str) -> int:
    """Return a 63-bit seed that depends on every part and on their order.

    Args:
        parts: the run seed and the names of what the draw is for.
    """
    tagged = (f"s{part}" if isinstance(part, str) else f"i{int(part)}" for part in parts)
    digest = hashlib.blake2b("\x1f".join(tagged).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def generator(*parts: int | str) -> Generator:
    """Return a NumPy generator seeded by `derive_seed` of the parts."""
    return Generator(PCG64(derive_seed(*parts)))


def uniform(seed: int) -> float:
    """Return the one number in (0, 1) that belongs to this seed.

    Simulators map it through an inverse CDF, so requests that share a seed get coupled outcomes.
    A keyed hash instead of a generator, because a draw must cost about a microsecond.
    """
    digest = hashlib.blake2b(f"{int(seed)}".encode(), digest_size=8).digest()
    # 52 bits: with 53 the largest would round to 1
    return ((int.from_bytes(digest, "big") >> 12) + 0.5) / 2.0**52
