"""`bed episodes`: build episode files, audit them, look at one episode."""

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

from bed.errors import DataError

if TYPE_CHECKING:
    from bed.episodes import EpisodeFile
    from bed.episodes.audit import Check
    from bed.evidence import Episode

__all__ = ["app"]

app = typer.Typer(name="episodes", help="Build, check and show episodes.", no_args_is_help=True)
build = typer.Typer(help="Build an episode file from public tables.", no_args_is_help=True)
app.add_typer(build, name="build")

_NARROWEST = 180
_LEGEND = """\
P1 no near-constant targets; P2 balance and caps; P3 graded relevance; P4 sufficiency: poor,
moderate or rich by supporting related stubs; P5 no leakage. off: a wish that the data did not
grant; violated: a fault of the file."""

_COLOURS = {"ok": "green", "off": "yellow", "violated": "bold red", "info": "dim"}


def _input(help_text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        help=help_text, dir_okay=False, show_default=False
    )
    return option


@build.command("depmap")
def build_depmap_file(
    out: Annotated[Path, typer.Option(help="Episode file to write.", dir_okay=False)],
    gene_effect: Annotated[
        Path | None, _input("Chronos gene effects: lines as rows, GENE (entrez) as columns.")
    ] = None,
    gene_effect_bins: Annotated[
        Path | None,
        _input("Instead: gene, entrez_id, then a column per line; 2, 1, 0, or -1 for missing."),
    ] = None,
    gene_dependency: Annotated[
        Path | None, _input("Probabilities of dependency, beside --gene-effect.")
    ] = None,
    rnai_bins: Annotated[Path | None, _input("RNAi scores, in the form of the bins.")] = None,
    expression: Annotated[Path | None, _input("Expression, log2(TPM + 1).")] = None,
    copy_number: Annotated[Path | None, _input("Relative copy number (1 is normal).")] = None,
    mutations: Annotated[Path | None, _input("Somatic mutations, one a row.")] = None,
    models: Annotated[
        Path | None, _input("Cell lines: ids, CCLE names, lineages (Model.csv or sample_info).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random hangs on it.")] = 0,
    max_episodes: Annotated[
        int, typer.Option(help="At most so many, 60:10:30 train, validation and test.")
    ] = 6000,
) -> None:
    """Is gene G a dependency of cell line C? From the DepMap tables (csv, csv.gz or parquet)."""
    from rich.progress import Progress, TaskID

    from bed.atomic import require_writable
    from bed.episodes import write_episodes
    from bed.episodes.depmap import Tables, build_depmap

    tables = Tables(
        gene_effect=gene_effect,
        gene_effect_bins=gene_effect_bins,
        gene_dependency=gene_dependency,
        rnai_bins=rnai_bins,
        expression=expression,
        copy_number=copy_number,
        mutations=mutations,
        models=models,
    )
    for path in tables.given().values():
        if out.exists() and path.exists() and out.samefile(path):
            raise DataError(f"--out {out} is also an input; name another file")
    require_writable(out)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(escape(stage), total=total or None)
            bar.update(tasks[stage], completed=done)

        file = build_depmap(tables, seed, max_episodes, report)
        write_episodes(out, file)
    _summarise(out, file)


def _summarise(out: Path, file: "EpisodeFile") -> None:
    console = Console()
    counts = Counter(episode.split for episode in file.episodes)
    parts = ", ".join(f"{counts[split]} {split}" for split in ("train", "validation", "test"))
    console.print(f"{len(file.episodes)} episodes ({parts}) in {out}", soft_wrap=True, markup=False)
    for title, block in (("left out", "excluded"), ("fell short", "short")):
        for name, num in file.info[block].items():
            console.print(f"  {title}: {name}: {num}", soft_wrap=True, markup=False)
    for note in file.info["notes"]:
        console.print(f"  note: {note}", soft_wrap=True, markup=False)
    console.print(f"Audit it with: bed episodes check {out}", soft_wrap=True, markup=False)


@app.command()
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


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="Episode file.", show_default=False)],
    episode_id: Annotated[
        str | None, typer.Option("--id", help="Id of the episode; the first test episode if none.")
    ] = None,
) -> None:
    """Print one episode: its target, its label and every stub."""
    from bed.episodes import read_episodes

    if episode_id is None:
        found = read_episodes(file, "test").episodes or read_episodes(file).episodes
    else:
        found = read_episodes(file, ids=[episode_id]).episodes
    if not found:
        raise DataError(f"{file}: no episode {episode_id!r}; column 'id' of the file lists them")
    _print_episode(found[0])


def _print_episode(episode: "Episode") -> None:
    from bed.domains import reading

    console = Console()
    if console.width < _NARROWEST:
        console = Console(width=_NARROWEST)
    console.print(f"{episode.id}  ({episode.split}, unit {episode.unit})", markup=False)
    console.print(f"Target: {episode.target.text}", markup=False)
    console.print(f"Label: {episode.label} ({'' if episode.label else 'not '}supported)")
    table = Table("", "tier", "relation", "claim", "outcome", "supported", box=None, pad_edge=False)
    for place, (stub, tier, tag) in enumerate(
        zip(episode.pool, episode.tiers, episode.tags, strict=True), start=1
    ):
        outcome = ", ".join(f"{name} {value}" for name, value in stub.outcome.fields.items())
        said = reading(stub.experiment, stub.outcome)
        claim = stub.experiment.hypothesis.text.partition(":")[0]
        row = (str(place), str(tier), tag, claim, outcome, "yes" if said.supported else "no")
        table.add_row(*map(escape, row))
    console.print(table)
