"""Make folds once, keep them, and never make them again from a seed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.data.digest import digest_splits
from assay.data.split_spec import SplitSpec
from assay.data.table_file import load_arrays, save_arrays
from assay.data.task import Fold
from assay.errors import DataError

__all__ = ["SplitFold", "Splits", "Strata", "load_splits", "make_splits", "save_splits"]

_log = logging.getLogger(__name__)
Rows = NDArray[np.int64]
SplitFold = tuple[int, int, Rows, Rows]


@dataclass(frozen=True, eq=False)
class Splits:
    """Folds as (repeat, fold, train rows, test rows); no row of a fold is used twice."""

    folds: tuple[SplitFold, ...]

    def __post_init__(self) -> None:
        seen: set[tuple[int, int]] = set()
        for repeat, fold, train, test in self.folds:
            if (repeat, fold) in seen:
                raise DataError(
                    f"Fold {fold} of repeat {repeat} is given twice. Number the folds differently."
                )
            seen.add((repeat, fold))
            both = np.concatenate([train, test])
            if len(both) and both.min() < 0:
                raise DataError(
                    f"Fold {fold} of repeat {repeat} holds a negative row number. Count rows from 0."
                )
            if len(both) and np.bincount(both).max() > 1:
                raise DataError(
                    f"Fold {fold} of repeat {repeat} holds a row twice. Give each row to one side once."
                )
            if not len(train) or not len(test):
                side = "training" if not len(train) else "test"
                raise DataError(
                    f"Fold {fold} of repeat {repeat} has no {side} rows. Ask for fewer or larger folds."
                )

    def digest(self) -> str:
        """Return the digest of all folds."""
        return digest_splits(self.folds)

    def summary(self) -> tuple[Fold, ...]:
        """Return the folds by number and size."""
        return tuple(Fold(repeat, fold, len(train), len(test)) for repeat, fold, train, test in self.folds)


@dataclass(frozen=True, eq=False)
class Strata:
    """What folds are made from: the number of rows; per row its class, group, time or fold, if any."""

    n_rows: int
    source: str
    classes: NDArray[np.int32] | None = None
    class_names: tuple[str, ...] = ()
    groups: NDArray[np.int64] | None = None
    times: NDArray[np.float64] | NDArray[np.int64] | None = None
    labels: NDArray[np.int64] | None = None


def save_splits(splits: Splits, path: Path) -> None:
    """Keep splits in an npz file."""
    arrays = {"numbers": np.array([fold[:2] for fold in splits.folds], dtype=np.int64)}
    for number, (_, _, train, test) in enumerate(splits.folds):
        arrays |= {f"train{number}": train, f"test{number}": test}
    save_arrays(path, arrays)


def load_splits(path: Path) -> Splits:
    """Read what `save_splits` wrote."""
    stored = load_arrays(path)
    try:
        return Splits(
            tuple(
                (int(repeat), int(fold), stored[f"train{number}"], stored[f"test{number}"])
                for number, (repeat, fold) in enumerate(stored["numbers"])
            )
        )
    except KeyError as error:
        raise DataError(
            f"The cached file {path} is damaged ({error}). Delete it; it will be made again."
        ) from error


def make_splits(spec: SplitSpec, strata: Strata) -> Splits:
    """Return the folds that `spec` asks for.

    Classes are stratified wherever chance decides. A class with a single row is an error, since it cannot be
    on both sides; so is a class (or a number of groups or times) smaller than the number of folds that was
    asked for. If no number was asked for, there are as many folds as the smallest class allows.
    """
    makers = {
        "cv": _cross_validation,
        "repeated": _cross_validation,
        "holdout": _holdout,
        "grouped": _grouped,
        "temporal": _temporal,
        "predefined": _predefined,
    }
    return Splits(
        tuple(
            (repeat, fold, np.sort(train).astype(np.int64), np.sort(test).astype(np.int64))
            for repeat, fold, train, test in makers[spec.kind](spec, strata)
        )
    )


def _cross_validation(spec: SplitSpec, strata: Strata) -> Iterator[SplitFold]:
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if strata.classes is None else StratifiedKFold
    smallest, what = _smallest_class(strata)
    folds = _n_folds(spec, 10, smallest, what, strata.source)
    repeats = spec.repeats if spec.kind == "repeated" else 1
    for repeat in range(repeats):
        seed = int(np.random.SeedSequence([spec.seed, repeat]).generate_state(1)[0]) if repeat else spec.seed
        splitter = kind(n_splits=folds, shuffle=True, random_state=seed)
        for fold, (train, test) in enumerate(splitter.split(np.zeros(strata.n_rows), strata.classes)):
            yield repeat, fold, train, test


def _holdout(spec: SplitSpec, strata: Strata) -> Iterator[SplitFold]:
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    _smallest_class(strata)
    size = spec.test_size if spec.test_size < 1 else int(spec.test_size)
    kind = ShuffleSplit if strata.classes is None else StratifiedShuffleSplit
    splitter = kind(n_splits=1, test_size=size, random_state=spec.seed)
    try:
        train, test = next(splitter.split(np.zeros(strata.n_rows), strata.classes))
    except ValueError as error:
        raise DataError(
            f"{strata.source} with {strata.n_rows} rows cannot be split with test_size {spec.test_size}: "
            f"{error}. "
            "Choose another test_size."
        ) from error
    yield 0, 0, train, test


def _grouped(spec: SplitSpec, strata: Strata) -> Iterator[SplitFold]:
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if strata.groups is None:
        raise DataError(f"A grouped split of {strata.source} needs a group column. Name it with 'group'.")
    n_groups = len(np.unique(strata.groups))
    folds = _n_folds(spec, 10, n_groups, "there are only {} groups", strata.source)
    if strata.classes is None:
        splitter = GroupKFold(n_splits=folds)
    else:
        smallest, what = _smallest_class(strata)
        folds = _n_folds(spec, folds, smallest, what, strata.source)
        splitter = StratifiedGroupKFold(n_splits=folds, shuffle=True, random_state=spec.seed)
    zeros = np.zeros(strata.n_rows)
    for fold, (train, test) in enumerate(splitter.split(zeros, strata.classes, strata.groups)):
        yield 0, fold, train, test


def _temporal(spec: SplitSpec, strata: Strata) -> Iterator[SplitFold]:
    """Cut the rows, in order of time, into folds + 1 blocks; each is tested after training on those before.

    Rows of one time stay in one block, so every training row is strictly earlier than every test row.
    """
    if strata.times is None:
        raise DataError(f"A temporal split of {strata.source} needs a time column. Name it with 'time'.")
    moments, inverse, counts = np.unique(strata.times, return_inverse=True, return_counts=True)
    folds = _n_folds(spec, 5, len(moments) - 1, "there are only {} later points in time", strata.source)
    middle = np.cumsum(counts) - counts / 2
    block_of_moment = np.minimum((middle * (folds + 1) / strata.n_rows).astype(np.int64), folds)
    filled = np.unique(block_of_moment)
    if len(filled) < folds + 1:
        raise DataError(
            f"{strata.source}: too many rows share one point in time for {folds} temporal folds; "
            f"{len(filled) - 1} can be made. Ask for at most that many 'folds'."
        )
    block = block_of_moment[inverse.reshape(-1)]
    for fold in range(folds):
        yield 0, fold, np.flatnonzero(block <= fold), np.flatnonzero(block == fold + 1)


def _predefined(spec: SplitSpec, strata: Strata) -> Iterator[SplitFold]:
    assert strata.labels is not None
    numbers = [int(number) for number in np.unique(strata.labels) if number >= 0]
    for fold, number in enumerate(numbers):
        is_test = strata.labels == number
        yield 0, fold, np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _smallest_class(strata: Strata) -> tuple[int, str]:
    """Return the size of the smallest class (or the number of rows), and how to speak about it."""
    if strata.classes is None:
        return strata.n_rows, "there are only {} rows"
    counts = np.bincount(strata.classes, minlength=len(strata.class_names))
    smallest = int(np.argmin(counts))
    name = strata.class_names[smallest]
    if counts[smallest] < 2:
        raise DataError(
            f"Class '{name}' of {strata.source} has a single row, which cannot be in training and test. "
            "Remove the row, merge the class with another, or give your own split."
        )
    return int(counts[smallest]), f"class '{name}' has only {{}} rows"


def _n_folds(spec: SplitSpec, default: int, available: int, what: str, source: str) -> int:
    reason = what.format(available)
    if available < 2 and not (spec.kind == "temporal" and available == 1):
        raise DataError(f"{source} cannot be split: {reason}. Give more data, or your own split.")
    if spec.folds is None:
        if available < default:
            _log.info("%s: %d folds instead of %d, because %s.", source, available, default, reason)
        return min(default, available)
    if available < spec.folds:
        raise DataError(f"{source} cannot be split into {spec.folds} folds: {reason}. Ask for fewer 'folds'.")
    return spec.folds
