"""The page of an evaluation: whole, sound HTML, and findings that follow from the numbers."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from bed.errors import DataError
from bed.evaluation import Transfer, evaluate, sheets
from bed.evaluation.figures import CAPTIONS
from bed.evaluation.forecasts import MACRO
from bed.evaluation.page import findings, gaps, write_page
from tests.evaluation.evaluated import NASTY, evaluated, swept

VOID = {"meta"}


class Page(HTMLParser):
    """What a browser would see: fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[str] = []
        self.cells: list[str] = []
        self.words = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        for name, texts in (("h2", self.headings), ("th", self.cells)):
            if tag == name:
                texts.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data
        if "h2" in self.open:
            self.headings[-1] += data
        if "th" in self.open:
            self.cells[-1] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def read(found: xr.Dataset, folder: Path, about: str = "a test") -> Page:
    write_page(found, folder / "page.html", about)
    return Page((folder / "page.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    return evaluated(swept([NASTY, "_hidden"]))


@pytest.fixture(scope="module")
def page(found: xr.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return read(found, tmp_path_factory.mktemp("page"), f"about {NASTY}")


def test_every_table_and_figure_is_there(page: Page, found: xr.Dataset) -> None:
    titles = [sheet.title for sheet in sheets(found)]
    assert [heading for heading in page.headings if heading in titles] == titles
    # each figure has found its table, so that none is left for the end
    assert "Figures" not in page.headings
    labels = [svg["aria-label"] for svg in page.named("svg")]
    assert {str(label).split(".")[0] for label in labels} == set(CAPTIONS)
    assert len(labels) == len(CAPTIONS)


def test_tables_name_their_rows_and_columns(page: Page, found: xr.Dataset) -> None:
    assert {cell["scope"] for cell in page.named("th")} == {"row", "col"}
    expected = sum(
        len(sheet.columns) + sheet.num_names * len(sheet.rows) for sheet in sheets(found)
    )
    assert len(page.cells) == expected
    assert len(page.named("td")) == sum(
        (len(sheet.columns) - sheet.num_names) * len(sheet.rows) for sheet in sheets(found)
    )


def test_the_page_says_how_it_was_made(page: Page) -> None:
    (main,) = page.named("main")
    assert main["lang"] == "en"
    assert "20 draws, 2 for sMECE" in page.words


def test_texts_are_escaped(page: Page) -> None:
    assert f"about {NASTY}" in page.words
    assert NASTY in page.cells
    assert not page.named("b")
    # whole in the figures too, once in each legend that has it
    assert page.words.count(NASTY) > len(CAPTIONS)


def test_the_page_needs_nothing_else(page: Page) -> None:
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    values = [value or "" for _, attrs in page.tags for value in attrs.values()]
    assert not [value for value in values if "//" in value]
    targets = [attrs[name] for _, attrs in page.tags for name in attrs if name.endswith("href")]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {str(target).removeprefix("#") for target in targets} <= set(ids)
    clips = {value[5:-1] for value in values if value.startswith("url(#")}
    assert clips
    assert clips <= set(ids)


def test_the_same_dataset_gives_the_same_bytes(found: xr.Dataset, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_page(found.copy(deep=True), tmp_path / name, "a test")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_letters_that_no_font_here_has(tmp_path: Path) -> None:
    assert "模型" in read(evaluated(swept(["模型"], ["depmap"])), tmp_path).words


def test_forecasts_without_sweeps_have_fewer_figures(tmp_path: Path) -> None:
    models = [of.rows(of.k == 0) for of in swept(["a", "b"])]
    page = read(evaluated(models), tmp_path)
    labels = [str(svg["aria-label"]).split(".")[0] for svg in page.named("svg")]
    assert labels == ["ROC", "Reliability", "Distinct forecasts"]


def test_a_figure_whose_table_is_gone_stands_at_the_end(
    found: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bed.evaluation.page.sheets", lambda found: sheets(found)[1:])
    page = read(found, tmp_path)
    assert page.headings[-1] == "Figures"
    assert str(page.named("svg")[-1]["aria-label"]).startswith("ROC")


def test_many_models_make_a_page_that_can_be_sent(tmp_path: Path) -> None:
    names = [f"model {number}" for number in range(34)]
    models = swept(names, ["depmap", "drug", "gwas", "perturb"], last=2)
    page = read(evaluated(models), tmp_path)
    assert set(names) <= set(page.cells)
    assert (tmp_path / "page.html").stat().st_size < 5e6


def test_a_page_that_cannot_be_written(found: xr.Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written"):
        write_page(found, tmp_path / "gone" / "page.html", "a test")


def with_values(found: xr.Dataset, name: str, values: list[float], **at: str) -> xr.Dataset:
    """The evaluation with other values of its models at one place."""
    changed = found.copy(deep=True)
    changed[name].loc[at] = values
    return changed


def scored(found: xr.Dataset, values: list[float], statistic: str = "brier") -> xr.Dataset:
    return with_values(found, "score", values, domain=MACRO, statistic=statistic)


@pytest.fixture(scope="module")
def three() -> xr.Dataset:
    return evaluated(swept(["a", "b"]))


@pytest.mark.parametrize(
    ("lo", "words"),
    [
        (0.05, "(b minus a), 0.100 [0.050, 0.300], tells them apart."),
        (-0.05, "(b minus a), 0.100 [-0.050, 0.300], holds 0, so they cannot be told apart."),
        (np.nan, "Their difference, 0.100, has no interval."),
    ],
    ids=["apart", "together", "unknown"],
)
def test_the_best_is_held_against_the_next(three: xr.Dataset, lo: float, words: str) -> None:
    found = scored(three, [0.1, 0.2, 0.25])
    for name, value in (("difference", 0.1), ("difference_lo", lo), ("difference_hi", 0.3)):
        found[name].loc[{"model": "b", "domain": MACRO, "compared": "brier"}] = value
    first = findings(found)[0]
    assert first.startswith("a has the best Brier score, 0.100")
    assert first.endswith(words)


def test_two_that_were_not_compared(three: xr.Dataset) -> None:
    first = findings(scored(three, [0.3, 0.1, 0.2]))[0]
    assert first.startswith("b has the best Brier score")
    assert first.endswith("Their difference is not known: all are compared with a alone.")


def test_a_model_that_leaves_rows_out_is_not_the_best(three: xr.Dataset) -> None:
    found = with_values(scored(three, [0.1, 0.2, 0.25]), "coverage", [0.99999, 1.0, 1.0])
    said = findings(found)
    assert said[0].startswith("b has the best Brier score")
    assert said[-1].startswith("Share of all rows forecast, where it is not all: a 99.9%.")


def test_who_does_not_beat_the_base_rate(three: xr.Dataset) -> None:
    assert any(
        words.startswith("b does not beat the base rate")
        for words in findings(scored(three, [0.1, 0.3, 0.2]))
    )
    assert not any("beat" in words for words in findings(scored(three, [0.1, 0.19, 0.2])))


def test_the_base_rate_is_not_the_best_calibrated(three: xr.Dataset) -> None:
    found = scored(three, [0.1, 0.2, 0.0], "ece")
    (words,) = (words for words in findings(found) if words.startswith("Calibration"))
    assert words.startswith("Calibration error (ECE): a has 0.100")
    assert "b has 0.200" in words


def test_reactions_are_told(three: xr.Dataset) -> None:
    found = with_values(three, "beta", [0.5, 1.0, np.nan])
    found["reaction"] = ("model", ["overreacts", "cannot be told", ""])
    assert any("a overreacts; of b it cannot be told" in words for words in findings(found))


def test_certainty_that_was_wrong_is_told(three: xr.Dataset) -> None:
    found = scored(three, [-np.inf, -0.5, -1.0], "log_score")
    assert any(words.startswith("a was certain and wrong") for words in findings(found))


def test_equal_reasons_become_one(three: xr.Dataset) -> None:
    found = three.copy()
    found["platt_note"] = ("model", ["model 'a', one class", "model 'b', one class", ""])
    found["revision_note"] = ("model", ["", "no sweeps", ""])
    assert gaps(found) == ["No beta for b: no sweeps.", "No Platt scaling for a and b: one class."]


def test_dropped_draws_are_told(three: xr.Dataset) -> None:
    found = with_values(three, "dropped", [0, 7, 0], domain="drug", statistic="auroc")
    assert gaps(found)[-1].endswith("in which a statistic is undefined were dropped (b: up to 7).")


def test_retention_that_is_undefined_is_told() -> None:
    models = swept(["before", "left"])
    models.append(models[0].with_p(models[0].p, "after"))
    found = evaluate(models, 0, 20, 2, Transfer("before", "after", {"drug": "left"}))
    words = [words for words in gaps(found) if words.startswith("No retention")]
    for statistic in ("brier", "log_score", "auroc", "ece"):
        assert sum(f"{statistic} of drug" in line for line in words) == 1


def test_probes_that_were_left_out_are_told(three: xr.Dataset) -> None:
    probes = xr.Dataset(
        {
            "probe_value": (("probe", "probed"), [[1.0]]),
            "probe_left_out": (("probe",), [3]),
            "probe_reason": (("probe",), ["too few stubs"]),
        },
        coords={"probe": ["position"], "probed": [MACRO]},
    )
    found = xr.merge([three, probes], combine_attrs="override")
    assert "3 episodes have no whole probe of position, the first: too few stubs." in gaps(found)
