"""Tables of revision agree with the functions of single domains."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from bed.evaluation.forecasts import Forecasts, Sweeps, split_models
from bed.evaluation.relevance import resampled_spearman
from bed.evaluation.resampling import percentile_ci
from bed.evaluation.revision import by_verdict, cumulative_to_truth
from bed.evaluation.scoring import Weights
from bed.evaluation.support import bootstrap_beta
from bed.evaluation.updating import VERDICTS, revision_table
from bed.information import weight_of_evidence_db
from tests.evaluation.tables import Columns, forecasts, swept

WEIGHTS = Weights(80, 10, 0)


def model(**changes: object) -> Forecasts:
    columns: Columns = {**swept(num_episodes=30), **changes}  # type: ignore[dict-item]
    (found,) = split_models(columns)
    return found


def drawn(sweeps: dict[str, Sweeps]) -> dict[str, np.ndarray]:
    return {name: WEIGHTS.of(name, of.unit) for name, of in sweeps.items()}


def test_beta_and_its_points_are_those_of_the_bootstrap_over_units() -> None:
    of = model()
    sweeps = of.sweeps()
    paths = {name: (list(found.p), found.label) for name, found in sweeps.items()}
    expected = bootstrap_beta(paths, drawn(sweeps))
    table = revision_table([of], WEIGHTS).isel(model=0)
    ends = [table[name].item() for name in ("beta", "beta_lo", "beta_hi")]
    assert ends == [expected.point, expected.lo, expected.hi]
    support = expected.support
    points = {name: (found.x, found.psi) for name, found in support.per_domain.items()}
    for name, (x, psi) in {"macro": (support.x, support.psi), **points}.items():
        here = table.sel(swept=name)
        assert np.array_equal(here["tier_x"].values, x, equal_nan=True)
        assert np.array_equal(here["tier_psi"].values, psi, equal_nan=True)
    assert table["revision_note"].item() == ""


@pytest.mark.parametrize(
    ("scale", "words"), [(4.0, "overreacts"), (0.2, "underreacts")], ids=["over", "under"]
)
def test_a_belief_that_exaggerates_is_told(scale: float, words: str) -> None:
    """A Bayesian's log odds, times a factor."""
    rng = np.random.default_rng(0)
    label = np.repeat(rng.integers(0, 2, 300), 5)
    step = rng.normal(0.6 * (2 * label - 1), math.sqrt(1.2)).reshape(300, 5)
    step[:, 0] = 0
    odds = np.cumsum(step, axis=1).ravel()
    of = forecasts(
        p=1 / (1 + np.exp(-scale * odds)),
        label=label,
        k=list(range(5)) * 300,
        episode=np.repeat(np.arange(300), 5),
    )
    table = revision_table([of], WEIGHTS).isel(model=0)
    assert table["reaction"].item() == words


def test_weights_by_verdict_are_means_of_the_domains_that_have_it() -> None:
    columns = swept(num_episodes=30)
    is_gwas = [domain == "b" for domain in columns["domain"]]
    for place in np.flatnonzero(is_gwas):
        if columns["verdict"][place]:
            columns["verdict"][place] = "significant"
    (of,) = split_models(columns)
    table = revision_table([of], WEIGHTS).isel(model=0)
    expected = {
        name: by_verdict(list(found.p), found.verdict.tolist())
        for name, found in of.sweeps().items()
    }
    for verdict in VERDICTS:
        here = table.sel(verdict=verdict)
        points = [said[verdict].mean_db for said in expected.values() if verdict in said]
        if not points:
            assert here["verdict_db"].isnull().all()
            continue
        assert here["verdict_db"].sel(swept="macro").item() == np.mean(points)
        for name, said in expected.items():
            if verdict not in said:
                assert here["verdict_db"].sel(swept=name).isnull()
                continue
            found = here.sel(swept=name)
            assert found["verdict_db"].item() == said[verdict].mean_db
            assert found["verdict_count"].item() == said[verdict].count.sum()
            draws = said[verdict].resampled(drawn(of.sweeps())[name])
            assert found["verdict_db_lo"].item() == pytest.approx(np.quantile(draws, 0.025))
    assert table["verdict_count"].sel(swept="macro").sum() == 2 * 30 * 4


def test_relevance_is_that_of_single_stubs() -> None:
    of = model()
    table = revision_table([of], WEIGHTS).isel(model=0)
    points = []
    for name, found in of.sweeps().items():
        weight = np.abs(weight_of_evidence_db(found.p[:, :-1], found.p[:, 1:]))
        points.append(spearmanr(weight.ravel(), -found.tier.ravel()).statistic)
        assert table["spearman"].sel(swept=name).item() == pytest.approx(points[-1])
        of_stubs = np.repeat(drawn(of.sweeps())[name], weight.shape[1], axis=1)
        draws = resampled_spearman(weight.ravel(), found.tier.ravel(), of_stubs)
        ends = [table[f"spearman{end}"].sel(swept=name).item() for end in ("_lo", "_hi")]
        assert ends == pytest.approx(percentile_ci(draws))
        relative = weight / weight.mean(axis=1, keepdims=True)
        for tier in (1, 2, 3):
            here = table["relative_weight"].sel(swept=name, tier=tier)
            assert here.item() == pytest.approx(relative[found.tier == tier].mean())
    macro = table.sel(swept="macro")
    assert macro["spearman"].item() == pytest.approx(np.mean(points))
    assert macro["spearman_lo"] < macro["spearman"] < macro["spearman_hi"]


def test_a_domain_without_all_tiers_says_nothing_of_relevance() -> None:
    columns = swept(num_episodes=30)
    columns["tier"][1] = None
    (of,) = split_models(columns)
    table = revision_table([of], WEIGHTS).isel(model=0)
    assert table["spearman"].isnull().values.tolist() == [False, True, False]
    assert table["spearman"].values[0] == table["spearman"].values[2]


def test_evidence_towards_the_truth_is_averaged_up_to_the_shorter_sweeps() -> None:
    long, short = swept(("a",), num_stubs=4), swept(("b",), num_stubs=2)
    (of,) = split_models({name: long[name] + short[name] for name in long})
    table = revision_table([of], WEIGHTS).isel(model=0)["cumulative_db"]
    means = [cumulative_to_truth(list(found.p), found.label).mean for found in of.sweeps().values()]
    assert table.sel(swept="a").values.tolist() == means[0].tolist()
    assert table.sel(swept="b").values[:3].tolist() == means[1].tolist()
    expected = (means[0][:3] + means[1]) / 2
    assert table.sel(swept="macro").values[:3] == pytest.approx(expected)
    assert table.sel(swept="macro").isnull().values.tolist() == [False] * 3 + [True] * 2


def test_one_unit_alone_gives_no_interval() -> None:
    of = model(unit=["u" if d == "a" else e for d, e in zip(*both(), strict=True)])
    table = revision_table([of], WEIGHTS).isel(model=0)
    assert not table["beta"].isnull()
    assert table["beta_lo"].isnull()
    assert table["reaction"].item() == "cannot be told"
    for name in ("verdict_db", "spearman", "relative_weight"):
        lacks = table[f"{name}_lo"].isnull()
        assert lacks.sel(swept=["macro", "a"]).all()
        assert not table[name].sel(swept="a").isnull().all()
        assert not lacks.sel(swept="b").all()


def both() -> tuple[list[str], list[str]]:
    columns = swept(num_episodes=30)
    return columns["domain"], columns["episode"]


def test_models_without_sweeps_say_why() -> None:
    of = model()
    single, still = of.rows(of.k == 0), of.with_p(np.full(of.p.size, 0.4), "still")
    table = revision_table([of, single.with_p(single.p, "single"), still], WEIGHTS)
    notes = table["revision_note"].values.tolist()
    assert notes[:2] == ["", "no sweeps: no episode has more than one row"]
    assert "no updates, all 120 are zero" in notes[2]
    assert table["beta"].isnull().values.tolist() == [False, True, True]
    assert table["cumulative_db"].values[2, 0].tolist() == [0.0] * 5
    assert table["spearman"].isnull().values[2].all()


def test_single_rows_alone_give_an_empty_table() -> None:
    of = model()
    table = revision_table([of.rows(of.k == 0)], WEIGHTS)
    assert table["swept"].values.tolist() == ["macro"]
    assert table.sizes["tier"] == 0
    assert table["verdict_db"].isnull().all()
