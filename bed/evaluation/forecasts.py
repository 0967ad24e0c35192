"""Forecasts whose outcomes are known: read from a table and checked, row by row.

A row is one forecast: episode, domain, k (how many stubs were shown), p and label. Optional columns
are model, unit (what the split and the bootstrap resample), and of the stub shown last its tier,
verdict and stub (a name). An episode with several rows is a sweep, and holds every k from 0 on.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from bed.atomic import written_whole
from bed.errors import DataError
from bed.evaluation.statistic import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ForecastFile",
    "Forecasts",
    "Sweeps",
    "read_forecasts",
    "split_models",
    "write_forecasts",
]

Integers = NDArray[np.int64]
Texts = NDArray[np.str_]

_REQUIRED: Final = ("episode", "domain", "k", "p", "label")
_OPTIONAL: Final = ("model", "unit", "tier", "verdict", "stub")
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
        abstains: whether it forecasts some rows only, by its nature; then it has no sweeps.
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
    table = _table(path)
    if lacking := [name for name in _REQUIRED if name not in table.columns]:
        raise DataError(
            f"{path}: column {lacking[0]!r} is missing; give {', '.join(_REQUIRED)} and, if you "
            f"like, {', '.join(_OPTIONAL)} (it has {', '.join(map(str, table.columns))})"
        )
    if table.empty:
        raise DataError(f"{path}: has no rows, at least one forecast is needed")
    try:
        models = split_models({name: table[name].tolist() for name in table.columns})
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    known = (*_REQUIRED, *_OPTIONAL)
    return ForecastFile(models, tuple(str(name) for name in table.columns if name not in known))


def split_models(columns: Mapping[str, Sequence[Any]]) -> tuple[Forecasts, ...]:
    """Return the forecasts of each model in a table, checked.

    Args:
        columns: name -> values, all of one length; others than the module's are ignored.

    Raises:
        DataError: for a value that cannot be, naming row and column.
    """
    count = len(columns["p"])
    model = _texts(columns.get("model", [_UNNAMED] * count), "model")
    episode = _texts(columns["episode"], "episode")
    values: dict[str, NDArray[Any]] = {
        "domain": _texts(columns["domain"], "domain"),
        "episode": episode,
        "unit": _texts(columns["unit"], "unit") if "unit" in columns else episode,
        "k": _wholes(columns["k"], "k"),
        "p": _numbers(columns["p"], "p"),
        "label": _numbers(columns["label"], "label"),
        "tier": _tiers(columns.get("tier", [None] * count)),
        "verdict": _verdicts(columns.get("verdict", [""] * count)),
    }
    _require(values["p"], (np.abs(values["p"] - 0.5) <= 0.5), "p", "is outside [0, 1]")
    _require(
        values["label"],
        np.isin(values["label"], (0.0, 1.0)),
        "label",
        "is not a binary label: use 0 or 1",
    )
    _check_rows(model, values)
    stubs = columns.get("stub")
    if stubs is not None:
        _check_stubs(model, values, stubs)
    names = list(dict.fromkeys(model.tolist()))
    return tuple(
        Forecasts(name, **{key: column[model == name] for key, column in values.items()})
        for name in names
    )


def _table(path: Path) -> "pd.DataFrame":
    import pandas as pd
    from pyarrow import ArrowException

    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            return pd.read_parquet(path)
        if kind == ".csv":
            return pd.read_csv(path, dtype=str, keep_default_na=False)
        if kind == ".jsonl":
            return pd.DataFrame(list(_json_rows(path)), dtype=object)
    except (OSError, UnicodeDecodeError, ValueError, ArrowException) as error:
        raise DataError(f"{path}: cannot be read as {kind[1:]}: {error}") from error
    raise DataError(f"{path}: must end in .parquet, .csv or .jsonl, for the form of the table")


def _json_rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is no JSON object")
            yield row


def _at(place: int, column: str, value: object, fault: str) -> DataError:
    return DataError(f"row {place + 1}, column {column!r}: {value!r} {fault}")


def _require(values: NDArray[Any], fits: NDArray[np.bool_], column: str, fault: str) -> None:
    if not fits.all():
        place = int(np.flatnonzero(~fits)[0])
        raise _at(place, column, values[place].item(), fault)


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value != value


def _texts(values: Sequence[Any], column: str) -> Texts:
    for place, value in enumerate(values):
        if _is_missing(value) or not str(value).strip():
            raise _at(place, column, value, "is missing; give it a text")
    return np.array([str(value) for value in values], dtype=np.str_)


def _numbers(values: Sequence[Any], column: str) -> Array:
    found = np.empty(len(values))
    for place, value in enumerate(values):
        if _is_missing(value):
            raise _at(place, column, value, "is missing or NaN; leave failed forecasts out")
        try:
            found[place] = float(value)
        except (TypeError, ValueError) as error:
            raise _at(place, column, value, "is not a number") from error
    _require(found, np.isfinite(found), column, "is not finite")
    return found


def _wholes(values: Sequence[Any], column: str, least: int = 0) -> Integers:
    found = _numbers(values, column)
    fault = f"is not a whole number of {least} or more"
    _require(found, (found == np.floor(found)) & (found >= least), column, fault)
    return found.astype(np.int64)


def _tiers(values: Sequence[Any]) -> Integers:
    """Return tiers, 0 where none is given."""
    given = [place for place, value in enumerate(values) if not _is_missing(value)]
    found = np.zeros(len(values), dtype=np.int64)
    for place in given:
        try:
            found[place] = _wholes([values[place]], "tier", least=1)[0]
        except DataError as error:
            fault = "is not a whole number of 1 or more; 1 is the most relevant"
            raise _at(place, "tier", values[place], fault) from error
    return found


def _verdicts(values: Sequence[Any]) -> Texts:
    found = []
    for place, value in enumerate(values):
        word = "" if _is_missing(value) else str(value).strip().lower()
        if word not in _VERDICTS:
            known = ", ".join(dict.fromkeys(filter(None, _VERDICTS.values())))
            raise _at(place, "verdict", value, f"is unknown; use one of {known}")
        found.append(_VERDICTS[word])
    return np.array(found, dtype=np.str_)


def _check_rows(model: Texts, values: Mapping[str, NDArray[Any]]) -> None:
    """Raise for a forecast that is there twice, and an episode that contradicts itself."""
    names = zip(model.tolist(), values["domain"].tolist(), values["episode"].tolist(), strict=True)
    first: dict[tuple[str, str, str], int] = {}
    seen: dict[tuple[tuple[str, str, str], int], int] = {}
    for place, (name, k) in enumerate(zip(names, values["k"].tolist(), strict=True)):
        earlier = seen.setdefault((name, k), place)
        if earlier != place:
            fault = f"is there twice for episode {name[2]!r} (row {earlier + 1}): a duplicate"
            raise _at(place, "k", k, fault)
        start = first.setdefault(name, place)
        for column in ("label", "unit"):
            here, before = values[column][place], values[column][start]
            if here != before:
                fault = f"contradicts row {start + 1} of episode {name[2]!r}: {before.item()!r}"
                raise _at(place, column, here.item(), fault)


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
        pd.DataFrame({name: getattr(of, name) for name in _COLUMNS}).assign(model=of.model)
        for of in models
    ]
    table = pd.concat(tables, ignore_index=True)
    table["tier"] = table["tier"].where(table["tier"] > 0).astype("Int64")
    table["label"] = table["label"].astype("int64")
    with written_whole(path) as beside:
        table.to_parquet(beside)
