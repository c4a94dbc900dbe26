"""Scores that others made: AMLB's, bencheval's or plain tables become our scores table, with their origin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.results.scores import COLUMNS

__all__ = ["Scores", "read_scores", "role_of"]

# By letters and digits only: who is what in the published tables.
ROLES = {
    "constant": "constant", "constantpredictor": "constant", "randomforest": "baseline",
    "tunedrandomforest": "baseline", "decisiontree": "baseline", "rf": "baseline",
}  # fmt: skip
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
NO_VALUE = ["", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "-NaN", "<NA>", "null", "NULL", "None"]
BATCH = re.compile(r"infer_batch_size_df_([1-9]\d*)")
TEXTS = (
    "task", "task_id", "task_digest", "framework", "version", "params", "type", "metric", "constraint", "status",
    "message",
)  # fmt: skip
KINDS = {
    "AMLB's results": {"id", "task", "framework", "constraint", "fold", "result", "metric"},
    "a scores table": {"task", "framework", "fold", "status", "metric", "value"},
    "a table of bencheval": {"method", "dataset", "fold", "metric_error"},
    "a long table": {"task", "fold", "framework", "score"},
}


@dataclass(frozen=True)
class Scores:
    """A scores table, what is known of its tasks, and what had to be decided when it was read.

    `properties` has one row per task, with the columns `task` and `task_id` first; `inference`, where it is known,
    one row per job and batch size: framework, task, batch, seconds.
    """

    table: Any
    properties: Any
    origin: str
    inference: Any = None
    notes: tuple[str, ...] = ()


def read_scores(path: Path) -> Scores:
    """Read a CSV (also compressed) or Parquet file of any kind that is known by its columns."""
    frame = _read(path)
    columns = set(frame.columns)
    kind = next((name for name, needed in KINDS.items() if needed <= columns), "")
    if not kind:
        kind, needed = min(KINDS.items(), key=lambda one: len(one[1] - columns))
        missing = ", ".join(sorted(needed - columns))
        raise DataError(
            f"{path} is no table of scores that is known. It comes nearest to {kind}, but lacks: {missing}. "
            "A plain table needs task, fold, framework and score."
        )
    if not len(frame):
        raise DataError(f"{path} has no rows.")
    read = {"AMLB's results": _amlb, "a scores table": _ours, "a table of bencheval": _bencheval}.get(
        kind, _long
    )
    try:
        table, properties = read(frame)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    for name in ("task", "framework"):
        nameless = table[name].eq("")
        if nameless.any():
            raise DataError(f"{path}: row {int(nameless.to_numpy().argmax()) + 1} has no {name}.")
    table, notes = _without_duplicates(table)
    origin = f"{kind}, {path.name}"
    table["origin"] = table["origin"].fillna("").replace("", origin)
    return Scores(table, properties, origin, _inference(frame), notes)


def role_of(framework: str) -> str:
    """Return the role a framework has by its name alone: `constant`, `baseline` or `framework`."""
    return ROLES.get(_plain(framework), "framework")


def _read(path: Path) -> Any:
    import pandas as pd

    if not path.is_file():
        raise DataError(f"There is no file {path}.")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        columns = [str(name) for name in pd.read_csv(path, nrows=0).columns]
        missing = {name: NO_VALUE for name in columns if name not in NAMES}
        kinds = {name: str for name in columns if name in NAMES}
        return pd.read_csv(path, low_memory=False, keep_default_na=False, na_values=missing, dtype=kinds)
    except Exception as error:  # pandas and pyarrow have a dozen of them
        raise DataError(f"{path} cannot be read as a table: {error}") from None


def _amlb(frame: Any) -> tuple[Any, Any]:
    import numpy as np
    import pandas as pd

    said = frame["metric"].astype(str)
    negated = said.str.startswith("neg_").to_numpy()
    result = pd.to_numeric(frame["result"], errors="coerce").to_numpy(dtype=float)
    info = _texts(frame, "info")
    base = pd.DataFrame(
        {
            "framework": frame["framework"].astype(str),
            "version": _texts(frame, "version"),
            "params": _texts(frame, "params"),
            "task": frame["task"].astype(str),
            "task_id": frame["id"].astype(str).str.replace(r"^.*openml.*/t/(\d+)$", r"\1", regex=True),
            "type": _texts(frame, "type"),
            "repeat": 0,
            "fold": _folds(frame),
            "constraint": frame["constraint"].astype(str),
            "seed": _numbers(frame, "seed"),
            "status": np.where(np.isnan(result), [_status(text) for text in info], "ok"),
            "message": info,
            "fit_s": _numbers(frame, "training_duration"),
            "predict_s": _numbers(frame, "predict_duration"),
            "row_s": _seconds_per_row(frame),
            "wall_s": _numbers(frame, "duration"),
            "models_count": _numbers(frame, "models_count"),
        }
    )
    base["metric"] = said.str.removeprefix("neg_")
    base["value"] = np.where(negated, -result, result)
    base["higher_is_better"] = _is_higher(base["metric"], ~negated)
    base["optimised"] = True
    return _complete(_with_other_metrics(base, frame)), _no_properties(base)


def _batches(frame: Any) -> dict[int, Any]:
    """Return the seconds of each batch size that AMLB timed, largest size last."""
    found = {match[1]: name for name in frame.columns if (match := BATCH.fullmatch(str(name)))}
    return {int(size): _numbers(frame, found[size]) for size in sorted(found, key=int)}


def _seconds_per_row(frame: Any) -> Any:
    out = _numbers(frame, "")
    for size, seconds in _batches(frame).items():
        out = (seconds / size).fillna(out)
    return out


def _inference(frame: Any) -> Any:
    import pandas as pd

    parts = [
        frame[["framework", "task"]].assign(batch=size, seconds=seconds)
        for size, seconds in (_batches(frame) if {"framework", "task"} <= set(frame.columns) else {}).items()
    ]
    return pd.concat(parts).dropna() if parts else None


def _with_other_metrics(base: Any, frame: Any) -> Any:
    """Add a row for every other metric that the table has a column for, also of jobs that failed on such a task."""
    import pandas as pd

    from assay.metrics.registry import BUILTIN, get_metric

    parts = [base]
    for name in sorted(set(frame.columns) & set(BUILTIN)):
        values = pd.to_numeric(frame[name], errors="coerce")
        tasks = base.loc[values.notna().to_numpy(), "task"].unique()
        own = base["task"].isin(tasks).to_numpy() & (base["metric"] != name).to_numpy()
        if own.any():
            higher = get_metric(name).higher_is_better
            parts.append(
                base[own].assign(metric=name, value=values[own], higher_is_better=higher, optimised=False)
            )
    return pd.concat(parts, ignore_index=True)


def _ours(frame: Any) -> tuple[Any, Any]:
    import pandas as pd

    table = frame.copy()
    table["value"] = pd.to_numeric(table["value"], errors="coerce")
    for name in ("higher_is_better", "optimised"):
        if name in table:
            table[name] = table[name].astype(str).str.lower().isin(["true", "1", "1.0"])
    if "higher_is_better" not in table:
        table["higher_is_better"] = _is_higher(table["metric"].astype(str), True)
    if "optimised" not in table:  # then it is the first metric of each task
        table["optimised"] = table["metric"] == table.groupby("task")["metric"].transform("first")
    return _complete(table), _no_properties(table)


def _bencheval(frame: Any) -> tuple[Any, Any]:
    import pandas as pd

    value = pd.to_numeric(frame["metric_error"], errors="coerce")
    table = pd.DataFrame(
        {
            "framework": frame["method"].astype(str),
            "task": frame["dataset"].astype(str),
            "task_id": _texts(frame, "tid"),
            "type": _texts(frame, "problem_type"),
            "fold": _folds(frame),
            "repeat": _numbers(frame, "repeat").fillna(0).astype("int64"),
            "metric": _texts(frame, "metric").replace("", "error"),
            "value": value,
            "higher_is_better": False,  # an error, whatever the metric is called
            "status": value.notna().map({True: "ok", False: "error"}),
            "fit_s": _numbers(frame, "time_train_s"),
            "predict_s": _numbers(frame, "time_infer_s"),
        }
    )
    if "imputed" in frame:
        imputed = frame["imputed"].astype(str).str.lower().isin(["true", "1", "1.0"])
        table["value"] = table["value"].where(~imputed)
        table["status"] = table["status"].where(~imputed, "error")
    return _complete(table), _no_properties(table)


def _long(frame: Any) -> tuple[Any, Any]:
    import pandas as pd

    value = pd.to_numeric(frame["score"], errors="coerce")
    higher = _is_higher(_texts(frame, "metric"), True)
    if "higher_is_better" in frame:
        higher = frame["higher_is_better"].astype(str).str.lower().isin(["true", "1", "1.0"])
    task_id = next((name for name in ("task_id", "tid") if name in frame), "")
    table = pd.DataFrame(
        {
            "framework": frame["framework"].astype(str),
            "task": frame["task"].astype(str),
            "task_id": _texts(frame, task_id),
            "type": _texts(frame, "type"),
            "fold": _folds(frame),
            "repeat": _numbers(frame, "repeat").fillna(0).astype("int64"),
            "constraint": _texts(frame, "constraint"),
            "metric": _texts(frame, "metric").replace("", "score"),
            "value": value,
            "higher_is_better": higher,
            "status": value.notna().map({True: "ok", False: "error"}),
        }
    )
    known = {
        "task",
        "fold",
        "framework",
        "score",
        "higher_is_better",
        "obs",
        "repeat",
        "metric",
        "type",
        "constraint",
    }
    further = [name for name in frame.columns if name not in known | {task_id}]
    properties = frame[further].assign(task=table["task"], task_id=table["task_id"])
    first = properties.drop_duplicates(["task", "task_id"])[["task", "task_id", *further]]
    return _complete(table), first.reset_index(drop=True)


def _complete(table: Any) -> Any:
    """Return the table with all documented columns: what is not known is empty."""
    import pandas as pd

    table = table.copy()
    defaults: Mapping[str, Any] = {
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
        table["role"] = table["framework"].map({name: role_of(name) for name in names})
        marks = {name: META_LEARNING.get(_plain(name), "") for name in names}
        table["meta_learning"] = table["framework"].map(marks)
    if table["budget_s"].isna().all():
        budgets = {name: budget_of(name) for name in table["constraint"].unique()}
        table["budget_s"] = table["constraint"].map(budgets).astype(float)
    return table[list(COLUMNS)]


def budget_of(constraint: str) -> float:
    """Return the seconds that a constraint's name begins with (`1h8c_gp3`: 3600), or NaN."""
    found = re.match(r"(\d+(?:\.\d+)?)([hms])", constraint)
    return float(found[1]) * {"h": 3600, "m": 60, "s": 1}[found[2]] if found else float("nan")


def _without_duplicates(table: Any) -> tuple[Any, tuple[str, ...]]:
    """Keep the last row of a fold: a job that was run again."""
    ours = table["origin"].astype(object).eq("assay")
    again = table[JOB].assign(seed=table["seed"].where(ours, 0)).duplicated(keep="last")
    if not again.any():
        return table, ()
    same = "same task, fold, framework, version, constraint and metric"
    note = f"Rows that come again ({same}), of which the last counts: {int(again.sum())}."
    return table[~again].reset_index(drop=True), (note,)


def _no_properties(table: Any) -> Any:
    table = table if "task_id" in table else table.assign(task_id="")
    return table[["task", "task_id"]].drop_duplicates().reset_index(drop=True)


def _is_higher(metrics: Any, otherwise: Any) -> Any:
    """Return the direction of metrics we know; AMLB negates what should be low, but not in columns of its own."""
    import numpy as np

    from assay.metrics.registry import BUILTIN, get_metric

    known = {name: get_metric(name).higher_is_better for name in set(metrics) & set(BUILTIN)}
    return np.where(metrics.isin(list(known)), metrics.map(known).eq(True), otherwise)


def _status(info: str) -> str:
    """Return our status for AMLB's text on a failure; empty texts and the rest are errors."""
    if re.search(r"TimeoutError|Interrupting thread|timed? ?out", info, re.IGNORECASE):
        return "timeout"
    if re.search(
        r"MemoryError|bad_alloc|allocate|out of memory|OutOfMemory|exit status 137", info, re.IGNORECASE
    ):
        return "memory"
    if re.search(r"segmentation fault|SIGSEGV|exit status 139|unexpectedly terminated", info, re.IGNORECASE):
        return "crash"
    return "error"


def _folds(frame: Any) -> Any:
    """Return the folds as integers; raises DataError with the first that is none."""
    import pandas as pd

    numbers = pd.to_numeric(frame["fold"], errors="coerce")
    bad = ~(numbers == numbers.round())
    if bad.any():
        at = int(bad.to_numpy().argmax())
        raise DataError(f"Row {at + 1} has the fold '{frame['fold'].iloc[at]}': a fold is a whole number.")
    return numbers.astype("int64")


def _texts(frame: Any, name: str) -> Any:
    import pandas as pd

    return (
        frame[name].astype(object).fillna("").astype(str)
        if name in frame
        else pd.Series("", index=frame.index)
    )


def _numbers(frame: Any, name: str) -> Any:
    import pandas as pd

    if name not in frame:
        return pd.Series(float("nan"), index=frame.index)
    return pd.to_numeric(frame[name], errors="coerce")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
