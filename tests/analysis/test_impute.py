"""Failures are filled by the stated policy, and what is not the framework's own result is not."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.filter import Filter, labelled
from assay.analysis.impute import ABSENT, FAILED, NOT_OWN, OK, POLICIES, Policy, gather
from assay.errors import ConfigError, UserError

from .conftest import by_task, holed_table, plain_means, scores_frame

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
    assert whole.tasks == ("x",) and "1 of 2 tasks (y)" in notes[0]


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
    other = two.assign(version="2")
    assert set(labelled(pd.concat([two, other]))["label"]) == {"f:1", "f:2"}
    longer = two.assign(constraint="4h8c", budget_s=14400.0)
    assert set(labelled(pd.concat([two, longer]))["label"]) == {"f @1h8c", "f @4h8c"}
    assert set(labelled(two)["label"]) == {"f"}


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (Filter(metric="rmse"), "`metric='rmse'`"),
        (Filter(types=("regression",)), r"`types=\['regression'\]`"),
        (Filter(tasks=("z",)), r"`tasks=\['z'\]`"),
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
    with pytest.raises(UserError, match="`exclude` names"):
        Filter(exclude=("nobody",)).choose(table)


def test_marked_frameworks_are_left_out_of_ranks_and_said() -> None:
    table = scores_frame(TABLE)
    table.loc[table["framework"] == "good", "meta_learning"] = "excluded"
    kept, notes = gather(table).ranked()
    assert kept.frameworks == ("constant", "random_forest") and "good" in notes[0]
    everybody, notes = gather(table).ranked(include_excluded=True)
    assert everybody.frameworks == ("constant", "random_forest", "good") and notes == ()


@pytest.mark.parametrize("seed", range(5))
def test_means_after_imputation_are_those_of_pandas(seed: int) -> None:
    table = holed_table(seed)
    found = gather(table)
    expected = plain_means(table)
    assert found.tasks == tuple(expected.index)
    np.testing.assert_allclose(found.means(), expected[list(found.frameworks)].to_numpy(), rtol=1e-14)
    assert found.imputed.sum() == table["value"].isna().sum() and not np.isnan(found.values).any()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_failed_fold_is_never_better_than_the_constant_predictor(seed: int, higher: bool) -> None:
    found = gather(holed_table(seed, tasks=4).assign(higher_is_better=higher))
    constant = found.scores[:, [found.frameworks.index("constant")]]
    assert (found.scores == constant)[found.imputed].all()
    assert (found.imputed == (found.state == FAILED)).all()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["constant", "worst", "none"]), st.booleans())
def test_the_worst_is_no_better_than_any_other_policy_and_what_was_scored_stays(
    seed: int, policy: Policy, higher: bool
) -> None:
    table = holed_table(seed, tasks=4).assign(higher_is_better=higher)
    found, raw = gather(table, policy), gather(table, "none")
    scored = ~np.isnan(raw.values)
    np.testing.assert_array_equal(found.values[scored], raw.values[scored])
    worst = gather(table, "worst").scores
    assert (worst <= np.where(np.isnan(found.scores), np.inf, found.scores)).all()


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    table = holed_table(seed, tasks=4, frameworks=2)
    found = gather(table)
    other = gather(table.sample(frac=1, random_state=seed % 1000).reset_index(drop=True))
    shown = [
        pd.DataFrame(one.means(), index=one.tasks, columns=one.frameworks).sort_index().sort_index(axis=1)
        for one in (found, other)
    ]
    pd.testing.assert_frame_equal(*shown)


def test_policies_are_those_that_are_typed() -> None:
    assert get_args(Policy) == POLICIES


def test_one_row_alone_is_a_table() -> None:
    found = gather(scores_frame({"a": {"x": [0.5]}}))
    assert found.frameworks == ("a",) and found.means().tolist() == [[0.5]] and found.notes == ()


def test_where_the_constant_predictor_failed_too_nothing_is_imputed_and_it_is_said() -> None:
    found = gather(scores_frame({"constant": {"x": [None]}, "a": {"x": [None]}}))
    assert np.isnan(found.values).all() and not found.imputed.any()
    assert "Failures without anything to impute them with: 2." in found.notes
    assert np.isnan(gather(scores_frame({"a": {"x": [None]}}), "worst").values).all()


@pytest.mark.parametrize("policy", ["worst", "none"])
def test_all_failed_leaves_nothing_to_compare(policy: Policy) -> None:
    whole, _ = gather(scores_frame({"a": {"x": [None]}, "b": {"x": [None]}}), policy).complete()
    assert whole.tasks == () and len(whole.values) == 0


def test_leaving_out_a_task_keeps_the_others_as_they_are() -> None:
    found = gather(scores_frame(TABLE))
    left = found.without_tasks({0})
    assert left.tasks == ("y",) and left.task.tolist() == [0, 0]
    np.testing.assert_array_equal(left.means(), found.means()[1:])
    assert found.without_tasks({0, 1}).tasks == () and found.without_tasks(set()).tasks == found.tasks


def test_rows_that_come_twice_are_one_fold_and_the_last_counts() -> None:
    table = scores_frame({"a": {"x": [0.5]}})
    found = gather(pd.concat([table, table.assign(value=0.7)]), "none")
    assert found.values.tolist() == [[0.7]]


def test_a_failure_after_a_success_of_the_same_fold_counts() -> None:
    table = scores_frame({"a": {"x": [0.5]}})
    found = gather(pd.concat([table, table.assign(status="error", value=np.nan)]), "none")
    assert found.state.tolist() == [[FAILED]] and np.isnan(found.values).all()


def test_the_same_scores_in_another_order_of_folds_are_a_tie() -> None:
    table = scores_frame({"a": {"x": [0.1, 0.2, 0.3]}, "b": {"x": [0.3, 0.2, 0.1]}})
    (means,) = gather(table, "none").means()
    assert means[0] == means[1]


def test_a_missing_score_makes_a_missing_mean() -> None:
    found = gather(scores_frame(by_task([[0.5, np.nan], [0.5, 0.6]])), "none")
    np.testing.assert_array_equal(found.means(), [[0.5, np.nan], [0.5, 0.6]])


def test_a_failure_counts_as_the_constant_predictor_of_its_own_budget() -> None:
    import pandas as pd

    short = scores_frame({"constant": {"x": [0.5]}, "a": {"x": [None]}})
    long = scores_frame({"constant": {"x": [0.9]}, "a": {"x": [None]}}, constraint="4h8c", budget_s=14400.0)
    found = gather(pd.concat([short, long]))
    by_name = dict(zip(found.frameworks, found.values[0].tolist(), strict=True))
    assert by_name == {"constant @1h8c": 0.5, "a @1h8c": 0.5, "constant @4h8c": 0.9, "a @4h8c": 0.9}


def test_frameworks_are_chosen_by_their_labels_too() -> None:
    import pandas as pd

    two = labelled(pd.concat([scores_frame(TABLE), scores_frame(TABLE, version="2")]))
    assert set(Filter(frameworks=("good:2",)).choose(two)["version"]) == {"2"}
    assert set(Filter(frameworks=("good",)).choose(two)["version"]) == {"1", "2"}
