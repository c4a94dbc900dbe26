"""Two frameworks compared fold by fold: the unit, the interval, failures, and what cannot be compared."""

from __future__ import annotations

import doctest
import random
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from assay.analysis import compare
from assay.analysis.compare import Comparison, Side, compare_sides
from assay.errors import ConfigError, UserError


def row(task: str, fold: int, value: float | None, **changed: Any) -> dict[str, Any]:
    """Return a row of the scores table; without a value the job failed."""
    metric = changed.get("metric", "auc")
    return {
        "task": task,
        "task_id": f"id of {task}",
        "repeat": 0,
        "fold": fold,
        "status": "ok" if value is not None else "timeout",
        "metric": metric,
        "value": value,
        "higher_is_better": metric == "auc",
        "optimised": True,
        "enforcement": "strict",
        "blindness": "enforced",
        "contended": False,
        "start": "cold",
        **changed,
    }


def side(name: str, scores: dict[str, list[float | None]], **changed: Any) -> Side:
    rows = [row(task, fold, v, **changed) for task, own in scores.items() for fold, v in enumerate(own)]
    random.Random(0).shuffle(rows)
    return Side(name, rows)


def compared(
    a: dict[str, list[float | None]],
    b: dict[str, list[float | None]],
    constant: dict[str, list[float | None]],
    **changed: Any,
) -> Comparison:
    sides = side("old", a, **changed), side("new", b, **changed), side("constant", constant, **changed)
    return compare_sides(*sides)


A = {"x": [0.8, 0.9], "y": [0.6, 0.6], "z": [0.95, 0.85]}
B = {"x": [0.9, 1.0], "y": [0.55, 0.55], "z": [0.95, 0.85]}
HALF = {task: [0.5, 0.5] for task in A}


def test_differences_are_in_gaps_from_the_constant_predictor_to_the_better_of_the_two() -> None:
    found = compared(A, B, HALF)
    # x: 0.95 - 0.5 = 0.45, B ahead by 0.1; y: 0.6 - 0.5 = 0.1, B behind by 0.05; z: equal.
    assert [task.gap for task in found.tasks] == pytest.approx([0.45, 0.1, 0.4])
    assert [task.difference for task in found.tasks] == pytest.approx([0.1 / 0.45, -0.5, 0.0])
    assert found.tasks[0].differences == pytest.approx((0.1 / 0.45, 0.1 / 0.45))
    assert found.estimate == pytest.approx((0.1 / 0.45 - 0.5) / 3)
    assert (found.n_tasks, found.n_pairs, found.left_out, found.warnings) == (3, 6, (), ())
    assert (found.a, found.b, found.trust.split(" · ")[0]) == ("old", "new", "tier strict")


def test_an_error_is_turned_so_that_positive_is_better() -> None:
    errors = [{task: [1 - score for score in own] for task, own in one.items()} for one in (A, B, HALF)]
    found, expected = compared(*errors, metric="logloss"), compared(A, B, HALF)
    assert [t.difference for t in found.tasks] == pytest.approx([t.difference for t in expected.tasks])
    assert found.tasks[0].mean_b == pytest.approx(0.05), "means keep the metric's own direction"
    assert found.tasks[0].gap == pytest.approx(0.45)
    assert (found.lower, found.upper) == pytest.approx((expected.lower, expected.upper))


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("tasks", [2, 3, 10, 40])
def test_the_interval_over_tasks_is_scipys_t_interval(tasks: int, confidence: float) -> None:
    rng = np.random.default_rng(tasks)
    names = [f"t{i}" for i in range(tasks)]
    a, b = ({n: list(rng.uniform(0.7, 0.9, rng.integers(1, 6))) for n in names} for _ in range(2))
    for name in names:  # as many folds for B as for A
        b[name] = list(rng.uniform(0.7, 0.9, len(a[name])))
    constant = {name: [0.5] * len(a[name]) for name in names}
    found = compare_sides(side("a", a), side("b", b), side("c", constant), confidence=confidence)
    means = [
        (np.mean(b[n]) - np.mean(a[n])) / (max(np.mean(a[n]), np.mean(b[n])) - 0.5) for n in sorted(names)
    ]
    expected = stats.ttest_1samp(means, 0.0).confidence_interval(confidence)
    assert found.estimate == pytest.approx(np.mean(means), abs=1e-12)
    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_swapping_the_two_turns_every_sign() -> None:
    one, other = compared(A, B, HALF), compared(B, A, HALF)
    assert one.estimate == pytest.approx(-other.estimate)
    assert (one.lower, one.upper) == pytest.approx((-other.upper, -other.lower))
    assert [t.difference for t in one.tasks] == pytest.approx([-t.difference for t in other.tasks])
    assert [t.gap for t in one.tasks] == [t.gap for t in other.tasks]


def test_a_task_with_many_folds_weighs_no_more_than_another() -> None:
    few = compared({"x": [0.8], "y": [0.8]}, {"x": [0.9], "y": [0.7]}, {"x": [0.5], "y": [0.5]})
    many = compared({"x": [0.8] * 9, "y": [0.8]}, {"x": [0.9] * 9, "y": [0.7]}, {"x": [0.5] * 9, "y": [0.5]})
    assert many.estimate == pytest.approx(few.estimate) == pytest.approx((0.25 - 1 / 3) / 2)
    assert (many.n_pairs, few.n_pairs) == (10, 2)


def test_a_fold_whose_own_gap_is_next_to_nothing_does_not_explode() -> None:
    found = compared({"x": [0.5, 0.9]}, {"x": [0.501, 0.9]}, {"x": [0.5, 0.5]})
    assert found.estimate == pytest.approx(0.0005 / 0.2005)


# --- one task --------------------------------------------------------------------------------------------


def nadeau_bengio(values: list[float], ratio: float) -> tuple[float, float]:
    width = stats.t.ppf(0.975, len(values) - 1) * sqrt((1 / len(values) + ratio) * np.var(values, ddof=1))
    return float(np.mean(values) - width), float(np.mean(values) + width)


def test_one_task_has_the_corrected_interval_over_its_folds() -> None:
    a, b = [0.80, 0.82, 0.78, 0.81, 0.79], [0.82, 0.81, 0.81, 0.84, 0.80]
    sides = side("a", {"x": a}), side("b", {"x": b}), side("c", {"x": [0.5] * 5})
    gap = np.mean(b) - 0.5
    values = [(y - x) / gap for x, y in zip(a, b, strict=True)]
    found = compare_sides(*sides)
    assert (found.lower, found.upper) == pytest.approx(nadeau_bengio(values, 1 / 4))
    assert found.warnings == ("One task: the interval speaks of this data set only.",)
    given = compare_sides(*sides, {("x", "id of x"): 0.5, ("x", "other"): 9.0})
    assert (given.lower, given.upper) == pytest.approx(nadeau_bengio(values, 0.5))
    naive = stats.ttest_1samp(values, 0.0).confidence_interval()
    assert found.upper - found.lower > naive.high - naive.low


def test_repeats_of_one_task_are_folds_of_their_own() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.7, 0.8, (2, 6))
    places = [(repeat, fold) for repeat in range(2) for fold in range(3)]
    rows = [
        [row("x", fold, float(v), repeat=repeat) for (repeat, fold), v in zip(places, values, strict=True)]
        for values in (a, b, [0.5] * 6)
    ]
    found = compare_sides(*(Side(name, own) for name, own in zip("abc", rows, strict=True)))
    values = list((b - a) / (max(a.mean(), b.mean()) - 0.5))
    assert (found.lower, found.upper) == pytest.approx(nadeau_bengio(values, 1 / 2))
    assert found.n_pairs == 6


def test_one_fold_of_one_task_has_no_interval_and_is_not_judged() -> None:
    found = compared({"x": [0.8]}, {"x": [0.7]}, {"x": [0.5]})
    assert (found.estimate, found.lower, found.upper) == (pytest.approx(-1 / 3), None, None)
    assert "no interval" in found.warnings[0]
    with pytest.raises(UserError, match=r"worse than old by more than 0\.01 cannot be judged"):
        found.is_worse(0.01)


def test_repeated_holdouts_of_unknown_size_have_no_interval() -> None:
    sides = [
        Side(name, [row("x", 0, value + r / 100, repeat=r) for r in range(3)])
        for name, value in (("a", 0.8), ("b", 0.7), ("c", 0.5))
    ]
    assert compare_sides(*sides).upper is None
    assert compare_sides(*sides, {("x", "id of x"): 0.5}).upper is not None


# --- failures --------------------------------------------------------------------------------------------


def test_a_failed_fold_counts_as_the_constant_predictor_on_that_fold() -> None:
    constant = {**HALF, "x": [0.6, 0.4]}
    found = compared(A, {**B, "x": [None, 1.0]}, constant)
    scored = compared(A, {**B, "x": [0.6, 1.0]}, constant)
    assert (found.estimate, found.lower, found.upper) == (scored.estimate, scored.lower, scored.upper)
    assert (found.tasks[0].imputed_a, found.tasks[0].imputed_b, found.tasks[0].mean_b) == (0, 1, 0.8)
    assert (found.imputed_a, found.imputed_b, scored.imputed_b) == (0, 1, 0)
    assert found.warnings == ("new failed in 1 of 6 pairs, which count as the constant predictor's.",)


@pytest.mark.parametrize("value", [None, float("nan")])
def test_predictions_without_a_score_count_as_a_failure(value: float | None) -> None:
    new = side("new", B)
    rows = [{**r, "value": value} if (r["task"], r["fold"]) == ("y", 1) else r for r in new.rows]
    found = compare_sides(side("old", A), Side("new", rows), side("constant", HALF))
    assert (found.imputed_b, found.tasks[1].mean_b) == (1, pytest.approx(0.525))


@pytest.mark.parametrize("status", ["setup", "lost", "data"])
@pytest.mark.parametrize("who", [0, 1, 2])
def test_what_is_nobodys_result_leaves_the_pair_out(status: str, who: int) -> None:
    sides = [side("old", A), side("new", B), side("constant", HALF)]
    broken = [
        {**r, "status": status, "value": None} if (r["task"], r["fold"]) == ("x", 1) else r
        for r in sides[who].rows
    ]
    sides[who] = Side(sides[who].name, broken)
    found = compare_sides(*sides)
    assert [(one.task, one.fold) for one in found.left_out] == [("x", 1)]
    assert found.left_out[0].reason == f"{sides[who].name} ended as {status}"
    assert (found.n_pairs, found.imputed_a, found.imputed_b) == (5, 0, 0)
    assert found.tasks[0].gap == pytest.approx(0.4), "the gap is that of the folds compared"
    assert f"1 pair(s) are left out, because {sides[who].name} ended as {status}: x." in found.warnings


@pytest.mark.parametrize(("status", "reason"), [("crash", "ended as crash"), ("ok", "has no score")])
def test_without_the_constant_predictor_a_pair_has_no_unit(status: str, reason: str) -> None:
    constant = side("constant", HALF)
    rows = [{**r, "status": status, "value": None} if r["task"] == "x" else r for r in constant.rows]
    found = compare_sides(side("old", A), side("new", B), Side("constant", rows))
    assert {one.reason for one in found.left_out} == {f"constant {reason}"}
    assert [task.task for task in found.tasks] == ["y", "z"]


def test_a_fold_that_only_one_has_is_left_out() -> None:
    found = compared(A, {**B, "x": [0.9]}, HALF)
    assert [(one.task, one.fold, one.reason) for one in found.left_out] == [("x", 1, "new was not run")]


# --- gaps that are none ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [([0.4, 0.6], [0.5, 0.5]), ([0.4, 0.4], [0.3, 0.3]), ([None] * 2,) * 2])
def test_a_task_on_which_neither_beats_the_constant_predictor_is_left_out(scores: Any) -> None:
    found = compared({**A, "flat": scores[0]}, {**B, "flat": scores[1]}, {**HALF, "flat": [0.5, 0.5]})
    expected = compared(A, B, HALF)
    assert (found.estimate, found.lower, found.n_tasks) == (expected.estimate, expected.lower, 3)
    flat = next(task for task in found.tasks if task.task == "flat")
    assert (flat.difference, flat.differences) == (None, ())
    assert "Neither is better than the constant predictor on flat: left out." in found.warnings


def test_rounding_is_no_gap() -> None:
    tenth = {**HALF, "r": [0.1, 0.2, 0.3]}
    found = compared({**A, "r": [0.3, 0.2, 0.1]}, {**B, "r": [0.2, 0.1, 0.3 + 1e-16]}, tenth)
    assert found.n_tasks == 3


def test_worse_than_the_constant_predictor_counts_as_it_and_is_said() -> None:
    found = compared(A, {**B, "y": [0.4, 0.4]}, HALF)
    assert found.tasks[1].difference == -1.0 and found.tasks[1].differences == pytest.approx((-2.0, -2.0))
    assert any("new is worse than the constant predictor on y" in warning for warning in found.warnings)


def test_the_constant_predictor_may_be_one_of_the_two() -> None:
    constant = side("constant", HALF)
    found = compare_sides(constant, side("new", B), constant)
    assert [task.difference for task in found.tasks] == pytest.approx([1.0, 1.0, 1.0])
    assert found.estimate == pytest.approx(1.0) and found.is_worse() is False
    assert compare_sides(side("old", A), constant, constant).is_worse(0.99)
    assert "contended 0 of 12" in found.trust, "its rows count once"


def test_nothing_to_compare_is_an_error_that_says_why() -> None:
    with pytest.raises(UserError, match=r"old and new can be compared\. Neither is better .* on x"):
        compared({"x": [0.5]}, {"x": [0.5]}, {"x": [0.5]})
    with pytest.raises(UserError, match=r"1 pair\(s\) are left out, because new was not run: x"):
        compared({"x": [0.9]}, {}, {"x": [0.5]})
    with pytest.raises(UserError, match="There are no rows"):
        compared({}, {}, {})


# --- the verdict, and the rest ---------------------------------------------------------------------------


def test_worse_means_the_whole_interval_below_the_margin() -> None:
    found = compared(
        {"x": [0.9], "y": [0.9], "z": [0.9]},
        {"x": [0.8], "y": [0.81], "z": [0.79]},
        {"x": [0.5], "y": [0.5], "z": [0.5]},
    )
    assert found.upper is not None and found.upper == pytest.approx(-0.25 + 4.302653 * 0.025 / sqrt(3))
    assert found.is_worse() and found.is_worse(0.18) and not found.is_worse(0.19)
    assert not compared(A, B, HALF).is_worse(0.0)


@pytest.mark.parametrize("by", [-0.01, float("nan"), float("inf")])
def test_a_margin_that_is_none_is_refused(by: float) -> None:
    with pytest.raises(ConfigError, match="`by="):
        compared(A, B, HALF).is_worse(by)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, float("nan")])
def test_a_level_that_is_no_probability_is_refused(confidence: float) -> None:
    with pytest.raises(ConfigError, match="`confidence="):
        compare_sides(side("a", A), side("b", B), side("c", HALF), confidence=confidence)


def test_only_the_metric_that_was_to_be_optimised_counts() -> None:
    sides = [side("old", A), side("new", B), side("constant", HALF)]
    more = [
        Side(s.name, [*s.rows, *({**r, "metric": "acc", "value": 0.1, "optimised": False} for r in s.rows)])
        for s in sides
    ]
    assert compare_sides(*more) == compare_sides(*sides)


def test_tasks_of_one_name_are_kept_apart() -> None:
    sides = [
        Side(name, [row("x", 0, value, task_id="t/1"), row("x", 0, value + 0.05, task_id="t/2")])
        for name, value in (("a", 0.8), ("b", 0.7), ("c", 0.5))
    ]
    assert [task.task for task in compare_sides(*sides).tasks] == ["x/t/1", "x/t/2"]


def test_mixed_tiers_are_said() -> None:
    plain = side("new", B, enforcement="plain")
    assert any(
        "different tiers" in w for w in compare_sides(side("old", A), plain, side("constant", HALF)).warnings
    )


def test_rows_of_a_data_frame_do_as_well() -> None:
    failed = {**B, "x": [None, 1.0]}
    records = [
        Side(s.name, pd.DataFrame(s.rows).to_dict("records")) for s in (side("old", A), side("new", failed))
    ]
    found = compare_sides(*records, side("constant", HALF))
    assert found == compared(A, failed, HALF)


def test_the_example_holds() -> None:
    assert doctest.testmod(compare).failed == 0


def test_one_disaster_on_the_only_task_does_not_hide_the_other_folds() -> None:
    a, b, constant = {"x": [1.0] * 5}, {"x": [1.5, 1.5, 1.5, 1.5, 100.0]}, {"x": [2.0] * 5}
    found = compared(a, b, constant, metric="rmse")
    assert found.estimate == pytest.approx((4 * -0.5 - 1) / 5)
    assert found.upper is not None and found.upper < 0
