from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assay.data.infer import infer_table
from assay.data.raw import RawTable, StringColumn, TypedColumn, stack
from assay.data.style import MISSING
from assay.data.table import MISSING_DATE, Table
from assay.data.task import Column
from assay.errors import ConfigError, DataError


def infer(values: Sequence[str | None], said: Mapping[str, Any] | None = None, typed: bool = False) -> Table:
    column = StringColumn("x", (pa.array(values, pa.large_string()),), not typed)
    return infer_table(RawTable("rows.csv", (column,), len(values)), {"x": said} if said else {}, "")


def kind(values: Sequence[str | None], typed: bool = False) -> str:
    return infer(values, typed=typed).columns[0].kind


def test_numbers_become_numeric_and_whole_ones_are_marked() -> None:
    assert infer(["1", "2"]).columns[0] == Column("x", "numeric", integer=True)
    assert infer(["1", "2.5"]).columns[0].integer is False
    assert infer(["1", ""]).columns[0].integer is False


@pytest.mark.parametrize("token", sorted(MISSING))
def test_missing_token_is_missing_in_every_kind(token: str) -> None:
    assert np.isnan(infer(["1", token]).arrays["x"][1])
    assert infer(["a", token]).arrays["x"].tolist() == [0, -1]
    assert infer(["true", "false", token]).arrays["x"].tolist() == [1, 0, -1]
    assert infer(["2024-01-01", token]).arrays["x"][1] == MISSING_DATE


def test_missing_token_declared_as_category_is_a_label() -> None:
    table = infer(["None", "few", "NA"], {"categories": ["None", "few"]})
    assert table.columns[0].categories == ("None", "few")
    assert table.arrays["x"].tolist() == [0, 1, -1]


def test_strings_of_typed_files_never_become_numbers_or_missing() -> None:
    table = infer(["1", "NA", None], typed=True)
    assert table.columns[0].categories == ("1", "NA")
    assert table.arrays["x"].tolist() == [0, 1, -1]


def test_labels_keep_case_and_blanks() -> None:
    assert infer(["A", "a ", "a", " A"]).columns[0].categories == (" A", "A", "a", "a ")


def test_few_distinct_values_are_categorical_and_many_long_ones_text() -> None:
    assert kind([f"v{row % 20}" for row in range(40)]) == "categorical"
    assert kind([f"a long sentence with number {row} in it" for row in range(40)]) == "text"
    assert kind([f"v{row}" for row in range(40)]) == "text"
    assert kind([f"v{row % 100}" for row in range(200)]) == "categorical"
    assert kind([f"{row % 100} is a number in a sentence of words" for row in range(200)]) == "text"


def test_five_percent_of_many_rows_are_few_distinct_values() -> None:
    assert (
        kind([f"a rather long label that stands for number {row % 50}" for row in range(1000)])
        == "categorical"
    )


def test_dates_and_booleans_are_recognised() -> None:
    assert kind(["2024-01-01", "2024-01-02 10:00"]) == "date"
    assert kind(["T", "F", "T"]) == "boolean"
    assert kind(["yes", "yes"]) == "categorical"


def test_impossible_date_makes_a_category() -> None:
    assert kind(["2024-01-01", "2024-02-30"]) == "categorical"


def test_column_without_values_is_numeric() -> None:
    table = infer(["", "?", "NA"])
    assert table.columns[0].kind == "numeric"
    assert np.isnan(table.arrays["x"]).all()


def test_mostly_numbers_ask_for_a_declaration_and_name_the_row() -> None:
    values = ["1"] * 30 + ["about 5"] + ["2"] * 30
    with pytest.raises(DataError, match=r"Column 'x' of rows\.csv.*row 31 has 'about 5'.*kind: categorical"):
        infer(values)
    assert infer(values, {"kind": "categorical"}).columns[0].categories == ("1", "2", "about 5")


def test_numbers_that_are_a_minority_are_labels() -> None:
    assert kind(["1", "a", "b", "a"]) == "categorical"


def test_declared_numeric_with_text_names_the_row() -> None:
    with pytest.raises(DataError, match=r"row 2: 'x5' is not a number"):
        infer(["1", "x5", "b"], {"kind": "numeric"})


def test_declared_kinds_are_taken() -> None:
    assert infer(["1", "0"], {"kind": "boolean"}).arrays["x"].tolist() == [1, 0]
    assert infer(["1", "2"], {"kind": "text"}).arrays["x"].tolist() == ["1", "2"]
    assert infer(["10", "9"], {"kind": "categorical"}).columns[0].categories == ("9", "10")
    assert infer(["2024-01-01"], {"kind": "date"}).columns[0].kind == "date"


@pytest.mark.parametrize(
    ("values", "said", "message"),
    [
        (["a", "b"], {"kind": "boolean"}, "declared boolean, but its values are 'a', 'b'"),
        (["yesterday"], {"kind": "date"}, "not all of its values are dates"),
        (["a", "c"], {"categories": ["a", "b"]}, r"row 2: 'c' is not among the declared categories"),
    ],
)
def test_declaration_that_the_values_contradict_is_a_data_error(
    values: list[str], said: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        infer(values, said)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"kind": "numerical"}, "Did you mean 'numeric'"),
        ({"categories": ["a", "a"]}, "a label stands twice"),
        ({"kind": "numeric", "categories": ["a"]}, "but its kind is numeric"),
    ],
)
def test_declaration_that_means_nothing_is_a_config_error(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        infer(["a"], said)


def test_declared_column_that_does_not_exist_gets_a_suggestion() -> None:
    raw = RawTable("rows.csv", (StringColumn("price", (pa.array(["1"], pa.large_string()),), True),), 1)
    with pytest.raises(ConfigError, match=r"Unknown column 'prices'.*rows\.csv.*Did you mean 'price'"):
        infer_table(raw, {"prices": {"kind": "numeric"}}, "")


def test_typed_numbers_can_be_declared_categorical() -> None:
    column = TypedColumn(Column("x", "numeric"), np.array([10.0, 2.0, np.nan, 2.5]))
    table = infer_table(RawTable("t", (column,), 4), {"x": {"kind": "categorical"}}, "")
    assert table.columns[0].categories == ("2", "2.5", "10")
    assert table.arrays["x"].tolist() == [2, 0, -1, 1]


def test_typed_booleans_and_dates_can_be_declared_categorical() -> None:
    flag = TypedColumn(Column("f", "boolean"), np.array([1, 0, -1], dtype=np.int8))
    day = TypedColumn(Column("d", "date"), np.array([0, MISSING_DATE, 0]))
    said = {"f": {"kind": "categorical"}, "d": {"kind": "categorical"}}
    table = infer_table(RawTable("t", (flag, day), 3), said, "")
    assert table.columns[0].categories == ("False", "True")
    assert table.arrays["f"].tolist() == [1, 0, -1]
    assert table.columns[1].categories == ("1970-01-01T00:00:00.000000000",)


def test_target_strings_are_always_categories() -> None:
    values = pa.array(["true", "false", "true"], pa.large_string())
    table = infer_table(RawTable("t", (StringColumn("y", (values,), True),), 3), {}, "y")
    assert table.columns[0] == Column("y", "categorical", "target", ("false", "true"))


def test_infinite_typed_number_names_its_row() -> None:
    column = TypedColumn(Column("x", "numeric"), np.array([1.0, np.inf]))
    with pytest.raises(DataError, match=r"Column 'x' of t\.parquet, row 2: the value is infinite"):
        infer_table(RawTable("t.parquet", (column,), 2), {}, "")


def test_stacked_categories_are_joined() -> None:
    first = RawTable(
        "a", (TypedColumn(Column("x", "categorical", categories=("u", "v")), np.array([0, 1], np.int32)),), 2
    )
    second = RawTable(
        "b",
        (TypedColumn(Column("x", "categorical", categories=("w", "u")), np.array([0, 1, -1], np.int32)),),
        3,
    )
    both = stack([first, second]).columns[0]
    assert isinstance(both, TypedColumn)
    assert both.column.categories == ("u", "v", "w")
    assert both.values.tolist() == [0, 1, 2, 0, -1]
