"""The README's example prints what the README says, and its commands exist."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.S)


def test_every_example_shows_its_output() -> None:
    assert len(EXAMPLES) == README.count("```python") == 2


@pytest.mark.parametrize(("code", "shown"), EXAMPLES, ids=["worlds", "own models"])
def test_an_example_prints_what_is_shown(code: str, shown: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()


def test_the_first_commands_are_make_targets() -> None:
    first = re.search(r"```\n(.*?)```", README, re.S).group(1)  # type: ignore[union-attr]
    targets = re.findall(r"^make (\w+)", first, re.M)
    assert targets == ["simulate", "test"]
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(), re.M)


def test_the_places_exist() -> None:
    table = README.split("## Where things are")[1]
    for place in re.findall(r"`(bed/[\w/.]+|\w+\.py)`", table):
        assert (ROOT / place).exists() or (ROOT / "bed" / place).exists(), place
