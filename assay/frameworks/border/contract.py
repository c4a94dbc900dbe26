"""The files that cross the border between Assay and a framework, and the objects adapters see.

Runs in foreign environments: standard library and numpy only (pandas on demand, from the framework's own
environment), Python 3.8's language, nothing of Assay importable. Adapters may `import assay_contract`.
docs/contract.md describes the same files for other languages.
"""

from __future__ import annotations

import json
import re
import time
import zipfile
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from .answers import (
    InvalidPrediction,
    Prediction,
    in_order,
    numbers_of,
    positions,
    prediction_arrays,
    write_predictions,
)
from .rows import MISSING_DATE, Rows
from .write import plain, put_array, replace_file, write_report

__all__ = [
    "MISSING_DATE", "SCORERS", "Budget", "InvalidPrediction", "JobDescription", "Prediction", "Rows", "Train",
    "best_round", "code_names", "codes_in", "in_order", "passed", "plain", "positions", "prediction_arrays", "read_job",
    "write_predictions", "write_report",
]  # fmt: skip

SCHEMA = 1
RESERVED = ("schema", "python", "phases", "timing", "error", "invalid_predictions", "import_failed")


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


class JobDescription:
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
        self.timing_s: float = said.get("timing_s", 300.0)

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""
        return self.type != "regression"


def read_job(folder: Path) -> JobDescription:
    """Read `job.json` of an attempt's folder."""
    with open(str(folder / "job.json"), encoding="utf-8") as file:
        return JobDescription(folder, json.load(file))


class Train(Rows):
    """Training rows with their target and everything the framework may know.

    `y` holds class codes 0..k-1 (int64, positions in `classes`) or float64 values; `labels` the classes
    by name.
    """

    def __init__(self, job: JobDescription, rows: Rows, y: np.ndarray) -> None:
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
        replace_file(self.artifacts / "trace.json", lambda file: file.write(text))

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
            replace_file(
                self._out / "oof.npz", lambda file: self._put_oof(file, chain([first], pairs), folds)
            )
        return first is not None

    def _put_oof(self, file: BinaryIO, pairs: Iterable[Tuple[str, object]], folds: object) -> None:
        names: List[str] = []
        with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
            for (
                name,
                said,
            ) in pairs:  # one at a time: of a hundred models all together may not fit into memory
                put_array(archive, "config_%d" % len(names), self._out_of_fold(name, said))
                names.append(str(name))
            if folds is not None:
                put_array(archive, "fold", self._for_each_row("folds", np.asarray(folds, dtype=np.int64)))
            put_array(archive, "names", np.array(names, dtype=str))

    def _out_of_fold(self, name: str, said: object) -> np.ndarray:
        if isinstance(said, Prediction):
            said = numbers_of(said, self.classes)
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
