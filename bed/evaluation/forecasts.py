"""Forecasts whose outcomes are known: read from a table and checked, row by row.

A row is one forecast: episode, domain, k (how many stubs were shown), p and label. Optional columns
are model, unit (what the split and the bootstrap resample), of the stub shown last its tier,
verdict and stub (a name), and whether the model abstains. An episode with several rows is a sweep,
and holds every k from 0 on, unless its model abstains. White space around a text does not count.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bed.atomic import written_whole
from bed.errors import DataError
from bed.evaluation.statistic import Array

__all__ = [
    "MACRO",
    "ForecastFile",
    "Forecasts",
    "Sweeps",
    "read_forecasts",
    "split_models",
    "write_forecasts",
]

Integers = NDArray[np.int64]
Texts = NDArray[np.str_]

MACRO: Final = "macro"
"""Stands for the mean over domains, in place of a domain's name."""

_REQUIRED: Final = ("episode", "domain", "k", "p", "label")
_OPTIONAL: Final = ("model", "unit", "tier", "verdict", "stub", "abstains")
_VERDICTS: Final = {
    "supporting": "supporting",
    "supported": "supporting",
    "refuting": "refuting",
    "refuted": "refuting",
    "inconclusive": "inconclusive",
    "significant": "significant",
    "sub-threshold": "sub-threshold",
    "in words": "in words",
    "": "",
}
_UNNAMED: Final = "forecasts"
_FLAGS: Final = {"true": 1.0, "false": 0.0}
_EXACT: Final = 2.0**53
"""Below it a float holds every whole number."""


@dataclass(frozen=True, eq=False)
class Sweeps:
    """The nested sweeps of one domain: what was believed after 0, 1, ... K stubs.

    Attributes:
        p: forecasts, shape (num_episodes, K + 1).
        label: 0 or 1, shape (num_episodes,).
        unit: what the bootstrap resamples, shape (num_episodes,).
        tier: relevance of each stub, 1 the most relevant, shape (num_episodes, K); 0 where the file
            does not say.
        verdict: of each stub, the same shape; empty where the file does not say.
    """

    p: Array
    label: Integers
    unit: Texts
    tier: Integers
    verdict: Texts


@dataclass(frozen=True, eq=False)
class Forecasts:
    """The forecasts of one model, one entry a row.

    Attributes:
        model: its name.
        domain: shape (n,), as all that follow.
        episode: name of the episode, unique within its domain.
        unit: what the split and the bootstrap resample, by default the episode.
        k: how many stubs were shown.
        p: forecast of theta = 1, in [0, 1].
        label: theta, 0 or 1.
        tier: relevance of the stub shown last, 1 the most relevant; 0 where unknown.
        verdict: what that stub's result says of the target; empty where unknown.
        abstains: whether it forecasts some rows only, by its nature, or the same whatever is shown;
            then it has no sweeps.
    """

    model: str
    domain: Texts
    episode: Texts
    unit: Texts
    k: Integers
    p: Array
    label: Array
    tier: Integers
    verdict: Texts
    abstains: bool = False

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the domains, sorted."""
        return tuple(np.unique(self.domain).tolist())

    def rows(self, keep: NDArray[np.bool_] | Integers) -> "Forecasts":
        """Return the forecasts of some rows.

        Args:
            keep: a mask of shape (n,), or the places of the rows in any order.
        """
        return replace(self, **{name: getattr(self, name)[keep] for name in _COLUMNS})

    def questions(self) -> list[tuple[str, str, int]]:
        """Return domain, episode and k of each row, which tell it from the others."""
        return list(zip(self.domain.tolist(), self.episode.tolist(), self.k.tolist(), strict=True))

    @staticmethod
    def joined(parts: Sequence["Forecasts"], model: str) -> "Forecasts":
        """Return the rows of several as those of one model.

        Args:
            parts: at least one.
            model: its name.
        """
        columns = {name: np.concatenate([getattr(of, name) for of in parts]) for name in _COLUMNS}
        return replace(parts[0], model=model, abstains=False, **columns)

    def with_p(self, p: Array, model: str | None = None) -> "Forecasts":
        """Return other forecasts of the same rows.

        Args:
            p: in [0, 1], shape (n,).
            model: whose they are; the same model's by default.
        """
        return replace(self, p=p, model=model or self.model)

    def sweeps(self) -> dict[str, Sweeps]:
        """Return the sweeps of each domain that has any.

        Raises:
            DataError: for a sweep that lacks a k, or is longer or shorter than the others of its
                domain.
        """
        found: dict[str, Sweeps] = {}
        for domain in () if self.abstains else self.domains:
            here = self.rows(self.domain == domain)
            names, first, count = np.unique(here.episode, return_index=True, return_counts=True)
            swept = count > 1
            if swept.any():
                found[domain] = _sweeps(here, domain, names[swept], first[swept])
        return found


_COLUMNS: Final = ("domain", "episode", "unit", "k", "p", "label", "tier", "verdict")


def _sweeps(here: Forecasts, domain: str, names: Texts, first: Integers) -> Sweeps:
    rows = np.flatnonzero(np.isin(here.episode, names))
    rows = rows[np.lexsort((here.k[rows], here.episode[rows]))]
    last = int(here.k[rows].max())
    sizes = np.unique(here.episode[rows], return_counts=True)[1]
    if (sizes != last + 1).any():
        at = int(np.flatnonzero(sizes != last + 1)[0])
        shown = here.k[here.episode == names[at]].tolist()
        raise DataError(
            f"model {here.model!r}, domain {domain!r}, episode {str(names[at])!r}, column k: "
            f"{sorted(shown)}, while other sweeps of the domain run from 0 to {last}; give each "
            "episode every k up to the same one, or a single row"
        )
    table = rows.reshape(len(names), last + 1)
    return Sweeps(
        here.p[table],
        here.label[first].astype(np.int64),
        here.unit[first],
        here.tier[table[:, 1:]],
        here.verdict[table[:, 1:]],
    )


@dataclass(frozen=True)
class ForecastFile:
    """What a file holds.

    Attributes:
        models: the forecasts of each model, in order of appearance.
        unused: columns that nothing was read from.
    """

    models: tuple[Forecasts, ...]
    unused: tuple[str, ...]


def read_forecasts(path: Path) -> ForecastFile:
    """Read forecasts from a parquet, csv or jsonl file; see the module for its columns.

    Raises:
        DataError: for a file that cannot be read or has no rows, a column that is missing, and a
            value that cannot be; the message names the row, counted from 1 without the header, the
            column and the mend.
    """
    columns = _columns(path)
    try:
        models = split_models(columns)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    known = (*_REQUIRED, *_OPTIONAL)
    return ForecastFile(models, tuple(name for name in columns if name not in known))


def split_models(columns: Mapping[str, Sequence[Any]]) -> tuple[Forecasts, ...]:
    """Return the forecasts of each model in a table, checked.

    Args:
        columns: name -> values, all of one length; others than the module's are ignored.

    Raises:
        DataError: for no rows, a column that is missing, a value that cannot be, an episode that is
            there twice or contradicts itself, and sweeps of unequal length.
    """
    if lacking := [name for name in _REQUIRED if name not in columns]:
        raise DataError(
            f"column {lacking[0]!r} is missing; give {', '.join(_REQUIRED)} and, if you like, "
            f"{', '.join(_OPTIONAL)} (it has {', '.join(columns) or 'none'})"
        )
    count = len(columns["p"])
    if not count:
        raise DataError("has no rows, at least one forecast is needed")
    blank = [None] * count
    model = _texts(columns.get("model", [_UNNAMED] * count), "model")
    episode = _texts(columns["episode"], "episode")
    values: dict[str, NDArray[Any]] = {
        "domain": _texts(columns["domain"], "domain"),
        "episode": episode,
        "unit": _texts(columns["unit"], "unit") if "unit" in columns else episode,
        "k": _wholes(columns["k"], "k"),
        "p": _numbers(columns["p"], "p"),
        "label": _flags(columns["label"], "label", "is not a binary label: use 0 or 1"),
        "tier": _tiers(columns.get("tier", blank)),
        "verdict": _verdicts(columns.get("verdict", blank)),
    }
    is_share = (values["p"] >= 0) & (values["p"] <= 1)
    _require(columns["p"], is_share, "p", "is outside [0, 1]; give the probability of label 1")
    fault = "stands for the mean over domains; rename the domain"
    _require(columns["domain"], values["domain"] != MACRO, "domain", fault)
    abstains = _abstains(columns.get("abstains", blank))
    _check_rows(model, values, abstains)
    _check_stubs(model, values, columns.get("stub", blank))
    found = []
    for name in dict.fromkeys(model.tolist()):
        here = model == name
        own = {key: column[here] for key, column in values.items()}
        found.append(Forecasts(name, **own, abstains=bool(abstains[here][0])))
        # for its errors: sweeps of unequal length belong to what cannot be
        found[-1].sweeps()
    return tuple(found)


Columns = dict[str, Sequence[Any]]


def _columns(path: Path) -> Columns:
    from pyarrow import ArrowException

    readers = {".parquet": _of_parquet, ".csv": _of_csv, ".jsonl": _of_json_lines}
    kind = path.suffix.lower()
    if kind not in readers:
        raise DataError(f"{path}: must end in .parquet, .csv or .jsonl, for the form of the table")
    try:
        return readers[kind](path)
    except (OSError, ValueError, csv.Error, ArrowException) as error:
        raise DataError(f"{path}: cannot be read as {kind[1:]}: {error}") from error


def _of_parquet(path: Path) -> Columns:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        table = file.read()
    _require_unique(table.column_names)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _of_csv(path: Path) -> Columns:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)
        header = [cell.strip() for cell in next(rows, [])]
        for separator, called in ((";", "semicolons"), ("\t", "tabs")):
            if len(header) == 1 and separator in header[0]:
                raise ValueError(f"cells are parted by {called}; save the table with commas")
        _require_unique(header)
        body = [row for row in rows if row]
    for place, row in enumerate(body):
        if len(row) != len(header):
            raise ValueError(
                f"row {place + 1} has {len(row)} cells under {len(header)} columns; quote texts "
                "that hold a comma"
            )
    return {name: [row[place] for row in body] for place, name in enumerate(header)}


def _of_json_lines(path: Path) -> Columns:
    rows: list[dict[str, Any]] = []
    # not splitlines: a text may hold other separators, such as U+2028
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number}: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"line {number} is no JSON object; give one a forecast")
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    _require_unique(name for name, _ in pairs)
    return dict(pairs)


def _require_unique(names: Iterable[str]) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"column {twice[0]!r} is there twice: a duplicate; keep one")


def _at(place: int, column: str, value: object, fault: str) -> DataError:
    return DataError(f"row {place + 1}, column {column!r}: {value!r} {fault}")


def _require(values: Sequence[Any], fits: NDArray[np.bool_], column: str, fault: str) -> None:
    if not fits.all():
        place = int(np.flatnonzero(~fits)[0])
        raise _at(place, column, values[place], fault)


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return not value.strip()
    try:
        return value is None or bool(value != value)
    except TypeError:
        # pandas' NA cannot say whether it is equal to itself
        return True


def _texts(values: Sequence[Any], column: str) -> Texts:
    for place, value in enumerate(values):
        if _is_missing(value):
            raise _at(place, column, value, "is missing; give it a text")
        if not isinstance(value, str | Real):
            raise _at(place, column, value, "is no text")
    return np.array([str(value).strip() for value in values], dtype=np.str_)


def _numbers(values: Sequence[Any], column: str) -> Array:
    found = np.empty(len(values))
    for place, value in enumerate(values):
        if _is_missing(value):
            raise _at(place, column, value, "is missing or NaN; leave failed forecasts out")
        try:
            found[place] = _number(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise _at(place, column, value, "is not a number") from error
    _require(values, np.isfinite(found), column, "is missing or not finite")
    return found


def _number(value: Any) -> float:
    """Return a number, also one that is written as text; a flag is none."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, str) and "_" in value):
        raise TypeError
    return float(value)


def _wholes(values: Sequence[Any], column: str, least: int = 0, hint: str = "") -> Integers:
    found = _numbers(values, column)
    is_whole = (found == np.floor(found)) & (found >= least) & (found < _EXACT)
    _require(values, is_whole, column, f"is not a whole number of {least} or more{hint}")
    return found.astype(np.int64)


def _flags(values: Sequence[Any], column: str, fault: str) -> Array:
    """Return 0 or 1 for what is one of them, or true or false."""
    words = [_FLAGS.get(str(value).strip().lower(), value) for value in values]
    found = _numbers(words, column)
    _require(values, np.isin(found, (0.0, 1.0)), column, fault)
    return found


def _filled(values: Sequence[Any], default: object) -> tuple[list[Any], NDArray[np.bool_]]:
    """Return values with the default where one is missing, and where that is."""
    missing = np.array([_is_missing(value) for value in values])
    return [default if gone else v for v, gone in zip(values, missing, strict=True)], missing


def _tiers(values: Sequence[Any]) -> Integers:
    """Return tiers, 0 where none is given."""
    filled, missing = _filled(values, 1)
    return np.where(missing, 0, _wholes(filled, "tier", 1, "; 1 is the most relevant"))


def _abstains(values: Sequence[Any]) -> NDArray[np.bool_]:
    flags = _flags(_filled(values, 0)[0], "abstains", "is neither true nor false")
    return flags.astype(np.bool_)


def _verdicts(values: Sequence[Any]) -> Texts:
    found = []
    for place, value in enumerate(values):
        word = "" if _is_missing(value) else str(value).strip().lower()
        if word not in _VERDICTS:
            known = ", ".join(dict.fromkeys(filter(None, _VERDICTS.values())))
            raise _at(place, "verdict", value, f"is unknown; use one of {known}")
        found.append(_VERDICTS[word])
    return np.array(found, dtype=np.str_)


def _check_rows(
    model: Texts, values: Mapping[str, NDArray[Any]], abstains: NDArray[np.bool_]
) -> None:
    """Raise for a forecast that is there twice, and for rows that contradict each other."""
    k, unit = values["k"].tolist(), values["unit"].tolist()
    label = values["label"].astype(np.int64).tolist()
    names = zip(model.tolist(), values["domain"].tolist(), values["episode"].tolist(), strict=True)
    first: dict[str, dict[Any, int]] = {"row": {}, "model": {}, "episode": {}}
    for place, (whose, domain, episode) in enumerate(names):
        row = (whose, domain, episode, k[place])
        if (earlier := first["row"].setdefault(row, place)) != place:
            fault = f"is there twice for episode {episode!r} (row {earlier + 1}): a duplicate"
            raise _at(place, "k", k[place], fault)
        start = first["episode"].setdefault((domain, episode), place)
        for column, of in (("label", label), ("unit", unit)):
            if of[place] != of[start]:
                fault = f"contradicts row {start + 1} of episode {episode!r}: {of[start]!r}"
                raise _at(place, column, of[place], fault)
        start = first["model"].setdefault(whose, place)
        if abstains[place] != abstains[start]:
            fault = f"contradicts row {start + 1} of model {whose!r}"
            raise _at(place, "abstains", bool(abstains[place]), fault)


def _check_stubs(model: Texts, values: Mapping[str, NDArray[Any]], stubs: Sequence[Any]) -> None:
    """Raise where an episode shows the same stub twice."""
    seen: dict[tuple[Any, ...], int] = {}
    for place, stub in enumerate(stubs):
        if _is_missing(stub) or values["k"][place] == 0:
            continue
        key = (model[place], values["domain"][place], values["episode"][place], str(stub))
        earlier = seen.setdefault(key, place)
        if earlier != place:
            raise _at(place, "stub", stub, f"was shown before, in row {earlier + 1}: a duplicate")


def write_forecasts(path: Path, models: Sequence[Forecasts]) -> None:
    """Write forecasts as a parquet file that `read_forecasts` reads.

    Args:
        path: of the file, replaced where it is there.
        models: their forecasts.

    Raises:
        DataError: where it cannot be written.
    """
    import pandas as pd

    tables = [
        pd.DataFrame({name: getattr(of, name) for name in _COLUMNS}).assign(
            model=of.model, abstains=of.abstains
        )
        for of in models
    ]
    table = pd.concat(tables, ignore_index=True)
    table["tier"] = table["tier"].where(table["tier"] > 0).astype("Int64")
    table["label"] = table["label"].astype("int64")
    with written_whole(path) as beside:
        table.to_parquet(beside)
