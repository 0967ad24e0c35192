"""`bed episodes import`, `combine` and `schema`: episodes that bed did not build."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bed.cli.episodes.build import Out, require_apart, summarise

__all__ = ["app", "combine", "schema"]

app = typer.Typer(help="Import episodes: EDB-Bio's, or your own.", no_args_is_help=True)


class Format(StrEnum):
    """A format that can be imported."""

    EDB = "edb"
    JSONL = "jsonl"
    CSV = "csv"


@app.command("edb")
def import_edb_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Parquet files of the release, of any domains; give a domain's primary and "
            "sensitivity file together.",
            show_default=False,
            dir_okay=False,
        ),
    ],
    out: Out,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="TOML: what the columns and fields of the files are called, where it is not as "
            "`bed episodes schema edb` says.",
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """The released EDB-Bio parquet files, primary and sensitivity, of any of the three domains."""
    from bed.episodes import write_episodes
    from bed.episodes.imports import import_edb, read_mapping

    require_apart(out, files)
    file = import_edb(files, None if mapping is None else read_mapping(mapping))
    write_episodes(out, file)
    summarise(out, file)


@app.command("own")
def import_own_file(
    file: Annotated[Path, typer.Argument(help=".jsonl or .csv", show_default=False)], out: Out
) -> None:
    """Your own hypotheses, experiments and results, as JSONL or CSV (`bed episodes schema`)."""
    from bed.episodes import write_episodes
    from bed.episodes.imports import import_plain

    require_apart(out, [file])
    found = import_plain(file)
    write_episodes(out, found)
    summarise(out, found)


def combine(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Episode files (parquet) that `bed episodes` built or imported.",
            show_default=False,
            dir_okay=False,
        ),
    ],
    out: Out,
) -> None:
    """Write the episodes of several files as one, so that one simulation covers their domains."""
    from bed.episodes import write_episodes
    from bed.episodes.combining import combined

    require_apart(out, files)
    file = combined(files)
    write_episodes(out, file)
    for domain, part in file.by_domain().items():
        typer.echo(f"{domain}: {len(part.episodes)} episodes")
    typer.echo(f"{len(file.episodes)} episodes in {out}")


def schema(
    form: Annotated[Format, typer.Argument(help="edb, jsonl or csv.")] = Format.JSONL,
) -> None:
    """Print what an importable file must hold, with an example."""
    from bed.episodes.imports import SCHEMAS

    typer.echo(SCHEMAS[form.value])
