"""`bed simulate`: compare policies for choosing experiments."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bed.cli.tables import print_report, print_tallies
from bed.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

    from bed.engine import Engine
    from bed.fleet import Fleet
    from bed.simulation import Study

__all__ = ["simulate"]

_PARTIAL = ".partial"

Usage = Callable[[], dict[str, Any]]
"""Says what was asked of each endpoint so far."""


def simulate(
    episodes: Annotated[
        Path | None,
        typer.Option(help="Episode file of `bed episodes build`; its test split is simulated."),
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(
            help="Exact worlds: graded (default), redundant, decisive, gaussian or six-level."
        ),
    ] = None,
    engine: Annotated[
        Path | None,
        typer.Option(
            help="Engine file (TOML): the models, served or not, that choose and track on "
            "--episodes; see docs/engine.md."
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Policy to run; repeat for several, leave out for all: random, relevance, "
            "uncertainty, naive (engines), eig-nested, eig-exemplar, eig-simulate, eig-levels, "
            "eig, exact (worlds), hindsight."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Experiments an episode; all by default.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Number of episodes; 128 worlds or the whole test split by default."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Every draw derives from it.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Keep the run as netCDF, checkpointed as it goes (FILE.partial)."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the figure (png, pdf, svg).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of tables.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run of --out, or show a finished one.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Ask the models on so many Ray workers; they give the same answers. By default "
            "in this process; with --ray one for each server of an endpoint, or for each node."
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Join this Ray cluster: HOST:PORT, or auto for the one of this node. By default "
            "RAY_ADDRESS, and without that a cluster that is started here for the run.",
        ),
    ] = None,
) -> None:
    """Simulate experiment selection and compare policies.

    Each policy works through every episode: it chooses an experiment, sees its true outcome, and
    chooses again. One belief model, the tracker, scores all of them. Without options, exact
    synthetic worlds. Stand-ins for language models are fitted on the training split of an episode
    file once and kept beside it (NAME.stand-ins-KEY.json). With an engine file, language models
    play the parts that it gives them. With --workers or --ray beliefs and simulators answer on a
    fleet of workers; docs/engine.md says how it bears faults.
    """
    from bed.atomic import require_writable
    from bed.engine import connected, engine_study, file_study, load_engine, world_study
    from bed.plots import check_picture, plot_run
    from bed.report import report
    from bed.runs import load_usage

    if episodes is not None and world is not None:
        raise DataError("--episodes and --world exclude each other; give one of them")
    if engine is not None and episodes is None:
        raise DataError("--engine needs --episodes: the file whose test split is simulated")
    if resume and out is None:
        raise DataError("--resume needs --out: the file that holds the run")
    partial = None if out is None else out.with_name(out.name + _PARTIAL)
    for path in (out, partial):
        if path is not None and path.exists() and not resume:
            raise DataError(f"{path} exists; go on with --resume, remove it, or name another --out")
    if out is not None and plot is not None and out.resolve() == plot.resolve():
        raise DataError(f"--out and --plot both name {out}; give two files")
    if plot is not None:
        check_picture(plot)
    for path in (partial, plot):
        if path is not None:
            require_writable(path)
    notes = Console(stderr=True)
    with ExitStack() as stack:
        with notes.status("Preparing episodes and models (stand-ins are fitted once a file) ..."):
            models = None if engine is None else load_engine(engine)
            elsewhere: dict[str, Any] = {}
            store: dict[str, Any] = {}
            if workers is not None or ray is not None:
                fleet = stack.enter_context(_fleet(models, workers, ray))
                elsewhere, store = {"spread": fleet.spread}, {"open_store": fleet.open_store}
            sources = None
            if models is not None:
                sources = stack.enter_context(connected(models, episodes, seed, **store))
            asked = (policy or (), limit, steps, seed)
            if episodes is None:
                study = world_study(world or "graded", *asked, **elsewhere)
            elif sources is None:
                study = file_study(episodes, *asked, **elsewhere)
            else:
                study = engine_study(sources, episodes, *asked, **elsewhere)
        before = {} if sources is None else sources.prefix_tokens()

        def usage() -> dict[str, Any]:
            return {} if sources is None else sources.usage(before)

        run = _kept(study, out, resume, notes, usage)
        spent = usage()
    if plot is not None:
        plot_run(run, plot)
        notes.print(f"Figure: {plot}", markup=False)
    found = report(run)
    if sources is not None:
        found["run"] = {"endpoints": spent}
        if out is not None:
            found["run"]["sittings"] = load_usage(out)
    if as_json:
        print(json.dumps(found, allow_nan=False))
        return
    print_report(found)
    if sources is not None:
        print_tallies(spent)


@contextmanager
def _fleet(engine: "Engine | None", workers: int | None, address: str | None) -> Iterator["Fleet"]:
    """Open a fleet of so many workers, by default of one for each server of an endpoint."""
    from bed.engine.settings import TransformersSettings
    from bed.fleet import open_fleet

    parts = [] if engine is None else list(engine.parts().values())
    if workers is None and engine is not None:
        counts = [len(engine.endpoint(name).listed()) for name in engine.endpoints]
        workers = max(counts, default=None)
    # only what says so needs a GPU: a part without a device takes one where it finds it
    is_on_gpu = any(
        isinstance(part, TransformersSettings) and (part.device or "").startswith("cuda")
        for part in parts
    )
    # Ray says on stdout that a worker died; stdout is for the result
    with open_fleet(workers, address, float(is_on_gpu)) as fleet, redirect_stdout(sys.stderr):
        yield fleet


def _kept(
    study: "Study", out: Path | None, resume: bool, notes: Console, usage: Usage
) -> "xr.Dataset":
    """Run the study, or show the finished run of `out`."""
    from bed.atomic import held
    from bed.runs import load_run

    if out is None:
        return _run(study, None, False, notes, usage)
    if out.exists():
        run = load_run(out)
        study.check_same(run, out)
        return run
    partial = out.with_name(out.name + _PARTIAL)
    with held(out.with_name(out.name + ".lock")):
        if out.exists():
            raise DataError(f"{out} was finished by another process; show it with --resume")
        run = _run(study, partial, resume, notes, usage)
        partial.replace(out)
    return run


def _run(
    study: "Study", partial: Path | None, resume: bool, notes: Console, usage: Usage
) -> "xr.Dataset":
    """Run the study with progress; what is done stays in `partial` when it is broken off."""
    from bed.fleet import FleetError
    from bed.simulation import simulate as run_study
    from bed.transport import EndpointDownError

    if resume and partial is not None and not partial.exists():
        notes.print(f"Nothing to resume at {partial}: starting.", markup=False)
    try:
        with _progress(notes) as progress, _interrupts() as check_interrupted:
            task = progress.add_task("Simulating", total=None)

            def on_progress(done: int, total: int) -> None:
                check_interrupted()
                progress.update(task, completed=done, total=total)

            return run_study(study, partial, resume, on_progress, usage)
    except (KeyboardInterrupt, EndpointDownError, FleetError) as error:
        if partial is not None:
            what = "Interrupted" if isinstance(error, KeyboardInterrupt) else "Broken off"
            notes.print(f"{what}; {partial} is kept: go on with --resume.", markup=False)
        raise


@contextmanager
def _interrupts() -> Iterator[Callable[[], None]]:
    """Keep an interrupt that falls into a destructor, where Python drops what is raised.

    Yields a function that raises KeyboardInterrupt where one has come.
    """
    has_come = False

    def take(*_: object) -> None:
        nonlocal has_come
        has_come = True
        raise KeyboardInterrupt

    def check() -> None:
        if has_come:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, take)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("steps of episodes,"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
    )
