"""The scores table: one row per job and metric, in long format. Failed jobs stay in it, with an empty value.

Its columns are those of a results row that are marked for it (assay/jobs/row.py), and those in `MADE`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TextIO

from assay.errors import DataError
from assay.files import visible
from assay.jobs.row import Row, row_columns
from assay.memory import no_collection
from assay.results.roles import role_in_scores

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COLUMNS", "MADE", "NOT_ITS_OWN", "base_constraint", "check_scores", "folded", "inference_table", "long_rows",
    "scores_table", "write_rows_csv",
]  # fmt: skip

# Statuses that are not the framework's result: such rows are neither imputed nor ranked, only counted.
NOT_ITS_OWN = ("setup", "data", "lost")
# What the table has in place of a row's `metric`, `score`, `scores`, `higher_is_better` and `inference_s`.
MADE = {
    "metric": "the metric",
    "value": "its value, in the metric's own direction and at full precision",
    "higher_is_better": "the metric's direction",
    "optimised": "whether frameworks were asked to optimise this metric",
    "row_s": "seconds of inference per row, in the largest batch that was timed",
}
# Amazon's volume types: what AMLB's constraints of one time and number of cores differ in.
VOLUME = re.compile(r"(?<=c)_(?:gp2|gp3|io1|io2|st1|sc1|standard)$")


def _columns() -> Iterator[str]:
    for name, column in row_columns():
        if name == "metric":
            yield from ("metric", "value", "higher_is_better", "optimised")
        elif column.in_scores:
            yield name
        if name == "predict_s":
            yield "row_s"


COLUMNS = tuple(_columns())
SAME = tuple(name for name in COLUMNS if name not in MADE and name not in ("role", "params", "message"))
BY_JOB = (*SAME, "role", "row_s", "params")
BY_METRIC = ("metric", "value", "higher_is_better", "optimised", "message")
# All that is read of a row, at once: rows lie far apart in memory, and each visit to all of them costs as much.
READ = (*SAME, "role", "params", "inference_s", "metric", "scores", "higher_is_better", "message", "notes")
_read = itemgetter(*READ)
NUMBERS = ("repeat", "fold", "budget_s", "value", "fit_s", "predict_s", "row_s")


def long_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Turn results rows into one record per job and metric."""
    if not rows:
        return []
    by_job, by_metric = _make_columns(rows)
    job = [at for at, row in enumerate(rows) for _ in row.scores]
    return [
        {name: by_metric[name][line] if name in by_metric else by_job[name][at] for name in COLUMNS}
        for line, at in enumerate(job)
    ]


def _make_columns(rows: Sequence[Row]) -> tuple[dict[str, Sequence[Any]], dict[str, Sequence[Any]]]:
    """Return the columns `BY_JOB` with a value per row, and `BY_METRIC` with one per row and metric."""
    fields = map(attrgetter("__dict__"), rows)  # faster than asking each row for each attribute
    read = dict(zip(READ, zip(*map(_read, fields), strict=True), strict=True))
    scores, notes = read["scores"], read["notes"]
    by_job: dict[str, Sequence[Any]] = {name: read[name] for name in SAME}
    by_job["role"] = list(map(role_in_scores, read["framework"], read["role"]))
    by_job["row_s"] = list(map(_seconds_per_row, read["inference_s"]))
    by_job["params"] = [json.dumps(params, sort_keys=True) if params else "{}" for params in read["params"]]
    by_metric: dict[str, Sequence[Any]] = {
        "metric": list(chain.from_iterable(scores)),
        "value": list(chain.from_iterable(map(dict.values, scores))),
        "higher_is_better": [
            ways[name] for ways, own in zip(read["higher_is_better"], scores, strict=True) for name in own
        ],
        "optimised": [name == main for main, own in zip(read["metric"], scores, strict=True) for name in own],
        "message": [
            message or ("" if value is not None else _why_missing(noted, name))
            for message, own, noted in zip(read["message"], scores, notes, strict=True)
            for name, value in own.items()
        ],
    }
    return by_job, by_metric


def _why_missing(notes: Sequence[str], metric: str) -> str:
    """Return what a job's notes say of a metric that has no value."""
    begins = f"{metric}: "
    return next((note.removeprefix(begins) for note in notes if note.startswith(begins)), "")


def _seconds_per_row(inference_s: Mapping[str, float]) -> float | None:
    name, size = _largest(tuple(inference_s))
    return inference_s[name] / size if size else None


@lru_cache(maxsize=100)  # nearly all jobs time the same sizes
def _largest(sizes: tuple[str, ...]) -> tuple[str, int]:
    """Return the largest size as it is written, and as a number; 0 if there is none."""
    name = max(sizes, key=int, default="0")
    return name, int(name)


def scores_table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the scores table as a DataFrame with the documented columns, also when there are no rows."""
    with no_collection():  # around the imports too: there may be a million records by now
        import numpy as np
        import pandas as pd

        if not rows:
            return pd.DataFrame(columns=list(COLUMNS))
        # By columns, repeated as arrays: faster than a dictionary for each job and metric.
        by_job, by_metric = _make_columns(rows)
        counts = np.fromiter(map(len, map(attrgetter("scores"), rows)), dtype=np.intp, count=len(rows))
        columns = {name: pd.Series(values).array.repeat(counts) for name, values in by_job.items()}
        columns.update({name: pd.Series(values).array for name, values in by_metric.items()})
        return pd.DataFrame({name: columns[name] for name in COLUMNS})


def check_scores(table: pd.DataFrame, source: str) -> None:
    """Check that a table has the columns of the scores table, and numbers where it must.

    Raises:
        DataError: the message names the source, the column and its type.
    """
    from pandas.api.types import is_numeric_dtype

    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise DataError(f"{source} is not a scores table: it has no column {', '.join(missing)}.")
    for name in NUMBERS:
        if not is_numeric_dtype(table[name]) and table[name].notna().any():
            raise DataError(f"{source}: the column {name} holds {table[name].dtype}, not numbers.")


def inference_table(rows: Iterable[Row]) -> pd.DataFrame:
    """Return seconds of inference, one row per job and batch size: framework, task, batch, seconds."""
    import pandas as pd

    timings = [
        (row.framework, row.task, int(batch), seconds)
        for row in rows
        if row.status == "ok"
        for batch, seconds in row.inference_s.items()
        if int(batch)
    ]
    return pd.DataFrame(timings, columns=["framework", "task", "batch", "seconds"])


def base_constraint(name: str) -> str:
    """Return a constraint's name without the type of the volume: `4h8c_gp3` allows the time and cores of `4h8c`."""
    return VOLUME.sub("", name)


def folded(name: str) -> str:
    """Return a task's name in the spelling that all have in common: `numerai28.6` and `numerai28_6` are one."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def write_rows_csv(file: TextIO, rows: Iterable[Row]) -> None:
    """Write results rows, one per job, as CSV; what is not flat is JSON, and control characters are escaped."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(name for name, _ in row_columns())
    for row in rows:
        writer.writerow(_cell(value) for value in row.to_json().values())


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value)
    return visible(value) if isinstance(value, str) else value
