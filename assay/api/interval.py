"""How good the winner of a search really is: from predictions, in memory or in a file, to an interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import ConfigError, UserError

if TYPE_CHECKING:
    from assay.results.prediction_matrix import PredictionMatrix
    from assay.uncertainty.bbc import Search
    from assay.uncertainty.result import Interval, Options

__all__ = ["evaluation_rows", "interval", "open_search"]

PARTS = ("evaluation", "learning")


def interval(
    source: Path | str | PredictionMatrix,
    method: str = "bbc",
    metric: str = "auc",
    seed: int = 0,
    options: Options | None = None,
    **changes: Any,
) -> Interval | list[Interval]:
    """Return the interval for the winner of a search, or with the method `all` those of all methods.

    Args:
        source: a file of predictions (CSV, Parquet, npz), a job's folder, or `check_predictions(y, values, folds)`.
        method: as `bbc` or `bbc_f`.
        metric: the winner is the best by it.
        seed: of the draws.
        options: how.
        changes: fields of the options by name (`alpha=0.1`, `side="two"`, `resamples=5000`), which go before `options`.
    """
    from assay.uncertainty.methods import find_interval, try_all
    from assay.uncertainty.result import Options

    chosen = replace(options or Options(), **changes)
    search = open_search(source, metric)
    return try_all(search, chosen, seed) if method == "all" else find_interval(search, method, chosen, seed)


def open_search(source: Path | str | PredictionMatrix, metric: str) -> Search:
    """Return predictions made ready for a metric."""
    from assay.results.matrices import read_matrix
    from assay.uncertainty.bbc import prepare

    matrix = read_matrix(Path(source)) if isinstance(source, (str, Path)) else source
    return prepare(matrix, metric)


def evaluation_rows(split: Any, n_rows: int, part: Literal["evaluation", "learning"] = "evaluation") -> Any:
    """Return which rows a split keeps for the evaluation, as one truth value per row.

    Args:
        split: one value per row, true (1) for rows of the part, or `eval` and anything else; or the positions of its
            rows.
        n_rows: how many rows there are.
        part: which part the split describes.
    """
    import numpy as np

    if part not in PARTS:
        raise ConfigError(f"part is '{part}': choose {' or '.join(PARTS)}.")
    array = np.asarray(split).reshape(-1)
    if len(array) == n_rows and array.dtype.kind in "US":
        return np.char.startswith(np.char.lower(array.astype(str)), "eval")
    if len(array) == n_rows and (array.dtype.kind == "b" or np.isin(array, (0, 1)).all()):
        inside = array.astype(bool)
    else:
        inside = _at_positions(array, n_rows)
    return inside if part == "evaluation" else ~inside


def _at_positions(positions: Any, n_rows: int) -> Any:
    import numpy as np

    is_whole = len(positions) > 0 and positions.dtype.kind in "iu"
    if (
        not is_whole
        or len(np.unique(positions)) != len(positions)
        or not 0 <= positions.min() <= positions.max() < n_rows
    ):
        raise UserError(
            f"The split is neither a value for each of {n_rows} rows (1: in the part) nor the positions of rows."
        )
    inside = np.zeros(n_rows, dtype=bool)
    inside[positions] = True
    return inside
