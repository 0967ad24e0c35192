"""A whole evaluation: which models it holds, what agrees, what it refuses, and what is kept."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bed.errors import DataError
from bed.evaluation import auroc, brier, retention
from bed.evaluation.evaluate import BASE_RATE, Transfer, evaluate
from bed.evaluation.forecasts import Forecasts, split_models
from bed.evaluation.platt import crossfit_platt, random_folds
from bed.evaluation.sheets import sheets
from bed.seeds import derive_seed
from tests.evaluation.tables import forecasts, swept


def model(name: str = "m", pull: float = 0.5, seed: int = 0) -> Forecasts:
    (found,) = split_models(swept(model=name, pull=pull, seed=seed))
    return found


def quick(*models: Forecasts, seed: int = 0, transfer: Transfer | None = None) -> xr.Dataset:
    return evaluate(models, seed, num_draws=60, num_smooth=12, transfer=transfer)


def test_the_base_rate_of_each_domain_joins_the_models() -> None:
    of = model()
    of = of.rows((of.domain == "a") | (of.episode != "e0"))
    found = quick(of)
    assert found["model"].values.tolist() == ["m", BASE_RATE]
    for domain in of.domains:
        label = of.label[of.domain == domain]
        here = found.sel(model=BASE_RATE, domain=domain)
        assert here["score"].sel(statistic="brier") == pytest.approx(label.var())
        assert here["score"].sel(statistic="auroc") == 0.5
    assert found["coverage"].values.tolist() == [1.0, 1.0]
    assert found.attrs["draws"] == 60


def test_a_base_rate_that_is_given_stays() -> None:
    of = model()
    given = of.with_p(np.full(of.p.size, 0.4), BASE_RATE)
    found = quick(of, given)
    assert found["model"].values.tolist() == ["m", BASE_RATE]
    expected = brier(given.p, given.label)
    assert found["score"].sel(model=BASE_RATE, statistic="brier")[0] == pytest.approx(expected)


def test_models_may_forecast_different_rows() -> None:
    whole, part = model(), model("part", seed=2)
    part = replace(part.rows((part.k > 2) & (part.domain == "a")), abstains=True)
    found = quick(whole, part)
    assert found["coverage"].values.tolist() == [1.0, 48 / 240, 1.0]
    assert found["domain"].values.tolist() == ["macro", "a", "b"]
    assert found["shared"].values.tolist() == [240, 48, 240]
    note = found["revision_note"].sel(model="part").item()
    assert note == "no sweeps: its rows stand alone"


def test_sweeps_of_models_may_differ_in_length() -> None:
    long = model()
    (short,) = split_models({**swept(model="short", num_stubs=2)})
    short = replace(short, episode=np.char.add("other ", short.episode))
    found = quick(long, short)
    assert found["cumulative_db"].sel(model="short", swept="a").notnull().sum() == 3
    assert found["revision_note"].values.tolist()[:2] == ["", ""]


def test_scores_after_platt_scaling_are_those_of_cross_fitted_forecasts() -> None:
    of = model(pull=1.0)
    found = quick(of, seed=5)
    points = []
    for domain in of.domains:
        here = of.domain == domain
        folds = random_folds(of.unit[here].tolist(), derive_seed(5, "folds", domain))
        points.append(auroc(crossfit_platt(of.p[here], of.label[here], folds), of.label[here]))
    scores = found["platt_score"].sel(model="m", statistic="auroc")
    assert scores.values.tolist() == [np.mean(points), *points]


def test_a_model_that_cannot_be_cross_fitted_says_why_and_leaves_the_others() -> None:
    of = model()
    lone = forecasts("lone", p=[0.2, 0.7, 0.4], label=[0, 1, 1], unit=["u"] * 3, domain=["c"] * 3)
    found = quick(of, lone)
    assert "too few to fold" in found["platt_note"].sel(model="lone").item()
    assert found["platt_score"].sel(model="lone").isnull().all()
    assert found["platt_score"].sel(model="m", domain="a").notnull().all()
    assert found["domain"].values.tolist() == ["macro", "a", "b", "c"]
    # the mean comes first, or a table would take a domain for it
    assert all(sheet.rows for sheet in sheets(found))
    assert found["lo"].sel(model="lone").isnull().all()


def test_nothing_hangs_on_the_order_of_rows_or_of_models() -> None:
    first, second = model(), model("second", 0.2, seed=1)
    order = np.random.default_rng(0).permutation(first.p.size)
    found = quick(first, second)
    mixed = quick(first.rows(order), second)
    for name in ("score", "lo", "hi", "difference", "beta", "verdict_db", "spearman"):
        assert np.allclose(found[name], mixed[name], equal_nan=True)
    swapped = quick(second, first)
    assert np.array_equal(swapped["lo"].sel(model="m").values, found["lo"].sel(model="m").values)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("with_sweeps", [True, False], ids=["sweeps", "single rows"])
def test_the_dataset_is_the_same_after_a_file(tmp_path: Path, with_sweeps: bool) -> None:
    of, other = model(), model("β <&>", seed=1)
    if not with_sweeps:
        of, other = of.rows(of.k == 0), other.rows(other.k == 0)
    transfer = Transfer(other.model, of.model, {"a": other.model})
    found = quick(of, other, transfer=transfer)
    found.to_netcdf(tmp_path / "e.nc", engine="h5netcdf")
    read = xr.load_dataset(tmp_path / "e.nc", engine="h5netcdf")
    xr.testing.assert_identical(found, read)
    assert sheets(read) == sheets(found)


def test_retention_is_that_of_the_scores_in_the_domain_left_out() -> None:
    untrained, trained = model("untrained", 0.0, 1), model("trained", 1.0, 2)
    left = model("left", 0.5, 3)
    # one lacks an episode that the others have
    left = left.rows(left.episode != "e0")
    found = quick(
        untrained, trained, left, transfer=Transfer("untrained", "trained", {"b": "left"})
    )
    points = [
        brier(of.p[here], of.label[here])
        for of in (left, untrained, trained)
        for here in [(of.domain == "b") & (of.episode != "e0")]
    ]
    brier_kept = found.sel(held_out="b", retained="brier")
    assert brier_kept["retention"].item() == pytest.approx(retention(*points))
    assert brier_kept["retention_lo"] < brier_kept["retention"] < brier_kept["retention_hi"]
    assert not found["retention_note"].values.any()


def test_retention_without_an_improvement_says_why() -> None:
    a, b = model("a"), model("b")
    found = quick(a, b, transfer=Transfer("a", "b", {"b": "a"}))
    assert found["retention"].isnull().all()
    assert all("zero" in note for note in found["retention_note"].values[0])


def test_retention_from_one_unit_has_no_interval() -> None:
    columns: dict[str, Any] = {"label": [0, 1, 0, 1], "unit": ["u"] * 4, "domain": ["a"] * 4}
    models = [
        forecasts(name, p=[0.5 - x, 0.5 + x, 0.4 - x, 0.6 + x], **columns)
        for name, x in (("left", 0.1), ("untrained", 0.0), ("trained", 0.3))
    ]
    found = quick(*models, transfer=Transfer("untrained", "trained", {"a": "left"}))
    here = found.sel(held_out="a", retained="brier")
    assert 0 < here["retention"].item() < 1
    assert here["retention_lo"].isnull()


@pytest.mark.parametrize(
    ("transfer", "message"),
    [
        (Transfer("m", "n", {"a": "m"}), "model 'n' of the transfer is not there; use one of"),
        (Transfer("m", "m", {"z": "m"}), "share no forecasts of domain 'z'"),
    ],
    ids=["model", "domain"],
)
def test_a_transfer_that_is_not_there_is_refused(transfer: Transfer, message: str) -> None:
    with pytest.raises(DataError, match=message):
        quick(model(), transfer=transfer)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ((), "no forecasts of any model"),
        ((model(), model()), "hold a duplicate name; rename one"),
        (
            (model(), replace(model("n"), label=1 - model().label)),
            "models 'm' and 'n' give episode 'e0' of 'a' the labels 0 and 1; one must be wrong",
        ),
        ((forecasts(p=[0.2, 0.3], label=[0, 0]),), "model 'm', column 'label', auroc"),
    ],
    ids=["none", "one name twice", "labels", "one class"],
)
def test_models_that_cannot_be_are_refused(models: tuple[Forecasts, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        quick(*models)


@pytest.mark.parametrize(("draws", "smooth"), [(0, 5), (5, 0)], ids=["all", "smooth"])
def test_no_draws_are_refused(draws: int, smooth: int) -> None:
    with pytest.raises(DataError, match="draws: at least one of each is needed"):
        evaluate([model()], num_draws=draws, num_smooth=smooth)
