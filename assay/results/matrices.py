"""Read out-of-sample predictions of many configurations: from tables, npz, or what a framework left."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import DataError
from assay.files import ArrayLimits, is_number, make_record, read_json, read_npy, read_npz
from assay.jobs.folder import AttemptFolder, StoreFolder
from assay.jobs.row import Row
from assay.results.formats.read_table import find_delimiter, read_csv

if TYPE_CHECKING:
    from assay.results.prediction_matrix import PredictionMatrix
    from assay.typing import Array, Floats, Frame

__all__ = ["read_array", "read_job_matrices", "read_matrix"]

OOF_LIMITS = ArrayLimits(file_bytes=2**30, memory_bytes=2**29)  # a child wrote it
MOST_BYTES = 2**30
# Columns of a table that are no configurations.
RESERVED = ("y", "fold", "repeat", "group", "time", "event")
# The names under which an npz may have them.
NPZ_NAMES = {
    "y": ("y", "labels"), "fold": ("folds", "fold"), "repeat": ("repeats", "repeat"), "group": ("groups", "group"),
    "time": ("time",), "event": ("event",),
}  # fmt: skip


def read_matrix(path: Path) -> PredictionMatrix:
    """Read predictions: CSV or Parquet, npz, or the folder of a job or of one of its attempts.

    Raises:
        DataError: the file does not hold such predictions; the message says what it lacks.
    """
    if os.path.isdir(path) or (path.name == "oof.npz" and path.absolute().parent.name == "out"):
        return _of_job(path)
    if not os.path.isfile(path):
        raise DataError(f"There is no file {path}.")
    try:
        return _of_npz(path) if path.suffix == ".npz" else _of_table(path)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def read_job_matrices(
    folder: StoreFolder, rows: Iterable[Row]
) -> Iterator[tuple[Row, PredictionMatrix, str]]:
    """Yield each row that has predictions of its models, with them, and the model it predicts with where it told."""
    for row in rows:
        if not row.has_oof or row.status != "ok":
            continue
        attempt = folder.job(row.key).attempt(row.attempt)
        facts = attempt.read_facts().value
        try:
            matrix = _of_job(attempt.path)
        except DataError:  # what cannot be read any more is passed over
            continue
        best = facts.report.get("best") if facts is not None else None
        yield row, matrix, best if isinstance(best, str) else ""


def read_array(text: str, what: str) -> Array:
    """Read one array as `FILE.npz:ARRAY`, or `FILE.npy`."""
    file, _, name = text.rpartition(":") if ".npz:" in text else (text, "", "")
    path = Path(os.path.realpath(file))
    if path.suffix == ".npy":
        array = read_npy(path)
        if array.value is None:
            raise DataError(f"{what}: {array.sentence}.")
        return array.value
    arrays = read_npz(path)
    if arrays.value is None:
        raise DataError(f"{what}: {arrays.sentence}. Give FILE.npz:ARRAY.")
    if name not in arrays.value:
        there = ", ".join(arrays.value)
        raise DataError(f"{what}: {file} has no array '{name}'. Give FILE.npz:ARRAY; there are: {there}.")
    return arrays.value[name]


def _of_npz(path: Path) -> PredictionMatrix:
    import numpy as np

    arrays = read_npz(Path(os.path.realpath(path)))  # the user named it: it may be a link
    if arrays.value is None:
        raise DataError(f"it {arrays.problem}.")
    content = arrays.value
    reserved = {
        key: next((content[name] for name in names if name in content), None)
        for key, names in NPZ_NAMES.items()
    }
    if "predictions" not in content or (reserved["y"] is None and reserved["time"] is None):
        raise DataError(
            f"it needs the arrays `predictions` and `y` (or `labels`). It has: {', '.join(content)}."
        )
    values = content["predictions"]
    if values.ndim not in (2, 3) or values.dtype.kind not in "fiub":
        raise DataError(
            f"`predictions` has the shape {values.shape}; it needs rows × configurations (× classes)."
        )
    for name, array in reserved.items():
        if array is not None and array.shape != values.shape[:1]:
            raise DataError(f"`{name}` has the shape {array.shape} where there are {len(values)} rows.")
    names = tuple(str(name) for name in content.get("names", np.arange(values.shape[1])).ravel())
    return _made(reserved, values, names)


def _of_table(path: Path) -> PredictionMatrix:
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"it has {path.stat().st_size} bytes, more than {MOST_BYTES}.")
    try:
        frame = _parquet(path) if path.suffix == ".parquet" else read_csv(path)
    except DataError:
        raise
    except Exception as error:  # pandas and pyarrow have a dozen of them
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataError(f"it cannot be read as a table: {reason}") from None
    if "y" not in frame and "time" not in frame:
        raise DataError("it needs a column y, a column fold, and one column per configuration.")
    _check_heads(path, [str(name) for name in frame.columns])
    configurations = [str(name) for name in frame.columns if name not in RESERVED]
    if not configurations:
        raise DataError("it has no column of a configuration beside y and fold.")
    texts = [name for name in configurations if frame[name].dtype.kind not in "fiub"]
    if texts:
        raise DataError(
            f"the column {texts[0]} does not hold numbers: predictions are scores or probabilities."
        )
    reserved = {key: frame[key].to_numpy() if key in frame else None for key in RESERVED}
    names, values = _stacked(frame, configurations, reserved["y"])
    return _made(reserved, values, names)


def _parquet(path: Path) -> Frame:
    """Read a Parquet file, unless it unpacks to far more than it has bytes: a column of equal values takes none."""
    import pandas as pd
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        size = 8 * file.metadata.num_rows * file.metadata.num_columns
    if not 0 <= size <= MOST_BYTES:
        raise DataError(f"it declares {size} bytes of numbers, more than {MOST_BYTES}.")
    return pd.read_parquet(path)


def _check_heads(path: Path, names: list[str]) -> None:
    """Refuse columns that are hardly configurations: one without a name, or a second one of a name."""
    if "y" in names and "time" in names:
        raise DataError("it has both y and time: for the c-index the target is time, with event.")
    nameless = [name for name in names if name.startswith("Unnamed: ") or name == "__index_level_0__"]
    if nameless:
        raise DataError(
            f"the column {nameless[0]} looks like an index: write the file without it (index=False)."
        )
    if path.suffix != ".parquet":
        import pandas as pd

        first = pd.read_csv(path, sep=find_delimiter(path), header=None, nrows=1, dtype=str)
        names = [str(name) for name in first.iloc[0]]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataError(f"two columns are called {twice[0]}. Rename one.")


def _stacked(frame: Frame, columns: list[str], y: Any) -> tuple[tuple[str, ...], Floats]:
    """Return names and values; columns `configuration|class` are put together, classes in sorted order."""
    import numpy as np

    if not all("|" in name for name in columns):
        return tuple(columns), frame[columns].to_numpy(dtype=float)
    if y is None:
        raise DataError(
            f"the column {columns[0]} is of a class, but there is no y, whose classes these would be."
        )
    labels = np.unique(y.astype(str) if y.dtype.kind == "O" else y)
    real = [str(label) for label in labels]
    if labels.dtype.kind == "f" and not any(name.endswith(f"|{real[0]}") for name in columns):
        real = [f"{label:g}" for label in labels]  # a column may be called `tree|1` where y has 1.0
    pairs = [_parts(name, real) for name in columns]
    names = tuple(dict.fromkeys(name for name, _ in pairs))
    in_columns = list(dict.fromkeys(cls for _, cls in pairs))
    order = real if sorted(real) == sorted(in_columns) else in_columns
    missing = [f"{name}|{cls}" for name in names for cls in order if f"{name}|{cls}" not in frame]
    if missing:
        raise DataError(f"there is no column {missing[0]}: each configuration needs one for each class.")
    if set(real) - set(in_columns):
        raise DataError(
            f"no configuration has a column for the class {sorted(set(real) - set(in_columns))[0]}."
        )
    values = np.stack(
        [frame[[f"{name}|{cls}" for cls in order]].to_numpy(dtype=float) for name in names], axis=1
    )
    return names, values


def _parts(column: str, classes: list[str]) -> tuple[str, str]:
    """Return the configuration and the class of a column; a class may have a bar in its name."""
    for cls in sorted(classes, key=len, reverse=True):
        if column.endswith(f"|{cls}"):
            return column.removesuffix(f"|{cls}"), cls
    name, _, cls = column.rpartition("|")
    return name, cls


def _made(reserved: dict[str, Any], values: Array, names: tuple[str, ...]) -> PredictionMatrix:
    from assay.results.prediction_matrix import check_predictions

    y = reserved["y"] if reserved["y"] is not None else reserved["time"]
    return check_predictions(
        y,
        values,
        reserved["fold"],
        names=names,
        groups=reserved["group"],
        event=reserved["event"],
        repeats=reserved["repeat"],
    )


def _of_job(path: Path) -> PredictionMatrix:
    """Read what a framework left of its models, and the targets of its training rows from the store."""
    import numpy as np

    from assay.results.prediction_matrix import check_predictions

    attempt = _attempt(path)
    oof = attempt.out / "oof.npz"
    arrays = read_npz(oof, limits=OOF_LIMITS, root=attempt.root)
    if arrays.is_missing:
        raise DataError(f"{path}: the framework left no out-of-fold predictions of its models (out/oof.npz).")
    if arrays.value is None:
        raise DataError(f"{arrays.sentence}.")
    y = _training_target(attempt)
    names, columns = _models(oof, arrays.value)
    folds = arrays.value.get("fold")
    if folds is not None and folds.shape != y.shape:
        raise DataError(f"{oof}: there are {len(y)} training rows, but `fold` has the shape {folds.shape}.")
    whole = [at for at, values in enumerate(columns) if _is_whole(values, len(y), columns[0].ndim)]
    if not whole:
        raise DataError(f"{oof}: no model has predictions for all {len(y)} training rows.")
    left = [names[at] for at in range(len(names)) if at not in whole]
    notes = (f"Left out, because they have no prediction for some rows: {', '.join(left)}.",) if left else ()
    values = np.stack([columns[at] for at in whole], axis=1)
    return check_predictions(y, values, folds, names=[names[at] for at in whole], notes=notes)


def _models(oof: Path, arrays: Mapping[str, Array]) -> tuple[list[str], list[Array]]:
    """Return the models' names and what each predicted."""
    names = [str(name) for name in arrays["names"].ravel()] if "names" in arrays else []
    missing = [at for at in range(len(names)) if f"config_{at}" not in arrays]
    if not names or missing:
        what = f"config_{missing[0]}" if missing else "names"
        raise DataError(f"{oof} has no array `{what}`.")
    return names, [_second_of_two(arrays[f"config_{at}"]) for at in range(len(names))]


def _is_whole(values: Array, n_rows: int, dimensions: int) -> bool:
    """Whether a model has a finite prediction for every row, in the form of the first model's."""
    import numpy as np

    if values.ndim not in (1, 2) or values.ndim != dimensions or values.dtype.kind not in "fiub":
        return False
    return len(values) == n_rows and bool(np.isfinite(values).all())


def _second_of_two(array: Array) -> Array:
    """Return (N) probabilities of the second of two classes; a framework may have written both."""
    return array[:, 1] if array.ndim == 2 and array.shape[1] == 2 else array


def _attempt(path: Path) -> AttemptFolder:
    """Return the attempt that a path names: a job (then its last one), an attempt, its `out`, or the file there."""
    if path.name == "oof.npz":
        path = path.parent
    if path.name == "out":
        path = path.parent
    if path.parent.name == "attempts" and is_number(path.name):
        return AttemptFolder(path)
    numbers = sorted(int(folder.name) for folder in (path / "attempts").glob("*") if is_number(folder.name))
    if not numbers:
        raise DataError(f"{path} is not the folder of a job: it has no attempts.")
    return AttemptFolder(path / "attempts" / f"{numbers[-1]:03d}")


@dataclass(frozen=True)
class _Data:
    data: Mapping[str, str]


def _training_target(attempt: AttemptFolder) -> Array:
    files = read_json(attempt.attempt, attempt.root).then(lambda value: make_record(_Data, value))
    if files.value is None:
        raise DataError(f"{files.sentence}.")
    train = next((Path(path) for name, path in files.value.data.items() if name.startswith("train.")), Path())
    # The store may have been moved since.
    folds = attempt.root.parent / "folds"
    if train.parent.name in ("", ".."):
        raise DataError(f"{attempt.attempt} names no training rows.")
    arrays = read_npz(folds / train.parent.name / "train.npz", ("y",), root=folds)
    if arrays.value is None or "y" not in arrays.value or arrays.value["y"].ndim != 1:
        raise DataError(f"The targets of the training rows are not there any more: {arrays.path}.")
    return arrays.value["y"]
