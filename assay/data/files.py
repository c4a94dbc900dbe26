"""The source `file`: a data file, train and test files, or a folder or archive of them.

In a folder or archive, files are told by their names: `xxx_train.csv` and `xxx_test.csv`, or with fold
numbers `xxx_train_0.csv`, `xxx_test_0.csv`, …; one data file alone is a table without a split.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from assay.data.archive import gunzip, unpack
from assay.data.csv_options import CsvOptions, parse_csv_options
from assay.data.formats import FORMATS, format_of, is_archive, read_table_file, stem_of
from assay.data.raw import RawTable, stack
from assay.data.source import Loaded
from assay.data.splits import SplitFold, Splits
from assay.data.task import TaskRequest
from assay.errors import DataError
from assay.settings import Settings

__all__ = ["FileSource"]

_FOLD_NAME = re.compile(r"(?P<name>.+)_(?P<side>train|test)(?:_(?P<fold>[0-9]+))?\Z", re.IGNORECASE)
_NAMING = (
    "Name them xxx_train[_N] and xxx_test[_N], with one ending of ."
    + ", .".join(FORMATS)
    + " (also with .gz)"
)


class FileSource:
    """The source of a user's own files."""

    def list(self) -> tuple[str, ...]:
        """Return nothing: files are known by their paths."""
        return ()

    def load(self, request: TaskRequest, settings: Settings) -> Loaded:
        """Read the file, folder, archive or files of a request."""
        scratch = settings.cache / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            try:
                return _load(request, Path(folder))
            except OSError as error:
                name = error.filename or request.path
                reason = error.strerror or type(error).__name__
                raise DataError(
                    f"{name}{_at(request)}: {reason}. Check the path and its permissions."
                ) from error


def _load(request: TaskRequest, scratch: Path) -> Loaded:
    if request.train or request.test:
        train, test = [Path(item) for item in request.train], [Path(item) for item in request.test]
        if len(train) != len(test):
            raise DataError(
                f"{len(train)} training files but {len(test)} test files are given{_at(request)}. "
                "Give one of each per fold."
            )
        name = re.sub(r"_train(_[0-9]+)?\Z", "", stem_of(train[0].name), flags=re.IGNORECASE)
        return _load_folds(list(zip(train, test, strict=True)), name, (*train, *test), request, scratch)
    if not request.path:
        raise DataError(f"No file is given{_at(request)}. Say 'path: FILE', or 'train:' and 'test:'.")
    path = Path(request.path)
    if not os.path.exists(path):
        raise DataError(
            f"There is no file {path}{_at(request)}. Check the path; it counts from the suite's folder."
        )
    if os.path.isdir(path):
        inside = [item for item in sorted(path.iterdir()) if item.is_file() and format_of(item.name)]
        return _load_many(inside, path, (path, *inside), request, scratch)
    if not os.path.isfile(path):
        raise DataError(
            f"{path}{_at(request)} is neither a file nor a folder. Save the rows to a file first."
        )
    if is_archive(path.name):
        inside = [item for item in unpack(path, scratch / "archive") if format_of(item.name)]
        return _load_many(inside, path, (path,), request, scratch)
    return Loaded(
        _read(path, scratch, _options(request)), stem_of(path.name), origin=path.name, files=(path,)
    )


def _load_many(
    inside: Sequence[Path], path: Path, watched: tuple[Path, ...], request: TaskRequest, scratch: Path
) -> Loaded:
    """Load what is inside a folder or an archive: one table, or folds."""
    name = stem_of(path.name)
    if len(inside) == 1 and not _FOLD_NAME.match(stem_of(inside[0].name)):
        return Loaded(
            _read(inside[0], scratch, _options(request), path), name, origin=path.name, files=watched
        )
    return _load_folds(_pair(inside, path), name, watched, request, scratch, path)


def _pair(inside: Iterable[Path], path: Path) -> list[tuple[Path, Path]]:
    """Return (train, test) per fold, in the order of the fold numbers."""
    sides: dict[int, dict[str, Path]] = {}
    for item in inside:
        match = _FOLD_NAME.match(stem_of(item.name))
        if match is None:
            raise DataError(f"{path} holds '{item.name}' beside other data files. {_NAMING}, or remove it.")
        fold = sides.setdefault(int(match["fold"] or 0), {})
        side = match["side"].lower()
        if side in fold:
            raise DataError(
                f"{path} holds two {side} files for one fold: '{fold[side].name}' and '{item.name}'."
            )
        fold[side] = item
    if not sides:
        raise DataError(f"{path} holds no data files. {_NAMING}.")
    for number, fold in sorted(sides.items()):
        for side in ("train", "test"):
            if side not in fold:
                raise DataError(f"{path} has no {side} file for fold {number}. {_NAMING}.")
    return [(fold["train"], fold["test"]) for _, fold in sorted(sides.items())]


def _load_folds(
    pairs: Sequence[tuple[Path, Path]],
    name: str,
    watched: tuple[Path, ...],
    request: TaskRequest,
    scratch: Path,
    inside: Path | None = None,
) -> Loaded:
    """Stack the rows of all files; fold k is trained and tested on those of its own two files."""
    if request.split and request.split.get("kind") != "given":
        raise DataError(
            f"Train and test files are given{_at(request)}, and a split as well. Give one of the two, "
            "or say 'kind: given'."
        )
    options = _options(request)
    tables: list[RawTable] = []
    folds: list[SplitFold] = []
    start = 0
    for number, pair in enumerate(pairs):
        sides = []
        for path in pair:
            if not os.path.exists(path):
                raise DataError(f"There is no file {path}{_at(request)}. Check the path.")
            tables.append(_read(path, scratch, options, inside))
            sides.append(np.arange(start, start + tables[-1].n_rows, dtype=np.int64))
            start += tables[-1].n_rows
        folds.append((0, number, sides[0], sides[1]))
    return Loaded(
        stack(tables),
        name,
        splits=Splits(tuple(folds)),
        n_counted=tables[0].n_rows + tables[1].n_rows,
        origin=(inside or pairs[0][0]).name,
        files=watched,
    )


def _read(path: Path, scratch: Path, options: CsvOptions, inside: Path | None = None) -> RawTable:
    source = f"{inside.name}/{path.name}" if inside else path.name
    if path.name.lower().endswith(".gz") and format_of(path.name):
        path = gunzip(path, scratch / path.name[:-3])
    return read_table_file(path, source, options)


def _options(request: TaskRequest) -> CsvOptions:
    return parse_csv_options(request.csv, request.where)


def _at(request: TaskRequest) -> str:
    return f" {request.where}" if request.where else ""
