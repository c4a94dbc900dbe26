"""Draws count how often each row or fold is in a bag: as many as there are, with the chances of drawing by hand."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from assay.errors import DataError, UserError
from assay.uncertainty.draws import (
    MOST,
    all_fold_draws,
    check_classes,
    check_counts,
    check_row_draws,
    draw_folds,
    draw_rows,
    draw_within,
)


@pytest.mark.parametrize("n_folds", [1, 2, 3, 4, 5])
def test_chances_of_all_fold_draws_are_those_of_ordered_draws(n_folds: int) -> None:
    ordered = product(range(n_folds), repeat=n_folds)
    counts = Counter(tuple(drawn.count(fold) for fold in range(n_folds)) for drawn in ordered)
    draws, chance = all_fold_draws(n_folds, leave_one_out=False)
    listed = {tuple(own): one for own, one in zip(draws.tolist(), chance.tolist(), strict=True)}
    assert listed == pytest.approx({key: times / n_folds**n_folds for key, times in counts.items()})


@pytest.mark.parametrize("n_folds", [2, 3, 4, 5])
def test_with_a_fold_left_out_chances_are_given_that_one_is(n_folds: int) -> None:
    ordered = [drawn for drawn in product(range(n_folds), repeat=n_folds) if len(set(drawn)) < n_folds]
    counts = Counter(tuple(drawn.count(fold) for fold in range(n_folds)) for drawn in ordered)
    draws, chance = all_fold_draws(n_folds)
    listed = {tuple(own): one for own, one in zip(draws.tolist(), chance.tolist(), strict=True)}
    assert listed == pytest.approx({key: times / len(ordered) for key, times in counts.items()})


@given(st.integers(2, 8), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_relabelled_folds_have_the_same_chances(n_folds: int, seed: int) -> None:
    draws, chance = all_fold_draws(n_folds)
    order = np.random.default_rng(seed).permutation(n_folds)
    plain = dict(zip(map(tuple, draws.tolist()), chance.tolist(), strict=True))
    moved = dict(zip(map(tuple, draws[:, order].tolist()), chance.tolist(), strict=True))
    assert moved == pytest.approx(plain)


def test_drawn_folds_have_the_listed_chances() -> None:
    drawn = draw_folds(20_000, 4, np.random.default_rng(0))
    counts = Counter(map(tuple, drawn.tolist()))
    draws, chance = all_fold_draws(4)
    seen = [counts.pop(tuple(own)) for own in draws.tolist()]
    assert not counts, "nothing else was drawn"
    assert chisquare(seen, 20_000 * chance).pvalue > 0.001


def test_all_folds_may_be_in_the_bag_where_nothing_is_judged_outside() -> None:
    drawn = draw_folds(300, 3, np.random.default_rng(0), leave_one_out=False)
    assert (drawn == 1).all(axis=1).mean() == pytest.approx(6 / 27, abs=0.08)
    assert draw_folds(4, 1, np.random.default_rng(0)).tolist() == [[1]] * 4, "a single fold is always drawn"


@given(st.integers(1, 300), st.integers(3, 40), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_every_bag_has_as_many_rows_as_there_are(draws: int, n: int, seed: int) -> None:
    drawn = draw_rows(draws, n, np.random.default_rng(seed))
    assert drawn.shape == (draws, n) and (drawn.sum(axis=1) == n).all()
    assert (drawn == 0).any(axis=1).all(), "and leaves a row out"


def test_how_often_a_row_is_drawn_is_binomial() -> None:
    drawn = draw_rows(4000, 50, np.random.default_rng(1))
    seen = np.bincount(drawn.ravel(), minlength=7)
    wanted = binom.pmf(np.arange(7), 50, 1 / 50)
    np.testing.assert_allclose(seen[:5] / drawn.size, wanted[:5], atol=0.005)
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=0.1)


@pytest.mark.parametrize("leave_out", [True, False])
def test_every_class_is_in_the_bag_and_where_asked_out_of_it(leave_out: bool) -> None:
    strata = np.array([0] * 20 + [1] * 3 + [2] * 2)
    drawn = draw_rows(400, 25, np.random.default_rng(2), strata, leave_out=leave_out)
    inside = [(drawn[:, strata == code] > 0).any(axis=1).all() for code in range(3)]
    outside = [(drawn[:, strata == code] == 0).any(axis=1).all() for code in range(3)]
    assert all(inside) and outside[0] and outside[1:] == [leave_out] * 2


def test_a_class_of_one_row_is_in_every_bag_that_need_not_leave_it_out() -> None:
    strata = np.array([0] * 9 + [1])
    drawn = draw_rows(100, 10, np.random.default_rng(0), strata, leave_out=False)
    assert (drawn[:, 9] > 0).all()
    with pytest.raises(DataError, match=r"in the bag and out of it, of every class \(1000 tries\)"):
        draw_rows(2, 10, np.random.default_rng(0), strata)


def test_groups_are_drawn_as_often_as_there_are_groups() -> None:
    groups = np.repeat(np.arange(8), [1, 2, 3, 4, 5, 6, 7, 8])
    drawn = draw_rows(200, 36, np.random.default_rng(0), groups=groups)
    first = np.concatenate([[0], np.cumsum(np.arange(1, 8))])
    assert (drawn[:, first].sum(axis=1) == 8).all()
    np.testing.assert_array_equal(drawn, drawn[:, first][:, groups])


def test_draws_within_classes_keep_every_class_and_may_take_every_row() -> None:
    strata = np.array([0, 1, 1, 0, 1])
    drawn = draw_within(500, strata, np.random.default_rng(0))
    assert (drawn[:, strata == 0].sum(axis=1) == 2).all() and (drawn[:, strata == 1].sum(axis=1) == 3).all()
    assert (drawn == 1).all(axis=1).mean() == pytest.approx((2 / 4) * (6 / 27), abs=0.05)


def test_the_same_seed_draws_the_same_rows() -> None:
    one, same, other = (draw_rows(9, 30, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert (one == same).all() and (one != other).any()


def test_given_counts_are_kept_in_the_narrowest_type() -> None:
    for most, kind in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32)):
        found = check_counts([[0.0, float(most)]], 2, "rows")
        assert found.dtype == kind and found.tolist() == [[0, most]]
    assert check_counts([[True, False]], 2, "rows").tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([1, 2, 3], r"have the shape \(3,\); for 3 folds they need 3 columns"),
        ([[1, 2]], r"have the shape \(1, 2\); for 3 folds they need 3 columns"),
        ([[1, 2, -1]], "whole numbers from 0"),
        ([[1, 2, 0.5]], "whole numbers from 0"),
        ([[1, 2, float("nan")]], "whole numbers from 0"),
        ([[1, 2, MOST + 1]], f"from 0 to {MOST}"),
        (np.empty((0, 3)), "at least one draw"),
        ([["1", "2", "3"]], "how often each of the folds is drawn"),
    ],
)
def test_counts_that_are_none_are_refused(weights, text: str) -> None:
    with pytest.raises(UserError, match=text):
        check_counts(weights, 3, "folds")


def test_the_first_draw_that_cannot_be_used_is_named() -> None:
    strata = np.array([0, 0, 1, 1])
    good, no_class, all_in = [2, 0, 2, 0], [2, 2, 0, 0], [1, 1, 1, 1]
    assert check_row_draws([good, good], 4, strata).tolist() == [good, good]
    with pytest.raises(UserError, match="Draw 1 of the weights lacks a class in the bag or out of it"):
        check_row_draws([good, no_class, all_in], 4, strata)
    with pytest.raises(UserError, match="Draw 2 of the weights lacks rows in the bag or out of it"):
        check_row_draws([good, no_class, all_in], 4, None)
    with pytest.raises(UserError, match="Draw 0 of the weights lacks rows"):
        check_row_draws([[0, 0, 0, 0]], 4, None)


def test_classes_that_can_never_be_in_both_bags_are_named() -> None:
    y = np.array(["a", "a", "b", "b", "b"])
    codes = np.array([0, 0, 1, 1, 1])
    check_classes(codes, y, None)
    check_classes(None, y, np.array([0, 0, 0, 0, 1]))
    with pytest.raises(DataError, match="Class 'b' has one row only"):
        check_classes(codes[:3], y[:3], None)
    with pytest.raises(DataError, match="Class 'b' has one group only"):
        check_classes(codes, y, np.array([0, 1, 1, 1, 1]))
    with pytest.raises(DataError, match="All rows are of one group"):
        check_classes(None, y, np.zeros(5, dtype=int))
