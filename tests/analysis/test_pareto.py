"""The front of score against seconds: who is on it, who is beaten, and who has no seconds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis.pareto import Front, find_front

NAMES = ("a", "b", "c", "d")


def front(scores: list[float], seconds: list[float], **said: str) -> Front:
    return find_front(NAMES[: len(scores)], np.array([scores]), np.array([seconds]), **said)


def on_front(found: Front) -> set[str]:
    return {point.framework for point in found.points if point.on_front}


def test_slow_and_good_or_fast_and_bad_are_on_the_front_and_slow_and_bad_is_not() -> None:
    found = front([0.9, 0.5, 0.5], [100.0, 1.0, 50.0])
    assert on_front(found) == {"a", "b"}


def test_points_go_from_the_fastest_to_the_slowest_and_of_equals_the_better_first() -> None:
    found = front([0.1, 0.9, 0.5, 0.7], [3.0, 2.0, 1.0, 3.0])
    assert [point.framework for point in found.points] == ["c", "b", "d", "a"]


def test_one_that_is_as_good_and_faster_beats() -> None:
    assert on_front(front([0.9, 0.9], [1.0, 2.0])) == {"a"}
    assert on_front(front([0.8, 0.9], [1.0, 1.0])) == {"b"}


def test_equals_in_both_do_not_beat_each_other() -> None:
    assert on_front(front([0.9, 0.9], [1.0, 1.0])) == {"a", "b"}


def test_mean_and_median_over_tasks_leave_out_what_is_missing() -> None:
    scores = np.array([[0.0], [1.0], [np.nan], [5.0]])
    seconds = np.array([[1.0], [2.0], [6.0], [np.nan]])
    for over, score, time in (("mean", 2.0, 3.0), ("median", 1.0, 2.0)):
        found = find_front(("a",), scores, seconds, over)
        assert (found.points[0].score, found.points[0].seconds, found.over) == (score, time, over)


@pytest.mark.parametrize("missing", ["scores", "seconds"])
def test_who_has_no_score_or_no_seconds_is_named_and_beats_nobody(missing: str) -> None:
    scores, seconds = np.array([[1.0, 0.5], [1.0, 0.5]]), np.array([[1.0, 2.0], [1.0, 2.0]])
    (scores if missing == "scores" else seconds)[:, 0] = np.nan
    found = find_front(("a", "b"), scores, seconds)
    assert found.missing == ("a",) and on_front(found) == {"b"}


@pytest.mark.parametrize("n_tasks", [0, 3])
def test_without_any_score_the_front_is_empty(n_tasks: int) -> None:
    found = find_front(("a", "b"), np.full((n_tasks, 2), np.nan), np.ones((n_tasks, 2)))
    assert found.points == () and found.missing == ("a", "b")


grid = st.integers(0, 4).map(float)


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(grid, grid), min_size=1, max_size=8))
def test_nobody_on_the_front_is_dominated_and_everybody_off_it_is(drawn: list[tuple[float, float]]) -> None:
    names = tuple(f"f{j}" for j in range(len(drawn)))
    found = find_front(names, np.array([[p[0] for p in drawn]]), np.array([[p[1] for p in drawn]]))
    assert {point.framework for point in found.points} == set(names)
    for point in found.points:
        dominated = any(
            other.score >= point.score
            and other.seconds <= point.seconds
            and (other.score, other.seconds) != (point.score, point.seconds)
            for other in found.points
        )
        assert point.on_front is not dominated
    keys = [(point.seconds, -point.score) for point in found.points]
    assert keys == sorted(keys)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(grid, grid), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_frameworks_does_not_change_the_front(drawn: list[tuple[float, float]], random) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(drawn)))
    random.shuffle(order)
    fronts = []
    for own in (list(range(len(drawn))), order):
        scores, seconds = (np.array([[drawn[j][axis] for j in own]]) for axis in (0, 1))
        fronts.append(on_front(find_front(tuple(f"f{j}" for j in own), scores, seconds)))
    assert fronts[0] == fronts[1]
