"""Suite files that cannot be used: each gets one sentence with the file, the place and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.suites.find import read_suite

ONE = "tasks:\n  - name: adult\n    file: adult.csv\n"

CASES: dict[str, tuple[str, list[str]]] = {
    "misspelt key of a task": (
        ONE + "    metrisc: [auc]\n",
        ["Unknown key 'metrisc'", "task adult", "'metrics'"],
    ),
    "misspelt key of the file": ("task:\n  - bundled/iris\n", ["Unknown key 'task'", "Did you mean 'tasks'"]),
    "misspelt key of defaults": (ONE + "defaults: {spilt: {}}\n", ["'spilt'", "defaults", "'split'"]),
    "misspelt key of a column": (
        ONE + "    columns: {x: {kinds: text}}\n",
        ["columns.x.kinds", "task adult"],
    ),
    "misspelt key of a split": (
        ONE + "    split: {kind: cv, fold: 3}\n",
        ["'fold'", "task adult", "'folds'"],
    ),
    "wrong kind of column": (
        ONE + "    columns: {x: {kind: number}}\n",
        ["columns.x.kind", "'number'", "'numeric'"],
    ),
    "wrong role": (ONE + "    columns: {x: {role: key}}\n", ["columns.x.role", "'key'", "'ignore'"]),
    "wrong type": (ONE + "    type: ranking\n", ["'type'", "'ranking'", "task adult", "'multiclass'"]),
    "wrong kind of split": (
        ONE + "    split: {kind: bootstrap}\n",
        ["'bootstrap'", "task adult", "'holdout'"],
    ),
    "folds that are a word": (ONE + "    split: {folds: ten}\n", ["'ten'", "'folds'", "task adult"]),
    "folds that are too few": (
        ONE + "    split: {folds: 0}\n",
        ["folds", "task adult", "greater than or equal to 1"],
    ),
    "split that is a word": (ONE + "    split: cv\n", ["'split'", "task adult"]),
    "split that contradicts": (
        ONE + "    split: {kind: cv, time: t}\n",
        ["does not use 'time'", "task adult"],
    ),
    "enabled that is a word": (ONE + "    enabled: perhaps\n", ["'enabled'", "'perhaps'", "task adult"]),
    "label that is a boolean": (ONE + "    positive: true\n", ["True", "'positive'", "task adult", "quotes"]),
    "metrics of an unknown type": (ONE + "    metrics: {ranking: ndcg}\n", ["metrics", "task adult"]),
    "metric and metrics": (
        ONE + "    metric: auc\n    metrics: [acc]\n",
        ["Both 'metric' and 'metrics'", "task adult"],
    ),
    "task without a place": ("tasks:\n  - name: adult\n", ["one of 'ref', 'file', 'path'", "task adult"]),
    "task with two places": (ONE + "    ref: bundled/iris\n", ["not 'ref' and 'file'", "task adult"]),
    "train without test": (
        "tasks:\n  - {name: a, train: a.csv}\n",
        ["1 'train' files but 0 'test' files", "task a"],
    ),
    "reference that is none": ("tasks:\n  - iris\n", ["'iris'", "task iris", "bundled/NAME"]),
    "address instead of a file": (
        "tasks:\n  - {file: 'https://x.org/a.csv'}\n",
        ["is an address", "Download"],
    ),
    "task that is a number": ("tasks:\n  - 31\n", ["task 1", "not 31", "key: value"]),
    "tasks that are no list": ("tasks: bundled/iris\n", ["'tasks'", "list"]),
    "no tasks": ("tasks: []\n", ["has no tasks", "List some"]),
    "tasks are missing": ("name: x\n", ["'tasks' is missing", "Add it"]),
    "all disabled": (ONE + "    enabled: false\n", ["disabled", "Enable one"]),
    "empty file": ("", ["not None", "key: value"]),
    "a word": ("hello\n", ["not 'hello'", "key: value"]),
    "one name twice": (
        "tasks: [bundled/iris, {name: iris, file: a.csv}]\n",
        ["named 'iris'", "another 'name'"],
    ),
    "one key twice": (ONE + "    file: b.csv\n", ["line 4", "key 'file' a second time", "Fix"]),
    "alias": ("a: &a [1]\ntasks: *a\n", ["line 2", "alias", "not supported"]),
    "tab": ("tasks:\n\t- bundled/iris\n", ["line 2", "Fix the YAML"]),
    "open bracket": ("tasks: [bundled/iris\n", ["line 2", "Fix the YAML"]),
    "python object": (
        "tasks: !!python/object/apply:os.system [ls]\n",
        ["line 1", "python/object", "Fix the YAML"],
    ),
    "key that is a list": ("? [a]\n: b\n", ["line 1", "list or mapping"]),
    "amlb: misspelt key": (
        "- name: a\n  openml_taks_id: 3\n",
        ["'openml_taks_id'", "task a", "'openml_task_id'"],
    ),
    "amlb: dataset id": ("- {name: a, openml_dataset_id: 3}\n", ["'openml_dataset_id'", "task a"]),
    "amlb: no place": ("- name: a\n", ["neither 'openml_task_id' nor 'dataset'", "task a", "Add one"]),
    "amlb: number that is none": ("- {name: a, openml_task_id: x}\n", ["'x'", "task a", "number of a task"]),
    "amlb: folds": ("- {name: a, openml_task_id: 3, folds: all}\n", ["'all'", "'folds'", "task a"]),
    "amlb: time series": (
        "- {name: a, dataset: {path: a.csv, type: timeseries}}\n",
        ["'timeseries'", "task a"],
    ),
    "amlb: address": ("- {name: a, dataset: 's3://b/a.csv'}\n", ["s3://b/a.csv", "task a", "Download it"]),
    "amlb: placeholder": ("- {name: a, dataset: '{user}/a.csv'}\n", ["{user}/a.csv", "task a"]),
    "amlb: key of dataset": ("- {name: a, dataset: {trian: a.csv}}\n", ["dataset.trian", "'train'"]),
    "amlb: no mapping": ("- 31\n", ["Task 1", "not a mapping", "openml_task_id"]),
    "amlb: dataset is a number": ("- {name: a, dataset: 5}\n", ["'dataset'", "task a", "give a path"]),
}


@pytest.mark.parametrize("case", CASES)
def test_malformed_suite_is_one_config_error_with_file_place_and_remedy(
    write: Callable[[str, str], Path], case: str
) -> None:
    text, parts = CASES[case]
    with pytest.raises(ConfigError) as caught:
        read_suite(write("small.yaml", text))
    message = str(caught.value)
    assert "\n" not in message
    for part in ("small.yaml", *parts):
        assert part in message


def test_wrong_encoding_names_the_byte(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_bytes("name: ä\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"small\.yaml is not UTF-8 \(byte 6\)\. Give a UTF-8 file"):
        read_suite(tmp_path / "small.yaml")


def test_deep_nesting_is_refused_quietly(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text("tasks: " + "[" * 5000)
    with pytest.raises(ConfigError, match=r"small\.yaml"):
        read_suite(tmp_path / "small.yaml")


def test_huge_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_bytes(b"#" * (17 * 2**20))
    with pytest.raises(ConfigError, match=r"small\.yaml has more than 16777216 bytes"):
        read_suite(tmp_path / "small.yaml")


def test_folder_instead_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"small\.yaml is not a regular file"):
        read_suite(tmp_path / "small.yaml")
