"""`bed serve` as a user meets it, over a small HTTP server that plays vLLM."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.files import written
from tests.test_serve import STAND_IN, ends, lives

COMMAND = [sys.executable, "-c", "from bed.cli import main; main()", "serve"]


@pytest.fixture
def engine_file(tmp_path: Path) -> Path:
    """An engine file with two servers, whose vLLM is the stand-in."""
    package = tmp_path / "packages" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    (package / "api_server.py").write_text(STAND_IN)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/packages exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    plain = {"model": "tiny", "kind": "chat", "device": "cpu", "python": "python"}
    tables = {
        "belief": {"kind": "stand-in"},
        "simulator": {"kind": "stand-in"},
        "serve": {name: {**plain, "port": free_port()} for name in ("judge", "writer")},
    }
    return written(tmp_path, tables)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


def child_in(log: Path) -> int:
    lines = [line.split() for line in log.read_text().splitlines()]
    return next(int(words[1]) for words in lines if words[0] == "child")


def test_servers_run_until_the_command_is_ended(engine_file: Path) -> None:
    with start(engine_file) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "2 ready; end with Ctrl-C\n"
        children = [child_in(engine_file.parent / f"{name}.log") for name in ("judge", "writer")]
        assert all(map(lives, children))
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert all(map(ends, children))


def test_a_second_interrupt_leaves_no_server_behind(
    engine_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODE", "deaf")  # they end by SIGKILL alone, after their time of grace
    with start(engine_file, "judge") as process:
        assert process.stdout is not None
        process.stdout.readline()
        child = child_in(engine_file.parent / "judge.log")
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        assert process.poll() is None
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert ends(child)


def test_only_the_named_servers_start_and_logs_go_where_they_shall(
    engine_file: Path, tmp_path: Path
) -> None:
    with start(engine_file, "writer", "--logs", tmp_path / "logs") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1 ready; end with Ctrl-C\n"
        process.terminate()
        process.communicate(timeout=60)
    assert [path.name for path in (tmp_path / "logs").iterdir()] == ["writer.log"]


def test_a_server_that_ends_by_itself_ends_all(engine_file: Path) -> None:
    with start(engine_file) as process:
        assert process.stdout is not None
        process.stdout.readline()
        children = [child_in(engine_file.parent / f"{name}.log") for name in ("judge", "writer")]
        parent = Path(f"/proc/{children[0]}/stat").read_text().rpartition(")")[2].split()[1]
        subprocess.run(["kill", "-KILL", parent], check=True)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "the server 'judge' ended by itself" in said
    assert all(map(ends, children))


@pytest.mark.parametrize(
    ("tables", "names", "message"),
    [
        ({}, ["judge"], "names no servers; give it a table [serve.NAME]"),
        (
            {"serve": {"judge": {"model": "m", "kind": "chat", "port": 8101}}},
            ["jugde"],
            "has no server 'jugde'; use one of judge",
        ),
    ],
    ids=["none", "unknown"],
)
def test_a_server_that_is_not_in_the_file_is_named(
    tmp_path: Path, tables: dict[str, object], names: list[str], message: str
) -> None:
    parts = {"belief": {"kind": "stand-in"}, "simulator": {"kind": "stand-in"}}
    done = subprocess.run(
        [*COMMAND, written(tmp_path, {**parts, **tables}), *names], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr
