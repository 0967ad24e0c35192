"""The file of answers: what it gives back, what it drops, and who may share it."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bed.cli import app
from bed.errors import DataError
from bed.transport import AnswerStore


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_answers_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "new" / "answers.sqlite"
    answers = {key(i): {"p": i / 7, "text": "é\u2028"} for i in range(1200)}
    with closing(AnswerStore(path)) as store:
        store.keep(answers)
        store.keep({key(0): "another"})
    with closing(AnswerStore(path)) as store:
        assert store.recall([*answers, key(5000)]) == answers
        assert store.info().num_answers == 1200


def test_a_spoilt_answer_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(AnswerStore(path)) as store:
        store.keep({key(0): 0.25, key(1): 0.75})
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE answers SET answer = '0.52' WHERE key = ?", [key(0)])
        file.commit()
    with closing(AnswerStore(path)) as store:
        assert store.recall([key(0), key(1)]) == {key(1): 0.75}
        assert store.info().num_answers == 1
        store.keep({key(0): 0.25})
        assert store.recall([key(0)]) == {key(0): 0.25}


def test_the_oldest_go_beyond_the_limit(tmp_path: Path) -> None:
    limit = 200_000
    with closing(AnswerStore(tmp_path / "answers.sqlite", limit)) as store:
        for i in range(100):
            store.keep({key(100 * i + j): "x" * 100 for j in range(100)})
        assert 0.5 * limit < store.info().num_bytes < 1.2 * limit
        assert not store.recall([key(0)])
        assert store.recall([key(9999)])


def test_a_value_that_is_no_json_keeps_nothing_of_its_company(tmp_path: Path) -> None:
    with closing(AnswerStore(tmp_path / "answers.sqlite")) as store:
        with pytest.raises(ValueError, match="JSON"):
            store.keep({key(0): 1, key(1): float("nan")})
        assert store.info().num_answers == 0


def test_several_processes_share_it(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    code = (
        "import sys; from pathlib import Path; from bed.transport import AnswerStore\n"
        "store, start = AnswerStore(Path(sys.argv[1])), int(sys.argv[2])\n"
        "for i in range(start, start + 60): store.keep({i.to_bytes(32, 'big'): i})\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(start)])
        for start in (0, 40, 80)
    ]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    with closing(AnswerStore(path)) as store:
        assert store.recall(map(key, range(140))) == {key(i): i for i in range(140)}


@pytest.mark.parametrize("kind", ["text", "database", "folder"])
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "answers.sqlite"
    if kind == "text":
        path.write_text("results, precious\n" * 100)
    elif kind == "database":
        with closing(sqlite3.connect(path)) as file:
            file.execute("CREATE TABLE results (x)")
            file.commit()
    else:
        path.mkdir()
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(DataError, match=r"answers\.sqlite cannot be used as a cache"):
        AnswerStore(path)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_copy_and_lines_hold_what_the_file_holds(tmp_path: Path) -> None:
    answers = {key(i): {"logit": i / 7} for i in range(1234)}
    path, copied, lines = (tmp_path / name for name in ("a.sqlite", "b.sqlite", "c.jsonl"))
    with closing(AnswerStore(path)) as store:
        store.keep(answers)
        # a store that is in use is copied as it stands
        for out in (copied, lines):
            shown = CliRunner().invoke(app, ["cache", "export", str(path), str(out)])
            assert shown.exit_code == 0, shown.output
            assert f"{len(answers):,} answers written" in shown.stdout
    with closing(AnswerStore(copied)) as store:
        assert store.recall(answers) == answers
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert {bytes.fromhex(row["key"]): row["answer"] for row in rows} == answers
    assert len(rows) == len(answers)
    for out in (copied, lines):
        again = CliRunner().invoke(app, ["cache", "export", str(path), str(out)])
        assert isinstance(again.exception, DataError)
        assert f"{out} exists" in str(again.exception)
