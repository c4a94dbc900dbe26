"""Where frameworks fail: by kind, by framework, by task and size, by budget. Pure: scores table in, records out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CATEGORIES", "Count", "Failures", "category_of", "count_failures"]

CATEGORIES = ("memory", "time", "data", "implementation")
SIZES = (
    (1e3, "fewer than 1,000 rows"),
    (1e4, "1,000 to 10,000"),
    (1e5, "10,000 to 100,000"),
    (float("inf"), "100,000 and more"),
)
# Texts of errors that come from what the data are like: rare classes, validation parts without a class, columns.
DATA = re.compile(
    r"least populated class|number of classes|only one class|single class|unseen|unknown categor|categorical value|"
    r"contain different number|y_true|class(es)? .*(missing|not in)|n_splits|n_samples|stratif|"
    r"imbalanc|infinity|contains nan|could not convert string",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Count:
    """So many of so many jobs, under a name."""

    name: str
    jobs: int
    failed: int
    by_status: dict[str, int]
    by_category: dict[str, int]


@dataclass(frozen=True)
class Failures:
    """Counts by framework, task, type and constraint, worst first, by size, smallest first, and examples of messages.

    `by_size` is empty where the number of rows of no task is known.
    """

    jobs: int
    failed: int
    by_framework: tuple[Count, ...]
    by_task: tuple[Count, ...]
    by_type: tuple[Count, ...]
    by_constraint: tuple[Count, ...]
    by_size: tuple[Count, ...]
    examples: tuple[dict[str, Any], ...]


def category_of(status: str, message: str) -> str:
    """Return which of the AMLB paper's four categories a failure falls into; empty for what is none.

    Memory: killed for memory, crashed, filled its disk. Time: passed a limit. Data: an error whose text
    speaks of classes, rare values, missing values or infinity. Implementation: all the rest.
    """
    if status in ("memory", "crash", "disk"):
        return "memory"
    if status == "timeout":
        return "time"
    if status == "error":
        return "data" if DATA.search(message) else "implementation"
    return "implementation" if status == "invalid_predictions" else ""


def count_failures(table: Any, sizes: Mapping[tuple[str, str], float] | None = None) -> Failures:
    """Count the jobs of a scores table of one metric per job; `sizes` are rows of tasks, by task and task_id."""
    table = table.assign(
        category=[
            category_of(s, m) for s, m in zip(table["status"], table["message"].astype(str), strict=True)
        ]
    )
    failed = table[~table["status"].isin(["ok"])]
    examples = (
        failed[failed["category"] != ""]
        .groupby(["framework", "category"], sort=True)
        .agg(jobs=("task", "size"), task=("task", "first"), message=("message", "first"))
        .reset_index()
    )
    return Failures(
        jobs=len(table),
        failed=len(failed),
        by_framework=_counts(table, "framework"),
        by_task=_counts(table, "task"),
        by_type=_counts(table, "type"),
        by_constraint=_counts(table, "constraint"),
        by_size=_by_size(table, sizes or {}),
        examples=tuple({str(k): v for k, v in one.items()} for one in examples.to_dict("records")),
    )


def _by_size(table: Any, sizes: Mapping[tuple[str, str], float]) -> tuple[Count, ...]:
    rows = [sizes.get(key, 0.0) for key in zip(table["task"], table["task_id"], strict=True)]
    named = table.assign(size=[next((name for most, name in SIZES if 0 < n < most), "") for n in rows])
    found = {count.name: count for count in _counts(named[named["size"] != ""], "size")}
    return tuple(found[name] for _, name in SIZES if name in found)


def _counts(table: Any, column: str) -> tuple[Count, ...]:
    out = []
    for name, own in table.groupby(column, sort=True):
        status, category = own["status"].value_counts(), own["category"].value_counts()
        out.append(
            Count(
                name=str(name),
                jobs=len(own),
                failed=int((own["status"] != "ok").sum()),
                by_status={str(one): int(status[one]) for one in sorted(status.index) if one != "ok"},
                by_category={one: int(category.get(one, 0)) for one in CATEGORIES},
            )
        )
    return tuple(sorted(out, key=lambda count: (-count.failed, count.name)))
