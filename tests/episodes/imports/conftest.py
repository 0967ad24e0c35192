import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bed.episodes import EpisodeFile
from bed.episodes.imports import ColumnMapping, import_edb
from tests.episodes.imports.released import Row, write_json

Imported = Callable[..., EpisodeFile]
Write = Callable[..., Path]


@pytest.fixture
def imported(tmp_path: Path) -> Imported:
    def run(*rows: Row, mapping: ColumnMapping | None = None) -> EpisodeFile:
        return import_edb([write_json(tmp_path / "made.parquet", rows)], mapping)

    return run


@pytest.fixture(scope="session")
def examples(shared_data: Path) -> list[dict[str, Any]]:
    path = shared_data / "golden" / "facts" / "worked_examples.json"
    found = json.loads(path.read_text())
    return [*found["examples"], *found["extra"]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written
