"""How good the winner of a search really is: from predictions, in memory or in a file, to an interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import UserError
from assay.results.matrices import read_matrix
from assay.uncertainty.bbc import Search, prepare
from assay.uncertainty.methods import find_interval, try_all
from assay.uncertainty.predictions import Predictions, check_predictions
from assay.uncertainty.result import Interval, Options

__all__ = ["interval", "open_search", "split_of"]


def interval(
    source: Path | str | Predictions,
    method: str = "bbc",
    metric: str = "auc",
    seed: int = 0,
    options: Options | None = None,
    **said: Any,
) -> Interval | list[Interval]:
    """Return the interval for the winner of a search, or with the method `all` those of all methods.

    Args:
        source: a file of predictions (CSV, Parquet, npz), a job's folder, or `check_predictions(y, values, folds)`.
        method: as `bbc` or `bbc_f`.
        metric: the winner is the best by it.
        seed: of the draws.
        options: how.
        said: its fields by name (`alpha=0.1`, `side="two"`, `resamples=5000`), which go before `options`.
    """
    wanted = replace(options or Options(), **said)
    search = open_search(source, metric)
    return try_all(search, wanted, seed) if method == "all" else find_interval(search, method, wanted, seed)


def open_search(source: Path | str | Predictions, metric: str) -> Search:
    """Return predictions made ready for a metric."""
    if isinstance(source, Predictions):
        return prepare(source, metric)
    found = read_matrix(Path(source))
    data = check_predictions(
        found.y, found.values, found.folds, names=found.names, groups=found.groups, event=found.event,
        repeats=found.repeats,
    )  # fmt: skip
    search = prepare(data, metric)
    return replace(search, warnings=(*found.notes, *search.warnings))


def split_of(given: Any, n_rows: int, name: str = "") -> Any:
    """Return which rows a split keeps for the evaluation.

    It may be given as a value for each row (true, 1 or `eval`), or as the positions of the rows of one part. They are
    those of the evaluation; of the learning part where the array's name says so (learn, train), or where nothing says
    so and positions are of three quarters of the rows.
    """
    array = np.asarray(given).reshape(-1)
    is_learning = any(word in name.lower() for word in ("learn", "train"))
    if len(array) == n_rows and array.dtype.kind in "US":
        return np.char.startswith(np.char.lower(array.astype(str)), "eval")
    if len(array) == n_rows and (array.dtype.kind == "b" or np.isin(array, (0, 1)).all()):
        return ~array.astype(bool) if is_learning else array.astype(bool)
    if (
        not len(array)
        or array.dtype.kind not in "iu"
        or len(np.unique(array)) != len(array)
        or array.min() < 0
        or array.max() >= n_rows
    ):
        raise UserError(
            f"The split is neither a value for each of {n_rows} rows (1 for the evaluation) nor the positions of rows."
        )
    keep = np.zeros(n_rows, dtype=bool)
    keep[array] = True
    is_large = "eval" not in name.lower() and len(array) == int(0.75 * n_rows)
    return ~keep if is_learning or is_large else keep
