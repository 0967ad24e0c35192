"""Episodes from differential expression: labels, claims, pools, balance and leakage."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from bed.domains import reading, relation
from bed.domains.expression import verdict
from bed.episodes import EpisodeFile, write_episodes
from bed.episodes.expression import Columns, ExpressionTables, build_expression
from bed.episodes.expression.pools import PoolMaker
from bed.episodes.expression.quotas import level
from bed.episodes.expression.reading import load
from bed.episodes.split import split_of
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Fields, Outcome, Stub

SEED = 3
"""Of `small_file` too, see conftest.py."""
Tabled = Callable[..., ExpressionTables]


def place(experiment: Experiment) -> tuple[str, str]:
    return experiment.fields["perturbation"], experiment.fields["context"]


def own_place(episode: Episode) -> tuple[str, str]:
    return episode.target.fields["perturbation"], episode.target.fields["context"]


def held_out_verdicts(file: EpisodeFile) -> list[str]:
    kinds = {True: "zscore", False: "differential"}
    found: list[str] = []
    for episode, outcome in zip(file.episodes, file.held_out, strict=True):
        assert outcome is not None
        fields = Fields(kind=kinds["z" in outcome.fields])
        found.append(reading(Experiment("own", episode.target, fields=fields), outcome).verdict)
    return found


def check_principles(file: EpisodeFile) -> None:
    """What must hold in any file, whatever the table."""
    for episode, said in zip(file.episodes, held_out_verdicts(file), strict=True):
        gene = episode.target.fields["gene"]
        assert episode.unit == gene
        assert episode.split == split_of(file.info["seed"], "expression", gene)
        assert episode.label == (said == "supporting")
        assert len(episode.pool) >= 4
        assert sum(tier < 5 for tier in episode.tiers) >= 2
        measured = []
        for stub, tier, tag in zip(episode.pool, episode.tiers, episode.tags, strict=True):
            found = relation(episode.target, stub.experiment)
            assert (found.tier, found.tag) == (tier, tag)
            if stub.experiment.fields["kind"] == "summary":
                assert tier == 4
                continue
            measured.append(place(stub.experiment))
            assert stub.experiment.fields["gene"] == gene
            assert stub.experiment.fields["direction"] == episode.target.fields["direction"]
        assert own_place(episode) not in measured
        assert len(set(measured)) == len(measured)


def imbalance(file: EpisodeFile) -> int:
    """Supported less unsupported, summed over splits, contrasts and directions."""
    tally: dict[tuple[object, ...], int] = defaultdict(int)
    for episode in file.episodes:
        fields = episode.target.fields
        condition = (fields.get("dose"), fields.get("time"), fields.get("condition"))
        key = (episode.split, *own_place(episode), *condition, fields["direction"])
        tally[key] += 2 * episode.label - 1
    return sum(abs(num) for num in tally.values())


def test_principles(small_file: EpisodeFile) -> None:
    check_principles(small_file)
    assert imbalance(small_file) == 0
    assert len(small_file.episodes) == 400
    assert small_file.info["counts"] == {"train": 240, "validation": 40, "test": 120}


@pytest.fixture(scope="module")
def large_file(tables: ExpressionTables) -> EpisodeFile:
    return build_expression(tables, SEED, 1600)


def test_labels_are_the_held_out_measurements(frame: pd.DataFrame, small_file: EpisodeFile) -> None:
    keys = ["gene", "perturbation", "context", "dose"]
    statistics = zip(frame["padj"], frame["log2FoldChange"], strict=True)
    rows = dict(zip(frame[keys].itertuples(index=False, name=None), statistics, strict=True))
    for episode, outcome in zip(small_file.episodes, small_file.held_out, strict=True):
        fields = episode.target.fields
        dose = float(fields["dose"].removeprefix("dose "))
        p, change = rows[fields["gene"], *own_place(episode), dose]
        assert outcome is not None
        assert outcome.fields["p_adjusted"] == p
        said = verdict(p, change, fields["direction"])
        assert episode.label == (said == "supporting")


def test_pools_are_graded(small_file: EpisodeFile) -> None:
    """D0 has seven other lines, two drugs of its class and nine others in the line."""
    for episode in small_file.episodes:
        tiers = Counter(episode.tiers)
        assert len(episode.pool) == 16
        assert tiers[5] == 6
        assert tiers[4] == 1
        if "EVEN" in episode.target.fields["classes"]:
            assert (tiers[1], tiers[2], tiers[3]) == (4, 3, 2)
        if not episode.target.fields["classes"]:
            assert (tiers[1], tiers[2], tiers[3]) == (7, 0, 2)
    assert small_file.info["related_share"] == 0.625


def test_siblings_are_never_evidence(small_file: EpisodeFile) -> None:
    doubled = [e for e in small_file.episodes if e.target.fields["perturbation"] == "D0"]
    assert len({e.target.fields["dose"] for e in doubled}) == 2
    for episode in doubled:
        kinds = [
            stub.experiment.fields["kind"]
            for stub in episode.pool
            if place(stub.experiment) == own_place(episode)
        ]
        assert kinds == ["summary"]
        assert episode.id.split(":")[4] in ("0.5", "5")


def test_negatives_are_a_third_refuted(small_file: EpisodeFile) -> None:
    said = Counter(held_out_verdicts(small_file))
    assert said["refuting"] / (said["refuting"] + said["inconclusive"]) == pytest.approx(
        0.33, abs=0.03
    )


def test_null_claims_do_not_follow_the_measured_sign(large_file: EpisodeFile) -> None:
    file = large_file
    agree = [
        (outcome.fields["log2_fold_change"] > 0) == (episode.target.fields["direction"] == "up")
        for episode, outcome, said in zip(
            file.episodes, file.held_out, held_out_verdicts(file), strict=True
        )
        if said == "inconclusive" and outcome is not None
    ]
    assert len(agree) > 300
    assert binomtest(sum(agree), len(agree)).pvalue > 0.001


def test_null_claims_are_the_same_with_every_effect_turned_round(
    frame: pd.DataFrame, tabled: Tabled
) -> None:
    def nulls(file: EpisodeFile) -> set[str]:
        said = held_out_verdicts(file)
        return {e.id for e, v in zip(file.episodes, said, strict=True) if v == "inconclusive"}

    turned = tabled(frame.assign(log2FoldChange=-frame["log2FoldChange"]))
    plain = nulls(build_expression(tabled(frame), SEED, 400))
    other = nulls(build_expression(turned, SEED, 400))
    # A null claim's name holds its direction: claims on the same measurement must agree on it.
    directions = {name.rpartition(":")[0]: name for name in plain}
    shared = [name for name in other if name.rpartition(":")[0] in directions]
    assert len(shared) > 20
    assert all(directions[name.rpartition(":")[0]] == name for name in shared)


def test_a_measurement_is_claimed_in_one_direction_only(large_file: EpisodeFile) -> None:
    names = [episode.id.rpartition(":")[0] for episode in large_file.episodes]
    assert len(set(names)) == len(names)


def test_artefacts_are_no_targets(small_file: EpisodeFile) -> None:
    banned = {"MT-ND1", "RPL7", "G010P1", "RP11-34P13.7", "G004"}
    assert not banned & {episode.unit for episode in small_file.episodes}


def names(episode: Episode) -> list[str]:
    """The pool's experiments without the direction that they inherit from the target's claim."""
    parts = (stub.experiment.id.rpartition(":") for stub in episode.pool)
    return [tail if head == "" else head for head, _, tail in parts]


def test_pools_do_not_look_at_the_direction_of_effects(
    frame: pd.DataFrame, tabled: Tabled, small_file: EpisodeFile, classes: Path
) -> None:
    turned = frame.assign(log2FoldChange=-frame["log2FoldChange"])
    other = build_expression(tabled(turned, classes=classes), SEED, 1200)
    pools = {e.id.rpartition(":")[0]: names(e) for e in small_file.episodes}
    shared = [e for e in other.episodes if e.id.rpartition(":")[0] in pools]
    assert len(shared) > 100
    for episode in shared:
        assert names(episode) == pools[episode.id.rpartition(":")[0]]


def test_pools_do_not_look_at_the_outcome_of_their_target(
    frame: pd.DataFrame, tabled: Tabled
) -> None:
    measured = load(tabled(frame), lambda stage, done, total: None)
    num = len(measured.contrasts)
    classes, summarised = [()] * num, np.ones(num, dtype=bool)
    plain = PoolMaker(measured, classes, summarised, SEED)
    contrast = int(np.argmax((measured.significant() != 0).sum(axis=0)))
    p = measured.values["p_adjusted"].copy()
    p[:, contrast] = 1.0 - (measured.significant()[:, contrast] == 0)
    turned = replace(measured, values={**measured.values, "p_adjusted": p})
    assert (turned.significant()[:, contrast] != measured.significant()[:, contrast]).sum() > 5
    other = PoolMaker(turned, classes, summarised, SEED)
    for gene in np.flatnonzero(measured.measured()[:, contrast]).tolist():
        assert other.draw(gene, contrast) == plain.draw(gene, contrast)


def test_summaries_rest_on_training_genes_alone(
    frame: pd.DataFrame, small_file: EpisodeFile
) -> None:
    training = [g for g in frame["gene"].unique() if split_of(SEED, "expression", g) == "train"]
    kept = frame[frame["gene"].isin(training)]
    hit = (kept["padj"] < 0.05) & (kept["log2FoldChange"].abs() > 0.5)
    shares = hit.groupby([kept["perturbation"], kept["context"], kept["dose"]]).mean()
    seen: dict[str, Stub] = {}
    for episode in small_file.episodes:
        for stub in episode.pool:
            fields = stub.experiment.fields
            if fields["kind"] == "summary":
                seen[stub.experiment.id] = stub
                dose = float(fields["dose"].removeprefix("dose "))
                expected = shares.loc[(*place(stub.experiment), dose)]
                assert stub.outcome.fields["share_significant"] == pytest.approx(expected)
                assert stub.outcome.fields["num_tested"] == len(training)
                assert fields["median_share"] == pytest.approx(shares.median())
    assert len(seen) > 20


def test_experiments_are_the_same_wherever_they_stand(small_file: EpisodeFile) -> None:
    seen: dict[str, Stub] = {}
    for episode in small_file.episodes:
        for stub in episode.pool:
            assert seen.setdefault(stub.experiment.id, stub) == stub


def test_wording(small_file: EpisodeFile) -> None:
    episode = small_file.episodes[0]
    fields = episode.target.fields
    verb = {"up": "upregulates", "down": "downregulates"}[fields["direction"]]
    agent, line = own_place(episode)
    assert episode.target.text == f"Drug {agent} {verb} gene {fields['gene']} in cell line {line}."
    assert episode.id.startswith(f"expression:{agent}:{fields['gene']}:{line}")
    assert episode.id.endswith(f":{fields['direction']}")
    summary = next(s.experiment for s in episode.pool if s.experiment.fields["kind"] == "summary")
    median = summary.fields["median_share"]
    assert summary.hypothesis.text == (
        f"Drug {agent} changes the transcriptome of cell line {line} strongly: more than "
        f"{median:.1%} of tested genes respond."
    )
    assert summary.hypothesis.fields["claim"] == "strong effect"
    assert not {"gene", "direction"} & set(summary.hypothesis.fields)


def test_experiments_hold_no_result(small_file: EpisodeFile) -> None:
    for episode in small_file.episodes[:50]:
        for stub in episode.pool:
            assert not set(stub.experiment.fields) & set(stub.outcome.fields)
            assert stub.experiment.fields["num_treated"] == 40
            assert "num_treated" not in stub.experiment.hypothesis.fields


def test_order_of_rows_does_not_matter(
    frame: pd.DataFrame, tabled: Tabled, classes: Path, small_file: EpisodeFile
) -> None:
    mixed = frame.sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=1)
    file = build_expression(tabled(mixed, "table.csv", classes=classes), SEED, 400)
    assert file.episodes == small_file.episodes
    assert file.held_out == small_file.held_out


def test_same_seed_same_bytes(
    tmp_path: Path, tables: ExpressionTables, small_file: EpisodeFile
) -> None:
    write_episodes(tmp_path / "a", small_file)
    write_episodes(tmp_path / "b", build_expression(tables, SEED, 400))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    other = build_expression(tables, SEED + 1, 400)
    assert {episode.id for episode in other.episodes} != {e.id for e in small_file.episodes}


def test_caps(small_file: EpisodeFile) -> None:
    assert max(Counter(episode.unit for episode in small_file.episodes).values()) <= 24
    groups = Counter(own_place(episode) for episode in small_file.episodes)
    assert max(groups.values()) <= 0.05 * len(small_file.episodes)
    assert set(small_file.info["group_share"]) == {"train", "validation", "test"}


@pytest.mark.parametrize(
    ("sizes", "total", "cap"), [([5, 1, 9], 9, 4), ([5, 1, 9], 15, 9), ([2, 2], 99, 2), ([], 3, 0)]
)
def test_level(sizes: list[int], total: int, cap: int) -> None:
    assert level(sizes, total) == cap
    assert sum(min(size, cap) for size in sizes) >= min(total, sum(sizes))


def test_knockouts_in_systems(frame: pd.DataFrame, tabled: Tabled) -> None:
    knocked = frame.assign(perturbation=frame["perturbation"].str.replace("D", "G05"))
    tables = tabled(knocked, perturbation_type="knockout", context_type="system")
    file = build_expression(tables, SEED, 400)
    check_principles(file)
    own = file.info["excluded"]["transcripts of the knocked-out gene itself"]
    assert own == len(frame[["perturbation", "context", "dose"]].drop_duplicates())
    for episode in file.episodes:
        fields = episode.target.fields
        assert episode.target.text.startswith(f"Knockout of {fields['perturbation']} ")
        assert episode.target.text.endswith(f" in {fields['context']}.")
        for stub in episode.pool:
            assert stub.experiment.fields.get("gene") != stub.experiment.fields["perturbation"]


def test_filtered_measurements_are_neither_targets_nor_stubs(
    frame: pd.DataFrame, tabled: Tabled
) -> None:
    holes = frame["padj"].mask(np.random.default_rng(2).random(len(frame)) < 0.2)
    file = build_expression(tabled(frame.assign(padj=holes)), SEED, 400)
    check_principles(file)
    name = "measurements filtered by the authors (no adjusted p value)"
    assert file.info["excluded"][name] == int(holes.isna().sum())


def test_zscores(frame: pd.DataFrame, tabled: Tabled) -> None:
    kept = frame[["gene", "perturbation", "context", "dose"]]
    file = build_expression(tabled(kept.assign(z=frame["log2FoldChange"] * 2)), SEED, 400)
    check_principles(file)
    assert any("|z| >= 2" in note for note in file.info["notes"])
    outcome = file.held_out[0]
    assert outcome is not None
    assert set(outcome.fields) == {"z"}


def test_one_context_only(frame: pd.DataFrame, tabled: Tabled) -> None:
    file = build_expression(tabled(frame[frame["context"] == "L1"]), SEED, 200)
    check_principles(file)
    tiers = {tier for episode in file.episodes for tier in episode.tiers}
    assert tiers == {3, 4}
    assert set(file.info["pool_sizes"]) == {"10"}
    assert any("one context only" in note for note in file.info["notes"])
    assert any("see pool_sizes" in note for note in file.info["notes"])
    assert file.info["short"]["stubs of a full pool"] == 6 * len(file.episodes)


def test_three_perturbations_only(frame: pd.DataFrame, tabled: Tabled) -> None:
    few = frame[
        frame["perturbation"].isin(["D0", "D2", "D4"]) & frame["context"].isin(["L0", "L1"])
    ]
    file = build_expression(tabled(few), SEED, 200)
    check_principles(file)
    for episode in file.episodes:
        assert Counter(episode.tiers) == {1: 1, 3: 2, 4: 1, 5: 2}
    assert any("3 perturbations only" in note for note in file.info["notes"])


def test_tables_without_any_episode(frame: pd.DataFrame, tabled: Tabled) -> None:
    alone = frame[(frame["perturbation"] == "D2") & (frame["context"] == "L0")]
    with pytest.raises(DataError, match=r"no episodes: .* give a larger table"):
        build_expression(tabled(alone), SEED)
    with pytest.raises(DataError, match="no episodes"):
        build_expression(tabled(frame.assign(padj=1.0)), SEED)


@pytest.mark.parametrize("num", [1, 0, -5])
def test_too_few_episodes_asked_for(tables: ExpressionTables, num: int) -> None:
    with pytest.raises(DataError, match="--max-episodes"):
        build_expression(tables, max_episodes=num)


@pytest.mark.parametrize("num", [2, 3, 11, 50])
def test_max_episodes_is_an_upper_bound(tables: ExpressionTables, num: int) -> None:
    assert 0 < len(build_expression(tables, SEED, num).episodes) <= num


def test_progress_reaches_its_end(tables: ExpressionTables) -> None:
    seen: dict[str, tuple[int, int]] = {}
    build_expression(tables, 3, 40, lambda stage, done, total: seen.update({stage: (done, total)}))
    assert f"reading {tables.table.name}" in seen
    for stage in ("drawing pools", "writing episodes"):
        assert seen[stage][0] == seen[stage][1] > 0


def test_file_says_what_it_was_built_from(
    small_file: EpisodeFile, tables: ExpressionTables
) -> None:
    info = small_file.info
    assert (info["domain"], info["seed"], info["builder"]) == ("expression", 3, "expression/1")
    assert {item["role"]: item["file"] for item in info["inputs"]} == {
        "table": tables.table.name,
        "classes": "classes.gmt",
    }
    assert (info["num_contrasts"], info["num_contexts"], info["num_perturbations"]) == (88, 8, 10)


def test_descriptive_fields(frame: pd.DataFrame, tabled: Tabled, tmp_path: Path) -> None:
    drugs = pd.DataFrame({"drug": ["d0", "D2"], "moa-fine": ["X inhibitor", "X inhibitor"]})
    drugs.to_csv(tmp_path / "drugs.csv", index=False)
    lines = pd.DataFrame({"cell_name": ["L-1"], "Organ": ["Skin"]})
    lines.to_csv(tmp_path / "lines.csv", index=False)
    told = frame.assign(ENSG=frame["gene"].str.replace("G", "ENSG00000"))
    columns = Columns(condition=("dose",), ensembl_id="ENSG")
    tables = replace(
        tabled(told, drugs=tmp_path / "drugs.csv", contexts=tmp_path / "lines.csv"),
        columns=columns,
    )
    file = build_expression(tables, SEED, 400)
    assert 2 in {tier for episode in file.episodes for tier in episode.tiers}
    for episode in file.episodes:
        fields = episode.target.fields
        agent, line = own_place(episode)
        assert fields["ensembl_id"] == fields["gene"].replace("G", "ENSG00000")
        assert fields.get("moa_fine") == ("X inhibitor" if agent in ("D0", "D2") else None)
        assert fields.get("organ") == ("Skin" if line == "L1" else None)
        assert None not in fields.values()
    assert "2 of 10 perturbations are described in drugs.csv" in file.info["notes"]
    assert "1 of 8 contexts are described in lines.csv" in file.info["notes"]


def auroc(scores: np.ndarray, labels: np.ndarray) -> float:
    better = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return float((better > 0).mean() + (better == 0).mean() / 2)


@pytest.mark.parametrize("name", ["morphic", "l1000"])
def test_real_tables(name: str, request: pytest.FixtureRequest) -> None:
    file: EpisodeFile = request.getfixturevalue(name)
    check_principles(file)
    assert imbalance(file) == 0
    assert len(file.episodes) == 800
    assert file.info["counts"]["test"] == 240
    labels = np.array([episode.label for episode in file.episodes])
    rates: dict[tuple[str, str], list[int]] = defaultdict(list)
    for episode in file.episodes:
        rates[own_place(episode)].append(episode.label)
    by_contrast = np.array([np.mean(rates[own_place(e)]) for e in file.episodes])
    assert auroc(by_contrast, labels) == pytest.approx(0.5, abs=0.01)
    for tier in range(1, 6):
        num = np.array([episode.tiers.count(tier) for episode in file.episodes])
        assert auroc(num, labels) == pytest.approx(0.5, abs=0.06)
    support = np.array([net_support(episode) for episode in file.episodes])
    assert auroc(support, labels) > 0.55  # its standard error is 0.02


def net_support(episode: Episode) -> int:
    """Supporting less refuting related stubs."""
    told = {"supporting": 1, "refuting": -1, "inconclusive": 0}
    return sum(
        told[reading(stub.experiment, stub.outcome).verdict]
        for stub, tier in zip(episode.pool, episode.tiers, strict=True)
        if tier < 5
    )


def test_real_knockouts(morphic: EpisodeFile) -> None:
    excluded = morphic.info["excluded"]
    assert excluded["rows with strategy=reverted"] == 3389
    assert excluded["transcripts of the knocked-out gene itself"] > 50
    for episode in morphic.episodes:
        assert "reverted" not in episode.target.fields.get("condition", "")
        for stub in episode.pool:
            fields = stub.experiment.fields
            assert "reverted" not in fields.get("condition", "")
            assert fields.get("gene") != fields["perturbation"]


def test_real_signatures(l1000: EpisodeFile) -> None:
    target = next(e.target for e in l1000.episodes if own_place(e) == ("vemurafenib", "A549"))
    assert target.fields["classes"] == ("RAF inhibitor",)
    assert target.fields["organ"] == "Lung"
    assert target.fields["dose"].endswith("M")
    assert Outcome(Fields(z=1.0)).fields.keys() == {
        key for outcome in l1000.held_out if outcome for key in outcome.fields
    }


def test_stubs_that_share_controls_come_last_and_are_counted(
    frame: pd.DataFrame, tabled: Tabled
) -> None:
    """In every line D0 to D4 are one analysis by their mean counts, D5 to D9 are one each."""
    agent = frame["perturbation"].str[1:].astype(int)
    table = frame.assign(baseMean=frame["baseMean"] + np.where(agent < 5, 0, agent))
    file = build_expression(tabled(table), SEED, 100)
    shared = [
        (episode, stub)
        for episode in file.episodes
        for stub, tier in zip(episode.pool, episode.tiers, strict=True)
        if tier == 3
        and max(int(at.fields["perturbation"][1:]) for at in (episode.target, stub.experiment)) < 5
    ]
    assert shared == []
    (note,) = (note for note in file.info["notes"] if "shares its controls" in note)
    assert ": 0 of " in note
    unknown = build_expression(tabled(frame.drop(columns="baseMean")), SEED, 60)
    assert any("may share their controls" in note for note in unknown.info["notes"])
    alike = build_expression(tabled(frame), SEED, 60)
    (note,) = (note for note in alike.info["notes"] if "shares its controls" in note)
    num, _, total = note.rpartition(": ")[2].partition(" of ")
    assert num == total != "0"
