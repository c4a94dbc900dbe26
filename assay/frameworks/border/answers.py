"""What a framework answers: predictions for rows and classes, put in the job's order and written.

Runs in foreign environments: standard library and numpy only, Python 3.8's language.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Protocol, Sequence

import numpy as np

from .write import replace_file


class InvalidPrediction(ValueError):
    """The framework's answer cannot be turned into predictions for the rows and classes asked for."""


class AskedJob(Protocol):
    """What is read here of `job.json`."""

    folder: Path
    classes: List[str]
    n_test: int
    type: str

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""


class Prediction:
    """What a framework says about the test rows.

    Args:
        values: regression: one number per row.
        probabilities: classification: n×k, columns in the order of `classes`; of two classes also n numbers (or
            n×1), the probability of the last.
        labels: classification: one class per row; by default the most probable.
        classes: the order of the probability columns as the framework has it (`model.classes_`): codes
            or class names. Left out, it is the order of `Train.classes`.
    """

    def __init__(
        self,
        values: object = None,
        probabilities: object = None,
        labels: object = None,
        classes: Optional[Iterable[object]] = None,
    ) -> None:
        self.values = values
        self.probabilities = probabilities
        self.labels = labels
        self.classes = None if classes is None else list(classes)

    @classmethod
    def of(cls, model: Any, X: object, codes: Optional[np.ndarray]) -> "Prediction":
        """Ask a model in scikit-learn's way that learned from `Train.gapless()`; it need not know probabilities."""
        if codes is None:
            return cls(values=model.predict(X))
        if hasattr(model, "predict_proba"):
            return cls(probabilities=model.predict_proba(X), classes=codes[model.classes_])
        return cls(labels=codes[model.predict(X)])


def positions(classes: Iterable[object], job_classes: Sequence[str]) -> List[int]:
    """Return where each class stands in the job's order; whole numbers are codes, anything else is a name."""
    place = {name: i for i, name in enumerate(job_classes)}
    found = []
    for one in classes:
        if isinstance(one, (int, np.integer)) and not isinstance(one, (bool, np.bool_)):
            code = int(one)
        else:
            code = place.get(str(one), -1)
        if not 0 <= code < len(job_classes):
            known = ", ".join(job_classes[:10])
            raise InvalidPrediction(
                "The framework predicted the unknown class '%s'; the task has %s." % (one, known)
            )
        found.append(code)
    return found


def in_order(prediction: Prediction, classes: Sequence[str]) -> np.ndarray:
    """Return a prediction's probabilities with columns in the order of `classes`; zero where it has none."""
    probabilities = _floats(prediction.probabilities, "probabilities")
    one_number = prediction.classes is None and len(classes) == 2
    if one_number and (probabilities.ndim == 1 or probabilities.shape[1:] == (1,)):
        probabilities = np.column_stack([1 - probabilities.ravel(), probabilities.ravel()])
    if probabilities.ndim != 2:
        raise InvalidPrediction(
            "probabilities have shape %r: one row per test row and one column per class are asked for"
            % (probabilities.shape,)
        )
    if prediction.classes is None:
        return probabilities
    where = positions(prediction.classes, classes)
    if probabilities.shape[1] != len(where):
        raise InvalidPrediction(
            "probabilities have shape %r but %d classes were named" % (probabilities.shape, len(where))
        )
    if len(set(where)) != len(where):
        raise InvalidPrediction("a class was named twice for the columns: %r" % (prediction.classes,))
    ordered = np.zeros((probabilities.shape[0], len(classes)))
    ordered[:, where] = probabilities
    return ordered


def numbers_of(prediction: Prediction, classes: Sequence[str]) -> object:
    """Return probabilities in the order of `classes`, of labels alone 0 and 1; of a regression the values."""
    if prediction.probabilities is not None:
        return in_order(prediction, classes)
    if prediction.labels is not None:
        return np.eye(len(classes))[positions(np.ravel(np.asanyarray(prediction.labels)), classes)]
    return prediction.values


def _floats(answer: object, what: str) -> np.ndarray:
    try:
        return np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidPrediction("the %s are not numbers: %s" % (what, error)) from None


def _row_numbers(prediction: Prediction, n: int) -> np.ndarray:
    """Return the rows the answer speaks of: a pandas index of whole numbers where there is one, else 0..n-1."""
    found = []
    for answer in (prediction.values, prediction.labels, prediction.probabilities):
        index = getattr(answer, "index", None)
        if index is None or callable(index):
            continue
        numbers = np.asarray(index)
        if np.issubdtype(numbers.dtype, np.integer):
            found.append(numbers.astype(np.int64))
    if not found:
        return np.arange(n)
    if not all(np.array_equal(found[0], other) for other in found):
        raise InvalidPrediction("labels and probabilities are in different row orders")
    return found[0]


def prediction_arrays(prediction: object, job: AskedJob) -> Dict[str, np.ndarray]:
    """Turn what an adapter returned into the arrays of `predictions.npz`: row, prediction, probabilities."""
    if not isinstance(prediction, Prediction):
        prediction = (
            Prediction(probabilities=prediction) if job.is_classification else Prediction(values=prediction)
        )
    arrays: Dict[str, np.ndarray] = {}
    if job.is_classification:
        if prediction.probabilities is not None:
            arrays["probabilities"] = in_order(prediction, job.classes)
        if prediction.labels is not None:
            arrays["prediction"] = np.array(
                positions(np.ravel(np.asanyarray(prediction.labels)), job.classes), dtype=np.int64
            )
        elif "probabilities" in arrays and arrays["probabilities"].shape[1]:
            arrays["prediction"] = arrays["probabilities"].argmax(axis=1).astype(np.int64)
    elif prediction.values is not None:
        arrays["prediction"] = _floats(prediction.values, "predictions").ravel()
    if "prediction" not in arrays:
        raise InvalidPrediction(
            "the framework returned no predictions of the kind the task needs (%s)" % job.type
        )
    arrays["row"] = _row_numbers(prediction, len(arrays["prediction"]))
    return arrays


def write_predictions(prediction: object, job: AskedJob) -> None:
    """Write `out/predictions.npz` by rename, so that a half-written file is never seen."""
    arrays: Dict[str, Any] = prediction_arrays(prediction, job)
    replace_file(job.folder / "out" / "predictions.npz", lambda file: np.savez(file, **arrays))
