"""A small table with a column of every kind, job folders made of it, and the real child started on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.data.table import MISSING_DATE, Table
from assay.data.task import Column, Fold, Task, TaskRequest
from assay.frameworks.border import child
from assay.frameworks.find import find_framework
from assay.frameworks.fold_files import file_name, write_rows
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import parse_constraint
from assay.jobs.job import JobGroup
from assay.runs.place import Share
from assay.runs.prepare import Resources, describe_job
from assay.settings import Settings

FRAMEWORKS = Path(child.__file__).parents[1]
METRICS = {"binary": ("auc",), "multiclass": ("logloss",), "regression": ("rmse",)}
CLASSES = {"binary": ("A", "a "), "multiclass": ("A", "a ", "b, c"), "regression": ()}


@dataclass(frozen=True, eq=False)
class Sample:
    """A task with the rows of its one fold."""

    task: Task
    train: Table
    y_train: np.ndarray
    test: Table
    y_test: np.ndarray


@dataclass(frozen=True)
class Ended:
    """What a child left behind."""

    code: int
    log: str
    phases: list[str]
    report: dict[str, Any] = field(default_factory=dict)
    predictions: dict[str, np.ndarray] = field(default_factory=dict)


def make_sample(
    kind: str, columns: list[Column], arrays: dict[str, Any], y: np.ndarray, n_test: int = 20
) -> Sample:
    n_train = len(y) - n_test
    table = Table(tuple(columns), arrays)
    target = Column("y", "numeric" if kind == "regression" else "categorical", "target", CLASSES[kind])
    task = Task(
        name="secret name",
        id="file/secret",
        type=kind,  # type: ignore[arg-type]
        target="y",
        metrics=METRICS[kind],
        columns=(*columns, target),
        classes=CLASSES[kind],
        folds=(Fold(0, 0, n_train, n_test),),
        data_digest="data",
        split_digest="splits",
        request=TaskRequest("file"),
    )
    rows = np.arange(len(y))
    return Sample(task, table.take(rows[:n_train]), y[:n_train], table.take(rows[n_train:]), y[n_train:])


@pytest.fixture(scope="session")
def samples() -> dict[str, Sample]:
    """One mixed table per type of task: every kind of column, gaps in all that may have them."""
    rng = np.random.default_rng(0)
    n = 90
    size = rng.normal(size=n)
    code = rng.integers(0, 3, n).astype(np.int32)
    note = np.empty(n, dtype=object)
    note[:] = [None if i % 9 == 4 else f'row {i % 5}, "said"\r\nand more' for i in range(n)]
    arrays: dict[str, Any] = {
        "size": np.where(np.arange(n) % 7 == 3, np.nan, size),
        "count": rng.integers(0, 50, n).astype(float),
        "colour": np.where(np.arange(n) % 8 == 5, -1, code).astype(np.int32),
        "flag": np.where(np.arange(n) % 10 == 6, -1, size > 0).astype(np.int8),
        "day": np.where(np.arange(n) % 11 == 2, MISSING_DATE, rng.integers(0, 2**60, n)),
        "note": note,
    }
    columns = [
        Column("size", "numeric"),
        Column("count", "numeric", integer=True),
        Column("colour", "categorical", categories=("Red", "red ", "b,lue")),
        Column("flag", "boolean"),
        Column("day", "date"),
        Column("note", "text"),
    ]
    targets = {
        "binary": (size + 0.1 * rng.normal(size=n) > 0).astype(np.int64),
        "multiclass": np.digitize(size, [-0.5, 0.5]).astype(np.int64),
        "regression": 3.0 * size + rng.normal(size=n),
    }
    return {kind: make_sample(kind, columns, arrays, y) for kind, y in targets.items()}


@pytest.fixture
def build_job(tmp_path: Path) -> Callable[..., Path]:
    """Write a job's folder as the runner does; `said` replaces what `job.json` says."""

    def build(sample: Sample, form: str = "npz", name: str = "job", **said: Any) -> Path:
        folder = tmp_path / name
        (folder / "out").mkdir(parents=True)
        spec = find_framework("constant")
        job = JobGroup(spec, sample.task, parse_constraint("30s1c"), 0).job(sample.task.folds[0])
        described = describe_job(job, sample.task, spec, Resources(Share(cores=1, memory_mb=2048), "plain"))
        described.update({"format": form, "batch_sizes": [1, 3], **said})
        (folder / "job.json").write_text(json.dumps(described), encoding="utf-8")
        for part, rows, y in (("train", sample.train, sample.y_train), ("test", sample.test, None)):
            with open(folder / file_name(part, form), "wb") as file:
                write_rows(file, form, sample.task, rows, y)
        return folder

    return build


@pytest.fixture
def run_child() -> Callable[..., Ended]:
    """Start the child as a sandbox would: by path, isolated, with nothing of ours in its environment."""

    def run(folder: Path, adapter: Path, python: str = sys.executable) -> Ended:
        phases = folder / "phases"
        phases.touch()
        environ: Mapping[str, str] = {"ASSAY_PHASES": str(phases), "PATH": os.defpath, "OMP_NUM_THREADS": "1"}
        command = [python, "-I", str(FRAMEWORKS / "border" / "child.py"), str(folder), str(adapter)]
        done = subprocess.run(
            command,
            env=environ,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        report, predictions = folder / "out" / "report.json", folder / "out" / "predictions.npz"
        arrays = {}
        if predictions.exists():
            with np.load(predictions, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        said = json.loads(report.read_text(), parse_constant=_refuse) if report.exists() else {}
        return Ended(done.returncode, done.stdout, phases.read_text().split(), said, arrays)

    return run


def _refuse(name: str) -> None:
    raise AssertionError(f"report.json holds {name}, which is no JSON")


@pytest.fixture
def write_adapter(tmp_path: Path) -> Callable[[str], Path]:
    """Write an adapter; what is given comes after the import of the contract's names."""

    def write(text: str) -> Path:
        path = tmp_path / "own" / "adapter.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("import numpy as np\nfrom assay_contract import Prediction\n\n" + text)
        return path

    return write


@pytest.fixture
def write_framework(tmp_path: Path) -> Callable[..., Path]:
    """Write a framework's folder with its toml, an adapter and further files."""

    def write(toml: str, name: str = "mine", **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "framework.toml").write_text(toml)
        (folder / "adapter.py").write_text("def fit(train, budget, params): ...\n")
        for file, text in files.items():
            path = folder / file.replace("__", "/").replace("_txt", ".txt").replace("_py", ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return folder

    return write


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with an empty cache."""
    return Settings(cache=tmp_path / "cache", state=tmp_path / "state")


@pytest.fixture
def make_own(write_framework: Callable[..., Path]) -> Callable[..., FrameworkSpec]:
    """Write a framework with an environment of its own, version 1.0, and read it."""

    def make(lock: str, name: str = "mine", toml: str = "", **files: str) -> FrameworkSpec:
        head = 'name = "mine"\nversion = "1.0"\nenvironment = "own"\n'
        folder = write_framework(head + toml, name=name, **{"locks__1.0_txt": lock, **files})
        return find_framework(str(folder))

    return make
