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
from typing import TYPE_CHECKING

from assay.data.task import Task
from assay.errors import DataError
from assay.frameworks.fold_files import file_name, write_rows
from assay.jobs.folder import StoreFolder, read_json, write_json, write_replace
from assay.settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from assay.data.resolve import TaskData

__all__ = ["FoldFiles", "Folds", "read_task", "read_truth", "secret"]


@dataclass(frozen=True)
class FoldFiles:
    """Where one fold lies; `digest` also names its truth."""

    digest: str
    train: Path
    test: Path


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


def read_task(store: StoreFolder, digest: str) -> Task:
    """Return a task by its digest, as the store keeps it."""
    try:
        return Task.from_json(read_json(store.tasks / f"{digest}.json"))
    except FileNotFoundError:
        raise DataError(f"The store {store.root} has no description of task {digest[:12]}.") from None


def read_truth(store: StoreFolder, digest: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (targets, row numbers in the table) of a fold's test rows, in the order the child saw them."""
    import numpy as np

    try:
        with np.load(store.truth / f"{digest}.npz", allow_pickle=False) as file:
            return file["y"], file["row"]
    except FileNotFoundError:
        raise DataError(
            f"The store {store.root} has no truth for fold {digest[:12]}; it was removed."
        ) from None
