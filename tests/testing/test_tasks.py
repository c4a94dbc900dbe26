"""The tables of `assay framework check` hold what they say they pack."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from assay.data.resolve import FoldData, fold_data, load, resolve
from assay.data.table import missing_mask
from assay.data.task import Task
from assay.settings import Settings
from assay.testing.tasks import NAMES, TASKS, write_tasks


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Task, FoldData]]:
    """Every task as a framework gets it, by name."""
    folder = tmp_path_factory.mktemp("check")
    settings = Settings(cache=folder / "cache", state=folder / "state")
    tasks = [resolve(request, settings) for request in write_tasks(folder)]
    return {task.name: (task, fold_data(load(task, settings), task, 0)) for task in tasks}


def missing(fold: FoldData, name: str) -> tuple[float, float]:
    """Return the share of missing values in training and in test."""
    return tuple(
        missing_mask(side.column(name), side.arrays[name]).mean() for side in (fold.train, fold.test)
    )


def test_the_tasks_are_small_and_of_every_type(made: dict[str, tuple[Task, FoldData]]) -> None:
    assert {task.type for task in TASKS} == {"binary", "multiclass", "regression"}
    for task in TASKS:
        found, fold = made[task.name]
        assert found.type == task.type and not found.problem
        assert 150 <= fold.train.n_rows + fold.test.n_rows <= 1000
        assert (fold.train.n_rows, fold.test.n_rows) == (task.n_train, task.n_test)


def test_they_are_the_same_every_time(tmp_path: Path) -> None:
    write_tasks(tmp_path / "a")
    write_tasks(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_single_has_boolean_labels_one_test_row_and_a_metric_for_it(
    made: dict[str, tuple[Task, FoldData]],
) -> None:
    task, fold = made["single"]
    assert task.classes == ("false", "true") and task.metrics[0] == "logloss"
    assert fold.test.n_rows == 1 and {column.kind for column in task.features} == {"numeric"}


def test_gaps_has_missing_values_in_every_type_and_new_categories(
    made: dict[str, tuple[Task, FoldData]],
) -> None:
    task, fold = made["gaps"]
    gaps = {column.kind for column in task.features if min(missing(fold, column.name)) > 0}
    assert gaps == {"numeric", "categorical", "boolean", "date", "text"}
    assert missing(fold, "empty") == (1.0, 1.0) and missing(fold, "empty in test") == (0.0, 1.0)
    train, test = (set(side.arrays["colour"].tolist()) for side in (fold.train, fold.test))
    assert [task.features[3].categories[code] for code in test - train] == ["seen in test only"]


def test_names_has_labels_and_columns_as_people_write_them(made: dict[str, tuple[Task, FoldData]]) -> None:
    task, _ = made["names"]
    assert task.classes == ("Left", 'it\'s "left"', "left", "left ")
    assert tuple(column.name for column in task.features) == NAMES
    assert [column.kind for column in task.features] == ["categorical", "numeric"] * 5


def test_names_can_be_learned_by_categories_and_not_perfectly(made: dict[str, tuple[Task, FoldData]]) -> None:
    _, fold = made["names"]
    first = fold.train.arrays[NAMES[0]]
    assert np.bincount(first).min() >= 100, "LightGBM does not split by rarer ones"
    best = sum(np.bincount(fold.y_train[first == code]).max() for code in np.unique(first))
    assert 0.96 < best / len(first) < 1.0


def test_codes_has_other_integers_a_class_of_two_and_columns_without_use(
    made: dict[str, tuple[Task, FoldData]],
) -> None:
    task, fold = made["codes"]
    assert task.classes == ("-1", "2", "7", "10"), "in another order than their texts"
    assert np.bincount(fold.y_train)[2] == 2 and np.bincount(fold.y_test)[2] == 0
    columns = fold.train.arrays
    assert len(set(columns["one"])) == len(set(columns["zero"])) == 1
    assert np.array_equal(columns["x"], columns["x again"])


def test_wide_has_more_columns_than_rows_and_no_complete_row(made: dict[str, tuple[Task, FoldData]]) -> None:
    task, fold = made["wide"]
    assert len(task.features) == 200 > fold.train.n_rows
    assert {column.kind for column in task.features} == {"numeric", "boolean", "date"}
    gaps = [missing_mask(column, fold.train.arrays[column.name]) for column in task.features]
    assert np.any(gaps, axis=0).all()


@pytest.mark.parametrize("name", ["names", "codes"])
def test_classes_by_size_or_by_appearance_are_in_another_order(
    name: str, made: dict[str, tuple[Task, FoldData]]
) -> None:
    """Else a framework that orders them so, and does not say it, would go unseen."""
    task, fold = made[name]
    counts = Counter(fold.y_train.tolist())
    asked = list(range(len(task.classes)))
    assert list(counts) != asked, "by appearance"
    assert [code for code, _ in counts.most_common()] != asked
    assert [code for code, _ in reversed(counts.most_common())] != asked
