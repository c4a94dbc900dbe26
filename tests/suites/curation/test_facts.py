"""The facts that rules need: by hand, and against the reference for 80 data sets."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np
import pytest

from assay.data.table import MISSING_DATE, Table
from assay.data.task import Column, Task
from assay.suites.curation.facts import compute_rule_facts, row_keys
from assay.suites.curation.profile import profile_columns

from .close import is_close

IGNORED = {"MiceProtein": ("MouseID", "Genotype", "Treatment", "Behavior")}  # by OpenML
KINDS: dict[str, Any] = {
    "numeric": np.float64, "categorical": np.int32, "boolean": np.int8, "date": np.int64, "text": object,
}  # fmt: skip


def table(*columns: tuple[Column, list[Any]]) -> Table:
    arrays = {column.name: np.array(values, dtype=KINDS[column.kind]) for column, values in columns}
    return Table(tuple(column for column, _ in columns), arrays)


Y = (Column("y", "categorical", "target", ("a", "b", "never")), [0, 0, 1, 0])


def test_rows_repeat_with_and_without_the_target() -> None:
    found = compute_rule_facts(table((Column("x", "numeric"), [1, nan, 1, nan]), Y), "y", "binary")
    assert (found["n_duplicate_rows"], found["n_duplicate_features"], found["n_conflict_rows"]) == (1, 2, 2)


def test_a_category_that_does_not_occur_is_none() -> None:
    level = Column("level", "categorical", categories=("p", "q", "r", "s"))
    found = compute_rule_facts(
        table((level, [0, 1, -1, 1]), (Column("x", "numeric"), [0, 1, 0, 1]), Y), "y", "binary"
    )
    assert (found["p"], found["p_onehot"], found["max_cardinality"]) == (2, 3, 2)
    assert (found["n_classes"], found["minority"], found["imbalance"]) == (2, 1, 1 / 3)
    assert (found["n_numeric_eq2"], found["n_numeric_lt10"], found["zero_share"]) == (1, 1, 0.5)


def test_columns_that_are_not_used_are_no_features() -> None:
    found = compute_rule_facts(table((Column("note", "text", "ignore"), list("abcd")), Y), "y", "binary")
    assert (found["p"], found["n_unique_id_like"], found["n_duplicate_features"]) == (0, 0, 3)


def test_regression_has_no_classes() -> None:
    found = compute_rule_facts(table((Column("y", "numeric", "target"), [1, 2, 3])), "y", "regression")
    assert (found["n_classes"], found["minority"], found["imbalance"]) == (0, None, None)


@pytest.mark.parametrize(
    ("kind", "values", "hint"),
    [
        ("numeric", [7, 7, 7, 7], "constant"),
        ("numeric", [nan] * 4, "constant"),
        ("numeric", [4, 1, 3, 2], "a different value in every row: an identifier?"),
        ("numeric", [0.4, 0.1, 0.3, 0.2], ""),
        ("numeric", [1, 2, 2, 1], ""),
        ("text", ["k1", "k2", "k3", "k4"], "a different value in every row: an identifier?"),
        ("date", [1, 2, 3, MISSING_DATE], "a date: may the rows be mixed in time?"),
    ],
)
def test_columns_that_a_person_should_look_at_are_pointed_out(
    kind: Any, values: list[Any], hint: str
) -> None:
    (profile,) = profile_columns(table((Column("x", kind), values)))
    assert profile.hints == ((hint,) if hint else ())


@pytest.mark.parametrize(("n_other", "hints"), [(1, ("nearly constant",)), (2, ())])
def test_a_column_is_nearly_constant_from_99_of_100_rows_on(n_other: int, hints: tuple[str, ...]) -> None:
    for usual in (7.0, nan):
        values = [usual] * (100 - n_other) + [1.5, 2.5][:n_other]
        (profile,) = profile_columns(table((Column("x", "numeric"), values)))
        assert profile.hints == (hints if profile.n_distinct > 1 else ("constant",))


def test_equal_rows_have_equal_keys() -> None:
    """Whatever is equal to a reader: zeros of either sign, gaps, empty gaps of text."""
    rows = table(
        (Column("x", "numeric"), [0.0, -0.0, nan, -nan, 1]),
        (Column("t", "text"), ["a", "a", None, None, "a"]),
    )
    keys = row_keys(rows, rows.columns)
    assert [bool(keys[0] == keys[1]), bool(keys[2] == keys[3])] == [True, True]
    assert len(set(keys.tolist())) == 3


def test_facts_are_those_of_the_reference(
    reference: dict[str, dict[str, str]],
    tolerances: dict[str, str],
    read: Callable[..., tuple[Task, Table]],
) -> None:
    different, n = [], 0
    for name, values in reference.items():
        task, rows = read(name, ignore=IGNORED.get(name, ()))
        found = compute_rule_facts(rows, task.target, task.type)
        for fact, expected in values.items():
            if fact.startswith("r."):
                n += 1
                if not is_close(found[fact[2:]], expected, tolerances[fact]):
                    different.append((name, fact, expected, found[fact[2:]]))
    assert (n, different) == (80 * 25, [])
