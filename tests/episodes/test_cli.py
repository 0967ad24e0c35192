import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bed.cli.episodes import app
from bed.episodes import EpisodeFile, read_episodes, write_episodes
from bed.episodes.depmap import Tables
from bed.errors import DataError

runner = CliRunner()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, small_file: EpisodeFile) -> Path:
    found = tmp_path_factory.mktemp("cli") / "episodes.parquet"
    write_episodes(found, small_file)
    return found


def options(tables: Tables) -> list[str]:
    return [
        text
        for role, path in tables.given().items()
        for text in (f"--{role.replace('_', '-')}", str(path))
    ]


def test_build_check_show(tmp_path: Path, tables: Tables, small_file: EpisodeFile) -> None:
    out = tmp_path / "episodes.parquet"
    asked = [*options(tables), "--out", str(out), "--seed", "3", "--max-episodes", "240"]
    built = runner.invoke(app, ["build", "depmap", *asked])
    assert built.exit_code == 0, built.output
    assert f"{len(small_file.episodes)} episodes" in built.stdout
    assert "left out: targets not expressed in the line" in built.stdout
    assert read_episodes(out).episodes == small_file.episodes
    checked = runner.invoke(app, ["check", str(out)])
    assert checked.exit_code == 0, checked.output
    assert "base rate" in checked.stdout
    shown = runner.invoke(app, ["show", str(out), "--id", small_file.episodes[0].id])
    assert shown.exit_code == 0, shown.output
    assert small_file.episodes[0].id in shown.stdout


def test_check_as_json(path: Path) -> None:
    found = runner.invoke(app, ["check", str(path), "--json"])
    report = json.loads(found.stdout)
    assert found.exit_code == 0
    assert report["file"] == "episodes.parquet"
    assert sum(report["states"].values()) == len(report["checks"])
    keys = {"domain", "principle", "name", "state", "found", "wanted"}
    assert keys == set(report["checks"][0])


def test_a_violation_exits_with_1(tmp_path: Path, small_file: EpisodeFile) -> None:
    short = EpisodeFile(small_file.episodes, small_file.info, small_file.held_out[::-1])
    write_episodes(tmp_path / "e.parquet", short)
    found = runner.invoke(app, ["check", str(tmp_path / "e.parquet")])
    assert found.exit_code == 1
    assert "violated" in found.stdout


def test_show_prints_every_stub(path: Path, small_file: EpisodeFile) -> None:
    episode = small_file.episodes[1]
    found = runner.invoke(app, ["show", str(path), "--id", episode.id], env={"COLUMNS": "300"})
    for stub, tag in zip(episode.pool, episode.tags, strict=True):
        assert tag in found.stdout
        assert stub.experiment.hypothesis.text.partition(":")[0] in found.stdout


def test_show_unknown_id(path: Path) -> None:
    found = runner.invoke(app, ["show", str(path), "--id", "nothing"])
    assert isinstance(found.exception, DataError)
    assert "no episode 'nothing'" in str(found.exception)


def test_errors_leave_no_file(tmp_path: Path, tables: Tables) -> None:
    out = tmp_path / "episodes.parquet"
    found = runner.invoke(app, ["build", "depmap", "--out", str(out)])
    assert isinstance(found.exception, DataError)
    assert list(tmp_path.iterdir()) == []


def test_an_input_is_never_overwritten(tmp_path: Path, tables: Tables) -> None:
    for role, path in tables.given().items():
        before = path.read_bytes()
        found = runner.invoke(app, ["build", "depmap", *options(tables), "--out", str(path)])
        assert isinstance(found.exception, DataError), role
        assert "is also an input" in str(found.exception)
        assert path.read_bytes() == before


def test_show_without_id_takes_a_test_episode(path: Path) -> None:
    shown = runner.invoke(app, ["show", str(path)])
    assert shown.exit_code == 0
    assert "(test, unit" in shown.stdout
