"""The forms that can be imported: a JSON Schema for JSONL, column tables for CSV and EDB files.

`SCHEMAS` is what a user is shown; `EXAMPLES` holds a complete example of each, as text that
imports (of EDB: the rows that a parquet file would hold, as JSON).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bed.episodes.imports.labels import STUB_LABELS, TARGET_LABELS
from bed.episodes.imports.mapping import COLUMNS, DOMAINS

__all__ = ["CSV_COLUMNS", "CSV_PREFIXES", "EXAMPLES", "JSON_SCHEMA", "LAST_TIER", "SCHEMAS", "keys"]

LAST_TIER = 100
"""The least relevant tier that can be stated."""

_TEXT = {"type": "string", "minLength": 1}
_FIELDS = {"type": "object", "description": "JSON values by name"}

JSON_SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "bed episodes: JSON Lines, one episode a line; an account may be the first line",
    "anyOf": [{"$ref": "#/$defs/episode"}, {"$ref": "#/$defs/account"}],
    "$defs": {
        "account": {
            "type": "object",
            "required": ["info"],
            "additionalProperties": False,
            "properties": {"info": {"type": "object", "description": "how the file was built"}},
        },
        "episode": {
            "type": "object",
            "required": ["hypothesis", "label", "experiments"],
            "additionalProperties": False,
            "properties": {
                "id": {**_TEXT, "description": "unique; FILE-LINE if absent"},
                "hypothesis": {"$ref": "#/$defs/claim"},
                "label": {"enum": [0, 1], "description": "1: the hypothesis turned out true"},
                "split": {"enum": ["train", "validation", "test"], "default": "test"},
                "unit": {**_TEXT, "description": "what is resampled; the episode if absent"},
                "experiments": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"$ref": "#/$defs/experiment"},
                },
                "held_out": {**_FIELDS, "description": "the outcome that gives the label"},
                "prompts": {
                    "type": "object",
                    "description": "prompts that came with the data, by number of stubs shown, "
                    "which the pool must have",
                    "additionalProperties": {
                        "type": "object",
                        "required": ["system", "user"],
                        "additionalProperties": False,
                        "properties": {"system": {"type": "string"}, "user": {"type": "string"}},
                    },
                },
            },
        },
        "claim": {
            "anyOf": [
                _TEXT,
                {
                    "type": "object",
                    "required": ["text"],
                    "additionalProperties": False,
                    "properties": {
                        "text": _TEXT,
                        "domain": {
                            "type": "string",
                            "default": "generic",
                            "description": "generic, depmap, gwas or expression; of an experiment "
                            "that of its episode if absent",
                        },
                        "fields": _FIELDS,
                    },
                },
            ]
        },
        "experiment": {
            "type": "object",
            "required": ["hypothesis"],
            "anyOf": [{"required": ["result"]}, {"required": ["supported"]}],
            "additionalProperties": False,
            "properties": {
                "id": {**_TEXT, "description": "unique in its episode; x1, x2, ... if absent"},
                "hypothesis": {
                    "$ref": "#/$defs/claim",
                    "description": "what this experiment itself tests",
                },
                "cost": {"type": "number", "exclusiveMinimum": 0, "default": 1},
                "is_repeatable": {"type": "boolean", "default": False},
                "tier": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": LAST_TIER,
                    "description": "relevance, 1 the most; else the domain says",
                },
                "fields": {**_FIELDS, "description": "the experiment's structure, never a result"},
                "result": {
                    "anyOf": [
                        _TEXT,
                        {
                            "type": "object",
                            "minProperties": 1,
                            "properties": {"supported": {"type": "boolean"}},
                        },
                    ],
                    "description": "in words, or the outcome's fields",
                },
                "supported": {
                    "type": "boolean",
                    "description": "whether the experiment's own hypothesis came out supported",
                },
                "relation": {
                    "type": "object",
                    "description": "relevance to the episode's hypothesis, as exported",
                    "required": ["tier", "tag"],
                    "additionalProperties": False,
                    "properties": {
                        "tier": {"type": "integer", "minimum": 1, "maximum": LAST_TIER},
                        "tag": _TEXT,
                    },
                },
            },
        },
    },
}

CSV_COLUMNS: Mapping[str, str] = {
    "episode": "id of the episode; its rows need not be neighbours (required)",
    "hypothesis": "the episode's hypothesis (required in its first row)",
    "label": "0 or 1 (required in its first row)",
    "split": "train, validation or test; test if blank",
    "unit": "what is resampled; the episode if blank",
    "domain": "generic (if blank), depmap, gwas or expression",
    "experiment": "id of the experiment; x1, x2, ... if blank",
    "local_hypothesis": "what this experiment itself tests (required)",
    "result": "in words (this, `supported` or an `outcome.` column is required)",
    "supported": "true or false: whether the local hypothesis came out supported",
    "cost": "above 0; 1 if blank",
    "tier": "relevance, 1 the most; the domain says if blank",
}
CSV_PREFIXES: Mapping[str, str] = {
    "target.": "field X of the episode's hypothesis",
    "local.": "field X of the local hypothesis",
    "field.": "field X of the experiment",
    "outcome.": "field X of the outcome",
}

_JSONL_EXAMPLE = (
    {
        "id": "caffeine-1",
        "hypothesis": "Caffeine lowers the reaction time of tired drivers.",
        "label": 1,
        "split": "test",
        "experiments": [
            {
                "id": "lab",
                "hypothesis": "Caffeine lowers the reaction time of rested students.",
                "cost": 2.5,
                "tier": 2,
                "result": "reaction time fell by 12 ms (95% CI 4 to 20)",
                "supported": True,
            },
            {
                "id": "survey",
                "hypothesis": {"text": "Tired drivers who drink coffee report fewer near misses."},
                "tier": 1,
                "fields": {"kind": "survey"},
                "result": {"odds_ratio": 0.97, "supported": False},
            },
        ],
    },
    {
        "hypothesis": "Napping lowers the reaction time of tired drivers.",
        "label": 0,
        "split": "train",
        "experiments": [
            {"hypothesis": "A nap of 20 minutes helps pilots.", "supported": False},
        ],
    },
)
_CSV_EXAMPLE = """\
episode,hypothesis,label,split,experiment,local_hypothesis,result,supported,cost,tier,field.kind
caffeine-1,Caffeine helps tired drivers.,1,test,lab,Caffeine helps students.,12 ms,true,2,2,lab
caffeine-1,,,,survey,Coffee drinkers report fewer near misses.,odds ratio 0.97,false,,1,survey
nap-1,Napping helps tired drivers.,0,train,,A nap helps pilots.,,false,1,1,lab
"""
_GENE = {"Gene": "AAA1", "name": "made-up gene 1", "family": "made-up family"}
_LINE = {
    "Cell line": "LINE1",
    "DepMap": "ACH-000001",
    "lineage": "Lung",
    "disease": "Non-Small Cell Lung Cancer",
}
_EDB_EXAMPLE = (
    {
        "episode_id": "aaaa0001-001",
        "domain": "depmap",
        "split": "test",
        "k": 2,
        "label": 0,
        "target": {"gene": _GENE, "cell_line": _LINE},
        "stubs": [
            {
                "tag": "target gene knocked out in a different cell line of the same lineage",
                "modality": "knockout",
                "gene": _GENE,
                "cell_line": {**_LINE, "Cell line": "LINE2", "DepMap": "ACH-000002"},
                "result": {"Chronos gene-effect": "-0.45", "P(dependency)": "0.31"},
            },
            {
                "tag": "an unrelated gene knocked out in the target cell line",
                "modality": "knockout",
                "gene": {"Gene": "BBB2"},
                "cell_line": _LINE,
                "result": {"Chronos gene-effect": "-0.02", "P(dependency)": "0.03"},
            },
        ],
    },
)

EXAMPLES: Mapping[str, str] = {
    "edb": json.dumps(_EDB_EXAMPLE, indent=2),
    "jsonl": "".join(json.dumps(line) + "\n" for line in _JSONL_EXAMPLE),
    "csv": _CSV_EXAMPLE,
}


def keys(name: str) -> tuple[str, ...]:
    """Return the keys that a definition of the JSON Schema knows.

    Args:
        name: "account", "episode", "experiment" or "relation".
    """
    if name == "relation":
        return tuple(JSON_SCHEMA["$defs"]["experiment"]["properties"]["relation"]["properties"])
    return tuple(JSON_SCHEMA["$defs"][name]["properties"])


def _csv_text() -> str:
    width = max(map(len, CSV_COLUMNS))
    named = [f"  {name:<{width}}  {what}" for name, what in CSV_COLUMNS.items()]
    prefixed = [f"  {prefix + 'X':<{width}}  {what}" for prefix, what in CSV_PREFIXES.items()]
    return "\n".join(
        [
            "CSV, comma-separated, UTF-8, with a header; one row an experiment.",
            "Values of an episode stand in its first row and may be blank or repeated in others.",
            "",
            *named,
            *prefixed,
            "",
            "Cells of the last four kinds are read as the domain has the field: genes, SNPs and",
            "other names are text to the letter, measurements are numbers. Fields that no domain",
            "knows are JSON values where they can be (3, 0.5, 1e-05, true, [1]), others are text;",
            "a column with 001 or 1E5 in it holds ids, and all its numbers stay text. Write",
            '"""19""" for the text 19. Blank cells are absent.',
            "",
            "Example:",
            EXAMPLES["csv"],
        ]
    )


def _edb_text() -> str:
    return "\n".join(
        [
            "EDB-Bio parquet files: one row an episode and a number k of stubs shown.",
            "Column by role, with the names accepted (the first present counts):",
            *(f"  {role:<8}  {', '.join(names)}" for role, names in COLUMNS.items()),
            "",
            "Needed: episode, label, and either target and stubs or user. stubs is a list of",
            "structs, or JSON text; target a struct or JSON text. Blocks may be nested or not.",
            f"Domains: {', '.join(DOMAINS)} (tahoe is imported as expression). A domain or split",
            "without a column is taken from the words of the file's path.",
            "",
            "Other names are mapped by a TOML file:",
            "  [columns]",
            '  episode = "uid"',
            "  [fields.tahoe]",
            '  "compound" = "Drug"',
            "",
            *_label_lines(),
            "",
            "Example, a file's rows as JSON:",
            EXAMPLES["edb"],
        ]
    )


def _label_lines() -> Iterator[str]:
    yield "Fields with their labels, compared without case and punctuation; * hidden as a result:"
    for domain, stub_labels in STUB_LABELS.items():
        yield f"  {domain}"
        more = [label for label in TARGET_LABELS[domain] if label not in stub_labels]
        for label in stub_labels:
            mark = "*" if label.is_result else " "
            yield f"  {mark} {label.field:<22} {', '.join(label.names)}".rstrip()
        for label in more:
            yield f"    {label.field:<22} {', '.join(label.names)} (target)".rstrip()


SCHEMAS: Mapping[str, str] = {
    "edb": _edb_text(),
    "jsonl": json.dumps(JSON_SCHEMA, indent=2) + "\n\nExample:\n" + EXAMPLES["jsonl"],
    "csv": _csv_text(),
}
"""Form -> what is printed of it."""
