"""Answers on disk, by the hash of what was asked: one SQLite file, safe for several processes."""

import json
import sqlite3
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from bed.atomic import written_whole
from bed.errors import DataError

__all__ = ["AnswerStore", "StoreInfo"]

_APPLICATION: Final = 0x62656431
"""Marks a SQLite file as one of these ("bed1")."""
_SECONDS_LOCKED: Final = 60.0
_ASKED_AT_ONCE: Final = 500
_SHARE_DROPPED: Final = 10

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    place INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB UNIQUE, answer TEXT, digest BLOB
)
"""


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """What a store holds.

    Attributes:
        num_answers: how many answers.
        num_bytes: size of what is in use.
    """

    num_answers: int
    num_bytes: int


class AnswerStore:
    """JSON values by key; what cannot be trusted is dropped, never returned.

    Safe to use from several threads and processes. When it grows beyond its limit, the oldest tenth
    goes.

    Args:
        path: of the file; made where there is none, with its folder.
        max_bytes: limit of its size.

    Raises:
        DataError: for a file that is something else, or cannot be opened.
    """

    def __init__(self, path: Path, max_bytes: int = sys.maxsize) -> None:
        self.path, self.max_bytes = path, max_bytes
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                path, timeout=_SECONDS_LOCKED, isolation_level=None, check_same_thread=False
            )
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise DataError(
                f"{path} cannot be used as a cache of answers ({error}); remove it or name another "
                "file"
            ) from error

    def _prepare(self) -> None:
        (marked,) = self._file.execute("PRAGMA application_id").fetchone()
        (num_tables,) = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if num_tables and marked != _APPLICATION:
            raise sqlite3.DatabaseError("it is another program's database")
        self._file.execute("PRAGMA journal_mode = WAL")
        # after a power cut the last answers may be missing, and none is half there
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._file.execute(_TABLE)

    def recall(self, keys: Iterable[bytes]) -> dict[bytes, Any]:
        """Return the answers that are there, by key.

        Args:
            keys: of any number.
        """
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, Any] = {}
        spoilt: list[tuple[bytes]] = []
        with self._lock:
            for at in range(0, len(wanted), _ASKED_AT_ONCE):
                part = wanted[at : at + _ASKED_AT_ONCE]
                marks = ", ".join("?" * len(part))
                rows = self._file.execute(
                    f"SELECT key, answer, digest FROM answers WHERE key IN ({marks})", part
                )
                for key, answer, digest in rows:
                    if _digest(key, answer) == digest:
                        found[key] = json.loads(answer)
                    else:
                        spoilt.append((key,))
            self._file.executemany("DELETE FROM answers WHERE key = ?", spoilt)
        return found

    def keep(self, answers: Mapping[bytes, Any]) -> None:
        """Keep answers, all of them or none.

        Args:
            answers: JSON values by key; one that is there already stays.
        """
        rows = [(key, json.dumps(answer, allow_nan=False)) for key, answer in answers.items()]
        with self._lock, closing(self._file.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                cursor.executemany(
                    "INSERT OR IGNORE INTO answers (key, answer, digest) VALUES (?, ?, ?)",
                    [(key, answer, _digest(key, answer)) for key, answer in rows],
                )
                if self._num_bytes() > self.max_bytes:
                    cursor.execute(
                        "DELETE FROM answers WHERE place <= (SELECT min(place) + "
                        f"(max(place) - min(place)) / {_SHARE_DROPPED} FROM answers)"
                    )
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise

    def info(self) -> StoreInfo:
        """Return what the store holds."""
        with self._lock:
            (count,) = self._file.execute("SELECT count(*) FROM answers").fetchone()
            return StoreInfo(count, self._num_bytes())

    def copy(self, path: Path) -> None:
        """Write everything to a new file of the same kind, whole or not at all.

        Args:
            path: of the new file.

        Raises:
            DataError: where there is a file already, or none can be written.
        """
        if path.exists():
            raise DataError(f"{path} exists; remove it or name another file")
        with written_whole(path) as beside, self._lock:
            try:
                self._file.execute("VACUUM INTO ?", [str(beside)])
            except sqlite3.Error as error:
                raise DataError(f"{path} cannot be written ({error})") from error

    def answers(self) -> Iterator[tuple[bytes, Any]]:
        """Yield each key with its answer, the oldest first."""
        place = 0
        while True:
            with self._lock:
                rows = self._file.execute(
                    "SELECT place, key, answer, digest FROM answers WHERE place > ? "
                    "ORDER BY place LIMIT ?",
                    (place, _ASKED_AT_ONCE),
                ).fetchall()
            if not rows:
                return
            for _, key, answer, digest in rows:
                if _digest(key, answer) == digest:
                    yield key, json.loads(answer)
            place = rows[-1][0]

    def clear(self) -> None:
        """Forget everything, and give the room back."""
        with self._lock:
            self._file.execute("DELETE FROM answers")
            self._file.execute("VACUUM")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def _num_bytes(self) -> int:
        count, unused, size = (
            self._file.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((count - unused) * size)


def _digest(key: bytes, answer: str) -> bytes:
    return sha256(key + answer.encode()).digest()
