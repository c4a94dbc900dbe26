"""Where the reference outputs lie, and made-up scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay.analysis.impute import FoldScores, gather
from assay.results.scores import COLUMNS


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; tests that need it are skipped without it."""
    folder = Path(__file__).resolve().parents[2].parent / "shared"
    if not (folder / "reference").is_dir():
        pytest.skip(f"the reference data are not there: {folder}")
    return folder


def scores_frame(values: dict[str, dict[str, list[float | None]]], **said: Any) -> pd.DataFrame:
    """Return a scores table of framework → task → values by fold; None is a failure."""
    rows = []
    for framework, tasks in values.items():
        for task, folds in tasks.items():
            for fold, value in enumerate(folds):
                row = {
                    "framework": framework, "version": "1", "params": "{}", "task": task, "task_id": "",
                    "type": "binary", "repeat": 0, "fold": fold, "constraint": "1h8c", "budget_s": 3600.0, "seed": fold,
                    "metric": "auc",
                    "status": "ok" if value is not None else "error", "message": "", "optimised": True,
                    "value": np.nan if value is None else value, "higher_is_better": True, "origin": "assay",
                    "role": "constant" if framework == "constant" else "framework", "meta_learning": "", "fit_s": 1.0,
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
