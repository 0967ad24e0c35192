"""The figure of a simulation: belief in the truth, and the first experiment's information."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.backend_bases import FigureCanvasBase

from bed.errors import DataError
from bed.report import tracker_view

__all__ = ["check_picture", "plot_run"]

_REFERENCES = {"hindsight": ":", "exact": "--", "random": "-."}


def check_picture(path: Path) -> None:
    """Raise DataError where `path` could not become a picture, before anything slow is done."""
    formats = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.lstrip(".") not in formats:
        raise DataError(f"{path} is no picture file; end its name in one of {', '.join(formats)}")


def plot_run(run: xr.Dataset, path: Path) -> None:
    """Draw belief in the truth against experiments, and first gains with 95% intervals.

    Raises:
        DataError: where the file cannot be written.
    """
    view = tracker_view(run, str(run["tracker"].values[0]))
    colours = plt.get_cmap("tab10").colors  # type: ignore[attr-defined]
    order = np.argsort(view.gain[0])
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.4), width_ratios=[3, 2], layout="constrained"
    )
    for p, name in enumerate(view.policies):
        left.plot(
            view.curve[0, p],
            label=name,
            color=colours[p % len(colours)],
            linestyle=_REFERENCES.get(name, "-"),
            linewidth=2.5 if name == "eig" else 1.5,
        )
    left.set(xlabel="experiments", ylabel="mean belief in the truth", title="Belief in the truth")
    left.grid(alpha=0.3)
    left.legend(fontsize=8, ncols=2)
    for row, p in enumerate(order):
        lo, hi = np.percentile(view.gain[1:, p], (2.5, 97.5)) if view.has_intervals else (0, 0)
        point = view.gain[0, p]
        error = np.array([[point - lo], [hi - point]]) if view.has_intervals else None
        right.barh(row, point, color=colours[p % len(colours)], xerr=error, capsize=3)
    right.set_yticks(range(len(order)), [view.policies[p] for p in order])
    right.set(xlabel="entropy lost (bits)", title="First experiment, with 95% intervals")
    right.grid(axis="x", alpha=0.3)
    domains = ", ".join(np.unique(run["domain"].values).tolist())
    figure.suptitle(f"{run.sizes['episode']} episodes of {domains}")
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"cannot draw the figure to {path}: {error}") from error
    finally:
        plt.close(figure)
