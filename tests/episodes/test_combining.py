"""Files of several domains: parts with their own accounts."""

from dataclasses import replace
from pathlib import Path

import pytest

from bed.episodes import EpisodeFile, read_episodes, write_episodes
from bed.episodes.combining import combined
from bed.episodes.synthetic import sample_world_episodes
from bed.errors import DataError
from bed.evidence import Hypothesis


@pytest.fixture
def parts(tmp_path: Path, small_file: EpisodeFile) -> list[Path]:
    paths = [tmp_path / "depmap.parquet", tmp_path / "world.parquet"]
    write_episodes(paths[0], small_file)
    write_episodes(paths[1], EpisodeFile(sample_world_episodes("graded", 4, 0).episodes))
    return paths


def test_a_part_comes_back_as_it_was(
    parts: list[Path], tmp_path: Path, small_file: EpisodeFile
) -> None:
    write_episodes(tmp_path / "both.parquet", combined(parts[::-1]))
    found = read_episodes(tmp_path / "both.parquet").by_domain()
    assert list(found) == ["depmap", "world"]
    assert found["depmap"].episodes == small_file.episodes
    assert found["depmap"].held_out == small_file.held_out
    assert found["depmap"].info == read_episodes(parts[0]).info
    assert len(found["world"].episodes) == 4


def test_the_order_of_the_files_does_not_matter(parts: list[Path], tmp_path: Path) -> None:
    for name, paths in (("a", parts), ("b", parts[::-1])):
        write_episodes(tmp_path / name, combined(paths))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_domain_in_two_files_is_refused(parts: list[Path]) -> None:
    with pytest.raises(DataError, match="both hold depmap episodes"):
        combined([parts[0], *parts])


def test_one_file_is_nothing_to_combine(parts: list[Path]) -> None:
    with pytest.raises(DataError, match="1 file to combine"):
        combined(parts[:1])


def test_an_alias_is_one_domain_with_its_name(small_file: EpisodeFile) -> None:
    pair = [
        replace(episode, id=domain, target=Hypothesis("h", domain))
        for episode, domain in zip(small_file.episodes, ("tahoe", "expression"), strict=False)
    ]
    assert list(EpisodeFile(tuple(pair)).by_domain()) == ["expression"]


PROMPTS: tuple[dict[int, dict[str, str]], ...] = (
    {0: {"system": "s", "user": "u"}, 2: {"system": "s", "user": "<µ>"}},
    {},
)


def test_released_prompts_are_kept_to_the_letter(small_file: EpisodeFile, tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    write_episodes(path, EpisodeFile(small_file.episodes[:2], {}, (), PROMPTS))
    assert read_episodes(path).prompts == PROMPTS
    first = small_file.episodes[0].id
    assert read_episodes(path, ids=[first]).prompts == PROMPTS[:1]


def test_prompts_of_another_length(small_file: EpisodeFile) -> None:
    with pytest.raises(DataError, match="2 prompts for 3 episodes"):
        EpisodeFile(small_file.episodes[:3], {}, (), PROMPTS)


def test_files_with_and_without_prompts_combine(
    parts: list[Path], tmp_path: Path, small_file: EpisodeFile
) -> None:
    write_episodes(parts[0], EpisodeFile(small_file.episodes[:2], {}, (), PROMPTS))
    found = combined(parts)
    assert found.prompts == (*PROMPTS, {}, {}, {}, {})
