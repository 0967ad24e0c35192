"""What JSON Lines and CSV have in common: files, text, accounts."""

from pathlib import Path

import pytest

from bed.episodes.imports import EXAMPLES, import_plain
from bed.errors import DataError
from tests.episodes.imports.conftest import Write


@pytest.mark.parametrize(
    ("name", "text"), [("a.jsonl", EXAMPLES["jsonl"]), ("a.csv", EXAMPLES["csv"])]
)
def test_byte_order_mark_and_windows_line_ends(write: Write, name: str, text: str) -> None:
    plain = import_plain(write(name, text))
    odd = import_plain(write(name, "\ufeff" + text.replace("\n", "\r\n")))
    assert odd.episodes == plain.episodes


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_empty_file(write: Write, name: str) -> None:
    with pytest.raises(DataError, match="no episodes"):
        import_plain(write(name, ""))


def test_files_that_cannot_be_read(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.jsonl cannot be read: No such file"):
        import_plain(tmp_path / "a.jsonl")
    with pytest.raises(DataError, match="byte 4 is not UTF-8; save the file as UTF-8"):
        import_plain(write("a.csv", b"abc\xff"))
    with pytest.raises(DataError, match=r"suffix '.json' is unknown; name the file \*.jsonl"):
        import_plain(write("a.json", "{}"))
