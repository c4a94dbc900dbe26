"""The records of what is learned from: columns, folds, tasks. No table is held here, so planning stays light."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.vocabulary import ColumnKind, ColumnRole, TaskType

__all__ = ["Column", "Fold", "Task", "TaskRequest"]


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, what its values are and what it is for.

    `categories` are the labels of a categorical column in their order; `integer` says that all values
    of a numeric column are whole and none is missing.
    """

    name: str
    kind: ColumnKind
    role: ColumnRole = "feature"
    categories: tuple[str, ...] = ()
    integer: bool = False


@dataclass(frozen=True)
class Fold:
    """One train/test split of a task, by number and size."""

    repeat: int
    fold: int
    n_train: int
    n_test: int


@dataclass(frozen=True)
class TaskRequest:
    """What a user asked for: where a table is, and everything said about it. Unset means "find out".

    Attributes:
        ref: `bundled/iris`, `openml/t/31`, or `file`.
        name: the name the task goes by; empty takes the source's.
        paths: for `file`: one data file, folder or archive; absolute paths.
        train, test: for `file`: one file per fold, in fold order, when the user made the split.
        metrics_by_type: metrics for the type that the task turns out to have, where `metrics` is empty.
        columns: per column name, any of `kind`, `role`, `categories`.
        csv: how a CSV or TSV file is written (see `CsvOptions`), where the file leaves it open.
        split: a split as in a suite file, for example `{"kind": "cv", "folds": 10}`; empty for the default.
        positive: the class that counts as positive in a binary task (it becomes the last class).
    """

    ref: str
    name: str = ""
    path: str = ""
    train: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    target: str = ""
    type: TaskType | None = None
    metrics: tuple[str, ...] = ()
    metrics_by_type: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    split: Mapping[str, Any] = field(default_factory=dict)
    positive: str = ""
    where: str = ""
    csv: Mapping[str, Any] = field(default_factory=dict)

    def digest(self) -> str:
        """Return a digest of everything said, except the place it was said in."""
        keys = asdict(self)
        del keys["where"]
        if not self.csv:
            del keys["csv"]  # requests of files that need no options have the digest they always had
        return hashlib.sha256(json.dumps(keys, sort_keys=True, default=list).encode()).hexdigest()


@dataclass(frozen=True)
class Task:
    """A dataset with a target, a type, metrics and fixed splits; known by its digests, read only on demand.

    `metrics[0]` is the one frameworks are asked to optimise, so it is part of the identity; the others are only
    computed. `notes` say how a file was read, where that is not the usual way. `problem` is set, and the digests
    derive from the request, when the task could not be read: its jobs end as `data` rows. `data_digest_v1` is the
    digest that version 1 gave the same table, where it differs (see `assay.data.digest`), and `known_as` the whole
    identity by which an older store knows the task.
    """

    name: str
    id: str
    type: TaskType
    target: str
    metrics: tuple[str, ...]
    columns: tuple[Column, ...]
    classes: tuple[str, ...]
    folds: tuple[Fold, ...]
    data_digest: str
    split_digest: str
    request: TaskRequest
    temporal: bool = False
    facts: Mapping[str, float] = field(default_factory=dict)
    licence: str = ""
    origin: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()
    data_digest_v1: str = ""
    known_as: str = ""

    @property
    def digest(self) -> str:
        """Return the identity of what is to be learned: data, splits, features, target, type, classes, metric."""
        return self.known_as or self._identity(self.data_digest)

    @property
    def digest_v1(self) -> str:
        """Return the identity by version 1 of the table digest; empty where it is the same."""
        return self._identity(self.data_digest_v1) if self.data_digest_v1 else ""

    def _identity(self, data_digest: str) -> str:
        parts = [
            data_digest,
            self.split_digest,
            [column.name for column in self.features],
            self.target,
            self.type,
            list(self.classes),
            self.metrics[:1],
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def features(self) -> tuple[Column, ...]:
        """Return the columns a framework may learn from."""
        return tuple(column for column in self.columns if column.role == "feature")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, from which `from_json` makes an equal task."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Task:
        """Make a task from what `to_json` returned (lists may stand for tuples)."""
        data = dict(value)
        data["metrics"] = tuple(data["metrics"])
        data["classes"] = tuple(data["classes"])
        data["notes"] = tuple(data.get("notes", ()))
        data["columns"] = tuple(
            Column(**{**column, "categories": tuple(column["categories"])}) for column in data["columns"]
        )
        data["folds"] = tuple(Fold(**fold) for fold in data["folds"])
        request = dict(data["request"])
        for key in ("train", "test", "metrics"):
            request[key] = tuple(request[key])
        request["metrics_by_type"] = {
            kind: tuple(names) for kind, names in request["metrics_by_type"].items()
        }
        data["request"] = TaskRequest(**request)
        return cls(**data)
