"""What holds of every file: labels, balance, exclusions, pools and splits."""

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from bed.domains import gwas
from bed.episodes import EpisodeFile
from bed.episodes.gwas import GwasTables, build_gwas
from bed.episodes.gwas.facts import Facts, load
from bed.episodes.gwas.pools import PoolMaker
from bed.episodes.gwas.splits import ByLocus
from bed.episodes.split import split_of
from bed.errors import DataError
from bed.evidence import Episode, Outcome, Stub

Write = Callable[..., GwasTables]


def locus(fields: Any) -> str:
    return str(fields["region"])


def same_pair(target: Any, tested: Any) -> bool:
    """One trait by name or terms, and one SNP by name or place."""
    one, other = ((f.get("chromosome"), f.get("position")) for f in (target, tested))
    snp = target["snp"] == tested["snp"] or (None not in one and one == other)
    return snp and gwas.same_trait(target, tested)


def test_labels_are_the_held_out_measurements(file: EpisodeFile) -> None:
    kinds: Counter[str] = Counter()
    for episode, outcome in zip(file.episodes, file.held_out, strict=True):
        assert outcome is not None
        fields = episode.target.fields
        p = gwas.p_decimal(outcome.fields["p_value"], "held out")
        agrees = outcome.fields["direction"] == fields["direction"]
        significant = gwas.is_significant(p)
        assert episode.label == int(significant and agrees)
        assert fields["allele"] == outcome.fields["risk_allele"]
        kinds["supported" if episode.label else "flipped" if significant else "null"] += 1
    assert kinds["supported"] == kinds["null"] + kinds["flipped"]
    assert 0.05 <= kinds["flipped"] / (kinds["null"] + kinds["flipped"]) <= 0.3


def test_labels_are_balanced_within_trait_direction_and_related_stubs(file: EpisodeFile) -> None:
    counts: dict[tuple[str | int, ...], list[int]] = defaultdict(list)
    for episode in file.episodes:
        fields = episode.target.fields
        related = min(3, sum(tier < 6 for tier in episode.tiers))
        where = (episode.split, fields["trait"], fields["direction"], related)
        counts[where].append(episode.label)
    assert len(counts) >= 20
    assert all(2 * sum(labels) == len(labels) for labels in counts.values())


def test_own_pair_is_in_no_pool_under_any_name(file: EpisodeFile) -> None:
    for episode in file.episodes:
        assert episode.tags.count("the target SNP, associated with the target trait") == 0
        for stub in episode.pool:
            assert not same_pair(episode.target.fields, stub.experiment.fields)


def test_one_target_a_pair_and_a_locus_and_trait(file: EpisodeFile) -> None:
    pairs = Counter(
        (locus(e.target.fields), e.target.fields.get("trait_terms", e.target.fields["trait"]))
        for e in file.episodes
    )
    assert max(pairs.values()) == 1
    assert len({episode.id for episode in file.episodes}) == len(file.episodes)
    assert all(episode.unit == locus(episode.target.fields) for episode in file.episodes)


def test_pools(file: EpisodeFile) -> None:
    seen: dict[str, Stub] = {}
    for episode in file.episodes:
        assert len(episode.pool) == 16
        assert 1 <= sum(tier < 6 for tier in episode.tiers) <= 10
        known = [stub.experiment.fields for stub in episode.pool]
        assert len({(f["snp"], f["trait"]) for f in known}) == 16
        assert len({(locus(f), f["trait"], f["study"]) for f in known}) == 16
        for stub, tier, tag in zip(episode.pool, episode.tiers, episode.tags, strict=True):
            found = gwas.relation(episode.target, stub.experiment)
            assert (found.tier, found.tag) == (tier, tag)
            assert seen.setdefault(stub.experiment.id, stub) == stub
            gwas.reading(stub.experiment, stub.outcome)
            if tier == 6:
                assert found == gwas.UNRELATED
                assert locus(stub.experiment.fields) != episode.unit
    tiers = {tier for episode in file.episodes for tier in episode.tiers}
    assert tiers == {1, 2, 3, 4, 5, 6}


def test_experiments_do_not_tell_their_results(file: EpisodeFile) -> None:
    told = {"allele", "direction", "p_value", "effect", "interval", "risk_allele_frequency"}
    for episode in file.episodes:
        for stub in episode.pool:
            assert not told & set(stub.experiment.fields)
            assert not told & set(stub.experiment.hypothesis.fields)
            fields = stub.experiment.fields
            claim = f"SNP {fields['snp']} is associated with {fields['trait']}"
            assert stub.experiment.hypothesis.text == f"{claim}: a GWAS reports p < 5e-8."


def test_wording(small_gwas: EpisodeFile) -> None:
    for episode in small_gwas.episodes:
        fields = episode.target.fields
        snp, allele, direction = fields["snp"], fields["allele"], fields["direction"]
        assert episode.target.text == (
            f"SNP {snp} ({allele} allele) {direction} {fields['trait']}. A held-out GWAS would "
            "report p < 5e-8 for this SNP-trait pair with a consistent direction of effect."
        )
        assert episode.id == f"gwas:{snp}:{fields['trait']}:{direction}"


def test_ratios_claim_no_decrease(small_gwas: EpisodeFile) -> None:
    """The catalog never reports one, so the direction would give the label away."""
    ratios = {"Coronary heart disease", "Myocardial infarction", "Crohn's disease"}
    claims = {
        episode.target.fields["direction"]
        for episode in small_gwas.episodes
        if episode.target.fields["trait"] in ratios
    }
    assert claims == {"increases"}


def test_null_claims_are_independent_of_the_measured_sign(tables: GwasTables) -> None:
    agree = [
        outcome.fields["direction"] == episode.target.fields["direction"]
        for seed in range(4)
        for episode, outcome in _pairs(build_gwas(tables, seed, 400))
        if episode.target.fields["trait"] in ("Height", "Body mass index", "LDL cholesterol")
        and not gwas.is_significant(gwas.p_decimal(outcome.fields["p_value"], ""))
    ]
    assert len(agree) > 40
    assert abs(np.mean(agree) - 0.5) < 4 * 0.5 / len(agree) ** 0.5


def _pairs(file: EpisodeFile) -> list[tuple[Episode, Outcome]]:
    return [(e, o) for e, o in zip(file.episodes, file.held_out, strict=True) if o is not None]


def test_mhc_and_textbook_pairs_are_no_targets(file: EpisodeFile) -> None:
    excluded = file.info["excluded"]
    assert excluded["pairs: in the MHC"] > 0
    assert excluded["pairs: textbook, in 8 papers or more"] > 0
    for episode in file.episodes:
        fields = episode.target.fields
        assert fields["chromosome"] != "6" or not 25e6 <= fields["position"] <= 34e6
        assert ("NOD2" in fields["genes"]) <= (fields["trait"] != "Crohn's disease")


def test_every_exclusion_is_counted(small_gwas: EpisodeFile) -> None:
    excluded = small_gwas.info["excluded"]
    assert excluded["rows: several SNPs (haplotype or interaction)"] == 1
    assert excluded["rows: p-value missing, no number or outside [0, 1]"] == 2
    assert excluded["rows: no rs number"] == 1
    assert excluded["rows: no place on the genome"] == 1
    assert excluded["pairs: allele or direction not reported"] == 1


def test_more_related_stubs_on_request(tables: GwasTables) -> None:
    file = build_gwas(tables, 3, 400, min_related=6)
    assert file.info["excluded"]["loci of a trait: too few related stubs"] > 0
    assert all(sum(tier < 6 for tier in episode.tiers) >= 6 for episode in file.episodes)
    with pytest.raises(DataError, match=r"--min-related 11 is outside 0\.\.10"):
        build_gwas(tables, min_related=11)


def test_held_out_loci_are_unseen_in_other_pools(small_gwas: EpisodeFile, real_gwas: Any) -> None:
    for file in (small_gwas, real_gwas["locus"]):
        seed = file.info["seed"]
        for episode in file.episodes:
            assert episode.split == split_of(seed, "gwas", episode.unit)
            elsewhere = {locus(s.experiment.fields) for s in episode.pool} - {episode.unit}
            assert {split_of(seed, "gwas", place) for place in elsewhere} == {"train"}


def test_split_by_date(dated_gwas: EpisodeFile, frame: pd.DataFrame) -> None:
    file = dated_gwas
    day = dict(
        zip(frame["PUBMEDID"], pd.to_datetime(frame["DATE"], format="%d-%b-%Y"), strict=True)
    )
    cuts = [pd.Timestamp(text) for text in file.info["date_cuts"]]
    assert file.info["split_by"] == "date"
    of = defaultdict(list)
    for row in _records(frame):
        of[row["SNPS"], row["DISEASE/TRAIT"], row["P-VALUE"]].append(day[row["PUBMEDID"]])
    splits = set()
    for episode, outcome in _pairs(file):
        fields = episode.target.fields
        days = of[fields["snp"], fields["trait"], outcome.fields["p_value"]]
        shown = [day[stub.experiment.fields["study"]] for stub in episode.pool]
        # several studies may print the same p for a pair
        assert any(
            max(shown) <= held_out
            and episode.split == ("train", "validation", "test")[sum(held_out >= c for c in cuts)]
            for held_out in days
        )
        splits.add(episode.split)
    assert {"train", "test"} <= splits


def _records(frame: pd.DataFrame) -> list[dict[str, str]]:
    return [{str(k): str(v) for k, v in item.items()} for item in frame.to_dict("records")]


def test_same_seed_same_file_whatever_the_order_of_rows_and_columns(
    tmp_path: Path, frame: pd.DataFrame, write: Write, small_gwas: EpisodeFile
) -> None:
    mixed = frame.sample(frac=1, random_state=1)[list(reversed(frame.columns))]
    file = build_gwas(write(tmp_path, mixed), seed=3, max_episodes=400)
    assert file.episodes == small_gwas.episodes
    assert file.held_out == small_gwas.held_out
    assert file.info["notes"] == small_gwas.info["notes"]


def test_seed_matters(tables: GwasTables, small_gwas: EpisodeFile) -> None:
    other = build_gwas(tables, 4, 400)
    assert {episode.id for episode in other.episodes} != {e.id for e in small_gwas.episodes}


def test_present_columns(tmp_path: Path, present_frame: pd.DataFrame, write: Write) -> None:
    file = build_gwas(write(tmp_path, present_frame), 3, 400)
    assert len(file.episodes) > 100
    studies = {s.experiment.fields["study"] for e in file.episodes for s in e.pool}
    assert all(study.startswith("GCST10") for study in studies)
    intervals = {outcome.fields["interval"] for outcome in file.held_out if outcome}
    assert "[0.1-0.3] cm increase" in intervals


def test_pools_do_not_look_at_results(tmp_path: Path, frame: pd.DataFrame, write: Write) -> None:
    """Other p-values and effects leave every pool as it was."""
    plain = frame.drop_duplicates(["PUBMEDID", "SNPS", "DISEASE/TRAIT"])
    plain = plain[~plain["P-VALUE"].isin(["5E12", "NS"])]
    turned = plain["95% CI (TEXT)"].str.replace("increase", "decrease")
    changed = plain.assign(**{"P-VALUE": "2E-9", "OR or BETA": "3"})
    changed["95% CI (TEXT)"] = turned
    pools = []
    for name, table in (("as it is", plain), ("changed", changed)):
        facts = load(write(tmp_path / name, table), 3)
        maker = PoolMaker(facts, ByLocus(facts, 3), 1, 3)
        pools.append([_ids(facts, maker, at) for at in range(300)])
    assert sum(map(bool, pools[0])) > 200
    assert pools[0] == pools[1]


def _ids(facts: Facts, maker: PoolMaker, at: int) -> list[str]:
    pool = maker.draw(at)
    return [] if pool is None else [facts.associations[stub].id for stub in pool.stubs]


def test_file_says_what_it_was_built_from(small_gwas: EpisodeFile) -> None:
    info = small_gwas.info
    assert (info["domain"], info["seed"], info["builder"]) == ("gwas", 3, "gwas/1")
    assert [item["role"] for item in info["inputs"]] == ["associations"]
    assert info["absent"] == ["efo", "expression", "pathways"]
    assert info["split_by"] == "locus"
    said = " ".join(info["notes"])
    for part in ("suggestive", "approximates", "within 500 kb", "own paper", "possible targets"):
        assert part in said


@pytest.mark.parametrize("num", [1, 0, -5])
def test_too_few_episodes_asked_for(tables: GwasTables, num: int) -> None:
    with pytest.raises(DataError, match="--max-episodes"):
        build_gwas(tables, max_episodes=num)


def test_unknown_rule_of_splitting(tables: GwasTables) -> None:
    with pytest.raises(DataError, match="split_by 'gene' is unknown; use 'locus' or 'date'"):
        build_gwas(tables, split_by="gene")  # type: ignore[arg-type]


def test_a_table_without_any_episode(tmp_path: Path, frame: pd.DataFrame, write: Write) -> None:
    with pytest.raises(DataError, match=r"no episodes: .* give a larger table"):
        build_gwas(write(tmp_path, frame.iloc[:12]))


def test_progress_reaches_its_end(tables: GwasTables) -> None:
    seen: dict[str, tuple[int, int]] = {}
    build_gwas(
        tables, 3, 40, progress=lambda stage, done, total: seen.update({stage: (done, total)})
    )
    assert "reading catalog.tsv" in seen
    for stage in ("drawing pools", "writing episodes"):
        assert seen[stage][0] == seen[stage][1] > 0


def test_no_trait_or_gene_dominates(file: EpisodeFile) -> None:
    for split in ("train", "test"):
        traits = Counter(e.target.fields["trait"] for e in file.episodes if e.split == split)
        # a few traits cannot all be at 5 %: half as much again as an even share is allowed
        assert max(traits.values()) <= max(0.05, 2.0 / len(traits)) * traits.total() + 2
    genes = Counter(gene for e in file.episodes for gene in e.target.fields["genes"])
    assert max(genes.values()) <= 8


def test_real_table(real_gwas: dict[str, EpisodeFile]) -> None:
    file = real_gwas["locus"]
    assert 150 <= len(file.episodes) <= 400
    assert file.info["counts"]["test"] >= 40
    assert sum(file.info["possible_targets"].values()) > 500
    assert file.info["excluded"]["rows: several SNPs (haplotype or interaction)"] == 51
    tiers = Counter(tier for episode in file.episodes for tier in episode.tiers)
    assert set(tiers) == {1, 2, 3, 4, 5, 6}
    names: dict[str, Callable[[Episode], str]] = {
        "trait": lambda episode: str(episode.target.fields["trait"]),
        "direction": lambda episode: str(episode.target.fields["direction"]),
    }
    for name, key in names.items():
        assert auroc_by_name(file, key) == pytest.approx(0.5, abs=0.1), name


def auroc_by_name(file: EpisodeFile, key: Callable[[Episode], str]) -> float:
    """Score test episodes by the share of labels 1 of their name in training."""
    counts: dict[str, list[int]] = defaultdict(lambda: [1, 1])
    for episode in file.episodes:
        if episode.split == "train":
            counts[key(episode)][episode.label] += 1
    other = [episode for episode in file.episodes if episode.split != "train"]
    scores = np.array([counts[key(episode)][1] / sum(counts[key(episode)]) for episode in other])
    labels = np.array([episode.label for episode in other])
    num = labels.sum()
    rank = rankdata(scores)[labels == 1].sum()
    return float((rank - num * (num + 1) / 2) / (num * (len(labels) - num)))
