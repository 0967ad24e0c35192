"""Episodes from the DepMap tables: is gene G a dependency of cell line C?"""

from bed.episodes.depmap.builder import build_depmap
from bed.episodes.depmap.screen import Tables

__all__ = ["Tables", "build_depmap"]
