"""Tasks of rows that are in memory: a table and its folds, kept in the cache as those of files are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.data.digest import digest_table
from assay.data.facts import compute_facts
from assay.data.kept import splits_path, table_path
from assay.data.source import Loaded
from assay.data.splits import Splits, save_splits
from assay.data.table_file import save_table
from assay.data.target import encode_target
from assay.data.task import Task, TaskRequest
from assay.errors import DataError
from assay.settings import Settings
from assay.vocabulary import TaskType

if TYPE_CHECKING:
    from assay.data.table import Table

__all__ = ["MEMORY", "MemorySource", "MemoryTask", "keep_task"]

MEMORY = "memory"


@dataclass(frozen=True, eq=False)
class MemoryTask:
    """What makes a task of a table.

    Attributes:
        name: what the task goes by.
        table: one of its columns has the role `target`.
        splits: the folds.
        type: of the task.
        classes: in their order; empty for a regression.
        metrics: the first is optimised.
        path: the file that the rows came from, which no job may see; empty if there is none.
    """

    name: str
    table: Table
    splits: Splits
    type: TaskType
    classes: tuple[str, ...]
    metrics: tuple[str, ...]
    path: str = ""


def keep_task(given: MemoryTask, settings: Settings) -> Task:
    """Return the task, with its table and its folds in the cache."""
    table, splits = given.table, given.splits
    target = next(column for column in table.columns if column.role == "target")
    digest, split_digest = digest_table(table), splits.digest()
    if not os.path.exists(table_path(digest, settings)):
        save_table(table, table_path(digest, settings))
    if not os.path.exists(splits_path(split_digest, settings)):
        save_splits(splits, splits_path(split_digest, settings))
    y = encode_target(target, table.arrays[target.name], given.classes)
    return Task(
        name=given.name,
        id=f"{MEMORY}/{digest[:16]}",
        type=given.type,
        target=target.name,
        metrics=given.metrics,
        columns=table.columns,
        classes=given.classes,
        folds=splits.summary(),
        data_digest=digest,
        split_digest=split_digest,
        request=TaskRequest(MEMORY, given.name, given.path, target=target.name, metrics=given.metrics),
        facts=compute_facts(table, y if given.classes else None, len(given.classes)),
    )


class MemorySource:
    """Rows that were in memory once: there is nothing to read them from again."""

    def list(self) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def load(self, request: TaskRequest, settings: Settings) -> Loaded:
        """Say that they are gone."""
        raise DataError(
            f"The rows of {request.name} came from memory, and are no longer in the cache. Run what made them again."
        )
