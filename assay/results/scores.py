"""THE scores table: one row per job and metric, long. Failed jobs stay in it, with an empty value.

| column | is |
|---|---|
| key, attempt | the job, and which attempt counts |
| framework, version, params | who; params as JSON |
| role, meta_learning | constant, forest, baseline, framework, model; `marked` or `excluded` if it learned beforehand |
| task, task_id, task_digest, type | what was learned; the digest tells states of a file apart |
| repeat, fold | which split |
| constraint, budget_s, cores | what it was allowed |
| seed | what the framework was given |
| status, message | how it ended; of a job that ended well, why this metric has no value |
| metric, value, higher_is_better | the score, in the metric's own direction, full precision |
| optimised | whether this metric is the one frameworks were asked to optimise |
| fit_s, predict_s, wall_s, cpu_s, peak_memory_mb | what it took |
| row_s | seconds of inference per row, in the largest batch that was timed |
| models_count, constant_predictions | what it did |
| enforcement, blindness, contended, start | under which conditions |
| origin | `assay`, or where a foreign row came from |
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from assay.files import visible
from assay.results.roles import role_in_scores

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COLUMNS", "NOT_ITS_OWN", "base_constraint", "folded", "inference_table", "long_rows", "scores_table",
    "write_rows_csv",
]  # fmt: skip

# Statuses that are not the framework's result: such rows are neither imputed nor ranked, only counted.
NOT_ITS_OWN = ("setup", "data", "lost")
COLUMNS = (
    "key", "attempt", "framework", "version", "params", "meta_learning", "role", "task", "task_id", "task_digest",
    "type", "repeat", "fold", "constraint", "budget_s", "cores", "seed", "status", "message", "metric", "value",
    "higher_is_better", "optimised", "fit_s", "predict_s", "row_s", "wall_s", "cpu_s", "peak_memory_mb", "models_count",
    "constant_predictions", "enforcement", "blindness", "contended", "start", "origin",
)  # fmt: skip
# Amazon's volume types: what AMLB's constraints of one time and number of cores differ in.
VOLUME = re.compile(r"(?<=c)_(?:gp2|gp3|io1|io2|st1|sc1|standard)$")
MADE = {"params", "meta_learning", "metric", "value", "higher_is_better", "optimised", "row_s"}
SAME = tuple(name for name in COLUMNS if name not in MADE)


def long_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Turn results rows into one record per job and metric."""
    out = []
    for row in rows:
        same = {name: row[name] for name in SAME}
        same["role"] = role_in_scores(row["framework"], row["role"])
        same["meta_learning"] = row.get("meta_learning", "")  # rows of the first version have none
        same["row_s"] = _seconds_per_row(row["inference_s"])
        same["params"] = json.dumps(row["params"], sort_keys=True)
        for metric, value in row["scores"].items():
            higher = row["higher_is_better"][metric]
            said = {
                "metric": metric,
                "value": value,
                "higher_is_better": higher,
                "optimised": metric == row["metric"],
                "message": row["message"] or (_why_missing(row, metric) if value is None else ""),
            }
            out.append({**same, **said})
    return out


def _why_missing(row: Mapping[str, Any], metric: str) -> str:
    """Return what a job's notes say of a metric that has no value."""
    begins = f"{metric}: "
    return next((note.removeprefix(begins) for note in row.get("notes", ()) if note.startswith(begins)), "")


def _seconds_per_row(inference_s: Mapping[str, float]) -> float | None:
    known = {int(batch): seconds for batch, seconds in inference_s.items() if int(batch)}
    return known[max(known)] / max(known) if known else None


def scores_table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the scores table as a DataFrame with the documented columns, also when there are no rows."""
    import pandas as pd

    return pd.DataFrame(long_rows(rows), columns=list(COLUMNS))


def inference_table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return seconds of inference, one row per job and batch size: framework, task, batch, seconds."""
    import pandas as pd

    found = [
        (row["framework"], row["task"], int(batch), seconds)
        for row in rows
        if row["status"] == "ok"
        for batch, seconds in row["inference_s"].items()
        if int(batch)
    ]
    return pd.DataFrame(found, columns=["framework", "task", "batch", "seconds"])


def base_constraint(name: str) -> str:
    """Return a constraint's name without the type of the volume: `4h8c_gp3` allows the time and cores of `4h8c`."""
    return VOLUME.sub("", name)


def folded(name: str) -> str:
    """Return a task's name in the spelling that all have in common: `numerai28.6` and `numerai28_6` are one."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def write_rows_csv(file: TextIO, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write results rows, one per job, as CSV; what is not flat is JSON, and control characters are escaped."""
    names = list(rows[0]) if rows else ["key"]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value)
    return visible(value) if isinstance(value, str) else value
