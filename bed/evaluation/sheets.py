"""An evaluation as tables of text, for the terminal and for the page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import xarray as xr

from bed.evaluation.forecasts import MACRO
from bed.evaluation.probing import PROBES

__all__ = ["Sheet", "interval", "sheets"]

_NAMES: Final = {
    "brier": "Brier",
    "log_score": "log score, bits",
    "auroc": "AUROC",
    "ece": "ECE",
    "smece": "sMECE",
    "reliability": "reliability",
    "resolution": "resolution",
    "uncertainty": "uncertainty",
}
_UNITS: Final = {
    "position": "dB",
    "composition": "dB",
    "coherence": "probability",
    "coherence before base rates": "probability",
}
_SHOWN_STUBS: Final = (0, 1, 2, 4, 8, 12, 16)


@dataclass(frozen=True)
class Sheet:
    """One table.

    Attributes:
        title: a few words.
        words: what it shows, and how to read it.
        columns: their heads; the first `num_names` name the row.
        rows: cells as text.
        num_names: how many columns name the row.
    """

    title: str
    words: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    num_names: int = 2


def sheets(found: xr.Dataset) -> list[Sheet]:
    """Return the tables of an evaluation, those that have rows.

    Args:
        found: of `bed.evaluation.evaluate`, perhaps with `probe_table` merged in.
    """
    makers = (
        _scores,
        _calibration,
        _after_platt,
        _differences,
        _by_stubs,
        _reaction,
        _verdicts,
        _relevance,
        _cumulative,
        _retention,
        _probes,
    )
    return [sheet for make in makers if (sheet := make(found)) is not None and sheet.rows]


def _scores(found: xr.Dataset) -> Sheet:
    names = ("brier", "log_score", "auroc")
    rows = [
        (*key, *_intervals(at, names), f"{int(at['rows']):,}", f"{int(at['units']):,}")
        for key, at in _each(found, "score")
    ]
    return Sheet(
        "Scores",
        "Brier: mean squared error, lower is better. Log score: mean log2 of the probability given "
        "to the truth, in bits, higher is better and -1 for a coin; minus infinity where a "
        "forecast of 0 or 1 was wrong. AUROC: how often a forecast of a 1 exceeds that of a 0. "
        "macro: the mean over domains. 95% intervals resample whole units; where a domain has one "
        "unit only, it and the mean have none.",
        ("model", "domain", *(_NAMES[name] for name in names), "forecasts", "units"),
        tuple(rows),
    )


def _calibration(found: xr.Dataset) -> Sheet:
    names = ("ece", "smece", "reliability", "resolution", "uncertainty")
    return Sheet(
        "Calibration",
        "ECE: mean distance of ten bins' mean forecasts from their shares of ones; sMECE: the same "
        "without bins, smoothed. Over bins the Brier score is reliability (lower is better) - "
        "resolution (higher is better) + uncertainty (of the labels). Errors, reliability and "
        "resolution are biased upwards by chance, so a point may lie outside its own interval; "
        "such points are marked *.",
        ("model", "domain", *(_NAMES[name] for name in names)),
        tuple((*key, *_intervals(at, names)) for key, at in _each(found, "score")),
    )


def _after_platt(found: xr.Dataset) -> Sheet | None:
    if "platt_score" not in found:
        return None
    names = ("brier", "log_score", "auroc", "ece", "smece")
    rows = [
        (*key, *_intervals(at, names, "platt_score", "platt_lo", "platt_hi"))
        for key, at in _each(found, "platt_score")
    ]
    return Sheet(
        "After Platt scaling",
        "Each half of the units is recalibrated by a logistic fit on the other half. What is won "
        "here over the tables above is what calibration costs; what is left is what the model does "
        "not know. With few units the two fits differ by chance: forecasts of the halves then lose "
        "their common order, and AUROC falls, that of a constant below one half.",
        ("model", "domain", *(_NAMES[name] for name in names)),
        tuple(rows),
    )


def _differences(found: xr.Dataset) -> Sheet:
    names = [str(name) for name in found["compared"].values]
    rows = []
    for key, at in _each(found, "difference"):
        cells = [_bounded(at.sel(compared=name), "difference") for name in names]
        rows.append((*key, *cells, f"{int(at['shared']):,}"))
    return Sheet(
        f"Differences from {found['model'].values[0]}",
        "The model's statistic minus that of the first model on the forecasts that both make, with "
        "both scored on the same resamples. An interval without 0 tells the two apart.",
        ("model", "domain", *(_NAMES[name] for name in names), "shared"),
        tuple(rows),
    )


def _by_stubs(found: xr.Dataset) -> Sheet | None:
    stubs = _some_stubs(found["k"])
    if len(found["k"]) < 2 or not stubs:
        return None
    rows = []
    for model in found["model"].values:
        for name in found["compared"].values:
            values = found["by_k"].sel(model=model, domain=MACRO, compared=name)
            if not values.isnull().all():
                cells = [_number(float(values.sel(k=k))) for k in stubs]
                rows.append((str(model), _NAMES[str(name)], *cells))
    return Sheet(
        "By number of stubs shown",
        "Scores of the forecasts made after so many pieces of evidence, mean over domains.",
        ("model", "statistic", *map(str, stubs)),
        tuple(rows),
    )


def _reaction(found: xr.Dataset) -> Sheet:
    rows = []
    for model in found["model"].values:
        at = found.sel(model=model)
        if not math.isnan(at["beta"].item()):
            points = at.sel(swept=MACRO)
            pairs = zip(points["tier_x"].values, points["tier_psi"].values, strict=True)
            cells = [f"{x:.1f} → {psi:.1f}" for x, psi in pairs if not math.isnan(x)]
            words = str(at["reaction"].item())
            rows.append((str(model), _bounded(at, "beta"), words, ", ".join(cells)))
    return Sheet(
        "Do updates promise what the labels bear out?",
        "Updates of the belief are sorted into tiers by their weight of evidence. Each tier "
        "promises so many decibans against the tier nearest 0, and the labels bear out the odds "
        "ratio of support psi (promise → psi). beta is the slope of psi on the promise: 1 for a "
        "Bayesian, below 1 where the belief overreacts, above 1 where it underreacts.",
        ("model", "beta", "the belief", "promise → psi, dB"),
        tuple(rows),
        1,
    )


def _verdicts(found: xr.Dataset) -> Sheet:
    verdicts = [
        str(name)
        for name in found["verdict"].values
        if (found["verdict_count"].sel(verdict=name) > 0).any()
    ]
    rows = []
    for key, at in _each(found, "verdict_db", "swept"):
        cells = [_bounded(at.sel(verdict=name), "verdict_db", 2) for name in verdicts]
        rows.append((*key, *cells))
    return Sheet(
        "Weight of evidence by verdict",
        "Mean weight of evidence, in decibans towards the claim, of a stub whose result supports "
        "the target's claim, refutes it, or neither (of an association: is significant or not).",
        ("model", "domain", *verdicts),
        tuple(rows) if verdicts else (),
    )


def _relevance(found: xr.Dataset) -> Sheet:
    tiers = [int(tier) for tier in found["tier"].values]
    rows = []
    for key, at in _each(found, "relative_weight", "swept"):
        spearman = _bounded(at, "spearman")
        cells = [_bounded(at.sel(tier=t), "relative_weight", 2) for t in tiers]
        rows.append((*key, spearman, *cells))
    return Sheet(
        "Do relevant stubs move the belief more?",
        "Spearman: rank correlation of the size of an update with the relevance of its stub. By "
        "tier, 1 the most relevant: mean size of an update over the mean of its episode.",
        ("model", "domain", "Spearman", *(f"tier {t}" for t in tiers)),
        tuple(rows),
    )


def _cumulative(found: xr.Dataset) -> Sheet:
    shown = [k for k in _some_stubs(found["shown"]) if k > 0]
    rows = [
        (*key, *(_number(at["cumulative_db"].sel(shown=k).item(), 2) for k in shown))
        for key, at in _each(found, "cumulative_db", "swept")
    ]
    return Sheet(
        "Evidence gathered towards the truth",
        "Mean decibans by which the belief has moved towards the true label after so many stubs; "
        "negative where it strays.",
        ("model", "domain", *map(str, shown)),
        tuple(rows) if shown else (),
    )


def _retention(found: xr.Dataset) -> Sheet | None:
    if "retention" not in found:
        return None
    rows = []
    names = [str(name) for name in found["retained"].values]
    for domain in found["held_out"].values:
        at = found.sel(held_out=domain)
        cells = [_bounded(at.sel(retained=name), "retention", 2) for name in names]
        rows.append((str(domain), *cells))
    return Sheet(
        "What training elsewhere is worth",
        "Share of training's improvement that remains in a domain left out of it: 1 keeps all, 0 "
        "none, negative undoes more than training brought.",
        ("domain left out", *(_NAMES[name] for name in names)),
        tuple(rows),
        1,
    )


def _probes(found: xr.Dataset) -> Sheet | None:
    if "probe_value" not in found:
        return None
    rows = []
    for probe in PROBES:
        for domain in found["probed"].values:
            at = found.sel(probe=probe, probed=domain)
            if not math.isnan(at["probe_value"].item()):
                name = f"{probe}, {_UNITS[probe]}"
                rows.append(
                    (
                        name,
                        str(domain),
                        _bounded(at, "probe_value"),
                        f"{int(at['probe_episodes']):,}",
                    )
                )
    return Sheet(
        "Is the belief consistent with itself?",
        "Position: log odds with the telling stub first of ten minus the mean of places 4, 7 and "
        "10. Composition: supporting and refuting results of one experiment together, minus the "
        "sum of each alone (macro: its absolute value). Coherence: mean distance of the "
        "outcome-weighted mean of imagined posteriors from the prior. All are 0 for a consistent "
        "belief.",
        ("probe", "domain", "value", "episodes"),
        tuple(rows),
    )


def _some_stubs(numbers: xr.DataArray) -> list[int]:
    """Return the numbers of stubs that tables show, the last one always."""
    known = [int(k) for k in numbers.values]
    return [k for k in known if k in _SHOWN_STUBS or k == known[-1]]


def _each(
    found: xr.Dataset, variable: str, dimension: str = "domain"
) -> Iterator[tuple[tuple[str, str], xr.Dataset]]:
    """Yield model and domain with their part of the dataset, where the variable is known there.

    A single domain stands for itself: its macro-average is the same.
    """
    domains = [str(name) for name in found[dimension].values]
    for model in found["model"].values:
        here = found.sel(model=model)
        known = [name for name in domains if here[variable].sel({dimension: name}).notnull().any()]
        for domain in known[1:] if len(known) == 2 else known:
            yield (str(model), domain), here.sel({dimension: domain})


def _intervals(
    at: xr.Dataset,
    names: Sequence[str],
    point: str = "score",
    lo: str = "lo",
    hi: str = "hi",
) -> list[str]:
    return [
        interval(*(at[end].sel(statistic=name).item() for end in (point, lo, hi))) for name in names
    ]


def _number(value: Any, digits: int = 3) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _bounded(at: xr.Dataset, name: str, digits: int = 3) -> str:
    """Return a single value of the dataset with its bounds."""
    point, lo, hi = (at[name + end].item() for end in ("", "_lo", "_hi"))
    return interval(point, lo, hi, digits)


def interval(point: float, lo: float, hi: float, digits: int = 3) -> str:
    """Return a point with its interval, marked where it lies outside."""
    if math.isnan(point):
        return "-"
    if math.isnan(lo) or math.isnan(hi):
        return _number(point, digits)
    # draws of a constant differ from it by rounding
    is_inside = lo <= point <= hi or math.isclose(point, lo) or math.isclose(point, hi)
    mark = "" if is_inside else "*"
    return f"{point:.{digits}f}{mark} [{lo:.{digits}f}, {hi:.{digits}f}]"
