"""Seconds in a scores table: of training, of inference by batch size, and by task."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from assay.analysis.impute import FoldScores
from assay.typing import Floats, Frame

__all__ = ["FitTime", "InferenceTime", "fit_times", "inference_times", "seconds_by_task"]

LEEWAY_S = 3600.0  # AMLB stops a job that takes as long again as its budget, or an hour longer


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


def fit_times(table: Frame) -> tuple[FitTime, ...]:
    """Return the training times of each framework and constraint, of jobs that gave a score; timeouts are counted."""
    times = []
    for (framework, constraint), rows in table.groupby(["framework", "constraint"], sort=True):
        budget = float(rows["budget_s"].median()) if rows["budget_s"].notna().any() else nan
        leeway = min(budget, LEEWAY_S) if budget == budget else nan
        seconds = rows.loc[rows["status"] == "ok", "fit_s"].dropna().to_numpy(dtype=float)
        quantiles = np.quantile(seconds, [0, 0.25, 0.5, 0.75, 1]) if len(seconds) else np.full(5, nan)
        times.append(
            FitTime(
                framework=str(framework),
                constraint=str(constraint),
                budget_s=budget,
                jobs=len(seconds),
                least=float(quantiles[0]),
                lower=float(quantiles[1]),
                median=float(quantiles[2]),
                upper=float(quantiles[3]),
                most=float(quantiles[4]),
                over_budget=int((seconds > budget).sum()),
                over_leeway=int((seconds > budget + leeway).sum()),
                timeouts=int((rows["status"] == "timeout").sum()),
                longest_share=float(quantiles[4] / budget) if budget else nan,
            )
        )
    return tuple(times)


def inference_times(table: Frame) -> tuple[InferenceTime, ...]:
    """Return seconds per row by batch size, of a table with framework, batch and the seconds of such a batch."""
    times = []
    for (framework, _), rows in table.groupby(["framework", "batch"], sort=True):
        batch = int(rows["batch"].iloc[0])
        seconds = rows["seconds"].to_numpy(dtype=float) / batch
        lower, median, upper = np.quantile(seconds, [0.25, 0.5, 0.75])
        quartiles = float(lower), float(median), float(upper)
        times.append(InferenceTime(str(framework), batch, len(seconds), *quartiles))
    return tuple(times)


def seconds_by_task(table: Frame, scores: FoldScores, column: str) -> Floats:
    """Return (tasks, m) medians over folds of a column of seconds, where there are any; NaN elsewhere."""
    keys = ["task", "task_id", "task_digest", "metric", "label"]
    medians = table[table["status"] == "ok"].groupby(keys)[column].median().to_dict()
    rows = [[medians.get((*key, name), nan) for name in scores.frameworks] for key in scores.keys]
    return np.array(rows, dtype=float).reshape(len(scores.keys), len(scores.frameworks))
