"""Small real tasks and frameworks, made in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.data.task import Column, Fold, Task, TaskRequest
from assay.frameworks.spec import FrameworkSpec


@pytest.fixture
def make_task() -> Callable[..., Task]:
    def make(name: str = "flowers", folds: int | tuple[Fold, ...] = 3, repeats: int = 1, **said: Any) -> Task:
        if isinstance(folds, int):
            folds = tuple(Fold(r, f, 20, 10) for r in range(repeats) for f in range(folds))
        values: dict[str, Any] = {
            "id": f"file/{name}",
            "type": "multiclass",
            "target": "kind",
            "metrics": ("logloss", "acc"),
            "columns": (Column("size", "numeric"), Column("kind", "categorical", "target", ("a", "b", "c"))),
            "classes": ("a", "b", "c"),
            "folds": folds,
            "data_digest": f"data of {name}",
            "split_digest": f"splits of {name}",
            "request": TaskRequest("file", name),
        }
        return Task(name=name, **{**values, **said})

    return make


@pytest.fixture
def make_spec(tmp_path: Path) -> Callable[..., FrameworkSpec]:
    def make(name: str = "forest", version: str = "1", **said: Any) -> FrameworkSpec:
        return FrameworkSpec(name=name, version=version, folder=tmp_path, home=tmp_path, **said)

    return make
