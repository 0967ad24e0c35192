"""Figures and intervals of a run, against hand-made runs with known answers."""

import dataclasses
import json

import numpy as np
import pytest
import xarray as xr

from bed.engine import world_study
from bed.errors import DataError
from bed.report import experiments_to, report, tracker_view
from bed.simulation import simulate


@pytest.fixture(scope="module")
def run() -> xr.Dataset:
    return simulate(world_study("graded", ("random", "eig", "hindsight"), limit=40, seed=1))


@pytest.mark.parametrize(
    ("curve", "level", "expected"),
    [
        ([0.5, 0.6, 0.8], 0.7, 1.5),
        ([0.5, 0.6, 0.8], 0.6, 1.0),
        ([0.75, 0.8, 0.9], 0.7, 0.0),
        ([0.5, 0.9, 0.5, 0.9], 0.7, 0.5),
        ([0.5, 0.5, 0.6], 0.7, np.nan),
        ([0.5, 0.5, 0.9], 0.7, 1.5),
    ],
    ids=["between", "at a step", "before any", "first crossing", "never", "flat first"],
)
def test_experiments_to_a_belief(curve: list[float], level: float, expected: float) -> None:
    np.testing.assert_allclose(experiments_to(np.array(curve), level), expected)


def test_figures_are_means_over_episodes(run: xr.Dataset) -> None:
    found = report(run, num_draws=200)
    label, belief = run["label"].values, run["belief"].values[0, 1]
    truth = np.where(label[:, None] == 1, belief, 1 - belief)
    eig = found["policies"]["eig"]
    np.testing.assert_allclose(eig["belief_in_truth"], truth.mean(axis=0))
    np.testing.assert_allclose(
        eig["first_log_gain_bits"]["mean"], np.log2(truth[:, 1] / truth[:, 0]).mean()
    )
    np.testing.assert_allclose(eig["promised_bits"], run["promised"].values[1, :, 0].mean())
    assert eig["belief_calls"] == run["belief_calls"].values[1].sum()
    assert found["policies"]["hindsight"]["promised_bits"] is None
    assert found["episodes"] == {"world": 40}


def test_the_report_is_strict_json_and_repeats(run: xr.Dataset) -> None:
    first, second = (json.dumps(report(run, num_draws=100), allow_nan=False) for _ in range(2))
    assert first == second
    assert json.loads(first)["schema"] == "bed-simulate/1"


def test_the_interval_matches_the_standard_error(run: xr.Dataset) -> None:
    """Independent episodes: a percentile interval is about 1.96 standard errors either way."""
    view = tracker_view(run, "exact", num_draws=4000)
    belief, label = run["belief"].values[0, 0], run["label"].values
    truth = np.where(label[:, None] == 1, belief, 1 - belief)[:, 4]
    stderr = truth.std() / np.sqrt(len(truth))
    lo, hi = np.percentile(view.curve[1:, 0, 4], (2.5, 97.5))
    # the bootstrap's own error at 4,000 draws is about 2% of a quantile; 10% is five of those
    assert (hi - lo) / 2 == pytest.approx(1.96 * stderr, rel=0.1)


def test_resampling_units_widens_the_interval_of_copies(run: xr.Dataset) -> None:
    """Ten copies of each of four episodes, named as four units, are worth four episodes."""
    few = run.isel(episode=np.repeat(np.arange(4), 10))
    by_unit = tracker_view(few, "exact", 2000).gain[1:, 1].std()
    own_names = few.assign_coords(unit=("episode", [str(i) for i in range(40)]))
    by_episode = tracker_view(own_names, "exact", 2000).gain[1:, 1].std()
    # s.d. ratio sqrt(10) = 3.2 in expectation; each s.d. is known to 2%
    assert by_unit / by_episode == pytest.approx(np.sqrt(10), rel=0.1)


def test_domains_count_alike_whatever_their_size(run: xr.Dataset) -> None:
    names = ["a"] * 30 + ["b"] * 10
    two = run.assign_coords(domain=("episode", names))
    point = tracker_view(two, "exact", 10).gain[0, 1]
    halves = [
        tracker_view(run.isel(episode=part), "exact", 10).gain[0, 1]
        for part in (slice(0, 30), slice(30, 40))
    ]
    assert point == pytest.approx(np.mean(halves))


def test_one_unit_gives_no_interval(run: xr.Dataset) -> None:
    one = run.assign_coords(unit=("episode", ["same"] * 40))
    gain = report(one, num_draws=50)["policies"]["eig"]["first_gain_bits"]
    assert gain["mean"] is not None
    assert gain["lo"] is None
    assert gain["hi"] is None


def test_comparisons_are_paired_differences(run: xr.Dataset) -> None:
    found = report(run, num_draws=300)
    (row,) = [c for c in found["comparisons"] if (c["policy"], c["against"]) == ("eig", "random")]
    gains = {name: found["policies"][name]["first_gain_bits"]["mean"] for name in ("eig", "random")}
    assert row["first_gain_bits"]["mean"] == pytest.approx(gains["eig"] - gains["random"])
    assert row["first_gain_ratio"]["mean"] == pytest.approx(gains["eig"] / gains["random"])
    needed = {name: found["policies"][name]["experiments_to"]["0.6"] for name in ("eig", "random")}
    fewer = row["fewer_experiments_percent"]["0.6"]["mean"]
    assert fewer == pytest.approx(100 * (1 - needed["eig"] / needed["random"]))


def test_a_failed_tracker_leaves_its_episode_out_for_all(run: xr.Dataset) -> None:
    faulty = run.copy(deep=True)
    faulty["belief"].values[0, 2, 5, 3:] = np.nan
    found = report(faulty, num_draws=50)
    assert found["episodes_left_out"] == 1
    rest = report(run.drop_isel(episode=5), num_draws=50)
    assert (
        found["policies"]["eig"]["first_gain_bits"]["mean"]
        == rest["policies"]["eig"]["first_gain_bits"]["mean"]
    )
    assert found["brier"] == rest["brier"]
    assert found["policies"]["eig"]["promised_bits"] == rest["policies"]["eig"]["promised_bits"]
    assert found["episodes"] == {"world": 39}
    faulty["belief"].values[:] = np.nan
    with pytest.raises(DataError, match=r"every episode failed, the first \(.*\) at step 1 of"):
        report(faulty)


def test_an_episode_in_which_nothing_could_be_chosen_is_listed_and_left_out(
    run: xr.Dataset,
) -> None:
    faulty = run.copy(deep=True)
    faulty["chosen"].values[1, 7, 4:] = -1
    faulty["reason"].values[1, 7, 4] = "posterior: no idea"
    found = report(faulty, num_draws=50)
    assert found["failed_episodes"] == [
        {
            "episode": str(run["episode"].values[7]),
            "policy": str(run["policy"].values[1]),
            "step": 5,
            "reason": "posterior: no idea",
        }
    ]
    rest = report(run.drop_isel(episode=7), num_draws=50)
    for name, row in found["policies"].items():
        assert row["first_gain_bits"] == rest["policies"][name]["first_gain_bits"]
        assert row["belief_in_truth"] == rest["policies"][name]["belief_in_truth"]


def test_stopping_early_is_counted() -> None:
    study = world_study("graded", ("random",), limit=3, num_steps=2)
    run = simulate(study)
    assert report(run, 10)["policies"]["random"]["steps_without_choice"] == 0
    short = dataclasses.replace(study, num_steps=16)
    run = simulate(short)
    run["chosen"].values[0, 0, 10:] = -1
    assert report(run, 10)["policies"]["random"]["steps_without_choice"] == 6
