"""`bed plan`: what a job will take, from a few calls."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["plan"]

_NARROWEST = 110
_CALLS = ("belief_calls", "belief_calls_sent", "simulator_calls", "simulator_calls_sent")


def plan(
    engine: Annotated[Path, typer.Argument(help="Engine file (TOML).", show_default=False)],
    file: Annotated[
        Path,
        typer.Argument(help="Episode file; its test split is the sample.", show_default=False),
    ],
    episodes: Annotated[
        int, typer.Option(help="Number of episodes of the job.", show_default=False)
    ],
    steps: Annotated[
        int | None, typer.Option(help="Experiments an episode; all by default.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Policy of the job; repeat for several, leave out for all of the engine's."
        ),
    ] = None,
    trial: Annotated[int, typer.Option(help="Number of test episodes that are measured.")] = 8,
    hours: Annotated[
        float, typer.Option(help="Hours that the job may take; replicas are counted for them.")
    ] = 24.0,
    seed: Annotated[int, typer.Option(help="Of the sample and of every draw.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of tables.")
    ] = False,
) -> None:
    """Measure a few calls and say what `bed simulate` will take: queries, tokens, hours, GPUs.

    The servers must be up. Each policy is asked about the trial's episodes at their first, middle
    and last step; the rest is worked out. The servers answer, whatever a cache may know.
    """
    from bed.engine import connected, load_engine, plan_job

    notes = Console(stderr=True)
    with (
        connected(load_engine(engine), file, seed, uses_cache=False) as sources,
        notes.status("Preparing episodes and models (stand-ins are fitted once a file) ...") as at,
    ):

        def told(done: int, count: int, what: str) -> None:
            at.update(f"Measuring {what} ({done + 1} of {count}) ...")

        found = plan_job(sources, file, episodes, policy or (), steps, trial, hours, seed, told)
    if as_json:
        print(json.dumps(found, allow_nan=False))
    else:
        _print(found)


def _print(found: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    if console.width < _NARROWEST:
        console = Console(width=_NARROWEST, highlight=False)
    console.print(
        f"{found['episodes']:,} episodes of {found['steps']} steps, seed {found['seed']}; measured "
        f"on {found['trial']['episodes']}."
    )
    rows = {**found["policies"], "trackers": found["trackers"], "in all": found["total"]}
    console.print(_queries(rows))
    if found["endpoints"]:
        console.print(_usage(rows))
        console.print(_servers(found["endpoints"], found["within_hours"]))
    _print_summary(found, console)
    for line in found["left_out"]:
        console.print(line, style="bold yellow", markup=False)
    console.print("Assumptions", style="bold")
    for line in found["assumptions"]:
        console.print(f"- {line}", markup=False)


def _table(title: str, columns: tuple[str, ...], num_names: int) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for place, column in enumerate(columns):
        justify = "left" if place < num_names else "right"
        table.add_column(column, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return table


def _queries(rows: Mapping[str, Any]) -> Table:
    columns = ("policy", "belief asked", "sent", "outcomes asked", "sent", "hours")
    table = _table("Queries and hours", columns, 1)
    for name, row in rows.items():
        if name == "trackers":
            table.add_section()
        cells = [_with_error(row[key], row["stderr"][key]) for key in _CALLS]
        table.add_row(name, *cells, _number(row["hours"]))
    return table


def _usage(rows: Mapping[str, Any]) -> Table:
    columns = ("endpoint", "policy", "requests", "prompt tokens", "tokens written")
    table = _table("Requests and tokens", columns, 2)
    for endpoint in rows["in all"]["endpoints"]:
        for name, row in rows.items():
            counts = row["endpoints"].get(endpoint, {})
            if any(counts.values()):
                keys = ("requests", "prompt_tokens", "completion_tokens")
                table.add_row(endpoint, name, *(_count(counts[key]) for key in keys))
        table.add_section()
    return table


def _servers(endpoints: Mapping[str, Any], hours: float) -> Table:
    columns = ("endpoint", "replicas", "GPUs each", "tokens a second", f"for {hours:g} h", "GPUs")
    table = _table("Replicas", columns, 1)
    for name, of in endpoints.items():
        table.add_row(
            name,
            f"{of['replicas']:,}",
            f"{of['gpus_per_replica']:,}",
            _count(of["tokens_per_second"]),
            f"{of['replicas_needed']:,}",
            f"{of['gpus_needed']:,}",
        )
    return table


def _print_summary(found: Mapping[str, Any], console: Console) -> None:
    total, each = found["total"], found["per_episode"]
    words = f"In all {_number(total['hours'])} hours"
    if found["endpoints"]:
        words += (
            f" with the replicas at hand ({found['gpus']:,} GPUs); {found['within_hours']:g} hours "
            f"take {found['gpus_needed']:,} GPUs"
        )
    console.print(f"{words}.")
    words = (
        f"An episode costs {each['belief_calls']:,.0f} belief queries, "
        f"{each['simulator_calls']:,.0f} outcomes, "
    )
    if found["endpoints"]:
        tokens = "an unknown number of" if each["tokens"] is None else f"{each['tokens']:,.0f}"
        words += f"{tokens} tokens, {_number(each['gpu_seconds'])} GPU seconds, "
    console.print(f"{words}{_number(each['seconds'])} seconds.")


def _with_error(value: int, stderr: float | None) -> str:
    if not value:
        return "-"
    return f"{value:,} ± {'?' if stderr is None else format(stderr, ',.0f')}"


def _count(value: float | None) -> str:
    return f"{value:,.0f}" if value else "-"


def _number(value: float) -> str:
    return f"{value:,.2f}" if value >= 0.1 else f"{value:.2g}"
