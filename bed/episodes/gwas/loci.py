"""Where a SNP lies: the locus that the split goes by, and the MHC."""

__all__ = ["is_in_mhc", "locus"]

_MILLION = 1_000_000
_BLOCK = 5
_MHC = (25 * _MILLION, 34 * _MILLION)
_MHC_BANDS = ("6p22.2", "6p22.1", "6p21.33", "6p21.32", "6p21.31", "6p21.3")
"""Cytobands that stand for the MHC where a position is lacking."""


def locus(region: str | None, chromosome: str | None, position: int | None) -> str | None:
    """Return the cytoband, else the chromosome's block of 5 Mb, or None for a SNP without a place.

    Args:
        region: cytoband, such as "16q12.2".
        chromosome: such as "16".
        position: base pairs.
    """
    if region is not None:
        return region
    if chromosome is None or position is None:
        return None
    start = position // (_BLOCK * _MILLION) * _BLOCK
    return f"{chromosome}:{start}-{start + _BLOCK} Mb"


def is_in_mhc(region: str | None, chromosome: str | None, position: int | None) -> bool:
    """Return whether a SNP lies in the MHC, chromosome 6 from 25 to 34 Mb.

    Args:
        region: cytoband, which decides where the place is not known.
        chromosome: such as "6".
        position: base pairs.
    """
    if chromosome is None or position is None:
        return region in _MHC_BANDS
    return chromosome == "6" and _MHC[0] <= position <= _MHC[1]
