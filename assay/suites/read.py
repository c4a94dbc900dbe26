"""From the plain values of a suite file to a suite: keys checked, defaults applied, paths made absolute."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from assay.data.border import SECOND_WORD, validated
from assay.data.csv_options import parse_csv_options
from assay.data.formats import FORMATS, format_of, is_archive, stem_of
from assay.data.split_spec import parse_split
from assay.data.task import TaskRequest
from assay.errors import ConfigError
from assay.suites.amlb import from_amlb, looks_like_amlb
from assay.suites.suite import Suite, name_in
from assay.vocabulary import ColumnKind, ColumnRole, TaskType

__all__ = ["suite_from"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class _Column(_Strict):
    """What may be said of a column."""

    kind: ColumnKind | None = None
    role: ColumnRole | None = None
    categories: list[str] | None = None


class _Defaults(_Strict):
    """What may be said for all tasks of a file."""

    target: str = ""
    type: TaskType | None = None
    metrics: list[str] | dict[TaskType, list[str]] | None = None
    metric: str | None = Field(default=None, json_schema_extra=SECOND_WORD)
    split: dict[str, object] = Field(default_factory=dict)
    csv: dict[str, object] = Field(default_factory=dict)
    positive: str = ""

    @field_validator("metrics", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return {key: [item] if isinstance(item, str) else item for key, item in value.items()}
        return [value] if isinstance(value, str) else value


class _Entry(_Defaults):
    """What may be said of one task."""

    name: str = ""
    description: str = ""
    enabled: bool = True
    ref: str = ""
    file: str = ""
    path: str = Field(default="", json_schema_extra=SECOND_WORD)
    train: list[str] = Field(default_factory=list)
    test: list[str] = Field(default_factory=list)
    columns: dict[str, _Column] = Field(default_factory=dict)

    @field_validator("train", "test", mode="before")
    @classmethod
    def _one_fold_is_a_list(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_place(self) -> _Entry:
        places = [key for key in ("ref", "file", "path", "train") if getattr(self, key)]
        if len(places) != 1:
            given = "none" if not places else " and ".join(f"'{key}'" for key in places)
            raise ValueError(f"A task needs one of 'ref', 'file', 'path' or 'train' with 'test', not {given}")
        if len(self.train) != len(self.test):
            raise ValueError(f"There are {len(self.train)} 'train' files but {len(self.test)} 'test' files")
        return self


class _File(_Strict):
    """What may be said in a suite file."""

    name: str = ""
    version: str = ""
    description: str = ""
    constraint: str | None = None
    constraints: dict[str, object] = Field(default_factory=dict)
    criteria: list[str] = Field(default_factory=list)
    defaults: dict[str, object] = Field(default_factory=dict)
    tasks: list[object]


def suite_from(value: object, path: Path, notes: tuple[str, ...] = ()) -> Suite:
    """Return the suite that plain values mean; `path` is the file, from whose folder paths count."""
    if looks_like_amlb(value):
        converted, notes = from_amlb(value, path)
        return suite_from(converted, path, notes)
    file = validated(_File, value, f"in {path.name}")
    defaults = validated(_Defaults, file.defaults, f"in {path.name}, defaults")
    if not file.tasks:
        raise ConfigError(f"{path.name} has no tasks. List some below 'tasks:'.")
    requests = [_request(item, number, defaults, path) for number, item in enumerate(file.tasks, start=1)]
    tasks = tuple(request for request in requests if request is not None)
    if not tasks:
        raise ConfigError(f"All tasks of {path.name} are disabled. Enable one.")
    _refuse_twins(tasks, path)
    return Suite(
        name=file.name or path.stem,
        tasks=tasks,
        version=file.version,
        description=file.description,
        constraint=file.constraint,
        constraints=file.constraints,
        criteria=tuple(file.criteria),
        notes=notes,
        origin=path.name,
    )


def _request(item: object, number: int, defaults: _Defaults, path: Path) -> TaskRequest | None:
    """Return one entry as a request, or None if it is disabled."""
    if isinstance(item, str):
        item = {"ref": item}
    names = [item.get(key) for key in ("name", "ref", "file", "path")] if isinstance(item, Mapping) else []
    where = f"in {path.name}, task {next(filter(None, names), number)}"
    entry = validated(_Entry, item, where)
    if not entry.enabled:
        return None
    # A default split is for tables that come without one.
    comes_split = bool(entry.train) or entry.ref.startswith(("openml/", "test.openml/"))
    split = entry.split if "split" in entry.model_fields_set or comes_split else defaults.split
    if split:
        parse_split(split, where)
    csv = {**defaults.csv, **entry.csv}
    parse_csv_options(csv, where)
    metrics = _metrics(entry, where) or _metrics(defaults, f"in {path.name}, defaults")
    ref, file = _place(entry, path, where)
    return TaskRequest(
        ref=ref,
        name=entry.name or _name(ref, file),
        path=file,
        train=tuple(_absolute(item, path) for item in entry.train),
        test=tuple(_absolute(item, path) for item in entry.test),
        target=entry.target or defaults.target,
        type=entry.type or defaults.type,
        metrics=tuple(metrics) if isinstance(metrics, list) else (),
        metrics_by_type={key: tuple(names) for key, names in metrics.items()}
        if isinstance(metrics, dict)
        else {},
        columns={name: column.model_dump(exclude_none=True) for name, column in entry.columns.items()},
        split=split,
        positive=entry.positive or defaults.positive,
        where=where,
        csv=csv,
    )


def _metrics(keys: _Defaults, where: str) -> list[str] | dict[TaskType, list[str]] | None:
    if keys.metrics is not None and keys.metric is not None:
        raise ConfigError(
            f"Both 'metric' and 'metrics' are given {where}. Keep 'metrics', the first is optimised."
        )
    return [keys.metric] if keys.metric is not None else keys.metrics


def _place(entry: _Entry, path: Path, where: str) -> tuple[str, str]:
    """Return the reference and, for files, the absolute path."""
    place = entry.ref or entry.file or entry.path
    if entry.train:
        return "file", ""
    if "://" in place:
        raise ConfigError(f"'{place}' {where} is an address. Download the file, and give its path.")
    is_file = not entry.ref or format_of(place) or is_archive(place) or place.startswith((".", "/", "~"))
    if not is_file and "/" not in place:
        raise ConfigError(
            f"'{place}' {where} is neither a reference nor a data file. Write bundled/NAME, openml/t/ID or "
            "the path "
            f"of a file that ends in .{', .'.join(FORMATS)}."
        )
    return ("file", _absolute(place, path)) if is_file else (place, "")


def _absolute(place: str, path: Path) -> str:
    return str((path.absolute().parent / Path(os.path.expanduser(place))).resolve())


def _name(ref: str, file: str) -> str:
    if file:
        return stem_of(Path(file).name)
    return name_in(ref)


def _refuse_twins(tasks: tuple[TaskRequest, ...], path: Path) -> None:
    seen: dict[str, str] = {}
    for task in tasks:
        label = task.name or task.ref
        if label in seen:
            raise ConfigError(
                f"Two tasks are named '{label}' in {path.name}. Give one of them another 'name'."
            )
        seen[label] = label
