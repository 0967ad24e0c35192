"""What an evaluation teaches the engine, and the file that carries it."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bed.belief import Recalibrated
from bed.errors import DataError
from bed.estimators import FactoredEIG, fit_slope
from bed.evaluation.calibration import (
    CalibrationFit,
    fit_calibration,
    read_calibration,
    write_calibration,
)
from bed.evaluation.forecasts import Forecasts, split_models
from bed.evaluation.platt import platt_apply, platt_fit
from bed.information import log_odds, probability
from bed.protocols import BeliefQuery
from tests.evaluation.tables import forecasts, swept
from tests.factories import TARGET, ScriptedBelief, ScriptedSimulator


def model(pull: float = 0.5, num_episodes: int = 40) -> Forecasts:
    (found,) = split_models(swept(pull=pull, num_episodes=num_episodes))
    return found


def test_the_map_is_fitted_on_all_rows_and_the_slope_on_the_mended_sweeps() -> None:
    of = model()
    fit = fit_calibration(of)
    platt = platt_fit(of.p, of.label)
    assert (fit.slope, fit.intercept) == (platt.a, platt.b)
    mended = platt_apply(of.p, platt.a, platt.b)
    is_after = of.k > 0
    slope = fit_slope(mended[:-1][is_after[1:]], mended[is_after], of.label[is_after])
    assert fit.update_slope == pytest.approx(slope.slope)


def test_a_unit_may_hold_episodes_of_both_labels() -> None:
    of = model()
    mixed = replace(of, unit=np.full(of.p.size, "gene"))
    assert fit_calibration(mixed) == fit_calibration(of)


def test_a_belief_twice_too_extreme_is_mended() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(0, 1.5, 20_000)
    label = (rng.random(20_000) < probability(odds)).astype(int)
    fit = fit_calibration(forecasts(p=probability(2 * odds + 0.4), label=label))
    # five standard errors of a fit to so many; clipping at 0.001 shortens the tails a little
    assert fit.slope == pytest.approx(0.5, abs=0.05)
    assert fit.intercept == pytest.approx(-0.2, abs=0.1)
    assert fit.update_slope == 1.0


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (forecasts(p=[0.2, 0.3], label=[1, 1]), "all 2 labels are 1"),
        (
            forecasts(p=[0.2, 0.8, 0.3, 0.7], label=[1, 0, 1, 0]),
            "the Platt slope of 'm' is -.*cannot mend them",
        ),
        (model(num_episodes=4), "the sweeps of 'm': 8 resolved cases are too few"),
    ],
    ids=["one class", "the wrong way round", "few sweeps"],
)
def test_what_cannot_be_fitted_is_refused(of: Forecasts, message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit_calibration(of)


@pytest.mark.parametrize(
    "fit",
    [
        CalibrationFit(0.1 + 0.2, -1e-9, 1.5),
        CalibrationFit(1.0, 0.0),
        CalibrationFit(np.float64(0.7), np.float64(2.0), np.float32(0.5)),  # type: ignore[arg-type]
    ],
    ids=["digits", "nothing to mend", "numpy"],
)
def test_a_file_gives_back_what_was_written(tmp_path: Path, fit: CalibrationFit) -> None:
    path = tmp_path / "c.toml"
    write_calibration(path, fit, 'of "m"\nand\x1b[31m \x00 é\ud800')
    assert read_calibration(path) == fit
    first = path.read_text(encoding="utf-8").split("\n")[0]
    assert first == '# of "m" and [31m   é '
    assert set(tomllib.loads(path.read_text(encoding="utf-8"))) == {"calibration", "policy"}


def test_belief_and_estimator_take_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    write_calibration(path, fit_calibration(model()), "test")
    fit = read_calibration(path)
    belief = ScriptedBelief(lambda query: 0.8)
    mended = Recalibrated(belief, fit.slope, fit.intercept)
    found = mended.probabilities([BeliefQuery(TARGET, (), 0)]).probabilities
    assert log_odds(found) == pytest.approx(fit.slope * log_odds(0.8) + fit.intercept)
    assert found == pytest.approx(platt_apply([0.8], fit.slope, fit.intercept))
    estimator = FactoredEIG(mended, ScriptedSimulator(), slope=fit.update_slope)
    assert estimator.slope == fit.update_slope


GOOD = "[calibration]\nslope = 1\nintercept = 0\n[policy]\nslope = 1\n"


def test_whole_numbers_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(GOOD)
    assert read_calibration(tmp_path / "c.toml") == CalibrationFit(1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no toml", "cannot be read as a calibration"),
        ("", "calibration.slope is None; it must be a finite number above 0"),
        (GOOD.replace("[calibration]\nslope = 1", "[calibration]\nslope = 0"), "slope is 0; it"),
        (GOOD.replace("intercept = 0", "intercept = nan"), "calibration.intercept is nan; it must"),
        (GOOD.replace("intercept = 0", "intercept = true"), "calibration.intercept is True"),
        (GOOD.replace("[policy]\nslope = 1", "[policy]\nslope = '1'"), "policy.slope is '1'"),
        ("calibration = 3\npolicy = []", "calibration.slope is None"),
    ],
    ids=["no TOML", "empty", "zero", "NaN", "a flag", "a text", "no table"],
)
def test_a_file_that_lacks_a_number_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as error:
        read_calibration(path)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.toml: cannot be read as a calibration"):
        read_calibration(tmp_path / "absent.toml")


def test_a_folder_that_is_not_there_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write_calibration(tmp_path / "absent" / "c.toml", CalibrationFit(1.0, 0.0), "")
