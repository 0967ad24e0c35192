"""`bed evaluate`: are these beliefs any good?"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from bed.cli.tables import print_tallies
from bed.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

    from bed.evaluation import Forecasts, Sheet, Transfer

__all__ = ["evaluate"]

_WIDE = 140


def evaluate(
    forecasts: Annotated[
        Path | None,
        typer.Argument(
            help="Table of forecasts (parquet, csv, jsonl): episode, domain, k, p, label, and if "
            "there are such model, unit, tier, verdict, stub.",
            show_default=False,
        ),
    ] = None,
    episodes: Annotated[
        Path | None,
        typer.Option(help="Ask a belief model about the test episodes of this file instead."),
    ] = None,
    engine: Annotated[
        Path | None,
        typer.Option(
            help="Engine file (TOML) whose belief is asked; without it, the stand-in that is "
            "fitted on the training episodes."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Number of episodes to ask about; the whole test split by default."),
    ] = None,
    untrained: Annotated[
        str | None, typer.Option(help="Retention: the model before training.")
    ] = None,
    trained: Annotated[
        str | None, typer.Option(help="Retention: the model trained on all domains.")
    ] = None,
    held_out: Annotated[
        list[str] | None,
        typer.Option(
            help="Retention: DOMAIN=MODEL, the model trained on all domains but this one; repeat "
            "for several."
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(help="Bootstrap draws; a tenth of them for sMECE.", min=1)
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Every draw and fold derives from it.")] = 0,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the forecasts that were asked for (parquet).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Keep all tables as netCDF.")] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the report, with its figures, as one HTML file.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the figures (png, pdf, svg).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of tables.")
    ] = False,
    write_calibration: Annotated[
        Path | None,
        typer.Option(
            help="Fit the first model's log odds and updates to the labels; an engine file takes "
            "the result as [calibration] file."
        ),
    ] = None,
) -> None:
    """Score forecasts whose outcomes are known, and the way beliefs are revised.

    Scores with 95% intervals by domain and over domains, calibration before and after Platt
    scaling, differences from the first model; where episodes have a forecast for every number of
    stubs (k = 0, 1, ... K), also what their updates are worth. With --episodes the belief is asked
    for such sweeps, is put to probes of its consistency, and stands beside structured baselines.
    """
    from bed.atomic import require_writable
    from bed.evaluation import evaluate as evaluated
    from bed.evaluation import fit_calibration, nested, read_forecasts, sheets
    from bed.evaluation import write_calibration as written
    from bed.plots import check_picture

    if (forecasts is None) is (episodes is None):
        raise DataError("give either a table of forecasts or --episodes FILE to ask about")
    for name, value in (("engine", engine), ("limit", limit), ("keep", keep)):
        if value is not None and episodes is None:
            raise DataError(f"--{name} goes with --episodes: a table of forecasts is not asked")
    transfer = _transfer(untrained, trained, held_out or ())
    if plot is not None:
        check_picture(plot)
    for path in (keep, out, html, plot, write_calibration):
        if path is not None:
            require_writable(path)
    notes = Console(stderr=True)
    probes, tallies = None, None
    if forecasts is not None:
        file = read_forecasts(forecasts)
        models, about = file.models, f"forecasts of {forecasts.name}"
        if file.unused:
            notes.print(f"Not used: columns {', '.join(file.unused)}", markup=False)
    else:
        assert episodes is not None
        models, probes, tallies = _asked(episodes, engine, limit, draws, seed, keep, notes)
        belief = "the stand-in" if engine is None else f"the belief of {engine.name}"
        about = f"{belief} on test episodes of {episodes.name}"
    with notes.status("Scoring, with bootstrap intervals ..."):
        found = evaluated(models, seed, draws, max(1, draws // 10), transfer)
        if probes is not None:
            found = found.merge(probes)
    if out is not None:
        _save(found, out)
    if plot is not None:
        from bed.evaluation.figures import plot_evaluation

        plot_evaluation(found, plot)
    if html is not None:
        from bed.evaluation.page import write_page

        write_page(found, html, about)
        notes.print(f"Report: {html}", markup=False)
    if as_json:
        run = {} if tallies is None else {"run": {"endpoints": tallies}}
        print(json.dumps({**nested(found), **run}, allow_nan=False))
    else:
        console = Console()
        if console.width < _WIDE:
            console = Console(width=_WIDE)
        heading = f"{about}; seed {seed}, {draws:,} bootstrap draws"
        console.print(heading, markup=False, highlight=False)
        for sheet in sheets(found):
            _print(console, sheet)
        _print_notes(console, found)
        print_tallies(tallies or {})
    if write_calibration is not None:
        # last: where it cannot be fitted, everything else is there
        fit = fit_calibration(models[0])
        counted = f"{models[0].p.size:,} forecasts of {models[0].model}, {about}"
        written(write_calibration, fit, f"Fitted by bed evaluate on {counted}")
        updates = f"{fit.update_slope:.3f}" if models[0].sweeps() else "1, not fitted: no sweeps"
        notes.print(
            f"Calibration: slope {fit.slope:.3f}, intercept {fit.intercept:.3f}, slope of updates "
            f"{updates}; in {write_calibration}. Report on other episodes than these.",
            markup=False,
        )


def _transfer(
    untrained: str | None, trained: str | None, held_out: Sequence[str]
) -> "Transfer | None":
    from bed.evaluation import Transfer

    if not (untrained or trained or held_out):
        return None
    if not (untrained and trained and held_out):
        raise DataError("retention needs all of --untrained, --trained and --held-out DOMAIN=MODEL")
    pairs = [text.partition("=") for text in held_out]
    if bad := [text for text, pair in zip(held_out, pairs, strict=True) if not all(pair)]:
        raise DataError(f"--held-out {bad[0]!r} must be DOMAIN=MODEL, such as gwas=holdout-gwas")
    return Transfer(untrained, trained, {domain: model for domain, _, model in pairs})


def _asked(
    path: Path,
    engine: Path | None,
    limit: int | None,
    draws: int,
    seed: int,
    keep: Path | None,
    notes: Console,
) -> "tuple[tuple[Forecasts, ...], xr.Dataset, Mapping[str, Mapping[str, int]]]":
    """Ask the belief and the baselines, and probe the belief; return what was sent, too."""
    from bed.engine import evaluated_belief
    from bed.evaluation import ABSTAINING, baselines, probe_table, sweep, write_forecasts
    from bed.evaluation.scoring import Weights

    with evaluated_belief(path, engine, limit, seed) as subject:
        with notes.status("Fitting structured baselines on the training episodes ..."):
            others, lacking = baselines(subject.training, seed)
        for name, reason in lacking.items():
            notes.print(f"no baseline {name}: {reason}", markup=False)
        with _progress(notes) as progress:
            task = progress.add_task("Asking", total=None)

            def told(done: int, count: int) -> None:
                progress.update(task, completed=done, total=count)

            swept = sweep(
                subject.episodes, {subject.name: subject.belief, **others}, ABSTAINING, seed, told
            )
        if subject.name not in [of.model for of in swept.forecasts]:
            # the baselines alone would pass for an evaluation of it
            raise DataError(
                f"{subject.name} answers no whole sweep; the first reason: "
                f"{swept.reasons[subject.name]}"
            )
        if keep is not None:
            write_forecasts(keep, swept.forecasts)
        for name, count in swept.failed.items():
            if name not in ABSTAINING:
                notes.print(
                    f"{name}: {count:,} questions had no answer, the first: {swept.reasons[name]}; "
                    "their episodes are left out",
                    markup=False,
                )
        if swept.num_short:
            notes.print(f"{swept.num_short} episodes left out: pools shorter than others")
        with notes.status("Probing the belief for consistency ..."):
            weights = Weights(draws, draws, seed)
            probes = probe_table(
                subject.episodes,
                subject.belief,
                subject.refuting,
                subject.estimator,
                weights,
                seed,
            )
        tallies = subject.tallies()
    return swept.forecasts, probes, tallies


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} questions,"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
    )


def _save(found: "xr.Dataset", path: Path) -> None:
    from bed.atomic import written_whole

    with written_whole(path) as beside:
        found.to_netcdf(beside, engine="h5netcdf")


def _print(console: Console, sheet: "Sheet") -> None:
    table = Table(title=sheet.title, title_justify="left", title_style="bold")
    for place, column in enumerate(sheet.columns):
        is_name = place < sheet.num_names
        table.add_column(column, justify="left" if is_name else "right", overflow="fold")
    before: tuple[str, ...] = ()
    for row in sheet.rows:
        # a model is named once, where its rows stand together
        shown = ("", *row[1:]) if sheet.num_names > 1 and row[:1] == before[:1] else row
        table.add_row(*shown)
        before = row
    console.print()
    console.print(table, markup=False)
    console.print(sheet.words, style="dim", markup=False, highlight=False)


def _print_notes(console: Console, found: "xr.Dataset") -> None:
    """Say what could not be computed, and why."""
    for name in ("platt_note", "revision_note"):
        for model, note in zip(found["model"].values, found[name].values, strict=True):
            if note and not str(note).startswith("no sweeps"):
                console.print(f"{model}: {note}", style="yellow", markup=False, highlight=False)
    for model, share in zip(found["model"].values, found["coverage"].values, strict=True):
        if share < 1:
            console.print(
                f"{model} forecasts {share:.0%} of all rows", style="yellow", highlight=False
            )
    dropped: Any = found["dropped"].sum(("domain", "statistic"))
    for model, count in zip(found["model"].values, dropped.values, strict=True):
        if count > 0:
            console.print(
                f"{model}: {int(count):,} bootstrap draws left a statistic undefined and were "
                "dropped",
                style="yellow",
                highlight=False,
            )
