"""Writes the engine file of the tiny models: which of them plays which part, and how it is asked.

    python -m tests.models.engine_file FOLDER [--python INTERPRETER]

FOLDER holds the models of `tests.models.train`; it gets `engine.toml` and the system prompts that
the models were trained with. INTERPRETER has vLLM; by default the one that runs this.
"""

import argparse
import sys
from pathlib import Path

from tests.models.examples import SYSTEM

__all__ = ["write_engine_file"]

_ENGINE = """\
[serve.judge]
model = "classifier"
kind = "classifier"
port = 8101
device = "cpu"
max_model_len = 4096
python = "{python}"

[serve.writer]
model = "chat"
kind = "chat"
port = 8102
device = "cpu"
max_model_len = 4096
python = "{python}"

[endpoints.judge]
serve = "judge"

[endpoints.writer]
serve = "writer"

[belief]
kind = "classifier"
endpoint = "judge"
system = {{ depmap = "belief.txt" }}

[simulator]
kind = "generative"
endpoint = "writer"
max_tokens = 64
structured = true
system = {{ depmap = "simulate.txt" }}

[naive]
endpoint = "writer"
max_tokens = 16
structured = true
system = {{ depmap = "choice.txt" }}
"""


def write_engine_file(folder: Path, python: str = sys.executable) -> Path:
    """Write the file and the system prompts into a folder of models, and return its path.

    Args:
        folder: holds `classifier` and `chat`.
        python: interpreter of the environment that has vLLM.
    """
    for role, text in SYSTEM.items():
        (folder / f"{role}.txt").write_text(text)
    path = folder / "engine.toml"
    path.write_text(_ENGINE.format(python=python))
    return path


def main() -> None:
    """Run the module as a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    print(write_engine_file(given.folder, given.python))


if __name__ == "__main__":
    main()
