"""`bed episodes show` and `testset`: episodes as people and as language models see them."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bed.cli.episodes.build import require_apart
from bed.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bed.evidence import Episode
    from bed.prompts import Prompt

__all__ = ["show", "write_test_set"]

_NARROWEST = 180


class Form(StrEnum):
    """How an episode is shown."""

    TABLE = "table"
    PROMPT = "prompt"
    JSON = "json"


class Role(StrEnum):
    """What a prompt asks of a model."""

    BELIEF = "belief"
    CHOICE = "choice"
    SIMULATE = "simulate"


def show(
    file: Annotated[Path, typer.Argument(help="Episode file.", show_default=False)],
    episode_id: Annotated[
        str | None, typer.Option("--id", help="Id of the episode; the first test episode if none.")
    ] = None,
    form: Annotated[
        Form, typer.Option("--as", help="A table, the prompt for a language model, or JSON.")
    ] = Form.TABLE,
    role: Annotated[
        Role, typer.Option(help="Prompt: state a belief, choose an experiment, or simulate one.")
    ] = Role.BELIEF,
    known: Annotated[
        int | None,
        typer.Option(
            help="Prompt: so many stubs of the pool are known; all for a belief, none otherwise."
        ),
    ] = None,
    stub: Annotated[
        int | None,
        typer.Option(help="Prompt: the place of the experiment to simulate, from 1."),
    ] = None,
    unsupported: Annotated[
        bool, typer.Option("--unsupported", help="Prompt: simulate a result against h'.")
    ] = False,
    thinking: Annotated[
        bool, typer.Option("--thinking", help="Prompt: ask for reasoning before the answer.")
    ] = False,
    system: Annotated[
        Path | None,
        typer.Option(help="Prompt: a file with the system prompt to use instead of bed's own."),
    ] = None,
) -> None:
    """Print one episode: its target, its label and every stub; or what a model would be asked.

    Prompts that were released with an episode are shown to the letter, unless another system prompt
    is asked for.
    """
    from bed.episodes import read_episodes
    from bed.evidence import to_json

    ids = None if episode_id is None else [episode_id]
    found = read_episodes(file, None if ids else "test", ids)
    if not found.episodes and ids is None:
        found = read_episodes(file)
    if not found.episodes:
        raise DataError(f"{file}: no episode {episode_id!r}; column 'id' of the file lists them")
    episode = found.episodes[0]
    if form is Form.TABLE:
        _print_episode(episode)
    elif form is Form.JSON:
        typer.echo(to_json(episode))
    else:
        released = found.prompts[0] if found.prompts else {}
        if role is Role.BELIEF and released and system is None and not thinking:
            prompt = _released(episode, released, known)
        else:
            prompt = _prompt(episode, role, known, stub, not unsupported, thinking, system)
        typer.echo(f"--- system ---\n{prompt.system}\n--- user ---\n{prompt.user}")


def _released(
    episode: "Episode", released: "Mapping[int, Mapping[str, str]]", known: int | None
) -> "Prompt":
    from bed.prompts import Prompt

    k = max(released) if known is None else known
    if k not in released:
        raise DataError(
            f"--known {k}: the prompts released with {episode.id!r} know {sorted(released)} stubs; "
            "give one of these, or --system for bed's own wording"
        )
    return Prompt(released[k]["system"], released[k]["user"])


def _prompt(
    episode: "Episode",
    role: Role,
    known: int | None,
    stub: int | None,
    supportive: bool,
    thinking: bool,
    system: Path | None,
) -> "Prompt":
    """Return bed's own prompt for a role."""
    from bed.prompts import belief_prompt, choice_prompt, simulation_prompt

    size = len(episode.pool)
    k = (size if role is Role.BELIEF else 0) if known is None else known
    if not 0 <= k <= size:
        raise DataError(f"--known {k} is outside 0..{size}, the size of the pool")
    own = None if system is None else _text(system)
    evidence = episode.pool[:k]
    if role is Role.BELIEF:
        return belief_prompt(episode.target, evidence, thinking=thinking, system=own)
    left = [item.experiment for item in episode.pool[k:]]
    if not left:
        raise DataError(f"--known {k} leaves no experiment of the {size}; use a smaller number")
    if role is Role.CHOICE:
        return choice_prompt(episode.target, evidence, left, system=own)
    place = k + 1 if stub is None else stub
    if not k < place <= size:
        raise DataError(f"--stub {place} is outside {k + 1}..{size}, the experiments not yet known")
    return simulation_prompt(episode.pool[place - 1].experiment, supportive, evidence, system=own)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as a system prompt ({error})") from error


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
        try:
            supported = "yes" if reading(stub.experiment, stub.outcome).supported else "no"
        except DataError:
            supported = "not known"
        claim = stub.experiment.hypothesis.text.partition(":")[0]
        row = (str(place), str(tier), tag, claim, outcome, supported)
        table.add_row(*map(escape, row))
    console.print(table)


def write_test_set(
    file: Annotated[Path, typer.Argument(help="Episode file.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Parquet file to write.", dir_okay=False)],
    num_sensitivity: Annotated[
        int | None,
        typer.Option(
            help="Episodes a domain that are asked at every length from 0 to 16; 300, or all where "
            "there are fewer, by default."
        ),
    ] = None,
) -> None:
    """Write the questions of a test set: 2 to 16 stubs an episode, and nested sweeps of 0 to 16.

    Episodes are ordered by the SHA-256 of their ids and lengths are allotted in that order, so the
    same file gives the same bytes.
    """
    from bed.episodes import read_episodes
    from bed.episodes.testset import question_rows, write_testset

    require_apart(out, [file])
    found = question_rows(read_episodes(file, "test"), num_sensitivity)
    write_testset(out, found)
    console = Console()
    for domain, counts in found.info.items():
        said = ", ".join(f"{num} {name.removeprefix('num_')}" for name, num in counts.items())
        console.print(f"{domain}: {said}", markup=False, soft_wrap=True)
    console.print(f"{len(found.rows)} rows in {out}", markup=False, soft_wrap=True)
