"""Are these beliefs any good? All tables of an evaluation in one dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import xarray as xr

from bed import __version__
from bed.errors import DataError
from bed.evaluation.forecasts import MACRO, Forecasts
from bed.evaluation.resampling import paired_retention
from bed.evaluation.scores import STATISTICS
from bed.evaluation.scoring import (
    Weights,
    cross_fitted,
    curves,
    differences,
    paired,
    score_table,
)
from bed.evaluation.updating import revision_table

__all__ = ["BASE_RATE", "NUM_DRAWS", "NUM_SMOOTH", "Transfer", "evaluate"]

BASE_RATE: Final = "base rate"
NUM_DRAWS: Final = 2000
NUM_SMOOTH: Final = 200

_RETAINED: Final = ("brier", "log_score", "auroc", "ece")


@dataclass(frozen=True)
class Transfer:
    """Which models show what training in other domains brings to one left out.

    Attributes:
        untrained: name of the model before training.
        trained: of the one trained on all domains.
        held_out: domain -> name of the model trained on the others.
    """

    untrained: str
    trained: str
    held_out: Mapping[str, str]


def evaluate(
    models: Sequence[Forecasts],
    seed: int = 0,
    num_draws: int = NUM_DRAWS,
    num_smooth: int = NUM_SMOOTH,
    transfer: Transfer | None = None,
) -> xr.Dataset:
    """Return all tables of an evaluation.

    The first model is the one that others are compared with. The base rate of each domain joins
    them, unless a model of that name is there: the share of ones among the labels themselves.

    Args:
        models: their forecasts.
        seed: of bootstraps and folds.
        num_draws: of the bootstrap.
        num_smooth: of the bootstrap of the smooth calibration error.
        transfer: which models show retention, if any do.

    Returns:
        What `score_table`, `differences`, `curves` and `revision_table` give; `platt_score`,
        `platt_lo`, `platt_hi` after cross-fitted Platt scaling, with `platt_note` where it cannot
        be; `retention`, `retention_lo`, `retention_hi` over (held_out, retained) and
        `retention_note`; `coverage` over (model,), its share of all rows.

    Raises:
        DataError: for no models, two of one name or with different labels of an episode, labels of
            one class, sweeps of unequal length, or models of a transfer that are not there.
    """
    if not models:
        raise DataError("no forecasts of any model: at least one is needed")
    names = [model.model for model in models]
    if len(set(names)) < len(names):
        raise DataError(f"models {names} hold a duplicate name; rename one")
    if num_draws < 1 or num_smooth < 1:
        raise DataError(f"{num_draws} and {num_smooth} draws: at least one of each is needed")
    _check_labels(models)
    if BASE_RATE not in names:
        models = [*models, _base_rate(models)]
    weights = Weights(num_draws, num_smooth, seed)
    parts = [
        score_table(models, weights),
        _calibrated(models, weights, seed),
        differences(models, weights),
        curves(models),
        revision_table(models, weights),
    ]
    if transfer is not None:
        parts.append(_retention(models, weights, transfer))
    rows = {key for model in models for key in model.questions()}
    parts.append(xr.Dataset({"coverage": (("model",), [of.p.size / len(rows) for of in models])}))
    attrs = {"seed": seed, "draws": num_draws, "smooth_draws": num_smooth, "bed": __version__}
    return xr.merge(parts, join="exact", combine_attrs="drop").assign_attrs(attrs)


def _check_labels(models: Sequence[Forecasts]) -> None:
    """Raise where two models disagree on what came true."""
    truths: dict[tuple[str, str], tuple[float, str]] = {}
    for model in models:
        for (domain, episode, _), label in zip(
            model.questions(), model.label.tolist(), strict=True
        ):
            truth, other = truths.setdefault((domain, episode), (label, model.model))
            if truth != label:
                raise DataError(
                    f"models {other!r} and {model.model!r} give episode {episode!r} of {domain!r} "
                    f"the labels {truth:g} and {label:g}; one must be wrong"
                )


def _base_rate(models: Sequence[Forecasts]) -> Forecasts:
    """Return the forecast that is each domain's share of ones, on every row that any model has.

    It abstains: rows of several models need not be whole sweeps, and nothing moves it.
    """
    seen: set[tuple[str, str, int]] = set()
    parts = []
    for model in models:
        new = np.array([key not in seen for key in model.questions()])
        seen.update(model.questions())
        parts.append(model.rows(new))
    whole = Forecasts.joined(parts, BASE_RATE)
    p = np.empty(whole.p.size)
    for domain in whole.domains:
        here = whole.domain == domain
        p[here] = whole.label[here].mean()
    return replace(whole.with_p(p), abstains=True)


def _calibrated(models: Sequence[Forecasts], weights: Weights, seed: int) -> xr.Dataset:
    fitted, notes = [], []
    for model in models:
        try:
            fitted.append(cross_fitted(model, seed))
            notes.append("")
        except DataError as error:
            notes.append(str(error))
    names = [model.model for model in models]
    note = xr.Dataset({"platt_note": (("model",), notes)}, coords={"model": names})
    if not fitted:
        return note
    table = score_table(fitted, weights)[["score", "lo", "hi"]]
    renamed = table.rename({"score": "platt_score", "lo": "platt_lo", "hi": "platt_hi"})
    domains = sorted({domain for model in models for domain in model.domains})
    whole = renamed.reindex(model=names, domain=[MACRO, *domains])
    return xr.merge([note, whole], join="exact")


def _retention(models: Sequence[Forecasts], weights: Weights, transfer: Transfer) -> xr.Dataset:
    named = {model.model: model for model in models}
    wanted = (transfer.untrained, transfer.trained, *transfer.held_out.values())
    for name in wanted:
        if name not in named:
            raise DataError(f"model {name!r} of the transfer is not there; use one of {[*named]}")
    domains = list(transfer.held_out)
    table = {end: np.full((len(domains), len(_RETAINED)), np.nan) for end in ("", "_lo", "_hi")}
    notes = np.full((len(domains), len(_RETAINED)), "", dtype=object)
    for d, domain in enumerate(domains):
        models_of = (transfer.held_out[domain], transfer.untrained, transfer.trained)
        here = [named[name].rows(named[name].domain == domain) for name in models_of]
        left, before = paired(here[0], here[1])
        left, everything = paired(left, here[2])
        left, before = paired(left, before)
        if not left.p.size:
            raise DataError(f"models {models_of} share no forecasts of domain {domain!r}")
        drawn = weights.of(domain, left.unit)
        for s, statistic in enumerate(_RETAINED):
            try:
                found = paired_retention(
                    STATISTICS[statistic], left.label, left.p, before.p, everything.p, drawn
                )
            except DataError as error:
                notes[d, s] = str(error)
                continue
            is_bounded = np.unique(left.unit).size > 1
            ends = (found.lo, found.hi) if is_bounded else (np.nan, np.nan)
            for end, value in zip(table, (found.point, *ends), strict=True):
                table[end][d, s] = value
    dims = ("held_out", "retained")
    variables: dict[str, Any] = {f"retention{end}": (dims, of) for end, of in table.items()}
    variables["retention_note"] = (dims, notes.astype(np.str_))
    return xr.Dataset(variables, coords={"held_out": domains, "retained": list(_RETAINED)})
