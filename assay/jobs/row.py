"""The results row of a job as files hold it: which columns it has, and of which type. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from assay.jobs.outcome import STATUSES

__all__ = ["check_row"]

TEXT = (str,)
WHOLE = (int,)
NUMBER = (int, float)
YES_NO = (bool,)
OBJECT = (dict,)
NOTHING = (type(None),)

# What every row has had since the first version.
NEEDED: dict[str, tuple[type, ...]] = {
    "key": TEXT, "attempt": WHOLE, "framework": TEXT, "version": TEXT, "params": OBJECT, "role": TEXT, "task": TEXT,
    "task_id": TEXT, "task_digest": TEXT, "type": TEXT, "repeat": WHOLE, "fold": WHOLE, "constraint": TEXT,
    "budget_s": NUMBER, "cores": WHOLE, "seed": WHOLE, "status": TEXT, "message": TEXT, "metric": TEXT,
    "score": NUMBER + NOTHING, "scores": OBJECT, "higher_is_better": OBJECT, "fit_s": NUMBER + NOTHING,
    "predict_s": NUMBER + NOTHING, "wall_s": NUMBER, "cpu_s": NUMBER, "peak_memory_mb": NUMBER,
    "models_count": WHOLE + NOTHING, "inference_s": OBJECT, "constant_predictions": YES_NO, "enforcement": TEXT,
    "blindness": TEXT, "contended": YES_NO, "start": TEXT, "started_at": TEXT, "framework_digest": TEXT,
    "fold_digest": TEXT, "predictions_digest": TEXT, "origin": TEXT,
}  # fmt: skip
OPTIONAL: dict[str, tuple[type, ...]] = {
    "meta_learning": TEXT, "run_seed": WHOLE, "notes": (list,), "phases": OBJECT, "memory_limit_mb": NUMBER,
    "oom_kills": WHOLE, "disk_peak_mb": NUMBER, "has_oof": YES_NO, "has_trace": YES_NO, "network": YES_NO,
    "neighbours": WHOLE, "host": TEXT, "ended_at": TEXT, "lock_digest": TEXT,
}  # fmt: skip
COLUMNS = {**NEEDED, **OPTIONAL}
# Types of rows that were found good: most rows of a store are alike.
_good: set[tuple[tuple[str, ...], tuple[type, ...]]] = set()


def check_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row; ValueError names the first column that is missing or not what it should be."""
    types = (tuple(row), tuple(map(type, row.values())))
    if types not in _good:
        _check_types(row)
        if len(_good) < 1000:
            _good.add(types)
    if row["status"] not in STATUSES:
        raise ValueError(f"status is {row['status'][:40]!r}")
    if row["attempt"] < 0 or not row["key"].isalnum():
        raise ValueError(f"it names the attempt {row['attempt']} of the job {row['key'][:40]!r}")
    for name, value in row.items():
        if type(value) is float and not math.isfinite(value):
            raise ValueError(f"{name} is {value}")
    _check_items(row, "scores", _is_score)
    _check_items(row, "inference_s", _is_finite)
    _check_items(row, "phases", _is_finite)
    _check_items(row, "higher_is_better", lambda value: type(value) is bool)
    if not row["scores"].keys() <= row["higher_is_better"].keys():
        raise ValueError("higher_is_better lacks a metric of scores")
    if not all(size.isascii() and size.isdecimal() and len(size) < 10 for size in row["inference_s"]):
        raise ValueError("inference_s is not by numbers of rows")
    if not all(type(note) is str for note in row.get("notes", ())):
        raise ValueError("notes are not texts")
    return row


def _check_types(row: Mapping[str, Any]) -> None:
    missing = [name for name in NEEDED if name not in row]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    for name, value in row.items():
        if name in COLUMNS and type(value) not in COLUMNS[name]:
            raise ValueError(f"{name} is {type(value).__name__} {str(value)[:40]!r}")


def _check_items(row: Mapping[str, Any], name: str, is_good: Callable[[Any], bool]) -> None:
    for key, value in row.get(name, {}).items():
        if not is_good(value):
            raise ValueError(f"{name} has {str(value)[:40]!r} for {key[:40]!r}")


def _is_finite(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_score(value: Any) -> bool:
    return value is None or _is_finite(value)
