"""What ships: the files of the wheel and the sdist, and the command of an installed wheel."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import bed

ROOT = Path(__file__).resolve().parents[1]
LINKS = ("belief", "policies", "simulators")


def run(command: list[str | Path], cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder])
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return dist / f"bed_engine-{bed.__version__}-py3-none-any.whl"


def test_wheel_holds_the_package_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "bed",
        f"bed_engine-{bed.__version__}.dist-info",
    }
    shipped = {name for name in names if name.startswith("bed/")}
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "bed").rglob("*.py")}
    assert shipped >= sources | {"bed/py.typed"}


def test_sdist_holds_the_folders_without_the_links(dist: Path) -> None:
    top = f"bed_engine-{bed.__version__}"
    with tarfile.open(dist / f"{top}.tar.gz") as archive:
        names = set(archive.getnames())
    assert {f"{top}/bed/{name}/__init__.py" for name in LINKS} <= names
    assert {f"{top}/{name}" for name in (".venv", *LINKS)}.isdisjoint(names)


def test_installed_command_runs_beside_decoys(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", venv])
    python, site = venv / "bin" / "python", sysconfig.get_path("purelib", vars={"base": str(venv)})
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python]
    run([*pip, "install", "--no-index", "--no-deps", wheel])

    # The dependencies are borrowed, to spare minutes of installing. Python reads no .pth file of
    # the lender, so an editable bed there stays unseen.
    (Path(site) / "lender.pth").write_text(sysconfig.get_path("purelib"))

    away = tmp_path / "away"
    for name in LINKS:
        (away / name).mkdir(parents=True)
        (away / name / "__init__.py").write_text(f"raise ImportError('the decoy {name}')")
    where = run([python, "-c", "import bed; print(bed.__file__)"], cwd=away, PYTHONPATH=str(away))
    assert Path(where.strip()).is_relative_to(site)

    command: list[str | Path] = [venv / "bin" / "bed", "simulate", "--limit", "4", "--json"]
    printed = json.loads(run(command, cwd=away, PYTHONPATH=str(away)))
    assert printed["schema"] == "bed-simulate/1"
