"""Scores tables that nobody ran: numbers in, a long table as `assay.results.scores` makes it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

CONSTANT, FOREST = "constant", "random_forest"
# What the analyses look at beside the numbers; every other column of the table stays empty.
SAID: dict[str, Any] = {
    "attempt": 1, "version": "1", "params": "{}", "type": "binary", "repeat": 0, "constraint": "1h8c",
    "budget_s": 3600.0, "cores": 8, "metric": "logloss", "higher_is_better": False, "optimised": True, "fit_s": 60.0,
    "predict_s": 1.0, "row_s": 1e-4, "constant_predictions": False, "contended": False, "origin": "assay",
}  # fmt: skip


def long_table(values: Any, frameworks: Sequence[str], failed: Any = None, **said: Any) -> Any:
    """Return the scores table of values (tasks, folds, frameworks); failed ones stay in it, without a value."""
    import pandas as pd

    from assay.results.scores import COLUMNS

    task, fold, who = (axis.ravel() for axis in np.indices(values.shape))
    bad = np.zeros(len(who), dtype=bool) if failed is None else failed.ravel()
    names = np.array(list(frameworks), dtype=object)
    roles = np.array([{CONSTANT: "constant", FOREST: "forest"}.get(name, "framework") for name in frameworks])
    known: dict[str, Any] = {
        **SAID,
        "framework": names[who],
        "role": roles.astype(object)[who],
        "task": np.array([f"task{t}" for t in range(values.shape[0])], dtype=object)[task],
        "fold": fold,
        "seed": fold,
        "status": np.where(bad, "error", "ok").astype(object),
        "value": np.where(bad, np.nan, values.ravel()),
        **said,
    }
    return pd.DataFrame({name: known.get(name, "") for name in COLUMNS})
