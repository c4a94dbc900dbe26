"""A suite: a named, versioned list of tasks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.data.task import TaskRequest
from assay.errors import ConfigError

__all__ = ["Suite", "name_in"]

BUNDLED = "bundled/"


def name_in(ref: str) -> str:
    """Return the name of a task that its reference tells before it is read; else the source names it."""
    return ref.removeprefix(BUNDLED) if ref.startswith(BUNDLED) else ""


@dataclass(frozen=True)
class Suite:
    """A named list of tasks, not yet read, with what the file says besides.

    Attributes:
        constraint: the constraint to use if the user gives none; a name of `constraints`, or like `1h8c`.
        constraints: named constraints, as written; `assay.jobs` reads them.
        criteria: why these tasks, in words.
        notes: what was found in the file but has no meaning here.
        origin: the file or reference the suite comes from.
    """

    name: str
    tasks: tuple[TaskRequest, ...]
    version: str = ""
    description: str = ""
    constraint: str | None = None
    constraints: Mapping[str, Any] = field(default_factory=dict)
    criteria: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    origin: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for task in self.tasks:
            label = task.name or task.ref
            if label in seen:
                raise ConfigError(
                    f"Two tasks of suite {self.name} are named '{label}'. Give one another 'name'."
                )
            seen.add(label)
