"""bencheval's leaderboard of the errors in a file: run by `benchmarks.analysis` in an environment without Assay.

`python standings_elsewhere.py FILE.npz ROUNDS` prints the CPU seconds, without imports and without reading.
"""

from __future__ import annotations

import resource
import sys
from typing import Any

import numpy as np
import pandas as pd
from bencheval.evaluator import BenchmarkEvaluator


def cpu_s() -> float:
    """Return the CPU seconds of this process and of what it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def make_frame(errors: Any, failed: Any) -> pd.DataFrame:
    """Return one row per method, task and fold; what failed has none, and the first method is the constant."""
    task, fold, who = (axis.ravel() for axis in np.indices(errors.shape))
    names = np.array(["constant", "random_forest", *(f"framework{j}" for j in range(2, errors.shape[2]))])
    tasks = np.array([f"task{t}" for t in range(errors.shape[0])])
    frame = pd.DataFrame(
        {"method": names[who], "task": tasks[task], "fold": fold, "metric_error": errors.ravel()}
    )
    return frame[~failed.ravel()]


def leaderboard(frame: pd.DataFrame, rounds: int) -> pd.DataFrame:
    """Impute with the constant predictor and rank."""
    evaluator = BenchmarkEvaluator(seed_column="fold", columns_to_agg_extra=None)
    filled = evaluator.fillna_data(frame, fillna_method="constant")
    elo = {"calibration_framework": "random_forest", "calibration_elo": 1000, "BOOTSTRAP_ROUNDS": rounds}
    return evaluator.leaderboard(filled, elo_kwargs=elo)


if __name__ == "__main__":
    said = np.load(sys.argv[1])
    few = (slice(3), slice(2), slice(4))
    leaderboard(make_frame(said["errors"][few], said["failed"][few]), 2)  # what is loaded late is loaded now
    data = make_frame(said["errors"], said["failed"])
    begin = cpu_s()
    found = leaderboard(data, int(sys.argv[2]))
    used = cpu_s() - begin
    assert len(found) == said["errors"].shape[2] and {"elo", "elo+", "elo-"} <= set(found.columns)
    print(used)
