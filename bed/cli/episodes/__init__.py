"""`bed episodes`: build, import, combine, audit and look at episode files."""

import typer

from bed.cli.episodes import bring, build, check, show

__all__ = ["app"]

app = typer.Typer(name="episodes", help="Build, check and show episodes.", no_args_is_help=True)
app.add_typer(build.app, name="build")
app.add_typer(bring.app, name="import")
app.command("combine")(bring.combine)
app.command("schema")(bring.schema)
app.command("check")(check.check)
app.command("show")(show.show)
app.command("testset")(show.write_test_set)
