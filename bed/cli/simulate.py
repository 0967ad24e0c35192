"""`bed simulate`: compare policies for choosing experiments."""

import json
from pathlib import Path
from typing import Annotated

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

from bed.cli.tables import print_report
from bed.errors import DataError

__all__ = ["simulate"]

_PARTIAL = ".partial"


def simulate(
    episodes: Annotated[
        Path | None,
        typer.Option(help="Episode file of `bed episodes build`; its test split is simulated."),
    ] = None,
    world: Annotated[
        str | None,
        typer.Option(help="Exact worlds: graded (default), redundant or decisive."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Policy to run; repeat for several, leave out for all: random, relevance, "
            "uncertainty, eig-nested, eig-exemplar, eig-simulate, eig, exact (worlds), hindsight."
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
) -> None:
    """Simulate experiment selection and compare policies.

    Each policy works through every episode: it chooses an experiment, sees its true outcome, and
    chooses again. One belief model scores all of them. Without options, exact synthetic worlds.
    """
    from bed.engine import file_study, world_study
    from bed.plots import check_picture, plot_run
    from bed.report import report
    from bed.runs import load_run, save_run
    from bed.simulation import simulate as run_study

    if episodes is not None and world is not None:
        raise DataError("--episodes and --world exclude each other; give one of them")
    if resume and out is None:
        raise DataError("--resume needs --out: the file that holds the run")
    if out is not None and out.exists() and not resume:
        raise DataError(f"{out} exists; show or continue it with --resume, or name another file")
    for path in (out, plot):
        if path is not None and not path.parent.is_dir():
            raise DataError(f"{path} cannot be written: there is no folder {path.parent}")
    if plot is not None:
        check_picture(plot)
    notes = Console(stderr=True)
    with notes.status("Preparing episodes and models (stand-ins are fitted once a file) ..."):
        if episodes is not None:
            study = file_study(episodes, policy or (), limit, steps, seed)
        else:
            study = world_study(world or "graded", policy or (), limit, steps, seed)
    partial = None if out is None else out.with_name(out.name + _PARTIAL)
    if out is not None and out.exists():
        run = load_run(out)
        study.check_same(run, out)
    else:
        with _progress(notes) as progress:
            task = progress.add_task("Simulating", total=None)
            run = run_study(
                study,
                partial,
                resume,
                lambda done, total: progress.update(task, completed=done, total=total),
            )
    if out is not None and partial is not None and not out.exists():
        save_run(run, out)
        partial.unlink(missing_ok=True)
    found = report(run)
    if as_json:
        print(json.dumps(found, allow_nan=False))
    else:
        print_report(found)
    if plot is not None:
        plot_run(run, plot)
        notes.print(f"Figure: {plot}")


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("policy-steps,"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
    )
