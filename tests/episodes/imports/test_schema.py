import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bed.episodes.imports import EXAMPLES, JSON_SCHEMA, SCHEMAS, import_plain
from bed.episodes.imports.labels import STUB_LABELS, TARGET_LABELS
from bed.episodes.imports.mapping import COLUMNS
from bed.episodes.imports.schema import CSV_COLUMNS
from bed.errors import DataError

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
KEYWORDS = {
    *("$schema", "$defs", "$ref", "title", "description", "default", "type", "enum", "anyOf"),
    *("required", "properties", "additionalProperties", "items", "minItems", "minLength"),
    *("minProperties", "minimum", "maximum", "exclusiveMinimum"),
}


def is_valid(value: Any, schema: Any) -> bool:
    """A validator of the keywords that the schema uses."""
    assert schema.keys() <= KEYWORDS
    if "$ref" in schema:
        return is_valid(value, JSON_SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    kinds = TYPES[schema["type"]] if "type" in schema else (object,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and int in kinds):
        return False
    if "enum" in schema and (isinstance(value, bool) or value not in schema["enum"]):
        return False
    if "anyOf" in schema and not any(is_valid(value, option) for option in schema["anyOf"]):
        return False
    if isinstance(value, dict):
        return _is_valid_object(value, schema)
    if isinstance(value, list):
        items = schema.get("items", {})
        return len(value) >= schema.get("minItems", 0) and all(is_valid(i, items) for i in value)
    if isinstance(value, str):
        return bool(len(value) >= schema.get("minLength", 0))
    if isinstance(value, int | float):
        above = value > schema.get("exclusiveMinimum", -float("inf"))
        return bool(
            above
            and value >= schema.get("minimum", -float("inf"))
            and value <= schema.get("maximum", float("inf"))
        )
    return True


def _is_valid_object(value: dict[str, Any], schema: Any) -> bool:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
    others = value.keys() - properties.keys()
    return (
        len(value) >= schema.get("minProperties", 0)
        and set(schema.get("required", ())) <= value.keys()
        and all(is_valid(value[name], properties[name]) for name in properties if name in value)
        and (not others if more is False else all(is_valid(value[n], more) for n in others))
    )


EXAMPLE = [json.loads(line) for line in EXAMPLES["jsonl"].splitlines()]


def variants() -> list[tuple[str, Any, bool]]:
    """Lines with a change in one place, and whether they are still whole."""
    first = EXAMPLE[0]
    experiment = first["experiments"][0]
    changes: list[tuple[dict[str, Any], bool]] = [
        ({"label": 2}, False),
        ({"label": "1"}, False),
        ({"label": True}, False),
        ({"split": "dev"}, False),
        ({"split": "validation"}, True),
        ({"unit": "u"}, True),
        ({"id": ""}, False),
        ({"hypothesis": {"text": "t", "fields": {"a": [1, {"b": None}]}}}, True),
        ({"hypothesis": {"fields": {}}}, False),
        ({"experiments": []}, False),
        ({"extra": 1}, False),
        ({"held_out": {"p": 0.1}}, True),
        ({"held_out": "p"}, False),
        ({"prompts": {"2": {"system": "s", "user": "u"}}}, True),
        ({"prompts": {"2": {"system": "s"}}}, False),
    ]
    of_experiment: list[tuple[dict[str, Any], bool]] = [
        ({"cost": 0}, False),
        ({"cost": "1"}, False),
        ({"cost": True}, False),
        ({"is_repeatable": True}, True),
        ({"is_repeatable": 1}, False),
        ({"tier": 0}, False),
        ({"tier": 1.5}, False),
        ({"tier": 101}, False),
        ({"fields": []}, False),
        ({"result": ""}, False),
        ({"result": {"a": 1}}, True),
        ({"result": {"supported": "yes"}}, False),
        ({"supported": "true"}, False),
        ({"relation": {"tier": 2, "tag": "t"}}, True),
        ({"relation": {"tag": "t"}}, False),
        ({"relation": {"tier": -5, "tag": "t"}}, False),
        ({"relation": {"tier": 2, "tag": ""}}, False),
        ({"note": "n"}, False),
    ]
    found = [(str(change), {**first, **change}, good) for change, good in changes]
    for change, good in of_experiment:
        changed = {**first, "experiments": [{**experiment, **change}]}
        if change == {"result": ""}:
            del changed["experiments"][0]["supported"]
        found.append((str(change), changed, good))
    return found


@pytest.mark.parametrize("line", EXAMPLE)
def test_example_is_valid(line: Any) -> None:
    assert is_valid(line, JSON_SCHEMA)


@pytest.mark.parametrize(
    ("line", "good"), [pytest.param(line, good, id=name) for name, line, good in variants()]
)
def test_schema_and_import_agree(tmp_path: Path, line: Any, good: bool) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(line))
    assert is_valid(line, JSON_SCHEMA) is good
    if good:
        assert len(import_plain(path).episodes) == 1
    else:
        with pytest.raises(DataError):
            import_plain(path)


def test_account_line_is_valid() -> None:
    assert is_valid({"info": {"notes": []}}, JSON_SCHEMA)
    assert not is_valid({"info": 1}, JSON_SCHEMA)


def test_printed_schemas_name_everything() -> None:
    assert set(SCHEMAS) == {"edb", "jsonl", "csv"}
    text, end = json.JSONDecoder().raw_decode(SCHEMAS["jsonl"])
    assert text == JSON_SCHEMA
    assert SCHEMAS["jsonl"][end:].endswith(EXAMPLES["jsonl"])
    assert all(f"  {column} " in SCHEMAS["csv"] for column in CSV_COLUMNS)
    assert all(name in SCHEMAS["edb"] for names in COLUMNS.values() for name in names)
    for tables in (STUB_LABELS, TARGET_LABELS):
        for labels in tables.values():
            assert all(label.field in SCHEMAS["edb"] for label in labels)


@pytest.mark.parametrize("form", ["csv", "edb", "jsonl"])
def test_printed_lines_fit_a_terminal(form: str) -> None:
    before = SCHEMAS[form].partition("Example")[0]
    assert max(map(len, before.splitlines())) <= 120
