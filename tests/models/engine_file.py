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

_SERVED = """\
[serve.classifier]
model = "classifier"
kind = "classifier"
port = 8101
device = "cpu"
max_model_len = 4096
python = "{python}"

[serve.chat]
model = "chat"
kind = "chat"
port = 8102
device = "cpu"
max_model_len = 4096
python = "{python}"

[endpoints.classifier]
serve = "classifier"

[endpoints.chat]
serve = "chat"
"""

_PARTS = """
[belief]
kind = "classifier"
endpoint = "classifier"
model = "classifier"
tokenizer = "{models}/classifier"
system = {{ depmap = "belief.txt" }}

[simulator]
kind = "generative"
endpoint = "chat"
model = "chat"
max_tokens = 64
structured = true
system = {{ depmap = "simulate.txt" }}

[naive]
endpoint = "chat"
model = "chat"
max_tokens = 16
structured = true
system = {{ depmap = "choice.txt" }}
"""


def write_engine_file(folder: Path, models: Path, endpoints: str) -> Path:
    """Write the file and the system prompts into a folder, and return the file's path.

    Args:
        folder: gets them.
        models: holds `classifier` and `chat`.
        endpoints: the tables of the endpoints `classifier` and `chat`.
    """
    for role, text in SYSTEM.items():
        (folder / f"{role}.txt").write_text(text)
    path = folder / "engine.toml"
    path.write_text(endpoints + _PARTS.format(models=models.resolve()))
    return path


def main() -> None:
    """Run the module as a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_args()
    print(write_engine_file(given.folder, given.folder, _SERVED.format(python=given.python)))


if __name__ == "__main__":
    main()
