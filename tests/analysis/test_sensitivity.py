"""Other choices, other ranks: agreed with ranks computed anew, and with the sign test of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, rankdata, studentized_range

from assay.analysis.impute import gather
from assay.analysis.sensitivity import Sensitivity, detectable, rank_variants
from assay.errors import UserError

from .conftest import by_task, holed_table, plain_means, scores_frame


def of(scores: object) -> Sensitivity:
    return rank_variants(gather(scores_frame(by_task(scores)), "none"), {})


def as_they_are(found: Sensitivity) -> dict[str, float]:
    assert found.variants[0].ranks is not None
    return dict(zip(found.frameworks, found.variants[0].ranks, strict=True))


def average(scores: np.ndarray) -> np.ndarray:
    return np.mean([rankdata(-row) for row in scores], axis=0)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(2, 5), st.sampled_from([0, 6]))
def test_leaving_out_a_task_is_ranking_without_it(seed: int, n: int, m: int, digits: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(n, m)).round(digits)
    base, found = average(scores), of(scores)
    assert sorted(one.task for one in found.tasks) == sorted(f"t{t}" for t in range(n))
    for one in found.tasks:
        change = average(np.delete(scores, int(one.task[1:]), axis=0)) - base
        assert abs(one.largest_change) == pytest.approx(np.abs(change).max(), abs=1e-12)
        assert change[int(one.framework[1:])] == pytest.approx(one.largest_change, abs=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(2, 5))
def test_a_new_leader_is_named_where_the_leader_is_overtaken(seed: int, n: int, m: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(n, m))
    base = average(scores)
    leaders = np.flatnonzero(np.isclose(base, base.min()))
    for one in of(scores).tasks:
        without = average(np.delete(scores, int(one.task[1:]), axis=0))
        first = np.flatnonzero(np.isclose(without, without.min()))
        if one.new_leader:
            assert int(one.new_leader[1:]) in first
        elif len(leaders) == 1:
            assert leaders[0] in first


def test_drawing_level_is_no_new_leader() -> None:
    scores = [
        [1, 2, 2, 0],
        [2, 2, 2, 1],
        [2, 2, 1, 0],
        [0, 0, 0, 2],
        [1, 0, 1, 1],
        [2, 1, 2, 2],
        [2, 0, 0, 0],
    ]
    found = {one.task: one.new_leader for one in of(scores).tasks}
    # f0 leads; without the last task f0 and f2 have the same ranks.
    assert found["t6"] == ""


def test_the_order_of_frameworks_makes_no_new_leader() -> None:
    # The second leads with ranks 2, 1, 1; without the last task both have 2 + 1.
    assert [one.new_leader for one in of([[2.0, 1.0], [1.0, 2.0], [1.0, 2.0]]).tasks] == [""] * 3


def test_by_hand_a_task_that_decides_comes_first() -> None:
    found = of([[1.0, 2.0], [2.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    assert as_they_are(found) == {"f0": 1.25, "f1": 1.75}
    first = found.tasks[0]
    assert (first.task, abs(first.largest_change), first.new_leader) == ("t0", 0.25, "")
    overtaken = of([[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 2.0, 1.0], [2.0, 0.0, 1.0]])
    # Ranks of f0: 1, 1, 3, 3, 1; of f1: 2, 2, 1, 1, 3. Sums 9 and 9; without t2 they are 6 and 8.
    change = {one.task: one.largest_change for one in overtaken.tasks}
    assert change["t2"] == pytest.approx(6 / 4 - 9 / 5)


@pytest.mark.parametrize("seed", range(3))
def test_variants_are_ranks_of_means_computed_by_pandas(seed: int) -> None:
    table = holed_table(seed)
    found = rank_variants(gather(table), {"again": lambda: gather(table)})
    expected = average(plain_means(table)[list(found.frameworks)].to_numpy())
    for variant in found.variants:
        assert variant.ranks == pytest.approx(tuple(expected))


def test_what_could_be_seen_is_the_critical_distance() -> None:
    found = of(np.random.default_rng(0).normal(size=(12, 4)))
    expected = studentized_range.ppf(0.95, 4, np.inf) / np.sqrt(2) * np.sqrt(4 * 5 / (6 * 12))
    assert found.detectable_rank == pytest.approx(expected, rel=1e-6) and found.n_tasks == 12


@pytest.mark.parametrize("n", [6, 7, 12, 30, 61, 104])
def test_detectable_win_rate_has_the_power_of_scipys_sign_test(n: int) -> None:
    rate = detectable(n)
    assert rate is not None
    low = next(k for k in range(n // 2 + 1, n + 1) if binomtest(k, n).pvalue <= 0.05)
    power = binomtest(low, n, rate, alternative="greater").pvalue
    just_below = binomtest(low, n, rate - 0.001, alternative="greater").pvalue
    assert just_below < 0.8 <= power


@pytest.mark.parametrize("n", range(6))
def test_with_fewer_than_six_tasks_no_win_rate_can_be_seen(n: int) -> None:
    assert detectable(n) is None


def test_one_task_cannot_be_left_out_and_one_framework_has_no_distance() -> None:
    found = of([[1.0, 2.0]])
    assert found.tasks == () and as_they_are(found) == {"f0": 2.0, "f1": 1.0}
    alone = of([[1.0], [2.0]])
    assert alone.detectable_rank is None and {one.largest_change for one in alone.tasks} == {0.0}


def test_all_failed_are_equal_to_the_constant() -> None:
    table = scores_frame({"constant": {"x": [0.5], "y": [0.5]}, "a": {"x": [None], "y": [None]}})
    found = rank_variants(gather(table), {"worst": lambda: gather(table, "worst")})
    assert [one.ranks for one in found.variants] == [(1.5, 1.5), (1.5, 1.5)]
    assert all(one.new_leader == "" for one in found.tasks)


def test_a_choice_under_which_somebody_drops_out_has_no_ranks_and_says_why() -> None:
    table = scores_frame({"constant": {"x": [0.5]}, "a": {"x": [None]}, "b": {"x": [0.7]}})
    found = rank_variants(gather(table), {"none": lambda: gather(table, "none")}).variants[1]
    assert found.ranks is None and found.why_not


def test_a_choice_that_knows_other_frameworks_has_no_ranks_and_says_why() -> None:
    both = scores_frame({"a": {"x": [0.5]}, "b": {"x": [0.7]}})
    one = both[both["framework"] == "a"]
    found = rank_variants(gather(both, "none"), {"metric": lambda: gather(one, "none")}).variants[1]
    assert found.ranks is None and found.why_not


def test_no_task_is_refused() -> None:
    with pytest.raises(UserError, match="no task"):
        rank_variants(gather(scores_frame(by_task([[1.0, 2.0]])), "none").without_tasks({0}), {})
