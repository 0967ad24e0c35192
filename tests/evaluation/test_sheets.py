"""Tables as text: what stands in a cell, which rows there are, and what is left out."""

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from bed.evaluation.evaluate import Transfer, evaluate
from bed.evaluation.forecasts import Forecasts, split_models
from bed.evaluation.sheets import Sheet, sheets
from tests.evaluation.tables import forecasts, swept


def model(name: str = "m", pull: float = 0.5, seed: int = 0) -> Forecasts:
    (found,) = split_models(swept(model=name, pull=pull, seed=seed))
    return found


def evaluated(*models: Forecasts, transfer: Transfer | None = None) -> xr.Dataset:
    return evaluate(models, num_draws=50, num_smooth=10, transfer=transfer)


def by_title(found: xr.Dataset) -> dict[str, Sheet]:
    return {sheet.title: sheet for sheet in sheets(found)}


@pytest.fixture(scope="module")
def whole() -> xr.Dataset:
    transfer = Transfer("m", "other", {"a": "m"})
    return evaluated(model(), model("other", 0.2, 1), transfer=transfer)


def test_every_row_is_as_long_as_its_head(whole: xr.Dataset) -> None:
    found = by_title(whole)
    assert list(found) == [
        "Scores",
        "Calibration",
        "After Platt scaling",
        "Differences from m",
        "By number of stubs shown",
        "Do updates promise what the labels bear out?",
        "Weight of evidence by verdict",
        "Do relevant stubs move the belief more?",
        "Evidence gathered towards the truth",
        "What training elsewhere is worth",
    ]
    for sheet in found.values():
        assert sheet.rows
        assert {len(row) for row in sheet.rows} == {len(sheet.columns)}
        assert not any("nan" in cell for row in sheet.rows for cell in row)


def test_scores_are_printed_with_their_intervals(whole: xr.Dataset) -> None:
    sheet = by_title(whole)["Scores"]
    keys = [row[:2] for row in sheet.rows]
    names = ("m", "other", "base rate")
    assert keys == [(name, domain) for name in names for domain in ("macro", "a", "b")]
    at = whole.sel(model="m", domain="macro", statistic="brier")
    point, lo, hi = (at[name].item() for name in ("score", "lo", "hi"))
    assert sheet.rows[0][2].replace("*", "") == f"{point:.3f} [{lo:.3f}, {hi:.3f}]"
    assert sheet.rows[0][-2:] == ("240", "12")


def test_the_model_that_others_are_compared_with_has_no_difference(whole: xr.Dataset) -> None:
    rows = by_title(whole)["Differences from m"].rows
    assert {row[0] for row in rows} == {"other", "base rate"}


def test_a_single_domain_stands_for_itself() -> None:
    of = model()
    found = by_title(evaluated(of.rows(of.domain == "a")))
    for sheet in found.values():
        if sheet.columns[1] == "domain":
            assert {row[1] for row in sheet.rows} == {"a"}


def test_tables_without_data_are_left_out() -> None:
    of = model()
    found = by_title(evaluated(of.rows(of.k == 0)))
    assert list(found) == ["Scores", "Calibration", "After Platt scaling", "Differences from m"]


def test_the_last_number_of_stubs_has_a_column() -> None:
    of = model()
    of = of.rows((of.k == 3) | (of.k == 2))
    of = replace(of, k=np.where(of.k == 2, 5, 3), abstains=True)
    assert by_title(evaluated(of))["By number of stubs shown"].columns == (
        "model",
        "statistic",
        "5",
    )


def changed(found: xr.Dataset, point: float, lo: float, hi: float) -> str:
    """The cell of a Brier score and interval."""
    found = found.copy(deep=True)
    for name, value in (("score", point), ("lo", lo), ("hi", hi)):
        found[name].loc[{"model": "m", "domain": "macro", "statistic": "brier"}] = value
    return by_title(found)["Scores"].rows[0][2]


@pytest.mark.parametrize(
    ("numbers", "cell"),
    [
        ((0.25, 0.2, 0.3), "0.250 [0.200, 0.300]"),
        ((0.31, 0.2, 0.3), "0.310* [0.200, 0.300]"),
        ((0.1, 0.2, 0.3), "0.100* [0.200, 0.300]"),
        ((0.1 + 0.2, 0.3, 0.3), "0.300 [0.300, 0.300]"),
        ((0.25, math.nan, math.nan), "0.250"),
        ((math.nan, math.nan, math.nan), "-"),
        ((-math.inf, -math.inf, -0.5), "-inf [-inf, -0.500]"),
        ((-math.inf, -math.inf, -math.inf), "-inf [-inf, -inf]"),
    ],
    ids=[
        "inside",
        "above",
        "below",
        "outside by rounding",
        "no interval",
        "undefined",
        "infinite",
        "all infinite",
    ],
)
def test_a_point_outside_its_interval_is_marked(
    whole: xr.Dataset, numbers: tuple[float, float, float], cell: str
) -> None:
    assert changed(whole, *numbers) == cell


def test_a_score_from_one_unit_stands_without_an_interval() -> None:
    of = forecasts(p=[0.2, 0.7], label=[0, 1], unit=["u", "u"])
    sheet = by_title(evaluated(of))["Scores"]
    assert sheet.rows[0][2] == "0.065"
    assert "one unit only" in sheet.words


def test_probes_are_shown_with_their_unit(whole: xr.Dataset) -> None:
    probes = ["position", "composition", "coherence", "coherence before base rates"]
    values = np.full((4, 2), np.nan)
    values[0] = 1.5
    table = xr.Dataset(
        {
            **{f"probe_value{end}": (("probe", "probed"), values) for end in ("", "_lo", "_hi")},
            "probe_episodes": (("probe", "probed"), np.full((4, 2), 1200)),
        },
        coords={"probe": probes, "probed": ["macro", "gwas"]},
    )
    sheet = by_title(whole.merge(table))["Is the belief consistent with itself?"]
    cell = "1.500 [1.500, 1.500]"
    assert sheet.rows == (
        ("position, dB", "macro", cell, "1,200"),
        ("position, dB", "gwas", cell, "1,200"),
    )
