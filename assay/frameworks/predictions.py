"""The predictions a child left behind: read with distrust, checked against what was asked."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.files import ArrayLimits, read_npz, read_text

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Asked", "BadPredictions", "Predictions", "read_predictions"]

SUM_TOLERANCE = 1e-3  # float32 probabilities of many classes add up to one only so closely
EXACT_TOLERANCE = (
    1e-6  # closer sums are rounding: dividing by them would break ties between equal probabilities
)


class BadPredictions(ValueError):
    """The predictions cannot be scored; the message says what is wrong with which row."""


@dataclass(frozen=True)
class Asked:
    """What the child was asked for."""

    type: str
    classes: tuple[str, ...]
    n_rows: int

    @property
    def is_classification(self) -> bool:
        """Whether classes are predicted."""
        return self.type != "regression"


@dataclass(frozen=True, eq=False)
class Predictions:
    """Checked predictions for all test rows in order: class codes or values, and probabilities of classes.

    `from_labels` says that the framework gave labels only and the probabilities are 0 and 1.
    """

    values: np.ndarray
    probabilities: np.ndarray | None = None
    from_labels: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether every row got the same answer."""
        answers = self.values[:, None] if self.probabilities is None else self.probabilities
        return bool(len(answers) > 1 and (answers == answers[0]).all())


def read_predictions(out: Path, asked: Asked, root: Path | None = None) -> Predictions | None:
    """Read and check `predictions.npz` or `predictions.csv`; None when there is neither.

    Raises BadPredictions. Files much larger than the answer asked for are refused, and below `root` no link is
    followed.
    """
    most = 2**20 + 256 * max(1, asked.n_rows) * (len(asked.classes) + 4)
    arrays = _from_npz(out / "predictions.npz", most, root)
    if arrays is None:
        arrays = _from_csv(out / "predictions.csv", asked, most, root)
    return None if arrays is None else _check(arrays, asked)


def _from_npz(path: Path, most: int, root: Path | None) -> dict[str, np.ndarray] | None:
    content = read_npz(path, ("row", "prediction", "probabilities"), ArrayLimits(most, most), root)
    if content.is_missing:
        return None
    if content.value is None:
        raise BadPredictions(f"predictions.npz {content.problem}")
    if "prediction" not in content.value:
        raise BadPredictions("predictions.npz has no array 'prediction'")
    return content.value


def _from_csv(path: Path, asked: Asked, most: int, root: Path | None) -> dict[str, np.ndarray] | None:
    content = read_text(path, root, most)
    if content.is_missing:
        return None
    if content.value is None:
        raise BadPredictions(f"predictions.csv {content.problem}")
    try:
        rows = list(csv.reader(io.StringIO(content.value, newline="")))
        return _columns(rows, asked)
    except (csv.Error, ValueError, OverflowError) as error:
        if isinstance(error, BadPredictions):
            raise
        raise BadPredictions(f"predictions.csv cannot be read: {str(error)[:300]}") from None


def _columns(rows: list[list[str]], asked: Asked) -> dict[str, np.ndarray]:
    import numpy as np

    header, rows = (rows[0], rows[1:]) if rows else ([], [])
    for name in ("row", "prediction"):
        if name not in header:
            raise BadPredictions(
                f"predictions.csv has no column '{name}'; it has {', '.join(header) or 'none'}"
            )
    if len(set(header)) != len(header):
        raise BadPredictions(f"predictions.csv names a column twice: {', '.join(header)}")
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise BadPredictions(
                f"predictions.csv, line {number} has {len(row)} fields, the header has {len(header)}"
            )
    cells = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {name: () for name in header}
    arrays: dict[str, np.ndarray] = {"row": np.array(cells["row"], dtype=np.int64)}
    kind = object if asked.is_classification else np.float64
    arrays["prediction"] = np.array(cells["prediction"], dtype=kind)
    names = [f"p{i}" for i in range(len(asked.classes))]
    if asked.is_classification and any(name in header for name in names):
        missing = [name for name in names if name not in header]
        if missing:
            raise BadPredictions(f"predictions.csv has no column '{missing[0]}': one per class is needed")
        arrays["probabilities"] = np.array([cells[name] for name in names], dtype=np.float64).T
    return arrays


def _check(arrays: dict[str, np.ndarray], asked: Asked) -> Predictions:
    import numpy as np

    prediction = np.asarray(arrays["prediction"])
    if prediction.ndim != 1:
        raise BadPredictions(f"the predictions have shape {prediction.shape}, not one per row")
    _check_rows(arrays.get("row"), len(prediction), asked.n_rows)
    if not asked.is_classification:
        if prediction.dtype.kind not in "biuf":
            raise BadPredictions(f"the predictions are not numbers but {prediction.dtype}")
        values = prediction.astype(np.float64)
        _refuse(~np.isfinite(values), values, "is not a finite number")
        return Predictions(values)
    codes = _codes(prediction, asked.classes)
    if arrays.get("probabilities") is None:
        return Predictions(codes, np.eye(len(asked.classes))[codes], from_labels=True)
    return Predictions(codes, _probabilities(np.asarray(arrays["probabilities"]), asked))


def _check_rows(rows: np.ndarray | None, n_predictions: int, n_rows: int) -> None:
    import numpy as np

    if n_predictions != n_rows:
        raise BadPredictions(f"there are {n_predictions} predictions for {n_rows} test rows")
    if rows is None:
        return
    rows = np.asarray(rows)
    if rows.shape != (n_rows,) or not np.issubdtype(rows.dtype, np.integer):
        raise BadPredictions("the row numbers are not one whole number per prediction")
    wrong = np.flatnonzero(rows != np.arange(n_rows))
    if len(wrong):
        first = wrong[0]
        raise BadPredictions(
            f"the rows are in another order than asked: place {first} speaks of row {rows[first]}"
        )


def _codes(prediction: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    import numpy as np

    if np.issubdtype(prediction.dtype, np.integer):
        _refuse(
            (prediction < 0) | (prediction >= len(classes)),
            prediction,
            f"is no class code below {len(classes)}",
        )
        return prediction.astype(np.int64)
    place = {name: code for code, name in enumerate(classes)}
    codes = np.array([place.get(str(label), -1) for label in prediction], dtype=np.int64)
    _refuse(codes < 0, prediction, f"is none of the classes {', '.join(classes[:10])}")
    return codes


def _probabilities(probabilities: np.ndarray, asked: Asked) -> np.ndarray:
    import numpy as np

    if probabilities.shape != (asked.n_rows, len(asked.classes)):
        raise BadPredictions(
            f"the probabilities have shape {probabilities.shape}, asked was {(asked.n_rows, len(asked.classes))}"
        )
    if not np.issubdtype(probabilities.dtype, np.number) or np.issubdtype(
        probabilities.dtype, np.complexfloating
    ):
        raise BadPredictions("the probabilities are not numbers")
    values = probabilities.astype(np.float64)
    _refuse(~np.isfinite(values), values, "is not a finite probability")
    _refuse(values < -SUM_TOLERANCE, values, "is a negative probability")
    _refuse(values > 1 + SUM_TOLERANCE, values, "is a probability above one")
    sums = values.sum(axis=1)
    _refuse(np.abs(sums - 1) > SUM_TOLERANCE, sums, "is what the probabilities add up to, not one")
    values = np.clip(values, 0.0, None)
    sums = values.sum(axis=1, keepdims=True)
    return np.asarray(np.where(np.abs(sums - 1) > EXACT_TOLERANCE, values / sums, values))


def _refuse(wrong: np.ndarray, values: np.ndarray, what: str) -> None:
    """Raise with the first wrong value, its row and how many more there are."""
    import numpy as np

    places = np.argwhere(wrong)
    if len(places):
        first = tuple(places[0])
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        raise BadPredictions(f"row {first[0]}: {str(values[first])[:100]} {what}{more}")
