"""The table of probes agrees with the probes and their sums."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from bed.estimators import FactoredEIG
from bed.evaluation.consistency import position_bias
from bed.evaluation.probes import coherence_probe, composition_probe, position_probe
from bed.evaluation.probing import PROBES, probe_table
from bed.evaluation.scoring import Weights
from bed.evidence import Episode
from bed.protocols import BeliefQuery
from tests.factories import (
    TARGET,
    ScriptedBelief,
    ScriptedSimulator,
    chronos,
    dependency,
    flag,
    knockout,
    plain,
)


def flags(id: str, signs: str = "+-+-+-+-+-+-", unit: str = "") -> Episode:
    pool = tuple(flag(plain(i), sign == "+") for i, sign in enumerate(signs))
    tiers = (1, 2, *(3,) * (len(signs) - 2))
    return Episode(id, TARGET, 1, pool, tiers, ("",) * len(signs), unit=unit)


def knockouts(id: str) -> Episode:
    pool = tuple(chronos(knockout("G", f"L{i}"), -1.0 if i % 3 else 0.5) for i in range(12))
    return Episode(id, dependency("G", "C"), 1, pool, (1,) * 12, ("",) * 12)


def answer(query: BeliefQuery) -> float:
    """Heeds the first stub most, and how many there are."""
    if not query.evidence:
        return 0.4
    outcome = query.evidence[0].outcome.fields
    supports = outcome.get("supported", outcome.get("chronos", 0) < 0)
    return 0.5 + (0.3 if supports else -0.3) / (1 + 0.1 * len(query.evidence)) + query.seed % 7 / 99


def table(episodes: list[Episode], num_draws: int = 200) -> xr.Dataset:
    belief, simulator = ScriptedBelief(answer), ScriptedSimulator()
    estimator = FactoredEIG(belief, simulator)
    return probe_table(episodes, belief, simulator, estimator, Weights(num_draws, num_draws, 0))


EPISODES = [flags(f"e{i}") for i in range(6)]


def test_values_are_means_over_the_episodes_of_each_probe() -> None:
    found = table(EPISODES)
    belief, simulator = ScriptedBelief(answer), ScriptedSimulator()
    position = position_bias(position_probe(EPISODES, belief).p)
    values = found["probe_value"].sel(probed="generic")
    assert values.sel(probe="position").item() == pytest.approx(position.mean_db)
    assert found["position_db"].values == pytest.approx(position.centred_mean_by_position)
    coherence = coherence_probe(EPISODES, FactoredEIG(belief, simulator))
    expected = coherence.mean_abs_gap.mean()
    assert values.sel(probe="coherence").item() == pytest.approx(expected)
    composition = composition_probe(EPISODES, belief, simulator)
    assert len(composition.episodes) == found["probe_episodes"].sel(
        probe="composition", probed="generic"
    )
    macro = found["probe_value"].sel(probed="macro", probe="composition").item()
    assert macro == abs(values.sel(probe="composition").item())
    for probe in PROBES:
        here = found.sel(probe=probe, probed="generic")
        assert here["probe_value_lo"] <= here["probe_value"] <= here["probe_value_hi"]


def test_domains_are_averaged_and_those_of_one_unit_have_no_interval() -> None:
    found = table([*EPISODES, knockouts("k")]).sel(probe="position")
    assert found["probed"].values.tolist() == ["macro", "depmap", "generic"]
    values = found["probe_value"].values
    assert values[0] == pytest.approx(values[1:].mean())
    assert found["probe_value_lo"].isnull().values.tolist() == [True, True, False]
    assert found["probe_episodes"].values.tolist() == [7, 1, 6]


def test_units_are_resampled_whole() -> None:
    lone = [replace(episode, unit="u") for episode in EPISODES]
    assert table(lone)["probe_value_lo"].isnull().all()
    assert not table(lone)["probe_value"].isnull().any()


def test_episodes_that_cannot_be_asked_are_counted_with_a_reason() -> None:
    found = table([*EPISODES, flags("short", "+-")])
    assert found["probe_left_out"].sel(probe="position").item() == 1
    assert "short of the 10" in found["probe_reason"].sel(probe="position").item()
    assert found["probe_reason"].sel(probe="coherence").item() == ""


def test_coherence_is_asked_of_some_episodes_of_each_domain() -> None:
    many = [*(flags(f"e{i}") for i in range(40)), knockouts("k")]
    found = table(many, num_draws=20)["probe_episodes"]
    assert found.sel(probe="coherence").values.tolist() == [33, 1, 32]
    assert found.sel(probe="position").values.tolist() == [41, 1, 40]


def test_an_episode_counts_once_however_many_candidates_fail() -> None:
    def choosy(query: BeliefQuery) -> float | str:
        is_bad = any(stub.experiment.id == plain(3).id for stub in query.evidence)
        return "no" if is_bad and len(query.evidence) == 1 else answer(query)

    belief, simulator = ScriptedBelief(choosy), ScriptedSimulator()
    estimator = FactoredEIG(belief, simulator)
    found = probe_table(EPISODES, belief, simulator, estimator, Weights(10, 10, 0))
    assert found["probe_left_out"].sel(probe="coherence").item() == len(EPISODES)
    assert found["probe_episodes"].sel(probe="coherence", probed="macro").item() == len(EPISODES)


def test_without_any_answer_the_table_is_empty_with_the_reason() -> None:
    belief, simulator = ScriptedBelief(lambda query: "no server"), ScriptedSimulator()
    estimator = FactoredEIG(belief, simulator)
    found = probe_table(EPISODES, belief, simulator, estimator, Weights(10, 10, 0))
    assert found["probe_value"].isnull().all()
    assert (found["probe_episodes"] == 0).all()
    assert found["position_db"].isnull().all()
    assert all("no server" in reason for reason in found["probe_reason"].values)


def test_the_table_is_the_same_after_a_file(tmp_path: object) -> None:
    found = table(EPISODES, num_draws=20)
    path = f"{tmp_path}/p.nc"
    found.to_netcdf(path, engine="h5netcdf")
    xr.testing.assert_identical(found, xr.load_dataset(path, engine="h5netcdf"))
    assert np.isfinite(found["probe_value"].values).all()
