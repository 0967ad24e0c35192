"""What an evaluation teaches the engine: a belief's Platt map and the slope of its updates.

A file of them is TOML, and an engine file takes it as `[calibration] file = ...`:

    [calibration]            log odds of the belief become slope * log odds + intercept
    slope = 0.83
    intercept = -0.12

    [policy]                 of the mended belief, each log-odds update is multiplied by this
    slope = 0.91
"""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bed.atomic import written_whole
from bed.errors import DataError
from bed.estimators.slope import fit_slope
from bed.evaluation.forecasts import Forecasts
from bed.evaluation.platt import platt_apply, platt_fit

__all__ = ["CalibrationFit", "fit_calibration", "read_calibration", "write_calibration"]

_KEYS = (("calibration", "slope"), ("calibration", "intercept"), ("policy", "slope"))


@dataclass(frozen=True)
class CalibrationFit:
    """How to mend a belief.

    Attributes:
        slope: of log odds, above 0; for `bed.belief.Recalibrated`.
        intercept: natural log odds; likewise.
        update_slope: of the updates of the mended belief, above 0; for `FactoredEIG(slope=...)`. 1
            where no sweeps tell it.
    """

    slope: float
    intercept: float
    update_slope: float = 1.0


def fit_calibration(forecasts: Forecasts) -> CalibrationFit:
    """Fit the map of log odds on all forecasts, then the slope of updates on the mended sweeps.

    Args:
        forecasts: of one model; domains count by their rows.

    Raises:
        DataError: where all labels are of one class, or higher forecasts go with fewer ones, which
            no mending map with a slope above 0 can follow; where sweeps are fewer than ten, or of
            one class.
    """
    platt = platt_fit(forecasts.p, forecasts.label)
    if not platt.a > 0:
        raise DataError(
            f"the Platt slope of {forecasts.model!r} is {platt.a:.3g}: higher forecasts do not go "
            "with more ones, so recalibration cannot mend them"
        )
    sweeps = forecasts.sweeps()
    if not sweeps:
        return CalibrationFit(platt.a, platt.b)
    before, after, label, case = [], [], [], []
    for domain, of in sweeps.items():
        mended = platt_apply(of.p.ravel(), platt.a, platt.b).reshape(of.p.shape)
        before.append(mended[:, :-1].ravel())
        after.append(mended[:, 1:].ravel())
        num_updates = of.p.shape[1] - 1
        label.append(np.repeat(of.label, num_updates))
        case.append(np.repeat([f"{domain} {row}" for row in range(len(of.p))], num_updates))
    try:
        slope = fit_slope(
            np.concatenate(before),
            np.concatenate(after),
            np.concatenate(label),
            np.concatenate(case),
        )
    except DataError as error:
        raise DataError(f"the sweeps of {forecasts.model!r}: {error}") from error
    return CalibrationFit(platt.a, platt.b, slope.slope)


def write_calibration(path: Path, fit: CalibrationFit, about: str) -> None:
    """Write a file that an engine file can name.

    Args:
        path: of the file, replaced where it is there.
        fit: what it says.
        about: what it rests on, one line.

    Raises:
        DataError: where it cannot be written.
    """
    # a comment of TOML holds no control characters
    line = "".join(letter if letter.isprintable() else " " for letter in about)
    text = (
        f"# {line}\n\n[calibration]\nslope = {float(fit.slope)!r}\n"
        f"intercept = {float(fit.intercept)!r}\n\n"
        f"[policy]\nslope = {float(fit.update_slope)!r}\n"
    )
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")


def read_calibration(path: Path) -> CalibrationFit:
    """Read what `write_calibration` wrote.

    Raises:
        DataError: for a file that cannot be read or lacks a number, naming it.
    """
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path}: cannot be read as a calibration: {error}") from error
    values = []
    for table, key in _KEYS:
        of_table = tables.get(table)
        value: Any = of_table.get(key) if isinstance(of_table, dict) else None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or (key == "slope" and value <= 0):
            needed = "a finite number" + (" above 0" if key == "slope" else "")
            raise DataError(f"{path}: {table}.{key} is {value!r}; it must be {needed}")
        values.append(float(value))
    return CalibrationFit(*values)
