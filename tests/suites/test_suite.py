from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.data.resolve import resolve
from assay.data.task import TaskRequest
from assay.errors import ConfigError
from assay.settings import Settings
from assay.suites.find import find_suite, list_suites, read_suite
from assay.suites.suite import Suite

Write = Callable[[str, str], Path]
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "openml" / "suites"
ROWS = "x,y\n" + "".join(f"{row},{'ab'[row % 2]}\n" for row in range(20))

FULL = """
name: small
version: 3
description: Two tables.
constraint: quick
constraints:
  quick: {time: 1m, cores: 2}
criteria: [small, public]
defaults:
  split: {kind: cv, folds: 3}
  metrics: {binary: [auc, acc], regression: rmse}
tasks:
  - bundled/iris
  - data/cars.csv
  - name: wines
    ref: bundled/wine
    metric: balacc
    split: {kind: holdout}
  - name: adult
    file: data/adult.csv
    target: income
    type: binary
    metrics: [logloss, auc]
    positive: ">50K"
    columns:
      zip: {kind: categorical, categories: [1, 2]}
      id: {role: ignore}
  - name: mine
    train: [a_train_0.csv, a_train_1.csv]
    test: [a_test_0.csv, a_test_1.csv]
  - openml/t/31
  - name: off
    ref: bundled/digits
    enabled: false
"""


@pytest.fixture
def suite(write: Write) -> Suite:
    return read_suite(write("suites/small.yaml", FULL))


def by_name(suite: Suite, name: str) -> TaskRequest:
    return next(task for task in suite.tasks if (task.name or task.ref) == name)


def test_file_says_name_version_constraint_and_criteria(suite: Suite) -> None:
    assert (suite.name, suite.version, suite.description) == ("small", "3", "Two tables.")
    assert suite.constraint == "quick"
    assert suite.constraints == {"quick": {"time": "1m", "cores": 2}}
    assert suite.criteria == ("small", "public")
    assert suite.origin == "small.yaml"


def test_disabled_task_is_left_out(suite: Suite) -> None:
    assert [task.name or task.ref for task in suite.tasks] == [
        "iris",
        "cars",
        "wines",
        "adult",
        "mine",
        "openml/t/31",
    ]


def test_defaults_hold_where_a_task_says_nothing(suite: Suite) -> None:
    iris, wines = by_name(suite, "iris"), by_name(suite, "wines")
    assert iris.split == {"kind": "cv", "folds": 3}
    assert iris.metrics == ()
    assert iris.metrics_by_type == {"binary": ("auc", "acc"), "regression": ("rmse",)}
    assert wines.split == {"kind": "holdout"}
    assert (wines.metrics, wines.metrics_by_type) == (("balacc",), {})


def test_default_split_is_not_for_tasks_that_come_with_folds(suite: Suite) -> None:
    assert by_name(suite, "mine").split == {}
    assert by_name(suite, "openml/t/31").split == {}


def test_paths_count_from_the_folder_of_the_file(suite: Suite, tmp_path: Path) -> None:
    assert by_name(suite, "cars").path == str(tmp_path / "suites/data/cars.csv")
    assert by_name(suite, "cars").ref == "file"
    mine = by_name(suite, "mine")
    assert mine.train == tuple(str(tmp_path / f"suites/a_train_{fold}.csv") for fold in range(2))


def test_everything_said_of_a_task_is_in_its_request(suite: Suite) -> None:
    adult = by_name(suite, "adult")
    assert (adult.target, adult.type, adult.positive) == ("income", "binary", ">50K")
    assert adult.metrics == ("logloss", "auc")
    assert adult.columns == {
        "zip": {"kind": "categorical", "categories": ["1", "2"]},
        "id": {"role": "ignore"},
    }
    assert adult.where == "in small.yaml, task adult"


def test_metrics_for_the_type_that_a_task_turns_out_to_have(
    suite: Suite, settings: Settings, write: Write
) -> None:
    write("suites/data/cars.csv", ROWS)
    assert resolve(by_name(suite, "cars"), settings).metrics == ("auc", "acc")
    assert resolve(by_name(suite, "iris"), settings).metrics == ("logloss", "acc", "balacc")


def test_yes_and_no_are_labels_and_only_true_and_false_booleans(write: Write) -> None:
    text = "tasks: [{file: a.csv, positive: yes, enabled: true, columns: {y: {categories: [no, yes, off, 1]}}}]\n"
    (request,) = read_suite(write("s.yaml", text)).tasks
    assert request.positive == "yes"
    assert request.columns == {"y": {"categories": ["no", "yes", "off", "1"]}}


def test_bundled_suite_is_complete_and_can_be_resolved(settings: Settings) -> None:
    suite = find_suite("bundled", settings)
    tasks = [resolve(request, settings) for request in suite.tasks]
    assert {task.type for task in tasks} == {"binary", "multiclass", "regression"}
    assert all(len(task.folds) == 5 for task in tasks)
    assert "bundled" in list_suites()
    assert suite.criteria


def test_data_file_is_a_suite_of_one_task(write: Write, settings: Settings) -> None:
    suite = find_suite(str(write("cars.csv", ROWS)), settings, target="y")
    (request,) = suite.tasks
    assert (suite.name, request.name, request.target) == ("cars", "cars", "y")
    assert resolve(request, settings).type == "binary"


def test_reference_is_a_suite_of_one_task(settings: Settings) -> None:
    assert find_suite("bundled/iris", settings).tasks == (TaskRequest("bundled/iris", name="iris"),)
    assert find_suite("openml/t/31", settings).tasks == (TaskRequest("openml/t/31"),)
    assert find_suite("test.openml/t/31", settings).tasks == (TaskRequest("test.openml/t/31"),)


def test_openml_suite_lists_its_tasks(settings: Settings) -> None:
    folder = settings.cache / "openml/org/openml/www/studies"
    folder.mkdir(parents=True)
    (folder / "271.xml").write_text(
        '<oml:study xmlns:oml="http://openml.org/openml"><oml:name>AMLB</oml:name>'
        "<oml:main_entity_type>task</oml:main_entity_type><oml:tasks><oml:task_id>3</oml:task_id>"
        "<oml:task_id>31</oml:task_id></oml:tasks></oml:study>"
    )
    suite = find_suite("openml/s/271", settings)
    assert [task.ref for task in suite.tasks] == ["openml/t/3", "openml/t/31"]
    assert suite.description == "AMLB"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bundle", r"Unknown suite 'bundle'\. Did you mean 'bundled'\?"),
        ("gone.yaml", r"no suite file gone\.yaml"),
        ("gone.csv", r"no data file gone\.csv"),
        ("openml/s/", r"is no OpenML suite"),
    ],
)
def test_unknown_suite_says_what_there_is(settings: Settings, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_suite(name, settings)


def test_target_is_only_for_data_files(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="not a data file"):
        find_suite("bundled", settings, target="y")


def test_built_in_name_goes_before_a_folder_of_that_name(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bundled").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(find_suite("bundled", settings).tasks) == 5


def test_suite_of_a_package_is_found_by_its_entry_point(
    settings: Settings, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("their.yaml", "tasks: [bundled/iris]\n")

    class Point:
        def load(self) -> Any:
            return lambda: path

    monkeypatch.setattr("assay.suites.find.entry_point_names", lambda kind: {"theirs": Point()})
    assert find_suite("theirs", settings).name == "their"
    assert find_suite("theirs/one", settings).tasks == (TaskRequest("theirs/one"),), "its source names it"
    assert "theirs" in list_suites()


def test_two_tasks_of_one_name_are_refused_in_a_record_too() -> None:
    with pytest.raises(ConfigError, match="Two tasks of suite s are named 'a'"):
        Suite("s", (TaskRequest("bundled/iris", name="a"), TaskRequest("bundled/wine", name="a")))


AMLB = """
---
- name: __defaults__
  folds: 2
  cores: 2
  max_runtime_seconds: 60
- name: kc2
  openml_task_id: 3913
  description: "binary test dataset"
- name: split
  dataset: {train: [a_train_0.csv, a_train_1.csv], test: [a_test_0.csv, a_test_1.csv], target: y, type: binary}
  metric: [auc, acc]
- name: whole
  dataset: data.csv
  folds: 5
  max_mem_size_mb: 1024
- name: off
  enabled: false
  openml_task_id: 0
  metric: [null, acc]
"""


def test_amlb_file_is_read_as_far_as_it_maps(write: Write, tmp_path: Path) -> None:
    suite = read_suite(write("test.yaml", AMLB))
    kc2, split, whole = suite.tasks
    assert suite.name == "test"
    assert suite.constraint == "60s2c"
    assert (kc2.ref, kc2.split) == ("openml/t/3913", {"kind": "given", "folds": 2})
    assert split.train == (str(tmp_path / "a_train_0.csv"), str(tmp_path / "a_train_1.csv"))
    assert (split.target, split.type, split.metrics, split.split) == ("y", "binary", ("auc", "acc"), {})
    assert (whole.path, whole.split) == (str(tmp_path / "data.csv"), {"kind": "cv", "folds": 5})
    assert suite.notes == (
        "max_mem_size_mb in test.yaml, task whole is not used: limits are given with the run.",
    )


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "n_tasks"),
    [("example", 1), ("test", 3), ("small", 16), ("medium", 19), ("large", 4), ("validation", 9)],
)
def test_files_that_amlb_ships_are_read(name: str, n_tasks: int) -> None:
    if not SHARED.exists():
        pytest.skip("the reference data are not beside the project")
    suite = read_suite(SHARED / f"{name}.yaml")
    assert len(suite.tasks) == n_tasks
    assert all(task.ref.startswith("openml/t/") for task in suite.tasks)
