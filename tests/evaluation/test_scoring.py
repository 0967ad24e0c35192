"""Tables of scores agree with the scores themselves, with intervals over whole units."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bed.errors import DataError
from bed.evaluation import auroc, bootstrap_macro, brier, paired_difference, percentile_ci
from bed.evaluation.forecasts import Forecasts, split_models
from bed.evaluation.platt import crossfit_platt, random_folds
from bed.evaluation.scores import STATISTICS, reliability_curve
from bed.evaluation.scoring import (
    COMPARED,
    Weights,
    cross_fitted,
    curves,
    differences,
    known_intervals,
    paired,
    score_table,
)
from bed.evaluation.statistic import Array, point_estimate
from bed.seeds import derive_seed
from tests.evaluation.tables import forecasts, swept


def model(name: str = "m", pull: float = 0.5, seed: int = 0) -> Forecasts:
    (found,) = split_models(swept(model=name, pull=pull, seed=seed))
    return found


def by_domain(of: Forecasts) -> dict[str, tuple[Array, Array]]:
    return {d: (of.p[of.domain == d], of.label[of.domain == d]) for d in of.domains}


def drawn(of: Forecasts, weights: Weights, statistic: str = "") -> Mapping[str, Array]:
    return {d: weights.of(d, of.unit[of.domain == d], statistic) for d in of.domains}


def test_draws_resample_whole_units() -> None:
    units = np.array(["u", "v", "u", "w"])
    weights = Weights(300, 7, 0).of("a", units)
    assert weights.shape == (300, 4)
    assert (weights[:, 0] == weights[:, 2]).all()
    # three units are drawn each time
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()
    assert len(np.unique(weights[:, 0])) > 2


def test_the_same_units_get_the_same_draws_whatever_their_rows() -> None:
    weights = Weights(50, 10, 0)
    rows, places = np.array(["u", "v", "u", "w"]), np.array([3, 1, 0])
    whole, part = weights.of("a", rows), weights.of("a", rows[places])
    assert np.array_equal(part, whole[:, places])
    assert np.array_equal(weights.of("a", rows), whole)
    assert np.array_equal(weights.of("a", rows, "smece"), whole[:10])
    assert not np.array_equal(weights.of("b", rows), whole)
    assert not np.array_equal(Weights(50, 10, 1).of("a", rows), whole)


def test_scores_are_those_of_the_statistics_and_macro_is_their_mean() -> None:
    of, weights = model(), Weights(40, 9, 0)
    table = score_table([of], weights)
    assert table["domain"].values.tolist() == ["macro", "a", "b"]
    for name, statistic in STATISTICS.items():
        found = table.sel(model="m", statistic=name)
        expected = bootstrap_macro(statistic, by_domain(of), drawn(of, weights, name))
        points = [point_estimate(statistic, p, y) for p, y in by_domain(of).values()]
        assert found["score"].values.tolist() == [np.mean(points), *points]
        for place, interval in enumerate((expected, *expected.domains.values())):
            assert found["lo"].values[place] == interval.lo
            assert found["hi"].values[place] == interval.hi
            assert found["dropped"].values[place] == interval.num_dropped
    assert table["score"].sel(domain="a", statistic="brier") == brier(*by_domain(of)["a"])
    assert table["rows"].values.tolist() == [[240, 120, 120]]
    # a unit is called the same in both domains
    assert table["units"].sel(domain="a").item() == 12


def test_a_model_without_a_domain_is_the_mean_of_the_others_there() -> None:
    whole, part = model(), model("part")
    part = part.rows(part.domain == "b")
    table = score_table([whole, part], Weights(20, 5, 0)).sel(model="part", statistic="brier")
    assert table["score"].isnull().values.tolist() == [False, True, False]
    assert table["score"].values[0] == table["score"].values[2] == brier(part.p, part.label)
    assert table["rows"].values.tolist() == [120, 0, 120]


def test_one_unit_alone_gives_no_interval_to_its_domain_nor_to_the_mean() -> None:
    of = forecasts(
        p=[0.2, 0.7, 0.4, 0.1, 0.9, 0.6],
        label=[0, 1, 1, 0, 1, 0],
        domain=["a", "a", "a", "a", "b", "b"],
        unit=["u", "u", "v", "w", "x", "x"],
    )
    table = score_table([of], Weights(200, 200, 0)).sel(statistic="brier")
    for end in ("lo", "hi"):
        assert table[end].isnull().values.tolist() == [[True, False, True]]
    assert not table["score"].isnull().any()
    other = of.with_p(1 - of.p, "other")
    found = differences([of, other], Weights(200, 200, 0)).sel(model=1, compared="brier")
    assert found["difference_lo"].isnull().values.tolist() == [True, False, True]
    assert not found["difference"].isnull().any()


def test_one_class_is_an_error_that_names_model_domain_and_column() -> None:
    of = forecasts(p=[0.2, 0.7, 0.4], label=[1, 1, 1])
    with pytest.raises(DataError, match=r"model 'm', column 'label', auroc: .*domain 'a'.*3 of 3"):
        score_table([of], Weights(10, 10, 0))


def test_of_a_model_that_abstains_what_is_undefined_is_missing() -> None:
    of = forecasts(
        p=[0.2, 0.7, 0.4, 0.6, 0.3],
        label=[1, 1, 1, 0, 1],
        domain=["a", "a", "a", "b", "b"],
        abstains=True,
    )
    table = score_table([of], Weights(50, 50, 0)).sel(model="m")
    assert table["score"].sel(statistic="auroc").isnull().values.tolist() == [True, True, False]
    assert not table["score"].sel(statistic="brier").isnull().any()
    assert table["score"].sel(statistic="auroc", domain="b") == 0.0


def test_a_domain_called_macro_is_refused() -> None:
    of = replace(model(), domain=np.full(model().p.size, "macro"))
    with pytest.raises(DataError, match="a domain is called 'macro'"):
        score_table([of], Weights(10, 10, 0))


def test_undefined_intervals_are_left_out_one_by_one() -> None:
    def compute(values: Mapping[str, float]) -> object:
        if "bad" in values:
            raise DataError("undefined")
        return bootstrap_macro(
            STATISTICS["brier"],
            {name: ([value], [1]) for name, value in values.items()},
            {name: np.ones((3, 1)) for name in values},
        )

    units = {"good": np.array(["u", "v"]), "bad": np.array(["u", "v"])}
    found = known_intervals(compute, units, {"good": 0.5, "bad": 0.5})  # type: ignore[arg-type]
    assert list(found) == ["good"]
    assert found["good"].point == 0.25
    assert known_intervals(compute, {}, {"bad": 1.0}) == {}  # type: ignore[arg-type]


def test_differences_are_paired_and_those_of_the_later_model_minus_the_first() -> None:
    first, second, weights = model(), model("second", 0.2, seed=1), Weights(60, 9, 0)
    found = differences([first, second], weights)
    assert found["difference"].sel(model=0).isnull().all()
    assert found["shared"].values.tolist() == [240, 240]
    triples = {d: (y, by_domain(second)[d][0], p) for d, (p, y) in by_domain(first).items()}
    for name in COMPARED:
        expected = paired_difference(STATISTICS[name], triples, drawn(first, weights))
        here = found.sel(model=1, compared=name)
        for place, interval in enumerate((expected, *expected.domains.values())):
            assert here["difference"].values[place] == interval.point
            assert here["difference_lo"].values[place] == interval.lo
            assert here["difference_hi"].values[place] == interval.hi


def test_models_are_compared_on_the_rows_that_both_forecast() -> None:
    first, second = model(), model("second", 0.2, seed=1)
    keep = np.random.default_rng(0).permutation(second.p.size)[:100]
    part = second.rows(keep)
    ours, theirs = paired(part, first)
    assert ours.questions() == theirs.questions() == part.questions()
    assert np.array_equal(theirs.p, first.p[keep])
    assert differences([first, part], Weights(10, 10, 0))["shared"].values.tolist() == [240, 100]
    nothing = first.rows(first.k == 0), second.rows(second.k == 1)
    found = differences(nothing, Weights(10, 10, 0))
    assert found["shared"].values.tolist() == [48, 0]
    assert found["difference"].isnull().all()


def test_infinitely_bad_against_infinitely_bad_is_no_difference() -> None:
    columns: dict[str, Any] = {"label": [0, 1, 0, 1], "domain": ["a", "a", "b", "b"]}
    first = forecasts(p=[1.0, 0.7, 0.2, 0.6], **columns)
    second = forecasts("second", p=[1.0, 0.6, 0.3, 0.6], **columns)
    found = differences([first, second], Weights(40, 40, 0)).sel(model=1, compared="log_score")
    assert found["difference"].isnull().values.tolist() == [True, True, False]
    third = forecasts("third", p=[0.5, 0.6, 1.0, 0.6], **columns)
    found = differences([first, third], Weights(40, 40, 0)).sel(model=1, compared="log_score")
    # infinite in both directions: no mean
    assert found["difference"].values.tolist()[1:] == [math.inf, -math.inf]
    assert math.isnan(found["difference"].values[0])


def test_cross_fitting_maps_each_domain_by_its_own_halves() -> None:
    of = model(pull=1.5)
    found = cross_fitted(of, seed=3)
    for domain, (p, y) in by_domain(of).items():
        units = of.unit[of.domain == domain].tolist()
        folds = random_folds(units, derive_seed(3, "folds", domain))
        assert np.array_equal(found.p[of.domain == domain], crossfit_platt(p, y, folds))


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (["u"] * 4, "model 'm', domain 'a': 1 units are too few to fold"),
        (["u", "u", "v", "v"], "model 'm', domain 'a': fold [01] holds 2 forecasts, [02] of them"),
    ],
    ids=["one unit", "one class a half"],
)
def test_halves_that_cannot_be_fitted_are_named(unit: list[str], message: str) -> None:
    of = forecasts(p=[0.2, 0.3, 0.6, 0.7], label=[0, 0, 1, 1], unit=unit)
    with pytest.raises(DataError, match=message):
        cross_fitted(of, 0)


def test_curves_are_those_of_the_forecasts() -> None:
    of = model()
    found = curves([of])
    curve = reliability_curve(of.p, of.label)
    pooled = found.isel(model=0, domain=0)
    assert pooled["bin_forecast"].values[curve.bin].tolist() == curve.forecast.tolist()
    assert pooled["bin_share"].values[curve.bin].tolist() == curve.share.tolist()
    assert pooled["bin_count"].values.sum() == of.p.size
    for d, (p, y) in enumerate(by_domain(of).values(), start=1):
        roc = found["roc"].values[0, d]
        assert (np.diff(roc) >= 0).all()
        assert roc[-1] == 1.0
        # the area under a curve of steps, read at a hundred places
        assert np.trapezoid(roc, dx=0.01) == pytest.approx(auroc(p, y), abs=0.02)
        for k in range(5):
            at = of.k[of.domain == ("a", "b")[d - 1]] == k
            assert found["by_k"].values[0, d, k, 0] == brier(p[at], y[at])
            assert found["by_k_rows"].values[0, d, k] == 24
    assert found["by_k"].values[0, 0].tolist() == found["by_k"].values[0, 1:].mean(axis=0).tolist()
    assert found["value_count"].values.sum() == of.p.size


def test_a_vertical_of_the_roc_curve_is_read_at_its_upper_end() -> None:
    of = forecasts(p=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4], label=[1, 1, 0, 1, 0, 1])
    roc = curves([of])["roc"].values[0, 1]
    assert roc[[0, 49, 50, 99, 100]] == pytest.approx([0.5, 0.5, 0.75, 0.75, 1.0])


def test_the_mean_at_a_k_that_one_domain_lacks_is_missing() -> None:
    of = forecasts(
        p=[0.1, 0.9, 0.3, 0.8, 0.4, 0.6],
        label=[0, 1, 0, 1, 0, 1],
        k=[0, 0, 3, 3, 0, 0],
        domain=["a", "a", "a", "a", "b", "b"],
    )
    found = curves([of])
    assert found["k"].values.tolist() == [0, 3]
    assert found["by_k"].sel(k=3).isnull().values[0, :, 0].tolist() == [True, False, True]
    assert not found["by_k"].sel(k=0).isnull().any()


def test_intervals_hold_the_central_share_of_the_draws() -> None:
    of, weights = model(), Weights(500, 9, 0)
    table = score_table([of], weights).sel(domain="a", statistic="brier", model="m")
    error = (by_domain(of)["a"][0] - by_domain(of)["a"][1]) ** 2
    w = drawn(of, weights)["a"]
    lo, hi = percentile_ci(w @ error / w.sum(axis=1))
    assert (table["lo"].item(), table["hi"].item()) == pytest.approx((lo, hi))
