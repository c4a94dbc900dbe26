"""The files that cross the border between Assay and a framework, and the objects adapters see.

Runs in foreign environments: standard library and numpy only (pandas on demand, from the framework's own
environment), Python 3.8's language, nothing of Assay importable. Adapters may `import assay_contract`.
docs/contract.md describes the same files for other languages.
"""

from __future__ import annotations

import json
import os
import re
import time
import zipfile
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
RESERVED = ("schema", "python", "phases", "timing", "error", "invalid_predictions", "import_failed")
MISSING_DATE = np.iinfo(np.int64).min


# scikit-learn's names for our metrics; many libraries take them.
SCORERS = {
    "auc": {"binary": "roc_auc", "multiclass": "roc_auc_ovo"},
    "auc_ovo": "roc_auc_ovo", "auc_ovr": "roc_auc_ovr", "pr_auc": "average_precision",
    "logloss": "neg_log_loss", "acc": "accuracy", "balacc": "balanced_accuracy",
    "f1": {"binary": "f1", "multiclass": "f1_weighted"},
    "rmse": "neg_root_mean_squared_error", "mse": "neg_mean_squared_error", "mae": "neg_mean_absolute_error",
    "r2": "r2",
}  # fmt: skip


def best_round(curves: Sequence[Sequence[float]], higher_is_better: bool) -> int:
    """Return after how many rounds the mean of validation curves is best; each goes on with its last value."""
    longest = max(len(curve) for curve in curves)
    whole = [np.concatenate([curve, np.full(longest - len(curve), curve[-1])]) for curve in curves]
    mean = np.mean(whole, axis=0)
    return int(np.argmax(mean) if higher_is_better else np.argmin(mean)) + 1


class InvalidPrediction(ValueError):
    """The framework's answer cannot be turned into predictions for the rows and classes asked for."""


class Job:
    """What `job.json` says: the task without its name, the limits, the seed and the parameters."""

    def __init__(self, folder: Path, said: Mapping[str, Any]) -> None:
        if said.get("schema") != SCHEMA:
            raise ValueError("job.json has schema %r; this child reads %d" % (said.get("schema"), SCHEMA))
        self.folder = folder
        self.type: str = said["type"]
        self.metric: str = said["metric"]
        self.metric_higher_is_better: bool = said["metric_higher_is_better"]
        self.columns: List[Dict[str, Any]] = said["columns"]
        self.target: str = said["target"]
        self.classes: List[str] = said["classes"]
        self.n_train: int = said["n_train"]
        self.n_test: int = said["n_test"]
        self.format: str = said["format"]
        self.budget_s: float = said["budget_s"]
        self.cores: int = said["cores"]
        self.memory_mb: int = said["memory_mb"]
        self.seed: int = said["seed"]
        self.params: Dict[str, Any] = said["params"]
        self.batch_sizes: List[int] = said["batch_sizes"]

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""
        return self.type != "regression"


def read_job(folder: Path) -> Job:
    """Read `job.json` of an attempt's folder."""
    with open(str(folder / "job.json"), encoding="utf-8") as file:
        return Job(folder, json.load(file))


class Rows:
    """Feature rows with their types.

    `arrays` has one numpy array per column: numeric float64 (NaN is missing), categorical int32 codes into
    `columns[i]["categories"]` (-1 is missing), boolean int8 (-1 is missing), date int64 nanoseconds since
    1970 UTC (`MISSING_DATE` is missing), text object (None is missing). `X` is the same as a DataFrame.
    """

    def __init__(
        self, columns: Sequence[Mapping[str, Any]], arrays: Sequence[np.ndarray], n_rows: int
    ) -> None:
        self.columns = list(columns)
        self.arrays = list(arrays)
        self.n_rows = n_rows
        self._frame: Optional[pd.DataFrame] = None

    def __len__(self) -> int:
        return self.n_rows

    @property
    def X(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame with category, boolean, datetime, int64, float64 and object columns."""
        if self._frame is None:
            self._frame = _frame(self)
        return self._frame

    def take(self, rows: np.ndarray) -> "Rows":
        """Return the rows with these numbers, in this order; a number may come more than once."""
        return Rows(self.columns, [array[rows] for array in self.arrays], len(rows))


class Train(Rows):
    """Training rows with their target and everything the framework may know.

    `y` holds class codes 0..k-1 (int64, positions in `classes`) or float64 values; `labels` the classes
    by name.
    """

    def __init__(self, job: Job, rows: Rows, y: np.ndarray) -> None:
        super().__init__(rows.columns, rows.arrays, rows.n_rows)
        self.y = y
        self.type = job.type
        self.metric = job.metric
        self.metric_higher_is_better = job.metric_higher_is_better
        self.target = job.target
        self.classes = list(job.classes)
        self.seed = job.seed
        self.reported: Dict[str, object] = {}
        self._out = job.folder / "out"

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""
        return self.type != "regression"

    @property
    def artifacts(self) -> Path:
        """The folder for a leaderboard, a trace, models: kept with the results."""
        folder = self._out / "artifacts"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def labels(self) -> np.ndarray:
        """The target by class name (object array), or the values of a regression task."""
        return np.array(self.classes, dtype=object)[self.y] if self.is_classification else self.y

    def gapless(self) -> Tuple[Optional[np.ndarray], np.ndarray]:
        """Return the class code of each class that occurs, and `y` counted over these; (None, `y`) in regression.

        For libraries that take 0, 1 … only: a class of the task may have no row here.
        """
        return np.unique(self.y, return_inverse=True) if self.is_classification else (None, self.y)

    def report(self, **facts: object) -> None:
        """Tell Assay about the training: `models_count=12`, `notes="…"`; numbers, text, lists and dicts."""
        for name in facts:
            if name in RESERVED:
                raise ValueError("report() cannot set %r: the child writes that itself" % name)
        self.reported.update(plain(facts))

    def metric_as(self, names: Mapping[str, object]) -> object:
        """Return the framework's own name for the metric to optimise, given its names by ours.

        A name that depends on the task's type is a dict by type. Where there is none for the task's metric, the
        framework gets that of `auc`, `logloss` or `rmse`, by the task's type, and the row says so.
        """

        def name_of(metric: str) -> object:
            found = names.get(metric)
            if isinstance(found, Mapping):
                return found.get(self.type)
            # What libraries call auc is of two classes, or of several in ways that differ.
            return None if metric == "auc" and self.type == "multiclass" else found

        if name_of(self.metric) is None:
            usual = {"binary": "auc", "multiclass": "logloss", "regression": "rmse"}[self.type]
            self.report(optimised=usual)
            return name_of(usual)
        return name_of(self.metric)

    def hold_out(self, share: float) -> Tuple[np.ndarray, np.ndarray]:
        """Return two arrays of row numbers: to learn from, and to validate on; stratified, the same for a seed.

        A class of one row is learned from; at least one row of the most frequent class is held out.
        """
        random = np.random.RandomState(self.seed % 2**32)
        groups = [np.flatnonzero(self.y == code) for code in np.unique(self.y)]
        if not self.is_classification:
            groups = [np.arange(self.n_rows)]
        shuffled = [random.permutation(rows) for rows in groups]
        counts = [round(share * len(rows)) for rows in shuffled]
        if not any(counts):
            counts[int(np.argmax([len(rows) for rows in shuffled]))] = 1
        learn = np.concatenate([rows[count:] for rows, count in zip(shuffled, counts)])
        return np.sort(learn), np.sort(
            np.concatenate([rows[:count] for rows, count in zip(shuffled, counts)])
        )

    def folds(self, count: int) -> List[Tuple[np.ndarray, np.ndarray]]:
        """Return pairs of arrays of row numbers, to learn from and to validate on; stratified, the same for a seed.

        Every row is validated on once, except that of a class of one row, which is always learned from.
        """
        random = np.random.RandomState(self.seed % 2**32)
        codes = np.unique(self.y) if self.is_classification else [None]
        fold = np.full(self.n_rows, -1)
        for code in codes:
            rows = random.permutation(
                np.arange(self.n_rows) if code is None else np.flatnonzero(self.y == code)
            )
            if len(rows) > 1:
                fold[rows] = (np.arange(len(rows)) + random.randint(count)) % count
        return [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count) if (fold == k).any()
        ]

    def write_trace(self, points: Iterable[Sequence[object]], metric: str, higher_is_better: bool) -> None:
        """Keep what was tried: (seconds since fit began, validation score in the framework's terms, name)."""
        rows = [[plain(cell) for cell in point] for point in points]
        kept = sorted(
            (row for row in rows if row[0] is not None and row[1] is not None), key=lambda row: row[0]
        )
        said = {"metric": metric, "higher_is_better": higher_is_better, "points": kept}
        text = json.dumps(said, allow_nan=False).encode()
        _replace(self.artifacts / "trace.json", lambda file: file.write(text))

    def write_oof(
        self, predictions: Mapping[str, object] | Iterable[Tuple[str, object]], folds: object = None
    ) -> bool:
        """Keep out-of-fold predictions: a dict, or pairs made one by one, from configuration to its predictions.

        Each is a `Prediction`, or an array over the training rows: values (n), probabilities in the order of `classes`
        (n×k), or of two classes the last one's (n). NaN where there is none. A `Prediction` of labels alone becomes
        probabilities of 0 and 1. Without predictions there is no file; return whether there is one.
        """
        pairs = iter(predictions.items() if isinstance(predictions, Mapping) else predictions)
        first = next(pairs, None)
        if first is not None:
            _replace(self._out / "oof.npz", lambda file: self._put_oof(file, chain([first], pairs), folds))
        return first is not None

    def _put_oof(self, file: BinaryIO, pairs: Iterable[Tuple[str, object]], folds: object) -> None:
        names: List[str] = []
        with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
            for (
                name,
                said,
            ) in pairs:  # one at a time: of a hundred models all together may not fit into memory
                _put(archive, "config_%d" % len(names), self._out_of_fold(name, said))
                names.append(str(name))
            if folds is not None:
                _put(archive, "fold", self._for_each_row("folds", np.asarray(folds, dtype=np.int64)))
            _put(archive, "names", np.array(names, dtype=str))

    def _out_of_fold(self, name: str, said: object) -> np.ndarray:
        if isinstance(said, Prediction):
            said = _numbers(said, self.classes)
        array = self._for_each_row(name, np.asarray(said, dtype=float))
        if array.ndim > 1 and array.shape[1:] != (len(self.classes),):
            raise ValueError(
                "%s has shape %r, but there are %d classes" % (name, array.shape, len(self.classes))
            )
        return array

    def _for_each_row(self, name: str, array: np.ndarray) -> np.ndarray:
        if len(array) != self.n_rows:
            raise ValueError("%s has %d rows, the training data %d" % (name, len(array), self.n_rows))
        return array


def code_names(codes: Iterable[int]) -> List[str]:
    """Return classes as `k0`, `k1` …: for libraries that read a label as a number, or fill gaps between numbers."""
    return ["k%d" % code for code in codes]


def codes_in(names: Iterable[str]) -> List[int]:
    """Return the class codes that names end with: 2 of `k2` or `prediction_2`."""
    return [int(re.findall(r"[0-9]+$", name)[0]) for name in names]


def passed(params: Mapping[str, object]) -> Dict[str, object]:
    """Return the parameters that are the framework's: those that start with `_` steer the adapter only."""
    return {name: value for name, value in params.items() if not name.startswith("_")}


class Budget:
    """What the framework may use: seconds from the start of `fit`, cores, memory."""

    def __init__(self, seconds: float, cores: int, memory_mb: int) -> None:
        self.seconds = seconds
        self.cores = cores
        self.memory_mb = memory_mb
        self.started = time.monotonic()

    def elapsed(self) -> float:
        """Return the seconds since `fit` began."""
        return time.monotonic() - self.started

    def remaining(self) -> float:
        """Return the seconds that are left, never below zero."""
        return max(0.0, self.seconds - self.elapsed())


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


def _numbers(prediction: Prediction, classes: Sequence[str]) -> object:
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


def prediction_arrays(prediction: object, job: Job) -> Dict[str, np.ndarray]:
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


def write_predictions(prediction: object, job: Job) -> None:
    """Write `out/predictions.npz` by rename, so that a half-written file is never seen."""
    arrays: Dict[str, Any] = prediction_arrays(prediction, job)
    _replace(job.folder / "out" / "predictions.npz", lambda file: np.savez(file, **arrays))


def write_report(job_folder: Path, report: Mapping[str, object]) -> None:
    """Write `out/report.json` by rename."""
    text = json.dumps(plain(report), indent=1, allow_nan=False).encode()
    _replace(job_folder / "out" / "report.json", lambda file: file.write(text))


def plain(value: object) -> Any:
    """Return a copy of plain JSON values: numpy's numbers as numbers, NaN and infinity as null, the rest as text."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value)


def _put(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    with archive.open(name + ".npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def _replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with open(str(partial), "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(str(partial), str(path))


def _frame(rows: Rows) -> pd.DataFrame:
    import pandas as pd

    data = {i: _series(array, column, pd) for i, (array, column) in enumerate(zip(rows.arrays, rows.columns))}
    frame = pd.DataFrame(data, index=pd.RangeIndex(rows.n_rows), copy=False)
    frame.columns = pd.Index([column["name"] for column in rows.columns], dtype=object)
    return frame


def _series(array: np.ndarray, column: Mapping[str, Any], pd: ModuleType) -> object:
    kind = column["kind"]
    if kind == "numeric":
        return array.astype(np.int64) if column.get("integer") else array
    if kind == "categorical":
        return pd.Categorical.from_codes(array, categories=pd.Index(column["categories"], dtype=object))
    if kind == "boolean":
        if (array < 0).any():
            return pd.array([None if value < 0 else bool(value) for value in array], dtype="boolean")
        return array.astype(bool)
    if kind == "date":
        return array.view("datetime64[ns]")
    return pd.Series(array, dtype=object)
