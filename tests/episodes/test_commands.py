"""The commands that build, bring in, combine and show episodes, end to end."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from bed.cli.app import app
from bed.episodes import EpisodeFile, read_episodes, write_episodes
from bed.episodes.imports import EXAMPLES, export_jsonl
from bed.errors import DataError
from bed.evidence import Episode

runner = CliRunner()


def run(*arguments: object) -> str:
    """Run a command that must succeed and return what it printed."""
    done = runner.invoke(app, ["episodes", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, small_file: EpisodeFile) -> Path:
    path = tmp_path_factory.mktemp("commands") / "episodes.parquet"
    write_episodes(path, small_file)
    return path


@pytest.fixture(scope="module")
def first(small_file: EpisodeFile) -> Episode:
    return next(episode for episode in small_file.episodes if episode.split == "test")


def prompt(*arguments: object) -> tuple[str, str]:
    """The system and the user part of `bed episodes show --as prompt`."""
    system, _, user = run("show", *arguments, "--as", "prompt").partition("--- user ---\n")
    return system.removeprefix("--- system ---\n"), user


@pytest.mark.parametrize("domain", ["expression", "tahoe"])
def test_expression_and_its_alias(domain: str, shared_data: Path, tmp_path: Path) -> None:
    table = shared_data / "data" / "expression" / "top2i_cardiomyocyte_deseq2.parquet"
    out = tmp_path / "e.parquet"
    mapping = ("--column", "perturbation=drug", "--column", "context=time")
    told = run("build", domain, "--table", table, *mapping, "--max-episodes", 60, "--out", out)
    assert "60 episodes (36 train, 6 validation, 18 test)" in told
    assert {e.target.domain for e in read_episodes(out).episodes} == {"expression"}
    checked = runner.invoke(app, ["episodes", "check", str(out)])
    assert checked.exit_code == 0
    sizes = {len(episode.pool) for episode in read_episodes(out).episodes}
    assert max(sizes) < 16
    assert f"of {max(sizes)}" in checked.stdout


def test_gwas(shared_data: Path, tmp_path: Path) -> None:
    table = shared_data / "data" / "gwas" / "gwas_catalog_2015-06-08.tsv.gz"
    out = tmp_path / "g.parquet"
    told = run("build", "gwas", "--associations", table, "--out", out, "--min-related", 2)
    assert "balance within trait, direction and number of related stubs" in told
    assert read_episodes(out).info["min_related"] == 2
    assert runner.invoke(app, ["episodes", "check", str(out)]).exit_code == 0


@pytest.mark.parametrize(("suffix", "form"), [(".jsonl", "jsonl"), (".csv", "csv")])
def test_the_schema_s_example_can_be_imported(suffix: str, form: str, tmp_path: Path) -> None:
    source, out = tmp_path / f"own{suffix}", tmp_path / "own.parquet"
    source.write_text(EXAMPLES[form])
    assert EXAMPLES[form].strip().splitlines()[0] in run("schema", form)
    assert "episodes" in run("import", "own", source, "--out", out)
    found = read_episodes(out)
    assert found.episodes
    _, user = prompt(out, "--id", found.episodes[0].id)
    assert found.episodes[0].target.text in user


def test_export_and_import_give_the_same_file(
    small_file: EpisodeFile, built: Path, tmp_path: Path
) -> None:
    export_jsonl(small_file, tmp_path / "all.jsonl")
    run("import", "own", tmp_path / "all.jsonl", "--out", tmp_path / "back.parquet")
    assert (tmp_path / "back.parquet").read_bytes() == built.read_bytes()


def test_combine(built: Path, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(EXAMPLES["jsonl"])
    run("import", "own", tmp_path / "own.jsonl", "--out", tmp_path / "own.parquet")
    told = run("combine", built, tmp_path / "own.parquet", "--out", tmp_path / "both.parquet")
    assert "depmap: 238 episodes" in told
    assert set(read_episodes(tmp_path / "both.parquet").by_domain()) == {"depmap", "generic"}


def test_belief_prompts(built: Path, first: Episode) -> None:
    system, user = prompt(built, "--id", first.id, "--known", 3)
    assert system.rstrip().endswith("<probability>0.XX</probability>")
    assert "[3] " in user
    assert "[4] " not in user
    assert first.target.text in user
    thinking, same = prompt(built, "--id", first.id, "--known", 3, "--thinking")
    assert thinking != system
    assert same == user


def test_choice_prompts_hide_results(built: Path, first: Episode) -> None:
    _, user = prompt(built, "--id", first.id, "--role", "choice", "--known", 2)
    known, _, candidates = user.partition("CANDIDATE NEXT EXPERIMENTS")
    assert known.count("Result:") == 2
    assert "Result:" not in candidates
    assert "[13] " in candidates
    assert "[14] " not in candidates


def test_simulation_prompts(built: Path, first: Episode) -> None:
    local = first.pool[4].experiment.hypothesis.text
    _, user = prompt(built, "--id", first.id, "--role", "simulate", "--stub", 5, "--known", 1)
    assert f"TARGET HYPOTHESIS\n=================\n\n{local}" in user
    assert "that supports the target hypothesis" in user
    _, against = prompt(built, "--id", first.id, "--role", "simulate", "--unsupported")
    assert "that does not support the target hypothesis" in against


def test_another_system_prompt_is_taken_to_the_letter(
    built: Path, first: Episode, tmp_path: Path
) -> None:
    own = tmp_path / "system.txt"
    own.write_text("Released wording, <probability> & all.\n")
    assert prompt(built, "--id", first.id, "--system", own)[0] == own.read_text() + "\n"


def test_released_prompts_are_shown_as_they_are(small_file: EpisodeFile, tmp_path: Path) -> None:
    released = ({2: {"system": "S", "user": "two"}, 5: {"system": "S", "user": "five"}},)
    write_episodes(tmp_path / "r.parquet", EpisodeFile(small_file.episodes[:1], {}, (), released))
    assert prompt(tmp_path / "r.parquet") == ("S\n", "five\n")
    assert prompt(tmp_path / "r.parquet", "--known", 2) == ("S\n", "two\n")
    arguments = ["episodes", "show", str(tmp_path / "r.parquet"), "--as", "prompt", "--known", "3"]
    with pytest.raises(DataError, match=r"know \[2, 5\] stubs"):
        runner.invoke(app, arguments, catch_exceptions=False)


def test_json(built: Path, first: Episode) -> None:
    shown = json.loads(run("show", built, "--id", first.id, "--as", "json"))
    assert shown["id"] == first.id
    assert len(shown["pool"]) == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--known", 17), r"--known 17 is outside 0\.\.16"),
        (("--known", 16, "--role", "choice"), "leaves no experiment"),
        (("--role", "simulate", "--stub", 17), r"--stub 17 is outside 1\.\.16"),
        (("--role", "simulate", "--stub", 2, "--known", 4), r"--stub 2 is outside 5\.\.16"),
        (("--system", "/nowhere"), "cannot be read as a system prompt"),
    ],
)
def test_what_cannot_be_shown(built: Path, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        prompt(built, *arguments)


def test_a_test_set_is_the_same_bytes_again(built: Path, tmp_path: Path) -> None:
    told = [run("testset", built, "--out", tmp_path / name) for name in ("a", "b")]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    rows = pq.read_table(tmp_path / "a").to_pandas()
    assert f"{len(rows)} rows" in told[0]
    primary = rows[rows["config"] == "primary"]
    digests = [hashlib.sha256(name.encode()).hexdigest() for name in primary["episode"]]
    assert digests == sorted(digests)
    assert primary["k"].tolist()[:16] == [*range(2, 17), 2]
    nested(rows[rows["config"] == "sensitivity"])


def nested(rows: pd.DataFrame) -> None:
    """Each episode is asked at 0..16 stubs, and each longer prompt begins like the shorter one."""
    for _, sweep in rows.groupby("episode"):
        assert sweep["k"].tolist() == list(range(17))
        context = [user.partition("\nTARGET HYPOTHESIS")[0] for user in sweep["user"]]
        for shorter, longer in pairwise(context[1:]):
            assert longer.startswith(shorter.rstrip())


def test_more_sweeps_than_episodes(built: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too few episodes"):
        run("testset", built, "--out", tmp_path / "t", "--num-sensitivity", 1000)


@pytest.mark.parametrize("command", ["import own", "testset", "combine", "import edb"])
def test_an_input_is_never_overwritten(command: str, built: Path, tmp_path: Path) -> None:
    path = tmp_path / "same.jsonl"
    path.write_bytes(built.read_bytes())
    arguments = [path, built] if command == "combine" else [path]
    with pytest.raises(DataError, match="is also an input"):
        run(*command.split(), *arguments, "--out", path)
    assert path.read_bytes() == built.read_bytes()


def test_results_in_words_are_shown(tmp_path: Path) -> None:
    line = {
        "hypothesis": "Water is wet.",
        "label": 1,
        "experiments": [{"hypothesis": "A towel gets damp.", "result": "It got damp."}],
    }
    (tmp_path / "own.jsonl").write_text(json.dumps(line))
    told = run("import", "own", tmp_path / "own.jsonl", "--out", tmp_path / "own.parquet")
    assert "bed episodes check" in told
    assert "not known" in run("show", tmp_path / "own.parquet")


def test_statistics_are_no_perturbations(tmp_path: Path) -> None:
    table = tmp_path / "one.csv"
    table.write_text("gene,baseMean,log2FoldChange,padj\nA,10,1.5,0.01\nB,20,-0.5,0.2\n")
    with pytest.raises(DataError, match="are statistics of one contrast, not perturbations"):
        run(
            "build", "expression", "--table", table, "--fixed-context", "X", "--out", tmp_path / "o"
        )


def test_a_column_named_on_purpose_must_be_there(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("gene,perturbation,context,log2FoldChange,padj\nA,D,C,1.5,0.01\n")
    options = ("--table", table, "--column", "base_mean=typo", "--out", tmp_path / "o")
    with pytest.raises(DataError, match="typo"):
        run("build", "expression", *options)


def test_fields_do_not_tell_the_result(tmp_path: Path) -> None:
    experiment = {"hypothesis": "h'", "fields": {"supported": True}, "result": "seen"}
    line = {"hypothesis": "h", "label": 1, "experiments": [experiment]}
    (tmp_path / "own.jsonl").write_text(json.dumps(line))
    with pytest.raises(DataError, match="would show the result before"):
        run("import", "own", tmp_path / "own.jsonl", "--out", tmp_path / "o")
