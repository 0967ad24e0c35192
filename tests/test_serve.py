"""Servers without vLLM: a small HTTP server plays its part."""

import json
import os
import signal
import socket
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from bed.errors import DataError
from bed.serve import Server, ServerError, ServeSpec, launch, require_head

# Plays `python -m vllm.entrypoints.openai.api_server`: a parent that answers and a child that
# ignores SIGTERM and outlives it, as vLLM's engine core does.
STAND_IN = """\
import http.server, os, signal, sys, time
args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
mode = os.environ.get("MODE", "good")
print("loading", args["--model"], flush=True)
if mode == "crash":
    print("RuntimeError: no such head", flush=True)
    sys.exit(3)
if mode == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("child", os.getpid(), flush=True)
    time.sleep(600)
started = time.monotonic()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        late = mode == "never" or time.monotonic() - started < 1
        self.send_response(503 if late else 200)
        self.end_headers()
    def log_message(self, *given):
        pass
http.server.HTTPServer((args["--host"], int(args["--port"])), Handler).serve_forever()
"""

Launch = Callable[..., Server]


@pytest.fixture
def port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter whose vLLM is the stand-in."""
    package = tmp_path / "packages" / "vllm" / "entrypoints" / "openai"
    package.mkdir(parents=True)
    (package / "api_server.py").write_text(STAND_IN)
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/packages exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return script


def spec(port: int, python: Path | None = None, mode: str = "good", **more: object) -> ServeSpec:
    settings = {"model": "tiny", "kind": "chat", "device": "cpu", **more}
    return ServeSpec(port=port, python=python, env={"MODE": mode}, **settings)  # type: ignore[arg-type]


def child_of(server: Server) -> int:
    lines = [line.split() for line in server.log.read_text().splitlines()]
    return next(int(words[1]) for words in lines if words[0] == "child")


def lives(pid: int) -> bool:
    """Whether a process runs; one that ended and was not fetched yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ends(pid: int) -> bool:
    until = time.monotonic() + 5
    while lives(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not lives(pid)


def test_serves_until_stopped_and_takes_its_children_along(
    port: int, python: Path, tmp_path: Path
) -> None:
    with launch(spec(port, python), tmp_path / "logs" / "server.log") as server:
        server.wait(timeout=20)
        child = child_of(server)
        assert urllib.request.urlopen(f"{server.url}/health", timeout=5).status == 200
        assert lives(child)
    assert not server.is_running
    assert ends(child)
    server.stop()


def test_children_of_a_killed_server_do_not_stay(port: int, python: Path, tmp_path: Path) -> None:
    with launch(spec(port, python), tmp_path / "log") as server:
        server.wait(timeout=20)
        child = child_of(server)
        os.kill(server.pid, signal.SIGKILL)
        assert ends(server.pid)
        assert not server.is_running
        assert lives(child)
    assert ends(child)


@pytest.mark.parametrize("hold", ["ignores SIGTERM", "stopped"])
def test_a_server_that_does_not_end_is_killed(
    port: int, python: Path, tmp_path: Path, hold: str
) -> None:
    mode = "deaf" if hold == "ignores SIGTERM" else "good"
    server = launch(spec(port, python, mode), tmp_path / "log")
    server.wait(timeout=20)
    if hold == "stopped":
        os.kill(server.pid, signal.SIGSTOP)
    server.stop(grace=0.3)
    assert ends(server.pid)
    assert ends(child_of(server))


def test_one_that_crashes_says_the_end_of_its_log_and_keeps_it(
    port: int, python: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        with (
            launch(spec(port, python, "crash"), log) as server,
            pytest.raises(ServerError, match=r"'tiny' ended with status 3(.|\n)*no such head"),
        ):
            server.wait(timeout=20)
    assert log.read_text().count("no such head") == 2
    assert log.read_text().startswith(f"$ {python} -m vllm.entrypoints.openai.api_server")


def test_one_that_never_answers_is_stopped(port: int, python: Path, tmp_path: Path) -> None:
    server = launch(spec(port, python, "never"), tmp_path / "log")
    with pytest.raises(ServerError, match=r"did not answer on .*/health within 1\.5 s"):
        server.wait(timeout=1.5)
    assert not server.is_running
    assert ends(child_of(server))


def test_progress_tells_seconds_and_the_last_line(
    port: int, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bed.serve._TOLD_EVERY", 0.2)
    told: list[tuple[float, str]] = []
    with launch(spec(port, python), tmp_path / "log") as server:
        server.wait(timeout=20, progress=lambda seconds, line: told.append((seconds, line)))
    assert [seconds for seconds, _ in told] == sorted(seconds for seconds, _ in told)
    assert told[-1][1].startswith("child ")


def test_refuses_a_port_in_use(port: int, python: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(DataError, match=rf"port {port} for 'tiny' .*name another port"):
            launch(spec(port, python), tmp_path / "log")


def test_says_that_an_interpreter_is_absent(port: int, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"cannot be started: .*nowhere.*check `python`"):
        launch(spec(port, tmp_path / "nowhere"), tmp_path / "log")


def test_a_log_of_the_spec_goes_first(port: int, python: Path, tmp_path: Path) -> None:
    with launch(spec(port, python, log=tmp_path / "own"), tmp_path / "log") as server:
        assert server.log == tmp_path / "own"
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("more", "holds", "lacks"),
    [
        pytest.param(
            {"kind": "classifier"},
            "--runner pooling --convert classify --enforce-eager --dtype float32",
            "--max-logprobs",
            id="classifier-cpu",
        ),
        pytest.param(
            {"kind": "chat"},
            "--max-logprobs 100 --enforce-eager --no-enable-chunked-prefill",
            "--runner",
            id="chat-cpu",
        ),
        pytest.param(
            {"kind": "chat", "device": "gpu"},
            "--max-logprobs 100",
            "--enforce-eager",
            id="chat-gpu",
        ),
        pytest.param(
            {"device": "gpu", "dtype": "bfloat16", "max_model_len": 512, "revision": "holdout-1"},
            "--dtype bfloat16 --max-model-len 512 --revision holdout-1",
            "--runner",
            id="settings",
        ),
        pytest.param(
            {"extra_args": ("--tensor-parallel-size", "2")},
            "--tensor-parallel-size 2",
            "--revision",
            id="extra-arguments",
        ),
    ],
)
def test_command(port: int, more: dict[str, object], holds: str, lacks: str) -> None:
    command = " ".join(spec(port, **more).command())  # type: ignore[arg-type]
    assert f"--model tiny --served-model-name tiny --host 127.0.0.1 --port {port}" in command
    assert holds in command
    assert lacks not in command


def test_a_folder_is_found_beside_the_file_and_served_by_its_name(
    port: int, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    command = " ".join(spec(port).command(tmp_path))
    assert f"--model {tmp_path / 'tiny'} --served-model-name tiny " in command


def test_environment_of_a_cpu_server(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "7")
    found = spec(port).environment()
    assert found["VLLM_CPU_KVCACHE_SPACE"] == "7"
    cores = {int(core) for core in found["VLLM_CPU_OMP_THREADS_BIND"].split(",")}
    assert cores == os.sched_getaffinity(0)
    assert found["MODE"] == "good"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": " "}, "needs the name or folder"),
        ({"port": 0}, r"port 0 of 'tiny' must be in \[1, 65535\]"),
        ({"port": 65536}, "port 65536"),
        ({"max_model_len": 0}, "max_model_len 0 of 'tiny' must be above 0"),
    ],
    ids=["no-model", "port-0", "port-too-high", "no-length"],
)
def test_spec_refuses(wrong: dict[str, object], said: str) -> None:
    settings = {"model": "tiny", "kind": "chat", "port": 8101, **wrong}
    with pytest.raises(DataError, match=said):
        ServeSpec(**settings)  # type: ignore[arg-type]


def write_safetensors(file: Path, *names: str) -> None:
    header = json.dumps({"__metadata__": {}, **{name: {"dtype": "F32"} for name in names}})
    file.write_bytes(len(header).to_bytes(8, "little") + header.encode())


def write_index(folder: Path, *names: str) -> None:
    index = {"weight_map": dict.fromkeys(names, "model-00001-of-00001.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("kept_in", ["file", "index"])
def test_head_is_looked_for_among_the_weights(tmp_path: Path, kept_in: str) -> None:
    def write(*names: str) -> None:
        if kept_in == "index":
            write_index(tmp_path, *names)
        else:
            write_safetensors(tmp_path / "model.safetensors", *names)

    write("model.layers.0.mlp.up_proj.weight", "score.weight")
    require_head(tmp_path)
    write("model.layers.0.mlp.up_proj.weight", "lm_head.weight", "score.weight.old")
    with pytest.raises(DataError, match=r"'score\.weight'.*\['lm_head.weight', 'score.weight.old'"):
        require_head(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"holds no \*\.safetensors"),
        (b"", "is no safetensors file"),
        (b"\xff" * 40, "is no safetensors file"),
        ((5).to_bytes(8, "little") + b"{nope", "cannot be read"),
    ],
    ids=["absent", "empty", "length-too-large", "no-json"],
)
def test_weights_that_cannot_be_read(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(DataError, match=said):
        require_head(tmp_path)


def test_a_classifier_without_its_head_is_not_started(
    port: int, python: Path, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    write_safetensors(tmp_path / "tiny" / "model.safetensors", "lm_head.weight")
    with pytest.raises(DataError, match=r"tiny: a classifier needs the weight 'score\.weight'"):
        launch(spec(port, python, kind="classifier"), tmp_path / "log", tmp_path)
    assert not (tmp_path / "log").exists()
