"""An evaluation as a page: findings in words, then every table with its figure, in one file."""

import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure

from bed.atomic import written_whole
from bed.evaluation.evaluate import BASE_RATE
from bed.evaluation.figures import CAPTIONS, figures
from bed.evaluation.forecasts import MACRO
from bed.evaluation.sheets import Sheet, interval, sheets

__all__ = ["findings", "gaps", "write_page"]

# Figures stand below the table that they belong to, the rest at the end.
_PLACES: Final = {
    "Scores": ("ROC",),
    "Calibration": ("Reliability", "Distinct forecasts"),
    "By number of stubs shown": ("Scores by number of stubs",),
    "Do updates promise what the labels bear out?": ("Promise against support",),
    "Evidence gathered towards the truth": ("Evidence towards the truth",),
}
_NUM_LISTED: Final = 6
_CSS: Final = """
body { margin: 0; background: #fff; color: #1a1a1a; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
.about { white-space: pre-line; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
dl { display: grid; grid-template-columns: max-content auto; gap: 0 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid #ddd; text-align: right; }
td { white-space: nowrap; }
th[scope=row] { text-align: left; font-weight: normal; }
thead th { vertical-align: bottom; border-bottom: 2px solid #888; }
figure { margin: 1.5rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { max-width: 46rem; color: #444; font-size: 0.9rem; }
@media print {
  main { max-width: none; padding: 0; }
  nav { display: none; }
  .wide { overflow: visible; }
  table { font-size: 6.5pt; }
  thead { display: table-header-group; }
  tr, figure { break-inside: avoid; }
  h2, h2 + p { break-after: avoid; }
}
"""


def write_page(found: xr.Dataset, path: Path, about: str) -> None:
    """Write an evaluation as one HTML file that needs no other; the same dataset, the same bytes.

    Args:
        found: of `bed.evaluation.evaluate`, perhaps with `probe_table` merged in.
        path: of the file, replaced where it is there.
        about: what was evaluated.

    Raises:
        DataError: where it cannot be written.
    """
    # a dataset that was opened from a file reads each of many cells from there
    text = "\n".join([*_lines(found.compute(), about), ""])
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8")


def findings(found: xr.Dataset) -> list[str]:
    """Return in words what stands out in an evaluation.

    Args:
        found: of `bed.evaluation.evaluate`.
    """
    makers = (_best, _against_base_rate, _calibration, _after_platt, _reactions, _certain, _partial)
    return [words for make in makers if (words := make(found))]


def gaps(found: xr.Dataset) -> list[str]:
    """Return in words what could not be computed, and why.

    Args:
        found: of `bed.evaluation.evaluate`, perhaps with `probe_table` merged in.
    """
    models = [str(name) for name in found["model"].values]
    lines = []
    for variable, what in (("revision_note", "beta"), ("platt_note", "Platt scaling")):
        # without the model's name in front, equal reasons of several models become one
        notes = zip(models, found[variable].values.tolist(), strict=True)
        reasons = [(name, note.removeprefix(f"model {name!r}, ")) for name, note in notes]
        lines += [f"No {what} for {_all(who)}: {why}." for why, who in _by_reason(reasons)]
    if "retention_note" in found:
        names = [
            f"{statistic} of {domain}"
            for domain in found["held_out"].values
            for statistic in found["retained"].values
        ]
        reasons = list(zip(names, found["retention_note"].values.ravel().tolist(), strict=True))
        lines += [f"No retention for {_all(who)}: {why}." for why, who in _by_reason(reasons)]
    if "probe_value" in found:
        for probe in found["probe"].values.tolist():
            at = found.sel(probe=probe)
            if left_out := int(at["probe_left_out"]):
                reason = at["probe_reason"].item()
                lines.append(
                    f"{left_out:,} episodes have no whole probe of {probe}, the first: {reason}."
                )
    dropped = found["dropped"].max(dim=("domain", "statistic")).fillna(0).values.astype(int)
    if dropped.any():
        each = [f"{name}: up to {n:,}" for name, n in zip(models, dropped, strict=True) if n]
        lines.append(
            f"Of {found.attrs['draws']:,} draws, those in which a statistic is undefined were "
            f"dropped ({_all(each)})."
        )
    return lines


def _by_reason(notes: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Return each reason with those that it holds for."""
    found: dict[str, list[str]] = {}
    for name, note in notes:
        if note:
            found.setdefault(note, []).append(name)
    return list(found.items())


def _all(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _some(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    rest = len(names) - _NUM_LISTED
    return _all(names if rest < 2 else [*names[:_NUM_LISTED], f"{rest} others"])


def _cell(found: xr.Dataset, model: str, statistic: str) -> str:
    """Return a model's mean score over domains with its interval."""
    at = found.sel(model=model, domain=MACRO, statistic=statistic)
    return interval(*(at[end].item() for end in ("score", "lo", "hi")))


def _points(found: xr.Dataset, variable: str, statistic: str) -> dict[str, float]:
    """Return the mean over domains of each model that has one."""
    values = found[variable].sel(domain=MACRO, statistic=statistic).values.tolist()
    pairs = zip(found["model"].values.tolist(), values, strict=True)
    return {name: value for name, value in pairs if not math.isnan(value)}


def _whole(found: xr.Dataset) -> xr.Dataset:
    """Return the models that forecast every row: only their scores can be compared."""
    return found.isel(model=found["coverage"].values == 1)


def _best(found: xr.Dataset) -> str:
    """Say which model has the best Brier score among those that forecast every row."""
    brier = _points(_whole(found), "score", "brier")
    if not brier:
        return "No model forecasts every row, so their scores rest on different questions."
    best, *others = sorted(brier, key=brier.__getitem__)
    words = f"{best} has the best Brier score, {_cell(found, best, 'brier')}"
    if not others:
        return f"{words}, as the only model that forecasts every row."
    following = f"{words}; {others[0]} follows with {_cell(found, others[0], 'brier')}"
    first = found["model"].values[0]
    if first not in (best, others[0]):
        return f"{following}. Their difference is not known: all are compared with {first} alone."
    other = others[0] if best == first else best
    at = found.sel(model=other, domain=MACRO, compared="brier")
    point, lo, hi = (at[f"difference{end}"].item() for end in ("", "_lo", "_hi"))
    if math.isnan(lo):
        return f"{following}. Their difference, {point:.3f}, has no interval."
    tells = "holds 0, so they cannot be told apart" if lo <= 0 <= hi else "tells them apart"
    return (
        f"{following}. The interval of the difference ({other} minus {first}), "
        f"{interval(point, lo, hi)}, {tells}."
    )


def _against_base_rate(found: xr.Dataset) -> str:
    brier = _points(_whole(found), "score", "brier")
    if BASE_RATE not in brier:
        return ""
    worse = [name for name, of in brier.items() if name != BASE_RATE and of >= brier[BASE_RATE]]
    if not worse:
        return ""
    verb = "does" if len(worse) == 1 else "do"
    return (
        f"{_some(worse)} {verb} not beat the base rate, whose Brier score is "
        f"{_cell(found, BASE_RATE, 'brier')}."
    )


def _calibration(found: xr.Dataset) -> str:
    """Say which models are calibrated best and worst; the base rate is by construction."""
    ece = {name: of for name, of in _points(found, "score", "ece").items() if name != BASE_RATE}
    if not ece:
        return ""
    best, worst = min(ece, key=ece.__getitem__), max(ece, key=ece.__getitem__)
    words = f"Calibration error (ECE): {best} has {_cell(found, best, 'ece')}"
    if best == worst:
        return f"{words}."
    return f"{words}, the least; {worst} has {_cell(found, worst, 'ece')}, the most."


def _after_platt(found: xr.Dataset) -> str:
    if "platt_score" not in found:
        return ""
    before, after = (_points(found, name, "brier") for name in ("score", "platt_score"))
    won = {name: before[name] - of for name, of in after.items() if before[name] > of}
    if not won:
        return "Platt scaling improves the Brier score of none."
    most = max(won, key=won.__getitem__)
    return (
        f"Platt scaling improves the Brier score of {len(won)} of {len(after)} models, most that "
        f"of {most}: {before[most]:.3f} becomes {after[most]:.3f}."
    )


def _reactions(found: xr.Dataset) -> str:
    """Say whose beliefs overreact or underreact to evidence."""
    known = found["beta"].notnull().values
    reaction = found["reaction"].values
    parts = []
    for words, verb in (("overreacts", "overreact"), ("underreacts", "underreact")):
        names = found["model"].values[known & (reaction == words)].tolist()
        if names:
            parts.append(f"{_some(names)} {words if len(names) == 1 else verb}")
    rest = found["model"].values[known & (reaction == "cannot be told")].tolist()
    if rest:
        parts.append(f"of {_some(rest)} it cannot be told, the interval of beta holds 1 or is open")
    return f"Updates against what the labels bear out: {'; '.join(parts)}." if parts else ""


def _certain(found: xr.Dataset) -> str:
    names = [name for name, of in _points(found, "score", "log_score").items() if of == -math.inf]
    if not names:
        return ""
    verb = "was" if len(names) == 1 else "were"
    return f"{_some(names)} {verb} certain and wrong at least once: a log score of minus infinity."


def _partial(found: xr.Dataset) -> str:
    pairs = zip(found["model"].values.tolist(), found["coverage"].values.tolist(), strict=True)
    parts = [f"{name} {_percent(share)}" for name, share in pairs if share < 1]
    if not parts:
        return ""
    return f"Share of all rows forecast, where it is not all: {_some(parts)}. Scores rest on these."


def _percent(share: float) -> str:
    """Return a share below 1, which must not be rounded up to the whole."""
    return f"{min(share, 0.999):.1%}"


def _lines(found: xr.Dataset, about: str) -> Iterator[str]:
    title = "Evaluation of belief models"
    drawn = figures(found)
    tables = sheets(found)
    placed = [_PLACES.get(sheet.title, ()) for sheet in tables]
    rest = [name for name in drawn if not any(name in names for names in placed)]
    missing = gaps(found)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{_CSS}</style>\n</head>\n<body>"
    yield f'<main lang="en">\n<h1>{title}</h1>\n<p class="about">{escape(about)}</p>'
    yield from _facts(found)
    yield from _list("What stands out", findings(found))
    if missing:
        yield from _list("What could not be computed", missing)
    yield '<nav aria-label="Tables">\n<h2>Tables</h2>\n<ul>'
    for number, sheet in enumerate(tables):
        yield f'<li><a href="#t{number}">{escape(sheet.title)}</a></li>'
    yield "</ul>\n</nav>"
    for number, (sheet, names) in enumerate(zip(tables, placed, strict=True)):
        yield "<section>\n"
        yield from _table(sheet, f"t{number}")
        for name in names:
            if name in drawn:
                yield _figure(name, drawn[name])
        yield "</section>"
    if rest:
        yield "<section>\n<h2>Figures</h2>"
        for name in rest:
            yield _figure(name, drawn[name])
        yield "</section>"
    yield "</main>\n</body>\n</html>"


def _facts(found: xr.Dataset) -> Iterator[str]:
    names = found["model"].values.tolist()
    domains = [name for name in found["domain"].values.tolist() if name != MACRO]
    draws, smooth_draws = (found.attrs[name] for name in ("draws", "smooth_draws"))
    facts: dict[str, Any] = {
        "models": f"{len(names)}: {', '.join(names)}",
        "domains": f"{len(domains)}: {', '.join(domains)}",
        "bootstrap": f"{draws:,} draws, {smooth_draws:,} for sMECE; intervals are of 95%, and a * "
        "marks a point outside its own",
        "seed": found.attrs["seed"],
        "bed": f"version {found.attrs['bed']}",
    }
    yield "<dl>"
    for key, value in facts.items():
        yield f"<dt>{key}</dt><dd>{escape(str(value))}</dd>"
    yield "</dl>"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"<section>\n<h2>{title}</h2>\n<ul>"
    for line in lines:
        yield f"<li>{escape(line)}</li>"
    yield "</ul>\n</section>"


def _table(sheet: Sheet, key: str) -> Iterator[str]:
    yield f'<h2 id="{key}">{escape(sheet.title)}</h2>\n<p>{escape(sheet.words)}</p>'
    # a region that scrolls must be reachable from the keyboard
    yield f'<div class="wide" role="region" aria-labelledby="{key}" tabindex="0">'
    yield f'<table aria-labelledby="{key}">\n<thead>\n<tr>'
    for n, column in enumerate(sheet.columns):
        # heads of names stand to the left, as the names do
        side = ' style="text-align: left"' if n < sheet.num_names else ""
        yield f'<th scope="col"{side}>{escape(column)}</th>'
    yield "</tr>\n</thead>\n<tbody>"
    for row in sheet.rows:
        names = "".join(f'<th scope="row">{escape(c)}</th>' for c in row[: sheet.num_names])
        yield f"<tr>{names}{''.join(f'<td>{escape(c)}</td>' for c in row[sheet.num_names :])}</tr>"
    yield "</tbody>\n</table>\n</div>"


def _figure(title: str, figure: Figure) -> str:
    return (
        f"<figure>\n{_svg(title, figure)}\n<figcaption><strong>{title}.</strong> "
        f"{CAPTIONS[title]}</figcaption>\n</figure>"
    )


def _svg(title: str, figure: Figure) -> str:
    """Return a figure as an element of a page that holds others, named for those who hear it."""
    written = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with (
        rc_context({"svg.fonttype": "none", "svg.hashsalt": title}),
        warnings.catch_warnings(),
    ):
        # the reader's fonts draw the letters, not those that are measured here
        warnings.filterwarnings("ignore", "Glyph")
        figure.savefig(written, format="svg", metadata=nothing)
    text = written.getvalue()
    prefix = "".join(letter for letter in title.lower() if letter.isalpha())

    def tidied(tag: re.Match[str]) -> str:
        # ids are unique in a figure only, and a page knows the namespaces
        found = re.sub(r' xmlns(:\w+)?="[^"]*"', "", tag[0])
        return re.sub(r'( id="|href="#|url\(#)', rf"\1{prefix}-", found)

    inner = re.sub(r"<[^<>]+>", tidied, text[text.index("<svg") :].strip())
    label = f"{title}. {CAPTIONS[title]}"
    return inner.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
