from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bed.episodes.imports import printed
from bed.episodes.imports.printed import Reader
from bed.errors import DataError


@given(st.floats(-1e300, 1e300))
def test_numbers_in_print(value: float) -> None:
    assert printed.number(repr(value)) == value
    assert printed.number(f"{value:+.3e}".replace("-", "\N{MINUS SIGN}")) == float(f"{value:.3e}")


@given(st.integers(-(10**12), 10**12))
def test_thousands_commas(value: int) -> None:
    assert printed.count(f"{value:,}") == value


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (printed.text, " a ", "a"),
        (printed.text, 3, "3"),
        (printed.text, 3.0, "3"),
        (printed.text, 0.25, "0.25"),
        (printed.count, 2747.0, 2747),
        (printed.number, "1.18e+03", 1180.0),
        (printed.number, "-1,000.5", -1000.5),
        (printed.position, "45,675,403", "45,675,403"),
        (printed.position, "45675403", 45675403),
        (printed.position, 45675403, 45675403),
        (printed.position, "chr19:45675403", "chr19:45675403"),
        (printed.p_value, "5.0e-09", 5e-9),
        (printed.p_value, "3E-971", "3E-971"),
        (printed.p_value, 0.0, 0.0),
        (printed.p_value, "0", 0.0),
        (printed.p_value, 8e-8, 8e-8),
        (printed.flag, "Yes", True),
        (printed.flag, False, False),
        (printed.texts, "A, B", ("A", "B")),
        (printed.texts, ["A, with a comma", "B"], ("A, with a comma", "B")),
        (printed.genes, "A, B", ("A", "B")),
        (printed.genes, "A - B;C", ("A", "B", "C")),
        (printed.genes, "HLA-A", ("HLA-A",)),
        (printed.genes, ["A", "B"], ("A", "B")),
        (printed.tissues, [["Lung", "16.1"]], (("Lung", "16.1"),)),
        (printed.tissues, [{"tissue": "Lung", "tpm": 16.1}], (("Lung", "16.1"),)),
        (printed.tissues, {"Lung": "16.1"}, (("Lung", "16.1"),)),
        (
            printed.tissues,
            "Cells - EBV, transformed 23.8 TPM, Lung 16.1 TPM",
            (("Cells - EBV, transformed", "23.8"), ("Lung", "16.1")),
        ),
        (printed.status, "Wild type", "wild-type"),
        (printed.status, "not reported", "not reported"),
        (printed.status, "damaging mutation p.Q28*", "damaging or driver mutation"),
        (printed.choice(up="up", down="down"), "Upregulates", "up"),
        (printed.choice(increases="increas"), "increase", "increases"),
    ],
)
def test_values_as_printed(read: Reader, value: object, expected: Any) -> None:
    found = read(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (printed.text, True),
        (printed.text, ["a"]),
        (printed.text, float("nan")),
        (printed.number, "n/a"),
        (printed.number, "inf"),
        (printed.number, None),
        (printed.number, True),
        (printed.number, "1_0"),
        (printed.number, "\N{ARABIC-INDIC DIGIT ONE}"),
        (printed.number, 10**400),
        *((printed.number, text) for text in ("-0,45", "0,31", "1,5", "12,34,567", ",5")),
        (printed.number, {}),
        (printed.count, "3.5"),
        (printed.p_value, "1.5"),
        (printed.p_value, "-1e-9"),
        (printed.p_value, "NaN"),
        (printed.p_value, "Infinity"),
        (printed.p_value, "small"),
        (printed.p_value, "5,0e-9"),
        *((printed.share, text) for text in ("3", "-0.1", "80")),
        (printed.size, "-2"),
        (printed.p_value, None),
        (printed.flag, "maybe"),
        (printed.texts, 3),
        (printed.tissues, "Lung 16.1"),
        (printed.tissues, [["Lung"]]),
        (printed.tissues, [["Lung", "high"]]),
        *((printed.status, f"{word} driver") for word in ("not mutated,", "no", "un", "non-")),
        (printed.status, "5.2"),
        (printed.choice(up="up"), "down"),
    ],
)
def test_values_that_cannot_be_read(read: Reader, value: object) -> None:
    with pytest.raises(DataError):
        read(value)
