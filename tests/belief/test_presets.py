"""Released models by name."""

from pathlib import Path

import pytest

from bed.belief.presets import DATASET, DATASET_VERSION, PRESETS
from bed.engine import load_engine

RELEASED = {
    "EdisonScientific/Ibis0-30B-A3B-Classifier": "classifier",
    "EdisonScientific/Ibis0-30B-A3B-NonThinking": "verbal",
    "EdisonScientific/Ibis0-30B-A3B-Thinking": "verbal",
    "EdisonScientific/Ibis0-BED-Simulator": "generative",
}


def test_every_released_name_is_a_preset_of_its_kind() -> None:
    assert {name: preset["kind"] for name, preset in PRESETS.items()} == RELEASED
    assert all(preset["model"] == name for name, preset in PRESETS.items())
    assert f"{DATASET} {DATASET_VERSION}" == "EdisonScientific/EDB-Bio v1.0.0"


def test_only_the_thinking_model_thinks() -> None:
    assert [name for name, preset in PRESETS.items() if preset.get("thinking")] == [
        "EdisonScientific/Ibis0-30B-A3B-Thinking"
    ]


@pytest.mark.parametrize("name", RELEASED)
def test_a_preset_is_a_table_of_an_engine_file_and_its_model_can_be_another(
    tmp_path: Path, name: str
) -> None:
    is_simulator = RELEASED[name] == "generative"
    table, other = ("simulator", "belief") if is_simulator else ("belief", "simulator")
    file = tmp_path / "engine.toml"
    file.write_text(
        '[endpoints.judge]\nurls = ["http://127.0.0.1:1"]\n'
        f'[{other}]\nkind = "stand-in"\n'
        f'[{table}]\npreset = "{name}"\nendpoint = "judge"\nmodel = "my/own"\n'
    )
    assert getattr(load_engine(file), table).model == "my/own"
