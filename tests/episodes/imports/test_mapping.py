"""Names of columns and labels that differ from the defaults."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bed.episodes.imports import ColumnMapping, import_edb, read_mapping
from bed.errors import DataError
from bed.prompts import belief_prompt
from tests.episodes.imports.conftest import Imported
from tests.episodes.imports.released import at, depmap, result, write_json, write_nested


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
