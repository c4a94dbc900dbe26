"""Made-up scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from assay.analysis.impute import FoldScores, gather
from assay.results.roles import role_by_name
from assay.results.scores import COLUMNS


def scores_frame(values: dict[str, dict[str, list[float | None]]], **said: Any) -> pd.DataFrame:
    """Return a scores table of framework → task → values by fold; None is a failure."""
    rows = []
    for framework, tasks in values.items():
        for task, folds in tasks.items():
            for fold, value in enumerate(folds):
                row = {
                    "framework": framework, "version": "1", "params": "{}", "task": task, "task_id": "",
                    "task_digest": "", "type": "binary", "repeat": 0, "fold": fold, "constraint": "1h8c",
                    "budget_s": 3600.0, "seed": fold, "metric": "auc",
                    "status": "ok" if value is not None else "error", "message": "", "optimised": True,
                    "value": np.nan if value is None else value, "higher_is_better": True, "origin": "assay",
                    "role": role_by_name(framework), "meta_learning": "", "fit_s": 1.0,
                    "predict_s": 0.1, **said,
                }  # fmt: skip
                rows.append(row)
    return pd.DataFrame(rows).reindex(columns=list(COLUMNS))


def random_scores(
    random: np.random.Generator, tasks: int, folds: int, frameworks: int, ties: bool = False
) -> FoldScores:
    """Return scores with an effect of each framework on each task and noise of folds."""
    effect = random.normal(size=(tasks, 1, frameworks))
    values = effect + random.normal(size=(tasks, folds, frameworks))
    values = values.round(1) if ties else values
    table = {f"f{j}": {f"t{t}": values[t, :, j].tolist() for t in range(tasks)} for j in range(frameworks)}
    return gather(scores_frame(table), "none")


def by_task(scores: Any) -> dict[str, dict[str, list[float | None]]]:
    """Return (tasks, m) scores as one fold each of tasks t0, t1, … and frameworks f0, f1, …; NaN is a failure."""
    cells = [
        [None if np.isnan(one) else float(one) for one in row] for row in np.asarray(scores, dtype=float)
    ]
    m = np.shape(scores)[1]
    return {f"f{j}": {f"t{t}": [row[j]] for t, row in enumerate(cells)} for j in range(m)}


def holed_table(seed: int, tasks: int = 18, folds: int = 3, frameworks: int = 4) -> pd.DataFrame:
    """Return a scores table with a constant predictor, ties, and failures in a fifth of the other cells.

    Values are eighths, so that sums over folds are exact and ties are ties in whatever order they are added.
    """
    random = np.random.default_rng(seed)
    values = (8 * random.normal(0.7, 0.15, size=(frameworks, tasks, folds))).round() / 8
    holes = random.random(values.shape) < 0.2
    table: dict[str, Any] = {"constant": {f"t{t}": [0.5] * folds for t in range(tasks)}}
    for j in range(frameworks):
        cells = np.where(holes[j], None, values[j].astype(object))  # type: ignore[call-overload]
        table[f"f{j}"] = {f"t{t}": cells[t].tolist() for t in range(tasks)}
    return scores_frame(table)


def plain_means(table: pd.DataFrame) -> pd.DataFrame:
    """Return tasks × frameworks by pandas alone: failures as the constant predictor, then means over folds."""
    wide = table.pivot(index=["task", "fold"], columns="framework", values="value")
    filled = wide.apply(lambda own: own.fillna(wide["constant"]))
    return filled.groupby(level="task").mean().loc[table["task"].unique()]
