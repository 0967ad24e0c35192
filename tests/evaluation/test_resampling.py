"""Bootstraps against resamples taken row by row, and percentile intervals by hand."""

import math
import tracemalloc
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from bed.errors import DataError
from bed.evaluation import (
    STATISTICS,
    auroc,
    bootstrap_macro,
    brier,
    index_weights,
    log_score,
    macro_average,
    macro_intervals,
    paired_difference,
    paired_retention,
    percentile_ci,
    retention,
    smece,
    unit_weights,
)
from bed.seeds import generator

Array = NDArray[np.float64]

SCORES: dict[str, Callable[..., float]] = {
    "brier": brier,
    "auroc": auroc,
    "smece": smece,
    "log_score": log_score,
}


def drawn(name: str, n: int) -> tuple[Array, Array]:
    rng = generator(6, name)
    p = rng.uniform(0.01, 0.99, n)
    return p, (rng.random(n) < p).astype(np.float64)


DOMAINS = {"gwas": drawn("gwas", 30), "depmap": drawn("depmap", 45)}
INDICES = {
    name: generator(7, name).integers(len(p), size=(20, len(p))) for name, (p, _) in DOMAINS.items()
}
WEIGHTS = {name: index_weights(rows, rows.shape[1]) for name, rows in INDICES.items()}


@pytest.mark.parametrize(
    ("draws", "level", "interval"),
    [
        (range(101), 0.95, (2.5, 97.5)),
        ([3.0, 1.0], 0.5, (1.5, 2.5)),
        ([2.0], 0.95, (2.0, 2.0)),
        ([5.0, 1.0, 3.0], 1.0, (1.0, 5.0)),
        ([-math.inf, 0.0, 1.0], 0.9, (-math.inf, 0.9)),
        ([-math.inf, -math.inf], 0.9, (-math.inf, -math.inf)),
        ([0.0, 1.0, math.inf], 0.5, (0.5, math.inf)),
    ],
    ids=["0 to 100", "interpolated", "one", "all", "one infinite", "all infinite", "upwards"],
)
def test_percentiles(draws: Sequence[float], level: float, interval: tuple[float, float]) -> None:
    assert percentile_ci(list(draws), level) == pytest.approx(interval)


@pytest.mark.parametrize(
    ("draws", "level", "says"),
    [
        ([], 0.95, "at least one is needed"),
        ([0.0, math.nan], 0.95, "draws hold NaN"),
        ([0.0], 95, r"level 95 is outside the range \(0, 1\]"),
        ([0.0], 0.0, "level 0.0 is outside the range"),
    ],
    ids=["none", "NaN", "percent", "zero"],
)
def test_percentiles_name_bad_input(draws: list[float], level: float, says: str) -> None:
    with pytest.raises(DataError, match=says):
        percentile_ci(draws, level)


def test_macro_average_weighs_domains_equally() -> None:
    assert macro_average({"gwas": 0.2, "depmap": 0.6}) == pytest.approx(0.4)
    assert macro_average({"gwas": 0.2, "depmap": None, "x": math.nan}, "omit") == 0.2


@pytest.mark.parametrize(
    ("values", "on_undefined", "says"),
    [
        ({}, "raise", "no domains"),
        ({"gwas": 0.1, "depmap": None}, "raise", "undefined in some domains: .*'depmap': None"),
        ({"gwas": math.nan}, "omit", "undefined in some domains"),
        ({"gwas": 0.1}, "skip", "on_undefined 'skip' is unknown"),
        ({"gwas": math.inf, "depmap": -math.inf}, "raise", "infinite in both directions"),
    ],
    ids=["none", "undefined", "all undefined", "unknown option", "both infinities"],
)
def test_macro_average_names_bad_input(
    values: dict[str, float | None], on_undefined: str, says: str
) -> None:
    with pytest.raises(DataError, match=says):
        macro_average(values, on_undefined)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SCORES)
def test_bootstrap_is_the_score_of_resampled_rows(name: str) -> None:
    score = SCORES[name]
    by_hand = {
        domain: np.array([score(p[rows], y[rows]) for rows in INDICES[domain]])
        for domain, (p, y) in DOMAINS.items()
    }
    found = bootstrap_macro(STATISTICS[name], DOMAINS, WEIGHTS, level=0.8)
    macro = np.mean(list(by_hand.values()), axis=0)
    assert found.point == pytest.approx(np.mean([score(p, y) for p, y in DOMAINS.values()]))
    assert found.draws == pytest.approx(macro, abs=1e-10)
    assert (found.lo, found.hi) == pytest.approx(np.percentile(macro, (10, 90)).tolist(), abs=1e-10)
    assert found.num_dropped == 0
    for domain, draws in by_hand.items():
        part = found.domains[domain]
        assert part.point == pytest.approx(score(*DOMAINS[domain]))
        assert part.draws == pytest.approx(draws, abs=1e-10)


def test_many_draws_are_as_few() -> None:
    p, y = DOMAINS["gwas"]
    weights = np.tile(WEIGHTS["gwas"], (60, 1))
    many = bootstrap_macro(STATISTICS["smece"], {"gwas": (p, y)}, {"gwas": weights})
    few = bootstrap_macro(STATISTICS["smece"], {"gwas": (p, y)}, {"gwas": WEIGHTS["gwas"]})
    assert many.draws == pytest.approx(np.tile(few.draws, 60), abs=1e-10)


@pytest.mark.parametrize("name", STATISTICS)
def test_large_bootstraps_stay_within_memory(name: str) -> None:
    p, y = drawn("large", 2000)
    weights = {"a": unit_weights(range(2000), num_draws=2000, seed=1)}
    tracemalloc.start()
    bootstrap_macro(STATISTICS[name], {"a": (p, y)}, weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # beside the weights, which take 32 MB
    assert peak < 100e6


def test_undefined_draws_are_left_out_of_means_and_counted() -> None:
    domains = {"a": ([0.2, 0.4, 0.7], [0, 1, 0]), "b": ([0.1, 0.6], [0, 1])}
    weights = {
        "a": index_weights([[0, 0, 2], [0, 1, 1], [2, 2, 2]], 3),
        "b": index_weights([[0, 0], [1, 1], [0, 1]], 2),
    }
    found = bootstrap_macro(STATISTICS["auroc"], domains, weights)
    # no class to compare in either; then in a alone; then in b alone
    assert found.draws.tolist() == [1.0, 1.0]
    assert found.num_dropped == 1
    assert (found.domains["a"].num_dropped, found.domains["b"].num_dropped) == (2, 2)
    assert found.point == pytest.approx((0.5 + 1.0) / 2)


def test_domain_without_a_defined_draw_has_no_interval() -> None:
    domains = {"a": ([0.2, 0.4], [0, 1]), "b": ([0.1, 0.6], [0, 1])}
    weights = {"a": index_weights([[0, 0]], 2), "b": index_weights([[0, 1]], 2)}
    found = bootstrap_macro(STATISTICS["auroc"], domains, weights)
    assert np.isnan([found.domains["a"].lo, found.domains["a"].hi]).all()
    assert (found.lo, found.hi) == (1.0, 1.0)


def test_infinite_scores_stay_infinite() -> None:
    domains = {"a": ([0.0, 0.5], [1, 1])}
    weights = {"a": index_weights([[0, 1], [1, 1]], 2)}
    found = bootstrap_macro(STATISTICS["log_score"], domains, weights)
    assert found.point == found.lo == -math.inf
    assert found.draws.tolist() == [-math.inf, -1.0]


def test_draws_infinite_in_both_directions_have_no_mean() -> None:
    draws = {"a": np.array([-math.inf, 1.0]), "b": np.array([math.inf, 3.0])}
    found = macro_intervals({"a": 1.0, "b": 2.0}, draws)
    assert (found.point, found.draws.tolist(), found.num_dropped) == (1.5, [2.0], 1)


@pytest.mark.parametrize(
    "draws",
    [{"a": np.ones(3)}, {"a": np.ones(3), "b": np.ones(2)}, {"a": np.ones(3), "c": np.ones(3)}],
    ids=["a domain is missing", "numbers differ", "another domain"],
)
def test_draws_that_do_not_fit_the_domains_are_named(draws: dict[str, Array]) -> None:
    with pytest.raises(DataError, match="do not fit the domains"):
        macro_intervals({"a": 1.0, "b": 1.0}, draws)


def test_difference_is_taken_on_the_same_draws() -> None:
    models = {
        name: (y, p, np.clip(p + generator(8, name).normal(0, 0.1, len(p)), 0, 1))
        for name, (p, y) in DOMAINS.items()
    }
    found = paired_difference(STATISTICS["brier"], models, WEIGHTS)
    by_hand = [
        [brier(a[rows], y[rows]) - brier(b[rows], y[rows]) for rows in INDICES[name]]
        for name, (y, a, b) in models.items()
    ]
    assert found.draws == pytest.approx(np.mean(by_hand, axis=0), abs=1e-12)
    same = {name: (y, a, a) for name, (y, a, _) in models.items()}
    none = paired_difference(STATISTICS["smece"], same, WEIGHTS)
    assert (none.point, none.lo, none.hi) == (0.0, 0.0, 0.0)


def test_two_impossible_forecasts_have_no_difference() -> None:
    models = {"a": ([1, 1], [0.0, 0.5], [0.0, 0.25])}
    with pytest.raises(DataError, match="undefined"):
        paired_difference(STATISTICS["log_score"], models, {"a": np.ones((1, 2))})


def test_retention_by_hand() -> None:
    assert retention(0.2, 0.3, 0.18) == pytest.approx(0.1 / 0.12)
    # a metric that is better when higher gives the same share
    assert retention(-0.2, -0.3, -0.18) == retention(0.2, 0.3, 0.18)


@pytest.mark.parametrize("everything", [0.3, 0.1 + 0.2], ids=["equal", "equal but for rounding"])
def test_retention_without_improvement_is_undefined(everything: float) -> None:
    with pytest.raises(DataError, match=r"retention is undefined: .* differ by zero"):
        retention(0.2, 0.3, everything)


def test_retention_is_taken_on_the_same_draws() -> None:
    p, y = DOMAINS["depmap"]
    models = p * 0.9, p * 0.5, p
    found = paired_retention(STATISTICS["brier"], y, *models, WEIGHTS["depmap"])
    by_hand = [
        retention(*(brier(model[rows], y[rows]) for model in models)) for rows in INDICES["depmap"]
    ]
    assert found.draws == pytest.approx(by_hand, abs=1e-9)
    assert found.num_dropped == 0


def test_draws_without_improvement_are_counted() -> None:
    weights = index_weights([[0, 0], [0, 1]], 2)
    models = [0.5, 0.5], [0.5, 0.5], [0.5, 0.9]
    found = paired_retention(STATISTICS["brier"], [0, 1], *models, weights)
    assert found.draws.tolist() == [0.0]
    assert found.num_dropped == 1
    with pytest.raises(DataError, match=r"retention is undefined .* in all 1 draws"):
        paired_retention(STATISTICS["brier"], [0, 1], *models, weights[:1])


def test_units_are_drawn_whole() -> None:
    units = ["b", "a", "b", "c", "a", "b"]
    weights = unit_weights(units, num_draws=500, seed=1)
    assert weights.shape == (500, 6)
    assert (weights[:, [0, 0, 1]] == weights[:, [2, 5, 4]]).all()
    # three units are drawn three times
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()
    assert np.array_equal(weights, unit_weights(units, num_draws=500, seed=1))
    assert not np.array_equal(weights, unit_weights(units, num_draws=500, seed=2))


def test_multiplicities_are_binomial() -> None:
    weights = unit_weights(range(8), num_draws=4000, seed=3)
    shares = [(weights == k).mean() for k in range(4)]
    # draws of one unit are independent; five standard errors of 32,000 at the least
    assert shares == pytest.approx(
        binom.pmf(range(4), 8, 1 / 8).tolist(), abs=5 * 0.5 / 32_000**0.5
    )


def test_index_weights_count() -> None:
    assert index_weights([[0, 0, 2], [1, 1, 1]], 3).tolist() == [[2, 0, 1], [0, 3, 0]]


@pytest.mark.parametrize(
    ("indices", "says"),
    [
        ([[0, 1]], r"shape \(1, 2\): each needs the length 3"),
        ([[0, 1, 2], [0]], "resamples differ in length"),
        ([[0, 1, 3]], "index 3, outside the range 0 to 2"),
        ([[0, 1, -1]], "index -1, outside the range"),
        ([[0.0, 1.0, 2.0]], "must be integer"),
        (np.empty((0, 3), dtype=int), "resamples are empty"),
    ],
    ids=["short", "ragged", "too large", "negative", "floats", "no draws"],
)
def test_index_weights_name_bad_input(indices: list[list[int]], says: str) -> None:
    with pytest.raises(DataError, match=says):
        index_weights(indices, 3)


@pytest.mark.parametrize(
    ("units", "num_draws", "says"),
    [([], 5, "no units"), (["a", "b"], 0, "num_draws is 0: at least one")],
    ids=["no units", "no draws"],
)
def test_unit_weights_name_bad_input(units: list[str], num_draws: int, says: str) -> None:
    with pytest.raises(DataError, match=says):
        unit_weights(units, num_draws, seed=0)


PAIR = ([0.2, 0.4], [0, 1])


@pytest.mark.parametrize(
    ("domains", "weights", "says"),
    [
        ({}, {}, "no domains"),
        ({"a": PAIR}, {"b": np.ones((1, 2))}, r"domains \['a'\] and weights of \['b'\]"),
        (
            {"a": PAIR, "b": PAIR},
            {"a": np.ones((1, 2)), "b": np.ones((2, 2))},
            "numbers of draws differ between domains",
        ),
        ({"a": PAIR}, {"a": np.ones((1, 3))}, r"weights in domain 'a' have shape \(1, 3\)"),
        ({"a": PAIR}, {"a": np.ones((0, 2))}, r"weights in domain 'a' have shape \(0, 2\)"),
        ({"a": PAIR}, {"a": -np.ones((1, 2))}, "must be finite and not negative"),
        ({"a": ([0.2], [0, 1])}, {"a": np.ones((1, 2))}, r"a: lengths differ \(p 1, y 2\)"),
        ({"a": ([0.2, 0.4], [1, 1])}, {"a": np.ones((1, 2))}, "undefined in domain 'a': 2 of 2"),
        ({"a": PAIR}, {"a": np.array([[2.0, 0.0]])}, "undefined in every domain in all 1 draws"),
    ],
    ids=[
        "no domains",
        "other domains",
        "draws differ",
        "lengths of weights",
        "no draws",
        "negative",
        "lengths",
        "one class",
        "no defined draw",
    ],
)
def test_bootstrap_names_bad_input(
    domains: dict[str, tuple[list[float], list[int]]], weights: dict[str, Array], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        bootstrap_macro(STATISTICS["auroc"], domains, weights)
