"""What claims and rendered prompts say must be what the fields say."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bed.episodes.imports import export_jsonl, import_edb, import_plain
from bed.errors import DataError
from bed.evidence import Episode
from bed.prompts import Prompt, belief_prompt
from tests.episodes.imports import released
from tests.episodes.imports.conftest import Imported, Write
from tests.episodes.imports.released import CONTROL, Row, at, depmap, knockout, write_json

UNREAD = "prompts that came with the file, but in a layout that bed cannot check: {}; used as is"

DEPENDENCY = (
    "Gene {} is a dependency (essential for fitness) in cell line {}: a held-out genome-wide "
    "CRISPR knockout screen of LINE1 would score gene AAA1 at Chronos gene-effect <= -0.5 AND "
    "P(dependency) >= 0.5."
)
REGULATION = "Drug {} {}regulates gene {} in cell line {}."
EFFECT = (
    "SNP {} ({} allele) {} {}. A held-out GWAS would report p < 5e-8 for this SNP-trait pair with "
    "a consistent direction of effect."
)


def tahoe(**more: Any) -> Row:
    target = {"Drug": "D", "Gene": "G", "Cell line": "C-1", "direction": "up"}
    result = {"log2FoldChange": "0.7", "padj": "0.01"}
    stub = {"Drug": "D", "Gene": "G", "Cell line": "C-2", "result": result}
    row = {"episode_id": "t-1", "domain": "tahoe", "split": "test", "label": 0}
    return {**row, "target": target, "stubs": [stub], **more}


def gwas(**more: Any) -> Row:
    target = {"SNP": "rs1", "Trait": "body height", "allele": "A", "direction": "increases"}
    stub = {"SNP": "rs2", "Trait": "body height", "result": {"p": "3e-9"}}
    row = {"episode_id": "g-1", "domain": "gwas", "split": "test", "label": 1}
    return {**row, "target": target, "stubs": [stub], **more}


@pytest.mark.parametrize(
    ("row", "claim", "said"),
    [
        (depmap, DEPENDENCY.format("BBB2", "LINE1"), "says gene 'BBB2', but the fields say 'AAA1'"),
        (depmap, DEPENDENCY.format("AAA1", "L9"), "says cell_line 'L9', but the fields say 'LINE1"),
        (depmap, "BBB2 is essential in LINE1", "does not name the gene 'AAA1' of the fields"),
        (depmap, "AAA10 is essential in LINE1", "does not name the gene 'AAA1' of the fields"),
        (depmap, "AAA1 is essential here", "does not name the cell_line 'LINE1' of the fields"),
        (tahoe, REGULATION.format("X", "up", "G", "C-1"), "says perturbation 'X', but the fields"),
        (tahoe, REGULATION.format("D", "up", "ZZ", "C-1"), "says gene 'ZZ', but the fields say 'G"),
        (
            tahoe,
            REGULATION.format("D", "up", "G", "Q"),
            "says context 'Q', but the fields say 'C-1",
        ),
        (tahoe, REGULATION.format("D", "down", "G", "C-1"), "says direction 'down', but .* 'up'"),
        (tahoe, "In C-1, D down-regulates G", "goes the other way than direction 'up'"),
        (gwas, EFFECT.format("rs9", "A", "increases", "body height"), "says snp 'rs9', but the fi"),
        (gwas, EFFECT.format("rs1", "G", "increases", "body height"), "says allele 'G', but the f"),
        (gwas, EFFECT.format("rs1", "A", "decreases", "body height"), "says direction 'decreases'"),
        (gwas, EFFECT.format("rs1", "A", "increases", "weight"), "says trait 'weight', but the fi"),
        (gwas, "rs9 increases height", "does not name the snp 'rs1' of the fields"),
        (gwas, "rs1 decreases height", "goes the other way than direction 'increases'"),
    ],
)
def test_claims_that_contradict_the_fields(
    imported: Imported, row: Callable[..., Row], claim: str, said: str
) -> None:
    with pytest.raises(DataError, match=rf"^made.parquet row 1 .*: the claim .* {said}.*; mend"):
        imported(row(claim=claim))


@pytest.mark.parametrize(
    ("row", "claim"),
    [
        (depmap, DEPENDENCY.format("AAA1", "LINE1")),
        (depmap, "Line-1 cannot do without AAA1 (in LINE1)."),
        (tahoe, REGULATION.format("D", "up", "G", "C-1")),
        (tahoe, "G goes up under D in C1, or C 1, or c_1."),
        (gwas, EFFECT.format("rs1", "A", "increases", "body height")),
        (gwas, "rs1 makes people taller."),
    ],
)
def test_claims_that_agree_are_kept_to_the_letter(
    imported: Imported, row: Callable[..., Row], claim: str
) -> None:
    assert imported(row(claim=claim)).episodes[0].target.text == claim


@pytest.mark.parametrize("name", ["A upregulates gene B", "A in cell line B", "A: B", "A &lt; <b>"])
@pytest.mark.parametrize("field", ["Drug", "Gene", "Cell line"])
def test_names_that_read_like_a_claim(imported: Imported, field: str, name: str) -> None:
    target = {**tahoe()["target"], field: name}
    claim = REGULATION.format(target["Drug"], "up", target["Gene"], target["Cell line"])
    assert imported(tahoe(claim=claim, target=target)).episodes[0].target.text == claim


def test_own_claims_of_a_known_wording_are_held_to_their_fields(write: Write) -> None:
    claim = {"text": DEPENDENCY.format("BBB2", "LINE1"), "domain": "depmap"}
    fields = {"gene": "AAA1", "cell_line": "LINE1", "claim": "dependency"}
    record = {
        "hypothesis": {**claim, "fields": fields},
        "label": 1,
        "experiments": [{"hypothesis": "x", "tier": 1, "result": {"chronos": -0.4}}],
    }
    with pytest.raises(DataError, match=r"line 1: hypothesis: the claim .* says gene 'BBB2', but"):
        import_plain(write("a.jsonl", json.dumps(record)))


def rendered(row: Row, prompt: Prompt) -> Row:
    return {**row, "system_prompt": prompt.system, "user_prompt": prompt.user}


@pytest.fixture
def episode(imported: Imported) -> Episode:
    return imported(depmap()).episodes[0]


def other(**more: Any) -> Row:
    """The episode with another gene in the last stub."""
    row = depmap(**more)
    row["stubs"][-1] = knockout(CONTROL, "DDD4", "LINE1", "-0.02", "0.03")
    return row


@pytest.mark.parametrize(
    ("row", "num", "message"),
    [
        (depmap(), 3, "shows 3 pieces of evidence, but the episode has 4 there; mend one of them"),
        (
            other(),
            4,
            "shows evidence on .*gene 'ccc3'.*, but the episode has .*gene 'ddd4'",
        ),
        (
            depmap(target={"Gene": "BBB2", "Cell line": "LINE1"}),
            4,
            "its target says gene 'AAA1', but the fields say 'BBB2'; mend one of them",
        ),
        (
            depmap(target={"Gene": "AAA1", "Cell line": "LINE3"}),
            4,
            "its target says cell_line 'LINE1', but the fields say 'LINE3'; mend one of them",
        ),
    ],
    ids=["number of stubs", "another stub", "another gene", "another line"],
)
def test_prompts_that_are_not_of_their_row(
    imported: Imported, episode: Episode, row: Row, num: int, message: str
) -> None:
    # three stubs are of LINE1, which stays one of the pool's lines
    prompt = belief_prompt(episode.target, episode.pool[:num])
    with pytest.raises(DataError, match=rf"^made.parquet row 1 .*, user prompt: {message}"):
        imported(rendered(row, prompt))


def test_a_prompt_whose_claim_is_not_about_its_own_fields(
    imported: Imported, episode: Episode
) -> None:
    prompt = belief_prompt(episode.target, episode.pool)
    user = prompt.user.replace("Gene AAA1 is a dep", "Gene BBB2 is a dep")
    with pytest.raises(DataError, match=r"user prompt: the claim .* says gene 'BBB2', but"):
        imported(rendered(depmap(), Prompt(prompt.system, user)))


def test_prompts_that_agree_are_silent(tmp_path: Path, examples: list[dict[str, Any]]) -> None:
    rows = [released.from_example(example) for example in examples]
    path = write_json(tmp_path / "e.parquet", rows)
    for row, episode in zip(rows, import_edb([path]).episodes, strict=True):
        prompt = belief_prompt(episode.target, episode.pool)
        info = import_edb([write_json(path, [rendered(row, prompt)])]).info
        assert (info["unread_prompts"], info["notes"]) == (0, [])


def test_prompts_of_another_layout_are_kept_and_counted(
    tmp_path: Path, write: Write, imported: Imported
) -> None:
    file = imported(at(4, depmap()), at(2, depmap()))
    assert file.prompts[0][2] == {"system": "SYSTEM", "user": "dm-1: 2 stubs"}
    assert file.info["unread_prompts"] == 2
    assert UNREAD.format(2) in file.info["notes"]
    export_jsonl(file, tmp_path / "e.jsonl")
    _, line = (tmp_path / "e.jsonl").read_text().splitlines()
    assert import_plain(write("own.jsonl", line)).info["notes"] == [UNREAD.format(2)]


@pytest.mark.parametrize(
    ("num", "hypothesis", "message"),
    [
        (0, "Tea helps.", "line 1: prompts: 1: shows 0 pieces of evidence, but the episode has 1"),
        (1, "Tea hurts.", "line 1: prompts: 1: asks about 'Tea helps.', not 'Tea hurts.'; mend"),
    ],
    ids=["number of stubs", "another claim"],
)
def test_prompts_of_free_text(write: Write, num: int, hypothesis: str, message: str) -> None:
    experiments = [{"hypothesis": "Green tea helps.", "supported": True}]
    record = {"hypothesis": "Tea helps.", "label": 1, "experiments": experiments}
    (found,) = import_plain(write("a.jsonl", json.dumps(record))).episodes
    prompt = belief_prompt(found.target, found.pool[:num])
    prompts = {"1": {"system": prompt.system, "user": prompt.user}}
    changed = {**record, "hypothesis": hypothesis, "prompts": prompts}
    with pytest.raises(DataError, match=message):
        import_plain(write("a.jsonl", json.dumps(changed)))
    whole = belief_prompt(found.target, found.pool)
    record["prompts"] = {"1": {"system": "", "user": whole.user}}
    assert import_plain(write("a.jsonl", json.dumps(record))).info["notes"] == []
