"""The file of a simulation run: netCDF, written whole or not at all.

Everything that a run showed is in the main dataset and is a function of the study alone; the group
`run` holds what is not: when it was saved, and what each sitting asked of model servers.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from bed.atomic import written_whole
from bed.errors import DataError

__all__ = ["SCHEMA", "load_run", "load_usage", "save_run"]

SCHEMA = "bed-run/4"
_VARIABLES = {
    "belief",
    "doubt",
    "fallback",
    "reason",
    "tier",
    "chosen",
    "num_tied",
    "promised",
    "within_noise",
    "failed",
    "belief_calls",
    "simulator_calls",
    "belief_calls_sent",
    "simulator_calls_sent",
    "worth",
    "coherence_gap",
    "raw_coherence_gap",
    "tracker",
    "policy",
    "episode",
    "domain",
    "unit",
    "label",
}
_ATTRIBUTES = {"fingerprint", "done"}


def save_run(run: xr.Dataset, path: Path, usage: Sequence[Mapping[str, Any]] = ()) -> None:
    """Write a run as netCDF, whole or not at all.

    Args:
        run: the dataset.
        path: of the file.
        usage: what each sitting asked of the endpoints, as JSON, see `Sources.usage`.
    """
    encoding = {
        name: {"zlib": True, "complevel": 1, "fletcher32": True}
        for name, variable in run.data_vars.items()
        if variable.dtype.kind in "fi"
    }
    with written_whole(path) as beside:
        run.to_netcdf(beside, engine="h5netcdf", encoding=encoding)
        times = xr.Dataset(
            attrs={
                "saved": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                "usage": json.dumps(usage, allow_nan=False),
            }
        )
        times.to_netcdf(beside, engine="h5netcdf", mode="a", group="run")


def load_run(path: Path) -> xr.Dataset:
    """Read a run.

    Raises:
        DataError: for a file that is missing or not a run of this format.
    """
    try:
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            run = stored.load()
    except Exception as error:  # a damaged file makes its reader raise anything at all
        raise DataError(f"{path} cannot be read as a run: {error}") from error
    if run.attrs.get("schema") != SCHEMA:
        raise DataError(
            f"{path} has schema {run.attrs.get('schema')!r}, not {SCHEMA!r}; run it again"
        )
    lacking = sorted(_VARIABLES - set(map(str, run.variables)) | _ATTRIBUTES - set(run.attrs))
    if lacking:
        raise DataError(f"{path} lacks {', '.join(lacking)}: of another version of bed, or damaged")
    # texts of a fixed width would cut what is written into them when the run goes on
    return run.assign(
        {
            name: variable.astype(object)
            for name, variable in run.data_vars.items()
            if variable.dtype.kind == "U"
        }
    )


def load_usage(path: Path) -> list[dict[str, Any]]:
    """Return what each sitting of a run asked of the endpoints: endpoint -> counters.

    Args:
        path: of a run's file.

    Raises:
        DataError: for a file that is missing or damaged.
    """
    try:
        with xr.open_dataset(path, engine="h5netcdf", group="run") as stored:
            found: list[dict[str, Any]] = json.loads(stored.attrs.get("usage", "[]"))
    except Exception as error:  # as above
        raise DataError(f"{path} cannot be read as a run: {error}") from error
    return found
