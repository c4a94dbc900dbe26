"""AMLB's `results.csv`: our rows in its columns, so that its users' scripts go on to work.

Differences that are meant: numbers have full precision; `info` begins with our status; `mode` is `local`; repeats,
which AMLB does not have, go on counting folds after those of repeat 0.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from assay.jobs.row import Row

__all__ = ["COLUMNS", "amlb_rows", "write_amlb"]

COLUMNS = (
    "id", "task", "framework", "constraint", "fold", "type", "result", "metric", "mode", "version", "params",
    "app_version", "utc", "duration", "training_duration", "predict_duration", "models_count", "seed", "info",
)  # fmt: skip
NAMES = {
    "constant": "constantpredictor",
    "random_forest": "RandomForest",
    "tuned_random_forest": "TunedRandomForest",
    "decision_tree": "DecisionTree",
}


def write_amlb(path: Path, rows: Sequence[Row]) -> None:
    """Write results rows as AMLB's CSV."""
    records = amlb_rows(rows)
    metrics = sorted({name for row in rows for name in row.scores})
    batches = sorted({int(size) for row in rows for size in row.inference_s})
    names = [*COLUMNS, *metrics, *(f"infer_batch_size_df_{size}" for size in batches)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)


def amlb_rows(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return one record per job in AMLB's terms: `result` is higher-is-better, its metric `neg_x` if need be."""
    folds = {row.task: 0 for row in rows}
    for row in rows:
        folds[row.task] = max(folds[row.task], row.fold + 1)
    return [_record(row, folds[row.task]) for row in rows]


def _record(row: Row, n_folds: int) -> dict[str, object]:
    higher = row.higher_is_better[row.metric]
    failed = row.status != "ok"
    score = row.score
    record: dict[str, object] = {
        "id": row.task_id.replace("openml/t/", "openml.org/t/"),
        "task": row.task,
        "framework": NAMES.get(row.framework, row.framework),
        "constraint": row.constraint,
        "fold": row.repeat * n_folds + row.fold,
        "type": row.type,
        "result": "" if score is None else repr(score if higher else 0.0 - score),
        "metric": row.metric if higher else f"neg_{row.metric}",
        "mode": "local",
        "version": row.version,
        "params": repr(row.params) if row.params else "",
        "app_version": "assay",
        "utc": row.started_at[:19],
        "duration": _text(row.wall_s),
        "training_duration": _text(row.fit_s),
        "predict_duration": _text(row.predict_s),
        "models_count": _text(row.models_count),
        "seed": row.seed,
        "info": f"{row.status}: {row.message}" if failed else "",
    }
    record.update({name: _text(value) for name, value in row.scores.items()})
    record.update({f"infer_batch_size_df_{size}": _text(value) for size, value in row.inference_s.items()})
    return record


def _text(value: float | int | None) -> str:
    return "" if value is None else repr(value)
