"""The shape of the project: layers, root links, public names and a light import."""

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bed

ROOT = Path(__file__).resolve().parents[1]
LINKS = ("belief", "policies", "simulators")

# Low to high. A module imports from its own layer or a lower one; "bed" is bed/__init__.py.
LAYERS = (
    {"atomic", "errors", "evidence", "information", "seeds"},
    {"domains", "prompts", "protocols", "transport", "worlds"},
    {"chat", "tokens"},
    {"belief", "fleet", "simulators"},
    {"estimators"},
    {"policies"},
    {"assays", "campaign", "engine", "episodes", "evaluation", "plots", "report", "runs", "serve"}
    | {"simulation", "standins"},
    {"bed", "cli", "mcp"},
)

# What the layers alone would allow.
NEVER = {
    "belief": {"simulators"},
    "simulators": {"belief"},
    "estimators": {"belief", "simulators"},
    "policies": {"belief", "simulators"},
    "bed": {"cli"},
    "mcp": {"cli"},
}

HEAVY = (
    "aiohttp",
    "jax",
    "matplotlib",
    "mcp",
    "numpyro",
    "pandas",
    "ray",
    "sklearn",
    "torch",
    "transformers",
    "vllm",
)

# A change of this list is a change of the public API: say it in the CHANGELOG.
EXPECTED = {
    "BedError",
    "BeliefModel",
    "BeliefQuery",
    "Beliefs",
    "Choice",
    "DataError",
    "DesignProblem",
    "Episode",
    "Estimator",
    "Evidence",
    "ExactEIG",
    "Experiment",
    "FactoredEIG",
    "Fields",
    "HindsightPolicy",
    "Hypothesis",
    "ImpossibleEvidenceError",
    "InformationPolicy",
    "NestedMonteCarloEIG",
    "NothingScoredError",
    "Outcome",
    "OutcomeRequest",
    "OutcomeSimulator",
    "Outcomes",
    "Policy",
    "RandomPolicy",
    "RelevancePolicy",
    "ScreenedEIG",
    "Stub",
    "UncertaintyPolicy",
    "World",
    "__version__",
    "choose_one",
    "entropy_bits",
    "factored_eig",
    "fit_slope",
    "from_json",
    "information_gain_bits",
    "kl_bits",
    "measured_slope",
    "to_json",
    "weight_of_evidence_db",
}


def modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def dotted(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unit(name: str, package: Path) -> str:
    """The part of bed that a dotted name belongs to: `bed.belief.tables` is in `belief`."""
    _, *below = name.split(".")
    if below and ((package / below[0]).is_dir() or (package / f"{below[0]}.py").is_file()):
        return below[0]
    return "bed"


def imports(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of each import, wherever it stands in the file."""
    name = dotted(path, package)
    here = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = here.split(".")[: len(here.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def faults(package: Path) -> list[str]:
    level = {name: height for height, layer in enumerate(LAYERS) for name in layer}
    found = []
    for path in modules(package):
        user = unit(dotted(path, package), package)
        where = path.relative_to(package.parent)
        if user not in level:
            found.append(f"{where}: bed.{user} has no place in LAYERS")
            continue
        for line, name in imports(path, package):
            # The version is a label that every layer may record.
            if name.partition(".")[0] != "bed" or name == "bed.__version__":
                continue
            used = unit(name, package)
            if used not in level:
                found.append(f"{where}:{line}: imports bed.{used}, which has no place in LAYERS")
            elif level[used] > level[user]:
                found.append(f"{where}:{line}: {user} imports {used}, which lies above it")
            elif used in NEVER.get(user, ()):
                found.append(f"{where}:{line}: {user} must not import {used}")
    return found


def run_python(code: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *args], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_imports_run_downwards() -> None:
    assert not (found := faults(ROOT / "bed")), "\n".join(found)


@pytest.mark.parametrize(
    ("file", "source", "fault"),
    [
        ("evidence.py", "import bed.policies", "evidence.py:1: evidence imports policies"),
        ("evidence.py", "import os, bed.policies.greedy as g", "evidence imports policies"),
        ("evidence.py", "from bed import policies", "evidence imports policies"),
        ("evidence.py", "from bed.policies.greedy import Greedy", "evidence imports policies"),
        ("evidence.py", "from . import policies", "evidence imports policies"),
        ("evidence.py", "from bed import Greedy", "evidence imports bed"),
        ("evidence.py", "from .policies import greedy", "evidence imports policies"),
        ("belief/exact.py", "from ..policies import greedy", "belief imports policies"),
        ("belief/__init__.py", "from ..policies import greedy", "belief imports policies"),
        ("belief/exact.py", "def f():\n    import bed.cli", "exact.py:2: belief imports cli"),
        (
            "belief/exact.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from bed import simulators",
            "exact.py:3: belief must not import simulators",
        ),
        ("simulators/exact.py", "import bed.belief", "simulators must not import belief"),
        ("estimators/eig.py", "import bed.belief", "estimators must not import belief"),
        ("policies/greedy.py", "import bed.belief", "policies must not import belief"),
        ("__init__.py", "from bed.cli import main", "bed must not import cli"),
        ("novel.py", "", "bed.novel has no place in LAYERS"),
    ],
)
def test_layer_check_finds_a_fault(tmp_path: Path, file: str, source: str, fault: str) -> None:
    package = tmp_path / "bed"
    for name in ("belief", "cli", "estimators", "policies", "simulators"):
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    (package / file).write_text(source)
    (found,) = faults(package)
    assert fault in found


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("policies/greedy.py", "from bed.estimators import eig\nfrom . import base"),
        ("policies/greedy.py", "from .base import Policy\nfrom ..errors import BedError"),
        ("errors.py", "from bed import __version__"),
        ("errors.py", "import bedrock, policies"),
        ("cli/__init__.py", "import bed.cli.run\nfrom bed import Greedy"),
        ("__init__.py", "from .policies import Greedy"),
    ],
)
def test_layer_check_lets_good_imports_pass(tmp_path: Path, file: str, source: str) -> None:
    package = tmp_path / "bed"
    for name in ("cli", "estimators", "policies"):
        (package / name).mkdir(parents=True)
    (package / "errors.py").touch()
    (package / file).write_text(source)
    assert faults(package) == []


def test_no_module_imports_a_root_link() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: import bed.{name}, not {name}"
        for folder in ("bed", "benchmarks", "tests")
        for path in modules(ROOT / folder)
        for line, name in imports(path, ROOT / folder)
        if name.partition(".")[0] in LINKS
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", LINKS)
def test_root_link_points_into_bed(name: str) -> None:
    assert os.readlink(ROOT / name) == f"bed/{name}"
    assert (ROOT / name).is_dir()


def public_modules() -> list[str]:
    names = [dotted(path, ROOT / "bed") for path in modules(ROOT / "bed")]
    return [name for name in names if "._" not in name]


@pytest.mark.parametrize("name", public_modules())
def test_public_names_exist(name: str) -> None:
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert [public for public in module.__all__ if not hasattr(module, public)] == []


def test_public_names_of_bed() -> None:
    assert set(bed.__all__) == EXPECTED


def test_import_is_light() -> None:
    code = "import sys, bed; print(*(name for name in sys.argv[1:] if name in sys.modules))"
    assert run_python(code, *HEAVY).split() == []


def test_version() -> None:
    printed = run_python("from bed.cli import main; main()", "--version")
    assert printed.strip() == f"bed {bed.__version__}"
