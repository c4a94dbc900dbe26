"""Seconds against budgets, per row, and by task."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.analysis.filter import labelled
from assay.analysis.impute import gather
from assay.analysis.times import fit_times, inference_times, seconds_by_task

from .conftest import scores_frame


def timed(seconds: list[float], statuses: list[str] | None = None, **said: object) -> pd.DataFrame:
    table = scores_frame({"a": {"x": [0.5] * len(seconds)}}, **said)
    table["fit_s"] = seconds
    table["status"] = statuses or ["ok"] * len(seconds)
    return table


def test_leeway_is_the_budget_again_up_to_an_hour() -> None:
    short = timed([600.0, 601.0, 1200.0, 1201.0], budget_s=600.0)
    (found,) = fit_times(short)
    assert (found.over_budget, found.over_leeway) == (3, 1)
    long = timed([14400.0, 14401.0, 18000.0, 18001.0], budget_s=14400.0)
    (found,) = fit_times(long)
    assert (found.over_budget, found.over_leeway) == (3, 1)
    assert found.longest_share == pytest.approx(18001 / 14400)


def test_timeouts_are_counted_and_have_no_part_in_the_quartiles() -> None:
    (found,) = fit_times(timed([10.0, 20.0, 9999.0, 5.0], ["ok", "ok", "timeout", "error"]))
    assert (found.jobs, found.timeouts, found.over_budget) == (2, 1, 0)
    assert (found.least, found.lower, found.median, found.upper, found.most) == (10.0, 12.5, 15.0, 17.5, 20.0)


def test_frameworks_and_constraints_stand_apart() -> None:
    table = pd.concat(
        [timed([1.0]), timed([2.0], constraint="4h8c", budget_s=14400.0), timed([3.0]).assign(framework="b")]
    )
    found = [(one.framework, one.constraint, one.median) for one in fit_times(table)]
    assert found == [("a", "1h8c", 1.0), ("a", "4h8c", 2.0), ("b", "1h8c", 3.0)]


def test_all_failed_has_no_seconds() -> None:
    (found,) = fit_times(timed([1.0, 2.0], ["error", "timeout"]))
    assert (
        found.jobs == 0 and found.timeouts == 1 and np.isnan(found.median) and np.isnan(found.longest_share)
    )


def test_an_unknown_budget_is_never_passed() -> None:
    (found,) = fit_times(timed([1.0, 1e9], budget_s=np.nan))
    assert (found.over_budget, found.over_leeway) == (0, 0)
    assert np.isnan(found.budget_s) and np.isnan(found.longest_share) and found.most == 1e9


def test_jobs_without_a_time_are_left_out() -> None:
    (found,) = fit_times(timed([4.0, np.nan]))
    assert (found.jobs, found.median) == (1, 4.0)
    assert fit_times(timed([1.0])[:0]) == ()


@pytest.mark.parametrize("seed", range(3))
def test_quartiles_are_those_of_pandas(seed: int) -> None:
    table = timed(np.random.default_rng(seed).exponential(3000, size=25).tolist())
    (found,) = fit_times(table)
    said = table["fit_s"].describe()
    five = (found.least, found.lower, found.median, found.upper, found.most)
    assert five == pytest.approx(tuple(said[["min", "25%", "50%", "75%", "max"]]))
    assert found.over_budget == (table["fit_s"] > 3600).sum()
    assert found.over_leeway == (table["fit_s"] > 7200).sum()


def test_inference_is_seconds_per_row_by_batch_size() -> None:
    table = pd.DataFrame(
        {"framework": ["b", "b", "b", "a"], "batch": [10, 10, 1, 1], "seconds": [1.0, 3.0, 0.4, 0.2]}
    )
    found = inference_times(table)
    assert [(one.framework, one.batch, one.jobs) for one in found] == [("a", 1, 1), ("b", 1, 1), ("b", 10, 2)]
    assert (found[2].lower, found[2].median, found[2].upper) == pytest.approx((0.15, 0.2, 0.25))
    assert inference_times(table[:0]) == ()


def test_seconds_by_task_are_medians_over_completed_folds() -> None:
    table = labelled(scores_frame({"a": {"x": [0.5, 0.5, 0.5, None]}, "b": {"y": [0.5]}}))
    table["fit_s"] = [1.0, 2.0, 6.0, 100.0, 7.0]
    found = seconds_by_task(table, gather(table, "none"), "fit_s")
    np.testing.assert_array_equal(found, [[2.0, np.nan], [np.nan, 7.0]])


def test_tasks_of_one_name_have_their_own_seconds_and_a_name_may_have_a_slash() -> None:
    table = pd.concat(
        [
            scores_frame({"a": {"x": [0.5]}}, task_id="1", fit_s=1.0),
            scores_frame({"a": {"x": [0.5]}}, task_id="2", fit_s=3.0),
            scores_frame({"a": {"folder/y": [0.5]}}, task_id="3", fit_s=5.0),
        ]
    )
    found = seconds_by_task(labelled(table), gather(table, "none"), "fit_s")
    assert found.tolist() == [[1.0], [3.0], [5.0]]


def test_without_any_seconds_all_are_missing() -> None:
    table = labelled(scores_frame({"a": {"x": [0.5]}}, fit_s=np.nan))
    assert np.isnan(seconds_by_task(table, gather(table, "none"), "fit_s")).all()
