"""Five small tables that pack what breaks integrations, one theme each, so that a failure tells something.

Every table is seeded and easy: its features follow from the target, so whoever learns at all does far better than
the constant predictor, and whoever mixes up the classes far worse.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.task import TaskRequest
from assay.errors import ConfigError
from assay.vocabulary import ColumnKind, TaskType

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CATEGORIES_ALONE", "TASKS", "CheckTask", "choose_tasks", "write_tasks"]

SEED = 20240229
Cells = list[str]  # as in a CSV file: "" is missing


class TableDraft:
    """The rows of a table under way: first those to learn from, then those to be tested on."""

    def __init__(self, rng: np.random.Generator, n_train: int, n_test: int) -> None:
        self.rng = rng
        self.n_train = n_train
        self.n = n_train + n_test
        self.kinds: dict[str, ColumnKind] = {}
        self.cells: dict[str, Cells] = {}

    def add(self, name: str, kind: ColumnKind, values: Iterable[Any], missing: float = 0.0) -> None:
        """Add a column, of which the share `missing` is left empty."""
        gone = self.rng.random(self.n) < missing
        self.kinds[name] = kind
        self.cells[name] = [
            "" if gap else f"{value:.5g}" if kind == "numeric" else str(value)
            for gap, value in zip(gone, values, strict=True)
        ]

    def noise(self) -> np.ndarray:
        """Return a number for each row that means nothing."""
        return self.rng.normal(size=self.n)

    def classes(self, shares: Sequence[float]) -> np.ndarray:
        """Return a class code for each row; the shares hold exactly, for training rows and for all."""
        import numpy as np

        parts = [self.n_train, self.n - self.n_train]
        codes = [np.searchsorted(np.cumsum(shares), (np.arange(n) + 0.5) / n) for n in parts]
        return np.concatenate([self.rng.permutation(part) for part in codes])


@dataclass(frozen=True)
class CheckTask:
    """One table with a fixed split: what it packs, and the function that fills its rows and returns the target."""

    name: str
    type: TaskType
    packs: tuple[str, ...]
    fill: Callable[[TableDraft], Sequence[str]]
    n_train: int = 200
    n_test: int = 60
    metrics: tuple[str, ...] = ()


def choose_tasks(names: Collection[str] = ()) -> tuple[CheckTask, ...]:
    """Return the tasks of these names, or all of them."""
    known = [task.name for task in TASKS]
    for name in names:
        if name not in known:
            raise ConfigError(f"Unknown task '{name}' of the check: choose from {', '.join(known)}.")
    return tuple(task for task in TASKS if not names or task.name in names)


def write_tasks(folder: Path, names: Collection[str] = ()) -> tuple[TaskRequest, ...]:
    """Write a training and a test file for every task, or for these, and return what asks for them."""
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(_write(task, folder) for task in choose_tasks(names))


def _write(task: CheckTask, folder: Path) -> TaskRequest:
    import numpy as np

    rows = TableDraft(np.random.default_rng([SEED, *task.name.encode()]), task.n_train, task.n_test)
    target = task.fill(rows)
    table = list(zip(*rows.cells.values(), target, strict=True))
    paths = []
    for side, part in (("train", table[: task.n_train]), ("test", table[task.n_train :])):
        paths.append(folder / f"{task.name}_{side}.csv")
        with open(paths[-1], "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([[*rows.cells, "outcome"], *part])
    return TaskRequest(
        "file",
        name=task.name,
        train=(str(paths[0].absolute()),),
        test=(str(paths[1].absolute()),),
        target="outcome",
        type=task.type,
        metrics=task.metrics,
        columns={name: {"kind": kind} for name, kind in rows.kinds.items()},
    )


def _single(rows: TableDraft) -> Cells:
    y = rows.classes([0.4, 0.6])
    for number in range(4):
        rows.add(f"x{number}", "numeric", 2.0 * y + rows.noise())
    return [("false", "true")[code] for code in y]


def _gaps(rows: TableDraft) -> Cells:
    import numpy as np

    y = rows.classes([0.6, 0.4])
    rng, is_test = rows.rng, np.arange(rows.n) >= rows.n_train
    typical = np.where(rng.random(rows.n) < 0.85, y, 1 - y)
    colours = np.array([("red", "blue")[code] for code in typical], dtype=object)
    colours[is_test & (rng.random(rows.n) < 0.2)] = "seen in test only"
    ages = [np.timedelta64(int(300 * code + 100 * rng.random()), "D") for code in y]
    days = [np.datetime64("2023-01-01") + age for age in ages]
    words = [f"{('calm', 'storm')[code]} at {rng.integers(1000)}" for code in typical]
    for number in range(3):
        rows.add(f"number {number}", "numeric", 2.0 * y + rows.noise(), missing=0.15)
    rows.add("colour", "categorical", colours, missing=0.15)
    rows.add("flag", "boolean", [("false", "true")[code] for code in typical], missing=0.15)
    rows.add("day", "date", days, missing=0.15)
    rows.add("words", "text", words, missing=0.15)
    rows.add("empty", "numeric", rows.noise(), missing=1.0)
    rows.add("empty in test", "numeric", rows.noise())
    rows.cells["empty in test"][rows.n_train :] = [""] * (rows.n - rows.n_train)
    return [("no", "yes")[code] for code in y]


NAMES = ("width in cm", "size[1]", "size 1", "size_1", "Größe", "高さ", "1st", "2", '{"x": 1}, y', "target")
LEVELS = (("north", "south", "east", "west"), ("1", "2", "10", "1.5"), ("Yes", "yes", "no", "no, really"))
CATEGORIES_ALONE = "names"  # the task in which numbers mean nothing


def _names(rows: TableDraft) -> Cells:
    import numpy as np

    y = rows.classes([0.2, 0.15, 0.4, 0.25])
    for number, name in enumerate(NAMES):
        if number % 2:
            rows.add(name, "numeric", rows.noise())
            continue
        # The first column is nearly always right: a table that can be learned perfectly has boosting go on for ever.
        wrong = rows.rng.random(rows.n) < (0.1 if number else 0.02)
        seen = np.where(wrong, rows.rng.integers(0, 4, rows.n), y)
        rows.add(name, "categorical", [LEVELS[number % 3][code] for code in seen])
    return [("left ", 'it\'s "left"', "left", "Left")[code] for code in y]


def _codes(rows: TableDraft) -> Cells:
    import numpy as np

    y = rows.classes([0.25, 0.3, 0.45])
    first, second = (4.0 * y + rows.noise() for _ in range(2))
    for name, values in (("x", first), ("x again", first), ("z", second), ("z again", second)):
        rows.add(name, "numeric", values)
    rows.add("one", "numeric", np.ones(rows.n))
    rows.add("zero", "numeric", np.zeros(rows.n))
    labels = [("-1", "2", "10")[code] for code in y]
    labels[3] = labels[5] = "7"
    return labels


def _wide(rows: TableDraft) -> Cells:
    import numpy as np

    base, flag, age = rows.noise(), rows.rng.random(rows.n) < 0.5, rows.rng.integers(0, 1000, rows.n)
    rows.add("base", "numeric", base)
    rows.add("flag", "boolean", [("false", "true")[int(value)] for value in flag])
    rows.add("day", "date", np.datetime64("2021-01-01") + age)
    for number in range(200 - len(rows.cells)):
        rows.add(f"noise {number}", "numeric", rows.noise(), missing=0.05)
    return [f"{value:.6g}" for value in 500 + 100 * base + 80 * flag + 0.1 * age + 5 * rows.noise()]


TASKS = (
    CheckTask(
        "single", "binary", ("boolean labels", "one test row"), _single, n_test=1, metrics=("logloss", "acc")
    ),  # a ranking of one row has no AUC
    CheckTask(
        "gaps",
        "binary",
        (
            "missing values in every type",
            "a column without values",
            "a column missing in test",
            "unseen categories in test",
        ),
        _gaps,
    ),
    CheckTask(
        "names",
        "multiclass",
        (
            "labels with spaces, quotes and different case",
            "column names with spaces, brackets, unicode, digits",
            "a column called target",
            "categories that alone tell the class, some like numbers",
        ),
        _names,
        n_train=900,  # LightGBM, also inside of others, does not split by categories that have fewer than 100 rows
    ),
    CheckTask(
        "codes",
        "multiclass",
        ("integer labels that are not 0..K-1", "a class with 2 rows", "constant and duplicate columns"),
        _codes,
    ),
    CheckTask(
        "wide",
        "regression",
        ("200 columns for 150 rows", "missing values", "a boolean and a date column"),
        _wide,
        n_train=150,
        n_test=50,
    ),
)
