"""Read benchmark files of AMLB: a list of tasks, with `__defaults__`, as far as they have a meaning here.

| AMLB                                         | here                                                     |
|----------------------------------------------|----------------------------------------------------------|
| `openml_task_id: N`                          | `openml/t/N`; `folds: K` keeps the first K of its folds  |
| `dataset: {train, test, target, type}`       | train and test files, one per fold                       |
| `dataset: {path}` or `dataset: PATH`         | a data file, folder or archive; `folds: K` is K-fold CV  |
| `metric`                                     | `metrics`, the first is optimised                        |
| `max_runtime_seconds` and `cores` of all     | the suite's constraint, such as `60s2c`                  |
| those of one task; memory, volume, EC2 keys  | a note: limits are given with the run                    |
| time series; `http(s)://`, `s3://`           | refused                                                  |
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from assay.errors import ConfigError
from assay.plugins import suggest

__all__ = ["from_amlb", "looks_like_amlb"]

_log = logging.getLogger(__name__)
_LIMITS = (
    "max_runtime_seconds",
    "cores",
    "max_mem_size_mb",
    "min_vol_size_mb",
    "ec2_instance_type",
    "ec2_volume_type",
    "quantile_levels",
)
_KNOWN = ("name", "id", "description", "enabled", "openml_task_id", "dataset", "metric", "folds", *_LIMITS)
_DATASET = ("train", "test", "path", "target", "type", "name", "id")
_TYPES = ("binary", "multiclass", "regression")


def looks_like_amlb(value: object) -> TypeGuard[list[object]]:
    """Return whether a file's value is a list of tasks, as only AMLB writes it."""
    return isinstance(value, list)


def from_amlb(value: list[object], path: Path) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the same suite in the form of our own files, and notes about what has no meaning here."""
    notes: list[str] = []
    defaults: dict[str, Any] = {}
    entries: list[dict[str, Any]] = []
    for number, item in enumerate(value, start=1):
        if not isinstance(item, Mapping):
            raise ConfigError(
                f"Task {number} of {path.name} is not a mapping. Write 'name:' and 'openml_task_id:'."
            )
        where = f"in {path.name}, task {item.get('name', number)}"
        for key in item:
            if key not in _KNOWN:
                raise ConfigError(f"Unknown key '{key}' {where}. {suggest(str(key), _KNOWN)}")
        if item.get("name") == "__defaults__":
            defaults = {key: content for key, content in item.items() if key != "name"}
        elif item.get("enabled", True):
            entries.append(dict(item))
    tasks = [_task({**defaults, **entry}, entry, path, notes) for entry in entries]
    for note in notes:
        _log.warning("%s", note)
    return {"tasks": tasks, "constraint": _constraint(defaults, path, notes)}, tuple(notes)


def _task(
    item: dict[str, Any], task_keys: Mapping[str, object], path: Path, notes: list[str]
) -> dict[str, object]:
    where = f"in {path.name}, task {item.get('name', '?')}"
    ignored = [key for key in _LIMITS if key in task_keys]
    if ignored:
        notes.append(f"{', '.join(ignored)} {where} is not used: limits are given with the run.")
    task: dict[str, object] = {key: item[key] for key in ("name", "description") if item.get(key)}
    metric = item.get("metric")
    if metric:
        names = [metric] if isinstance(metric, str) else metric
        if not isinstance(names, list):
            raise ConfigError(
                f"Wrong value {metric!r} for 'metric' {where}: give a name, or a list of names."
            )
        task["metrics"] = [name for name in names if name]
    folds = item.get("folds")
    if folds is not None and (not isinstance(folds, int) or folds < 1):
        raise ConfigError(f"Wrong value {folds!r} for 'folds' {where}: it must be a whole number above 0.")
    if "openml_task_id" in item:
        number = item["openml_task_id"]
        if not isinstance(number, int) or number < 1:
            raise ConfigError(
                f"Wrong value {number!r} for 'openml_task_id' {where}: give the number of a task."
            )
        split = {"kind": "given", "folds": folds} if folds else {}
        return {**task, "ref": f"openml/t/{number}", "split": split}
    if "dataset" not in item:
        raise ConfigError(f"There is neither 'openml_task_id' nor 'dataset' {where}. Add one of them.")
    return {**task, **_dataset(item["dataset"], folds, where)}


def _dataset(dataset: object, folds: int | None, where: str) -> dict[str, object]:
    keys = {"path": dataset} if isinstance(dataset, str) else dataset
    if not isinstance(keys, Mapping):
        raise ConfigError(
            f"Wrong value {dataset!r} for 'dataset' {where}: give a path, or 'train' and 'test'."
        )
    if keys.get("type", "binary") not in _TYPES:
        raise ConfigError(
            f"The dataset {where} has the type '{keys['type']}'. Only {', '.join(_TYPES)} are supported."
        )
    for key in keys:
        if key not in _DATASET:
            raise ConfigError(f"Unknown key 'dataset.{key}' {where}. {suggest(str(key), _DATASET)}")
    task = {key: keys[key] for key in ("train", "test", "path", "target", "type") if key in keys}
    for place in [item for key in ("train", "test", "path") for item in _as_list(task.get(key))]:
        if "://" in place or "{" in place:
            raise ConfigError(
                f"The file '{place}' {where} is not on this machine. Download it, and give its path."
            )
    if "path" in task and folds and folds > 1:
        task["split"] = {"kind": "cv", "folds": folds}
    if "path" in task:
        task["file"] = task.pop("path")
    return task


def _constraint(defaults: Mapping[str, object], path: Path, notes: list[str]) -> str | None:
    seconds, cores = defaults.get("max_runtime_seconds"), defaults.get("cores")
    ignored = [key for key in _LIMITS[2:] if key in defaults]
    if ignored:
        notes.append(
            f"{', '.join(ignored)} in {path.name}, __defaults__ is not used: limits are given with the run."
        )
    if isinstance(seconds, int) and isinstance(cores, int) and seconds > 0 and cores > 0:
        return f"{seconds}s{cores}c"
    return None


def _as_list(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [str(item) for item in items if item is not None]
