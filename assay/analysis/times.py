"""Seconds: training against the budget (the AMLB paper's Figure 8), inference per row and by batch (Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from assay.analysis.impute import FoldScores

__all__ = ["FitTime", "InferenceTime", "fit_times", "inference_times", "seconds_by_task"]

LEEWAY_S = 3600.0


@dataclass(frozen=True)
class FitTime:
    """How long a framework trained, of the jobs that have a time; quartiles in seconds.

    `over_budget` counts jobs that took longer than they were told, `over_leeway` those beyond AMLB's leeway as well (as
    long again, an hour at most), `timeouts` those that were stopped.
    """

    framework: str
    constraint: str
    budget_s: float
    jobs: int
    least: float
    lower: float
    median: float
    upper: float
    most: float
    over_budget: int
    over_leeway: int
    timeouts: int
    longest_share: float


@dataclass(frozen=True)
class InferenceTime:
    """Seconds per row of predicting in batches of one size: the median over jobs and the quartiles."""

    framework: str
    batch: int
    jobs: int
    lower: float
    median: float
    upper: float


def fit_times(table: Any) -> tuple[FitTime, ...]:
    """Return the training times of each framework and constraint, of jobs that gave a score; timeouts are counted."""
    out = []
    for (framework, constraint), own in table.groupby(["framework", "constraint"], sort=True):
        budget = float(own["budget_s"].median()) if own["budget_s"].notna().any() else nan
        leeway = min(budget, LEEWAY_S) if budget == budget else nan
        seconds = own.loc[own["status"] == "ok", "fit_s"].dropna().to_numpy(dtype=float)
        five = np.quantile(seconds, [0, 0.25, 0.5, 0.75, 1]) if len(seconds) else np.full(5, nan)
        out.append(
            FitTime(
                framework=str(framework),
                constraint=str(constraint),
                budget_s=budget,
                jobs=len(seconds),
                least=float(five[0]),
                lower=float(five[1]),
                median=float(five[2]),
                upper=float(five[3]),
                most=float(five[4]),
                over_budget=int((seconds > budget).sum()),
                over_leeway=int((seconds > budget + leeway).sum()),
                timeouts=int((own["status"] == "timeout").sum()),
                longest_share=float(five[4] / budget) if budget else nan,
            )
        )
    return tuple(out)


def inference_times(table: Any) -> tuple[InferenceTime, ...]:
    """Return seconds per row by batch size, of a table with framework, batch and the seconds of such a batch."""
    out = []
    for (framework, batch), own in table.groupby(["framework", "batch"], sort=True):
        seconds = own["seconds"].to_numpy(dtype=float) / int(batch)
        lower, median, upper = np.quantile(seconds, [0.25, 0.5, 0.75])
        found = (str(framework), int(batch), len(seconds), float(lower), float(median), float(upper))
        out.append(InferenceTime(*found))
    return tuple(out)


def seconds_by_task(table: Any, scores: FoldScores, column: str) -> Any:
    """Return (tasks, m) medians over folds of a column of seconds, where there are any; NaN elsewhere."""
    keys = ["task", "task_id", "task_digest", "metric", "label"]
    medians = table[table["status"] == "ok"].groupby(keys)[column].median().to_dict()
    rows = [[medians.get((*key, name), nan) for name in scores.frameworks] for key in scores.keys]
    return np.array(rows, dtype=float).reshape(len(scores.keys), len(scores.frameworks))
