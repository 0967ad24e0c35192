"""Run files: what was damaged on disk is refused, never read as other figures."""

from pathlib import Path

import h5py
import pytest
import xarray as xr

from bed.engine import world_study
from bed.errors import DataError
from bed.runs import load_run, save_run
from bed.simulation import simulate


@pytest.fixture(scope="module")
def run() -> xr.Dataset:
    return simulate(world_study("graded", ("random", "eig"), limit=3, num_steps=2))


@pytest.mark.parametrize("name", ["belief", "worth", "chosen", "promised"])
def test_a_flipped_byte_of_a_figure_is_found(run: xr.Dataset, tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.nc"
    save_run(run, path)
    with h5py.File(path) as file:
        chunk = file[name].id.get_chunk_info(0)
    damaged = bytearray(path.read_bytes())
    damaged[chunk.byte_offset + chunk.size // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="cannot be read as a run"):
        load_run(path)


@pytest.mark.parametrize("name", ["raw_coherence_gap", "fallback"])
def test_a_run_that_lacks_an_array_is_refused(run: xr.Dataset, tmp_path: Path, name: str) -> None:
    save_run(run.drop_vars(name), tmp_path / "old.nc")
    with pytest.raises(DataError, match=f"lacks {name}: of another version"):
        load_run(tmp_path / "old.nc")


def test_a_run_of_another_version_is_refused(run: xr.Dataset, tmp_path: Path) -> None:
    save_run(run.assign_attrs(schema="bed-run/3"), tmp_path / "old.nc")
    with pytest.raises(DataError, match="has schema 'bed-run/3', not 'bed-run/4'; run it again"):
        load_run(tmp_path / "old.nc")
