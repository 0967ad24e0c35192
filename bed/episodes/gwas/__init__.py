"""Building episodes from the GWAS Catalog."""

from bed.episodes.gwas.builder import build_gwas
from bed.episodes.gwas.facts import GwasTables

__all__ = ["GwasTables", "build_gwas"]
