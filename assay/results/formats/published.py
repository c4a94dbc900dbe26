"""AMLB's results of every year as rows of ours.

The tool's columns changed. Results of 2019 have no `type`, `metric` and `constraint`, and do not negate losses; tables
that were put together from them have a `budget`. What is missing is worked out here, and what is merged or left out on
the way is counted in a note each.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.errors import DataError
from assay.results.formats.columns import budget_of, budgets, folds, is_higher, numbers, texts
from assay.results.formats.failure_texts import read_failure
from assay.results.scores import base_constraint, folded

if TYPE_CHECKING:
    from assay.typing import Frame, Series

__all__ = ["COLUMNS", "amlb_base"]

COLUMNS = {"id", "task", "framework", "fold", "result"}
SAME = 1e-5  # results are written with six digits
LONGEST = 10_000  # characters of params that are read
ORDER = ("auc", "logloss", "rmse", "mae", "r2", "balacc", "acc")  # of equal columns, the one AMLB optimises


def amlb_base(frame: Frame, file_name: str = "") -> tuple[Frame, tuple[str, ...]]:
    """Return one row per job with the metric that was optimised, and notes on what was merged or left out.

    The index is that of the frame. `file_name` may tell the constraint where no column does.

    Raises:
        DataError: what was optimised can be told from nothing.
    """
    import numpy as np
    import pandas as pd

    constraint, notes = _constraints(frame, file_name)
    frame, copied = _without_copies(frame, constraint)
    constraint = constraint[frame.index]
    metric = _metrics(frame)
    negated = metric.str.startswith("neg_")
    result = numbers(frame, "result")
    task_id = texts(frame, "id").str.replace(r"^.*openml.*/t/(\d+)$", r"\1", regex=True)
    task, renamed = _task_names(frame["task"].astype(str), task_id)
    given_s = constraint.map({name: budget_of(name) for name in constraint.unique()})
    seconds = numbers(frame, "duration")
    failures = [
        ("ok", text) if has_result else read_failure(text, s, b)
        for has_result, text, s, b in zip(result.notna(), texts(frame, "info"), seconds, given_s, strict=True)
    ]
    base = pd.DataFrame(
        {
            "framework": frame["framework"].astype(str),
            "version": texts(frame, "version"),
            "task": task,
            "task_id": task_id,
            "type": _types(frame, task, metric),
            "repeat": 0,
            "fold": folds(frame),
            "constraint": constraint,
            "seed": numbers(frame, "seed"),
            "status": [status for status, _ in failures],
            "message": [message for _, message in failures],
            "fit_s": numbers(frame, "training_duration"),
            "predict_s": numbers(frame, "predict_duration"),
            "wall_s": seconds,
            "models_count": numbers(frame, "models_count").fillna(numbers(frame, "models")),
            "metric": metric.str.removeprefix("neg_"),
            "value": np.where(negated, -result, result),
            "optimised": True,
        }
    )
    base["higher_is_better"] = is_higher(base["metric"], ~negated.to_numpy())
    base["params"], ignored = _params(texts(frame, "params"))
    base, again = _last_of_each(base, texts(frame, "utc"))
    base["params"], merged = _shared_params(base)
    return base, (*notes, *copied, *renamed, *ignored, *again, *merged)


# --- metric and type -------------------------------------------------------------------------------------


def _metrics(frame: Frame) -> Series:
    """Return what was optimised, as AMLB names it today: with `neg_` where the result is the negated metric."""
    written = texts(frame, "metric")
    missing = written.eq("")
    if not missing.any():
        return written
    by_task = {
        task: _metric_of(str(task), rows, written[rows.index])
        for task, rows in frame[frame["task"].isin(frame.loc[missing, "task"])].groupby("task")
    }
    return written.where(~missing, frame["task"].map(by_task))


def _metric_of(task: str, rows: Frame, written: Series) -> str:
    """Return the metric of a task: what other rows of it name, or the column that its results are equal to."""
    import numpy as np

    from assay.metrics import BUILTIN, default_metrics

    named = written[written != ""]
    if len(named):
        return str(named.mode()[0])
    result = numbers(rows, "result")
    columns = sorted(set(rows.columns) & set(BUILTIN), key=lambda name: (*ORDER, name).index(name))
    if not result.notna().any():
        kinds = texts(rows, "type")
        return (
            default_metrics(kinds.iloc[0])[0]
            if kinds.iloc[0] in ("binary", "multiclass", "regression")
            else "auc"
        )
    equal = {}
    for name in columns:
        for sign, prefix in ((1, ""), (-1, "neg_")):
            close = np.isclose(result, sign * numbers(rows, name), rtol=SAME, atol=1e-12)
            equal[prefix + name] = int(close.sum())
    best = max(equal, key=lambda name: equal[name], default="")  # the first of equal ones
    if not best or 2 * equal[best] < result.notna().sum():
        listed = ", ".join(columns) or "there are none"
        raise DataError(
            f"The results of task '{task}' are not those of one of its metric columns ({listed}), so it is not known "
            "what they measure. Add a column `metric`."
        )
    return best


def _types(frame: Frame, task: Series, metric: Series) -> Series:
    """Return the type of each task: as written, or by what was measured. Only tasks of two classes have an area."""
    from assay.metrics import BUILTIN

    written = texts(frame, "type")
    plain = metric.str.removeprefix("neg_")
    of_values = [name for name, metric_spec in BUILTIN.items() if metric_spec.types == ("regression",)]
    has_area = numbers(frame, "auc").notna().groupby(task).transform("any") | plain.eq("auc")
    guess = has_area.map({True: "binary", False: "multiclass"}).where(~plain.isin(of_values), "regression")
    return written.where(written != "", guess)


# --- constraint ------------------------------------------------------------------------------------------


def _constraints(frame: Frame, file_name: str) -> tuple[Series, tuple[str, ...]]:
    """Return the constraint of each row; names that differ in the type of the volume only are one."""
    constraints = texts(frame, "constraint")
    constraints = constraints.where(constraints != "", budgets(frame))
    files = texts(frame, "file").replace("", file_name)
    by_file = files.map({name: _constraint_in(name) for name in files.unique()})
    constraints = constraints.where(constraints != "", by_file)
    spellings: dict[str, list[str]] = {}
    for name in constraints.unique():
        spellings.setdefault(base_constraint(name), []).append(name)
    same = {
        name: base for base, names in spellings.items() if len(names) > 1 for name in names if name != base
    }
    rows = int(constraints.isin(list(same)).sum())
    listed = ", ".join(f"{name} as {base}" for name, base in same.items())
    note = f"Constraints that differ in the type of the volume only are read as one: {listed} ({rows} rows)."
    return constraints.replace(same), (note,) if same else ()


def _without_copies(frame: Frame, constraint: Series) -> tuple[Frame, tuple[str, ...]]:
    """Leave out rows without a constraint of which the table has a copy with one: collections were kept beside them.

    A copy has the same time to the second, the same seed and the same scores.
    """
    job = [name for name in frame.columns if name not in ("constraint", "budget", "file")]
    if "utc" not in frame or constraint.ne("").all() or constraint.eq("").all():
        return frame, ()
    named = frame.loc[constraint.ne(""), job].drop_duplicates()
    copies = frame[job].reset_index().merge(named, on=job).set_index("index").index
    copies = copies[constraint[copies].eq("")]
    note = f"Rows without a constraint that are copies of rows with one, left out: {len(copies)}."
    return frame.drop(index=copies), (note,) if len(copies) else ()


def _constraint_in(file_name: str) -> str:
    """Return the constraint that the name of a file has in it, as `results_small-8c1h_ref.csv`; else nothing."""
    match = re.search(r"(?<![a-z0-9])(?:(\d+)c(\d+[hms])|(\d+[hms])(\d+)c)(?![a-z0-9])", file_name)
    if not match:
        return ""
    return f"{match[2]}{match[1]}c" if match[1] else f"{match[3]}{match[4]}c"


# --- task names ------------------------------------------------------------------------------------------


def _task_names(task: Series, task_id: Series) -> tuple[Series, tuple[str, ...]]:
    """Return one name for each task: of several spellings under one id, or without ids, the most frequent."""
    import pandas as pd

    key = task_id.where(task_id != "", task.map({name: folded(name) for name in task.unique()}))
    counts = pd.DataFrame({"key": key, "task": task}).value_counts(sort=True).reset_index()
    best = counts.drop_duplicates("key").set_index("key")["task"]
    names = key.map(best)
    changed = task[names != task]
    if not len(changed):
        return task, ()
    pairs = dict(zip(changed, names[changed.index], strict=True))
    listed = ", ".join(f"{name} as {other}" for name, other in pairs.items())
    return names, (
        f"Names of one task in several spellings are read as one: {listed} ({len(changed)} rows).",
    )


# --- params ----------------------------------------------------------------------------------------------


def _params(written: Series) -> tuple[Series, tuple[str, ...]]:
    """Return params as JSON, without those that steer AMLB's integration and are not passed to the framework."""
    read = {text: _without_steering(text) for text in written.unique()}
    rows = int(written.map({text: ignored for text, (_, ignored) in read.items()}).sum())
    note = f"Params whose names begin with _ do not tell frameworks apart and are left out, in {rows} rows."
    return written.map({text: kept for text, (kept, _) in read.items()}), (note,) if rows else ()


def _without_steering(text: str) -> tuple[str, bool]:
    """Return params without names that begin with `_`, and whether there were any; what is no dict stays as it is."""
    try:
        params = ast.literal_eval(text) if text and len(text) <= LONGEST else None
        if not isinstance(params, Mapping):
            return text, False
        kept = {key: value for key, value in params.items() if not str(key).startswith("_")}
        return json.dumps(kept, sort_keys=True) if kept else "", len(kept) < len(params)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text, False


def _shared_params(base: Frame) -> tuple[Series, tuple[str, ...]]:
    """Return the params by which frameworks are told apart, and a note for each that has several but is one.

    Params separate two entries only where both ran the same fold of a task under the same constraint. Elsewhere AMLB's
    users gave large tasks other params than small ones, and meant one framework.
    """
    out, notes = base["params"].copy(), []
    job = ["task", "task_id", "fold", "constraint", "metric"]
    for (framework, _), rows in base.groupby(["framework", "version"], sort=False):
        counts = rows["params"].value_counts()
        if len(counts) < 2 or rows.duplicated(job).any():
            continue
        out[rows.index] = " or ".join(name or "{}" for name in counts.index)
        listed = ", ".join(f"{name or '{}'} in {count} rows" for name, count in counts.items())
        notes.append(f"{framework} is read as one, because its params never meet on one fold: {listed}.")
    return out, tuple(notes)


# --- jobs that were run again ----------------------------------------------------------------------------


def _last_of_each(base: Frame, utc: Series) -> tuple[Frame, tuple[str, ...]]:
    """Keep the last row of a job that was run again: by its time, or, where that is not known, by its place."""
    import numpy as np

    job = ["framework", "version", "params", "task", "task_id", "fold", "constraint", "metric"]
    order = np.argsort(utc.to_numpy(dtype=str), kind="stable")
    again = base.iloc[order].duplicated(job, keep="last")
    if not again.any():
        return base, ()
    same = "same task, fold, framework, version, params, constraint and metric"
    note = f"Rows that come again ({same}), of which the last counts: {int(again.sum())}."
    return base[~again.reindex(base.index)], (note,)
