"""How far trivial models get: on made-up tables, and against the reference for 56 data sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.data.table import MISSING_DATE, Table
from assay.data.target import encode_target
from assay.data.task import Column, Task
from assay.suites.curation.difficulty import measure_difficulty, ordinal_codes

from .test_facts import IGNORED, table

# Cross-validated trees differ by this much between machines; a tree of one split does not.
TOLERANCES = {
    "single_attribute_cv": 0.02,
    "tree_cv_accuracy": 0.015,
    "stump_train_accuracy": 1e-6,
    "tree_folds": 0,
}
ONE_FOLD = 0.03
LARGE = 40_000  # cells: larger sets cost seconds each, and are left out here


def rows(x: list[float], y: list[int]) -> tuple[Table, np.ndarray]:
    return table((Column("x", "numeric"), x)), np.array(y)


def test_a_stump_solves_what_one_split_solves() -> None:
    found = measure_difficulty(*rows(list(range(40)), [0] * 20 + [1] * 20))
    assert (found["stump_train_accuracy"], found["tree_folds"]) == (1, 10)
    assert found["tree_cv_accuracy"] == pytest.approx(0.975, abs=0.03)


def test_an_identifier_is_pure_and_of_no_use() -> None:
    random = np.random.default_rng(0)
    found = measure_difficulty(*rows(list(random.permutation(200)), list(random.integers(0, 2, 200))))
    assert found["single_attribute_cv"] == pytest.approx(0.5, abs=0.1)


def test_a_column_that_tells_the_class_is_found_among_others() -> None:
    classes = [0, 1, 2] * 20
    noise = np.random.default_rng(0).integers(0, 5, 60)
    told = Column("told", "categorical", categories=tuple("abcdef"))
    data = table(
        (Column("noise", "numeric"), list(noise)), (told, [2 * c + at % 2 for at, c in enumerate(classes)])
    )
    found = measure_difficulty(data, np.array(classes))
    assert (found["single_attribute_cv"], found["tree_cv_accuracy"]) == (1, 1)
    assert found["stump_train_accuracy"] == pytest.approx(2 / 3), "one split tells two of three classes apart"


@pytest.mark.parametrize("y", [[0, 0, 0, 0], [0, 0, 0, 1]])
def test_what_cannot_be_measured_has_no_value(y: list[int]) -> None:
    data = table((Column("note", "text"), list("abcd")))
    assert set(measure_difficulty(data, np.array(y)).values()) == {None}


def test_a_class_with_few_rows_is_no_obstacle() -> None:
    found = measure_difficulty(*rows([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [0] * 11 + [1]))
    assert found["tree_folds"] == 10


def test_gaps_become_the_median_of_the_codes() -> None:
    data = table(
        (Column("x", "numeric"), [1, np.nan, 3, 8]),
        (Column("c", "categorical", categories=("a", "b", "c")), [2, -1, 2, 0]),
        (Column("b", "boolean"), [1, 0, -1, 1]),
        (Column("d", "date"), [MISSING_DATE, 4, 6, 8]),
        (Column("never", "numeric"), [np.nan] * 4),
    )
    assert ordinal_codes(data).T.tolist() == [[1, 3, 3, 8], [2, 2, 2, 0], [1, 0, 1, 1], [6, 4, 6, 8], [0] * 4]


def test_difficulty_is_that_of_the_reference(
    reference: dict[str, dict[str, str]], read: Callable[..., tuple[Task, Table]]
) -> None:
    different, n = [], 0
    for name, values in reference.items():
        if not values["d.tree_folds"] or float(values["q.NumberOfInstances"]) * float(values["r.p"]) > LARGE:
            continue
        task, data = read(name, ignore=IGNORED.get(name, ()))
        y = encode_target(data.column(task.target), data.arrays[task.target], task.classes)
        found, n = measure_difficulty(data, y), n + 1
        for fact, limit in TOLERANCES.items():
            if abs((found[fact] or 0.0) - float(values[f"d.{fact}"])) > limit + 1e-9:
                different.append((name, fact, values[f"d.{fact}"], found[fact]))
    assert (n, different) == (19, [])
