"""Differential-expression tables in their four forms, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bed.episodes.expression import Columns, ExpressionTables
from bed.episodes.expression.contrasts import Contrast
from bed.episodes.expression.reading import load
from bed.errors import DataError

Tabled = Callable[..., ExpressionTables]


def small() -> pd.DataFrame:
    rows = [
        ("G1", "A", "L1", 1.5, 0.5, 0.001, 0.01),
        ("G2", "A", "L1", -0.2, 0.1, 0.05, 0.2),
        ("G1", "B", "L1", 0.7, 0.1, 0.001, 0.01),
        ("G2", "B", "L1", 0.9, 0.3, 0.004, np.nan),
    ]
    named = ["gene", "perturbation", "context", "log2FoldChange", "lfcSE", "pvalue", "padj"]
    return pd.DataFrame(rows, columns=named).assign(dose=2.0)


def test_long_table(tabled: Tabled) -> None:
    found = load(tabled(small()))
    assert found.genes == ("G1", "G2")
    assert found.contrasts == (
        Contrast("A", "L1", (("dose", "2"),)),
        Contrast("B", "L1", (("dose", "2"),)),
    )
    assert found.outcome(0, 0) == {
        "log2_fold_change": 1.5,
        "lfc_se": 0.5,
        "wald": 3.0,
        "p_value": 0.001,
        "p_adjusted": 0.01,
    }
    assert found.significant().tolist() == [[1, 1], [0, 0]]


def test_measurements_that_were_filtered_are_left_out_and_counted(tabled: Tabled) -> None:
    found = load(tabled(small()))
    assert found.measured().tolist() == [[True, True], [True, False]]
    name = "measurements filtered by the authors (no adjusted p value)"
    assert found.excluded[name] == 1


def test_a_given_wald_statistic_is_kept(tabled: Tabled) -> None:
    found = load(tabled(small().assign(stat=[2.9, np.nan, 6.0, 3.0])))
    assert found.outcome(0, 0)["wald"] == 2.9
    assert found.outcome(1, 0)["wald"] == -2.0


def test_columns_can_be_called_otherwise(tabled: Tabled) -> None:
    called = small().rename(columns={"gene": "SYMBOL", "perturbation": "drug", "padj": "FDR"})
    called = called.assign(cell="K", day=[3, 3, 3, 3])
    columns = Columns().mapped(
        ["gene=SYMBOL", "perturbation = drug", "p_adjusted=FDR", "context=cell,context"]
    )
    columns = columns.mapped(["condition=dose,day"])
    found = load(replace(tabled(called), columns=columns))
    assert found.contrasts[0].context == "K L1"
    assert found.contrasts[0].condition == (("dose", "2"), ("day", "3"))
    assert found.contrasts[0].condition_fields() == {"dose": "dose 2", "time": "day 3"}


@pytest.mark.parametrize("pair", ["gene", "gene=", "genes=SYMBOL", "=SYMBOL"])
def test_malformed_mappings_are_refused(pair: str) -> None:
    with pytest.raises(DataError, match="write NAME=COLUMN, with NAME one of"):
        Columns().mapped([pair])


def test_missing_columns_are_listed(tabled: Tabled) -> None:
    lacking = small().drop(columns=["padj"]).rename(columns={"log2FoldChange": "LFC"})
    with pytest.raises(DataError) as caught:
        load(tabled(lacking))
    said = str(caught.value)
    assert "no column 'log2FoldChange' (log2_fold_change), 'padj' (p_adjusted)" in said
    assert "'LFC'" in said
    assert "--column log2_fold_change=COLUMN" in said
    with pytest.raises(DataError, match=r"no column 'cell' \(context\).*--column context=COLUMN"):
        load(replace(tabled(small()), columns=Columns(context=("cell",))))


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("padj", "high", "row 3, column 'padj' holds 'high'; expected a number, 0 to 1"),
        ("padj", 1.5, "row 3, column 'padj' holds .*1.5.*; expected a number, 0 to 1"),
        ("padj", -0.1, "row 3, column 'padj'"),
        ("log2FoldChange", "up", "row 3, column 'log2FoldChange' holds 'up'; expected a finite"),
        ("log2FoldChange", np.inf, "row 3, column 'log2FoldChange' holds .*inf"),
        ("lfcSE", -1.0, "row 3, column 'lfcSE'"),
        ("context", "", "row 3, column 'context' is blank"),
        ("perturbation", None, "row 3, column 'perturbation' is blank"),
        ("log2FoldChange", np.nan, "gene 'G1' of B:L1:2 has an adjusted p value but no log2 fold"),
    ],
)
def test_bad_cells_are_refused_with_their_place(
    tabled: Tabled, column: str, value: float | str | None, said: str
) -> None:
    spoiled = small().astype({column: object})
    spoiled.loc[2, column] = value
    with pytest.raises(DataError, match=rf"^table\.csv: {said}"):
        load(tabled(spoiled, "table.csv"))


def test_place_is_that_of_the_file_also_after_leaving_out(tabled: Tabled) -> None:
    spoiled = small()
    spoiled.loc[3, "lfcSE"] = -1
    with pytest.raises(DataError, match="row 4, column 'lfcSE'"):
        load(tabled(spoiled, leave_out=("perturbation=A",)))


def test_leave_out(tabled: Tabled) -> None:
    found = load(tabled(small(), leave_out=("perturbation=B",)))
    assert {at.perturbation for at in found.contrasts} == {"A"}
    assert found.excluded["rows with perturbation=B"] == 2
    with pytest.raises(DataError, match=r"column 'perturbation' .* never holds 'C'; it holds"):
        load(tabled(small(), leave_out=("perturbation=C",)))
    with pytest.raises(DataError, match="has no column 'strategy'"):
        load(tabled(small(), leave_out=("strategy=reverted",)))
    with pytest.raises(DataError, match="write COLUMN=VALUE"):
        tabled(small(), leave_out=("reverted",))


def test_rows_without_a_symbol_are_left_out(tabled: Tabled) -> None:
    nameless = small()
    nameless.loc[0, "gene"] = None
    found = load(tabled(nameless))
    assert not found.measured()[0, 0]
    assert found.excluded["measurements without a gene symbol"] == 1


def test_a_table_without_measurements_is_refused(tabled: Tabled) -> None:
    with pytest.raises(DataError, match="no measurement is left"):
        load(tabled(small().assign(padj=np.nan)))
    with pytest.raises(DataError, match="no rows of data"):
        load(tabled(small().iloc[:0], "empty.csv"))


def test_contrasts_that_were_not_told_apart_are_refused(
    tabled: Tabled, frame: pd.DataFrame
) -> None:
    merged = replace(tabled(frame), columns=Columns())
    with pytest.raises(DataError, match=r"stands twice in \('D0', 'L\d'\).*--column condition="):
        load(merged)


def test_few_ambiguous_symbols_are_left_out(tabled: Tabled, frame: pd.DataFrame) -> None:
    twice = frame[frame["gene"] == "G020"].assign(log2FoldChange=0.1)
    same = frame[frame["gene"] == "G021"]
    found = load(tabled(pd.concat([frame, twice, same])))
    assert "G020" not in found.genes
    assert "G021" in found.genes
    assert found.excluded["genes that stand twice in a contrast"] == 1


def test_own_transcripts_of_knockouts_are_left_out(tabled: Tabled) -> None:
    own = small().replace({"perturbation": {"A": "G1", "B": "G2+X"}})
    found = load(tabled(own, perturbation_type="knockout"))
    assert found.measured().tolist() == [[False, True], [True, False]]
    assert found.excluded["transcripts of the knocked-out gene itself"] == 1
    as_drugs = load(tabled(own))
    assert as_drugs.measured()[0, 0]


def test_single_precision_is_read_as_printed(tabled: Tabled) -> None:
    single = small().astype({"log2FoldChange": "float32", "padj": "float32"})
    single.loc[1, "log2FoldChange"] = 0.374
    assert load(tabled(single)).outcome(1, 0)["log2_fold_change"] == 0.374


def test_sizes_of_arms(tabled: Tabled) -> None:
    sized = small().assign(num_treated=[40, 40, 50, 50], num_control=9)
    found = load(tabled(sized))
    assert found.contrasts[1].arm_sizes() == {"num_treated": 50, "num_control": 9}
    with pytest.raises(DataError, match="'num_treated' has more than one value"):
        load(tabled(sized.assign(num_treated=range(4))))


def long_z() -> pd.DataFrame:
    rows = [("G1", "A", "L1", 2.0), ("G2", "A", "L1", -1.9), ("G1", "A", "L2", -3.0)]
    return pd.DataFrame(rows, columns=["gene", "perturbation", "context", "z"]).assign(dose="1 uM")


def test_long_zscores(tabled: Tabled) -> None:
    found = load(tabled(long_z()))
    assert found.kind == "zscore"
    assert found.significant().tolist() == [[1, -1], [0, 0]]
    assert found.outcome(0, 1) == {"z": -3.0}


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    table = pd.DataFrame({"gene": ["G2", "G1"], "entrez_id": ["2", "1"]})
    table = table.assign(s1=[-1.9, 2.0], s2=[np.nan, -3.0], s3=[0.0, 0.0])
    table.to_parquet(tmp_path / "wide.parquet")
    return tmp_path / "wide.parquet"


def test_wide_zscores_with_signatures(wide: Path, tmp_path: Path) -> None:
    about = pd.DataFrame(
        {
            "dose": ["1 uM", "1 uM", "9 uM", "9 uM"],
            "sig": ["s2", "s1", "s3", "s4"],
            "drug": "A",
            "cell": ["L2", "L1", "L1", "L2"],
        }
    )
    about.to_csv(tmp_path / "about.csv", index=False)
    columns = Columns(perturbation="drug", context=("cell",), condition=("dose",))
    tables = ExpressionTables(wide, columns, signatures=tmp_path / "about.csv")
    found = load(tables)
    assert [at.name for at in found.contrasts] == ["A:L1:1 uM", "A:L1:9 uM", "A:L2:1 uM"]
    assert found.significant().tolist() == [[1, 0, -1], [0, 0, 0]]
    assert found.excluded["signatures without a column of the table"] == 1
    assert found.excluded["measurements without a z-score"] == 1
    few = load(replace(tables, leave_out=("dose=9 uM",)))
    assert len(few.contrasts) == 2
    about.assign(sig="s1").to_csv(tmp_path / "about.csv", index=False)
    with pytest.raises(DataError, match="signature 's1' stands twice"):
        load(tables)
    about.assign(sig="none").to_csv(tmp_path / "about.csv", index=False)
    with pytest.raises(DataError, match=r"no column names the columns of wide\.parquet"):
        load(tables)


def test_wide_zscores_in_one_context(wide: Path) -> None:
    found = load(ExpressionTables(wide, fixed_context="L1", leave_out=("perturbation=s3",)))
    assert [at.place for at in found.contrasts] == [("s1", "L1"), ("s2", "L1")]
    assert found.genes == ("G1", "G2")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"perturbation_type": "cytokine"}, "--perturbation-type 'cytokine'"),
        ({"context_type": "tissue"}, "--context-type 'tissue'"),
        ({"signatures": Path("s.csv"), "fixed_context": "L"}, "not both"),
    ],
)
def test_tables_check_their_options(more: dict[str, object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        ExpressionTables(Path("t.csv"), **more)  # type: ignore[arg-type]


def test_order_of_rows_and_columns_does_not_matter(tabled: Tabled, frame: pd.DataFrame) -> None:
    mixed = frame.sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=1)
    one, other = load(tabled(frame)), load(tabled(mixed))
    assert one.contrasts == other.contrasts
    assert one.genes == other.genes
    for name, values in one.values.items():
        np.testing.assert_array_equal(values, other.values[name])


def test_zscores_named_on_purpose_win(tabled: Tabled) -> None:
    both = small().assign(stat=[2.5, -0.1, 3.0, 1.0])
    named = Columns(condition=("dose",)).mapped(["z=stat"])
    found = load(replace(tabled(both), columns=named))
    assert found.kind == "zscore"
    assert found.outcome(0, 0) == {"z": 2.5}
    with pytest.raises(DataError, match="--column p_adjusted=padj: a table of z-scores has"):
        load(replace(tabled(both), columns=named.mapped(["p_adjusted=padj"])))
    with pytest.raises(DataError, match=r"no column 'z' \(z\)"):
        load(replace(tabled(both), columns=Columns().mapped(["z=z"])))


@pytest.mark.parametrize(
    ("pair", "more", "form"),
    [
        ("perturbation=x", {"fixed_context": "L"}, "a wide table in one context"),
        ("p_adjusted=x", {"signatures": Path("s.csv")}, "a wide table with signatures"),
    ],
)
def test_columns_without_a_use_are_refused(
    wide: Path, tmp_path: Path, pair: str, more: dict[str, object], form: str
) -> None:
    (tmp_path / "s.csv").write_text("sig,perturbation,context\ns1,A,L\n")
    if "signatures" in more:
        more = {"signatures": tmp_path / "s.csv"}
    columns = Columns().mapped([pair])
    with pytest.raises(DataError, match=f"--column {pair}: {form} has no use for it"):
        load(ExpressionTables(wide, columns, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("num", [3.7, np.inf, "many"])
def test_arms_hold_whole_numbers(tabled: Tabled, num: float | str) -> None:
    with pytest.raises(DataError, match=r"row 1, column 'num_treated' .*expected a whole number"):
        load(tabled(small().assign(num_treated=num), "t.csv"))


def test_flags_are_no_numbers(tabled: Tabled) -> None:
    with pytest.raises(DataError, match="row 1, column 'padj' holds True; expected a number"):
        load(tabled(small().assign(padj=True)))


def test_a_table_whose_every_gene_stands_twice_is_refused(tabled: Tabled) -> None:
    twice = pd.concat([small().iloc[:1], small().iloc[:1].assign(padj=0.02)])
    with pytest.raises(DataError, match=r"every gene stands twice .*\('G1', \.\.\.\)"):
        load(tabled(twice))


def test_ids_stay_text(tabled: Tabled) -> None:
    odd = small().assign(gene=["001", "1E5"] * 2, context="007", dose="0010")
    found = load(tabled(odd, "t.csv"))
    assert found.genes == ("001", "1E5")
    assert found.contrasts[0] == Contrast("A", "007", (("dose", "0010"),))
    with pytest.raises(DataError, match="never holds '7'"):
        load(tabled(odd, "t.csv", leave_out=("context=7",)))


def test_contrasts_analysed_together_show_by_their_mean_counts(tabled: Tabled) -> None:
    """A and B share every mean count in L1; C is of another analysis, D of another context."""
    rows = [
        (gene, agent, context, 0.1, 0.5, mean)
        for agent, context, means in [
            ("A", "L1", (10.0, 20.0)),
            ("B", "L1", (10.0, 20.0)),
            ("C", "L1", (10.0, 21.0)),
            ("D", "L2", (10.0, 20.0)),
        ]
        for gene, mean in zip(("G1", "G2"), means, strict=True)
    ]
    named = ["gene", "perturbation", "context", "log2FoldChange", "padj", "baseMean"]
    table = pd.DataFrame(rows, columns=named).assign(dose=1)
    together = load(tabled(table)).analysed_together()
    assert np.argwhere(together).tolist() == [[0, 1], [1, 0]]
    assert not load(tabled(table.drop(columns="baseMean"))).analysed_together().any()
