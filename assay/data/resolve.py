"""From a request to a task, once; from a task to its data, on demand.

`resolve` reads a new table, digests it, makes its splits and remembers the task by the request and by path,
size and time of every file, so that the next call reads one small JSON file and imports neither numpy nor
pandas.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from assay.data.kept import splits_path, table_path
from assay.data.source import Loaded
from assay.data.sources import find_source
from assay.data.task import Fold, Task, TaskRequest
from assay.errors import ConfigError, DataError
from assay.metrics import default_metrics
from assay.settings import Settings
from assay.vocabulary import TaskType

if TYPE_CHECKING:
    from assay.data.build import Draft
    from assay.data.splits import Splits
    from assay.data.table import Array, Table

__all__ = ["FoldData", "TaskData", "broken", "fold_data", "load", "resolve"]

_log = logging.getLogger(__name__)
_FORMAT = 2


@dataclass(frozen=True, eq=False)
class TaskData:
    """The table of a task, with the task's roles, and its folds."""

    table: Table
    splits: Splits


@dataclass(frozen=True, eq=False)
class FoldData:
    """One fold: features and target of both sides, and which rows of the table are tested, in the same order.

    Targets are int32 class codes in the order of `task.classes`, or float64 numbers in regression.
    """

    train: Table
    y_train: Array
    test: Table
    y_test: Array
    test_rows: Array


def resolve(request: TaskRequest, settings: Settings) -> Task:
    """Return the task that a request means, or raise a UserError that says why there is none."""
    remembered = _recall(request, settings)
    if remembered is not None:
        return remembered
    named_files = [
        Path(item) for item in (request.path, *request.train, *request.test) if item and os.path.exists(item)
    ]
    before = _states(named_files)
    loaded = find_source(request.ref, request.where).load(request, settings)
    task, _ = _make(request, loaded, settings)
    if _states(named_files) != before:
        raise DataError(
            f"{loaded.raw.source} changed while it was read. Wait until it is complete; try again."
        )
    _remember(task, _states(loaded.files), settings)
    return task


def load(task: Task, settings: Settings) -> TaskData:
    """Return the data of a task from the cache; where that was cleaned, read its source again.

    Raises:
        DataError: if the source no longer has the data (or the folds) that the task was made from.
    """
    from assay.data.splits import load_splits
    from assay.data.table_file import load_table

    if task.problem:
        raise DataError(task.problem)
    try:
        table = load_table(table_path(task.data_digest, settings))
        splits = load_splits(splits_path(task.split_digest, settings))
    except FileNotFoundError:
        _log.info("Reading %s again: it is no longer in the cache.", task.name)
        loaded = find_source(task.request.ref, task.request.where).load(task.request, settings)
        again, data = _make(task.request, loaded, settings)
        for what, now, then in (
            ("data", again.data_digest, task.data_digest),
            ("folds", again.split_digest, task.split_digest),
        ):
            if now != then:
                raise DataError(
                    f"The {what} of task {task.name} ({task.id}) changed since it was planned. "
                    "Restore the old file, or plan and run again with the new one."
                ) from None
        table, splits = data.table, data.splits
    return TaskData(replace(table, columns=task.columns), splits)


def fold_data(data: TaskData, task: Task, fold: int | tuple[int, int]) -> FoldData:
    """Return one fold by its position in `task.folds`, or by (repeat, fold)."""
    from assay.data.target import encode_target

    key = (task.folds[fold].repeat, task.folds[fold].fold) if isinstance(fold, int) else fold
    rows = {(repeat, number): sides for repeat, number, *sides in data.splits.folds}
    if key not in rows:
        raise ConfigError(f"Task {task.name} has no fold {key[1]} in repeat {key[0]}. See `assay task show`.")
    train, test = rows[key]
    y = encode_target(data.table.column(task.target), data.table.arrays[task.target], task.classes)
    features = data.table.select(column.name for column in task.features)
    return FoldData(features.take(train), y[train], features.take(test), y[test], test)


def broken(request: TaskRequest, message: str) -> Task:
    """Return a task that stands for a request that could not be resolved; its jobs end as `data` rows."""
    from assay.data.digest import digest_json

    kind: TaskType = request.type or "binary"
    name = request.name or Path(request.path or (request.train or (request.ref,))[0]).name
    return Task(
        name=name,
        id=request.ref if request.ref != "file" else f"file/{request.digest()[:16]}",
        type=kind,
        target=request.target,
        metrics=_metrics(request, kind),
        columns=(),
        classes=(),
        folds=_planned_folds(request),
        data_digest=digest_json(["broken data", request.digest()]),
        split_digest=digest_json(["broken splits", request.digest()]),
        request=request,
        temporal=request.split.get("kind") == "temporal",
        problem=message,
    )


def _metrics(request: TaskRequest, kind: TaskType) -> tuple[str, ...]:
    return request.metrics or request.metrics_by_type.get(kind) or default_metrics(kind)


def _planned_folds(request: TaskRequest) -> tuple[Fold, ...]:
    """Return the folds that a request states; one if it states none."""
    if request.train:
        return tuple(Fold(0, number, 0, 0) for number in range(len(request.train)))
    folds, repeats = request.split.get("folds"), 1
    if request.split.get("kind") == "repeated":
        repeats = request.split.get("repeats", 10)
    numbers = (folds, repeats)
    if request.split.get("kind") == "holdout" or not all(
        isinstance(n, int) and 1 <= n <= 1000 for n in numbers
    ):
        return (Fold(0, 0, 0, 0),)
    assert isinstance(folds, int)
    return tuple(Fold(repeat, fold, 0, 0) for repeat in range(repeats) for fold in range(folds))


def _make(request: TaskRequest, loaded: Loaded, settings: Settings) -> tuple[Task, TaskData]:
    from assay.data.build import draft_task
    from assay.data.table_file import save_table

    draft = draft_task(request, loaded)
    splits = _splits_for(request, loaded, draft, settings)
    table = draft.table
    path = table_path(draft.data_digest, settings)
    if not os.path.exists(path):
        save_table(
            replace(table, columns=tuple(replace(column, role="feature") for column in table.columns)), path
        )
    task = Task(
        name=request.name or loaded.name,
        id=loaded.id or f"file/{draft.data_digest[:16]}",
        type=draft.type,
        target=draft.target,
        metrics=_metrics(request, draft.type),
        columns=table.columns,
        classes=draft.classes,
        folds=splits.summary(),
        data_digest=draft.data_digest,
        split_digest=splits.digest(),
        request=request,
        temporal=draft.spec.kind == "temporal",
        facts=draft.facts,
        licence=loaded.licence,
        origin=loaded.origin,
        data_digest_v1=draft.data_digest_v1,
        notes=(f"{loaded.raw.source} was read with {'; '.join(table.notes)}.",) if table.notes else (),
    )
    return task, TaskData(table, splits)


def _splits_for(request: TaskRequest, loaded: Loaded, draft: Draft, settings: Settings) -> Splits:
    """Return the source's own folds, those made before for this data and split, or new ones; keep them."""
    from assay.data.build import given_splits, strata_of
    from assay.data.digest import digest_json
    from assay.data.splits import load_splits, make_splits, save_splits

    key = digest_json([draft.data_digest, draft.target, list(draft.classes), draft.spec.digest()])
    note = settings.cache / "splits" / "made" / f"{key}.json"
    given = given_splits(loaded, draft.spec) if not request.split or draft.spec.kind == "given" else None
    if given is None and note.exists():
        try:
            return load_splits(splits_path(json.loads(note.read_text())["digest"], settings))
        except FileNotFoundError:
            pass
    splits = given or make_splits(draft.spec, strata_of(draft, loaded.raw.source))
    save_splits(splits, splits_path(splits.digest(), settings))
    if given is None:
        _write_json(note, {"digest": splits.digest()})
    return splits


def _recall(request: TaskRequest, settings: Settings) -> Task | None:
    try:
        stored = json.loads(_resolved_path(request, settings).read_text(encoding="utf-8"))
        if stored["format"] == _FORMAT and stored["files"] == _states(
            Path(item[0]) for item in stored["files"]
        ):
            return replace(Task.from_json(stored["task"]), request=request)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # absent, damaged or of another version: it is made again
    return None


def _remember(task: Task, states: list[list[str | int]], settings: Settings) -> None:
    path = _resolved_path(task.request, settings)
    _write_json(path, {"format": _FORMAT, "files": states, "task": task.to_json()})


def _states(files: Iterable[Path]) -> list[list[str | int]]:
    """Return path, size and time of files and folders; they tell whether a file is still the same."""
    states: list[list[str | int]] = []
    for path in files:
        state = path.stat()
        states.append([str(path), state.st_size, state.st_mtime_ns])
    return states


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{uuid4().hex[:8]}.tmp")
    scratch.write_text(json.dumps(value), encoding="utf-8")
    scratch.replace(path)


def _resolved_path(request: TaskRequest, settings: Settings) -> Path:
    return settings.cache / "resolved" / f"{request.digest()}.json"
