"""What a longer budget bought: counts and gains by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay.analysis.budgets import BudgetStep, compare_budgets
from assay.errors import UserError

from .conftest import scores_frame

CONSTANT = {"constant": {"x": [0.5, 0.5], "y": [0.5, 0.5], "z": [0.5, 0.5]}}


def hour(values: dict[str, Any], **said: Any) -> pd.DataFrame:
    return scores_frame(values, **said)


def four_hours(values: dict[str, Any], **said: Any) -> pd.DataFrame:
    return scores_frame(values, budget_s=14400.0, constraint="4h8c", **said)


def only(*tables: pd.DataFrame) -> BudgetStep:
    (found,) = compare_budgets(pd.concat(tables))
    return found


def test_counts_and_gains_by_hand() -> None:
    first = hour({**CONSTANT, "a": {"x": [0.6, 0.8], "y": [0.8, 0.8], "z": [0.7, 0.7]}})
    second = four_hours({"a": {"x": [0.9, 0.9], "y": [0.8, 0.8], "z": [0.6, 0.6]}})
    found = only(first, second)
    assert (found.framework, found.from_s, found.to_s) == ("a", 3600.0, 14400.0)
    assert (found.tasks, found.better, found.equal, found.worse) == (3, 1, 1, 1)
    # From 0.7 to 0.9 of a gap of 0.4; nothing of 0.3; from 0.7 to 0.6 of a gap of 0.2.
    assert found.gain == pytest.approx((0.5 + 0 - 0.5) / 3)
    assert (found.failed_before, found.failed_after) == (0, 0)


def test_a_smaller_error_is_a_gain() -> None:
    said = {"metric": "rmse", "higher_is_better": False}
    found = only(
        hour({"constant": {"x": [10.0]}, "a": {"x": [6.0]}}, **said), four_hours({"a": {"x": [2.0]}}, **said)
    )
    assert (found.better, found.worse) == (1, 0) and found.gain == pytest.approx(4 / 8)


def test_folds_that_failed_under_either_budget_are_counted_and_left_out_of_the_means() -> None:
    first = hour({**CONSTANT, "a": {"x": [0.6, None], "y": [None, None]}})
    second = four_hours({"a": {"x": [0.7, 0.9], "y": [0.9, None]}})
    found = only(first, second)
    assert (found.tasks, found.better) == (1, 1) and found.gain == pytest.approx(0.1 / 0.2)
    assert (found.failed_before, found.failed_after) == (3, 1)


def test_folds_of_one_budget_alone_do_not_count() -> None:
    found = only(hour({"a": {"x": [0.5, None], "y": [None]}}), four_hours({"a": {"x": [0.6]}}))
    assert (found.tasks, found.better, found.failed_before, found.failed_after) == (1, 1, 0, 0)


def test_without_a_constant_predictor_there_is_no_gain() -> None:
    assert only(hour({"a": {"x": [0.5]}}), four_hours({"a": {"x": [0.6]}})).gain is None


def test_a_task_on_which_both_are_below_the_constant_has_no_gap() -> None:
    found = only(hour({**CONSTANT, "a": {"x": [0.3]}}), four_hours({"a": {"x": [0.4]}}))
    assert found.better == 1 and found.gain is None


def test_a_gain_is_one_gap_at_most() -> None:
    found = only(hour({**CONSTANT, "a": {"x": [0.1]}}), four_hours({"a": {"x": [0.6]}}))
    assert found.gain == 1.0
    found = only(hour({**CONSTANT, "a": {"x": [0.6]}}), four_hours({"a": {"x": [0.1]}}))
    assert found.gain == -1.0


def test_steps_go_from_each_budget_to_the_next_and_by_framework() -> None:
    table = pd.concat(
        [
            scores_frame({"b": {"x": [0.5]}, "a": {"x": [0.5]}}, budget_s=budget)
            for budget in (600.0, 60.0, 6.0)
        ]
    )
    found = [(one.framework, one.from_s, one.to_s) for one in compare_budgets(table)]
    assert found == [("a", 6.0, 60.0), ("a", 60.0, 600.0), ("b", 6.0, 60.0), ("b", 60.0, 600.0)]


def test_who_has_one_budget_only_has_no_step() -> None:
    table = pd.concat([hour({"a": {"x": [0.5]}, "b": {"x": [0.5]}}), four_hours({"a": {"x": [0.5]}})])
    assert [one.framework for one in compare_budgets(table)] == ["a"]


def test_ranks_under_each_budget_are_among_those_that_have_both() -> None:
    first = hour({"a": {"x": [0.5], "y": [0.6]}, "b": {"x": [0.7], "y": [0.6]}, "short only": {"x": [0.9]}})
    second = four_hours({"a": {"x": [0.9], "y": [None]}, "b": {"x": [0.8], "y": [0.6]}})
    found = compare_budgets(pd.concat([first, second]))
    # One hour: a 2 and 1.5, b 1 and 1.5. Four hours: a first on x, without a score last on y.
    assert [(one.framework, one.rank_before, one.rank_after) for one in found] == [
        ("a", 1.75, 1.5),
        ("b", 1.25, 1.5),
    ]
    assert only(hour({"a": {"x": [0.5]}}), four_hours({"a": {"x": [0.6]}})).rank_before is None


def test_all_failed_is_no_task_and_no_gain() -> None:
    found = only(hour({"a": {"x": [None]}}), four_hours({"a": {"x": [None]}}))
    assert (found.tasks, found.better, found.equal, found.worse, found.gain) == (0, 0, 0, 0, None)
    assert (found.failed_before, found.failed_after) == (1, 1)


@pytest.mark.parametrize("budget", [3600.0, np.nan])
def test_one_budget_or_none_is_refused(budget: float) -> None:
    with pytest.raises(UserError, match="there is one only"):
        compare_budgets(scores_frame({"a": {"x": [0.5]}}, budget_s=budget))
    with pytest.raises(UserError, match="none is known"):
        compare_budgets(scores_frame({"a": {"x": [0.5]}})[:0])


def test_another_version_is_not_what_a_longer_budget_bought() -> None:
    first = pd.concat([hour({"a": {"x": [0.7]}}), hour({"a": {"x": [0.9]}}, version="2")])
    found = compare_budgets(pd.concat([first, four_hours({"a": {"x": [0.8]}})]))
    assert [(one.better, one.worse) for one in found] == [(1, 0)]


def test_folds_that_come_twice_do_not_break_the_comparison() -> None:
    first = pd.concat([hour({"a": {"x": [0.7, 0.7]}}), hour({"a": {"x": [0.7]}}, seed=9)])
    assert only(first, four_hours({"a": {"x": [0.8, 0.8]}})).better == 1


def test_tasks_of_one_name_are_several_tasks() -> None:
    tables = [
        scores_frame({"a": {"x": [value]}}, budget_s=budget, task_id=task)
        for task, values in (("1", (0.5, 0.6)), ("2", (0.9, 0.7)))
        for budget, value in zip((3600.0, 14400.0), values, strict=True)
    ]
    found = only(*tables)
    assert (found.tasks, found.better, found.worse) == (2, 1, 1)
