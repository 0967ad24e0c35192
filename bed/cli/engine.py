"""`bed engine`: look after an engine file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

__all__ = ["app"]

app = typer.Typer(name="engine", help="Check an engine file.", no_args_is_help=True)


@app.callback()
def engine() -> None:
    """Look after an engine file: which models play which part."""


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="Engine file (TOML).", show_default=False)],
    episodes: Annotated[
        Path | None, typer.Option(help="Ask about its test episodes instead of tossed coins.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of stand-ins that are fitted.")] = 0,
) -> None:
    """Try each part: what answers, how fast and how noisy; exit 1 if one fails.

    The servers answer, whatever a cache may know.

    The line `noise = ...` of a belief belongs into its table: policies then show which gains its
    noise does not tell apart.
    """
    from bed.engine import check_engine, connected, load_engine

    console = Console(soft_wrap=True)
    num_failed = 0
    with connected(load_engine(file), episodes, seed, uses_cache=False, vets=False) as sources:
        for finding in check_engine(sources, episodes):
            colour, state = ("green", "works") if finding.is_sound else ("bold red", "FAILED")
            num_failed += not finding.is_sound
            console.print(f"\\[{finding.part}] [{colour}]{state}[/{colour}]")
            for line in finding.lines:
                console.print(f"  {line}", markup=False, highlight=False)
    if num_failed:
        console.print(f"{num_failed} failed", style="bold red", highlight=False)
    raise typer.Exit(1 if num_failed else 0)
