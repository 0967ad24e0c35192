"""Figures of evaluations: which are there, what they show, and how many models they bear."""

import io
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bed.errors import DataError
from bed.evaluation.figures import CAPTIONS, NUM_NAMED, figures, plot_evaluation
from bed.evaluation.forecasts import MACRO
from tests.evaluation.evaluated import NASTY, evaluated, swept

WITHOUT_SWEEPS = ["Reliability", "ROC", "Distinct forecasts"]


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    return evaluated(swept([NASTY, "_hidden"]))


@pytest.fixture(scope="module")
def many() -> xr.Dataset:
    return evaluated(swept([f"model {number}" for number in range(34)], ["depmap"], last=2))


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def panels(figure: Figure) -> list[str]:
    return [axes.get_title() for axes in figure.axes]


def lines_of(figure: Figure, panel: int = 0) -> list[tuple[list[float], list[float]]]:
    """The lines of a panel, without its diagonal."""
    lines = [np.asarray(line.get_data(orig=True)) for line in figure.axes[panel].lines]
    return [(x.tolist(), y.tolist()) for x, y in lines if x.tolist() != [0, 1]]


def test_each_figure_has_a_caption(found: xr.Dataset) -> None:
    assert list(figures(found)) == list(CAPTIONS)


def test_panels_are_the_pool_and_each_domain(found: xr.Dataset) -> None:
    drawn = figures(found)
    for title in ("Reliability", "ROC"):
        assert panels(drawn[title]) == ["all domains pooled", "depmap", "drug"]


def test_a_single_domain_has_no_pool() -> None:
    drawn = figures(evaluated(swept(["a"], ["depmap"])))
    assert panels(drawn["Reliability"]) == ["depmap"]


def test_names_are_shown_as_they_are(found: xr.Dataset) -> None:
    figure = figures(found)["ROC"]
    assert legend(figure) == [NASTY, "_hidden", "base rate"]
    figure.savefig(io.BytesIO())
    assert not any(text.get_parse_math() for text in figure.legends[0].get_texts())


def test_a_long_name_keeps_both_ends() -> None:
    name = "a" * 50 + "b" * 50
    (shown, _) = legend(figures(evaluated(swept([name], ["depmap"])))["ROC"])
    assert len(shown) == 41
    assert (shown[0], shown[-1]) == ("a", "b")


def test_reliability_shows_the_bins_and_their_sizes(found: xr.Dataset) -> None:
    figure = figures(found)["Reliability"]
    here = found.isel(model=0).sel(domain="drug")
    known = here["bin_count"].values > 0
    x, y = lines_of(figure, 2)[0]
    np.testing.assert_array_equal(x, here["bin_forecast"].values[known])
    np.testing.assert_array_equal(y, here["bin_share"].values[known])
    sizes = figure.axes[2].collections[0].get_sizes()  # type: ignore[attr-defined]
    counts = here["bin_count"].values[known]
    np.testing.assert_allclose(sizes / sizes.max(), counts / counts.max())


@pytest.mark.parametrize(("panel", "statistic"), [(0, "brier"), (1, "auroc")])
def test_scores_stand_over_the_number_of_stubs(
    found: xr.Dataset, panel: int, statistic: str
) -> None:
    x, y = lines_of(figures(found)["Scores by number of stubs"], panel)[1]
    expected = found["by_k"].isel(model=1).sel(domain=MACRO, compared=statistic)
    assert x == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(y, expected)


def test_beta_stands_in_the_legend(found: xr.Dataset) -> None:
    first, *others = legend(figures(found)["Promise against support"])
    at = found.isel(model=0)
    ends = f"{at['beta']:.2f} [{at['beta_lo']:.2f}, {at['beta_hi']:.2f}]"
    assert first == f"{NASTY}: beta {ends}"
    # the base rate, which nothing moves, has none
    assert len(others) == 1


def test_few_forecasts_are_stems_and_many_are_bins(found: xr.Dataset) -> None:
    figure = figures(evaluated(swept(["many"], last=16)))["Distinct forecasts"]
    (bins,), (stems,) = figure.axes[0].patches, figure.axes[1].collections
    assert len(bins.get_data().values) == 50  # type: ignore[attr-defined]
    assert bins.get_data().values.sum() == 12 * 17 * 2  # type: ignore[attr-defined]
    assert len(stems.get_paths()) == 1


def test_forecasts_without_sweeps_have_no_figures_of_them() -> None:
    models = [of.rows(of.k == 0) for of in swept(["a", "b"])]
    assert list(figures(evaluated(models))) == WITHOUT_SWEEPS


def test_models_without_an_roc_leave_its_panel_out(found: xr.Dataset) -> None:
    roc = found["roc"].where(found["domain"] != "drug")
    assert panels(figures(found.assign(roc=roc))["ROC"]) == ["all domains pooled", "depmap"]


def test_ten_of_many_models_are_named(many: xr.Dataset) -> None:
    drawn = figures(many)
    expected = [f"model {number}" for number in range(NUM_NAMED)]
    assert legend(drawn["ROC"]) == [*expected, "others"]
    assert panels(drawn["Distinct forecasts"]) == expected
    *lines, _diagonal = drawn["ROC"].axes[0].lines
    looks = [(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines]
    assert len(looks) == 35
    assert len(set(looks[:NUM_NAMED])) == NUM_NAMED
    assert {to_hex(colour) for colour, _, _ in looks[NUM_NAMED:]} == {"#bbbbbb"}


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_all_figures_make_one_picture(found: xr.Dataset, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"all.{ending}"
    plot_evaluation(found, path)
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}
    assert path.read_bytes().startswith(starts[ending])


@pytest.mark.parametrize(
    ("name", "words"),
    [("all.txt", "no picture file"), ("all", "no picture file"), ("gone/all.png", "cannot draw")],
    ids=["wrong kind", "no kind", "no folder"],
)
def test_a_picture_that_cannot_be_written(
    found: xr.Dataset, tmp_path: Path, name: str, words: str
) -> None:
    with pytest.raises(DataError, match=words):
        plot_evaluation(found, tmp_path / name)
