"""Traces: the best so far only improves, and progress goes from 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.anytime import Curve, best_so_far, compare_progress
from assay.errors import UserError


def curve(points: list[list[Any]], higher: bool = True, framework: str = "a") -> Curve:
    """Return a curve under a budget of 20 s: progress is then told at 1, 2, … 20 s."""
    trace = {"metric": "auc", "higher_is_better": higher, "points": points}
    return best_so_far(framework, "x", trace, budget_s=20.0)


def test_a_curve_holds_the_incumbents_by_hand() -> None:
    found = curve([[1, 0.5, "tree"], [2, 0.4, "knn"], [3, 0.7, "gbm"], [4, 0.7, "gbm"], [9, 0.8, "mix"]])
    assert found.seconds == (1.0, 3.0, 9.0) and found.best == (0.5, 0.7, 0.8)
    assert (found.framework, found.task, found.metric, found.higher_is_better) == ("a", "x", "auc", True)


def test_points_without_a_time_or_a_score_are_left_out() -> None:
    bad = [[None, 0.9], [1, None], [1], [1, "good"], [1, float("nan")], [1, float("inf")]]
    assert curve([*bad, [2, 0.5]]).best == (0.5,)
    assert curve([]).best == () and curve([]).seconds == ()


points = st.lists(st.tuples(st.integers(0, 9), st.integers(-5, 5)), max_size=12)


@settings(deadline=None, max_examples=80)
@given(points, st.booleans())
def test_the_best_so_far_is_monotone_and_is_the_best(drawn: list[tuple[int, int]], higher: bool) -> None:
    found = curve([list(point) for point in drawn], higher)
    sign = 1 if higher else -1
    assert (np.diff(np.array(found.best) * sign) > 0).all() and (np.diff(found.seconds) >= 0).all()
    for now in range(10):
        seen = [score * sign for at, score in drawn if at <= now]
        told = [score * sign for at, score in zip(found.seconds, found.best, strict=True) if at <= now]
        assert max(told, default=None) == max(seen, default=None)


@settings(deadline=None, max_examples=40)
@given(points, st.booleans())
def test_the_order_of_points_does_not_matter(drawn: list[tuple[int, int]], higher: bool) -> None:
    there, back = ([list(point) for point in one] for one in (drawn, drawn[::-1]))
    assert curve(there, higher) == curve(back, higher)


def test_turning_the_metric_turns_the_curve() -> None:
    higher, lower = curve([[1, 0.5], [1, 0.7]], True), curve([[1, -0.5], [1, -0.7]], False)
    assert higher.best == tuple(-one for one in lower.best)


def test_progress_is_averaged_over_the_searches_of_a_framework() -> None:
    up, down = curve([[2, 0.0], [4, 1.0]]), curve([[3, 8.0], [4, 6.0], [5, 4.0]], False)
    found = compare_progress([up, down])
    (own,) = found.frameworks
    assert found.grid_s == pytest.approx(range(1, 21))
    # Nobody has begun; 0 and not begun; 0 and 0; 1 and a half; 1 and 1.
    assert own.done == (None, 0.0, 0.0, 0.75, *[1.0] * 16)
    assert (own.framework, own.jobs, own.first_s, own.last_s) == ("a", 2, 2.5, 4.5)


def test_a_first_incumbent_that_stayed_the_best_is_all_there_was() -> None:
    (own,) = compare_progress([curve([[2, 0.5]])]).frameworks
    assert own.done == (None, *[1.0] * 19)


def test_who_has_a_score_first_comes_first() -> None:
    curves = [curve([[5, 0.5]], framework="a"), curve([[1, 0.5]], framework="b")]
    assert [one.framework for one in compare_progress(curves).frameworks] == ["b", "a"]


def test_without_a_budget_the_longest_trace_sets_the_times() -> None:
    trace = {"metric": "auc", "higher_is_better": True, "points": [[1, 0.5], [40, 0.6]]}
    assert compare_progress([best_so_far("a", "x", trace)]).grid_s == pytest.approx(range(2, 41, 2))


def test_searches_without_points_are_left_out_and_none_at_all_is_refused() -> None:
    (own,) = compare_progress([curve([]), curve([[1, 0.5]])]).frameworks
    assert own.jobs == 1
    for curves in ([], [curve([])]):
        with pytest.raises(UserError, match="left a trace"):
            compare_progress(curves)


@settings(deadline=None, max_examples=40)
@given(st.lists(points.filter(bool), min_size=1, max_size=4), st.booleans())
def test_progress_is_monotone_between_zero_and_one(traces: list[list[tuple[int, int]]], higher: bool) -> None:
    (own,) = compare_progress(curve([list(point) for point in one], higher) for one in traces).frameworks
    known = [one for one in own.done if one is not None]
    assert own.done == (*[None] * (20 - len(known)), *known), "what is missing comes first"
    assert (np.diff(known) >= -1e-12).all() and known[0] >= 0
    assert known[-1] == pytest.approx(1)
