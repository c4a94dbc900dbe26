"""Choose among tasks by name and by facts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from assay.data.task import Task, TaskRequest
from assay.errors import ConfigError
from assay.plugins import suggest
from assay.vocabulary import TaskType

__all__ = ["Selection", "preselect", "select"]


@dataclass(frozen=True)
class Selection:
    """Which tasks are wanted; what is unset does not matter. Bounds are inclusive.

    Attributes:
        names: names or ids of tasks, also with `*`, `?` and `[…]`.
        missing: True only with, False only without missing values.
        max_missing_share: of the feature cells, between 0 and 1.
        min_categorical_share, max_categorical_share: of the features, between 0 and 1.
    """

    names: tuple[str, ...] = ()
    types: tuple[TaskType, ...] = ()
    min_rows: float | None = None
    max_rows: float | None = None
    min_features: float | None = None
    max_features: float | None = None
    min_classes: float | None = None
    max_classes: float | None = None
    missing: bool | None = None
    max_missing_share: float | None = None
    min_categorical_share: float | None = None
    max_categorical_share: float | None = None

    def __post_init__(self) -> None:
        for low, high in (
            ("min_rows", "max_rows"),
            ("min_features", "max_features"),
            ("min_classes", "max_classes"),
            ("min_categorical_share", "max_categorical_share"),
        ):
            least, most = getattr(self, low), getattr(self, high)
            if least is not None and most is not None and least > most:
                raise ConfigError(f"{low} {least:g} is above {high} {most:g}: no task can match. Swap them.")


def select(tasks: Sequence[Task], selection: Selection) -> tuple[Task, ...]:
    """Return the tasks that match, in their order.

    A task that could not be read has no facts: it is chosen by name only, so that it ends as a row. A name
    that matches nothing is an error; facts that match nothing are not.
    """
    _refuse_unknown(selection.names, [label for task in tasks for label in (task.name, task.id)], tasks)
    return tuple(
        task
        for task in tasks
        if _has_name(selection.names, (task.name, task.id)) and (bool(task.problem) or _fits(task, selection))
    )


def preselect(requests: Sequence[TaskRequest], names: Sequence[str]) -> tuple[TaskRequest, ...]:
    """Return the requests that may match the names, before anything is read.

    A request without a name (an OpenML task, known by number) may still turn out to have a wanted one, so it
    is kept unless every wanted name is matched by another request.
    """
    if not names:
        return tuple(requests)
    named = [(request.name, request.ref) for request in requests if request.name]
    unnamed = [request for request in requests if not request.name]
    open_names = [name for name in names if not any(_has_name((name,), labels) for labels in named)]
    if open_names and not unnamed:
        _refuse_unknown(names, [label for labels in named for label in labels], ())
    by_ref = [name for name in open_names if any(_has_name((name,), (request.ref,)) for request in unnamed)]
    undecided = len(by_ref) < len(open_names)
    return tuple(
        request
        for request in requests
        if _has_name(names, (request.name, request.ref)) or (undecided and not request.name)
    )


def _fits(task: Task, selection: Selection) -> bool:
    facts = task.facts
    if selection.types and task.type not in selection.types:
        return False
    if selection.missing is not None and selection.missing != (facts.get("n_missing", 0) > 0):
        return False
    bounds = (
        ("n_rows", selection.min_rows, selection.max_rows),
        ("n_features", selection.min_features, selection.max_features),
        ("n_classes", selection.min_classes, selection.max_classes),
        ("missing_share", None, selection.max_missing_share),
        ("categorical_share", selection.min_categorical_share, selection.max_categorical_share),
    )
    return all(
        (low is None or facts.get(name, 0.0) >= low) and (high is None or facts.get(name, 0.0) <= high)
        for name, low, high in bounds
    )


def _has_name(patterns: Iterable[str], labels: Iterable[str]) -> bool:
    globs = list(patterns)
    return not globs or any(fnmatchcase(label, pattern) for pattern in globs for label in labels if label)


def _refuse_unknown(patterns: Iterable[str], labels: Sequence[str], tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks] or list(labels)
    for pattern in patterns:
        if not _has_name((pattern,), labels):
            raise ConfigError(f"Unknown task '{pattern}'. {suggest(pattern, names)}")
