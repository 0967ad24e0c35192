"""What is exported is read back."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bed.episodes import EpisodeFile, read_episodes, write_episodes
from bed.episodes.imports import export_jsonl, import_plain
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub


def test_round_trip_of_a_built_file(tmp_path: Path, small_file: EpisodeFile) -> None:
    export_jsonl(small_file, tmp_path / "e.jsonl")
    assert import_plain(tmp_path / "e.jsonl") == small_file


def test_round_trip_with_prompts_through_both_forms(
    tmp_path: Path, small_file: EpisodeFile
) -> None:
    prompts = tuple({k: {"system": "S", "user": f"U{k}\n"} for k in (0, 2)} for _ in range(3))
    file = EpisodeFile(small_file.episodes[:3], small_file.info, small_file.held_out[:3], prompts)
    export_jsonl(file, tmp_path / "e.jsonl")
    back = import_plain(tmp_path / "e.jsonl")
    assert back == file
    write_episodes(tmp_path / "e.parquet", back)
    assert read_episodes(tmp_path / "e.parquet").prompts == prompts


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec="utf-8")).filter(
        lambda text: text not in ("NaN", "Infinity", "-Infinity")
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=6,
)


FIELDS = st.dictionaries(st.text("xyz", min_size=1), VALUES, max_size=3).map(Fields)


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(
    lambda text: text.strip() and text not in ("NaN", "Infinity", "-Infinity")
)


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    size = draw(st.integers(1, 3))
    pool = tuple(
        Stub(
            Experiment(
                f"x{i}",
                Hypothesis(draw(TEXTS), "generic", draw(FIELDS)),
                draw(st.floats(1e-300, 1e300)),
                draw(st.booleans()),
                draw(FIELDS),
            ),
            Outcome(Fields(draw(FIELDS), shown=draw(VALUES))),
        )
        for i in range(size)
    )
    return Episode(
        draw(TEXTS),
        Hypothesis(draw(TEXTS), "generic", draw(FIELDS)),
        draw(st.integers(0, 1)),
        pool,
        tuple(draw(st.integers(1, 6)) for _ in pool),
        tuple(draw(TEXTS) for _ in pool),
        draw(st.sampled_from(["train", "validation", "test"])),
        draw(TEXTS),
    )


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(episodes(), st.none() | FIELDS.map(Outcome))
def test_round_trip_of_anything(tmp_path: Path, episode: Episode, held_out: Outcome | None) -> None:
    file = EpisodeFile((episode,), {"notes": ["é\u2028"]}, (held_out,))
    export_jsonl(file, tmp_path / "e.jsonl")
    assert import_plain(tmp_path / "e.jsonl") == file


def test_exports_that_could_not_be_read_back(tmp_path: Path, small_file: EpisodeFile) -> None:
    first = small_file.episodes[0]
    empty = replace(first, pool=(), tiers=(), tags=())
    with pytest.raises(DataError, match="has no experiments; leave it out"):
        export_jsonl(EpisodeFile((empty,)), tmp_path / "e.jsonl")
    bare = replace(first, pool=(replace(first.pool[0], outcome=Outcome(Fields())), *first.pool[1:]))
    with pytest.raises(DataError, match="has an empty outcome"):
        export_jsonl(EpisodeFile((bare,)), tmp_path / "e.jsonl")
    with pytest.raises(DataError, match=r"suffix '.json'; an export ends in .jsonl"):
        export_jsonl(small_file, tmp_path / "e.json")
    assert list(tmp_path.iterdir()) == []
