from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.parse import NUMBER, is_boolean_pair, parse_dates, parse_numbers, sort_labels, which_numbers


@pytest.mark.parametrize(
    "text", ["1", "-1.5", "+.5", "1.", "1e5", " 2 ", "1E-300", "inf", "-Infinity", "007"]
)
def test_number_is_recognised(text: str) -> None:
    assert NUMBER.match(text)


@pytest.mark.parametrize(
    "text", ["", ".", "1,5", "1_000", "0x10", "e5", "1 2", "nan", "12a", "١", "1e", "--1"]
)
def test_other_text_is_no_number(text: str) -> None:
    assert not NUMBER.match(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_is_read_to_the_last_bit(value: float) -> None:
    numbers, problem, _ = parse_numbers([repr(value)])
    assert not problem
    assert numbers[0] == value


def test_largest_exact_whole_number_is_accepted_and_the_next_refused() -> None:
    assert parse_numbers([str(2**53), str(-(2**53))])[1] == ""
    assert "beyond 2^53" in parse_numbers(["1", str(2**53 + 1)])[1]
    assert parse_numbers(["1", str(2**53 + 1)])[2] == 1


def test_large_number_in_scientific_notation_is_a_measurement() -> None:
    assert parse_numbers(["1e300"])[1] == ""


def test_numbers_are_told_from_other_text_one_by_one() -> None:
    assert which_numbers(["1", " 2e3"]).tolist() == [True, True]
    assert which_numbers(["1", "1_0", "x", "inf", "١"]).tolist() == [True, False, False, True, False]
    assert parse_numbers(["1", "2", "1_0"])[1:] == ("is not a number", 2)


@pytest.mark.parametrize("text", ["inf", "-inf", "1e999", "9" * 400])
def test_infinite_number_is_refused(text: str) -> None:
    assert "infinite" in parse_numbers([text])[1]


@pytest.mark.parametrize("pair", [("true", "false"), ("TRUE", "False"), ("t", "F"), ("Yes", "no")])
def test_pair_of_one_style_is_boolean(pair: tuple[str, str]) -> None:
    assert is_boolean_pair(pair)


@pytest.mark.parametrize(
    "labels", [("true",), ("yes", "false"), ("True", "TRUE", "false"), ("y", "n"), ("1", "0"), ("yes ", "no")]
)
def test_anything_else_is_not_boolean(labels: tuple[str, ...]) -> None:
    assert not is_boolean_pair(labels)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01", 0),
        ("1970-01-02", 86_400_000_000_000),
        ("1970-01-01T00:00", 0),
        ("1970-01-01 00:00:01", 1_000_000_000),
        ("1970-01-01 00:00:00.000000001", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:30:00-0030", 0),
        ("1970-01-01 00:00:00Z", 0),
    ],
)
def test_iso_date_is_nanoseconds_since_1970_in_utc(text: str, nanoseconds: int) -> None:
    parsed = parse_dates([text])
    assert parsed is not None
    assert parsed.tolist() == [nanoseconds]


@pytest.mark.parametrize(
    "text", ["2024-02-30", "2024-13-01", "1492-10-12", "3000-01-01", "01.02.2024", "2024"]
)
def test_other_text_or_an_impossible_date_is_none(text: str) -> None:
    assert parse_dates([text]) is None


@given(st.datetimes(min_value=datetime(1700, 1, 1), max_value=datetime(2200, 1, 1)))
def test_dates_agree_with_numpy(moment: datetime) -> None:
    parsed = parse_dates([str(moment)])
    assert parsed is not None
    assert parsed[0] == np.datetime64(moment, "ns").astype(np.int64)


def test_labels_are_sorted_as_numbers_only_if_all_are() -> None:
    assert sort_labels(["10", "9", "1.0", "1"]) == ["1", "1.0", "9", "10"]
    assert sort_labels(["10", "9", "x"]) == ["10", "9", "x"]
    assert sort_labels(["b", "B", "a "]) == ["B", "a ", "b"]
