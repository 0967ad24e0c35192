"""Made-up rows in the shape of the released files, and writers of their layouts."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

GENE = {"Gene": "AAA1", "name": "made-up gene 1", "family": "family, one"}
LINE = {
    "Cell line": "LINE1",
    "DepMap": "ACH-000001",
    "lineage": "Lung",
    "disease": "Lung Cancer",
    "subtype": "Lung Cancer, Small Cell",
    "sex": "Female",
    "site": "Primary",
}
NEAR = "target gene knocked out in a different cell line of the same lineage"
MUTATION = "somatic mutation status of the target gene in the target cell line"
CONTROL = "an unrelated gene knocked out in the target cell line"


def knockout(tag: str, gene: str, line: str, effect: str, p: str) -> Row:
    return {
        "tag": tag,
        "modality": "knockout",
        "gene": {**GENE, "Gene": gene},
        "cell_line": {**LINE, "Cell line": line},
        "result": {"Chronos gene-effect": effect, "P(dependency)": p, "p_phrase": "a phrase"},
    }


def depmap(episode: str = "dm-1", label: Any = 0, **more: Any) -> Row:
    """An episode of four stubs, one of each kind of relation."""
    stubs = [
        knockout(NEAR, "AAA1", "LINE2", "-0.71", "0.92"),
        {
            "tag": MUTATION,
            "modality": "mutation",
            "gene": GENE,
            "cell_line": LINE,
            "result": {"result": "wild-type"},
        },
        knockout(CONTROL, "BBB2", "LINE1", "0.31", "0.01"),
        knockout(CONTROL, "CCC3", "LINE1", "-0.02", "0.03"),
    ]
    return {
        "episode_id": episode,
        "domain": "depmap",
        "split": "test",
        "label": label,
        "target": {"claim": {"gene": "AAA1", "cell_line": "LINE1"}, "gene": GENE, "cell": LINE},
        "stubs": stubs,
        **more,
    }


def at(k: int, row: Row, **more: Any) -> Row:
    """The row that shows the first k stubs."""
    prompts = {"system_prompt": "SYSTEM", "user_prompt": f"{row['episode_id']}: {k} stubs"}
    return {**row, "k": k, "stubs": row["stubs"][:k], **prompts, **more}


def result(**values: Any) -> Row:
    """An episode with some values of its first result changed."""
    row = depmap()
    row["stubs"][0]["result"] |= values
    return row


def from_example(example: Mapping[str, Any]) -> Row:
    """One of the paper's worked examples as a row."""
    stubs = []
    for stub in example["stubs"]:
        stub = {name: value for name, value in stub.items() if name != "title"}
        if isinstance(stub["result"], str):
            stub["result"] = {"result": stub["result"]}
        stubs.append(stub)
    return {
        "episode_id": example["episode"],
        "domain": example["domain"],
        "split": "test",
        "k": len(stubs),
        "label": example["label"],
        "target": example["target"],
        "stubs": stubs,
    }


def write_nested(path: Path, rows: Iterable[Row]) -> Path:
    """Write targets and stubs as nested structs and lists."""
    pq.write_table(pa.Table.from_pylist(list(rows)), path)
    return path


def write_json(path: Path, rows: Iterable[Row]) -> Path:
    """Write targets and stubs as JSON text; what is text already, or no structure, as it is."""
    return write_nested(
        path,
        [
            {
                name: json.dumps(value)
                if name in ("target", "stubs") and isinstance(value, dict | list)
                else value
                for name, value in row.items()
            }
            for row in rows
        ],
    )


def flat(stub: Mapping[str, Any]) -> Row:
    """A stub without blocks."""
    found: Row = {}
    for name, value in stub.items():
        found |= flat(value) if isinstance(value, Mapping) else {name: value}
    return found


def write_listed(path: Path, rows: Iterable[Row]) -> Path:
    """Write each stub as a JSON text of its own, without blocks."""
    return write_nested(
        path,
        [
            {
                **row,
                "target": json.dumps(flat(row["target"])),
                "stubs": [json.dumps(flat(stub)) for stub in row["stubs"]],
            }
            for row in rows
        ],
    )


LAYOUTS = {"nested": write_nested, "json": write_json, "listed": write_listed}
