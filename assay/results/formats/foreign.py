"""Scores that others made: AMLB's, bencheval's or plain tables become our scores table, with their origin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from assay.errors import DataError
from assay.results.formats.columns import (
    budget_of,
    budgets,
    cores_of,
    folds,
    is_higher,
    numbers,
    plain_name,
    texts,
)
from assay.results.formats.published import COLUMNS as AMLB_COLUMNS
from assay.results.formats.published import amlb_base
from assay.results.formats.read_table import read_frame
from assay.results.roles import role_by_name, role_in_scores
from assay.results.scored import Scores
from assay.results.scores import COLUMNS, check_scores

if TYPE_CHECKING:
    from assay.typing import Bools, Frame, Series

__all__ = ["read_scores"]

Read: TypeAlias = (
    "tuple[Frame, Frame, tuple[str, ...]]"  # the scores table, the properties of its tasks, and notes
)

META_LEARNING = {
    "autosklearn": "marked",
    "autosklearn2": "excluded",
    "autosklearn20": "excluded",
    "oboe": "excluded",
}
JOB = [
    "task",
    "task_id",
    "task_digest",
    "framework",
    "version",
    "params",
    "constraint",
    "metric",
    "repeat",
    "fold",
]
# In these columns NA, null and None are names.
NAMES = {"task", "framework", "method", "dataset", "constraint", "version"}
BATCH = re.compile(r"infer_batch_size_df_([1-9]\d*)")
TEXTS = (
    "task", "task_id", "task_digest", "framework", "version", "params", "type", "metric", "constraint", "status",
    "message",
)  # fmt: skip
KINDS = {
    "AMLB's results": AMLB_COLUMNS,
    "a scores table": {"task", "framework", "fold", "status", "metric", "value"},
    "a table of bencheval": {"method", "dataset", "fold", "metric_error"},
    "a long table": {"task", "fold", "framework", "score"},
}


def read_scores(path: Path) -> Scores:
    """Read a CSV (also compressed) or Parquet file of any kind that is known by its columns."""
    frame = read_frame(path, NAMES)
    columns = set(frame.columns)
    kind = next((name for name, needed in KINDS.items() if needed <= columns), "")
    if not kind:
        kind, needed = min(KINDS.items(), key=lambda item: len(item[1] - columns))
        missing = ", ".join(sorted(needed - columns))
        raise DataError(
            f"{path} is not a known table of scores. It is closest to {kind}, but lacks: {missing}. "
            "A plain table needs task, fold, framework and score."
        )
    if not len(frame):
        raise DataError(f"{path} has no rows.")
    read = {"AMLB's results": _amlb, "a scores table": _ours, "a table of bencheval": _bencheval}.get(
        kind, _long
    )
    try:
        table, properties, notes = read(frame, path)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    for name in ("task", "framework"):
        nameless = table[name].eq("")
        if nameless.any():
            raise DataError(f"{path}: row {int(nameless.to_numpy().argmax()) + 1} has no {name}.")
    table, again = _without_duplicates(table)
    origin = f"{kind}, {path.name}"
    table["origin"] = table["origin"].fillna("").replace("", origin)
    check_scores(table, str(path))
    return Scores(table, properties, origin, _inference(frame), (*notes, *again))


def _amlb(frame: Frame, path: Path) -> Read:
    base, notes = amlb_base(frame, path.name)
    kept = frame.loc[base.index]
    base["row_s"] = _seconds_per_row(kept)
    return _complete(_with_other_metrics(base, kept)), _no_properties(base), notes


def _batches(frame: Frame) -> dict[int, Series]:
    """Return the seconds of each batch size that AMLB timed, largest size last."""
    columns = {match[1]: name for name in frame.columns if (match := BATCH.fullmatch(str(name)))}
    return {int(size): numbers(frame, columns[size]) for size in sorted(columns, key=int)}


def _seconds_per_row(frame: Frame) -> Series:
    out = numbers(frame, "")
    for size, seconds in _batches(frame).items():
        out = (seconds / size).fillna(out)
    return out


def _inference(frame: Frame) -> Frame | None:
    import pandas as pd

    parts = [
        frame[["framework", "task"]].assign(batch=size, seconds=seconds)
        for size, seconds in (_batches(frame) if {"framework", "task"} <= set(frame.columns) else {}).items()
    ]
    return pd.concat(parts).dropna() if parts else None


def _with_other_metrics(base: Frame, frame: Frame) -> Frame:
    """Add a row for every other metric that the table has a column for, also of jobs that failed on such a task."""
    import pandas as pd

    from assay.metrics.registry import BUILTIN, get_metric

    parts = [base]
    for name in sorted(set(frame.columns) & set(BUILTIN)):
        values = numbers(frame, name)
        tasks = base.loc[values.notna().to_numpy(), "task"].unique()
        has_values = base["task"].isin(tasks).to_numpy() & (base["metric"] != name).to_numpy()
        if has_values.any():
            higher = get_metric(name).higher_is_better
            parts.append(
                base[has_values].assign(
                    metric=name, value=values[has_values], higher_is_better=higher, optimised=False
                )
            )
    return pd.concat(parts, ignore_index=True)


def _ours(frame: Frame, path: Path) -> Read:

    table = frame.copy()
    table["value"] = numbers(table, "value")
    for name in ("higher_is_better", "optimised"):
        if name in table:
            table[name] = table[name].astype(str).str.lower().isin(["true", "1", "1.0"])
    if "higher_is_better" not in table:
        table["higher_is_better"] = is_higher(table["metric"].astype(str), True)
    if "optimised" not in table:  # then it is the first metric of each task
        table["optimised"] = table["metric"] == table.groupby("task")["metric"].transform("first")
    return _complete(table), _no_properties(table), ()


def _bencheval(frame: Frame, path: Path) -> Read:
    import pandas as pd

    value = numbers(frame, "metric_error")
    table = pd.DataFrame(
        {
            "framework": frame["method"].astype(str),
            "task": frame["dataset"].astype(str),
            "task_id": texts(frame, "tid"),
            "type": texts(frame, "problem_type"),
            "fold": folds(frame),
            "repeat": numbers(frame, "repeat").fillna(0).astype("int64"),
            "metric": texts(frame, "metric").replace("", "error"),
            "value": value,
            "higher_is_better": False,  # an error, whatever the metric is called
            "status": value.notna().map({True: "ok", False: "error"}),
            "fit_s": numbers(frame, "time_train_s"),
            "predict_s": numbers(frame, "time_infer_s"),
        }
    )
    if "imputed" in frame:
        imputed = frame["imputed"].astype(str).str.lower().isin(["true", "1", "1.0"])
        table["value"] = table["value"].where(~imputed)
        table["status"] = table["status"].where(~imputed, "error")
    return _complete(table), _no_properties(table), ()


def _long(frame: Frame, path: Path) -> Read:
    import pandas as pd

    value = numbers(frame, "score")
    higher: Bools | Series = is_higher(texts(frame, "metric"), True)
    if "higher_is_better" in frame:
        higher = frame["higher_is_better"].astype(str).str.lower().isin(["true", "1", "1.0"])
    task_id = next((name for name in ("task_id", "tid") if name in frame), "")
    table = pd.DataFrame(
        {
            "framework": frame["framework"].astype(str),
            "task": frame["task"].astype(str),
            "task_id": texts(frame, task_id),
            "type": texts(frame, "type"),
            "fold": folds(frame),
            "repeat": numbers(frame, "repeat").fillna(0).astype("int64"),
            "constraint": texts(frame, "constraint").where(texts(frame, "constraint") != "", budgets(frame)),
            "version": texts(frame, "version"),
            "params": texts(frame, "params"),
            "metric": texts(frame, "metric").replace("", "score"),
            "value": value,
            "higher_is_better": higher,
            "status": value.notna().map({True: "ok", False: "error"}),
        }
    )
    described = {
        "task", "fold", "framework", "version", "params", "score", "higher_is_better", "obs", "repeat", "metric",
        "type", "constraint", "budget",
    }  # fmt: skip
    further = [name for name in frame.columns if name not in described | {task_id}]
    properties = frame[further].assign(task=table["task"], task_id=table["task_id"])
    first = properties.drop_duplicates(["task", "task_id"])[["task", "task_id", *further]]
    return _complete(table), first.reset_index(drop=True), ()


def _complete(table: Frame) -> Frame:
    """Return the table with all documented columns: what is not known is empty."""
    import pandas as pd

    table = table.copy()
    defaults: Mapping[str, str | int | bool] = {
        "key": "", "attempt": 0, "version": "", "params": "", "task_id": "", "task_digest": "", "type": "",
        "repeat": 0, "fold": 0, "constraint": "", "seed": 0, "status": "ok", "message": "", "optimised": True,
        "constant_predictions": False,
        "enforcement": "", "blindness": "", "contended": False, "start": "", "origin": "",
    }  # fmt: skip
    for name in COLUMNS:
        if name not in table:
            table[name] = defaults.get(name, float("nan"))
    for name in TEXTS:
        table[name] = table[name].astype(object).fillna("").astype(str)
    if table["role"].isna().all():
        names = pd.Index(table["framework"].unique())
        table["role"] = table["framework"].map({name: role_by_name(name) for name in names})
        marks = {name: META_LEARNING.get(plain_name(name), "") for name in names}
        table["meta_learning"] = table["framework"].map(marks)
    else:
        roles = table[["framework", "role"]].drop_duplicates().itertuples(index=False, name=None)
        forests = {name for name, role in roles if role_in_scores(name, role) == "forest"}
        table["role"] = table["role"].mask(
            table["role"].eq("baseline") & table["framework"].isin(forests), "forest"
        )
    if table["budget_s"].isna().all():
        budgets = {name: budget_of(name) for name in table["constraint"].unique()}
        table["budget_s"] = table["constraint"].map(budgets).astype(float)
        cores = {name: cores_of(name) for name in table["constraint"].unique()}
        table["cores"] = table["constraint"].map(cores).astype(float)
    return table[list(COLUMNS)]


def _without_duplicates(table: Frame) -> tuple[Frame, tuple[str, ...]]:
    """Keep the last row of a fold: a job that was run again."""
    ours = table["origin"].astype(object).eq("assay")
    again = table[JOB].assign(seed=table["seed"].where(ours, 0)).duplicated(keep="last")
    if not again.any():
        return table, ()
    same = "same task, fold, framework, version, constraint and metric"
    note = f"Rows that come again ({same}), of which the last counts: {int(again.sum())}."
    return table[~again].reset_index(drop=True), (note,)


def _no_properties(table: Frame) -> Frame:
    table = table if "task_id" in table else table.assign(task_id="")
    return table[["task", "task_id"]].drop_duplicates().reset_index(drop=True)
