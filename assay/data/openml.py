"""The sources `openml/t/ID` and `test.openml/t/ID`: tasks with the splits that OpenML fixed for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from assay.data.formats import read_table_file
from assay.data.openml_client import SERVERS, OpenMLCache
from assay.data.raw import RawTable, TypedColumn
from assay.data.read_arff import read_arff
from assay.data.source import Loaded
from assay.data.splits import SplitFold, Splits
from assay.data.task import TaskRequest
from assay.errors import ConfigError, DataError
from assay.settings import Settings

if TYPE_CHECKING:
    from assay.typing import Array

__all__ = ["OpenMLSource", "OpenMLSuite", "load_openml_suite"]

_NAMESPACE = "{http://openml.org/openml}"
_TASK = re.compile(r"t/([1-9][0-9]{0,9})\Z")
_SUITE = re.compile(r"s/([A-Za-z0-9][A-Za-z0-9_.-]{0,80})\Z")


@dataclass(frozen=True)
class OpenMLSuite:
    """A suite as the server describes it: its name, its description and the numbers of its tasks."""

    name: str
    description: str
    tasks: tuple[int, ...]


class OpenMLSource:
    """Tasks of one OpenML server. `server` overrides the address that belongs to the prefix."""

    def __init__(self, prefix: str, server: str = "") -> None:
        self.prefix, self.server = prefix, server or SERVERS[prefix]

    def list(self) -> tuple[str, ...]:
        """Return nothing: the server has thousands of tasks, known by their numbers."""
        return ()

    def load(self, request: TaskRequest, settings: Settings) -> Loaded:
        """Load a task from the cache, after fetching what is missing there."""
        match = _TASK.match(request.ref.removeprefix(f"{self.prefix}/"))
        if match is None:
            raise ConfigError(
                f"'{request.ref}' is no OpenML task{_at(request)}. Write {self.prefix}/t/ID with the "
                "number of a task, "
                "not of a dataset."
            )
        number, cache = match[1], OpenMLCache(self.server, settings)
        ref = f"{self.prefix}/t/{number}"
        task = _xml(cache.call(f"tasks/{number}/task.xml", f"task/{number}", f"task {ref}"))
        is_regression = _is_regression(task, ref)
        dataset = _text(task, "data_set_id", ref)
        if not dataset.isdigit():
            raise DataError(
                f"The server's description of {ref} names the dataset '{dataset}'. Choose another task."
            )
        target = _text(task, "target_feature", ref)
        about = _xml(
            cache.call(
                f"datasets/{dataset}/description.xml", f"data/{dataset}", f"dataset {dataset} of {ref}"
            )
        )
        raw = _table(cache, about, dataset, ref)
        splits_file = cache.download(
            f"tasks/{number}/datasplits.arff", _text(task, "data_splits_url", ref), f"splits of {ref}"
        )
        columns: dict[str, dict[str, object]] = {name: {"role": "ignore"} for name in _ignored(about)}
        columns = {name: declared for name, declared in columns.items() if name != target and _has(raw, name)}
        if not is_regression:
            columns[target] = {"kind": "categorical"}
        return Loaded(
            raw=raw,
            name=_text(about, "name", ref),
            id=ref,
            target=target,
            type="regression" if is_regression else None,
            columns=columns,
            splits=_splits(splits_file, raw.n_rows, ref),
            licence=_optional(about, "licence"),
            origin=f"{self.server.split('/api')[0]}/d/{dataset}",
        )


def load_openml_suite(ref: str, settings: Settings, server: str = "") -> OpenMLSuite:
    """Return the suite `openml/s/ID` (or its alias); cached at the first call, for all later ones."""
    prefix, _, rest = ref.partition("/")
    match = _SUITE.match(rest)
    if prefix not in SERVERS or match is None:
        raise ConfigError(f"'{ref}' is no OpenML suite. Write openml/s/ID or test.openml/s/ID.")
    cache = OpenMLCache(server or SERVERS[prefix], settings)
    study = _xml(cache.call(f"studies/{match[1]}.xml", f"study/{match[1]}", f"suite {ref}"))
    if _optional(study, "main_entity_type") not in ("", "task"):
        raise DataError(f"{ref} is a study of runs, not a suite of tasks. Give the number of a suite.")
    numbers = [(item.text or "").strip() for item in study.iter(f"{_NAMESPACE}task_id")]
    tasks = tuple(int(number) for number in numbers if number.isdecimal())
    if not tasks:
        raise DataError(f"{ref} has no tasks. Give the number of a suite with tasks.")
    return OpenMLSuite(_optional(study, "name") or ref, _optional(study, "description"), tasks)


def _table(cache: OpenMLCache, about: ElementTree.Element, dataset: str, ref: str) -> RawTable:
    """Read the ARFF file, whose checksum is known; a Parquet file only if it is all that is cached."""
    what = f"dataset {dataset} of {ref}"
    parquet = cache.folder / "datasets" / dataset / f"dataset_{dataset}.pq"
    arff = f"datasets/{dataset}/dataset.arff"
    if parquet.exists() and not (cache.folder / arff).exists():
        return read_table_file(parquet, what)
    file = cache.download(arff, _text(about, "url", ref), what, _optional(about, "md5_checksum"))
    return read_arff(file, what)


def _splits(path: Path, n_rows: int, ref: str) -> Splits:
    """Read the folds of all repeats; of a learning curve only the first sample."""
    source = f"splits of {ref}"
    raw = read_arff(path, source)
    columns = {column.name.lower(): column for column in raw.columns}
    for name in ("type", "rowid", "repeat", "fold"):
        if not isinstance(columns.get(name), TypedColumn):
            raise DataError(f"{source} lack the attribute '{name}'. Delete {path} to fetch them again.")
    kind = columns["type"]
    assert isinstance(kind, TypedColumn)
    is_train = np.array([label.upper() == "TRAIN" for label in (*kind.column.categories, "")])[kind.values]
    row, repeat, fold = (_whole(columns[name], source) for name in ("rowid", "repeat", "fold"))
    if len(row) and (row.min() < 0 or row.max() >= n_rows):
        raise DataError(
            f"{source} name row {row.max()}, but the dataset has {n_rows} rows. Report it to OpenML."
        )
    keep = np.ones(len(row), dtype=bool)
    if "sample" in columns:
        keep = _whole(columns["sample"], source) == 0
    return Splits(tuple(_folds(row[keep], repeat[keep], fold[keep], is_train[keep])))


def _folds(row: Array, repeat: Array, fold: Array, is_train: Array) -> Iterator[SplitFold]:
    order = np.lexsort((row, fold, repeat))
    keys = np.stack([repeat[order], fold[order]])
    starts = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=-1) != 0, axis=0))
    for part in np.split(order, starts[1:]):
        train = is_train[part]
        yield int(repeat[part[0]]), int(fold[part[0]]), row[part[train]], row[part[~train]]


def _whole(column: Any, source: str) -> Array:
    values: Array = column.values
    if not np.all(np.mod(values, 1) == 0):
        raise DataError(
            f"{source} hold a value in '{column.name}' that is no whole number. Fetch them again."
        )
    return values.astype(np.int64)


def _is_regression(task: ElementTree.Element, ref: str) -> bool:
    kind = _optional(task, "task_type")
    if kind in ("Supervised Classification", "Learning Curve"):
        return False
    if kind == "Supervised Regression":
        return True
    raise DataError(f"{ref} is of type '{kind}'. Choose a supervised classification or regression task.")


def _ignored(about: ElementTree.Element) -> Iterator[str]:
    """Yield the attributes that OpenML wants ignored, and the row id; several may stand in one element."""
    for key in ("ignore_attribute", "row_id_attribute"):
        for item in about.iter(f"{_NAMESPACE}{key}"):
            for name in re.findall(r"'[^']*'|\"[^\"]*\"|[^,]+", item.text or ""):
                if name.strip():
                    yield name.strip().strip("'\"")


def _has(raw: RawTable, name: str) -> bool:
    return any(column.name == name for column in raw.columns)


def _xml(path: Path) -> ElementTree.Element:
    text = path.read_text(encoding="utf-8", errors="replace")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{path} declares XML entities, which are refused. Delete it and fetch it again.")
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"{path} is not XML ({error}). Delete it; it will be fetched again.") from error


def _optional(root: ElementTree.Element, name: str) -> str:
    element = next(root.iter(f"{_NAMESPACE}{name}"), None)
    return (element.text or "").strip() if element is not None else ""


def _text(root: ElementTree.Element, name: str, ref: str) -> str:
    value = _optional(root, name)
    if not value:
        raise DataError(f"The server's description of {ref} lacks '{name}'. Choose another task.")
    return value


def _at(request: TaskRequest) -> str:
    return f" {request.where}" if request.where else ""
