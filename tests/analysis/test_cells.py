"""Cells of the big table: mean, deviation and failures over folds, in the metric's own direction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.analysis.cells import make_cells
from assay.analysis.impute import gather

from .conftest import holed_table, scores_frame


def test_a_cell_is_the_mean_and_the_deviation_of_completed_folds() -> None:
    table = scores_frame({"a": {"x": [0.6, 0.8, None, 1.0]}})
    (cell,) = make_cells(gather(table, "none"), {"a": "1h8c"})
    assert cell.mean == pytest.approx(0.8) and cell.std == pytest.approx(0.2)
    assert (cell.n, cell.fails, cell.constraint, cell.metric) == (3, 1, "1h8c", "auc")


def test_what_was_imputed_is_not_in_the_mean() -> None:
    table = scores_frame({"constant": {"x": [0.5, 0.5]}, "a": {"x": [0.9, None]}})
    cell = make_cells(gather(table, "constant"), {})[1]
    assert (cell.framework, cell.mean, cell.std, cell.n, cell.fails) == ("a", 0.9, None, 1, 1)


def test_errors_stay_errors() -> None:
    table = scores_frame({"a": {"x": [2.0, 4.0]}}, metric="rmse", higher_is_better=False)
    (cell,) = make_cells(gather(table, "none"), {})
    assert (cell.mean, cell.metric) == (3.0, "rmse")


def test_who_failed_everywhere_has_no_mean() -> None:
    (cell,) = make_cells(gather(scores_frame({"a": {"x": [None, None]}}), "none"), {})
    assert (cell.mean, cell.std, cell.n, cell.fails) == (None, None, 0, 2)


def test_a_completed_fold_whose_metric_is_not_defined_is_neither_in_the_mean_nor_a_failure() -> None:
    table = scores_frame({"a": {"x": [np.nan, np.inf, 0.5]}})
    assert (table["status"] == "ok").all()
    (cell,) = make_cells(gather(table, "none"), {})
    assert (cell.mean, cell.std, cell.n, cell.fails) == (0.5, None, 1, 0)


@pytest.mark.parametrize("status", ["setup", "data", "lost"])
def test_what_is_not_the_frameworks_own_failure_counts_as_one_here(status: str) -> None:
    table = scores_frame({"a": {"x": [0.5, None]}})
    table.loc[1, "status"] = status
    (cell,) = make_cells(gather(table, "none"), {})
    assert (cell.n, cell.fails) == (1, 1)


def test_who_never_met_a_task_has_no_cell() -> None:
    table = scores_frame({"a": {"x": [0.5], "y": [0.5]}, "b": {"x": [0.5]}})
    found = make_cells(gather(table, "none"), {})
    assert [(cell.framework, cell.task) for cell in found] == [("a", "x"), ("b", "x"), ("a", "y")]


def test_a_fold_without_a_row_is_a_failure_in_a_foreign_table() -> None:
    table = scores_frame({"a": {"x": [0.5, 0.6]}, "b": {"x": [0.5]}}, origin="AMLB")
    assert [cell.fails for cell in make_cells(gather(table, "none"), {})] == [0, 1]


def test_a_fold_without_a_row_was_not_run_in_a_table_of_ours() -> None:
    table = scores_frame({"a": {"x": [0.5, 0.6]}, "b": {"x": [0.5]}})
    assert [cell.fails for cell in make_cells(gather(table, "none"), {})] == [0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_cells_are_those_of_pandas(seed: int) -> None:
    table = holed_table(seed)
    expected = table.groupby(["task", "framework"])["value"].agg(["mean", "std", "count", "size"])
    found = make_cells(gather(table, "none"), {})
    assert len(found) == len(expected)
    for cell in found:
        own = expected.loc[(cell.task, cell.framework)]
        mean, std = (np.nan if one is None else one for one in (cell.mean, cell.std))
        assert (mean, std) == pytest.approx((own["mean"], own["std"]), nan_ok=True, abs=1e-12)
        assert (cell.n, cell.fails) == (own["count"], own["size"] - own["count"])


def test_rows_that_come_twice_count_once() -> None:
    table = scores_frame({"a": {"x": [0.5, 0.7]}})
    (cell,) = make_cells(gather(pd.concat([table, table]), "none"), {})
    assert (cell.mean, cell.n) == (0.6, 2)
