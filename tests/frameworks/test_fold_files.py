"""What Assay writes for a framework is what the contract's readers give back."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.data.table import MISSING_DATE, Table
from assay.data.task import Column, Fold, Task, TaskRequest
from assay.frameworks.border.contract import JobDescription, Rows, Train
from assay.frameworks.border.tables import read_table
from assay.frameworks.fold_files import FORMATS, file_name, write_rows

HOSTILE = [
    ("a", "a "),
    ("A", "a"),
    ("y", "n_rows", "c0", "c1", "c0_ends"),
    ("with,comma", 'with "quotes"', "'", ""),
    ("line\nbreak", "carriage\rreturn", "both\r\n"),
    ("0", "1", "row", "prediction", "index", "__index_level_0__"),
    ("größe", "サイズ", "\u202eright", "tab\t"),
]
TEXTS = [
    "",
    "plain",
    " blank ",
    "a,b",
    'q"q',
    "line\nbreak",
    "carriage\rreturn",
    "both\r\n",
    "null",
    "NaN",
    "ü\U0001f33b",
]


def make_task(
    columns: list[Column], kind: str = "regression", target: str = "y", classes: tuple[str, ...] = ()
) -> Task:
    aim = Column(target, "categorical" if classes else "numeric", "target", classes)
    return Task(
        name="t", id="t", type=kind, target=target, metrics=("rmse",), columns=(*columns, aim), classes=classes,
        folds=(Fold(0, 0, 1, 1),), data_digest="d", split_digest="s", request=TaskRequest("file"),
    )  # type: ignore[arg-type]  # fmt: skip


@pytest.fixture
def round_trip(tmp_path: Path) -> Callable[..., tuple[Train, Rows]]:
    def trip(form: str, task: Task, rows: Table, y: np.ndarray) -> tuple[Train, Rows]:
        for part, target in (("train", y), ("test", None)):
            with open(tmp_path / file_name(part, form), "wb") as file:
                write_rows(file, form, task, rows, target)
                assert not file.closed
        said = {
            "schema": 1, "type": task.type, "metric": "x", "metric_higher_is_better": True, "target": task.target,
            "columns": [
                {"name": c.name, "kind": c.kind, "categories": list(c.categories), "integer": c.integer}
                for c in task.features
            ],
            "classes": list(task.classes), "n_train": len(y), "n_test": len(y), "format": form, "budget_s": 1.0,
            "cores": 1, "memory_mb": 1, "seed": 0, "params": {}, "batch_sizes": [],
        }  # fmt: skip
        job = JobDescription(tmp_path, said)
        learn, ask = read_table(job, "train"), read_table(job, "test")
        assert ask.y is None
        rows = Rows(job.columns, learn.arrays, learn.n_rows)
        return Train(job, rows, learn.y), Rows(job.columns, ask.arrays, ask.n_rows)

    return trip


def assert_same(found: Rows, table: Table, task: Task) -> None:
    assert [column["name"] for column in found.columns] == [column.name for column in task.features]
    for array, column in zip(found.arrays, task.features, strict=True):
        expected = table.arrays[column.name]
        assert array.dtype == expected.dtype, column.name
        np.testing.assert_array_equal(array, expected, err_msg=column.name)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_mixed_table_comes_back(samples: Any, round_trip: Any, form: str, kind: str) -> None:
    sample = samples[kind]
    train, test = round_trip(form, sample.task, sample.train, sample.y_train)
    assert_same(train, sample.train, sample.task)
    assert_same(test, sample.train, sample.task)
    np.testing.assert_array_equal(train.y, sample.y_train)
    assert train.y.dtype == (np.float64 if kind == "regression" else np.int64)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("names", HOSTILE, ids=str)
def test_columns_may_be_called_anything(round_trip: Any, form: str, names: tuple[str, ...]) -> None:
    columns = [Column(name, "text" if i == 1 else "numeric") for i, name in enumerate(names)]
    arrays: dict[str, Any] = {name: np.array([float(i), np.nan]) for i, name in enumerate(names)}
    arrays[names[1]] = np.array(["x", None], dtype=object)
    task = make_task(columns, target="the target")
    train, _ = round_trip(form, task, Table(tuple(columns), arrays), np.array([1.0, 2.0]))
    assert_same(train, Table(tuple(columns), arrays), task)
    assert list(train.X.columns) == list(names)
    assert train.y.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("form", FORMATS)
def test_classes_and_categories_may_be_called_anything(round_trip: Any, form: str) -> None:
    labels = tuple(TEXTS[1:])
    column = Column("c", "categorical", categories=labels)
    codes = np.arange(-1, len(labels) - 1, dtype=np.int32)
    task = make_task([column], "multiclass", classes=("", *labels))
    table = Table((column,), {"c": codes})
    train, _ = round_trip(form, task, table, np.arange(len(codes)))
    assert_same(train, table, task)
    assert train.labels.tolist() == ["", *labels][: len(codes)]


@pytest.mark.parametrize("form", FORMATS)
def test_text_comes_back(round_trip: Any, form: str) -> None:
    """In csv alone an empty text and a missing one are the same."""
    values = np.array([*TEXTS, None, "x" * 200_000], dtype=object)
    column = Column("t", "text")
    task = make_task([column])
    train, _ = round_trip(form, task, Table((column,), {"t": values}), np.zeros(len(values)))
    expected = [None if form == "csv" and value == "" else value for value in values]
    assert train.arrays[0].tolist() == expected


@pytest.mark.parametrize("form", FORMATS)
def test_numbers_and_dates_keep_every_bit(round_trip: Any, form: str) -> None:
    numbers = np.array([0.1 + 0.2, -0.0, 5e-324, 1.7976931348623157e308, np.nan, 2.0**53 + 2])
    whole = np.array([0.0, -1.0, 2.0**53, 1e15, 7.0, 3.0])
    dates = np.array([0, 1, -1, MISSING_DATE, 2**62, 1_600_000_000_123_456_789])
    columns = (Column("n", "numeric"), Column("i", "numeric", integer=True), Column("d", "date"))
    task = make_task(list(columns))
    table = Table(columns, {"n": numbers, "i": whole, "d": dates})
    train, _ = round_trip(form, task, table, numbers[[0, 1, 2, 3, 0, 5]])
    assert_same(train, table, task)
    assert [array.tobytes() for array in train.arrays[1:]] == [whole.tobytes(), dates.tobytes()]
    assert train.y.tobytes() == numbers[[0, 1, 2, 3, 0, 5]].tobytes()


@pytest.mark.parametrize("form", FORMATS)
def test_only_features_are_written(round_trip: Any, form: str, tmp_path: Path) -> None:
    kept = Column("kept", "numeric")
    columns = (Column("hidden", "numeric", "ignore"), kept, Column("group", "numeric", "group"))
    arrays = {column.name: np.array([123456789.0, 1.0]) for column in columns}
    arrays["kept"] = np.array([1.0, 2.0])
    task = make_task(list(columns))
    train, test = round_trip(form, task, Table(columns, arrays), np.array([0.0, 1.0]))
    assert (len(train.arrays), len(test.arrays)) == (1, 1)
    for part in ("train", "test"):
        data = (tmp_path / file_name(part, form)).read_bytes()
        assert b"123456789" not in data
        assert np.float64(123456789.0).tobytes() not in data


def test_files_are_named_by_part_and_format() -> None:
    assert [file_name("train", form) for form in ("npz", "csv", "parquet")] == [
        "train.npz",
        "train.csv",
        "train.parquet",
    ]


def test_csv_is_what_other_programs_expect(samples: Any) -> None:
    sample = samples["multiclass"]
    file = io.BytesIO()
    write_rows(file, "csv", sample.task, sample.train.take(np.array([3, 5])), sample.y_train[[3, 5]])
    rows = list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))
    assert rows[0] == ["size", "count", "colour", "flag", "day", "note", "y"]
    assert rows[1][0] == ""
    assert rows[1][1] == str(int(sample.train.arrays["count"][3]))
    assert rows[1][3] in ("true", "false")
    assert rows[1][4] == str(sample.train.arrays["day"][3].view("datetime64[ns]"))
    assert rows[2][2] == ""
    assert rows[1][6] == sample.task.classes[sample.y_train[3]]
