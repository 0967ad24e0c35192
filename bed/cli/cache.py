"""`bed cache`: look after a file of answers."""

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bed.errors import DataError

if TYPE_CHECKING:
    from bed.transport import AnswerStore

__all__ = ["app"]

app = typer.Typer(
    name="cache",
    help="Look into a cache of models' answers, copy or clear it.",
    no_args_is_help=True,
)

File = Annotated[
    Path, typer.Argument(help="As \\[cache] of an engine file names it.", show_default=False)
]


@app.callback()
def cache() -> None:
    """Look after the file that keeps what model servers answered."""


@app.command()
def info(file: File) -> None:
    """Say how many answers are kept and how much room they take."""
    with closing(_opened(file)) as store:
        found = store.info()
    print(f"{found.num_answers:,} answers, {found.num_bytes / 1e6:,.1f} MB")


@app.command()
def export(
    file: File,
    out: Annotated[
        Path,
        typer.Argument(
            help="Another cache, for \\[cache] elsewhere; or JSON lines (.jsonl).",
            show_default=False,
        ),
    ],
) -> None:
    """Write all answers to another file, while others may use this one.

    A line of JSON lines is {"key": ..., "answer": ...}: the hash of what was asked, in hexadecimal
    digits, and what the server answered to that prompt.
    """
    from bed.atomic import written_whole

    with closing(_opened(file)) as store:
        if out.suffix != ".jsonl":
            store.copy(out)
        elif out.exists():
            raise DataError(f"{out} exists; remove it or name another file")
        else:
            with written_whole(out) as beside, beside.open("w", encoding="utf-8") as lines:
                for key, answer in store.answers():
                    lines.write(json.dumps({"key": key.hex(), "answer": answer}) + "\n")
        num_answers = store.info().num_answers
    print(f"{num_answers:,} answers written to {out}")


@app.command()
def clear(file: File) -> None:
    """Forget all answers."""
    with closing(_opened(file)) as store:
        num_answers = store.info().num_answers
        store.clear()
    print(f"{num_answers:,} answers forgotten")


def _opened(file: Path) -> "AnswerStore":
    from bed.transport import AnswerStore

    if not file.is_file():
        raise DataError(f"there is no cache {file}; an engine file names one in [cache]")
    return AnswerStore(file)
