"""The declared order of categories reaches the learner, and older stores go on knowing their tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay import Local, Store, api
from assay.data.resolve import fold_data, load, resolve
from assay.data.task import Task, TaskRequest
from assay.jobs.plan import with_earlier_digests
from assay.settings import Settings

LABELS = [f"{letter}{number}" for number, letter in enumerate("qzwxaservftbg")]


def ordered_frame(ordered: bool = True) -> pd.DataFrame:
    """A table in which the class follows from the place of a label in the declared order, and from nothing else."""
    codes = np.random.default_rng(0).integers(0, len(LABELS), 400)
    label = pd.Categorical.from_codes(codes, LABELS, ordered=ordered)
    return pd.DataFrame({"label": label, "y": np.where(codes < 6, "low", "high")})


def write_arff(path: Path, frame: pd.DataFrame) -> Path:
    labels = ",".join(frame["label"].cat.categories)
    lines = [f"{label},{y}" for label, y in zip(frame["label"], frame["y"], strict=True)]
    head = f"@relation t\n@attribute label {{{labels}}}\n@attribute y {{low,high}}\n@data\n"
    path.write_text(head + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "ordered.parquet"
    ordered_frame().to_parquet(path)
    return path


def first_column(path: Path, settings: Settings) -> tuple[tuple[str, ...], list[int]]:
    task = resolve(TaskRequest("file", path=str(path), target="y"), settings)
    fold = fold_data(load(task, settings), task, 0)
    return fold.train.columns[0].categories, fold.train.arrays["label"].tolist()


@pytest.mark.parametrize("ordered", [True, False])
def test_parquet_and_arff_keep_the_declared_order(
    tmp_path: Path, shared_settings: Settings, ordered: bool
) -> None:
    frame = ordered_frame(ordered)
    frame.to_parquet(tmp_path / "a.parquet")
    as_arff = first_column(write_arff(tmp_path / "a.arff", frame), shared_settings)
    assert first_column(tmp_path / "a.parquet", shared_settings) == as_arff
    assert as_arff[0] == tuple(LABELS)


def test_strings_without_a_declared_order_are_sorted(tmp_path: Path, shared_settings: Settings) -> None:
    frame = ordered_frame().astype({"label": str})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    for name in ("a.parquet", "a.csv"):
        assert first_column(tmp_path / name, shared_settings)[0] == tuple(sorted(LABELS))


def test_a_stump_learns_what_only_the_declared_order_shows(
    tmp_path: Path, parquet: Path, shared_settings: Settings
) -> None:
    csv = tmp_path / "sorted.csv"
    ordered_frame().to_csv(csv, index=False)
    scores = {}
    for path in (parquet, csv):
        suite = api.load_suite(path, "y", shared_settings)
        params = {"decision_tree": {"max_depth": 1}}
        jobs = api.plan(suite, "decision_tree", "30s1c", folds=[0], params=params, settings=shared_settings)
        store = Store(tmp_path / path.stem)
        api.run(jobs, store, Local(1), settings=shared_settings)
        (row,) = store.rows()
        assert row.status == "ok", row.message
        scores[path.suffix] = row.scores["acc"]
    assert scores[".parquet"] == 1.0
    assert scores[".csv"] < 0.9


def version_1_store(folder: Path, parquet: Path, settings: Settings, make: Callable[[Task], Task]) -> Store:
    """A store as version 1 left it: the task under its digest of version 1."""
    suite = api.load_suite(parquet, "y", settings)
    tasks = [make(task) for task in api.load_tasks(suite, settings)]
    store = Store(folder)
    jobs = api.plan(suite, "constant", "30s1c", tasks=tasks, folds=[0], settings=settings)
    api.run(jobs, store, Local(1), settings=settings)
    return store


def test_rows_by_a_digest_of_version_1_are_known_and_not_run_again(
    tmp_path: Path, parquet: Path, shared_settings: Settings
) -> None:
    store = version_1_store(
        tmp_path / "store", parquet, shared_settings, lambda task: replace(task, known_as=task.digest_v1)
    )
    before = store.rows()
    suite = api.load_suite(parquet, "y", shared_settings)
    jobs = api.plan(suite, "constant,decision_tree", "30s1c", folds=[0], settings=shared_settings)
    assert {job.key for job in jobs.jobs}.isdisjoint(row.key for row in before)
    seen = []
    api.run(jobs, store, Local(1), settings=shared_settings, tell=seen.append)
    assert [event.job.framework for event in seen if event.kind == "start"] == ["decision_tree"]
    rows = store.rows()
    assert before[0] in rows
    assert len({row.task_digest for row in rows}) == 1, "both are compared on one task"


def test_a_store_without_rows_of_version_1_knows_the_new_digest(
    parquet: Path, shared_settings: Settings
) -> None:
    suite = api.load_suite(parquet, "y", shared_settings)
    jobs = api.plan(suite, "constant", "30s1c", folds=[0], settings=shared_settings)
    assert with_earlier_digests(jobs, lambda digest: False) is jobs
    assert jobs.tasks[0].digest != jobs.tasks[0].digest_v1 != ""


def test_a_task_that_an_older_version_wrote_can_be_read(parquet: Path, shared_settings: Settings) -> None:
    task = resolve(TaskRequest("file", path=str(parquet), target="y"), shared_settings)
    older = json.loads(json.dumps(task.to_json()))
    for name in ("notes", "data_digest_v1", "known_as"):
        del older[name]
    del older["request"]["csv"]
    again = Task.from_json(older)
    assert again.digest == task.digest
    assert replace(again, data_digest_v1=task.data_digest_v1) == task
