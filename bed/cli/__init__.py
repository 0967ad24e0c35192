"""The command `bed`: one file a subcommand, user errors without traceback."""

import os
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
    except OSError as error:
        # the output was closed or its disk is full; nothing more can be printed there
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - it lives to the end of the process
        print(f"bed: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
