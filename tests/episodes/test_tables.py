"""Public tables as they come, well-formed and not."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bed.episodes.depmap import Tables
from bed.episodes.depmap.lines import Lines, read_lines
from bed.episodes.depmap.mutations import read_mutations
from bed.episodes.depmap.screen import _round, load
from bed.episodes.depmap.tables import Matrix, gene_symbol, read_matrix
from bed.episodes.frames import read_frame, shown
from bed.errors import DataError

SQUARE = ",A (1),B (2)\nACH-000001,0.5,-1\nACH-000002,,0.25\n"


def matrix(path: Path, text: str, lines: Lines | None = None) -> Matrix:
    path.write_text(text)
    return read_matrix(path, lines or Lines(), -30, 30, "a gene effect")


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("A2M (2)", "A2M"),
        ("A2M", "A2M"),
        (" HLA-A (3105) ", "HLA-A"),
        ("X (nan)", "X"),
        ("X (Unknown)", "X"),
        ("X (isoform b)", "X (isoform b)"),
    ],
)
def test_gene_symbol(name: str, symbol: str) -> None:
    assert gene_symbol(name) == symbol


def test_matrix_of_lines_by_genes(csv: Path) -> None:
    found = matrix(csv, SQUARE)
    assert (found.genes, found.lines) == (("A", "B"), ("ACH-000001", "ACH-000002"))
    np.testing.assert_array_equal(found.values, [[0.5, np.nan], [-1, 0.25]])


@pytest.mark.parametrize(
    "text",
    [
        "cell_line_name,B (2),A (1)\nACH-000002,0.25,\nACH-000001,-1,0.5\n",
        "gene,entrez_id,ACH-000001,ACH-000002\nA,1,0.5,\nB,2,-1,0.25\n",
        ",ACH-000002,ACH-000001\nA (1),,0.5\nB (2),0.25,-1\n",
        "ModelID,A (1),B (2)\nACH-000001,0.5,-1\nACH-000002,NA,0.25\n",
        ",SequencingID,ModelID,IsDefaultEntryForModel,A (1),B (2)\n"
        "0,S1,ACH-000001,Yes,0.5,-1\n1,S2,ACH-000002,Yes,,0.25\n2,S3,ACH-000002,No,9,9\n",
        ",A (1),B (2)\nACH-000001,0.5,-1\nACH-000002,,0.25\nACH-000002,,0.25\n",
    ],
    ids=["shuffled", "bins-like", "transposed", "named", "2025-metadata", "row-twice"],
)
def test_other_layouts_of_the_same_table(csv: Path, text: str) -> None:
    plain = matrix(csv, SQUARE)
    other = matrix(csv, text)
    assert (other.genes, other.lines) == (plain.genes, plain.lines)
    np.testing.assert_array_equal(other.values, plain.values)


def test_same_table_in_other_file_types(tmp_path: Path, csv: Path) -> None:
    plain = matrix(csv, SQUARE)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(SQUARE)
    (tmp_path / "t.tsv").write_text(SQUARE.replace(",", "\t"))
    frame = pd.read_csv(csv, index_col=0)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv.gz", "t.tsv", "t.parquet"):
        other = read_matrix(tmp_path / name, Lines(), -30, 30, "a gene effect")
        assert (other.genes, other.lines) == (plain.genes, plain.lines)
        np.testing.assert_array_equal(other.values, plain.values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; give the whole table"),
        (",A (1)\n", r"no rows of data below the header \['', 'A \(1\)'\]"),
        (",A (1),B (2)\nACH-000001,0.5\n", "its last row has 2 of 3 cells; is it the whole file"),
        (",A (1)\nACH-000001,1,2,3\n", "2 column names but 4 columns"),
        (
            ",A (1)\nACH-000001,0.5\nACH-000002,low\n",
            "row 'ACH-000002', column 'A .1.' holds 'low'",
        ),
        (",A (1)\nACH-000001,0.5\nACH-000002,dependency\n", "holds 'dependency', which is not a"),
        (",A (1)\nACH-000001,0.5\nACH-000002,missing\n", "holds 'missing', which is not a number"),
        (",A (1)\nACH-000001,inf\n", "holds inf; expected a finite number"),
        (
            ",A (1)\nACH-000001,0.5\nACH-000002,-99\n",
            "'ACH-000002'.* holds -99; expected a gene eff",
        ),
        (",A (1)\nACH-000001,0.5\nACH-000001,0.6\n", "cell line 'ACH-000001' stands twice"),
        (",A (1),A (1)\nACH-000001,0.5,0.6\n", "gene 'A' stands twice with different values"),
        (",A (1),A (7)\nACH-000001,0.5,0.6\n", "gene 'A' stands twice .*'A .1.' and 'A .7.'"),
        (",A (1)\n,0.5\n", "should name each row's cell line or gene"),
        (",A (1)\n1,0.5\n2,0.6\n", "should name each row's cell line or gene"),
        (",A (1)\nline one,0.5\n", "neither its rows .* nor its columns"),
        ("ModelID,,A (1)\nACH-000001,1,x\n", "holds 'x'"),
        ("only\nACH-000001\n", "no rows or no columns"),
    ],
)
def test_malformed_matrix(csv: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        matrix(csv, text)
    assert str(error.value).startswith("t.csv: ")


def test_two_names_of_one_line(csv: Path) -> None:
    lines = Lines(names={"ACH-000001": "A549_LUNG", "A549_LUNG": "A549_LUNG"})
    with pytest.raises(DataError, match=r"'A549_LUNG' stands twice .*'ACH-000001' and 'A549_LUNG'"):
        matrix(csv, ",A (1)\nACH-000001,0.5\nA549_LUNG,0.6\n", lines)


@pytest.mark.parametrize(
    ("cell", "message"),
    [("7", "holds 7; expected bins, from 0 to 2"), ("0.5", "holds 0.5; expected bins: -1, 0, 1")],
)
def test_bins_out_of_range(csv: Path, cell: str, message: str) -> None:
    csv.write_text(f"gene,entrez_id,A549_LUNG\nA,1,{cell}\n")
    lines = Lines(names={"A549_LUNG": "A549_LUNG"})
    with pytest.raises(DataError, match=message):
        read_matrix(csv, lines, 0, 2, "bins")


def test_bins_as_text(csv: Path) -> None:
    csv.write_text("gene,ACH-000001,ACH-000002\nA,strong_dependency,missing\nB,dependency,\n")
    found = read_matrix(csv, Lines(), 0, 2, "bins")
    np.testing.assert_array_equal(found.values, [[2, np.nan], [1, np.nan]])


def test_bins_need_no_models_where_ccle_names_say_it(csv: Path) -> None:
    csv.write_text("gene,entrez_id,A549_LUNG,HT29_LARGE_INTESTINE\nA,1,2,-1\n")
    found = read_matrix(csv, Lines(), 0, 2, "bins")
    assert found.lines == ("A549_LUNG", "HT29_LARGE_INTESTINE")


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.csv", "no such file"), ("t.xlsx", "unknown file type"), ("t.parquet", "cannot be")],
)
def test_unreadable_file(tmp_path: Path, name: str, message: str) -> None:
    if name != "absent.csv":
        (tmp_path / name).write_text("PAR1 not really")
    with pytest.raises(DataError, match=message):
        read_frame(tmp_path / name)


def test_broken_gzip(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(SQUARE.encode() * 50)[:40])
    with pytest.raises(DataError, match="cannot be read"):
        read_frame(tmp_path / "t.csv.gz")


def models(path: Path, text: str) -> Lines:
    path.write_text(text)
    return read_lines(path)


@pytest.mark.parametrize(
    "header",
    [
        "ModelID,CCLEName,OncotreeLineage",
        "DepMap_ID,CCLE_Name,lineage",
        "DepMap_ID,ccle_name,lineage",
    ],
)
def test_models_in_old_and_new_words(csv: Path, header: str) -> None:
    found = models(csv, f"{header}\nACH-000001,A549_LUNG,Lung\nACH-000002,,soft_tissue\n")
    assert found.name("ACH-000001") == found.name("A549_LUNG") == "A549_LUNG"
    assert found.name("ACH-000002") == "ACH-000002"
    assert found.name("ACH-999999") == "ACH-999999"
    assert found.lineage("A549_LUNG") == "lung"
    assert found.lineage("ACH-000002") == "soft tissue"
    assert found.lineage("ACH-999999") is None


def test_lineage_from_the_ccle_name(csv: Path) -> None:
    text = "DepMap_ID,ccle_name,lineage\n"
    text += "".join(f"ACH-00000{i},L{i}_LARGE_INTESTINE,colorectal\n" for i in range(3))
    text += "ACH-000007,HT29_LARGE_INTESTINE,\nACH-000008,X_UVEA,unknown\n"
    found = models(csv, text)
    assert found.lineage("HT29_LARGE_INTESTINE") == "colorectal"
    assert found.lineage("X_UVEA") == "uvea"
    assert Lines().lineage("A549_LUNG") == "lung"
    assert Lines().lineage("A549") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,lineage\nA549,lung\n", "no column names the cell lines"),
        ("ModelID,CCLEName\nACH-000001,A_LUNG\nACH-000001,B_LUNG\n", "two values of name"),
        ("ModelID,lineage\nACH-000001,lung\nACH-000001,skin\n", "two values of lineage"),
    ],
)
def test_malformed_models(csv: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        models(csv, text)


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("ModelID,Gene,LikelyGoF,Driver\nACH-1,A (1),True,False\nACH-1,B (2),False,False\n", {"A"}),
        ("ModelID,HugoSymbol,LikelyLoF\nACH-1,A,Yes\nACH-1,B,\n", {"A"}),
        ("DepMap_ID,Hugo_Symbol,isDeleterious\nACH-1,A,TRUE\nACH-1,B,FALSE\n", {"A"}),
        (
            "DepMap_ID,Hugo_Symbol,Variant_Classification\n"
            "ACH-1,A,Nonsense_Mutation\nACH-1,B,Silent\n",
            {"A"},
        ),
    ],
)
def test_mutations(csv: Path, text: str, hits: set[str]) -> None:
    csv.write_text(text)
    found = read_mutations(csv, Lines())
    assert found.mutated == {(gene, "ACH-1") for gene in hits}
    assert found.lines == {"ACH-1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Line,Gene,Driver\nACH-1,A,True\n", "no column ModelID"),
        ("ModelID,Symbol,Driver\nACH-1,A,True\n", "no column Gene"),
        ("ModelID,Gene,Depth\nACH-1,A,12\n", "no column says which mutations matter"),
        ("ModelID,Gene,Driver\nACH-1,A,True\nACH-1,A,maybe\n", "row 2, column 'Driver' .*'maybe'"),
    ],
)
def test_malformed_mutations(csv: Path, text: str, message: str) -> None:
    csv.write_text(text)
    with pytest.raises(DataError, match=message):
        read_mutations(csv, Lines())


def test_exactly_one_table_of_effects(csv: Path) -> None:
    for wrong in ({}, {"gene_effect": csv, "gene_effect_bins": csv}):
        with pytest.raises(DataError, match="exactly one of"):
            Tables(**wrong)
    with pytest.raises(DataError, match="goes with --gene-effect"):
        Tables(gene_effect_bins=csv, gene_dependency=csv)


Changed = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("probability", lambda t: t * 1.5, "expected a probability, from 0 to 1"),
        ("probability", lambda t: t.add_prefix("x"), "share no gene"),
        ("expression", lambda t: t * 1000, r"expected log2\(TPM \+ 1\)"),
        ("copy_number", lambda t: t - 2, "expected a relative copy number, from 0"),
        ("copy_number", lambda t: t.set_axis(range(900000, 900060)), "should name each row's"),
        (
            "expression",
            lambda t: t.set_axis([f"ACH-9{i:05d}" for i in range(60)]),
            "expression.csv and effect.csv share no line",
        ),
        ("effect", lambda t: (t < -0.5) * 2, "holds bins; give it as --gene-effect-bins"),
        ("effect", lambda t: t.abs(), "no effect is -0.5 or below"),
    ],
)
def test_tables_that_do_not_fit(
    tmp_path: Path, tables: Tables, table: str, change: Changed, message: str
) -> None:
    from dataclasses import replace

    role = {"effect": "gene_effect", "probability": "gene_dependency"}.get(table, table)
    source = getattr(tables, role)
    change(pd.read_csv(source, index_col=0)).to_csv(tmp_path / source.name)
    with pytest.raises(DataError, match=message):
        load(replace(tables, **{role: tmp_path / source.name}))


def test_no_lineages(tables: Tables, without: Callable[..., Tables]) -> None:
    with pytest.raises(DataError, match=r"no cell line has a lineage .*--models"):
        load(without(tables, "models"))


@given(st.floats(-3, 3), st.sampled_from([-0.5, 0.25]))
def test_rounding_never_crosses_a_threshold(value: float, threshold: float) -> None:
    for near in (value, threshold + value * 1e-5):
        (short,) = _round(np.array([near]), -0.5, 0.25)
        assert (short <= threshold) == (near <= threshold)
        assert (short > threshold) == (near > threshold)
        assert abs(short - near) <= 0.0005 + 1e-12


def test_a_stray_quote_in_a_tsv_swallows_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('a\t"b"\n"x\t1\n"whole"\t2\ny\t3\n"z\t4\n')
    frame = read_frame(path, text=())
    assert list(frame.columns) == ["a", "b"]
    assert frame["a"].tolist() == ['"x', "whole", "y", '"z']
    assert frame["b"].tolist() == [1, 2, 3, 4]
    assert read_frame(path)["b"].tolist() == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"gene,x\n", r"no rows of data below the header \['gene', 'x'\]"),
        ("t.csv", b"gene;x\nA;1\n", "separated by semicolons, not by commas; save it with commas"),
        ("t.csv", b"gene\tx\nA\t1\n", "separated by tabs, not by commas"),
        ("t.tsv", b"gene,x\nA,1\n", "separated by commas, not by tabs"),
        ("t.csv", "gene,x\nBé,1\n".encode("latin-1"), "is not UTF-8 .*save it as UTF-8"),
        ("t.csv", "gène,x\nB,1\n".encode("latin-1"), "is not UTF-8 .*save it as UTF-8"),
        ("t.csv", "gene,x\nB,1\n".encode("utf-16"), "is not UTF-8"),
        ("t.csv", b"gene,gene\nA,B\n", "column 'gene' stands twice; keep one of them"),
    ],
    ids=[
        "header-only",
        "semicolons",
        "tabs-in-csv",
        "commas-in-tsv",
        "latin-1",
        "latin-1-header",
        "utf-16",
        "column-twice",
    ],
)
def test_files_of_another_form(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"^{name}: .*{message}"):
        read_frame(tmp_path / name)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([["A"], ["B"]], "column 'x' holds list<.*>, not single values"),
        ([{"a": 1}, {"a": 2}], "column 'x' holds struct<.*>, not single values"),
        ([b"\xff", b"\xfe"], "cannot be read"),
    ],
    ids=["lists", "structs", "bytes-that-are-no-text"],
)
def test_parquet_columns_of_other_kinds(tmp_path: Path, column: list[object], message: str) -> None:
    pd.DataFrame({"x": column}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=message):
        read_frame(tmp_path / "t.parquet")


def test_parquet_of_bytes_categories_and_named_rows(tmp_path: Path) -> None:
    table = pd.DataFrame({"gene": [b"A", b"B"], "kind": pd.Categorical(["u", "v"]), "x": [1, 2]})
    table.index = pd.MultiIndex.from_tuples([("001", 7), ("002", 8)], names=["plate", None])
    table.to_parquet(tmp_path / "t.parquet")
    found = read_frame(tmp_path / "t.parquet")
    assert list(found.columns) == ["plate", "", "gene", "kind", "x"]
    assert found["gene"].tolist() == ["A", "B"]
    assert found["kind"].tolist() == ["u", "v"]
    assert found["plate"].tolist() == ["001", "002"]


def test_ids_stay_as_they_are_printed(csv: Path) -> None:
    csv.write_text("gene,plate,x\n001,007,1\n1E5,1.50,2\n")
    found = read_frame(csv, text=["plate"])
    assert found["gene"].tolist() == ["001", "1E5"]
    assert found["plate"].tolist() == ["007", "1.50"]
    assert found["x"].tolist() == [1, 2]
    assert read_frame(csv)["x"].tolist() == ["1", "2"]
    csv.write_text("gene,entrez_id,ACH-000001\n001,1,0.5\n1E5,2,-1\nA,3,0\n")
    assert read_matrix(csv, Lines(), -30, 30, "a gene effect").genes == ("001", "1E5", "A")


@pytest.mark.parametrize(
    ("cell", "text"), [(np.float64(0.5), "0.5"), (np.int64(3), "3"), ("a", "'a'"), (None, "None")]
)
def test_cells_are_shown_as_python_writes_them(cell: object, text: str) -> None:
    assert shown(cell) == text


def test_flags_are_no_bins(tmp_path: Path) -> None:
    pd.DataFrame({"gene": ["A"], "ACH-000001": [True]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="row 'A', column 'ACH-000001' holds True, which is not"):
        read_matrix(tmp_path / "t.parquet", Lines(), 0, 2, "bins")
