"""Files written whole or not at all, by one process at a time."""

from pathlib import Path

import pytest

from bed.atomic import held, require_writable, written_whole
from bed.errors import DataError


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def breaks_off() -> None:
        with written_whole(path) as beside:
            beside.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        breaks_off()
    assert path.read_text() == "old"
    with written_whole(path) as beside:
        beside.write_text("new")
    assert path.read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_write_that_the_system_refuses_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(DataError, match="nowhere/file cannot be written: No such"):
        require_writable(path)
    with pytest.raises(DataError, match="cannot be written: it is a folder"):
        require_writable(tmp_path)
    with (
        pytest.raises(DataError, match="nowhere/file cannot be written"),
        written_whole(path) as beside,
    ):
        beside.write_text("x")


def test_a_lock_is_held_once_and_let_go(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with held(lock), pytest.raises(DataError, match="another process holds"), held(lock):
        pass
    with held(lock):
        pass
    assert not lock.exists()
