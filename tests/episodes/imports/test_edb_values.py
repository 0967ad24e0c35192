"""What the worked examples and a made-up release hold, value by value."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bed.domains import reading, relation
from bed.episodes.imports import EXAMPLES, import_edb
from bed.evidence import Episode, Stub
from bed.prompts import belief_prompt
from tests.episodes.imports import released
from tests.episodes.imports.conftest import Imported
from tests.episodes.imports.released import LAYOUTS, write_json, write_nested


def verdicts(stubs: Iterable[Stub]) -> list[str]:
    return [reading(stub.experiment, stub.outcome).verdict for stub in stubs]


VERDICTS = {
    "inconclusive": "inconclusive",
    "supported": "supporting",
    "significant": "supporting",
    "refuted": "refuting",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_worked_examples(tmp_path: Path, examples: list[dict[str, Any]], layout: str) -> None:
    for number, example in enumerate(examples):
        row = released.from_example(example)
        file = import_edb([LAYOUTS[layout](tmp_path / f"{number}.parquet", [row])])
        (episode,) = file.episodes
        assert verdicts(episode.pool) == [VERDICTS[word] for word in example["verdicts_by_rule"]]
        assert episode.tags == tuple(stub["tag"] for stub in example["stubs"])
        assert (episode.id, episode.label) == (example["episode"], example["label"])
        assert file.info["unused_labels"] == file.info["unknown_tags"] == {}
        assert file.info["unreadable"] == {}


@pytest.fixture(scope="session")
def by_domain(
    tmp_path_factory: pytest.TempPathFactory, examples: list[dict[str, Any]]
) -> dict[str, Episode]:
    rows = [released.from_example(example) for example in examples[:3]]
    path = write_json(tmp_path_factory.mktemp("edb") / "e.parquet", rows)
    return {episode.target.domain: episode for episode in import_edb([path]).episodes}


def test_expression_values(by_domain: dict[str, Episode]) -> None:
    episode = by_domain["expression"]
    first, second = episode.pool
    assert episode.target.text == "Drug Encorafenib upregulates gene LINC00342 in cell line SNU-1."
    assert first.experiment.hypothesis.text == (
        "Drug Encorafenib upregulates gene LINC00342 in cell line NCI-H2347."
    )
    assert first.outcome.fields == {
        "log2_fold_change": -0.473,
        "lfc_se": 0.153,
        "wald": -3.101,
        "p_value": 0.00193,
        "p_adjusted": 0.01023,
        "base_mean": 90.74,
    }
    assert second.outcome.fields["p_value"] == 8.66e-05
    fields = first.experiment.fields
    assert (fields["classes"], fields["targets"]) == (("RAF inhibitor",), ("BRAF",))
    assert (fields["plate"], fields["num_treated"]) == ("3", 2747)
    assert (fields["human_approved"], fields["pubchem_cid"]) == (True, 50922675)
    assert "base_mean" not in fields
    assert episode.unit == "Encorafenib"
    assert episode.tiers == (1, 1)


def test_depmap_values(by_domain: dict[str, Episode]) -> None:
    episode = by_domain["depmap"]
    mutation, knockout = episode.pool
    assert episode.target.text == (
        "Gene DIS3L is a dependency (essential for fitness) in cell line MERO25: a held-out "
        "genome-wide CRISPR knockout screen of MERO25 would score gene DIS3L at Chronos "
        "gene-effect <= -0.5 AND P(dependency) >= 0.5."
    )
    assert episode.target.fields["gene_family"] == "Exosome complex"
    assert mutation.outcome.fields == {"status": "wild-type"}
    assert knockout.outcome.fields == {"chronos": -0.02, "p_dependency": 0.03}
    assert knockout.experiment.hypothesis.fields["gene"] == "KRT25"
    assert (episode.tiers, episode.unit) == ((5, 6), "DIS3L")


def test_gwas_values(by_domain: dict[str, Episode]) -> None:
    episode = by_domain["gwas"]
    first, second = episode.pool
    target = episode.target
    assert target.text.startswith("SNP rs2238689 (T allele) decreases phospholipids:total lipids")
    assert target.text.endswith(
        " A held-out GWAS would report p < 5e-8 for this SNP-trait pair with a consistent "
        "direction of effect."
    )
    assert (target.fields["allele"], target.fields["direction"]) == ("T", "decreases")
    assert (target.fields["chromosome"], target.fields["position"]) == ("19", 45675403)
    assert target.fields["trait_groups"] == ("Other measurement",)
    assert first.experiment.hypothesis.text == (
        "SNP rs2238689 is associated with type 2 diabetes mellitus: a GWAS reports p < 5e-8."
    )
    assert first.experiment.fields["sample_size"] == 898130
    assert first.experiment.fields["gtex"][0] == ("Cells - EBV-transformed lymphocytes", "23.8")
    assert first.outcome.fields == {
        "p_value": 5e-9,
        "effect": "1.04",
        "interval": "[1.03-1.05]",
        "risk_allele": "C",
        "risk_allele_frequency": "0.4177",
        "direction": "increases",
    }
    assert second.outcome.fields["interval"] == "[0.0097-0.0207] unit decrease"
    assert (episode.tiers, episode.unit) == ((4, 6), "GIPR")


def test_nothing_of_a_result_stands_in_an_experiment(by_domain: dict[str, Episode]) -> None:
    for episode in by_domain.values():
        for stub in episode.pool:
            tested = stub.experiment
            shared = tested.fields.keys() & stub.outcome.fields.keys()
            assert not shared
            assert not tested.hypothesis.fields.keys() & (
                stub.outcome.fields.keys() - {"direction"}
            )
    for stub in by_domain["gwas"].pool:
        assert not {"direction", "allele"} & stub.experiment.hypothesis.fields.keys()


def test_released_tags_hold_for_the_target_alone(by_domain: dict[str, Episode]) -> None:
    for episode in by_domain.values():
        for stub, tier, tag in zip(episode.pool, episode.tiers, episode.tags, strict=True):
            found = relation(episode.target, stub.experiment)
            assert (found.tier, found.tag) == (tier, tag)
            assert relation(stub.experiment.hypothesis, stub.experiment).tier == 1


def test_prompts_alone_give_the_same_episodes(
    tmp_path: Path, examples: list[dict[str, Any]]
) -> None:
    rows = [released.from_example(example) for example in examples]
    structured = import_edb([write_json(tmp_path / "a.parquet", rows)])
    prompts = []
    for row, episode in zip(rows, structured.episodes, strict=True):
        prompt = belief_prompt(episode.target, episode.pool)
        kept = {name: row[name] for name in ("episode_id", "domain", "split", "k", "label")}
        prompts.append({**kept, "system_prompt": prompt.system, "user_prompt": prompt.user})
    rendered = import_edb([write_nested(tmp_path / "b.parquet", prompts)])
    assert rendered.episodes == structured.episodes
    assert rendered.prompts[1] == {
        2: {"system": prompts[1]["system_prompt"], "user": prompts[1]["user_prompt"]}
    }


def test_example_of_the_schema(tmp_path: Path) -> None:
    rows = json.loads(EXAMPLES["edb"])
    for layout, write in LAYOUTS.items():
        file = import_edb([write(tmp_path / f"{layout}.parquet", rows)])
        (episode,) = file.episodes
        assert (episode.tiers, episode.unit) == ((1, 6), "AAA1")
        assert verdicts(episode.pool) == ["inconclusive", "inconclusive"]
        assert file.info["unused_columns"] == []


def test_p_values_below_the_least_float(imported: Imported, examples: list[dict[str, Any]]) -> None:
    row = released.from_example(examples[2])
    row["stubs"][0]["result"]["p"] = "3E-971"
    row["stubs"][1]["result"]["p"] = "5.0e-08"
    (episode,) = imported(row).episodes
    assert episode.pool[0].outcome.fields["p_value"] == "3E-971"
    assert verdicts(episode.pool) == ["supporting", "inconclusive"]
