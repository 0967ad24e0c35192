"""Episodes from elsewhere: the released EDB-Bio files, and a user's own JSON Lines or CSV."""

from bed.episodes.imports.edb import import_edb
from bed.episodes.imports.mapping import ColumnMapping, read_mapping
from bed.episodes.imports.plain import export_jsonl, import_plain
from bed.episodes.imports.schema import EXAMPLES, JSON_SCHEMA, SCHEMAS

__all__ = [
    "EXAMPLES",
    "JSON_SCHEMA",
    "SCHEMAS",
    "ColumnMapping",
    "export_jsonl",
    "import_edb",
    "import_plain",
    "read_mapping",
]
