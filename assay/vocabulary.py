"""The closed choices of the system, one type each: kinds of columns and tasks, statuses, tiers, roles, start modes."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = [
    "COLUMN_KINDS", "COLUMN_ROLES", "STATUSES", "TASK_TYPES", "TIERS", "Blindness", "ColumnKind", "ColumnRole", "Role",
    "Start", "Status", "TaskType", "Tier",
]  # fmt: skip

ColumnKind = Literal["numeric", "categorical", "boolean", "date", "text"]
ColumnRole = Literal["feature", "target", "group", "time", "ignore"]
TaskType = Literal["binary", "multiclass", "regression"]
Status = Literal[
    "ok", "timeout", "memory", "crash", "disk", "error", "invalid_predictions", "setup", "data", "lost"
]
Tier = Literal["strict", "landlock", "plain"]
Blindness = Literal["enforced", "files", "convention"]
# Of a framework: `constant` may train nothing and stands in for failures.
Role = Literal["constant", "baseline", "framework", "model"]
Start = Literal["cold", "warm"]

COLUMN_KINDS: tuple[ColumnKind, ...] = get_args(ColumnKind)
COLUMN_ROLES: tuple[ColumnRole, ...] = get_args(ColumnRole)
TASK_TYPES: tuple[TaskType, ...] = get_args(TaskType)
STATUSES: tuple[Status, ...] = get_args(Status)
TIERS: tuple[Tier, ...] = get_args(Tier)
