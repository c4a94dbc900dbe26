"""bencheval's table (TabArena's leaderboard package): one row per method, dataset and fold with its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.typing import Frame

__all__ = ["COLUMNS", "bencheval_table"]

COLUMNS = (
    "method", "dataset", "fold", "problem_type", "metric", "metric_error", "time_train_s", "time_infer_s", "imputed",
)  # fmt: skip


def bencheval_table(table: Frame) -> Frame:
    """Return rows of the scores table, one metric per job, in bencheval's terms.

    Errors are low when they are good: what should be high is taken from 1 (auc, acc, r2 …). Jobs without a score are
    left out, because there bencheval imputes them itself. Repeats, which it does not have, go on counting folds.
    """
    import numpy as np
    import pandas as pd

    done = table[(table["status"] == "ok") & table["value"].notna()]
    value = done["value"].to_numpy(dtype=float)
    higher = done["higher_is_better"].to_numpy(dtype=bool)
    folds = done["task"].map(table.groupby("task")["fold"].max() + 1).to_numpy()
    names = done["label"] if "label" in done else done["framework"]
    return pd.DataFrame(
        {
            "method": names.to_numpy(),
            "dataset": done["task"].to_numpy(),
            "fold": (done["repeat"].to_numpy() * folds + done["fold"].to_numpy()).astype("int64"),
            "problem_type": done["type"].to_numpy(),
            "metric": done["metric"].to_numpy(),
            "metric_error": np.where(higher, 1 - value, value),
            "time_train_s": done["fit_s"].to_numpy(dtype=float),
            "time_infer_s": done["predict_s"].to_numpy(dtype=float),
            "imputed": False,
        },
        columns=list(COLUMNS),
    )
