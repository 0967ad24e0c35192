"""An evaluation as figures: calibration, discrimination, and how beliefs move with evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from bed.errors import DataError
from bed.evaluation.forecasts import MACRO
from bed.evaluation.sheets import interval
from bed.evaluation.statistic import Array
from bed.plots import check_picture

__all__ = ["CAPTIONS", "NUM_NAMED", "figures", "plot_evaluation"]

NUM_NAMED: Final = 10
"""How many models get a colour and a name; the rest are drawn in grey."""

# Seven colours of Okabe and Ito that colour-blind readers tell apart; dashes and markers do the
# rest, for those who see no colours at all.
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS: Final = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "*")
_GREY: Final = "#BBBBBB"
_NUM_STEMS: Final = 60
_NUM_BINS: Final = 50
_LONGEST: Final = 40
_WIDTH: Final = 11.0
_SQUARE: Final = {"xlim": (-0.02, 1.02), "ylim": (-0.02, 1.02), "aspect": "equal"}


@dataclass(frozen=True, eq=False)
class _Lines:
    """A panel with a line a model; NaN where a model has none.

    Attributes:
        title: above it.
        axes: labels and limits, for `Axes.set`.
        x: shape (num_models, n).
        y: the same shape.
        count: weight of each point, the same shape; None for lines without points of their own.
        diagonal: whether y = x is drawn.
    """

    title: str
    axes: dict[str, Any]
    x: Array
    y: Array
    count: Array | None = None
    diagonal: bool = False


@dataclass(frozen=True, eq=False)
class _Histogram:
    """A panel with the distinct forecasts of one model.

    Attributes:
        model: its number.
        title: its name.
        value: in [0, 1], shape (n,).
        count: how often each was made, shape (n,).
    """

    model: int
    title: str
    value: Array
    count: Array


_Panel = _Lines | _Histogram


def figures(found: xr.Dataset) -> dict[str, Figure]:
    """Return the figures of an evaluation by title, those that have something to show.

    Args:
        found: of `bed.evaluation.evaluate`.
    """
    made = {}
    for title, panels in _panels(found).items():
        width = _WIDTH if len(panels) > 1 else 0.6 * _WIDTH
        figure = Figure(figsize=(width, _height(panels)), layout="constrained")
        _draw(figure, panels, _labels(found, title))
        made[title] = figure
    return made


def plot_evaluation(found: xr.Dataset, path: Path) -> None:
    """Draw all figures of an evaluation into one picture.

    Args:
        found: of `bed.evaluation.evaluate`.
        path: ends in png, pdf, svg or another format of matplotlib.

    Raises:
        DataError: where the file cannot be written, or is no picture by its name.
    """
    check_picture(path)
    rows = _in_rows(_panels(found))
    heights = [max(map(_height, row.values())) for row in rows]
    figure = Figure(figsize=(_WIDTH, sum(heights)), layout="constrained")
    places = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
    for place, row in zip(places, rows, strict=True):
        parts = place.subfigures(1, len(row), squeeze=False)[0]
        for part, (title, panels) in zip(parts, row.items(), strict=True):
            part.suptitle(title, fontweight="bold")
            _draw(part, panels, _labels(found, title))
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"cannot draw the figure to {path}: {error}") from error


def _panels(found: xr.Dataset) -> dict[str, list[_Panel]]:
    made = {title: make(found) for title, (_, make) in _FIGURES.items()}
    return {title: shown for title, panels in made.items() if (shown := _known(panels))}


def _in_rows(shown: Mapping[str, list[_Panel]]) -> list[dict[str, list[_Panel]]]:
    """Return figures in rows of the whole picture: two neighbours of one panel each share a row."""
    rows: list[dict[str, list[_Panel]]] = []
    for title, panels in shown.items():
        last = list(rows[-1].values()) if rows else []
        if len(last) == 1 and len(last[0]) == len(panels) == 1:
            rows[-1][title] = panels
        else:
            rows.append({title: panels})
    return rows


def _known(panels: Sequence[_Panel]) -> list[_Panel]:
    """Return the panels in which some model has a point."""
    return [of for of in panels if isinstance(of, _Histogram) or not np.isnan(of.x + of.y).all()]


def _reliability(found: xr.Dataset) -> list[_Panel]:
    axes = {"xlabel": "forecast", "ylabel": "share of ones", **_SQUARE}
    panels: list[_Panel] = []
    for domain, words in _domains(found):
        here = found.sel(domain=domain)
        x, y, count = (here[f"bin_{name}"].values for name in ("forecast", "share", "count"))
        panels.append(_Lines(words, axes, x, y, count, diagonal=True))
    return panels


def _roc(found: xr.Dataset) -> list[_Panel]:
    axes = {"xlabel": "false positive rate", "ylabel": "true positive rate", **_SQUARE}
    rate = found["false_positive_rate"].values
    panels: list[_Panel] = []
    for domain, words in _domains(found):
        y = found["roc"].sel(domain=domain).values
        panels.append(_Lines(words, axes, np.broadcast_to(rate, y.shape), y, diagonal=True))
    return panels


def _distinct(found: xr.Dataset) -> list[_Panel]:
    panels: list[_Panel] = []
    for m, name in enumerate(found["model"].values[:NUM_NAMED].tolist()):
        value, count = (found[of].values[m] for of in ("value", "value_count"))
        known = count > 0
        panels.append(_Histogram(m, _short(name), value[known], count[known]))
    return panels


def _by_stubs(found: xr.Dataset) -> list[_Panel]:
    if len(found["k"]) < 2:
        return []
    panels: list[_Panel] = []
    for statistic, words in (("brier", "Brier"), ("auroc", "AUROC")):
        y = found["by_k"].sel(domain=MACRO, compared=statistic).values
        axes = {"xlabel": "stubs shown", "ylabel": words}
        panels.append(_Lines(words, axes, np.broadcast_to(found["k"].values, y.shape), y))
    return panels


def _cumulative(found: xr.Dataset) -> list[_Panel]:
    if len(found["shown"]) < 2:
        return []
    y = found["cumulative_db"].sel(swept=MACRO).values
    axes = {"xlabel": "stubs shown", "ylabel": "towards the truth, dB"}
    return [_Lines("", axes, np.broadcast_to(found["shown"].values, y.shape), y)]


def _promise(found: xr.Dataset) -> list[_Panel]:
    x, y = (found[name].sel(swept=MACRO).values for name in ("tier_x", "tier_psi"))
    axes = {"xlabel": "promise of the tier, dB", "ylabel": "odds ratio of support psi, dB"}
    return [_Lines("", axes, x, y, diagonal=True)]


_PROMISE: Final = "Promise against support"
_FIGURES: Final[dict[str, tuple[str, Callable[[xr.Dataset], list[_Panel]]]]] = {
    "Reliability": (
        "The share of ones against the mean forecast of each of ten bins. The larger a point, the "
        "more forecasts lie in its bin. On the diagonal a forecast means what it says.",
        _reliability,
    ),
    "ROC": (
        "The share of ones that exceed a threshold against the share of zeros that do, for every "
        "threshold. A coin lies on the diagonal.",
        _roc,
    ),
    "Distinct forecasts": (
        "How often each forecast was made: a stem for every distinct one where they are few, "
        f"{_NUM_BINS} bins otherwise. No more than the first {NUM_NAMED} models are shown.",
        _distinct,
    ),
    "Scores by number of stubs": (
        "Brier score (lower is better) and AUROC (higher is better) of the forecasts made after so "
        "many stubs, mean over domains.",
        _by_stubs,
    ),
    "Evidence towards the truth": (
        "Mean decibans by which the belief has moved towards the true label after so many stubs, "
        "mean over domains.",
        _cumulative,
    ),
    _PROMISE: (
        "What each tier of updates promises against what the labels bear out. On the diagonal "
        "updates are worth what they promise; beta is the slope, with its interval.",
        _promise,
    ),
}
CAPTIONS: Final = {title: caption for title, (caption, _) in _FIGURES.items()}
"""What each figure shows and how to read it, by its title."""


def _domains(found: xr.Dataset) -> list[tuple[str, str]]:
    """Return the domains with their titles; a single one stands for the pool of all."""
    names = [str(name) for name in found["domain"].values if name != MACRO]
    pool = [(MACRO, "all domains pooled")] if len(names) > 1 else []
    return [*pool, *((name, name) for name in names)]


def _labels(found: xr.Dataset, title: str) -> list[str]:
    """Return the words that stand for each model in a figure's legend."""
    names = [_short(name) for name in found["model"].values.tolist()]
    if title != _PROMISE:
        return names
    betas = zip(*(found[f"beta{end}"].values for end in ("", "_lo", "_hi")), strict=True)
    return [
        f"{name}: beta {interval(point, lo, hi, 2)}"
        for name, (point, lo, hi) in zip(names, betas, strict=True)
    ]


def _short(name: str) -> str:
    """Return a name on one line, without its middle where it is long."""
    name = " ".join(name.split())
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"


def _height(panels: Sequence[_Panel]) -> float:
    """Return the height of a figure with room for its legend, inches."""
    if isinstance(panels[0], _Histogram):
        return 0.5 + 1.9 * -(-len(panels) // 3)
    return 1.4 + (4.2 if len(panels) < 3 else 3.6) * -(-len(panels) // 3)


def _draw(parent: Figure | SubFigure, panels: Sequence[_Panel], labels: Sequence[str]) -> None:
    """Draw panels in rows of three, and a legend of the models seen in any of them."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    grid = parent.subplots(rows, columns, squeeze=False).ravel()
    seen: dict[int, Line2D] = {}
    for axes, panel in zip(grid, panels, strict=False):
        # names may hold dollars, which would be read as formulas
        axes.set_title(panel.title, fontsize=10, parse_math=False)
        axes.grid(alpha=0.3)
        if isinstance(panel, _Histogram):
            _draw_histogram(axes, panel)
        else:
            seen |= _draw_lines(axes, panel)
    for axes in grid[len(panels) :]:
        axes.remove()
    if seen:
        numbers = sorted(seen)
        words = [labels[m] if m < NUM_NAMED else "others" for m in numbers]
        inches = 0.8 + 0.075 * max(map(len, words))
        legend = parent.legend(
            [seen[m] for m in numbers],
            [str(m) for m in numbers],
            loc="outside lower center",
            ncols=max(1, int(parent.bbox.width / parent.dpi / inches)),
            fontsize=8,
        )
        for text, label in zip(legend.get_texts(), words, strict=True):
            # set afterwards: a legend would skip a name that starts with an underscore
            text.set_text(label)
            text.set_parse_math(False)


def _draw_lines(axes: Axes, panel: _Lines) -> dict[int, Line2D]:
    """Draw a line a model and return them by number; one stands for all beyond the named."""
    seen: dict[int, Line2D] = {}
    most = 1.0 if panel.count is None else panel.count.max()
    for m, (x, y) in enumerate(zip(panel.x, panel.y, strict=True)):
        known = ~np.isnan(x + y)
        if not known.any():
            continue
        if m >= NUM_NAMED:
            style: dict[str, Any] = {"color": _GREY, "linewidth": 0.6, "zorder": 1.5}
        else:
            style = _style(m) | {"markevery": max(1, int(known.sum()) // 8)}
            if panel.count is not None:
                style |= {"markevery": 1, "markersize": 3}
                sizes = 150 * panel.count[m][known] / most
                where = x[known], y[known], sizes
                axes.scatter(*where, color=style["color"], marker=_MARKERS[m], alpha=0.5)
        (line,) = axes.plot(x[known], y[known], **style)
        seen.setdefault(min(m, NUM_NAMED), line)
    if panel.diagonal:
        axes.axline((0, 0), slope=1, color="black", linestyle=":", linewidth=1)
    axes.set(**panel.axes)
    return seen


def _draw_histogram(axes: Axes, panel: _Histogram) -> None:
    colour = _style(panel.model)["color"]
    if len(panel.value) < _NUM_STEMS:
        axes.vlines(panel.value, 0, panel.count, color=colour, linewidth=2)
    else:
        counts, edges = np.histogram(panel.value, _NUM_BINS, (0, 1), weights=panel.count)
        axes.stairs(counts, edges, fill=True, color=colour)
    axes.set(xlim=(-0.02, 1.02), xlabel="forecast", ylabel="forecasts")
    axes.set_ylim(bottom=0)


def _style(m: int) -> dict[str, Any]:
    """Return how one of the named models is drawn."""
    return {
        "color": _COLOURS[m % len(_COLOURS)],
        "linestyle": "-" if m < len(_COLOURS) else "--",
        "marker": _MARKERS[m],
        "markersize": 4,
        "linewidth": 1.3,
    }
