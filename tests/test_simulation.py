"""The lockstep loop: same trajectory alone or together, stopped or not, with faults or without."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from bed.belief import ExactBelief, Repeated
from bed.cli.tables import print_report
from bed.engine import world_study
from bed.episodes.synthetic import sample_world_episodes
from bed.errors import DataError
from bed.estimators import FactoredEIG, Scores, ScreenedEIG
from bed.evidence import Episode, Fields, Outcome, Stub
from bed.policies import InformationPolicy, NaivePolicy, RandomPolicy
from bed.protocols import BeliefModel, BeliefQuery, Beliefs, DesignProblem, Policy
from bed.report import report
from bed.runs import load_run, load_usage, save_run
from bed.simulation import Study, simulate
from bed.worlds import World
from tests.doubles import chat
from tests.factories import TARGET, BentBelief, ScriptedBelief, flag, plains

NAMES = ("random", "eig", "exact")


@pytest.fixture(scope="module")
def study() -> Study:
    return world_study("graded", NAMES, limit=6, seed=3)


@pytest.fixture(scope="module")
def run(study: Study) -> xr.Dataset:
    return simulate(study)


def with_policies(study: Study, policies: dict[str, Policy]) -> Study:
    return dataclasses.replace(study, policies=policies)


@dataclasses.dataclass(frozen=True)
class Forgetful:
    """A belief model that cannot answer for one world."""

    belief: BeliefModel
    world: str

    def probabilities(self, queries: Sequence[BeliefQuery]) -> Beliefs:
        known = self.belief.probabilities(queries)
        reasons = [
            "no idea" if query.hypothesis.fields["world"] == self.world else None
            for query in queries
        ]
        return Beliefs(known.probabilities, tuple(reasons))


def test_every_experiment_is_run_once(run: xr.Dataset) -> None:
    chosen = np.sort(run["chosen"].values, axis=2)
    assert (chosen == np.arange(16)).all()


def test_beliefs_end_where_the_whole_pool_leads(study: Study, run: xr.Dataset) -> None:
    (belief,) = study.trackers.values()
    whole = belief.probabilities([BeliefQuery(e.target, e.pool) for e in study.episodes])
    for p in range(len(NAMES)):
        np.testing.assert_allclose(run["belief"].values[0, p, :, -1], whole.probabilities)


def test_exact_policy_is_the_greedy_sequence_of_its_world(study: Study, run: xr.Dataset) -> None:
    worlds = sample_world_episodes("graded", 6, 3).worlds
    for row, episode in enumerate(study.episodes):
        outcomes = [stub.outcome.fields["y"] for stub in episode.pool]
        path = worlds[episode.id].greedy_sequence(outcomes, 16)
        assert run["chosen"].sel(policy="exact").values[row].tolist() == path.order
        np.testing.assert_allclose(
            run["belief"].sel(policy="exact").values[0, row], path.beliefs, atol=1e-12
        )


def test_an_episode_alone_takes_the_same_path(study: Study, run: xr.Dataset) -> None:
    alone = simulate(dataclasses.replace(study, episodes=study.episodes[2:3]))
    for name in ("chosen", "belief", "worth"):
        together = run[name].isel(episode=slice(2, 3))
        xr.testing.assert_equal(alone[name], together)


def test_blocks_of_episodes_give_the_same_run(
    study: Study, run: xr.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bed.simulation._EPISODES_AT_ONCE", 3)
    told: list[tuple[int, int]] = []
    path = tmp_path / "run.nc"
    blocks = simulate(study, path, on_progress=lambda done, count: told.append((done, count)))
    xr.testing.assert_equal(blocks, run)
    count = len(study.episodes) * len(study.policies) * study.steps
    assert told[-1] == (count, count)
    assert len(told) == -(-len(study.episodes) // 3) * len(study.policies) * study.steps


def test_each_sitting_keeps_what_it_asked(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    stop_at = 5

    def stop(done: int, count: int) -> None:
        if done >= stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(study, path, on_progress=stop, usage=lambda: {"judge": {"requests": 3}})
    simulate(study, path, resume=True, usage=lambda: {"judge": {"requests": 4}})
    assert load_usage(path) == [{"judge": {"requests": 3}}, {"judge": {"requests": 4}}]


def test_a_policy_does_not_depend_on_its_company(study: Study, run: xr.Dataset) -> None:
    alone = simulate(with_policies(study, {"eig": study.policies["eig"]}))
    xr.testing.assert_equal(alone["chosen"], run["chosen"].sel(policy=["eig"]))


def test_seeds_matter_and_repeat(study: Study, run: xr.Dataset) -> None:
    xr.testing.assert_identical(simulate(study), run)
    other = simulate(dataclasses.replace(study, seed=4))
    assert (other["chosen"].sel(policy="random") != run["chosen"].sel(policy="random")).any()


@pytest.mark.parametrize("fatal_call", [1, 2, 9, 16])
def test_broken_off_and_resumed_gives_the_identical_run(
    study: Study, run: xr.Dataset, tmp_path: Path, fatal_call: int
) -> None:
    kept = tmp_path / "run.nc.partial"
    calls: list[int] = []
    choose = ScreenedEIG.score_batch

    def breaks_off(self: ScreenedEIG, problems: Sequence[DesignProblem]) -> list[Scores]:
        calls.append(len(problems))
        if len(calls) == fatal_call:
            raise KeyboardInterrupt
        return choose(self, problems)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScreenedEIG, "score_batch", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            simulate(study, kept)
    assert load_run(kept).attrs["done"] == 3 * (fatal_call - 1) + 1
    xr.testing.assert_identical(simulate(study, kept, resume=True), run)


def test_half_a_record_of_a_step_is_done_again(
    study: Study, run: xr.Dataset, tmp_path: Path
) -> None:
    kept = tmp_path / "run.nc.partial"
    half = run.copy(deep=True)
    half.attrs["done"] = 5
    save_run(half, kept)
    xr.testing.assert_identical(simulate(study, kept, resume=True), run)


def test_a_run_survives_the_disk(run: xr.Dataset, tmp_path: Path) -> None:
    save_run(run, tmp_path / "run.nc")
    xr.testing.assert_identical(load_run(tmp_path / "run.nc"), run)
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]


def test_resuming_another_study_is_refused(study: Study, run: xr.Dataset, tmp_path: Path) -> None:
    save_run(run, tmp_path / "kept")
    with pytest.raises(DataError, match="another study: seed differ"):
        simulate(dataclasses.replace(study, seed=9), tmp_path / "kept", resume=True)
    with pytest.raises(DataError, match="episodes differ"):
        simulate(
            dataclasses.replace(study, episodes=study.episodes[:2]), tmp_path / "kept", resume=True
        )


@pytest.mark.parametrize("content", [b"", b"not netCDF at all"], ids=["empty", "text"])
def test_what_is_no_run_cannot_be_loaded(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a run"):
        load_run(path)


def test_a_failing_belief_stops_its_own_episode_only(study: Study, run: xr.Dataset) -> None:
    lost = study.episodes[1].id
    policy = study.policies["eig"]
    assert isinstance(policy, InformationPolicy)
    broken = dataclasses.replace(
        policy.estimator,  # type: ignore[type-var]
        belief=Forgetful(policy.estimator.belief, lost),  # type: ignore[attr-defined]
    )
    faulty = simulate(with_policies(study, {"eig": InformationPolicy(broken)}))
    assert (faulty["chosen"].sel(episode=lost) == -1).all()
    assert faulty["failed"].sel(episode=lost).values[0, 0] == 16
    assert "no idea" in str(faulty["reason"].sel(episode=lost).values[0, 0])
    rest = [episode.id for episode in study.episodes if episode.id != lost]
    xr.testing.assert_equal(
        faulty["chosen"].sel(episode=rest), run["chosen"].sel(policy=["eig"], episode=rest)
    )


def test_a_failing_tracker_is_recorded(study: Study) -> None:
    lost = study.episodes[1].id
    (belief,) = study.trackers.values()
    faulty = simulate(dataclasses.replace(study, trackers={"t": Forgetful(belief, lost)}))
    assert np.isnan(faulty["belief"].sel(episode=lost)).all()
    assert not np.isnan(faulty["belief"].drop_sel(episode=lost)).any()
    assert str(faulty["reason"].sel(episode=lost).values[0, 0]) == "tracker t: no idea"


def test_pools_of_different_sizes_end_apart(study: Study) -> None:
    first, second = study.episodes[:2]
    short = dataclasses.replace(second, pool=second.pool[:3], tiers=(1,) * 3, tags=("a",) * 3)
    mixed = simulate(
        dataclasses.replace(study, episodes=[first, short], policies={"random": RandomPolicy()})
    )
    chosen = mixed["chosen"].values[0]
    assert (chosen[0] >= 0).all()
    assert (chosen[1] >= 0).sum() == 3
    belief = mixed["belief"].values[0, 0, 1]
    assert (belief[3:] == belief[3]).all()


def test_a_repeatable_experiment_stays_available() -> None:
    world = World.factored(0.5, [[0.1, 0.9], [0.4, 0.5]], [[[0.7, 0.3], [0.3, 0.7]]] * 2, "w")
    pool = tuple(
        Stub(dataclasses.replace(world.experiment(k), is_repeatable=True), Outcome(Fields(y=1)))
        for k in range(2)
    )
    episode = Episode("w", world.target(), 1, pool, (1, 1), ("a", "b"))
    belief = ExactBelief({"w": world})
    run = simulate(Study([episode], {"random": RandomPolicy()}, {"exact": belief}, num_steps=2))
    assert set(run["chosen"].values[0, 0].tolist()) <= {0, 1}
    expected = world.posterior([(k, 1) for k in run["chosen"].values[0, 0].tolist()])
    assert run["belief"].values[0, 0, 0, 2] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episodes": []}, "no episodes"),
        ({"policies": {}}, "at least one policy"),
        ({"num_steps": 0}, "steps is 0"),
    ],
    ids=["episodes", "policies", "steps"],
)
def test_an_impossible_study_is_refused(
    study: Study, change: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        dataclasses.replace(study, **change)  # type: ignore[arg-type]


def test_resuming_with_other_settings_of_a_policy_is_refused(study: Study, tmp_path: Path) -> None:
    policy = study.policies["eig"]
    assert isinstance(policy, InformationPolicy)
    save_run(simulate(with_policies(study, {"eig": policy})), tmp_path / "kept")
    estimator = dataclasses.replace(policy.estimator, slope=0.5)  # type: ignore[type-var]
    other = with_policies(study, {"eig": InformationPolicy(estimator)})
    with pytest.raises(DataError, match="policies differ"):
        simulate(other, tmp_path / "kept", resume=True)


def test_a_run_counts_what_cannot_be_told_from_the_best(study: Study, run: xr.Dataset) -> None:
    # exact beliefs have no noise, so that ties are all there is
    assert (run["within_noise"].values == run["num_tied"].values).all()
    (exact,) = study.trackers.values()
    simulator = study.policies["eig"].estimator.simulator  # type: ignore[attr-defined]
    sampled = Repeated(BentBelief(exact, jitter=0.5), 2)
    policies = {
        name: InformationPolicy(FactoredEIG(belief, simulator))
        for name, belief in (("sampled", sampled), ("exact", exact))
    }
    noisy = simulate(dataclasses.replace(study, policies=policies, num_steps=3))
    found = report(noisy, num_draws=10)["policies"]
    for p, name in enumerate(policies):
        counts = noisy["within_noise"].values[p]
        assert (counts >= noisy["num_tied"].values[p]).all()
        assert found[name]["not_told_apart"] == (counts > 1).sum()
    assert found["sampled"]["not_told_apart"] > found["exact"]["not_told_apart"]


def test_choices_made_at_random_are_counted_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some answers can be read and some cannot; the first reason is told to the letter."""
    pool = tuple(flag(x, True) for x in plains(5))
    episodes = [Episode(f"e{i}", TARGET, i % 2, pool, (1,) * 5, ("a",) * 5) for i in range(6)]
    of = chat(lambda body: "<choice>0</choice>" if body["seed"] % 2 else "the first [bold]")
    policies: dict[str, Policy] = {"random": RandomPolicy(), "naive": NaivePolicy(of)}
    tracker = ScriptedBelief(lambda query: 0.6)
    naive = Study(episodes, policies, {"scripted": tracker}, num_steps=4)
    save_run(simulate(naive), tmp_path / "run.nc")
    run = load_run(tmp_path / "run.nc")
    fell_back = run["fallback"].sel(policy="naive").values != ""
    assert 0 < fell_back.sum() < fell_back.size
    assert (run["chosen"].sel(policy="naive").values >= 0).all()
    assert (run["fallback"].sel(policy="random").values == "").all()
    whole = report(run, num_draws=10)
    found = whole["policies"]
    assert found["naive"]["fallbacks"] == fell_back.sum()
    assert found["naive"]["fallback"] == "no <choice> can be read in 'the first [bold]'"
    assert (found["random"]["fallbacks"], found["random"]["fallback"]) == (0, None)
    print_report(whole)
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        f"naive: {fell_back.sum()} of 24 choices made at random; the first: no <choice> can be "
        "read in 'the first [bold]'" in printed
    )
    assert "random: 0 of" not in printed
