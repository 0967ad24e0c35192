"""Is a belief model any good: scores of its forecasts, calibration, and intervals over domains."""

from bed.evaluation.baselines import ABSTAINING, baselines
from bed.evaluation.calibration import (
    CalibrationFit,
    fit_calibration,
    read_calibration,
    write_calibration,
)
from bed.evaluation.evaluate import Transfer, evaluate
from bed.evaluation.forecasts import ForecastFile, Forecasts, read_forecasts, write_forecasts
from bed.evaluation.nesting import nested
from bed.evaluation.platt import Platt, crossfit_platt, platt_apply, platt_fit, random_folds
from bed.evaluation.probing import probe_table
from bed.evaluation.resampling import (
    Bootstrap,
    Interval,
    bootstrap_macro,
    index_weights,
    macro_average,
    macro_intervals,
    paired_difference,
    paired_retention,
    percentile_ci,
    retention,
    unit_weights,
)
from bed.evaluation.scores import (
    STATISTICS,
    Murphy,
    ReliabilityCurve,
    RocCurve,
    auroc,
    bin_index,
    brier,
    ece,
    histogram,
    log_score,
    murphy,
    reliability_curve,
    roc_curve,
)
from bed.evaluation.sheets import Sheet, sheets
from bed.evaluation.smooth import smece, smece_bandwidth
from bed.evaluation.statistic import Statistic
from bed.evaluation.sweeping import Swept, sweep

__all__ = [
    "ABSTAINING",
    "STATISTICS",
    "Bootstrap",
    "CalibrationFit",
    "ForecastFile",
    "Forecasts",
    "Interval",
    "Murphy",
    "Platt",
    "ReliabilityCurve",
    "RocCurve",
    "Sheet",
    "Statistic",
    "Swept",
    "Transfer",
    "auroc",
    "baselines",
    "bin_index",
    "bootstrap_macro",
    "brier",
    "crossfit_platt",
    "ece",
    "evaluate",
    "fit_calibration",
    "histogram",
    "index_weights",
    "log_score",
    "macro_average",
    "macro_intervals",
    "murphy",
    "nested",
    "paired_difference",
    "paired_retention",
    "percentile_ci",
    "platt_apply",
    "platt_fit",
    "probe_table",
    "random_folds",
    "read_calibration",
    "read_forecasts",
    "reliability_curve",
    "retention",
    "roc_curve",
    "sheets",
    "smece",
    "smece_bandwidth",
    "sweep",
    "unit_weights",
    "write_calibration",
    "write_forecasts",
]
