from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assay.data.raw import RawTable, StringColumn, TypedColumn
from assay.data.resolve import load, resolve
from assay.data.source import Loaded, Source
from assay.data.sources import find_source
from assay.data.task import Column, TaskRequest
from assay.errors import ConfigError, DataError
from assay.settings import Settings


class TheirSource:
    """A source as another package may bring it."""

    def list(self) -> tuple[str, ...]:
        return ("theirs/one",)

    def load(self, request: TaskRequest, settings: Settings) -> Loaded:
        columns = (
            TypedColumn(Column("x", "numeric"), np.arange(20.0)),
            StringColumn("y", (pa.array(["a", "b"] * 10, pa.large_string()),), True),
        )
        return Loaded(
            RawTable(request.ref, columns, 20), name="one", id=request.ref, target="y", licence="CC0"
        )


class Point:
    def load(self) -> Any:
        return TheirSource


@pytest.fixture
def with_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.plugins.entry_point_names", lambda kind: {"theirs": Point()})


@pytest.mark.usefixtures("with_plugin")
def test_source_of_another_package_is_found_by_its_prefix(settings: Settings) -> None:
    source: Source = find_source("theirs/one")
    assert source.list() == ("theirs/one",)
    task = resolve(TaskRequest("theirs/one"), settings)
    assert (task.name, task.id, task.classes, task.licence) == ("one", "theirs/one", ("a", "b"), "CC0")
    assert load(task, settings).table.n_rows == 20


@pytest.mark.usefixtures("with_plugin")
def test_unknown_prefix_suggests_one_of_a_package_too() -> None:
    with pytest.raises(ConfigError, match=r"Unknown source 'their'.*Did you mean 'theirs'"):
        find_source("their/one")


def test_same_request_loads_the_same_data_every_time(settings: Settings) -> None:
    """What the protocol promises."""
    request = TaskRequest("bundled/wine")
    one, two = (find_source(request.ref).load(request, settings) for _ in range(2))
    assert [column.name for column in one.raw.columns] == [column.name for column in two.raw.columns]
    assert one.files == two.files
    assert one.raw.n_rows == two.raw.n_rows == 178


@pytest.mark.parametrize(
    ("columns", "n_rows", "message"),
    [
        ((), 0, "has no columns"),
        ((TypedColumn(Column("x", "numeric"), np.empty(0)),), 0, "no rows"),
        ((TypedColumn(Column("x", "numeric"), np.zeros(1)),) * 2, 1, "stands twice"),
    ],
)
def test_raw_table_without_content_is_refused(columns: Any, n_rows: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        RawTable("here.csv", columns, n_rows)
