"""The command `bed`: one file a subcommand, user errors without traceback."""

import sys

from bed.cli.app import app
from bed.errors import BedError

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; exit 2 on what the user can mend, 130 when interrupted."""
    try:
        app()
    except BedError as error:
        print(f"bed: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("bed: interrupted", file=sys.stderr)
        sys.exit(130)
