"""Mean, deviation and failures of each framework on each task: the tables at the end of the AMLB paper. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.analysis.impute import ABSENT, FAILED, NOT_OWN, OK, FoldScores

__all__ = ["TaskCell", "make_cells"]


@dataclass(frozen=True)
class TaskCell:
    """One framework on one task, over the folds it completed, in the metric's own direction.

    `std` has ddof 1, and is None with fewer than two folds; `n` counts completed folds, `fails` the others: failed,
    ended as setup, data or lost, and in foreign tables those without a row.
    """

    task: str
    task_id: str
    framework: str
    constraint: str
    metric: str
    mean: float | None
    std: float | None
    n: int
    fails: int


def make_cells(scores: FoldScores, constraints: dict[str, str]) -> list[TaskCell]:
    """Return the cells of all tasks and frameworks that have a row there; `constraints` by framework."""
    out = []
    for t, task in enumerate(scores.tasks):
        rows = scores.task == t
        for j, framework in enumerate(scores.frameworks):
            state = scores.state[rows, j]
            if (state == ABSENT).all():
                continue
            done = scores.values[rows, j][state == OK]
            done = done[np.isfinite(done)]
            out.append(
                TaskCell(
                    task=task,
                    task_id=scores.task_ids[t],
                    framework=framework,
                    constraint=constraints.get(framework, ""),
                    metric=scores.metrics[t],
                    mean=float(done.mean()) if len(done) else None,
                    std=float(np.std(done, ddof=1)) if len(done) > 1 else None,
                    n=len(done),
                    fails=int(((state == FAILED) | (state == NOT_OWN)).sum()),
                )
            )
    return out
