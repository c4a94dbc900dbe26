"""Failures, times, budgets, traces and sensitivity: counted right, and what is missing is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.analysis.anytime import average_curve, best_so_far
from assay.analysis.budgets import compare_budgets
from assay.analysis.failures import category_of, count_failures
from assay.analysis.impute import gather
from assay.analysis.sensitivity import detectable, rank_variants
from assay.analysis.times import fit_times, inference_times
from assay.errors import UserError

from .conftest import scores_frame


@pytest.mark.parametrize(
    ("status", "message", "category"),
    [
        ("ok", "", ""),
        ("setup", "no Java", ""),
        ("timeout", "", "time"),
        ("memory", "", "memory"),
        ("crash", "", "memory"),
        ("disk", "", "memory"),
        ("error", "ValueError: The least populated class in y has only 1 member", "data"),
        ("error", "y_true and y_pred contain different number of classes 5, 6", "data"),
        ("error", "'NoneType' object is not iterable", "implementation"),
        ("invalid_predictions", "NaN", "implementation"),
    ],
)
def test_failures_fall_into_the_papers_categories(status: str, message: str, category: str) -> None:
    assert category_of(status, message) == category


def test_failures_are_counted_by_framework_and_task() -> None:
    table = scores_frame(
        {"a": {"x": [0.5, None], "y": [None, None]}, "b": {"x": [0.5, 0.5], "y": [0.5, 0.5]}}
    )
    found = count_failures(table)
    assert (found.jobs, found.failed) == (8, 3)
    assert [(one.name, one.failed) for one in found.by_framework] == [("a", 3), ("b", 0)]
    assert found.by_task[0].name == "y" and found.by_framework[0].by_status == {"error": 3}
    assert found.examples[0]["jobs"] == 3


def test_training_times_are_measured_against_the_budget() -> None:
    table = scores_frame({"a": {"x": [0.5, 0.5, 0.5, None]}})
    table["fit_s"] = [10.0, 3700.0, 7300.0, 9999.0]
    table.loc[3, "status"] = "timeout"
    (found,) = fit_times(table)
    assert (found.jobs, found.over_budget, found.over_leeway, found.timeouts) == (3, 2, 1, 1)
    assert (found.least, found.median, found.most) == (10.0, 3700.0, 7300.0)


def test_inference_is_per_row() -> None:
    rows = [
        {"framework": "a", "inference_s": {"1": 0.1, "100": 1.0}},
        {"framework": "a", "inference_s": {"1": 0.3}},
    ]
    found = {(one.framework, one.batch): one for one in inference_times(rows)}
    assert found["a", 1].median == pytest.approx(0.2) and found["a", 100].median == pytest.approx(0.01)


def test_longer_budgets_are_compared_on_the_folds_that_have_both() -> None:
    short = scores_frame({"constant": {"x": [0.5], "y": [0.5]}, "a": {"x": [0.7], "y": [None]}})
    long = scores_frame({"a": {"x": [0.9], "y": [0.8]}}, budget_s=14400.0, constraint="4h8c")
    (found,) = compare_budgets(pd.concat([short, long]))
    assert (found.from_s, found.to_s, found.tasks, found.better) == (3600.0, 14400.0, 1, 1)
    assert found.gain == pytest.approx(0.2 / 0.4) and (found.failed_before, found.failed_after) == (1, 0)
    with pytest.raises(UserError, match="one only"):
        compare_budgets(short)


def test_incumbents_only_improve() -> None:
    trace = {"metric": "loss", "higher_is_better": False, "points": [[3, 0.4], [1, 0.5], [2, 0.6], [4, 0.4]]}
    curve = best_so_far("a", "x", trace)
    assert curve.seconds == (1.0, 3.0) and curve.best == (0.5, 0.4)
    assert average_curve([curve], [0.0, 1.0, 2.9, 3.0]).tolist() == pytest.approx(
        [np.nan, 0, 0, 1], nan_ok=True
    )


def test_other_choices_change_ranks_and_those_that_cannot_be_made_say_why() -> None:
    table = scores_frame(
        {"constant": {"x": [0.5], "y": [0.5]}, "a": {"x": [0.9], "y": [None]}, "b": {"x": [0.6], "y": [0.4]}}
    )
    found = rank_variants(
        gather(table),
        {"worst": lambda: gather(table, "worst"), "random_forest": lambda: gather(table, "random_forest")},
    )
    assert [one.name for one in found.variants] == ["impute constant", "worst", "random_forest"]
    assert found.variants[0].ranks == (2.25, 1.25, 2.5)
    assert found.variants[1].ranks == (2.0, 1.75, 2.25)
    assert found.variants[2].ranks is None and "random forest" in found.variants[2].why_not
    assert {one.task for one in found.tasks} == {"x", "y"}


def test_what_could_have_been_seen() -> None:
    assert detectable(3) is None, "even three of three wins are chance at 5 %"
    assert detectable(104) == pytest.approx(0.637, abs=0.005)
    assert detectable(10) > detectable(50) > detectable(500)  # type: ignore[operator]
