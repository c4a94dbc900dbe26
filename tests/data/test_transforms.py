"""Transformations by hand. That the tabular benchmark's are those of the reference is in tests/suites/curation."""

from __future__ import annotations

from functools import partial
from math import log, nan
from typing import Any

import numpy as np
import pytest

from assay.data.table import Table
from assay.data.task import Column
from assay.data.transforms import (
    Step,
    above_median,
    balance_two_classes,
    binary_as_categories,
    drop_columns,
    drop_few_values,
    drop_incomplete_rows,
    drop_many_categories,
    drop_mostly_missing,
    identifiers_as_categories,
    log_target,
    tabular_benchmark,
    transform,
)

KINDS: dict[str, Any] = {"numeric": np.float64, "categorical": np.int32, "boolean": np.int8, "text": object}


def table(*columns: tuple[Column, list[Any]]) -> Table:
    arrays = {column.name: np.array(values, dtype=KINDS[column.kind]) for column, values in columns}
    return Table(tuple(column for column, _ in columns), arrays)


def numbers(name: str, values: list[float]) -> tuple[Column, list[float]]:
    return Column(name, "numeric"), values


Y = (Column("y", "numeric", "target"), [1, 2, 3, 4])


def test_two_values_and_text_become_categories() -> None:
    text = (Column("t", "text"), ["b", None, "a", "b"])
    done, step = binary_as_categories(
        table(numbers("x", [0.5, 7, nan, 7]), numbers("z", [1, 2, 3, 1]), text, Y), "y"
    )
    assert step == Step("binary_as_categories", changed=("x", "t"))
    assert done.column("x") == Column("x", "categorical", categories=("0.5", "7"))
    assert done.arrays["x"].tolist() == [0, 1, -1, 1]
    assert (done.column("t").categories, done.arrays["t"].tolist()) == (("a", "b"), [1, -1, 0, 1])
    assert done.column("z").kind == "numeric" and done.column("y").kind == "numeric"


def test_columns_that_are_called_like_identifiers_become_categories() -> None:
    names = ("patient_id", "row-index", "idea", "Store_ID", "valid")
    done, step = identifiers_as_categories(table(*(numbers(name, [1, 2, 3, 4]) for name in names), Y), "y")
    assert step.changed == ("patient_id", "row-index"), "as in the authors' code, which misses upper case"
    assert done.column("idea").kind == "numeric"
    long = table(numbers("row_id", [12345678, 12345679, 0.1, 12345678]), Y)
    done, _ = identifiers_as_categories(long, "y")
    assert done.column("row_id").categories == ("0.1", "12345678", "12345679")


@pytest.mark.parametrize(("n", "removed"), [(9, ("x",)), (10, ())])
def test_numbers_with_few_values_go(n: int, removed: tuple[str, ...]) -> None:
    rows = table(
        numbers("x", [float(i % n) for i in range(40)]), (Column("y", "numeric", "target"), [1.0] * 40)
    )
    assert drop_few_values(rows, "y")[1].removed == removed


def test_categories_that_do_not_occur_are_not_counted() -> None:
    level = Column("level", "categorical", categories=tuple("abcdef"))
    rows = table((level, [0, 1, 2, -1]), Y)
    assert drop_many_categories(rows, "y", most=3)[1].removed == ()
    assert drop_many_categories(rows, "y", most=2)[1].removed == ("level",)


def test_columns_and_rows_with_gaps_go() -> None:
    rows = table(numbers("much", [nan, nan, nan, 1]), numbers("some", [nan, 2, 3, 4]), Y)
    done, steps = transform(rows, "y", [drop_mostly_missing, drop_incomplete_rows])
    assert [(step.removed, step.n_rows_removed) for step in steps] == [(("much",), 0), ((), 1)]
    assert done.arrays["y"].tolist() == [2, 3, 4]


def test_the_two_largest_classes_are_kept_in_equal_size() -> None:
    y = Column("y", "categorical", "target", ("a", "b", "c"))
    rows = table(numbers("x", list(range(9))), (y, [0, 1, 1, 1, 2, 2, 1, 1, 1]))
    done, step = balance_two_classes(rows, "y")
    assert sorted(done.arrays["y"].tolist()) == [1, 1, 2, 2]
    assert step.n_rows_removed == 5 and list(done.arrays["x"]) == sorted(done.arrays["x"])
    again, _ = balance_two_classes(rows, "y")
    assert again.arrays["x"].tolist() == done.arrays["x"].tolist()


def test_targets_are_changed_as_the_record_says() -> None:
    rows = table(numbers("x", [1, 2, 3, 4]), (Column("y", "numeric", "target", integer=True), [-3, 0, 1, 7]))
    done, step = log_target(rows, "y")
    assert done.arrays["y"] == pytest.approx([-log(4), 0, log(2), log(8)])
    assert step.changed == ("y",) and not done.column("y").integer
    done, _ = above_median(rows, "y")
    assert (done.column("y").categories, done.arrays["y"].tolist()) == (("low", "high"), [0, 0, 1, 1])


def test_the_order_is_that_of_the_authors_code() -> None:
    rows = table(numbers("x", [1, 2, 3, 4]), numbers("note", [1, 2, 3, 4]), Y)
    steps = tabular_benchmark("multiclass", keeps_categories=False, remove=["note"])
    names = [getattr(step, "__name__", "drop_columns") for step in steps]
    assert names == [
        "drop_columns", "binary_as_categories", "identifiers_as_categories", "drop_few_values", "drop_categories",
        "drop_many_categories", "drop_mostly_missing", "drop_incomplete_rows", "balance_two_classes",
    ]  # fmt: skip
    done, (step,) = transform(rows, "y", [partial(drop_columns, names=("note", "never"))])
    assert (list(done.arrays), step.parameters) == (["x", "y"], {"names": ["note", "never"]})
