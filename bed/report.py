"""What a simulation showed: figures with paired bootstrap intervals, from a run's dataset alone.

Means are taken within each domain and then over domains. A bootstrap draw resamples the units of
the split (genes, ...) within each domain, the same ones for every policy, so that differences
between policies are paired. Intervals are the 2.5th and 97.5th percentiles of the draws.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bed.errors import DataError
from bed.information import CLIP, entropy_bits
from bed.seeds import generator

__all__ = ["LEVELS", "SCHEMA", "TrackerView", "experiments_to", "report", "tracker_view"]

Array = NDArray[np.float64]

SCHEMA = "bed-simulate/1"
LEVELS = (0.6, 0.7, 0.8)
"""Beliefs in the truth whose crossing is reported."""

NUM_DRAWS = 2000
_PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True)
class TrackerView:
    """Figures of every policy under one tracker: point estimates first, then bootstrap draws.

    Attributes:
        policies: names.
        gain: entropy lost by the first experiment, bits, shape (1 + draws, num_policies).
        log_gain: log2 of the belief in the truth gained by it, bits, the same shape.
        curve: mean belief in the truth, shape (1 + draws, num_policies, 1 + num_steps).
        has_intervals: False where a domain has one unit only, which cannot be resampled.
        num_left_out: episodes left out for all policies, because one of them, or the tracker,
            failed there.
    """

    policies: tuple[str, ...]
    gain: Array
    log_gain: Array
    curve: Array
    has_intervals: bool
    num_left_out: int


def tracker_view(run: xr.Dataset, tracker: str, num_draws: int = NUM_DRAWS) -> TrackerView:
    """Return the figures of a run under one of its trackers.

    The log score clips beliefs to [0.001, 0.999]. An episode in which some policy could choose
    nothing though experiments were left, or in which the tracker failed, is left out for all.

    Args:
        run: of `bed.simulation`, complete or not.
        tracker: its name.
        num_draws: bootstrap draws.

    Raises:
        DataError: where no episode is whole.
    """
    run, num_left_out = _whole_episodes(run, tracker)
    belief = run["belief"].sel(tracker=tracker).values
    label = run["label"].values
    truth = np.where(label[None, :, None] == 1, belief, 1.0 - belief)
    bits = np.log2(np.clip(truth, CLIP, 1.0 - CLIP))
    gain = entropy_bits(belief[:, :, 0]) - entropy_bits(belief[:, :, 1])
    figures = np.concatenate(
        [gain[:, :, None], (bits[:, :, 1] - bits[:, :, 0])[:, :, None], truth], axis=2
    )
    domains, units = run["domain"].values, run["unit"].values
    seed = json.loads(run.attrs["fingerprint"])["seed"]
    means, smallest = [], np.inf
    for domain in np.unique(domains):
        here = domains == domain
        means.append(_resampled(figures[:, here], units[here], num_draws, f"{seed} {domain}"))
        smallest = min(smallest, len(np.unique(units[here])))
    mean = np.mean(means, axis=0)
    return TrackerView(
        policies=tuple(run["policy"].values.tolist()),
        gain=mean[:, :, 0],
        log_gain=mean[:, :, 1],
        curve=mean[:, :, 2:],
        has_intervals=bool(smallest > 1),
        num_left_out=num_left_out,
    )


def _whole_episodes(run: xr.Dataset, tracker: str) -> tuple[xr.Dataset, int]:
    """Return the run without the episodes that failed, and how many those are."""
    failed = _failures(run, tracker)
    whole = ~np.isin(run["episode"].values, [row["episode"] for row in failed])
    if not whole.any():
        first = failed[0]
        raise DataError(
            f"every episode failed, the first ({first['episode']}) at step {first['step']} of "
            f"policy {first['policy']!r}: {first['reason']}"
        )
    return run.isel(episode=np.flatnonzero(whole)), int((~whole).sum())


def _failures(run: xr.Dataset, tracker: str) -> list[dict[str, Any]]:
    """Return where each failed episode failed first, and why.

    It failed where the tracker did, or where a policy could choose nothing though experiments were
    left, which leaves a reason; where a pool is at its end there is none.
    """
    reason, chosen = run["reason"].values, run["chosen"].values
    unknown = np.isnan(run["belief"].sel(tracker=tracker).values)
    # at each step: a belief before the first experiment belongs to the first step
    untracked = unknown[:, :, 1:].copy()
    untracked[:, :, 0] |= unknown[:, :, 0]
    failed = untracked | ((chosen < 0) & (reason != ""))
    found = []
    for row in np.flatnonzero(failed.any(axis=(0, 2))):
        step, p = np.argwhere(failed[:, row].T)[0]
        found.append(
            {
                "episode": str(run["episode"].values[row]),
                "policy": str(run["policy"].values[p]),
                "step": int(run["choice"].values[step]),
                "reason": str(reason[p, row, step]) or f"tracker {tracker}: no reason given",
            }
        )
    return found


def _resampled(figures: Array, units: NDArray[Any], num_draws: int, seed: str) -> Array:
    """Return means over episodes, shape (1 + draws, policies, figures): the point, then draws."""
    names, unit = np.unique(units, return_inverse=True)
    rng = generator("bootstrap", seed)
    weights = np.ones((1 + num_draws, len(names)))
    weights[1:] = rng.multinomial(len(names), np.full(len(names), 1.0 / len(names)), num_draws)
    sums = np.zeros((len(names), figures.shape[0] * figures.shape[2]))
    np.add.at(sums, unit, figures.transpose(1, 0, 2).reshape(len(unit), -1))
    sizes = np.bincount(unit, minlength=len(names))
    means = (weights @ sums) / (weights @ sizes)[:, None]
    return np.asarray(means.reshape(1 + num_draws, figures.shape[0], figures.shape[2]))


def experiments_to(curve: Array, level: float) -> Array:
    """Return after how many experiments a curve first reaches `level`, by linear interpolation.

    Args:
        curve: belief in the truth by step from 0, shape (..., 1 + num_steps).
        level: in (0, 1).

    Returns:
        Shape (...); NaN where the curve never gets there.
    """
    reached = curve >= level
    step = reached.argmax(axis=-1)
    after = np.take_along_axis(curve, step[..., None], axis=-1)[..., 0]
    before = np.take_along_axis(curve, np.maximum(step - 1, 0)[..., None], axis=-1)[..., 0]
    rise = np.where(after > before, after - before, 1.0)
    at = np.where(step == 0, 0.0, step - 1 + (level - before) / rise)
    return np.asarray(np.where(reached.any(axis=-1), at, np.nan))


def report(run: xr.Dataset, num_draws: int = NUM_DRAWS) -> dict[str, Any]:
    """Return everything that a run showed, as strict JSON (`schema` "bed-simulate/1").

    Means are taken within each domain first, so that every domain weighs the same; `domains` holds
    the figures of each where there are several.

    Every figure with an interval is `{mean, lo, hi}`; null stands for what is undefined, such as
    a belief that was never reached. The coherence gaps are mean absolute values at the first
    step, `raw_` before branch weights were moved to their base rates. `failed` counts candidates
    that were not scored, `steps_without_choice` steps at which nothing could be chosen, `doubted`
    choices whose scores were not to be trusted (`doubt` is the first reason) and `not_told_apart`
    those with more than one candidate within the noise of the best. `failed_episodes` lists the
    episodes left out, each with the policy, the step and the reason of its first failure.
    """
    study = json.loads(run.attrs["fingerprint"])
    main, *others = run["tracker"].values.tolist()
    view = tracker_view(run, main, num_draws)
    whole, _ = _whole_episodes(run, main)
    domains, counts = np.unique(whole["domain"].values, return_counts=True)
    return {
        "schema": SCHEMA,
        "episodes": {str(d): int(n) for d, n in zip(domains, counts, strict=True)},
        "steps": int(run.sizes["choice"]),
        "seed": study["seed"],
        "tracker": main,
        "episodes_left_out": view.num_left_out,
        "failed_episodes": _failures(run, main),
        "brier": _brier(run, main),
        "policies": {
            name: {
                **_policy_figures(view, p),
                **_first_step(whole, p),
                **_policy_counts(run, p),
            }
            for p, name in enumerate(view.policies)
        },
        "comparisons": _comparisons(view),
        "domains": _by_domain(whole, main, num_draws) if len(domains) > 1 else {},
        "other_trackers": {
            name: _other_tracker(run, tracker_view(run, name, num_draws))
            | {"brier": _brier(run, name)}
            for name in others
        },
    }


def _by_domain(run: xr.Dataset, tracker: str, num_draws: int) -> dict[str, Any]:
    """Return the figures of each domain alone."""
    found = {}
    for domain in np.unique(run["domain"].values):
        part = run.isel(episode=np.flatnonzero(run["domain"].values == domain))
        view = tracker_view(part, tracker, num_draws)
        found[str(domain)] = {
            "brier": _brier(part, tracker),
            "policies": {
                name: _policy_figures(view, p) | _first_step(part, p)
                for p, name in enumerate(view.policies)
            },
            "comparisons": _comparisons(view),
        }
    return found


def _macro(run: xr.Dataset, values: Array) -> float | None:
    """Return the mean over domains of the mean over episodes, NaN aside; None without values."""
    domains = run["domain"].values
    parts = [values[domains == domain] for domain in np.unique(domains)]
    means = [np.nanmean(part) for part in parts if not np.isnan(part).all()]
    return float(np.mean(means)) if means else None


def _other_tracker(run: xr.Dataset, view: TrackerView) -> dict[str, Any]:
    return {
        "episodes_left_out": view.num_left_out,
        "policies": {name: _policy_figures(view, p) for p, name in enumerate(view.policies)},
        "comparisons": _comparisons(view),
    }


def _brier(run: xr.Dataset, tracker: str) -> dict[str, float | None]:
    """Return the tracker's Brier score before any experiment, and after the last by policy."""
    run, _ = _whole_episodes(run, tracker)
    belief, label = run["belief"].sel(tracker=tracker).values, run["label"].values
    last = {
        str(name): _macro(run, (belief[p, :, -1] - label) ** 2)
        for p, name in enumerate(run["policy"].values)
    }
    return {"before": _macro(run, (belief[0, :, 0] - label) ** 2), **last}


def _policy_figures(view: TrackerView, p: int) -> dict[str, Any]:
    return {
        "first_gain_bits": _interval(view.gain[:, p], view),
        "first_log_gain_bits": _interval(view.log_gain[:, p], view),
        "belief_in_truth": view.curve[0, p].tolist(),
        "experiments_to": {
            str(level): _number(experiments_to(view.curve[0, p], level)) for level in LEVELS
        },
    }


def _first_step(run: xr.Dataset, p: int) -> dict[str, Any]:
    gaps = {
        name: _macro(run, np.abs(run[name].values[p, :, 0]))
        for name in ("coherence_gap", "raw_coherence_gap")
    }
    return {"promised_bits": _macro(run, run["promised"].values[p, :, 0]), **gaps}


def _policy_counts(run: xr.Dataset, p: int) -> dict[str, Any]:
    """Return counts over all episodes, those left out included: they were paid for."""
    calls = ("belief_calls", "simulator_calls", "belief_calls_sent", "simulator_calls_sent")
    unfinished = run["chosen"].values[p] < 0
    doubts, fallbacks = (
        [words for words in run[name].values[p].ravel().tolist() if words]
        for name in ("doubt", "fallback")
    )
    return {
        **{name: int(run[name].values[p].sum()) for name in calls},
        "failed": int(run["failed"].values[p].sum()),
        "doubted": len(doubts),
        "doubt": doubts[0] if doubts else None,
        "fallbacks": len(fallbacks),
        "fallback": fallbacks[0] if fallbacks else None,
        "not_told_apart": int((run["within_noise"].values[p] > 1).sum()),
        "choices": int((~unfinished).sum()),
        "steps_without_choice": int(unfinished.sum()),
    }


def _comparisons(view: TrackerView) -> list[dict[str, Any]]:
    """Compare every policy with random, and bed's default with every other."""
    at = {name: p for p, name in enumerate(view.policies)}
    pairs = [(name, "random") for name in view.policies if name != "random" and "random" in at]
    pairs += [
        ("eig", name) for name in view.policies if "eig" in at and name not in ("eig", "random")
    ]
    return [_comparison(view, a, b, at[a], at[b]) for a, b in pairs]


def _comparison(view: TrackerView, name: str, against: str, a: int, b: int) -> dict[str, Any]:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = view.gain[:, a] / view.gain[:, b]
    fewer = {}
    for level in LEVELS:
        ours, theirs = (experiments_to(view.curve[:, p], level) for p in (a, b))
        with np.errstate(divide="ignore", invalid="ignore"):
            fewer[str(level)] = _interval(100.0 * (1.0 - ours / theirs), view)
    return {
        "policy": name,
        "against": against,
        "first_gain_bits": _interval(view.gain[:, a] - view.gain[:, b], view),
        "first_log_gain_bits": _interval(view.log_gain[:, a] - view.log_gain[:, b], view),
        "first_gain_ratio": _interval(ratio, view),
        "fewer_experiments_percent": fewer,
    }


def _interval(draws: Array, view: TrackerView) -> dict[str, float | None]:
    """Return the point with its percentile interval over the draws in which it is defined."""
    defined = draws[1:][np.isfinite(draws[1:])]
    lo, hi = np.nan, np.nan
    # a figure that is often undefined has no honest interval
    if view.has_intervals and len(defined) >= 0.95 * (len(draws) - 1) > 0:
        lo, hi = np.percentile(defined, _PERCENTILES)
    return {"mean": _number(draws[0]), "lo": _number(lo), "hi": _number(hi)}


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
