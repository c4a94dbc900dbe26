from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.data.resolve import load, resolve
from assay.data.table import Table
from assay.data.task import Task, TaskRequest
from assay.settings import Settings

DATASETS = Path("data", "datasets")


@pytest.fixture(scope="session")
def data_sets(shared: Path) -> dict[str, dict[str, Any]]:
    """What is said of each real data set, by name."""
    files = sorted((shared / DATASETS).glob("*.yaml"))
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


@pytest.fixture(scope="session")
def read(
    shared: Path, data_sets: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Task, Table]]:
    """Return a function that reads a real data set as a task; tables are cached for the session."""
    folder = tmp_path_factory.mktemp("curation")
    settings = Settings(cache=folder / "cache", state=folder / "state", offline=True)

    def read_set(name: str, ignore: Sequence[str] = ()) -> tuple[Task, Table]:
        told, path = data_sets[name], shared / DATASETS / f"{name}.parquet"
        columns = {column: {"role": "ignore"} for column in ignore}
        request = TaskRequest(
            "file", path=str(path), target=told["target"], type=told["task_type"], columns=columns
        )
        task = resolve(request, settings)
        return task, load(task, settings).table

    return read_set


@pytest.fixture(scope="session")
def reference(shared: Path) -> dict[str, dict[str, str]]:
    """The reference values of each data set, by name and fact."""
    path = shared / "reference" / "curation" / "curation_reference.csv"
    with path.open(encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="session")
def tolerances(shared: Path) -> dict[str, str]:
    path = shared / "reference" / "curation" / "curation_tolerances.csv"
    with path.open(encoding="utf-8") as file:
        return {row["fact"]: row["tolerance"] for row in csv.DictReader(file)}
