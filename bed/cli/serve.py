"""`bed serve`: start the model servers that an engine file names, and stop them with it."""

import signal
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from bed.errors import DataError

if TYPE_CHECKING:
    from bed.serve import Server

__all__ = ["serve"]

_POLL = 0.5
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(
    file: Annotated[Path, typer.Argument(help="Engine file (TOML).", show_default=False)],
    names: Annotated[
        list[str] | None, typer.Argument(help="Servers to start; all of [serve] by default.")
    ] = None,
    logs: Annotated[
        Path | None, typer.Option(help="Folder of the logs; beside the engine file by default.")
    ] = None,
) -> None:
    """Start the vLLM servers of an engine file and keep them until interrupted.

    Every server has a process group of its own, which ends with this command whatever happens to
    the server itself. All must answer before the command says that they are ready; where one does
    not, or ends by itself later, all are stopped.
    """
    from bed.engine import load_engine
    from bed.serve import launch

    engine = load_engine(file)
    if not engine.serve:
        raise DataError(f"{file} names no servers; give it a table [serve.NAME]")
    if unknown := [name for name in names or () if name not in engine.serve]:
        raise DataError(
            f"{file} has no server {unknown[0]!r}; use one of {', '.join(engine.serve)}"
        )
    notes = Console(stderr=True)
    folder = file.parent
    before = {number: signal.signal(number, _interrupt) for number in _ENDING}
    try:
        with ExitStack() as stack:
            servers = {
                name: stack.enter_context(
                    launch(engine.serve[name], (logs or folder) / f"{name}.log", folder)
                )
                for name in dict.fromkeys(names or engine.serve)
            }
            try:
                _wait_for_all(servers, notes)
                print(f"{len(servers)} ready; end with Ctrl-C", flush=True)
                _watch(servers)
            finally:
                # a second Ctrl-C must not leave half of the servers behind
                for number in _ENDING:
                    signal.signal(number, signal.SIG_IGN)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_for_all(servers: "Mapping[str, Server]", notes: Console) -> None:
    for name, server in servers.items():
        notes.print(f"{name}: starting, log {server.log}", markup=False, highlight=False)
    for name, server in servers.items():

        def told(seconds: float, line: str, name: str = name) -> None:
            notes.print(f"{name}: {seconds:.0f} s, {line}", markup=False, highlight=False)

        server.wait(progress=told)
        notes.print(f"{name}: ready at {server.url}", markup=False, highlight=False)


def _watch(servers: "Mapping[str, Server]") -> None:
    """Look after the servers until one ends or a signal comes."""
    from bed.serve import ServerError

    while True:
        for name, server in servers.items():
            if not server.is_running:
                raise ServerError(f"the server {name!r} ended by itself; see its log {server.log}")
        time.sleep(_POLL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
