"""A fold as frameworks get it, and its truth apart."""

from __future__ import annotations

import multiprocessing
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay import api
from assay.data.task import Task, TaskRequest
from assay.runs.folds import Folds, read_task, read_truth, secret
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.suite import Suite

FORK = multiprocessing.get_context("fork")


def load_task(path: Path, settings: Settings, **split: Any) -> Task:
    request = TaskRequest("file", path=str(path), target="target", split=split or {"kind": "cv", "folds": 4})
    (task,) = api.load_tasks(Suite("folds", (request,)), settings)
    return task


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose first column is the row number, sorted by class."""
    path = tmp_path_factory.mktemp("data") / "private_source.csv"
    lines = [
        f"{i},{(i * 7) % 11 / 3},{'a' if i % 3 else 'b'},{'no' if i < 100 else 'yes'}" for i in range(200)
    ]
    path.write_text("number,b,side,target\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def own(tmp_path: Path, settings: Settings) -> Settings:
    """The session's cache with a secret of one's own."""
    return replace(settings, state=tmp_path / "state")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def rows_of(path: Path) -> np.ndarray:
    """Return the row numbers of a fold's file, from its first column."""
    with np.load(path, allow_pickle=False) as file:
        return file["c0"].astype(int)


def test_the_test_file_holds_features_only_and_the_truth_joins_back(
    table: Path, store: Store, own: Settings
) -> None:
    task, source = load_task(table, own), pd.read_csv(table)
    folds = Folds(store.folder, own)
    seen: list[int] = []
    for fold in range(4):
        files = folds.files(task, 0, fold, "npz")
        with (
            np.load(files.train, allow_pickle=False) as train,
            np.load(files.test, allow_pickle=False) as test,
        ):
            assert set(train.files) - set(test.files), "train has the target"
            assert {name for name in test.files if name.startswith("c")} == {"c0", "c1", "c2"}
        truth = read_truth(store.folder, files.digest).get()
        y, rows = truth.y, truth.rows
        number = rows_of(files.test)
        assert np.array_equal(number, rows), "the truth is in the order the child sees"
        assert [task.classes[code] for code in y] == source["target"].iloc[rows].tolist()
        assert not set(number) & set(rows_of(files.train))
        seen += number.tolist()
    assert sorted(seen) == list(range(200))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_other_formats_hold_no_target_either(table: Path, store: Store, own: Settings, form: str) -> None:
    files = Folds(store.folder, own).files(load_task(table, own), 0, 0, form)
    read = pd.read_csv if form == "csv" else pd.read_parquet
    assert "target" in read(files.train).columns
    assert list(read(files.test).columns) == ["number", "b", "side"]


def test_test_rows_are_in_a_secret_order(table: Path, tmp_path: Path, own: Settings) -> None:
    task = load_task(table, own)

    def order(name: str, settings: Settings) -> list[int]:
        return rows_of(Folds(Store(tmp_path / name).folder, settings).files(task, 0, 0, "npz").test).tolist()

    first = order("one", own)
    assert sorted(first) != first, "not in the table's order"
    assert order("two", own) == first, "the same secret, the same order, in every store"
    other = order("three", replace(own, state=tmp_path / "other"))
    assert sorted(other) == sorted(first) and other != first


def test_the_name_of_a_fold_tells_nothing_without_the_secret(
    table: Path, tmp_path: Path, store: Store, own: Settings
) -> None:
    task = load_task(table, own)
    name = Folds(store.folder, own).files(task, 0, 0, "npz").digest
    other = Folds(store.folder, replace(own, state=tmp_path / "other")).files(task, 0, 0, "npz").digest
    assert name != other and task.digest not in name and len(name) == 32


def test_temporal_test_rows_keep_their_order(tmp_path: Path, store: Store, own: Settings) -> None:
    path = tmp_path / "series.csv"
    path.write_text("day,x,target\n" + "".join(
        f"2020-{i // 28 + 1:02d}-{i % 28 + 1:02d},{i},{i % 7}.5\n" for i in range(120)))  # fmt: skip
    task = load_task(path, own, kind="temporal", time="day", folds=2)
    assert task.temporal
    files = Folds(store.folder, own).files(task, task.folds[0].repeat, task.folds[0].fold, "npz")
    with np.load(files.test, allow_pickle=False) as test:
        x = test["c1"]
    assert (np.diff(x) > 0).all()


def test_files_are_made_once(table: Path, store: Store, own: Settings) -> None:
    task = load_task(table, own)
    first = Folds(store.folder, own).files(task, 0, 1, "npz")
    inodes = [path.stat().st_ino for path in (first.train, first.test)]
    again = Folds(store.folder, own).files(task, 0, 1, "npz")
    assert again == first and [path.stat().st_ino for path in (again.train, again.test)] == inodes


def _write_fold(root: Path, task: Task, settings: Settings, barrier: Any, told: Any) -> None:
    folds = Folds(Store(root).folder, settings)
    barrier.wait()
    files = folds.files(task, 0, 2, "npz")
    told.put([path.stat().st_ino for path in (files.train, files.test)])


def test_two_coordinators_do_not_replace_each_others_files(table: Path, store: Store, own: Settings) -> None:
    """Under a job that runs, a replaced file looks as if the job had changed its inputs."""
    task = load_task(table, own)
    secret(own)
    barrier, told = FORK.Barrier(4), FORK.Queue()
    arguments = (store.folder.root, task, own, barrier, told)
    processes = [FORK.Process(target=_write_fold, args=arguments) for _ in range(4)]
    for process in processes:
        process.start()
    seen = [told.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert len({tuple(inodes) for inodes in seen}) == 1


def test_a_store_that_lost_a_file_makes_it_again(table: Path, store: Store, own: Settings) -> None:
    task = load_task(table, own)
    folds = Folds(store.folder, own)
    files = folds.files(task, 0, 0, "npz")
    before = files.test.read_bytes(), read_truth(store.folder, files.digest).get().y
    for path in (
        files.test,
        store.folder.truth / f"{files.digest}.npz",
        store.folder.tasks / f"{task.digest}.json",
    ):
        path.unlink()
        folds.files(task, 0, 0, "npz")
        assert path.exists()
    assert files.test.read_bytes() == before[0]
    assert np.array_equal(read_truth(store.folder, files.digest).get().y, before[1])


def test_a_killed_writer_leaves_a_store_that_can_be_judged(
    table: Path, store: Store, own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever truth and fold are there, so is the description that judging needs."""
    from assay.runs import folds as module

    task = load_task(table, own)
    real, count = module.write_replace, [0]

    def killed(path: Path, *rest: Any) -> None:
        real(path, *rest)
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "write_replace", killed)
    with pytest.raises(KeyboardInterrupt):
        Folds(store.folder, own).files(task, 0, 0, "npz")
    monkeypatch.undo()
    Folds(store.folder, own).files(task, 0, 0, "npz")
    assert read_task(store.folder, task.digest).get() == task


def test_nothing_in_a_store_is_a_pickle(table: Path, store: Store, own: Settings) -> None:
    Folds(store.folder, own).files(load_task(table, own), 0, 0, "npz")
    archives = list(store.folder.root.rglob("*.npz"))
    assert len(archives) == 3
    for path in archives:
        with np.load(path, allow_pickle=False) as file:
            assert all(file[name].dtype != object for name in file.files)
    assert not [
        path for path in store.folder.root.rglob("*") if path.suffix in (".pkl", ".pickle", ".joblib")
    ]


def test_the_secret_is_random_kept_and_ones_own(tmp_path: Path, own: Settings) -> None:
    first = secret(own)
    assert len(first) == 32 and secret(own) == first
    assert stat.S_IMODE((own.state / "secret").stat().st_mode) == 0o600
    assert secret(replace(own, state=tmp_path / "other")) != first
    assert [path.name for path in own.state.iterdir()] == ["secret"], "no partial file is left"


def test_what_a_store_does_not_have_is_said(store: Store) -> None:
    for found in (read_truth(store.folder, "ab" * 16), read_task(store.folder, "ab" * 32)):
        assert found.is_missing and found.problem == "does not exist"
    for found in (read_truth(store.folder, "../x"), read_task(store.folder, "")):
        assert "is not the name" in found.problem
