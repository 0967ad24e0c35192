"""Starts and stops the vLLM servers that play an engine's parts, one process group each.

A server listens on this machine alone. vLLM runs in an environment of its own: name its
interpreter in `python`. Every child ends with its server, also those that outlive a crash.
"""

import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, Self

from bed.errors import BedError, DataError

__all__ = ["Progress", "ServeSpec", "Server", "ServerError", "launch", "require_head"]

Progress = Callable[[float, str], None]
"""Told the seconds waited so far and the last line of the log."""

HOST = "127.0.0.1"
_HEAD = "score.weight"
_MOST_HEADER = 100_000_000
_LAST_LINES = 15
_POLL = 0.2
_TOLD_EVERY = 5.0
_PROBE = 2.0
_START = {"cpu": 600.0, "gpu": 1800.0}
_GRACE = 10.0


class ServerError(BedError, RuntimeError):
    """A server did not start or ended by itself; the message holds the end of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSpec:
    """One vLLM server, `[serve.NAME]` of an engine file.

    Attributes:
        model: name on the hub or folder; also the name under which it is served.
        kind: "classifier" answers /classify with the head's value at the last token, "chat" speaks
            the OpenAI protocol.
        port: on this machine.
        device: decides the defaults below.
        dtype: of weights and arithmetic; by default float32 on a CPU, vLLM's choice on a GPU.
        max_model_len: longest prompt with its answer, in tokens; by default the model's own.
        revision: branch, tag or commit on the hub.
        python: interpreter of the environment that has vLLM; by default the one that runs bed.
        env: more environment variables, such as CUDA_VISIBLE_DEVICES.
        extra_args: passed on to vLLM to the letter.
        log: file that gets all output; by default the caller names it.

    Raises:
        DataError: for a port or a length that cannot be.
    """

    model: str
    kind: Literal["classifier", "chat"]
    port: int
    device: Literal["cpu", "gpu"] = "gpu"
    dtype: str | None = None
    max_model_len: int | None = None
    revision: str | None = None
    python: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    extra_args: tuple[str, ...] = ()
    log: Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "extra_args", tuple(self.extra_args))
        if not self.model.strip():
            raise DataError("a server needs the name or folder of its model")
        if not 1 <= self.port <= 65535:
            raise DataError(f"port {self.port} of {self.model!r} must be in [1, 65535]")
        if self.max_model_len is not None and self.max_model_len < 1:
            raise DataError(f"max_model_len {self.max_model_len} of {self.model!r} must be above 0")

    @property
    def url(self) -> str:
        """Base URL of the server."""
        return f"http://{HOST}:{self.port}"

    @property
    def precision(self) -> str | None:
        """The dtype that vLLM is told, None where it chooses."""
        return self.dtype or ("float32" if self.device == "cpu" else None)

    def command(self, folder: Path = Path()) -> list[str]:
        """Return the command that serves the model.

        Args:
            folder: what a model's relative path starts from, such as that of the engine file.
        """
        local = folder / self.model
        # the module and not the `vllm` script, which packages of other names do not install right
        command = [str(self.python or sys.executable), "-m", "vllm.entrypoints.openai.api_server"]
        command += ["--model", str(local.resolve()) if local.is_dir() else self.model]
        command += ["--served-model-name", self.model, "--host", HOST, "--port", str(self.port)]
        if self.kind == "classifier":
            command += ["--runner", "pooling", "--convert", "classify"]
        else:
            command += ["--max-logprobs", "100"]
        if self.device == "cpu":
            command += ["--enforce-eager"]
            if self.kind == "chat":
                # a prompt read in pieces, with a seed, ends vLLM on a CPU: its generator of random
                # numbers cannot be set back
                command += ["--no-enable-chunked-prefill"]
        if self.precision is not None:
            command += ["--dtype", self.precision]
        if self.max_model_len is not None:
            command += ["--max-model-len", str(self.max_model_len)]
        if self.revision is not None:
            command += ["--revision", self.revision]
        return [*command, *self.extra_args]

    def environment(self) -> dict[str, str]:
        """Return the environment of the server: the caller's over defaults, and `env` over both."""
        defaults = {"VLLM_NO_USAGE_STATS": "1", "VLLM_HOST_IP": HOST}
        if self.device == "cpu":
            # left alone, vLLM takes half of the cores and half of the memory
            cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
            defaults["VLLM_CPU_KVCACHE_SPACE"] = "1"
            if cores:
                defaults["VLLM_CPU_OMP_THREADS_BIND"] = ",".join(map(str, cores))
        return {**defaults, **os.environ, **self.env}


class Server:
    """A running server; as a context manager it is stopped at the end.

    Attributes:
        spec: what it serves.
        log: file with all its output.
    """

    def __init__(self, spec: ServeSpec, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.spec = spec
        self.log = log
        self._process = process

    @property
    def url(self) -> str:
        """Base URL."""
        return self.spec.url

    @property
    def pid(self) -> int:
        """Of the server itself, and the number of its process group."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the server's own process lives; its children may outlive it until `stop`."""
        if self._process.returncode is not None:
            return False
        # without reaping: until `stop` the number of the group must not pass to another one
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self, timeout: float | None = None, progress: Progress | None = None) -> None:
        """Wait until the server answers.

        Args:
            timeout: seconds; by default 10 minutes on a CPU and 30 on a GPU.
            progress: told about every 5 seconds how it stands.

        Raises:
            ServerError: where it ends or does not answer in time. It is stopped then.
        """
        limit = _START[self.spec.device] if timeout is None else timeout
        started = told = time.monotonic()
        while not _is_healthy(self.url):
            now = time.monotonic()
            if not self.is_running:
                self.stop()
                status = self._process.returncode
                raise self._failed(f"ended with status {status} before it answered")
            if now - started > limit:
                self.stop()
                raise self._failed(f"did not answer on {self.url}/health within {limit:g} s")
            if progress is not None and now - told >= _TOLD_EVERY:
                told = now
                progress(now - started, (_last_lines(self.log, 1) or [""])[0])
            time.sleep(_POLL)

    def stop(self, grace: float = _GRACE) -> None:
        """End the server and all its children; doing it twice does no harm.

        Args:
            grace: seconds that the server gets to end by itself.
        """
        if self._process.returncode is not None:
            return
        _signal(self.pid, signal.SIGTERM)
        # a stopped process ends only when it goes on
        _signal(self.pid, signal.SIGCONT)
        until = time.monotonic() + grace
        while self.is_running and time.monotonic() < until:
            time.sleep(_POLL / 4)
        _signal(self.pid, signal.SIGKILL)
        self._process.wait()

    def _failed(self, what: str) -> ServerError:
        end = "\n".join(f"  {line}" for line in _last_lines(self.log, _LAST_LINES))
        return ServerError(
            f"the server of {self.spec.model!r} {what}; the end of its log {self.log}:\n{end}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def launch(spec: ServeSpec, log: Path, folder: Path = Path()) -> Server:
    """Start a server; `Server.wait` tells when it answers.

    Args:
        spec: what to serve.
        log: file that its output is added to; `spec.log` goes first.
        folder: what a model's relative path starts from.

    Raises:
        DataError: for a port in use, an interpreter that is absent, or a classifier's folder
            without its head.
        ServerError: where the process cannot be started.
    """
    local = folder / spec.model
    if spec.kind == "classifier" and local.is_dir():
        require_head(local)
    _require_free(spec)
    path = spec.log or log
    command = spec.command(folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as output:
            output.write(f"$ {shlex.join(command)}\n".encode())
            output.flush()
            return Server(spec, _started(command, spec.environment(), output), path)
    except OSError as error:
        raise ServerError(
            f"the server of {spec.model!r} cannot be started: {error}; check `python` and the log "
            f"file {path}"
        ) from error


def _started(
    command: list[str], environment: Mapping[str, str], output: BinaryIO
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def require_head(folder: Path) -> None:
    """Check that a classifier's head is among its weights.

    vLLM starts without a word where it is not, and answers from a head of random numbers.

    Args:
        folder: of the model.

    Raises:
        DataError: for a folder without safetensors, a file that is none, or weights without
            `score.weight`.
    """
    names = _weights(folder)
    if _HEAD not in names:
        heads = sorted(name for name in names if ".layers." not in name)
        raise DataError(
            f"{folder}: a classifier needs the weight {_HEAD!r}, shape (labels, width); outside "
            f'its layers the model has {heads}. Rename its head, or serve it as kind = "chat"'
        )


def _weights(folder: Path) -> set[str]:
    """Return the names of all weights of a model."""
    index = folder / "model.safetensors.index.json"
    try:
        if index.is_file():
            return set(json.loads(index.read_bytes())["weight_map"])
        files = sorted(folder.glob("*.safetensors"))
        names = {name for file in files for name in _header(file)} - {"__metadata__"}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{folder}: its safetensors cannot be read ({type(error).__name__}: {error}); fetch "
            "the model again"
        ) from error
    if not files:
        raise DataError(f"{folder}: holds no *.safetensors; save the model in that format")
    return names


def _header(file: Path) -> dict[str, object]:
    """Return the header of a safetensors file: its length in 8 bytes, then JSON."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if not 2 <= length <= min(_MOST_HEADER, file.stat().st_size - 8):
            raise ValueError(f"{file.name} is no safetensors file")
        return dict(json.loads(opened.read(length)))


def _require_free(spec: ServeSpec) -> None:
    """Refuse a port where something listens: it would answer in the server's place."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, spec.port))
        except OSError as error:
            raise DataError(
                f"port {spec.port} for {spec.model!r} cannot be had ({error.strerror}); stop what "
                "listens there, or name another port"
            ) from error


def _is_healthy(url: str) -> bool:
    # a proxy from the environment must not come between
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/health", timeout=_PROBE) as answer:
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


def _last_lines(log: Path, count: int) -> list[str]:
    """Return the last lines of a log that say something."""
    with log.open("rb") as opened:
        opened.seek(max(0, log.stat().st_size - 16_384))
        lines = opened.read().decode(errors="replace").splitlines()
    return [line for line in lines if line.strip()][-count:]
