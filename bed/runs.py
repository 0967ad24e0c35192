"""The file of a simulation run: netCDF, written whole or not at all.

Everything that a run showed is in the main dataset and is a function of the study alone; the group
`run` holds what is not, such as the time of saving.
"""

import os
import time
from pathlib import Path

import xarray as xr

from bed.errors import DataError

__all__ = ["SCHEMA", "load_run", "save_run"]

SCHEMA = "bed-run/1"


def save_run(run: xr.Dataset, path: Path) -> None:
    """Write a run as netCDF, whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    encoding = {
        name: {"zlib": True, "complevel": 1}
        for name, variable in run.data_vars.items()
        if variable.dtype.kind in "fi"
    }
    try:
        run.to_netcdf(beside, engine="h5netcdf", encoding=encoding)
        times = xr.Dataset(attrs={"saved": time.strftime("%Y-%m-%dT%H:%M:%S%z")})
        times.to_netcdf(beside, engine="h5netcdf", mode="a", group="run")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise DataError(f"cannot write the run to {path}: {error}") from error


def load_run(path: Path) -> xr.Dataset:
    """Read a run.

    Raises:
        DataError: for a file that is missing or not a run of this format.
    """
    try:
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            run = stored.load()
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as a run: {error}") from error
    if run.attrs.get("schema") != SCHEMA:
        raise DataError(f"{path} has schema {run.attrs.get('schema')!r}, not {SCHEMA!r}")
    return run
