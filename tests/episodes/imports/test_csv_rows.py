"""A user's own episodes as CSV."""

from typing import Any

import pytest

from bed.domains import reading
from bed.episodes.imports import EXAMPLES, import_plain
from bed.errors import DataError
from tests.episodes.imports.conftest import Write

HEADER, FIRST, *_ = EXAMPLES["csv"].splitlines()


COLUMNS = HEADER.split(",")


def row(**cells: str) -> str:
    """The first row of the example with some cells changed."""
    found = dict(zip(COLUMNS, FIRST.split(","), strict=True)) | cells
    return ",".join(found.values())


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


SHORT = "episode,hypothesis,label,local_hypothesis"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("001", "12"), ("001", "12")),
        (("1E5", "7"), ("1E5", "7")),
        (("1_0", "a"), ("1_0", "a")),
        (("0.5", "1e-05"), (0.5, 1e-05)),
        (("-3", "n.s."), (-3, "n.s.")),
    ],
    ids=["leading zeros", "ids like powers", "underscores", "numbers", "numbers and words"],
)
def test_a_column_of_ids_stays_text(
    write: Write, cells: tuple[str, ...], expected: tuple[Any, ...]
) -> None:
    rows = [f"{number},h,1,x,yes,{cell}" for number, cell in enumerate(cells)]
    text = "\n".join([f"{SHORT},supported,field.sample", *rows])
    episodes = import_plain(write("a.csv", text)).episodes
    found = tuple(episode.pool[0].experiment.fields["sample"] for episode in episodes)
    assert found == expected
    assert [*map(type, found)] == [*map(type, expected)]


def depmap_csv(gene: str, chronos: str) -> str:
    header = f"{SHORT},domain,tier,field.gene,field.kind,outcome.chronos"
    return f"{header}\ne,h,1,x,depmap,2,{gene},knockout,{chronos}\n"


@pytest.mark.parametrize("gene", ["1017", "001", "1E5", "true"])
def test_names_that_the_domain_knows_are_text(write: Write, gene: str) -> None:
    (episode,) = import_plain(write("a.csv", depmap_csv(gene, "-1"))).episodes
    assert episode.pool[0].experiment.fields["gene"] == gene
    assert episode.pool[0].outcome.fields == {"chronos": -1.0}


@pytest.mark.parametrize("chronos", ["low", "-0_7", "true"])
def test_numbers_that_the_domain_knows_are_numbers(write: Write, chronos: str) -> None:
    with pytest.raises(
        DataError, match=f"line 2: column 'outcome.chronos': '{chronos}' is not a number; write it"
    ):
        import_plain(write("a.csv", depmap_csv("AAA1", chronos)))


def test_a_flag_among_the_outcomes(write: Write) -> None:
    text = f"{SHORT},outcome.supported\ne,h,1,x,yes\n"
    with pytest.raises(DataError, match="line 2: supported 'yes' in the result must be true or"):
        import_plain(write("a.csv", text))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(label="2")], r"line 2: column 'label' of 'caffeine-1' is '2'; write 0 or 1"),
        ([row(label="")], "column 'label' of 'caffeine-1' is None; write 0 or 1"),
        ([row(label="NaN")], "line 2: column 'label' is 'NaN', which is no number"),
        ([row(hypothesis="")], "column 'hypothesis' is blank in every row of 'caffeine-1'"),
        ([row(episode="")], "line 2: column 'episode' is blank"),
        ([row(local_hypothesis="")], "line 2: column 'local_hypothesis' is blank"),
        ([row(supported="perhaps")], "column 'supported' is 'perhaps'; write true or false"),
        ([row(supported="", result="")], "no result"),
        ([row(cost="cheap")], "column 'cost': 'cheap' is not a number; write it like"),
        ([row(cost="1_0")], "column 'cost': '1_0' is not a number"),
        ([row(cost="nan")], "column 'cost' is 'nan', which is no number; leave it out"),
        ([FIRST, row(experiment="b", cost="0")], "line 3: experiment 'b': cost 0.0 must be finite"),
        ([row(tier="-5")], "line 2: tier -5 must be a whole number from 1 to 100"),
        ([row(cost="-1")], "cost -1.0 must be finite and above 0"),
        ([row(tier="1.5")], "column 'tier': '1.5' is not a whole number"),
        ([row(split="dev")], "split 'dev' is not one of the three"),
        ([FIRST, row(experiment="b", label="0")], "line 3: column 'label' is '0', but an earlier"),
        ([FIRST, FIRST], r"duplicate experiment ids \['lab'\]"),
        ([FIRST + ",more"], "line 2: 12 cells under 11 columns"),
        (["only one"], "line 2: 1 cells under 11 columns"),
        ([FIRST, 'x,"never closed'], "line 3: .*is a quote missing"),
        ([row(**{"field.kind": "NaN"})], "line 2: column 'field.kind' is 'NaN', which is no"),
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
        (HEADER.replace(",", ";"), "cells are separated by semicolons; save it with commas"),
        (HEADER.replace(",", "\t"), "cells are separated by tabs; save it with commas"),
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
