"""Engine files for tests: tables of TOML and the folder that they stand in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bed.engine import Engine, load_engine
from tests.doubles import template

__all__ = ["engine", "written"]


def written(folder: Path, tables: Mapping[str, Any]) -> Path:
    """Write an engine file and return its path."""
    path = folder / "engine.toml"
    path.write_text("\n".join(_lines("", tables)) + "\n")
    return path


def engine(folder: Path, classifier: str, chat: str, **more: Any) -> Engine:
    """An engine whose parts are served by two endpoints."""
    tables = {
        "endpoints": {"judge": {"urls": [classifier]}, "chat": {"urls": [chat]}},
        "belief": {
            "kind": "classifier",
            "endpoint": "judge",
            "model": "tiny",
            "tokenizer": template().tokenizer,
        },
        "simulator": {"kind": "generative", "endpoint": "chat", "model": "tiny"},
        "naive": {"endpoint": "chat", "model": "tiny"},
        **more,
    }
    return load_engine(written(folder, tables))


def _lines(name: str, table: Mapping[str, Any]) -> list[str]:
    here = [f"{key} = {_value(v)}" for key, v in table.items() if not isinstance(v, Mapping)]
    below = [
        line
        for key, inner in table.items()
        if isinstance(inner, Mapping)
        for line in _lines(f"{name}.{key}" if name else key, inner)
    ]
    return [*([f"[{name}]"] if name else []), *here, *below]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str | Path) else str(value)
