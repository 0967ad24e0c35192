"""`bed episodes check`: audit a file against the principles of episode building."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from bed.episodes.audit import Check

__all__ = ["check"]

_LEGEND = """\
P1 no near-constant targets; P2 balance and caps; P3 graded relevance; P4 sufficiency: poor,
moderate or rich by conclusive related stubs; P5 no leakage. off: a wish that the data did not
grant; violated: a fault of the file."""

_COLOURS = {"ok": "green", "off": "yellow", "violated": "bold red", "info": "dim"}


def check(
    file: Annotated[Path, typer.Argument(help="Episode file.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Audit a file against the principles of episode building; exit 1 if one is violated."""
    from bed.episodes import read_episodes
    from bed.episodes.audit import audit

    found = audit(read_episodes(file))
    states = Counter[str](item.state for checks in found.values() for item in checks)
    if as_json:
        rows = [
            {"domain": domain, **asdict(item)}
            for domain, checks in found.items()
            for item in checks
        ]
        typer.echo(json.dumps({"file": file.name, "states": states, "checks": rows}, indent=2))
    else:
        _print_checks(found, states)
    raise typer.Exit(1 if states["violated"] else 0)


def _print_checks(found: "Mapping[str, list[Check]]", states: Mapping[str, int]) -> None:
    console = Console()
    for domain, checks in found.items():
        title = f"Domain {domain}" if len(found) > 1 else None
        table = Table(
            "", "check", "found", "wanted", "state", box=None, pad_edge=False, title=title
        )
        for item in checks:
            colour = _COLOURS[item.state]
            row = (item.principle, escape(item.name), escape(item.found), item.wanted)
            table.add_row(*row, f"[{colour}]{item.state}[/{colour}]")
        console.print(table)
    console.print(_LEGEND, highlight=False)
    console.print(", ".join(f"{states[state]} {state}" for state in _COLOURS if states.get(state)))
