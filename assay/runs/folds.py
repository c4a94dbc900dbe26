"""Lay out a fold for frameworks, and its truth apart: features with a target, features without, labels at home.

Test rows are permuted with a secret permutation (not for temporal tasks), because in many real tables the
row number alone tells the class. The permutation is the same for all frameworks and all runs on this machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.task import Task
from assay.files import Read, make_record, read_json, read_npz, write_json, write_replace
from assay.frameworks.fold_files import file_name, write_rows
from assay.jobs.folder import StoreFolder
from assay.settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from assay.data.resolve import TaskData

__all__ = [
    "FoldFiles",
    "Folds",
    "Question",
    "Questions",
    "Truth",
    "read_question",
    "read_task",
    "read_truth",
    "secret",
]


@dataclass(frozen=True)
class FoldFiles:
    """Where one fold lies; `digest` also names its truth."""

    digest: str
    train: Path
    test: Path


@dataclass(frozen=True, eq=False)
class Truth:
    """The targets of a fold's test rows and their row numbers in the table, in the order the child saw them."""

    y: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Question:
    """A task, and the right answers for the test rows of one of its folds."""

    task: Task
    y: np.ndarray


def secret(settings: Settings) -> bytes:
    """Return this user's secret, made on first use."""
    path = settings.state / "secret"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"secret.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(os.urandom(32))
    try:
        os.link(partial, path)  # whoever is first wins
    except FileExistsError:
        pass
    partial.unlink()
    return path.read_bytes()


class Folds:
    """Makes the files of folds in a store, each once; keeps the last table in memory."""

    def __init__(self, store: StoreFolder, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._secret = secret(settings)
        self._last: tuple[str, TaskData] | None = None

    def files(self, task: Task, repeat: int, fold: int, form: str) -> FoldFiles:
        """Return the fold's files in one format, writing what is not there yet."""
        name = hmac.new(self._secret, f"{task.digest}|{repeat}|{fold}".encode(), "sha256").hexdigest()[:32]
        folder = self._store.folds / name
        files = FoldFiles(name, folder / file_name("train", form), folder / file_name("test", form))
        truth = self._store.truth / f"{name}.npz"
        self._note(task)
        wanted = (truth, files.train, files.test)
        if not all(path.exists() for path in wanted):
            # One writer at a time: replacing a file under a running job would look as if the job had changed it.
            with self._alone():
                if not all(path.exists() for path in wanted):
                    self._write(task, repeat, fold, form, files, truth)
        return files

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with open(self._store.folds / ".lock", "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _write(self, task: Task, repeat: int, fold: int, form: str, files: FoldFiles, truth: Path) -> None:
        import numpy as np

        from assay.data.resolve import fold_data

        data = fold_data(self._data(task), task, (repeat, fold))
        order = np.arange(data.test.n_rows) if task.temporal else self._order(files.digest, data.test.n_rows)
        files.train.parent.mkdir(exist_ok=True)
        write_replace(files.train, lambda file: write_rows(file, form, task, data.train, data.y_train), False)
        write_replace(
            files.test, lambda file: write_rows(file, form, task, data.test.take(order), None), False
        )
        y, rows = data.y_test[order], data.test_rows[order]
        write_replace(truth, lambda file: np.savez(file, y=y, row=rows))

    def _order(self, digest: str, n: int) -> np.ndarray:
        import numpy as np

        seed = int.from_bytes(hmac.new(self._secret, digest.encode(), hashlib.sha256).digest()[:16], "big")
        return np.random.default_rng(seed).permutation(n)

    def _data(self, task: Task) -> TaskData:
        from assay.data.resolve import load

        if self._last is None or self._last[0] != task.digest:
            self._last = None
            self._last = (task.digest, load(task, self._settings))
        return self._last[1]

    def _note(self, task: Task) -> None:
        """Keep the task's description in the store, so that results can be read without its source."""
        path = self._store.tasks / f"{task.digest}.json"
        if not path.exists():
            write_json(path, task.to_json())


def read_task(store: StoreFolder, digest: str) -> Read[Task]:
    """Return a task by its digest, as the store keeps it."""
    path = store.tasks / f"{digest}.json"
    if not digest.isalnum():
        return Read(path, None, "is not the name of a task's description")
    return read_json(path, store.tasks).then(lambda value: _own_task(value, digest))


def _own_task(value: dict[str, Any], digest: str) -> Task:
    task = make_record(Task, value)
    if task.digest != digest:
        raise ValueError("it describes another task than its name says")
    return task


def read_truth(store: StoreFolder, digest: str) -> Read[Truth]:
    """Return the truth of a fold."""
    path = store.truth / f"{digest}.npz"
    if not digest.isalnum():
        return Read(path, None, "is not the name of a fold's truth")
    return read_npz(path, ("y", "row"), root=store.truth).then(_truth)


def _truth(arrays: dict[str, np.ndarray]) -> Truth:
    y, rows = arrays["y"], arrays["row"]
    if y.ndim != 1 or y.shape != rows.shape or y.dtype.kind not in "biuf" or rows.dtype.kind not in "iu":
        raise ValueError(f"y is {y.dtype} of shape {y.shape}, row is {rows.dtype} of shape {rows.shape}")
    return Truth(y, rows)


def read_question(store: StoreFolder, task: str, fold: str) -> Read[Question]:
    """Return a task and the truth of one of its folds, by their digests."""
    described = read_task(store, task)
    if described.value is None:
        return described.failure()
    known = described.value
    return read_truth(store, fold).then(lambda truth: Question(known, _fitting(known, truth.y)))


class Questions:
    """Reads questions, and remembers the last ones that could be read: a run asks for the same ones again and again."""

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._known: dict[tuple[str, str], Read[Question]] = {}

    def ask(self, store: StoreFolder, task: str, fold: str) -> Read[Question]:
        """Return a task and the truth of one of its folds, by their digests; always of the same store."""
        known = self._known.pop((task, fold), None) or read_question(store, task, fold)
        if known.value is not None:
            self._known[task, fold] = known
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return known


def _fitting(task: Task, y: np.ndarray) -> np.ndarray:
    import numpy as np

    if task.type == "regression":
        is_fitting = bool(np.isfinite(y).all())
    else:
        is_fitting = y.dtype.kind in "biu" and bool(((y >= 0) & (y < len(task.classes))).all())
    if not is_fitting or not len(y):
        raise ValueError(f"it does not hold targets of the task {task.name}")
    return y
