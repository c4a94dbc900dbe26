"""What a search found: the winner, an honest estimate of it, and the predictions of all configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.frameworks.pipeline.estimator import Estimator
from assay.frameworks.space import Configured
from assay.results.prediction_matrix import PredictionMatrix
from assay.searches.nested import Nested
from assay.uncertainty.result import Interval

if TYPE_CHECKING:
    from assay.typing import Array, Frame, JsonObject

__all__ = ["SearchResult"]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found.

    Attributes:
        winner: the name of the best configuration.
        winner_params: its values at full precision, by their names in the space; empty for an estimator of the user's.
        model: its pipeline, fitted on all rows; None if that failed, and `notes` say why.
        interval: how good the winner is on new rows.
        is_trivial: whether it is no better than `trivial`, which predicts the same for every row.
        scores: the mean over folds of each configuration, the best first.
        predictions: of all configurations, for rows that they had not learned from.
        failed: configurations that were left out, and why.
        metric: what the winner is best by.
        classes: in sorted order; empty for values.
        notes: what else is worth knowing.
        jobs: how many jobs there were, and how many of them were found finished in the folder.
        seconds: this call took, on the clock.
        nested: what nested cross-validation found; None if it was not asked for.
    """

    winner: str
    winner_params: Configured
    model: Estimator | None = field(repr=False)
    interval: Interval
    is_trivial: bool
    scores: Mapping[str, float] = field(repr=False)
    predictions: PredictionMatrix = field(repr=False)
    failed: Mapping[str, str]
    metric: str
    classes: tuple[np.generic, ...]
    notes: tuple[str, ...]
    jobs: tuple[int, int]
    seconds: float
    nested: Nested | None = None

    def write_predictions(self, path: Path | str) -> None:
        """Write all predictions as Parquet or CSV, for `assay interval`: the same winner, the same interval."""
        import pandas as pd

        data = self.predictions
        parts = [self._frame(repeat, values) for repeat, values in enumerate(data.values)]
        frame = pd.concat(parts, ignore_index=True)
        if Path(path).suffix == ".csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)

    def _frame(self, repeat: int, values: Array) -> Frame:
        """Return the predictions of one repeat, one column per configuration, or per configuration and class."""
        import pandas as pd

        data = self.predictions
        columns: dict[str, Array] = {"y": data.y, "fold": data.folds[repeat]}
        columns |= {"repeat": np.full(len(data.y), repeat)} if len(data.values) > 1 else {}
        columns |= {"group": data.groups} if data.groups is not None else {}
        for at, name in enumerate(data.names):
            if values.ndim == 2:
                columns[name] = values[:, at]
            else:
                columns |= {f"{name}|{label}": values[:, at, code] for code, label in enumerate(self.classes)}
        return pd.DataFrame(columns)

    def to_json(self) -> JsonObject:
        """Return plain JSON values: all but the model and the predictions themselves."""
        from assay.analysis.record import as_json

        found: JsonObject = as_json(
            {
                "winner": self.winner,
                "winner_params": self.winner_params,
                "is_trivial": self.is_trivial,
                "metric": self.metric,
                "interval": self.interval.to_json(),
                "scores": dict(self.scores),
                "failed": dict(self.failed),
                "classes": [str(label) for label in self.classes],
                "rows": self.predictions.n_rows,
                "folds": self.predictions.n_folds,
                "repeats": len(self.predictions.values),
                "notes": list(self.notes),
                "jobs": self.jobs[0],
                "jobs_found": self.jobs[1],
                "nested": None if self.nested is None else self.nested.to_json(),
                "seconds": self.seconds,
            }
        )
        return found
