"""What is counted, assumed or left out, and said in the account."""

from pathlib import Path
from typing import Any

from bed.domains import reading, relation
from bed.episodes.imports import import_edb
from tests.episodes.imports import released
from tests.episodes.imports.conftest import Imported
from tests.episodes.imports.released import Row, at, depmap, write_json


def test_several_domains_have_an_account_each(
    tmp_path: Path, examples: list[dict[str, Any]]
) -> None:
    rows = [released.from_example(example) for example in examples]
    info = import_edb([write_json(tmp_path / "e.parquet", rows)]).info
    assert {name: part["counts"]["test"] for name, part in info["parts"].items()} == {
        "depmap": 1,
        "expression": 2,
        "gwas": 1,
    }


def test_unknown_tags_are_kept_with_computed_tiers(imported: Imported) -> None:
    row = depmap()
    row["stubs"][0]["tag"] = "some new wording"
    file = imported(row)
    (episode,) = file.episodes
    assert (episode.tiers[0], episode.tags[0]) == (1, "some new wording")
    assert relation(episode.target, episode.pool[0].experiment).tag == "some new wording"
    assert file.info["unknown_tags"] == {"some new wording": 1}
    assert any("unknown wording" in note for note in file.info["notes"])


def test_stubs_without_tags_get_those_of_the_domain(imported: Imported) -> None:
    row = depmap()
    for stub in row["stubs"]:
        del stub["tag"]
    assert imported(row).episodes[0].tags == imported(depmap()).episodes[0].tags


def test_a_knockdown_is_told_from_a_knockout_by_its_tag(imported: Imported) -> None:
    row = depmap()
    stub = row["stubs"][0]
    stub.pop("modality", None)
    stub["tag"] = "target gene knocked down in a different cell line of the same lineage"
    stub["result"] = {"Chronos gene-effect": "-0.7"}
    assert imported(row).episodes[0].pool[0].experiment.fields["kind"] == "knockdown"


def test_unknown_labels_are_counted_and_left_out(imported: Imported) -> None:
    row = depmap()
    row["stubs"][0]["result"]["verdict"] = "supported"
    row["target"]["held_out"] = {"Chronos gene-effect": "-1.2"}
    file = imported({**row, "comment": "c"})
    assert file.info["unused_labels"] == {"Chronos gene-effect": 1, "verdict": 1}
    assert file.info["unused_columns"] == ["comment"]
    assert "chronos" not in file.episodes[0].target.fields
    assert file.episodes[0] == imported(depmap()).episodes[0]


def test_outcomes_that_no_reading_serves_are_counted(imported: Imported) -> None:
    row = depmap()
    row["stubs"][1] |= {
        "modality": "expression",
        "tag": "expression of the target gene in the target cell line",
        "result": {"log2(TPM+1)": "5.2"},
    }
    file = imported(row)
    assert file.info["unreadable"] == {"expression": 1}
    assert any("only language models" in note for note in file.info["notes"])


SUMMARY = {
    "tag": "same drug, same cell line as target, genome-wide summary",
    "drug": {"Drug": "D"},
    "cell_line": {"Cell line": "C"},
}


CLAIM = {"drug": "D", "direction": "down", "gene": "G", "cell_line": "C"}


def tahoe(episode: str, split: str, share: str) -> Row:
    result = {"n_significant": share, "n_tested": "1,000"}
    return {
        "episode_id": episode,
        "domain": "tahoe",
        "split": split,
        "label": 1,
        "target": {"claim": CLAIM},
        "stubs": [{**SUMMARY, "cell_line": {"Cell line": episode}, "result": result}],
    }


def test_summaries_are_judged_by_the_median_of_training(imported: Imported) -> None:
    shares = {
        "a": ("train", "10"),
        "b": ("train", "30"),
        "c": ("train", "20"),
        "d": ("test", "900"),
    }
    file = imported(*(tahoe(name, *given) for name, given in shares.items()))
    stubs = [episode.pool[0] for episode in file.episodes]
    assert {stub.experiment.fields["median_share"] for stub in stubs} == {0.02}
    supported = [reading(stub.experiment, stub.outcome).supported for stub in stubs]
    assert supported == [False, True, False, True]
    assert stubs[0].experiment.hypothesis.text == (
        "Drug D changes the transcriptome of cell line a strongly: more than 2.0% of tested "
        "genes respond."
    )
    assert file.episodes[0].tiers == (4,)
    assert file.info["notes"] == []
    alone = imported(tahoe("d", "test", "900"))
    assert alone.episodes[0].pool[0].experiment.fields["median_share"] == 0.9
    assert ["no summaries of training" in note for note in alone.info["notes"]] == [True]


def test_user_prompts_without_system_prompts_are_not_kept(imported: Imported) -> None:
    row = {key: value for key, value in at(4, depmap()).items() if key != "system_prompt"}
    file = imported(row)
    assert file.prompts == ()
    assert any("not kept" in note for note in file.info["notes"])
