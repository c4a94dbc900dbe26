"""Score stored predictions again, by other metrics; nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.errors import ConfigError
from assay.frameworks.predictions import Asked, BadPredictions, read_predictions
from assay.jobs.folder import StoreFolder
from assay.jobs.row import Row
from assay.metrics import get_metric
from assay.results.judge import score_predictions
from assay.runs.folds import read_question

__all__ = ["rescore"]


def rescore(store: StoreFolder, rows: Sequence[Row], metrics: Sequence[str]) -> list[Row]:
    """Return the rows with `scores` by these metrics; a task whose type a metric is not for leaves it out."""
    chosen = {name: get_metric(name) for name in metrics}
    out = []
    for row in rows:
        fitting = [name for name, metric in chosen.items() if row.type in metric.types]
        if not fitting:
            continue
        scores, notes = (
            _score(store, row, fitting) if row.status == "ok" else (dict.fromkeys(fitting), row.notes)
        )
        directions = {name: chosen[name].higher_is_better for name in fitting}
        first = fitting[0]
        out.append(
            replace(
                row,
                metric=first,
                score=scores[first],
                scores=scores,
                higher_is_better=directions,
                notes=notes,
            )
        )
    if rows and not out:
        raise ConfigError(f"None of the metrics {', '.join(metrics)} is for the types of task in this store.")
    return out


def _score(
    store: StoreFolder, row: Row, metrics: Sequence[str]
) -> tuple[dict[str, float | None], tuple[str, ...]]:
    question = read_question(store, row.task_digest, row.fold_digest)
    if question.value is None:
        return dict.fromkeys(metrics), (f"{question.sentence}.",)
    task, y = question.value.task, question.value.y
    attempt = store.job(row.key).attempt(row.attempt)
    try:
        predictions = read_predictions(attempt.out, Asked(task.type, task.classes, len(y)), attempt.root)
    except BadPredictions as error:
        return dict.fromkeys(metrics), (f"The predictions in the store cannot be scored any more: {error}.",)
    if predictions is None:
        return dict.fromkeys(metrics), ("The predictions are no longer in the store.",)
    return score_predictions(predictions, y, task, metrics)
