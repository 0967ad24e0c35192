"""A continuous exact world, and whole studies of it compiled by JAX into one program.

It loads JAX, so `import bed` leaves it alone.
"""

from bed.assays.draws import Pool, Uniforms
from bed.assays.rules import RULES, Exact, Factored, Random, Relevance, Rule, Screened
from bed.assays.study import Paths, assay_paths, assay_study, assay_uniforms

__all__ = [
    "RULES",
    "Exact",
    "Factored",
    "Paths",
    "Pool",
    "Random",
    "Relevance",
    "Rule",
    "Screened",
    "Uniforms",
    "assay_paths",
    "assay_study",
    "assay_uniforms",
]
