from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn import datasets

from assay.data.bundled import BUNDLED, BundledSource
from assay.data.resolve import load, resolve
from assay.data.sources import find_source
from assay.data.task import TaskRequest
from assay.settings import Settings


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "iris", "digits"])
def test_table_equals_that_of_scikit_learn(name: str, settings: Settings) -> None:
    reference: Any = getattr(datasets, f"load_{name}")()
    task = resolve(TaskRequest(f"bundled/{name}"), settings)
    table = load(task, settings).table
    assert [column.name for column in task.features] == [str(item) for item in reference.feature_names]
    features = np.column_stack([table.arrays[column.name] for column in task.features])
    np.testing.assert_array_equal(features, reference.data)
    target = task.columns[-1]
    labels = [target.categories[code] for code in table.arrays[target.name]]
    assert labels == [str(reference.target_names[code]) for code in reference.target]


def test_diabetes_equals_that_of_scikit_learn(settings: Settings) -> None:
    reference: Any = datasets.load_diabetes(scaled=False)
    task = resolve(TaskRequest("bundled/diabetes"), settings)
    table = load(task, settings).table
    for position, name in enumerate(reference.feature_names):
        column = table.column(name)
        values = table.arrays[name]
        if column.kind == "categorical":
            values = np.array([float(column.categories[code]) for code in values])
        np.testing.assert_array_equal(values, reference.data[:, position])
    np.testing.assert_array_equal(table.arrays["progression"], reference.target)
    assert task.type == "regression"


def test_linnerud_equals_that_of_scikit_learn(settings: Settings) -> None:
    reference: Any = datasets.load_linnerud()
    task = resolve(TaskRequest("bundled/linnerud"), settings)
    assert [column.name for column in task.features] == reference.feature_names
    np.testing.assert_array_equal(load(task, settings).table.arrays["Weight"], reference.target[:, 0])


def test_types_are_as_stated(settings: Settings) -> None:
    for name, table in BUNDLED.items():
        task = resolve(TaskRequest(f"bundled/{name}"), settings)
        assert (task.type, task.target) == (table.type, table.target)
        assert task.id == f"bundled/{name}"
        assert task.origin


def test_another_target_can_be_asked_for(settings: Settings) -> None:
    task = resolve(
        TaskRequest("bundled/linnerud", target="Pulse", columns={"Weight": {"role": "ignore"}}), settings
    )
    assert task.target == "Pulse"
    assert "Weight" not in [column.name for column in task.features]
    assert resolve(TaskRequest("bundled/iris", target="petal width (cm)"), settings).type == "regression"


def test_list_names_what_can_be_loaded() -> None:
    assert BundledSource().list() == tuple(f"bundled/{name}" for name in BUNDLED)


@pytest.mark.parametrize("prefix", ["bundled", "file", "openml", "test.openml"])
def test_every_source_lists_references_of_its_own_prefix(prefix: str) -> None:
    listed = find_source(f"{prefix}/x").list()
    assert all(ref.startswith(f"{prefix}/") for ref in listed)


def test_reading_a_bundled_table_does_not_import_scikit_learn(settings: Settings) -> None:
    code = (
        "import sys; from pathlib import Path; from assay.data.bundled import BundledSource;"
        "from assay.data.task import TaskRequest; from assay.settings import Settings;"
        "BundledSource().load(TaskRequest('bundled/iris'), Settings(Path('.'), Path('.')));"
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
