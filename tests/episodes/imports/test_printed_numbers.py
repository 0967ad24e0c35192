"""Printed values that look like something that they are not."""

import pytest

from bed.episodes.imports.printed import number, p_value, share, size, status
from bed.errors import DataError


@pytest.mark.parametrize("printed", ["-0,45", "0,31", "0,535", "1,5", "12,34,567", ",5"])
def test_a_decimal_comma_is_no_thousands_comma(printed: str) -> None:
    with pytest.raises(DataError, match="is not a number"):
        number(printed)


def test_thousands_are_read() -> None:
    assert [number(text) for text in ("1,234", "898,130", "-1,000.5")] == [1234, 898130, -1000.5]


def test_a_p_value_with_a_decimal_comma_is_refused() -> None:
    with pytest.raises(DataError, match="p-value"):
        p_value("5,0e-9")


@pytest.mark.parametrize("said", ["not mutated", "no damaging mutation", "unmutated", "non-driver"])
def test_a_negated_mutation_is_no_mutation(said: str) -> None:
    with pytest.raises(DataError, match="is no mutation status"):
        status(said)


@pytest.mark.parametrize("printed", ["3", "-0.1", "80"])
def test_a_probability_lies_between_0_and_1(printed: str) -> None:
    with pytest.raises(DataError, match=r"outside \[0, 1\]"):
        share(printed)


def test_a_standard_error_is_not_negative() -> None:
    with pytest.raises(DataError, match="is negative"):
        size("-2")
