"""The root of the command line."""

from typing import Annotated

import typer

from bed import __version__
from bed.cli import cache, engine, episodes, evaluate, plan, serve, simulate

__all__ = ["app"]

app = typer.Typer(
    name="bed",
    help="Bayesian experimental design: which experiment next, and what it is worth in bits.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(episodes.app, name="episodes")
app.command("simulate")(simulate.simulate)
app.command("evaluate")(evaluate.evaluate)
app.add_typer(engine.app, name="engine")
app.command("plan")(plan.plan)
app.command("serve")(serve.serve)
app.add_typer(cache.app, name="cache")


def _version(asked: bool) -> None:
    if asked:
        print(f"bed {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Bayesian experimental design: which experiment next, and what it is worth in bits."""
