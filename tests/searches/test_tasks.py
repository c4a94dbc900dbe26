"""The rows of a search as a task: what a job sees of a table is what the user's table has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.data.resolve import fold_data, load
from assay.data.table import MISSING_DATE
from assay.errors import DataError
from assay.searches.inputs import open_data
from assay.searches.tasks import label_kind, task_of
from assay.settings import Settings

FOLD = (0, 0, np.arange(6), np.arange(6, 8))


def made(column: object) -> pd.DataFrame:
    return pd.DataFrame({"x": column, "y": ["yes", "no"] * 4})


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        ([1.5, np.nan] * 4, "numeric", [1.5, np.nan]),
        (pd.array([1, None] * 4, dtype="Int64"), "numeric", [1, np.nan]),
        ([True, False] * 4, "boolean", [1, 0]),
        (pd.array([True, None] * 4, dtype="boolean"), "boolean", [1, -1]),
        (pd.to_datetime(["1970-01-02", None] * 4), "date", [86_400 * 10**9, MISSING_DATE]),
        (pd.to_datetime(["1970-01-02 01:00"] * 8).tz_localize("Europe/Berlin"), "date", [86_400 * 10**9] * 2),
        (pd.Categorical(["v", None] * 4, categories=["w", "v"]), "categorical", [1, -1]),
        (["a", None] * 4, "text", ["a", None]),
        ([1, "a"] * 4, "text", ["1", "a"]),
    ],
)
def test_columns_keep_their_kind(column: object, kind: str, values: list, shared_settings: Settings) -> None:
    data = open_data(made(column), "y", None, "auc")
    task = task_of(data, [FOLD], "auc", shared_settings)
    assert [one.kind for one in task.features] == [kind] and task.classes == ("no", "yes")
    fold = fold_data(load(task, shared_settings), task, 0)
    got = fold.train.arrays["x"][:2]
    if kind == "text":
        assert list(got) == values
    else:
        np.testing.assert_array_equal(got, values)
    assert list(fold.y_train[:2]) == [1, 0] and list(fold.test_rows) == [6, 7]


def test_labels_are_known_by_what_they_were(shared_settings: Settings) -> None:
    x = np.arange(8.0)[:, None]
    kinds = {
        "int": np.array([8, 10] * 4),
        "bool": np.array([False, True] * 4),
        "text": np.array(["a", "b"] * 4),
    }
    for kind, y in kinds.items():
        data = open_data((x, y), None, None, "auc")
        assert label_kind(data) == kind
        assert task_of(data, [FOLD], "auc", shared_settings).classes == tuple(map(str, y[:2]))


def test_a_target_never_has_the_name_of_a_column(shared_settings: Settings) -> None:
    data = open_data(made([1.0, 2.0] * 4).rename(columns={"x": "target"}), "y", None, "auc")
    task = task_of(data, [FOLD], "auc", shared_settings)
    assert [one.name for one in task.features] == ["target"] and task.target == "target_"


def test_what_cannot_be_kept_is_said(shared_settings: Settings) -> None:
    far = made(np.array(["0900-01-01"] * 8, dtype="datetime64[s]"))
    with pytest.raises(DataError, match="'x' has dates before 1678"):
        task_of(open_data(far, "y", None, "auc"), [FOLD], "auc", shared_settings)
    same = made([1.0] * 8).assign(**{"1": 2.0}).rename(columns={"x": 1})
    with pytest.raises(DataError, match="Two columns are called '1'"):
        task_of(open_data(same, "y", None, "auc"), [FOLD], "auc", shared_settings)


def test_a_table_that_left_the_cache_is_said_to_be_gone(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("gone")
    settings = Settings(cache=root / "cache", state=root / "state")
    task = task_of(open_data(made([1.0, 2.0] * 4), "y", None, "auc"), [FOLD], "auc", settings)
    next((root / "cache" / "tables").iterdir()).unlink()
    with pytest.raises(DataError, match="came from memory, and are no longer in the cache"):
        load(task, settings)
