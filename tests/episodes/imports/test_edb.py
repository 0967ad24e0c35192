import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bed.domains import reading, relation
from bed.episodes import EpisodeFile, read_episodes, testset, write_episodes
from bed.episodes.imports import (
    EXAMPLES,
    ColumnMapping,
    export_jsonl,
    import_edb,
    import_plain,
    read_mapping,
)
from bed.errors import DataError
from bed.evidence import Episode, Stub
from bed.prompts import belief_prompt
from tests.episodes.imports import released
from tests.episodes.imports.released import Row, at, depmap, write_json, write_listed, write_nested

LAYOUTS = {"nested": write_nested, "json": write_json, "listed": write_listed}
Imported = Callable[..., EpisodeFile]


@pytest.fixture
def imported(tmp_path: Path) -> Imported:
    def run(*rows: Row, mapping: ColumnMapping | None = None) -> EpisodeFile:
        return import_edb([write_json(tmp_path / "made.parquet", rows)], mapping)

    return run


@pytest.fixture(scope="session")
def examples(shared_data: Path) -> list[dict[str, Any]]:
    path = shared_data / "golden" / "facts" / "worked_examples.json"
    found = json.loads(path.read_text())
    return [*found["examples"], *found["extra"]]


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


def test_rows_of_an_episode_are_merged_over_files(tmp_path: Path) -> None:
    one, other = depmap("dm-1"), depmap("dm-2", 1)
    primary = write_json(tmp_path / "primary.parquet", [at(2, one), at(3, other)])
    sensitivity = write_nested(tmp_path / "sensitivity.parquet", [at(k, one) for k in range(5)])
    file = import_edb([primary, sensitivity])
    assert [(episode.id, len(episode.pool)) for episode in file.episodes] == [
        ("dm-1", 4),
        ("dm-2", 3),
    ]
    assert [list(prompts) for prompts in file.prompts] == [[0, 1, 2, 3, 4], [3]]
    assert file.prompts[1][3] == {"system": "SYSTEM", "user": "dm-2: 3 stubs"}
    assert file.info["pool_sizes"] == {"3": 1, "4": 1}
    assert [item["file"] for item in file.info["inputs"]] == [
        "primary.parquet",
        "sensitivity.parquet",
    ]
    table = testset.question_rows(file, 1)
    assert {row.user for row in table.rows if row.episode == "dm-2" and row.k == 3} == {
        "dm-2: 3 stubs"
    }


def test_imports_survive_both_file_forms(tmp_path: Path, imported: Imported) -> None:
    file = imported(at(4, depmap()), at(2, depmap()))
    write_episodes(tmp_path / "e.parquet", file)
    assert read_episodes(tmp_path / "e.parquet").episodes == file.episodes
    assert read_episodes(tmp_path / "e.parquet").prompts == file.prompts
    export_jsonl(file, tmp_path / "e.jsonl")
    assert import_plain(tmp_path / "e.jsonl") == file


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


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("depmap_primary.parquet", "test"),
        ("depmap-validation.parquet", "validation"),
        ("depmap/train-00000-of-00001.parquet", "train"),
    ],
)
def test_domain_and_split_by_the_path(tmp_path: Path, name: str, split: str) -> None:
    row = {key: value for key, value in depmap().items() if key not in ("domain", "split")}
    (tmp_path / name).parent.mkdir(exist_ok=True)
    file = import_edb([write_json(tmp_path / name, [row])])
    assert (file.episodes[0].target.domain, file.episodes[0].split) == ("depmap", split)
    base = Path(name).name
    assert file.info["notes"] == [
        f"{base} has no column for the domain: taken as depmap",
        f"{base} has no column for the split: taken as {split}",
    ]


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


def test_p_values_below_the_least_float(imported: Imported, examples: list[dict[str, Any]]) -> None:
    row = released.from_example(examples[2])
    row["stubs"][0]["result"]["p"] = "3E-971"
    row["stubs"][1]["result"]["p"] = "5.0e-08"
    (episode,) = imported(row).episodes
    assert episode.pool[0].outcome.fields["p_value"] == "3E-971"
    assert verdicts(episode.pool) == ["supporting", "inconclusive"]


def changed(**more: Any) -> Row:
    return depmap(**more)


def result(**values: Any) -> Row:
    row = depmap()
    row["stubs"][0]["result"] |= values
    return row


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([changed(label=2)], r"label 2 must be 0 or 1"),
        ([changed(label=float("nan"))], "label nan must be 0 or 1"),
        ([changed(label=None)], "label None must be 0 or 1"),
        ([changed(label="yes")], "label 'yes' must be 0 or 1"),
        ([changed(domain="proteomics")], r"unknown domain 'proteomics'; known: \['depmap'"),
        ([changed(split="dev")], "unknown split 'dev'"),
        ([changed(episode_id="")], "episode id '' is no text"),
        ([changed(k=3)], "k is 3, but the row has 4 stubs; mend one of them, or map"),
        ([changed(k=-1)], "k -1 is not a number of stubs"),
        ([changed(k=1.5)], "k 1.5 is not a number of stubs"),
        ([changed(stubs=[])], "the episode has no stub in any row, so its pool is empty"),
        ([changed(stubs=None)], "neither stubs nor a user prompt"),
        ([changed(stubs="[{")], r"stubs: not whole JSON .* begins '\[\{'"),
        ([changed(stubs='[{"a": NaN}]')], "NaN is no JSON"),
        ([changed(stubs=["[1] rendered"])], r"stub 1 is '\[1\] rendered'; expected labelled"),
        ([changed(stubs="{}")], "stubs are a dict; expected a list"),
        ([changed(target="[]")], "target .* is not a set of labelled values"),
        ([changed(target={"gene": {"Gene": "A"}})], r"the target lacks \['cell_line'\]; fields"),
        (
            [result(**{"Chronos gene-effect": "n/a"})],
            "stub 1: 'Chronos gene-effect' .*'n/a' is not",
        ),
        ([result(**{"Chronos gene-effect": "nan"})], "'nan' is not a finite number"),
        ([result(chronos="-0.9")], "'chronos' says -0.9, but 'chronos' is already -0.71"),
        ([result(sensitive="perhaps")], "'perhaps' is neither yes nor no"),
        ([at(2, depmap()), at(4, depmap(label=1))], "row 2 .* label 1, but .* row 1 .* says 0"),
        ([at(2, depmap()), at(4, depmap(split="train"))], "split 'train', but"),
        ([at(1, depmap()), at(4, depmap(domain="gwas"))], "domain 'gwas', but"),
        (
            [at(2, result(**{"P(dependency)": "0.5"})), at(4, depmap())],
            r"row 1 .*: its stub 1 is not stub 1 of .*row 2 .*must show the first stubs",
        ),
        (
            [
                at(2, depmap(), claim="Gene AAA1 is nice."),
                at(4, depmap(), claim=None),
            ],
            "target 'Gene AAA1 is nice.' or its fields, but",
        ),
        ([at(2, depmap()), at(2, depmap(), user_prompt="other")], "a second prompt .* for k = 2"),
    ],
)
def test_malformed_rows(tmp_path: Path, rows: list[Row], message: str) -> None:
    path = tmp_path / "made.parquet"
    texts = [
        {
            name: json.dumps(value)
            if name in ("target", "stubs") and isinstance(value, dict | list)
            else value
            for name, value in row.items()
        }
        for row in rows
    ]
    write_nested(path, texts)
    with pytest.raises(DataError, match=message) as caught:
        import_edb([path])
    assert str(caught.value).startswith("made.parquet row")


def test_kind_that_cannot_be_told(imported: Imported) -> None:
    row = depmap()
    row["stubs"][0] |= {"modality": None, "result": {"score": "-1"}}
    with pytest.raises(
        DataError, match=r"stub 1: the kind of assay '' .*cannot be told.*\[fields.depmap"
    ):
        imported(row)


def test_stub_without_a_result(imported: Imported) -> None:
    row = depmap()
    row["stubs"][2]["result"] = None
    with pytest.raises(DataError, match=r"stub 3: .* result cannot be told.* results found: \[\]"):
        imported(row)


def test_columns_that_are_missing_are_listed(tmp_path: Path) -> None:
    path = write_json(tmp_path / "made.parquet", [depmap()])
    pq.write_table(
        pq.read_table(path).rename_columns({"episode_id": "key", "stubs": "shown"}), path
    )
    with pytest.raises(DataError) as caught:
        import_edb([path])
    message = str(caught.value)
    assert "no column for ['episode', 'stubs or user']" in message
    assert "Columns found: ['key', 'domain', 'split', 'label', 'target', 'shown']" in message
    assert "episode: episode_id, episode, id" in message
    assert "[columns]" in message


def test_columns_and_labels_are_mapped_by_a_file(tmp_path: Path) -> None:
    row = depmap()
    for stub in row["stubs"]:
        stub["gene"] = {"symbol of the gene": stub["gene"]["Gene"]}
    path = write_json(tmp_path / "made.parquet", [row])
    pq.write_table(
        pq.read_table(path).rename_columns({"episode_id": "key", "stubs": "shown"}), path
    )
    toml = tmp_path / "map.toml"
    toml.write_text(
        '[columns]\nepisode = "key"\nstubs = ["nothing", "shown"]\n'
        '[fields.depmap]\n"symbol of the gene" = "Gene"\n'
    )
    file = import_edb([path], read_mapping(toml))
    genes = [stub.experiment.fields["gene"] for stub in file.episodes[0].pool]
    assert genes == ["AAA1", "AAA1", "BBB2", "CCC3"]
    assert file.info["inputs"][0]["columns"]["stubs"] == "shown"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns", "not a TOML file"),
        ("[colums]", r"unknown table \['colums'\]; known: \['columns', 'fields'\]"),
        ('[columns]\nepisodes = "a"', r"unknown role in \[columns\] \['episodes'\]"),
        ("[columns]\nepisode = 1", "episode = 1; give a name or a list of names"),
        ("[columns]\nepisode = [1]", "give a name or a list"),
        ("[fields.proteome]", r"unknown domain in \[fields\] \['proteome'\]"),
        ('[fields.tahoe]\n"a" = 1', r"\[fields.tahoe\] 'a' = 1; give a label"),
        ('columns = "a"', "write it as a table"),
    ],
)
def test_malformed_mappings(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "map.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_mapping(path)


def test_a_label_that_is_mapped_to_nothing_is_left_out(imported: Imported) -> None:
    row = result(**{"P(dependency)": "unknown"})
    fields = {"depmap": {"P(dependency)": ""}}
    file = imported(row, mapping=ColumnMapping(fields=fields))
    assert file.episodes[0].pool[0].outcome.fields == {"chronos": -0.71}
    assert file.info["unused_labels"] == {"P(dependency)": 3}


def test_a_mapped_column_that_the_file_lacks(tmp_path: Path) -> None:
    toml = tmp_path / "map.toml"
    toml.write_text('[columns]\nk = "kk"')
    path = write_json(tmp_path / "made.parquet", [depmap()])
    with pytest.raises(DataError, match=r"no column for \['k'\](.|\n)*k: kk"):
        import_edb([path], read_mapping(toml))


def test_rendered_text_in_the_column_of_stubs_is_mapped_away(
    tmp_path: Path, imported: Imported
) -> None:
    (episode,) = imported(depmap()).episodes
    prompt = belief_prompt(episode.target, episode.pool)
    row = at(4, depmap(), system_prompt=prompt.system, user_prompt=prompt.user)
    path = write_nested(tmp_path / "made.parquet", [{**row, "target": "", "stubs": prompt.user}])
    with pytest.raises(DataError, match=r"stubs are a str.*write stubs = \[\] in \[columns\]"):
        import_edb([path])
    toml = tmp_path / "map.toml"
    toml.write_text("[columns]\nstubs = []\n")
    assert import_edb([path], read_mapping(toml)).episodes == (episode,)


def test_domain_that_nothing_tells(tmp_path: Path) -> None:
    row = {key: value for key, value in depmap().items() if key != "domain"}
    path = write_json(tmp_path / "made.parquet", [row])
    with pytest.raises(DataError, match="no column for the domain, and its path does not name one"):
        import_edb([path])


def test_user_prompts_without_system_prompts_are_not_kept(imported: Imported) -> None:
    row = {key: value for key, value in at(4, depmap()).items() if key != "system_prompt"}
    file = imported(row)
    assert file.prompts == ()
    assert any("not kept" in note for note in file.info["notes"])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no files to import"):
        import_edb([])
    with pytest.raises(DataError, match="no such file"):
        import_edb([tmp_path / "a.parquet"])
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(DataError, match="not a parquet file, or a damaged one"):
        import_edb([tmp_path / "a.parquet"])
    empty = pa.Table.from_pylist([depmap()]).slice(0, 0)
    pq.write_table(empty, tmp_path / "depmap.parquet")
    with pytest.raises(DataError, match="no rows; leave the file out"):
        import_edb([tmp_path / "depmap.parquet"])


def test_user_prompt_that_cannot_be_read(tmp_path: Path) -> None:
    row = {key: value for key, value in at(4, depmap()).items() if key not in ("stubs", "target")}
    path = write_nested(tmp_path / "made.parquet", [row])
    with pytest.raises(DataError, match=r"made.parquet row 1 .*, user prompt: "):
        import_edb([path])
