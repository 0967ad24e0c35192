"""Episodes from differential expression: does a drug or a knock-out move gene G in context C?"""

from bed.episodes.expression.builder import build_expression
from bed.episodes.expression.tables import Columns, ExpressionTables

__all__ = ["Columns", "ExpressionTables", "build_expression"]
