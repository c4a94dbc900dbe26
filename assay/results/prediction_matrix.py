"""Out-of-sample predictions of many configurations for the same rows: what every interval is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from assay.typing import Array, Bools, Floats, Ints

__all__ = ["PredictionMatrix", "check_predictions"]


@dataclass(frozen=True)
class PredictionMatrix:
    """The truth of N rows and what C configurations said of them without having learned from them.

    Attributes:
        y: (N) classes (any names) or values; for survival the times.
        values: for each repeat of the cross-validation (N, C) scores of the second class or values, or (N, C, K)
            probabilities.
        folds: for each repeat (N) which fold a row was in, coded 0, 1 …; empty where that is not known.
        names: of the configurations.
        groups: (N) codes of rows that belong together, or None.
        event: (N) whether the time is that of an event, or None.
        notes: what was left out when they were read.
    """

    y: Array
    values: tuple[Floats, ...]
    folds: tuple[Ints, ...]
    names: tuple[str, ...]
    groups: Ints | None = None
    event: Bools | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def n_folds(self) -> int:
        """The number of folds of a repeat; 0 where they are not known."""
        return int(self.folds[0].max()) + 1 if self.folds else 0


def check_predictions(
    y: ArrayLike,
    values: ArrayLike,
    folds: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    groups: ArrayLike | None = None,
    event: ArrayLike | None = None,
    repeats: ArrayLike | None = None,
    notes: tuple[str, ...] = (),
) -> PredictionMatrix:
    """Return predictions that fit together; raises DataError that says what does not.

    Args:
        y: (N) truth.
        values: (N, C) or (N, C, K).
        folds: (N) any names of folds.
        names: of the C configurations.
        groups: (N) any names of groups.
        event: (N) for survival times.
        repeats: (N) which repeat of the cross-validation a row belongs to. Each must have the same rows in the same
            order; y is then that of one repeat.
        notes: what was left out when they were read.
    """
    y, values = np.asarray(y), np.asarray(values, dtype=float)
    if values.ndim == 1:
        values = values[:, None]
    if y.ndim != 1 or values.ndim not in (2, 3) or len(y) != len(values):
        raise DataError(
            f"There are {y.shape} true values and predictions of shape {values.shape}: they need one row each, and "
            "predictions a column for each configuration."
        )
    if not len(y) or not values.shape[1]:
        raise DataError("There are no rows or no configurations.")
    called = tuple(names) if names is not None else tuple(str(c) for c in range(values.shape[1]))
    if len(called) != values.shape[1]:
        raise DataError(f"There are {values.shape[1]} configurations and {len(called)} names.")
    _check_finite(y, values, called)
    for what, given in (("folds", folds), ("groups", groups), ("event", event)):
        if given is not None and np.shape(given) != (len(y),):
            raise DataError(f"There are {len(y)} rows, but {what} have the shape {np.shape(given)}.")
    parts = _repeats(y, repeats, groups)
    return PredictionMatrix(
        y=y[parts[0]],
        values=tuple(values[part] for part in parts),
        folds=() if folds is None else tuple(_codes(np.asarray(folds)[part]) for part in parts),
        names=called,
        groups=None if groups is None else _codes(np.asarray(groups)[parts[0]]),
        event=None if event is None else _events(np.asarray(event))[parts[0]],
        notes=notes,
    )


def _check_finite(y: Array, values: Floats, names: Sequence[str]) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(at[0]) for at in np.nonzero(bad)[:2])
        raise DataError(
            f"{int(bad.sum())} predictions are no numbers, the first of '{names[column]}' in row {row + 1}. Leave out "
            "configurations that failed."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"Row {int(np.flatnonzero(~np.isfinite(y))[0]) + 1} has no true value.")
    if y.dtype.kind == "O" and any(value is None or value != value for value in y.tolist()):
        raise DataError("Some rows have no true value.")


def _events(event: Array) -> Bools:
    """Return which times are of events; raises DataError for codes that may mean something else."""
    texts = np.char.lower(event.astype(str))
    codes = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
    strange = [text for text in np.unique(texts) if text not in codes]
    if strange:
        raise DataError(
            f"The column event has '{strange[0]}': say 1 (or true) where the time is that of an event, else 0."
        )
    return np.array([codes[text] for text in texts])


def _repeats(y: Array, repeats: ArrayLike | None, groups: ArrayLike | None) -> list[slice] | list[Ints]:
    """Return the rows of each repeat."""
    if repeats is None:
        return [slice(None)]  # no copy: it may be a gigabyte
    codes = _codes(np.asarray(repeats))
    parts: list[Ints] = [np.flatnonzero(codes == repeat) for repeat in range(int(codes.max()) + 1)]
    for number, part in enumerate(parts):
        for shared in (y, *([] if groups is None else [np.asarray(groups)])):
            if len(part) != len(parts[0]) or (shared[part] != shared[parts[0]]).any():
                raise DataError(
                    f"Repeat {number} does not have the true values and groups of the first repeat in the same order: "
                    "repeats are of the same rows."
                )
    return parts


def _codes(names: Array) -> Ints:
    gone = (
        ~np.isfinite(names)
        if names.dtype.kind == "f"
        else np.array([name is None or name != name for name in names])
    )
    if gone.any():
        raise DataError(f"A fold or a group is missing, in row {int(np.flatnonzero(gone)[0]) + 1}.")
    return np.unique(names.astype(str) if names.dtype.kind == "O" else names, return_inverse=True)[1].reshape(
        -1
    )
