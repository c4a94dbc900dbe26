"""One scale for all tasks: the reference at one end, the best at the other, and tasks without a scale are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import minmax_scale

from assay.analysis.impute import gather
from assay.analysis.scaled import in_gaps, scale_from_forest, scale_from_worst
from assay.errors import UserError

from .conftest import by_task, random_scores, scores_frame


def test_forest_is_at_minus_one_and_the_best_at_zero() -> None:
    table = {"RandomForest": {"x": [0.6, 0.8]}, "best": {"x": [0.9, 0.9]}, "mid": {"x": [0.8, 0.8]}}
    found = scale_from_forest(gather(scores_frame(table), "none"))
    # Means 0.7, 0.9 and 0.8.
    assert found.values[0].tolist() == pytest.approx([-1.0, 0.0, -0.5])
    assert (found.low, found.high, found.reference, found.without_scale) == (-1.0, 0.0, "RandomForest", ())


def test_worst_is_at_zero_and_the_best_at_one() -> None:
    table = {"a": {"x": [0.25]}, "b": {"x": [0.75]}, "c": {"x": [0.5]}}
    assert scale_from_worst(gather(scores_frame(table), "none")).values.tolist() == [[0.0, 1.0, 0.5]]


def test_a_low_error_is_a_high_score() -> None:
    table = scores_frame({"a": {"x": [4.0]}, "b": {"x": [2.0]}}, metric="rmse", higher_is_better=False)
    assert scale_from_worst(gather(table, "none")).values.tolist() == [[0.0, 1.0]]


def test_another_reference_may_be_named_and_who_is_below_it_is_below_minus_one() -> None:
    table = {"a": {"x": [0.5]}, "b": {"x": [0.7]}, "c": {"x": [0.4]}}
    found = scale_from_forest(gather(scores_frame(table), "none"), "a")
    assert found.reference == "a" and found.values[0].tolist() == pytest.approx([-1.0, 0.0, -1.5])


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(2, 5), st.booleans())
def test_ends_of_the_scale_are_the_reference_and_the_best(seed: int, n: int, m: int, ties: bool) -> None:
    scores = random_scores(np.random.default_rng(seed), n, 2, m, ties)
    means = scores.means()
    found = scale_from_forest(scores, "f0")
    has_scale = ~np.isin(found.tasks, found.without_scale)
    np.testing.assert_array_equal(has_scale, means.max(axis=1) > means[:, 0] + 1e-9)  # less is rounding
    np.testing.assert_allclose(found.values[has_scale, 0], -1)
    np.testing.assert_allclose(found.values[has_scale].max(axis=1, initial=-np.inf), 0, atol=1e-12)
    assert np.isnan(found.values[~has_scale]).all()


@pytest.mark.parametrize("seed", range(3))
def test_from_the_worst_is_min_max_scaling_of_scikit_learn(seed: int) -> None:
    scores = random_scores(np.random.default_rng(seed), 8, 3, 5, ties=True)
    np.testing.assert_allclose(
        scale_from_worst(scores).values, minmax_scale(scores.means(), axis=1), atol=1e-12
    )


def test_equals_have_no_scale_and_are_named() -> None:
    found = scale_from_worst(gather(scores_frame(by_task([[0.5, 0.5], [0.0, 0.0], [0.1, 0.3]])), "none"))
    assert found.without_scale == ("t0", "t1") and np.isnan(found.values[:2]).all()
    assert found.values[2].tolist() == [0.0, 1.0]


def test_one_framework_alone_has_no_scale() -> None:
    found = scale_from_worst(gather(scores_frame({"a": {"x": [0.5]}}), "none"))
    assert found.without_scale == ("x",)


def test_a_task_with_a_missing_score_has_no_scale() -> None:
    found = scale_from_worst(gather(scores_frame(by_task([[0.5, np.nan], [0.1, 0.3]])), "none"))
    assert found.without_scale == ("t0",) and np.isnan(found.values[0]).all()


def test_without_a_forest_there_is_a_remedy() -> None:
    with pytest.raises(UserError, match="Run `random_forest`"):
        scale_from_forest(gather(scores_frame({"a": {"x": [0.5]}}), "none"))


def test_an_unknown_reference_is_named() -> None:
    with pytest.raises(UserError, match="nobody"):
        scale_from_forest(gather(scores_frame({"a": {"x": [0.5]}}), "none"), "nobody")


def test_gaps_go_from_the_constant_predictor_to_the_best() -> None:
    table = {
        "constant": {"x": [0.5], "y": [0.5]},
        "a": {"x": [0.9], "y": [0.4]},
        "b": {"x": [0.6], "y": [0.5]},
        "c": {"x": [-2.0], "y": [0.5]},
    }
    found, names, notes = in_gaps(gather(scores_frame(table)))
    assert names == ("a", "b", "c"), "the constant predictor is left out: tasks that speak for it are"
    assert found.tolist() == [pytest.approx([1.0, 0.25, -1.0])]
    assert len(notes) == 1 and "y" in notes[0], "on y nobody is better than the constant predictor"


def test_without_a_constant_predictor_gaps_are_the_metrics_own_units() -> None:
    found, names, notes = in_gaps(gather(scores_frame({"a": {"x": [0.9]}, "b": {"x": [0.6]}}), "none"))
    assert names == ("a", "b")
    assert found.tolist() == [[0.9, 0.6]] and "no constant predictor" in notes[0]


def test_without_any_gap_there_is_nothing_to_measure_in() -> None:
    table = {"constant": {"x": [0.5]}, "a": {"x": [0.5]}, "b": {"x": [0.4]}}
    with pytest.raises(UserError, match="Nobody is better than the constant predictor on any task"):
        in_gaps(gather(scores_frame(table)))
