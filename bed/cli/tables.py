"""A simulation's report as tables for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["print_report", "print_tallies"]

_NARROWEST = 122

_LEGEND = """\
entropy lost: certainty that the tracker gained, right or wrong. log score gained: log2 of its
belief in the truth. promised: mean EIG of the experiments chosen. coherence gap: mean size of the
branches' mean posterior minus the prior, 0 where belief and simulator agree; before base rates:
with branch weights as asked. to 0.7: experiments until the mean curve crosses 0.7, interpolated.
Brier: after the last step. sent: identical questions once. doubted: choices whose scores were not
to be trusted, by coherence gap or noise; not told apart: with rivals that tie with the best or are
within one standard error of it, where noise is known. Intervals resample the split's units."""

_MOST_FAILED = 10
_SHARES = ("doubted", "not_told_apart")

_TRACKERS = {
    "own": "own (the policies' belief)",
    "tracker": "tracker (named by the engine file)",
    "disjoint": "disjoint (fitted on the other half of the training units)",
}


def print_report(found: Mapping[str, Any]) -> None:
    """Print the report of `bed.report.report`."""
    console = Console()
    if console.width < _NARROWEST:
        console = Console(width=_NARROWEST)
    episodes = ", ".join(f"{count} {domain}" for domain, count in found["episodes"].items())
    weights = "Domains weigh the same. " if found["domains"] else ""
    console.print(
        f"{episodes} episodes, {found['steps']} steps, seed {found['seed']}; "
        f"tracker: {_TRACKERS.get(found['tracker'], found['tracker'])}. {weights}"
        "95% intervals in brackets."
    )
    if failed := found["failed_episodes"]:
        console.print(f"[red]{len(failed):,} episodes failed and are left out for all policies:")
        for row in failed[:_MOST_FAILED]:
            where = f"{row['episode']}, step {row['step']} of {row['policy']}"
            console.print(f"[red]  {escape(where)}: {escape(row['reason'])}")
        if len(failed) > _MOST_FAILED:
            console.print(f"[red]  and {len(failed) - _MOST_FAILED:,} more, listed by --json")
    console.print(_first(found["policies"], "The first experiment"))
    console.print(_path(found["policies"], found["brier"], found["steps"], "The whole path"))
    console.print(_differences(found["comparisons"], "Paired differences"))
    if found["domains"]:
        console.print(_domains(found["domains"]))
    console.print(_cost(found["policies"], "Calls and failures, all steps"))
    for name, row in found["policies"].items():
        if row["doubted"]:
            console.print(
                f"[yellow]{name}: {row['doubted']:,} choices doubted; the first: "
                f"{escape(row['doubt'])}"
            )
        if row["fallbacks"]:
            console.print(
                f"[yellow]{name}: {row['fallbacks']:,} of {row['choices']:,} choices made at "
                f"random; the first: {escape(row['fallback'])}"
            )
    console.print(
        f"Brier score of the tracker before any experiment: {found['brier']['before']:.3f}"
    )
    console.print(_LEGEND, highlight=False)
    for key, other in found["other_trackers"].items():
        name = _TRACKERS.get(key, key)
        console.print(_first(other["policies"], f"The first experiment, tracker: {name}"))
        title = f"The whole path, tracker: {name}"
        console.print(_path(other["policies"], other["brier"], found["steps"], title))
        console.print(_differences(other["comparisons"], f"Paired differences, tracker: {name}"))


def print_tallies(tallies: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what was sent to each endpoint and what came of it, and to each of several servers."""
    for name, of in tallies.items():
        print(f"endpoint {name}: {_counted(of) or 'nothing sent'}")
        servers = of.get("servers", {})
        for server, counts in servers.items() if len(servers) > 1 else ():
            print(f"  {server}: {_counted(counts)}")


def _counted(of: Mapping[str, Any]) -> str:
    words = [f"{n:,} {key.replace('_', ' ')}" for key, n in of.items() if isinstance(n, int)]
    if "latency_s" in of:
        words.append("latency " + ", ".join(f"{s:g} s ({q})" for q, s in of["latency_s"].items()))
    if "prefix_hit_share" in of:
        words.append(f"{of['prefix_hit_share']:.1%} of prompt tokens from the prefix cache")
    return ", ".join(words)


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return table


def _first(policies: Mapping[str, Any], title: str) -> Table:
    has_promises = any("promised_bits" in row for row in policies.values())
    columns = ["policy", "entropy lost, bits", "log score gained, bits"]
    if has_promises:
        columns += ["promised, bits", "coherence gap", "before base rates"]
    table = _table(title, columns)
    for name, row in policies.items():
        cells = [_interval(row["first_gain_bits"]), _interval(row["first_log_gain_bits"])]
        if has_promises:
            keys = ("promised_bits", "coherence_gap", "raw_coherence_gap")
            cells += [_number(row[key], ".3f") for key in keys]
        table.add_row(name, *cells)
    return table


def _domains(domains: Mapping[str, Any]) -> Table:
    columns = [
        "domain",
        "policy",
        "entropy lost, bits",
        "log score gained, bits",
        "to 0.7",
        "Brier",
    ]
    table = _table("Each domain: the first experiment and the whole path", columns)
    for domain, found in domains.items():
        for name, row in found["policies"].items():
            table.add_row(
                domain,
                name,
                _interval(row["first_gain_bits"]),
                _interval(row["first_log_gain_bits"]),
                _number(row["experiments_to"]["0.7"], ".1f"),
                _number(found["brier"][name], ".3f"),
            )
        table.add_section()
    return table


def _path(policies: Mapping[str, Any], brier: Mapping[str, float], steps: int, title: str) -> Table:
    shown = sorted({step for step in (0, 1, 2, 4, 8, 16) if step < steps} | {steps})
    levels = list(next(iter(policies.values()))["experiments_to"])
    columns = ["belief in the truth after", *(str(step) for step in shown)]
    table = _table(title, [*columns, *(f"to {level}" for level in levels), "Brier"])
    for name, row in policies.items():
        beliefs = [f"{row['belief_in_truth'][step]:.3f}" for step in shown]
        needed = [_number(row["experiments_to"][level], ".1f") for level in levels]
        table.add_row(name, *beliefs, *needed, f"{brier[name]:.3f}")
    return table


def _differences(comparisons: Sequence[Mapping[str, Any]], title: str) -> Table:
    columns = ["policies", "entropy lost, bits", "log score, bits", "ratio", "fewer to 0.7, %"]
    table = _table(title, columns)
    for row in comparisons:
        table.add_row(
            f"{row['policy']} - {row['against']}",
            _interval(row["first_gain_bits"]),
            _interval(row["first_log_gain_bits"]),
            _number(row["first_gain_ratio"]["mean"], ".2f"),
            _interval(row["fewer_experiments_percent"]["0.7"], ".0f"),
        )
    return table


def _cost(policies: Mapping[str, Any], title: str) -> Table:
    columns = ["policy", "belief asked", "sent", "outcomes asked", "sent", "not scored"]
    table = _table(title, [*columns, "doubted", "not told apart"])
    for name, row in policies.items():
        names = ("belief_calls", "belief_calls_sent", "simulator_calls", "simulator_calls_sent")
        shares = (f"{row[key] / max(row['choices'], 1):.1%}" for key in _SHARES)
        table.add_row(name, *(f"{row[key]:,}" for key in (*names, "failed")), *shares)
    return table


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _interval(figure: Mapping[str, float | None], form: str = ".3f") -> str:
    point, lo, hi = (figure[key] for key in ("mean", "lo", "hi"))
    if point is None:
        return "-"
    inside = "" if lo is None or hi is None else f" [{lo:{form}}, {hi:{form}}]"
    return f"{point:{form}}{inside}"
