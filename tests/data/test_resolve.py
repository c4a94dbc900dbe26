from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.data import splits as splits_module
from assay.data.resolve import broken, fold_data, load, resolve
from assay.data.task import Fold, Task, TaskRequest
from assay.errors import ConfigError, DataError
from assay.metrics import default_metrics
from assay.settings import Settings

Ask = Callable[..., TaskRequest]


def rows(*targets: str, name: str = "y") -> str:
    return f"x,{name}\n" + "".join(f"{number},{target}\n" for number, target in enumerate(targets))


def test_task_knows_everything_about_its_table(ask: Ask, settings: Settings, small_csv: str) -> None:
    task = resolve(ask(small_csv, "cars.csv", target="kind"), settings)
    assert (task.name, task.type, task.target, task.classes) == ("cars", "binary", "kind", ("no", "yes"))
    assert [(column.name, column.kind, column.role) for column in task.columns] == [
        ("size", "numeric", "feature"),
        ("colour", "categorical", "feature"),
        ("kind", "categorical", "target"),
    ]
    assert task.columns[1].categories == ("Red", "blue", "red ")
    assert task.metrics == default_metrics("binary")
    assert len(task.folds) == 10
    assert task.facts["n_missing"] == 6
    assert not task.problem


def test_task_survives_json(ask: Ask, settings: Settings, small_csv: str) -> None:
    request = ask(
        small_csv, target="kind", metrics_by_type={"binary": ("acc",)}, columns={"size": {"kind": "numeric"}}
    )
    task = resolve(request, settings)
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    assert task.metrics == ("acc",)


def test_second_call_returns_the_same_task(ask: Ask, settings: Settings, small_csv: str) -> None:
    request = ask(small_csv)
    assert resolve(request, settings) == resolve(request, settings)


def test_second_call_does_not_read_the_file(
    ask: Ask, settings: Settings, small_csv: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(small_csv)
    first = resolve(request, settings)
    monkeypatch.setattr("assay.data.resolve.find_source", None)
    assert resolve(replace(request, where="in another.yaml"), settings).digest == first.digest


def test_second_call_imports_neither_numpy_nor_pandas_nor_scikit_learn(
    ask: Ask, settings: Settings, small_csv: str
) -> None:
    request = ask(small_csv)
    first = resolve(request, settings)
    code = f"""
import sys
from pathlib import Path
from assay.data.resolve import resolve
from assay.data.task import TaskRequest
from assay.metrics import default_metrics
from assay.settings import Settings
task = resolve(TaskRequest("file", path={request.path!r}), Settings(Path({str(settings.cache)!r}), Path(".")))
print(task.digest)
heavy = {{"numpy", "pandas", "sklearn", "pyarrow", "pydantic", "yaml"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == first.digest


def test_importing_data_and_suites_imports_nothing_heavy() -> None:
    code = """
import sys
import assay.data, assay.suites, assay.data.sources, assay.suites.suite, assay.suites.select
heavy = {"numpy", "pandas", "sklearn", "pyarrow", "pydantic", "yaml", "openml"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_changed_file_is_another_task(ask: Ask, settings: Settings, small_csv: str) -> None:
    request = ask(small_csv)
    before = resolve(request, settings)
    Path(request.path).write_text(small_csv.replace("blue", "grey"))
    assert resolve(request, settings).data_digest != before.data_digest


def test_touched_file_is_read_again_and_found_equal(ask: Ask, settings: Settings, small_csv: str) -> None:
    request = ask(small_csv)
    before = resolve(request, settings)
    os.utime(request.path, (1, 1))
    assert resolve(request, settings) == before


def test_moved_file_is_the_same_data_with_the_same_folds(
    ask: Ask, settings: Settings, small_csv: str
) -> None:
    one, two = ask(small_csv, "one.csv"), ask(small_csv, "two.csv")
    tasks = [resolve(request, settings) for request in (one, two)]
    assert tasks[0].digest == tasks[1].digest


@pytest.mark.parametrize("damage", ["", "{", '{"format": 0}', '{"format": 1, "files": [], "task": {}}'])
def test_damaged_memory_of_a_task_is_made_again(
    ask: Ask, settings: Settings, small_csv: str, damage: str
) -> None:
    request = ask(small_csv)
    task = resolve(request, settings)
    (path,) = (settings.cache / "resolved").glob("*.json")
    path.write_text(damage)
    assert resolve(request, settings) == task


def test_folds_are_made_once_and_then_read(
    ask: Ask, settings: Settings, small_csv: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = resolve(ask(small_csv, "a.csv"), settings)
    monkeypatch.setattr(splits_module, "make_splits", None)
    assert resolve(ask(small_csv, "b.csv"), settings).split_digest == first.split_digest


def test_file_that_changes_while_it_is_read_is_refused(
    ask: Ask, settings: Settings, small_csv: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.data import build

    request = ask(small_csv)
    real = build.draft_task

    def slow(*args: object) -> object:
        Path(request.path).write_text("x,y\n")
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(build, "draft_task", slow)
    with pytest.raises(DataError, match=r"rows\.csv changed while it was read"):
        resolve(request, settings)


def test_load_gives_the_table_and_the_folds_of_the_task(ask: Ask, settings: Settings, small_csv: str) -> None:
    task = resolve(ask(small_csv, target="kind"), settings)
    data = load(task, settings)
    assert data.table.columns == task.columns
    assert data.splits.digest() == task.split_digest
    assert data.splits.summary() == task.folds


def test_load_needs_no_file_while_the_cache_has_it(ask: Ask, settings: Settings, small_csv: str) -> None:
    task = resolve(ask(small_csv), settings)
    Path(task.request.path).unlink()
    assert load(task, settings).table.n_rows == 60


@pytest.mark.parametrize("folder", ["tables", "splits"])
def test_load_reads_the_source_again_when_the_cache_was_cleaned(
    ask: Ask, settings: Settings, small_csv: str, folder: str
) -> None:
    task = resolve(ask(small_csv), settings)
    shutil.rmtree(settings.cache / folder)
    assert load(task, settings).splits.digest() == task.split_digest
    assert load(task, settings).table.n_rows == 60


def test_load_refuses_data_that_changed_since(ask: Ask, settings: Settings, small_csv: str) -> None:
    task = resolve(ask(small_csv, "cars.csv"), settings)
    shutil.rmtree(settings.cache / "tables")
    Path(task.request.path).write_text(small_csv.replace("blue", "grey"))
    with pytest.raises(
        DataError, match=r"data of task cars .* changed since it was planned.*Restore the old file"
    ):
        load(task, settings)


def test_roles_of_one_task_do_not_leak_into_another(ask: Ask, settings: Settings, small_csv: str) -> None:
    one = resolve(ask(small_csv, columns={"size": {"role": "ignore"}}), settings)
    two = resolve(ask(small_csv), settings)
    assert one.data_digest == two.data_digest
    assert load(one, settings).table.columns[0].role == "ignore"
    assert load(two, settings).table.columns[0].role == "feature"


def test_fold_has_features_and_targets_of_both_sides(ask: Ask, settings: Settings, small_csv: str) -> None:
    task = resolve(ask(small_csv, target="kind"), settings)
    data = load(task, settings)
    fold = fold_data(data, task, 3)
    assert list(fold.train.arrays) == list(fold.test.arrays) == ["size", "colour"]
    assert (fold.train.n_rows, fold.test.n_rows) == (task.folds[3].n_train, task.folds[3].n_test)
    assert fold.y_train.dtype == fold.y_test.dtype == np.int32
    labels = [task.columns[2].categories[code] for code in data.table.arrays["kind"][fold.test_rows]]
    assert [task.classes[code] for code in fold.y_test] == labels
    same = fold_data(data, task, (0, 3))
    np.testing.assert_array_equal(same.test_rows, fold.test_rows)


def test_fold_that_does_not_exist_is_a_config_error(ask: Ask, settings: Settings, small_csv: str) -> None:
    task = resolve(ask(small_csv), settings)
    with pytest.raises(ConfigError, match="no fold 99 in repeat 0"):
        fold_data(load(task, settings), task, (0, 99))


def test_target_is_the_one_asked_for_a_usual_name_or_the_last(ask: Ask, settings: Settings) -> None:
    assert resolve(ask("Class,x,z\na,1,2\nb,2,3\na,3,4\nb,1,2\n"), settings).target == "Class"
    assert resolve(ask("label,TARGET,z\na,1,2\nb,2,3\na,3,4\nb,1,2\n"), settings).target == "TARGET"
    assert resolve(ask("u,v,w\na,1,2\nb,2,3\na,3,4\nb,1,2\n"), settings).target == "w"
    assert resolve(ask("u,v,w\na,1,2\nb,2,3\na,3,4\nb,1,2\n", target="u"), settings).target == "u"
    asked = resolve(ask("u,v,w\na,1,2\nb,2,3\na,3,4\nb,1,2\n", columns={"u": {"role": "target"}}), settings)
    assert asked.target == "u"
    assert asked.columns[0].role == "target"


def test_last_column_with_another_role_is_not_the_target(ask: Ask, settings: Settings) -> None:
    text = "u,v,id\na,1,2\nb,2,3\na,3,4\nb,1,2\n"
    assert resolve(ask(text, columns={"id": {"role": "ignore"}}), settings).target == "v"


@pytest.mark.parametrize(
    ("targets", "said", "kind", "classes"),
    [
        ("abab", {}, "binary", ("a", "b")),
        ("abcabc", {}, "multiclass", ("a", "b", "c")),
        ("0101", {}, "binary", ("0", "1")),
        ("012012", {}, "regression", ()),
        ("012012", {"type": "multiclass"}, "multiclass", ("0", "1", "2")),
        ("0101", {"type": "regression"}, "regression", ()),
        ("abab", {"positive": "a"}, "binary", ("b", "a")),
        ("0101", {"positive": "0"}, "binary", ("1", "0")),
    ],
)
def test_type_and_classes_follow_from_the_target(
    ask: Ask, settings: Settings, targets: str, said: dict[str, object], kind: str, classes: tuple[str, ...]
) -> None:
    task = resolve(ask(rows(*targets), **said), settings)
    assert (task.type, task.classes) == (kind, classes)


def test_numbers_as_classes_are_sorted_as_numbers(ask: Ask, settings: Settings) -> None:
    task = resolve(ask(rows(*["10", "9", "2"] * 3), type="multiclass"), settings)
    assert task.classes == ("2", "9", "10")


def test_declared_label_that_never_occurs_is_no_class(ask: Ask, settings: Settings) -> None:
    text = "@relation r\n@attribute x real\n@attribute y {z,b,a}\n@data\n1,a\n2,b\n3,a\n4,b\n"
    task = resolve(ask(text, "a.arff"), settings)
    assert task.classes == ("a", "b")
    fold = fold_data(load(task, settings), task, 0)
    assert sorted({*fold.y_train.tolist(), *fold.y_test.tolist()}) == [0, 1]


def test_regression_target_stays_a_number(ask: Ask, settings: Settings) -> None:
    task = resolve(ask(rows("1.5", "2.5", "3.5", "4.5")), settings)
    fold = fold_data(load(task, settings), task, 0)
    assert fold.y_train.dtype == np.float64
    assert task.metrics == ("rmse", "r2", "mae")


def test_group_column_is_no_feature_but_a_time_column_is(ask: Ask, settings: Settings) -> None:
    text = "g,t,x,y\n" + "".join(f"g{row % 5},2024-01-{row + 1:02},{row},{row * 1.5}\n" for row in range(20))
    grouped = resolve(ask(text, split={"kind": "grouped", "group": "g", "folds": 5}), settings)
    assert [column.name for column in grouped.features] == ["t", "x"]
    temporal = resolve(ask(text, split={"kind": "temporal", "time": "t", "folds": 3}), settings)
    assert [column.name for column in temporal.features] == ["g", "t", "x"]
    assert temporal.temporal
    stated = resolve(ask(text, split={"kind": "temporal"}, columns={"t": {"role": "time"}}), settings)
    assert [column.name for column in stated.features] == ["g", "x"]


def test_predefined_column_makes_the_folds_and_is_no_feature(ask: Ask, settings: Settings) -> None:
    text = "x,y,fold\n" + "".join(f"{row},{'ab'[row % 2]},{row % 3}\n" for row in range(12))
    task = resolve(ask(text, split={"kind": "predefined", "column": "fold"}), settings)
    assert [fold.n_test for fold in task.folds] == [4, 4, 4]
    assert [column.name for column in task.features] == ["x"]


def test_time_with_gaps_cannot_make_a_split(ask: Ask, settings: Settings) -> None:
    text = "t,x,y\n1,1,1\n,2,2\n3,3,3\n4,4,4\n"
    with pytest.raises(
        DataError, match=r"Column 't' of rows\.csv, which makes the split, is missing in 1 rows.*row 2"
    ):
        resolve(ask(text, split={"kind": "temporal", "time": "t"}), settings)


def test_broken_task_stands_for_its_request(settings: Settings) -> None:
    request = TaskRequest("file", name="bad", path="/nowhere/bad.csv", split={"kind": "cv", "folds": 3})
    task = broken(request, "There is no file.")
    assert task.folds == tuple(Fold(0, fold, 0, 0) for fold in range(3))
    assert task.problem == "There is no file."
    assert task.digest != broken(replace(request, path="/nowhere/other.csv"), "x").digest
    assert task.digest == broken(replace(request, where="elsewhere"), "y").digest
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task
    with pytest.raises(DataError, match="There is no file"):
        load(task, settings)


@pytest.mark.parametrize(
    ("split", "n_folds"),
    [
        ({}, 1),
        ({"kind": "repeated", "folds": 2, "repeats": 3}, 6),
        ({"kind": "holdout"}, 1),
        ({"kind": "cv", "folds": "x"}, 1),
        ({"kind": "cv", "folds": 10**9}, 1),
    ],
)
def test_broken_task_has_the_folds_that_were_stated(split: dict[str, object], n_folds: int) -> None:
    assert len(broken(TaskRequest("openml/t/1", split=split), "no").folds) == n_folds


def test_broken_task_with_train_files_has_one_fold_each() -> None:
    task = broken(TaskRequest("file", train=("a_train.csv", "b_train.csv")), "no")
    assert len(task.folds) == 2
    assert task.name == "a_train.csv"
