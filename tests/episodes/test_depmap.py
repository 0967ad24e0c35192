from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bed.domains import reading, relation
from bed.episodes import EpisodeFile, write_episodes
from bed.episodes.depmap import Tables, build_depmap
from bed.episodes.depmap.partners import Partners, is_reference
from bed.episodes.depmap.pools import PoolMaker
from bed.episodes.depmap.screen import Screen, load
from bed.episodes.pools import POOL_SIZE
from bed.episodes.split import split_of
from bed.errors import DataError
from bed.evidence import Fields, Stub

Frames = Any
"""The dataclass of the same name in conftest.py, which tests cannot import."""

Write = Callable[[Path, Frames], Tables]


def test_same_seed_same_bytes(tmp_path: Path, tables: Tables, small_file: EpisodeFile) -> None:
    write_episodes(tmp_path / "a", small_file)
    write_episodes(tmp_path / "b", build_depmap(tables, seed=3, max_episodes=240))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_order_of_rows_and_columns_does_not_matter(
    tmp_path: Path, frames: Frames, small_file: EpisodeFile, write_tables: Write
) -> None:
    rng = np.random.default_rng(1)

    def shuffled(table: pd.DataFrame) -> pd.DataFrame:
        return table.iloc[rng.permutation(table.shape[0]), rng.permutation(table.shape[1])]

    mixed = replace(frames, **{name: shuffled(table) for name, table in vars(frames).items()})
    file = build_depmap(write_tables(tmp_path, mixed), seed=3, max_episodes=240)
    assert file.episodes == small_file.episodes


def test_seed_matters(tables: Tables, small_file: EpisodeFile) -> None:
    other = build_depmap(tables, seed=4, max_episodes=240)
    assert {episode.id for episode in other.episodes} != {e.id for e in small_file.episodes}


def test_labels_are_the_held_out_measurements(frames: Frames, small_file: EpisodeFile) -> None:
    line_of = dict(zip(frames.models["CCLEName"], frames.models["ModelID"], strict=True))
    column = {name.split(" ")[0]: name for name in frames.effect}
    for episode, outcome in zip(small_file.episodes, small_file.held_out, strict=True):
        fields = episode.target.fields
        at = line_of[fields["cell_line"]], column[fields["gene"]]
        effect, probability = frames.effect.loc[at], frames.probability.loc[at]
        assert episode.label == int(effect <= -0.5 and probability >= 0.5)
        assert outcome is not None
        assert outcome.fields["chronos"] == pytest.approx(effect, abs=5e-4)
        assert outcome.fields["p_dependency"] == pytest.approx(probability, abs=5e-4)


def test_tiers_and_tags_are_the_computed(small_file: EpisodeFile) -> None:
    tried: Counter[tuple[int, str]] = Counter()
    for episode in small_file.episodes:
        assert len(episode.pool) == POOL_SIZE
        for stub, tier, tag in zip(episode.pool, episode.tiers, episode.tags, strict=True):
            found = relation(episode.target, stub.experiment)
            assert (found.tier, found.tag) == (tier, tag)
            tried[tier, stub.experiment.fields["kind"]] += 1
    assert {tier for tier, _ in tried} == {1, 2, 3, 5, 6}
    assert {kind for _, kind in tried} == {"knockout", "expression", "copy_number", "mutation"}


def test_experiments_are_the_same_wherever_they_stand(small_file: EpisodeFile) -> None:
    seen: dict[str, Stub] = {}
    for episode in small_file.episodes:
        for stub in episode.pool:
            assert seen.setdefault(stub.experiment.id, stub) == stub


def test_wording(small_file: EpisodeFile) -> None:
    target = small_file.episodes[0].target
    gene, line = target.fields["gene"], target.fields["cell_line"]
    assert target.text.startswith(
        f"Gene {gene} is a dependency (essential for fitness) in cell line {line}: "
    )
    assert target.text.endswith(
        f"a held-out genome-wide CRISPR knockout screen of {line} would score gene {gene} at "
        "Chronos gene-effect <= -0.5 AND P(dependency) >= 0.5."
    )
    known = {"claim", "gene", "cell_line", "lineage", "coessential", "depmap_id"}
    assert set(target.fields) == known


def test_own_measurement_is_never_in_the_pool(small_file: EpisodeFile) -> None:
    for episode in small_file.episodes:
        own = (episode.target.fields["gene"], episode.target.fields["cell_line"])
        for stub in episode.pool:
            fields = stub.experiment.fields
            if fields["kind"] in ("knockout", "knockdown"):
                assert (fields["gene"], fields["cell_line"]) != own


def test_held_out_genes_are_unseen_in_training(small_file: EpisodeFile) -> None:
    for episode in small_file.episodes:
        assert episode.split == split_of(3, "depmap", episode.unit)
        for stub in episode.pool:
            fields = stub.experiment.fields
            named = {fields["gene"], *fields["coessential"]} - {episode.unit}
            assert {split_of(3, "depmap", gene) for gene in named} <= {"train"}


def test_labels_are_balanced_within_lines(small_file: EpisodeFile) -> None:
    by_line: dict[tuple[str, str], list[int]] = defaultdict(list)
    for episode in small_file.episodes:
        by_line[episode.split, episode.target.fields["cell_line"]].append(episode.label)
    assert len(by_line) > 10
    assert all(2 * sum(labels) == len(labels) for labels in by_line.values())


def test_caps(small_file: EpisodeFile) -> None:
    assert max(Counter(episode.unit for episode in small_file.episodes).values()) <= 16
    lineages = Counter(episode.target.fields["lineage"] for episode in small_file.episodes)
    # Five lineages cannot all be at 15 %; half as much again as an even share is allowed.
    assert max(lineages.values()) <= 0.31 * len(small_file.episodes)


def test_unexpressed_genes_are_no_targets(frames: Frames, small_file: EpisodeFile) -> None:
    line_of = dict(zip(frames.models["CCLEName"], frames.models["ModelID"], strict=True))
    column = {name.split(" ")[0]: name for name in frames.expression}
    known = [
        frames.expression.loc[line_of[e.target.fields["cell_line"]], column[e.unit]]
        for e in small_file.episodes
        if e.unit in column
    ]
    assert len(known) > 20
    assert min(known) >= 1
    assert small_file.info["excluded"]["targets not expressed in the line"] > 0


def test_targets_are_selective(small_file: EpisodeFile) -> None:
    # G000 to G014 kill every line, G015 to G039 none.
    assert min(episode.unit for episode in small_file.episodes) >= "G040"
    excluded = small_file.info["excluded"]
    assert excluded["genes that are dependencies in over 95 % of lines"] == 15
    assert excluded["genes that are dependencies in under 5 % of lines"] == 25


def test_mutations_are_reported_or_not(small_file: EpisodeFile, frames: Frames) -> None:
    line_of = dict(zip(frames.models["CCLEName"], frames.models["ModelID"], strict=True))
    drivers = frames.mutations[frames.mutations["LikelyDriver"]]
    hits = {(gene.split(" ")[0], line) for gene, line in drivers[["Gene", "ModelID"]].values}
    for episode in small_file.episodes:
        for stub in episode.pool:
            fields = stub.experiment.fields
            if fields["kind"] == "mutation":
                hit = (fields["gene"], line_of[fields["cell_line"]]) in hits
                wanted = "damaging or driver mutation" if hit else "not reported"
                assert stub.outcome.fields == Fields(status=wanted)


def test_target_lines_have_no_part_in_partners(
    tmp_path: Path, frames: Frames, small_file: EpisodeFile, write_tables: Write
) -> None:
    """Noise in every target line leaves each co-essential correlation as it was."""
    name_of = dict(zip(frames.models["ModelID"], frames.models["CCLEName"], strict=True))
    others = [not is_reference(3, name_of[line]) for line in frames.effect.index]
    changed = frames.effect.copy()
    changed.loc[others] = np.random.default_rng(0).normal(-0.4, 0.6, changed.loc[others].shape)
    noisy = replace(frames, effect=changed)
    file = build_depmap(write_tables(tmp_path, noisy), seed=3, max_episodes=240)
    partners = {e.unit: e.target.fields["coessential"] for e in small_file.episodes}
    shared = [e for e in file.episodes if e.unit in partners]
    assert len({e.unit for e in shared}) > 10
    for episode in shared:
        assert episode.target.fields["coessential"] == partners[episode.unit]


@pytest.fixture(scope="module")
def screen(tables: Tables) -> Screen:
    return load(tables)


def maker(screen: Screen, outcomes: np.ndarray) -> PoolMaker:
    training = np.array([split_of(3, "depmap", gene) == "train" for gene in screen.genes])
    partners = Partners(screen.genes, screen.effect, training)
    return PoolMaker(replace(screen, effect=outcomes), partners, training, 3)


def test_stubs_are_drawn_without_their_outcomes(screen: Screen) -> None:
    true, opposite = maker(screen, screen.effect), maker(screen, -screen.effect)
    pairs = [(gene, line) for gene in range(40, 50) for line in range(5)]
    for gene, line in pairs:
        assert true.draw(gene, line) == opposite.draw(gene, line)


def test_short_tiers_are_made_good_from_the_top(screen: Screen) -> None:
    alone = replace(
        screen,
        lineages=("own", *["other"] * (len(screen.lines) - 1)),
        expression=None,
        copy_number=None,
        mutations=None,
    )
    training = np.array([split_of(3, "depmap", gene) == "train" for gene in screen.genes])
    none = Partners(screen.genes, np.zeros((len(screen.genes), 6)), training)
    pool = PoolMaker(alone, none, training, 3).draw(50, 0)
    assert pool is not None
    assert Counter(draw.tier for draw in pool.draws) == {2: 10, 6: 6}
    assert pool.short == {"tier 1": 4, "tier 3": 3}


def test_no_pool_without_controls(screen: Screen) -> None:
    training = np.zeros(len(screen.genes), dtype=bool)
    none = Partners(screen.genes, np.zeros((len(screen.genes), 6)), training)
    assert PoolMaker(screen, none, training, 3).draw(50, 0) is None


def test_unrelated_genes_are_not_correlated(screen: Screen) -> None:
    training = np.array([split_of(3, "depmap", gene) == "train" for gene in screen.genes])
    partners = Partners(screen.genes, screen.effect, training)
    pool = PoolMaker(screen, partners, training, 3).draw(50, 0)
    assert pool is not None
    r: Any = np.corrcoef(screen.effect)
    r = r[50]
    controls = [draw.gene for draw in pool.draws if draw.tier == 6]
    assert controls
    assert r[controls].max() < partners.floor
    best, strength = partners.top[50][0]
    among = np.flatnonzero(training & (np.arange(len(r)) != 50))
    assert best == among[np.argmax(r[among])]
    assert strength == pytest.approx(r[among].max(), abs=5e-4)


def test_constant_and_sparse_profiles_have_no_partners() -> None:
    effects = np.zeros((3, 100))
    effects[1:, 0] = 2.0  # one odd line alone would correlate at 1
    partners = Partners(("A", "B", "C"), effects, np.ones(3, dtype=bool))
    assert partners.top == [[], [], []]


def test_missing_effects_count_as_the_mean() -> None:
    effects = np.random.default_rng(0).normal(size=(2, 50))
    effects[1] = effects[0]
    effects[1, :10] = np.nan
    filled = effects[1].copy()
    filled[:10] = np.nanmean(effects[1])
    partners = Partners(("A", "B"), effects, np.ones(2, dtype=bool))
    r = np.corrcoef(effects[0], filled)[0, 1]
    assert partners.fields(0) == Fields(B=round(r, 3))


def test_missing_measurements_are_counted_and_left_out(
    tmp_path: Path, frames: Frames, write_tables: Write
) -> None:
    holes = frames.effect.mask(np.random.default_rng(2).random(frames.effect.shape) < 0.1)
    lacking = frames.probability.mask(np.random.default_rng(3).random(holes.shape) < 0.1)
    tables = write_tables(tmp_path, replace(frames, effect=holes, probability=lacking))
    file = build_depmap(tables, seed=3, max_episodes=120)
    assert file.info["excluded"]["knockouts not measured"] == int(holes.isna().sum().sum())
    both = (holes.notna() & lacking.isna()).sum().sum()
    assert file.info["excluded"]["knockouts without a probability"] == int(both)
    for episode in file.episodes:
        for stub in episode.pool:
            assert reading(stub.experiment, stub.outcome)


def test_without_optional_tables(tables: Tables, without: Callable[..., Tables]) -> None:
    bare = without(tables, "gene_dependency", "expression", "copy_number", "mutations")
    file = build_depmap(bare, seed=3, max_episodes=60)
    assert "no probability table: the effect alone decides" in file.info["notes"]
    assert {"gene_dependency", "rnai_bins"} <= set(file.info["absent"])
    assert Counter(file.episodes[0].tiers) == {1: 4, 2: 3, 3: 3, 6: 6}
    assert "probability" not in file.episodes[0].target.text
    assert set(file.episodes[0].pool[0].outcome.fields) == {"chronos"}


@pytest.fixture(scope="module")
def binned(tmp_path_factory: pytest.TempPathFactory, frames: Frames) -> EpisodeFile:
    folder = tmp_path_factory.mktemp("bins")
    frames.bins.to_parquet(folder / "bins.parquet")
    frames.bins.to_csv(folder / "rnai.csv", index=False)
    tables = Tables(gene_effect_bins=folder / "bins.parquet", rnai_bins=folder / "rnai.csv")
    return build_depmap(tables, seed=3, max_episodes=120)


def test_bins_alone_are_enough(binned: EpisodeFile) -> None:
    assert "binned effects: negatives have no refuted class" in binned.info["notes"]
    assert {e.target.fields["lineage"] for e in binned.episodes} == {
        "lung",
        "skin",
        "bone",
        "liver",
        "ovary",
    }
    assert "dependency bin or a stronger one" in binned.episodes[0].target.text


def test_knockdowns_stand_in_tiers_1_and_2_only(binned: EpisodeFile) -> None:
    for episode in binned.episodes:
        kinds = Counter(
            (tier, stub.experiment.fields["kind"])
            for tier, stub in zip(episode.tiers, episode.pool, strict=True)
        )
        assert kinds[1, "knockdown"] == kinds[2, "knockdown"] == 1
        assert sum(num for (_, kind), num in kinds.items() if kind == "knockdown") == 2
        disturbed = [
            (stub.experiment.fields["gene"], stub.experiment.fields["cell_line"])
            for stub in episode.pool
        ]
        assert len(set(disturbed)) == len(disturbed)


def test_file_says_what_it_was_built_from(small_file: EpisodeFile, tables: Tables) -> None:
    info = small_file.info
    assert (info["domain"], info["seed"], info["builder"]) == ("depmap", 3, "depmap/2")
    assert {item["role"]: item["file"] for item in info["inputs"]} == {
        role: path.name for role, path in tables.given().items()
    }
    assert all(len(item["sha256"]) == 64 for item in info["inputs"])
    assert info["absent"] == ["gene_effect_bins", "rnai_bins"]


@pytest.mark.parametrize("num", [1, 0, -5])
def test_too_few_episodes_asked_for(tables: Tables, num: int) -> None:
    with pytest.raises(DataError, match="--max-episodes"):
        build_depmap(tables, max_episodes=num)


def test_tables_without_any_episode(tmp_path: Path, frames: Frames, write_tables: Write) -> None:
    few = replace(frames, effect=frames.effect.iloc[:, 40:46])
    with pytest.raises(DataError, match=r"no episodes: .* give a larger table"):
        build_depmap(write_tables(tmp_path, few), seed=3)


def test_progress_reaches_its_end(tables: Tables) -> None:
    seen: dict[str, tuple[int, int]] = {}
    build_depmap(tables, 3, 40, lambda stage, done, total: seen.update({stage: (done, total)}))
    assert "reading effect.csv" in seen
    for stage in ("drawing pools", "writing episodes"):
        assert seen[stage][0] == seen[stage][1] > 0


def test_real_tables(real_files: dict[str, EpisodeFile]) -> None:
    for name, file in real_files.items():
        assert 250 <= len(file.episodes) <= 300, name
        assert {episode.split for episode in file.episodes} == {"train", "validation", "test"}


@pytest.mark.parametrize("num", [2, 3, 5, 10, 23])
def test_max_episodes_is_an_upper_bound(tables: Tables, num: int) -> None:
    assert 0 < len(build_depmap(tables, seed=3, max_episodes=num).episodes) <= num
