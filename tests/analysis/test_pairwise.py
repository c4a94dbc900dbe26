"""Pairs, scales, fronts: known answers on small tables, and intervals that take tasks as what is random."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.bradley_terry import Tallies, fit, tally
from assay.analysis.impute import gather
from assay.analysis.pairwise import compare_pairwise
from assay.analysis.pareto import find_front
from assay.analysis.scaled import scale_from_forest, scale_from_worst
from assay.errors import UserError

from .conftest import random_scores, scores_frame

TABLE = {
    "random_forest": {"x": [0.6, 0.6], "y": [0.5, 0.7], "z": [0.9, 0.9]},
    "good": {"x": [0.8, 0.8], "y": [0.6, 0.8], "z": [0.9, 0.7]},
    "constant": {"x": [0.5, 0.5], "y": [0.5, 0.5], "z": [0.5, 0.5]},
}


def pairs(**said):
    return compare_pairwise(gather(scores_frame(TABLE)), np.random.default_rng(0), **said)


def test_wins_and_ties_count_tasks_by_their_means() -> None:
    found = pairs(draws=50)
    at = {name: i for i, name in enumerate(found.frameworks)}
    assert found.wins[at["good"], at["random_forest"]] == 2
    assert found.wins[at["random_forest"], at["good"]] == 1
    assert found.ties[at["good"], at["constant"]] == 0
    # On folds: good beats both on x and y; on z it ties with the forest once and loses once.
    assert found.win_rate[at["good"]] == pytest.approx((2 + 2 + (1.5 + 1.0) / 2) / 3 / 2)


def test_strengths_are_those_of_the_model_and_the_anchor_has_a_thousand() -> None:
    scores = random_scores(np.random.default_rng(3), 12, 4, 4)
    found = compare_pairwise(scores, np.random.default_rng(0), 200, anchor="f1")
    points, ties = tally(scores.scores)
    model = fit(Tallies(points.sum(axis=0) / 4, ties.sum() / 4, 12 * (1 - np.eye(4))))
    own = {name: float(model.strengths[j]) for j, name in enumerate(scores.frameworks)}
    for name, elo in zip(found.frameworks, found.elo, strict=True):
        assert elo == pytest.approx(1000 + 400 / np.log(10) * (own[name] - own["f1"]), abs=1e-6)
    assert (found.elo_low <= found.elo + 1e-9).all() and (found.elo <= found.elo_high + 1e-9).all()
    assert found.anchor == "f1"


def test_intervals_do_not_shrink_with_folds_that_say_the_same() -> None:
    few = random_scores(np.random.default_rng(5), 15, 1, 3)
    values = np.repeat(few.values, 10, axis=0)
    table = {
        f"f{j}": {f"t{t}": values[t * 10 : t * 10 + 10, j].tolist() for t in range(15)} for j in range(3)
    }
    many = gather(scores_frame(table), "none")
    a, b = (compare_pairwise(one, np.random.default_rng(0), 300, "f0") for one in (few, many))
    np.testing.assert_allclose(a.elo_high - a.elo_low, b.elo_high - b.elo_low, rtol=1e-6)


def test_who_wins_everything_has_no_finite_elo() -> None:
    table = {"a": {f"t{i}": [0.9] for i in range(5)}, "b": {f"t{i}": [0.5] for i in range(5)}}
    found = compare_pairwise(gather(scores_frame(table), "none"), np.random.default_rng(0), 20)
    assert found.frameworks == ("a", "b") and found.elo[0] == np.inf
    assert found.group.tolist() == [1, 2] and found.place.tolist() == [[1, 1], [2, 2]]


def test_equals_share_a_group() -> None:
    table = {
        "a": {f"t{i}": [float(i % 2)] for i in range(8)},
        "b": {f"t{i}": [float((i + 1) % 2)] for i in range(8)},
    }
    found = compare_pairwise(gather(scores_frame(table), "none"), np.random.default_rng(0), 200)
    assert found.group.tolist() == [1, 1]
    assert found.better[0, 1] + found.better[1, 0] == pytest.approx(1)


def test_improvability_is_how_much_smaller_the_error_could_be() -> None:
    found = pairs(draws=10)
    at = found.frameworks.index("constant")
    # Errors 0.5 on each task against 0.2, 0.3 and 0.1 of the best.
    assert found.improvability[at] == pytest.approx(np.mean([1 - 0.2 / 0.5, 1 - 0.3 / 0.5, 1 - 0.1 / 0.5]))


def test_one_framework_or_an_unknown_anchor_is_refused() -> None:
    scores = gather(scores_frame({"a": {"x": [0.5]}}), "none")
    with pytest.raises(UserError, match="At least two"):
        compare_pairwise(scores, np.random.default_rng(0))
    with pytest.raises(UserError, match="Unknown anchor 'nobody'"):
        pairs(anchor="nobody")


def test_scales_put_the_forest_at_minus_one_and_leave_out_what_has_none() -> None:
    found = scale_from_forest(gather(scores_frame(TABLE)))
    at = {name: j for j, name in enumerate(found.frameworks)}
    assert found.values[0].tolist() == pytest.approx([-1.0, 0.0, -1.5])
    assert found.without_scale == ("z",) and np.isnan(found.values[2]).all()
    worst = scale_from_worst(gather(scores_frame(TABLE)))
    assert worst.values[0, at["constant"]] == 0 and worst.values[0, at["good"]] == 1
    with pytest.raises(UserError, match="Run `random_forest`"):
        scale_from_forest(gather(scores_frame({"a": {"x": [0.5]}, "b": {"x": [0.6]}}), "none"))


def test_front_holds_who_is_not_beaten_in_both() -> None:
    scores = np.array([[1.0, 0.9, 0.5, 0.8], [1.0, 0.7, 0.5, 0.8]])
    seconds = np.array([[10.0, 1.0, 0.1, 2.0], [10.0, 1.0, 0.1, np.nan]])
    found = find_front(("slow", "fast", "fastest", "beaten"), scores, seconds)
    assert [(p.framework, p.on_front) for p in found.points] == [
        ("fastest", True), ("fast", True), ("beaten", False), ("slow", True),
    ]  # fmt: skip
    none = find_front(("a", "b"), np.ones((2, 2)), np.array([[1.0, np.nan], [1.0, np.nan]]), "median")
    assert none.missing == ("b",)
