"""`bed evaluate` as a user meets it: tables, files, asking a belief, errors."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bed.engine import load_engine
from bed.episodes import write_episodes
from bed.episodes.files import EpisodeFile
from bed.evaluation import brier, read_calibration, read_forecasts
from tests.cli.test_simulate import run_bed
from tests.factories import graded_episodes

QUICK = ("--draws", 50)


def rows() -> Iterator[dict[str, Any]]:
    """Sweeps of two models in two domains: one follows the label, the other strays from it."""
    rng = np.random.default_rng(5)
    for domain in ("depmap", "gwas"):
        for episode in range(20):
            label = episode % 2
            for model, pull in (("follows <1>", 0.5), ("strays", -0.3)):
                odds = 0.0
                for k in range(5):
                    odds += (k > 0) * (pull * (2 * label - 1) + 0.3 * rng.standard_normal())
                    yield {
                        "model": model,
                        "domain": domain,
                        "episode": episode,
                        "k": k,
                        "p": round(1 / (1 + np.exp(-odds)), 6),
                        "label": label,
                        "tier": "" if k == 0 else 1 + (k + episode) % 2,
                        "verdict": "" if k == 0 else ("supporting" if k % 2 else "inconclusive"),
                    }


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forecasts") / "forecasts.csv"
    found = list(rows())
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    return path


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("episodes") / "graded.parquet"
    split = [
        replace(episode, split="test" if number < 40 else "train")
        for number, episode in enumerate(graded_episodes()[:120])
    ]
    write_episodes(path, EpisodeFile(tuple(split), {"builder": "test"}))
    return path


def test_tables_have_every_model_and_domain(
    capsys: pytest.CaptureFixture[str], table: Path
) -> None:
    code, out, err = run_bed(capsys, "evaluate", table, *QUICK)
    assert code == 0, err
    for title in (
        "Scores",
        "Calibration",
        "After Platt scaling",
        "Differences from follows <1>",
        "By number of stubs shown",
        "Do updates promise what the labels bear out?",
        "Weight of evidence by verdict",
        "Do relevant stubs move the belief more?",
        "Evidence gathered towards the truth",
    ):
        assert title in out
    for word in ("follows <1>", "strays", "base rate", "macro", "depmap", "gwas", "tier 2"):
        assert word in out


def test_json_holds_what_the_functions_give(
    capsys: pytest.CaptureFixture[str], table: Path
) -> None:
    code, out, err = run_bed(capsys, "evaluate", table, *QUICK, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["schema"], found["draws"]) == ("bed-evaluate/1", 50)
    for model in read_forecasts(table).models:
        scores = found["score"][model.model]
        here = model.domain == "gwas"
        assert scores["gwas"]["brier"] == pytest.approx(brier(model.p[here], model.label[here]))
        assert scores["macro"]["brier"] == pytest.approx(
            (scores["gwas"]["brier"] + scores["depmap"]["brier"]) / 2
        )
    assert found["beta"]["base rate"] is None
    assert found["score"]["follows <1>"]["macro"]["auroc"] > 0.8


def test_files_are_written(capsys: pytest.CaptureFixture[str], table: Path, tmp_path: Path) -> None:
    out, page, picture = (tmp_path / name for name in ("found.nc", "report.html", "figure.png"))
    code, _, err = run_bed(
        capsys, "evaluate", table, *QUICK, "--out", out, "--html", page, "--plot", picture
    )
    assert code == 0, err
    with xr.open_dataset(out) as found:
        assert list(found["model"].values) == ["follows <1>", "strays", "base rate"]
    assert "follows &lt;1&gt;" in page.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_retention_names_its_models(
    capsys: pytest.CaptureFixture[str], table: Path, tmp_path: Path
) -> None:
    lines = table.read_text().splitlines()
    lines += [line.replace("strays", "part") for line in lines if line.startswith("strays")]
    wider = tmp_path / "wider.csv"
    wider.write_text("\n".join(lines))
    arguments = ("--untrained", "strays", "--trained", "follows <1>", "--held-out", "gwas=part")
    code, out, err = run_bed(capsys, "evaluate", wider, *QUICK, *arguments, "--json")
    assert code == 0, err
    assert json.loads(out)["retention"]["gwas"]["brier"] == pytest.approx(0.0)
    code, _, err = run_bed(capsys, "evaluate", wider, *arguments[:-1], "gwas=nobody")
    assert code == 2
    assert "model 'nobody' of the transfer is not there" in err


def test_a_belief_is_asked_probed_and_set_beside_baselines(
    capsys: pytest.CaptureFixture[str], episodes: Path, tmp_path: Path
) -> None:
    kept, fit = tmp_path / "kept.parquet", tmp_path / "fit.toml"
    arguments = ("--keep", kept, "--write-calibration", fit, "--json")
    code, out, err = run_bed(capsys, "evaluate", "--episodes", episodes, *QUICK, *arguments)
    assert code == 0, err
    found = json.loads(out)
    assert list(found["score"])[:3] == ["stand-in", "base rate", "boosted numbers"]
    assert found["rows"]["stand-in"]["depmap"] == 40 * 13
    assert found["probe_value"]["coherence"]["depmap"] >= 0
    # what was paid for can be scored again without asking
    code, again, err = run_bed(capsys, "evaluate", kept, *QUICK, "--json")
    assert code == 0, err
    assert json.loads(again)["score"] == found["score"]
    engine = tmp_path / "engine.toml"
    engine.write_text(
        '[belief]\nkind = "stand-in"\n[simulator]\nkind = "stand-in"\n'
        '[calibration]\nfile = "fit.toml"\n'
    )
    loaded, fitted = load_engine(engine), read_calibration(fit)
    assert loaded.calibration is not None
    assert loaded.calibration.slope == fitted.slope
    assert loaded.policy.slope == fitted.update_slope


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either a table of forecasts or --episodes"),
        (("f.csv", "--episodes", "e.parquet"), "give either a table"),
        (("f.csv", "--limit", "3"), "--limit goes with --episodes"),
        (("f.csv", "--engine", "e.toml"), "--engine goes with --episodes"),
        (("f.csv", "--trained", "a"), "retention needs all of"),
        (
            ("f.csv", "--trained", "a", "--untrained", "b", "--held-out", "gwas"),
            "--held-out 'gwas' must be DOMAIN=MODEL",
        ),
        (("nowhere.csv",), "nowhere.csv: cannot be read"),
        (("f.csv", "--html", "no/such/folder.html"), "cannot be written"),
        (("--episodes", "e.parquet", "--limit", "0"), "limit is 0"),
    ],
    ids=[
        "nothing",
        "both",
        "limit",
        "engine",
        "half a transfer",
        "no model",
        "no file",
        "no folder",
        "no episodes",
    ],
)
def test_what_cannot_be_is_said(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text("episode,domain,k,p,label\na,d,0,0.5,1\nb,d,0,0.5,0\n")
    code, out, err = run_bed(capsys, "evaluate", *arguments)
    assert (code, out) == (2, "")
    assert message in err
