import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bed.domains import reading
from bed.episodes import EpisodeFile, read_episodes, write_episodes
from bed.episodes.imports import EXAMPLES, export_jsonl, import_plain
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub

Write = Callable[..., Path]

RECORD: dict[str, Any] = json.loads(EXAMPLES["jsonl"].splitlines()[0])
HEADER, FIRST, *_ = EXAMPLES["csv"].splitlines()
COLUMNS = HEADER.split(",")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def changed(**values: Any) -> dict[str, Any]:
    return {**RECORD, **values}


def first_experiment(**values: Any) -> dict[str, Any]:
    experiments = RECORD["experiments"]
    return changed(experiments=[{**experiments[0], **values}, *experiments[1:]])


def without(data: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != name}


def test_example_of_jsonl(write: Write) -> None:
    file = import_plain(write("mine.jsonl", EXAMPLES["jsonl"]))
    first, second = file.episodes
    assert (first.id, first.label, first.split, first.unit) == (
        "caffeine-1",
        1,
        "test",
        "caffeine-1",
    )
    assert first.target == Hypothesis("Caffeine lowers the reaction time of tired drivers.")
    lab, survey = first.pool
    assert (lab.experiment.id, lab.experiment.cost, survey.experiment.cost) == ("lab", 2.5, 1.0)
    assert (first.tiers, first.tags) == ((2, 1), ("evidence of tier 2", "evidence of tier 1"))
    assert lab.outcome.fields["result"].startswith("reaction time fell by 12 ms")
    assert [
        reading(*pair).supported for pair in ((s.experiment, s.outcome) for s in first.pool)
    ] == [
        True,
        False,
    ]
    assert (second.id, second.split, second.pool[0].experiment.id) == ("mine-2", "train", "x1")
    assert file.info["counts"] == {"test": 1, "train": 1}
    assert file.info["inputs"][0]["file"] == "mine.jsonl"


def test_example_of_csv(write: Write) -> None:
    file = import_plain(write("mine.csv", EXAMPLES["csv"]))
    first, second = file.episodes
    assert [stub.experiment.id for stub in first.pool] == ["lab", "survey"]
    assert first.pool[1].outcome.fields == {"result": "odds ratio 0.97", "supported": False}
    assert first.pool[1].experiment.fields == {"kind": "survey", "tier": 1}
    assert (second.id, second.label, second.pool[0].experiment.id) == ("nap-1", 0, "x1")


def test_rows_of_an_episode_need_not_be_neighbours(write: Write) -> None:
    header, first, second, nap = EXAMPLES["csv"].splitlines()
    apart = import_plain(write("a.csv", "\n".join([header, first, nap, second])))
    together = import_plain(write("b.csv", EXAMPLES["csv"]))
    assert apart.episodes == together.episodes


@pytest.mark.parametrize(
    ("name", "text"), [("a.jsonl", EXAMPLES["jsonl"]), ("a.csv", EXAMPLES["csv"])]
)
def test_byte_order_mark_and_windows_line_ends(write: Write, name: str, text: str) -> None:
    plain = import_plain(write(name, text))
    odd = import_plain(write(name, "\ufeff" + text.replace("\n", "\r\n")))
    assert odd.episodes == plain.episodes


def test_line_separators_inside_a_text(write: Write) -> None:
    said = "one\u2028two\u0085three"
    path = write("a.jsonl", json.dumps(changed(hypothesis=said), ensure_ascii=False))
    assert import_plain(path).episodes[0].target.text == said


def test_structured_domain_from_csv(write: Write) -> None:
    header = "episode,hypothesis,label,domain,local_hypothesis,outcome.chronos,tier"
    for part in ("target", "local", "field"):
        header += "".join(f",{part}.{name}" for name in ("gene", "cell_line", "lineage"))
    header += ",target.claim,local.claim,field.kind"
    cells = "e,AAA1 is a dependency of LINE1,0,depmap,AAA1 is a dependency of LINE2,-0.7,"
    cells += ",AAA1,LINE1,Lung,AAA1,LINE2,Lung,AAA1,LINE2,Lung,dependency,dependency,knockout"
    (episode,) = import_plain(write("a.csv", f"{header}\n{cells}\n")).episodes
    assert episode.tiers == (1,)
    assert episode.tags == ("target gene knocked out in a different cell line of the same lineage",)
    assert reading(episode.pool[0].experiment, episode.pool[0].outcome).supported
    stated = import_plain(write("b.csv", f"{header}\n{cells.replace('-0.7,', '-0.7,4')}\n"))
    assert stated.episodes[0].tiers == (4,)
    assert stated.episodes[0].pool[0].experiment.fields["stated_relation"]["tier"] == 4


def test_cells_are_json_where_they_can_be(write: Write) -> None:
    header = "episode,hypothesis,label,local_hypothesis,supported,field.n,field.s,field.l,field.b"
    row = 'e,h,1,x,yes,3,"""19""","[1, ""a""]",true'
    (episode,) = import_plain(write("a.csv", f"{header}\n{row}\n")).episodes
    fields = episode.pool[0].experiment.fields
    assert fields == {"n": 3, "s": "19", "l": (1, "a"), "b": True}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (changed(label=2), r"line 1: episode 'caffeine-1': label 2 must be 0 or 1"),
        (changed(label="1"), "label '1' must be 0 or 1"),
        (changed(label=True), "label True must be 0 or 1"),
        (changed(label=None), "label None must be 0 or 1"),
        (without(RECORD, "label"), r"line 1: lacks \['label'\]; found"),
        (without(RECORD, "hypothesis"), r"lacks \['hypothesis'\]"),
        (changed(experiments=[]), r"experiments is \[\]; list one or more"),
        (changed(experiments=None), "experiments is None"),
        (changed(hypotesis="typo"), r"unknown keys \['hypotesis'\]; known: \['id', 'hypothesis'"),
        (changed(split="tset"), "split 'tset' is not one of the three"),
        (changed(split=1), "split 1 must be text"),
        (changed(id=""), "id '' must be text and not empty"),
        (changed(unit=7), "unit 7 must be text"),
        (changed(hypothesis=" "), "Hypothesis.text must be text and not empty, got ' '"),
        (changed(hypothesis=3), "hypothesis is 3; expected an object"),
        (changed(hypothesis={"text": "t", "domain": "gwass"}), "unknown domain 'gwass'; use one"),
        (changed(hypothesis={"text": "t", "gene": "A"}), r"unknown keys \['gene'\]"),
        (changed(held_out=1), "held_out is 1; expected an object"),
        (changed(prompts={"two": {"system": "", "user": ""}}), "'two' is not a number of stubs"),
        (changed(prompts={"2": {"system": ""}}), r"prompts: 2: lacks \['user'\]"),
        (changed(prompts={"2": {"system": "", "user": 1}}), "must hold texts"),
        (first_experiment(cost=0), "experiment 1: experiment 'lab': cost 0 must be finite"),
        (first_experiment(cost="2"), "cost '2' must be finite"),
        (first_experiment(tier=0), "experiment 1: tier 0 must be a whole number, 1 or more"),
        (first_experiment(tier=True), "tier True must be a whole number"),
        (first_experiment(fields={"tier": 5}), "tier 2, but fields say tier 5; drop one"),
        (first_experiment(supported="yes"), "supported 'yes' must be true or false"),
        (first_experiment(result={"supported": False}), "supported is True, but result is"),
        (first_experiment(result=["a"]), r"supported is True, but result is \['a'\]"),
        (first_experiment(fields={"a": {"b": [1, {"c": "NaN"}]}}), None),
        (first_experiment(is_repeatable=1), "is_repeatable must be True or False"),
        (first_experiment(id="survey"), r"duplicate experiment ids \['survey'\]"),
        (first_experiment(outcome="x"), r"experiment 1: unknown keys \['outcome'\]"),
        (first_experiment(relation={"tier": "1", "tag": ""}), "must hold a tier, 1 or more"),
        (
            changed(experiments=[{"hypothesis": "x"}]),
            r"experiment 1: no result \(None\); give it in words",
        ),
        (changed(experiments=[{"hypothesis": "x", "result": {}}]), r"no result \(\{\}\)"),
        (changed(experiments=["x"]), "experiment 1 is 'x'; expected an object"),
        ([], r"line 1 is \[\]; expected an object"),
    ],
)
def test_malformed_json_lines(write: Write, record: Any, message: str | None) -> None:
    path = write("mine.jsonl", lines(record))
    if message is None:
        assert import_plain(path).episodes
        return
    with pytest.raises(DataError, match=message) as caught:
        import_plain(path)
    assert str(caught.value).startswith("mine.jsonl line 1")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"hypothesis": "cut of', "line 2: not whole JSON .*ends in '.*cut of'"),
        ('{"hypothesis": "h", "label": NaN}', "line 2: bare NaN is no JSON"),
        ('{"label": 1, "label": 0}', r"line 2: keys \['label'\] stand twice"),
        ("[" * 100_000, "line 2: nested too deeply"),
        ('{"hypothesis": "\\ud800"}', "line 2: half a surrogate pair"),
        ('{"info": {}}', "line 2: unknown keys"),
    ],
)
def test_malformed_lines_are_named(write: Write, line: str, message: str) -> None:
    path = write("mine.jsonl", lines(RECORD) + line + "\n")
    with pytest.raises(DataError, match=message):
        import_plain(path)


def test_duplicate_episode_ids(write: Write) -> None:
    with pytest.raises(DataError, match=r"duplicate episode ids \['caffeine-1'\]"):
        import_plain(write("a.jsonl", lines(RECORD, RECORD)))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_empty_file(write: Write, name: str) -> None:
    with pytest.raises(DataError, match="no episodes"):
        import_plain(write(name, ""))


def test_files_that_cannot_be_read(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.jsonl cannot be read: No such file"):
        import_plain(tmp_path / "a.jsonl")
    with pytest.raises(DataError, match="byte 3 is not UTF-8"):
        import_plain(write("a.csv", b"abc\xff"))
    with pytest.raises(DataError, match=r"suffix '.json' is unknown; name the file \*.jsonl"):
        import_plain(write("a.json", "{}"))


def row(**cells: str) -> str:
    """The first row of the example with some cells changed."""
    found = dict(zip(COLUMNS, FIRST.split(","), strict=True)) | cells
    return ",".join(found.values())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(label="2")], r"line 2: column 'label' of 'caffeine-1' is '2'; write 0 or 1"),
        ([row(label="")], "column 'label' of 'caffeine-1' is None; write 0 or 1"),
        ([row(label="NaN")], "is 'NaN'; write 0 or 1"),
        ([row(hypothesis="")], "column 'hypothesis' is blank in every row of 'caffeine-1'"),
        ([row(episode="")], "line 2: column 'episode' is blank"),
        ([row(local_hypothesis="")], "line 2: column 'local_hypothesis' is blank"),
        ([row(supported="perhaps")], "column 'supported' is 'perhaps'; write true or false"),
        ([row(supported="", result="")], "no result"),
        ([row(cost="cheap")], "column 'cost' is 'cheap', not a number"),
        ([row(cost="nan")], "cost nan must be finite"),
        ([row(cost="-1")], "cost -1.0 must be finite and above 0"),
        ([row(tier="1.5")], "column 'tier' is '1.5', not a number"),
        ([row(split="dev")], "split 'dev' is not one of the three"),
        ([FIRST, row(experiment="b", label="0")], "line 3: column 'label' is '0', but an earlier"),
        ([FIRST, FIRST], r"duplicate experiment ids \['lab'\]"),
        ([FIRST + ",more"], "line 2: 12 cells under 11 columns"),
        (["only one"], "line 2: 1 cells under 11 columns"),
        ([FIRST, 'x,"never closed'], "line 3: .*is a quote missing"),
        ([row(**{"field.kind": "NaN"})], "line 2: column 'field.kind': bare NaN"),
    ],
)
def test_malformed_rows(write: Write, rows: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        import_plain(write("mine.csv", "\n".join([HEADER, *rows]) + "\n"))
    assert str(caught.value).startswith("mine.csv line")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (HEADER.replace("cost", "price"), r"unknown columns \['price'\]; known: \['episode'"),
        (HEADER.replace(",", ";"), "unknown columns .* with commas between them"),
        (HEADER.replace("tier", "cost"), r"columns \['cost'\] stand twice"),
        (HEADER.replace("label,", ""), r"lacks the columns \['label'\]"),
        (HEADER.replace("field.kind", "field."), r"unknown columns \['field\.'\]"),
    ],
)
def test_malformed_headers(write: Write, header: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        import_plain(write("mine.csv", f"{header}\n{FIRST}\n"))


def test_result_that_stands_in_two_columns(write: Write) -> None:
    text = "episode,hypothesis,label,local_hypothesis,result,outcome.result\ne,h,1,x,up,down\n"
    with pytest.raises(DataError, match=r"'result' and 'outcome.result' both speak"):
        import_plain(write("mine.csv", text))


def test_several_domains_have_an_account_each(write: Write) -> None:
    other = {"text": "t", "domain": "tahoe"}
    stated = [{"hypothesis": "x", "result": "r", "tier": 1}]
    record = {"hypothesis": other, "label": 0, "experiments": stated}
    file = import_plain(write("a.jsonl", lines(RECORD, record)))
    assert {name: part["counts"] for name, part in file.info["parts"].items()} == {
        "expression": {"test": 1},
        "generic": {"test": 1},
    }


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
