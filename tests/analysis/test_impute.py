"""Failures are filled by the stated policy, and what is not the framework's own result is not."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.impute import ABSENT, FAILED, NOT_OWN, OK, Filter, gather, labelled
from assay.errors import ConfigError, UserError

from .conftest import scores_frame

TABLE = {
    "constant": {"x": [0.5, 0.5], "y": [0.4, 0.6]},
    "random_forest": {"x": [0.7, 0.7], "y": [0.7, 0.7]},
    "good": {"x": [0.9, None], "y": [0.8, 0.8]},
}


def test_a_failure_counts_as_the_constant_predictor_of_its_fold() -> None:
    found = gather(scores_frame(TABLE))
    j = found.frameworks.index("good")
    assert found.values[:, j].tolist() == [0.9, 0.5, 0.8, 0.8]
    assert found.imputed[:, j].tolist() == [False, True, False, False]
    assert found.state[:, j].tolist() == [OK, FAILED, OK, OK]
    assert found.means()[:, j].tolist() == pytest.approx([0.7, 0.8])


@pytest.mark.parametrize(("policy", "value"), [("worst", 0.5), ("random_forest", 0.7), ("none", np.nan)])
def test_other_policies(policy: str, value: float) -> None:
    found = gather(scores_frame(TABLE), policy)  # type: ignore[arg-type]
    np.testing.assert_equal(found.values[1, found.frameworks.index("good")], value)


def test_lower_is_better_is_turned_and_the_worst_is_the_highest() -> None:
    table = scores_frame(TABLE, higher_is_better=False, metric="logloss")
    found = gather(table, "worst")
    assert found.values[1, 2] == 0.7
    assert found.scores[0].tolist() == [-0.5, -0.7, -0.9]


@pytest.mark.parametrize("status", ["setup", "data", "lost"])
def test_what_is_not_the_frameworks_own_stays_empty_unless_asked(status: str) -> None:
    table = scores_frame(TABLE)
    table.loc[table["status"] == "error", "status"] = status
    j = 2
    assert np.isnan(gather(table).values[1, j]) and gather(table).state[1, j] == NOT_OWN
    assert gather(table, impute_not_own=True).values[1, j] == 0.5


def test_row_that_is_absent_was_not_run_here_and_failed_elsewhere() -> None:
    table = scores_frame(TABLE)
    table = table[~((table["framework"] == "good") & (table["fold"] == 0) & (table["task"] == "x"))]
    assert gather(table).state[0, 2] == ABSENT and np.isnan(gather(table).values[0, 2])
    foreign = gather(table.assign(origin="AMLB"))
    assert foreign.values[0, 2] == 0.5 and foreign.imputed[0, 2]


def test_who_never_met_a_task_did_not_fail_on_it() -> None:
    table = scores_frame({**TABLE, "classes only": {"x": [0.6, 0.6]}}).assign(origin="AMLB")
    found = gather(table)
    assert np.isnan(found.values[2:, 3]).all()
    whole, notes = found.complete()
    assert whole.tasks == ("x",) and notes[0].startswith("1 of 2 tasks are left out")


def test_without_the_constant_predictor_a_failure_cannot_be_imputed() -> None:
    table = scores_frame({name: own for name, own in TABLE.items() if name == "good"})
    with pytest.raises(UserError, match=r"which is not among the rows\. Run it"):
        gather(table)
    with pytest.raises(ConfigError, match="Unknown imputation 'best'"):
        gather(table, "best")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="There are no rows"):
        gather(table[:0])


def test_baselines_are_matched_by_budget_not_by_name() -> None:
    table = scores_frame(TABLE)
    table["constraint"] = np.where(table["framework"] == "constant", "1h8c", "1h8c_gp3")
    found = gather(Filter(constraint="1h8c_gp3").apply(table))
    assert found.frameworks == ("random_forest", "good", "constant")
    assert found.values[1, 1] == 0.5


def test_labels_say_what_differs() -> None:
    two = scores_frame({"f": {"x": [1.0]}})
    import pandas as pd

    other = two.assign(version="2")
    assert set(labelled(pd.concat([two, other]))["label"]) == {"f:1", "f:2"}
    longer = two.assign(constraint="4h8c", budget_s=14400.0)
    assert set(labelled(pd.concat([two, longer]))["label"]) == {"f @1h8c", "f @4h8c"}
    assert set(labelled(two)["label"]) == {"f"}


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (Filter(metric="rmse"), "--metric rmse"),
        (Filter(types=("regression",)), "--type regression"),
        (Filter(tasks=("z",)), "--task z"),
        (Filter(constraint="4h"), "No row has the constraint '4h'. There are: 1h8c"),
    ],
)
def test_filter_that_leaves_nothing_is_named(wanted: Filter, text: str) -> None:
    with pytest.raises(UserError, match=text):
        wanted.apply(scores_frame(TABLE))


def test_frameworks_are_chosen_after_the_others_were_used_to_impute() -> None:
    table = scores_frame(TABLE)
    assert set(Filter(frameworks=("good",)).choose(table)["framework"]) == {"good"}
    assert set(Filter(exclude=("constant",)).choose(table)["framework"]) == {"random_forest", "good"}
    with pytest.raises(UserError, match="--exclude names"):
        Filter(exclude=("nobody",)).choose(table)


def test_marked_frameworks_are_left_out_of_ranks_and_said() -> None:
    table = scores_frame(TABLE)
    table.loc[table["framework"] == "good", "meta_learning"] = "excluded"
    kept, notes = gather(table).ranked()
    assert kept.frameworks == ("constant", "random_forest") and "good" in notes[0]
    everybody, notes = gather(table).ranked(include_marked=True)
    assert everybody.frameworks == ("constant", "random_forest", "good") and notes == ()
