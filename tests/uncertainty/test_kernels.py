"""Areas under weights are shares of pairs, whatever the path, the order of rows, or the scale of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.uncertainty import kernels
from assay.uncertainty.kernels import auc_of_each, by_column, rank_columns, weighted_auc

PATHS = [False, *([True] if kernels.has_numba() else [])]


def by_pairs(scores: np.ndarray, positive: np.ndarray, negative: np.ndarray, own: np.ndarray) -> float:
    """Return the weighted share of pairs whose positive row has the higher score; equal scores count half."""
    won = total = 0.0
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(negative):
            pair = float(own[i]) * float(own[j])
            total += pair
            won += pair * (1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0)
    return won / total if total else np.nan


def table(seed: int, n: int, columns: int = 3, digits: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores with ties, which rows are positive (both kinds occur), and weights of five draws."""
    random = np.random.default_rng(seed)
    positive = random.random(n) < 0.5
    positive[:2] = True, False
    return random.normal(size=(n, columns)).round(digits), positive, random.integers(0, 3, size=(5, n))


@given(st.integers(0, 10**6), st.integers(2, 14), st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_an_area_is_the_share_of_pairs_in_order(seed: int, n: int, digits: int) -> None:
    scores, positive, weights = table(seed, n, 2, digits)
    ranked = rank_columns(scores, positive, ~positive)
    wanted = [[by_pairs(column, positive, ~positive, own) for column in scores.T] for own in weights]
    for compiled in PATHS:
        np.testing.assert_allclose(weighted_auc(ranked, weights, compiled=compiled), wanted, atol=1e-14)


@given(st.integers(0, 10**6), st.integers(4, 30))
@settings(max_examples=30, deadline=None)
def test_rows_of_neither_class_do_not_count(seed: int, n: int) -> None:
    scores, positive, weights = table(seed, n)
    neither = np.random.default_rng(seed + 1).random(n) < 0.4
    neither[:2] = False
    positive, negative = positive & ~neither, ~positive & ~neither
    left = ~neither
    for compiled in PATHS:
        whole = weighted_auc(rank_columns(scores, positive, negative), weights, compiled=compiled)
        part = rank_columns(scores[left], positive[left], negative[left])
        np.testing.assert_array_equal(whole, weighted_auc(part, weights[:, left], compiled=compiled))


@given(st.integers(0, 10**6), st.integers(2, 30))
@settings(max_examples=30, deadline=None)
def test_areas_do_not_depend_on_the_order_of_rows(seed: int, n: int) -> None:
    scores, positive, weights = table(seed, n)
    order = np.random.default_rng(seed).permutation(n)
    plain = weighted_auc(rank_columns(scores, positive, ~positive), weights)
    moved = weighted_auc(rank_columns(scores[order], positive[order], ~positive[order]), weights[:, order])
    np.testing.assert_array_equal(plain, moved)


@pytest.mark.parametrize(
    "change", [np.exp, np.arctan, lambda x: 3 * x - 7, lambda x: x**3, lambda x: np.searchsorted(np.unique(x), x)]
)  # fmt: skip
def test_areas_depend_on_ranks_only(change) -> None:
    scores, positive, weights = table(4, 50)
    plain = weighted_auc(rank_columns(scores, positive, ~positive), weights)
    changed = rank_columns(np.asarray(change(scores), dtype=float), positive, ~positive)
    np.testing.assert_array_equal(weighted_auc(changed, weights), plain)


def test_turning_the_scores_or_the_classes_gives_one_minus_the_area() -> None:
    scores, positive, weights = table(5, 40)
    plain = weighted_auc(rank_columns(scores, positive, ~positive), weights)
    np.testing.assert_allclose(
        weighted_auc(rank_columns(-scores, positive, ~positive), weights), 1 - plain, atol=1e-15
    )
    np.testing.assert_allclose(
        weighted_auc(rank_columns(scores, ~positive, positive), weights), 1 - plain, atol=1e-15
    )


@pytest.mark.parametrize("compiled", PATHS)
def test_weights_of_a_multiple_have_the_same_area(compiled: bool) -> None:
    scores, positive, weights = table(6, 40)
    ranked = rank_columns(scores, positive, ~positive)
    plain = weighted_auc(ranked, weights, compiled=compiled)
    for times in (2, 100, 1000):
        np.testing.assert_allclose(
            weighted_auc(ranked, times * weights, compiled=compiled), plain, atol=1e-15
        )


@pytest.mark.parametrize("compiled", PATHS)
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int64, np.float64])
def test_the_type_of_the_weights_does_not_matter(kind: type, compiled: bool) -> None:
    scores, positive, weights = table(7, 40)
    ranked = rank_columns(scores, positive, ~positive)
    plain = weighted_auc(ranked, weights, compiled=compiled)
    np.testing.assert_array_equal(weighted_auc(ranked, weights.astype(kind), compiled=compiled), plain)
    once = weighted_auc(ranked, weights > 0, compiled=compiled)
    np.testing.assert_array_equal(once, weighted_auc(ranked, (weights > 0).astype(int), compiled=compiled))


@pytest.mark.parametrize("compiled", PATHS)
def test_equal_scores_are_worth_a_half_and_a_missing_class_nothing(compiled: bool) -> None:
    positive = np.arange(10) % 2 == 0
    ranked = rank_columns(np.full((10, 2), 0.3), positive, ~positive)
    weights = np.stack([np.ones(10), positive, ~positive, np.zeros(10)]).astype(int)
    found = weighted_auc(ranked, weights, compiled=compiled)
    assert (found[0] == 0.5).all() and np.isnan(found[1:]).all()


def test_no_draws_give_no_areas() -> None:
    scores, positive, weights = table(8, 20)
    ranked = rank_columns(scores, positive, ~positive)
    for compiled in PATHS:
        assert weighted_auc(ranked, weights[:0], compiled=compiled).shape == (0, 3)


@pytest.mark.parametrize("compiled", PATHS)
def test_columns_can_be_asked_for_in_any_order_and_twice(compiled: bool) -> None:
    scores, positive, weights = table(9, 30, columns=5)
    ranked = rank_columns(scores, positive, ~positive)
    whole = weighted_auc(ranked, weights, compiled=compiled)
    for columns in ([4, 1], [2, 2, 0], np.array([3])):
        found = weighted_auc(ranked, weights, columns, compiled=compiled)
        np.testing.assert_array_equal(found, whole[:, columns])


@pytest.mark.parametrize("columns", [63, 64, 65, 130])
def test_columns_of_every_block_are_sorted_by_themselves(columns: int) -> None:
    scores, positive, weights = table(10, 25, columns)
    scores[:, ::2] = np.random.default_rng(0).normal(
        size=scores[:, ::2].shape
    )  # every other one without ties
    together = weighted_auc(rank_columns(scores, positive, ~positive), weights)
    alone = [weighted_auc(rank_columns(one[:, None], positive, ~positive), weights) for one in scores.T]
    np.testing.assert_array_equal(together, np.hstack(alone))


def test_a_negative_row_that_is_tied_is_visited_before_and_after_the_positive_ones() -> None:
    positive = np.array([True, False, False, True])
    ranked = rank_columns(np.array([[0.5], [0.5], [0.1], [0.9]]), positive, ~positive)
    visits = [
        (int(row), int(does)) for row, does in zip(ranked.rows[0], ranked.does[0], strict=True) if does >= 0
    ]
    below, tied, above = kernels.BELOW, kernels.TIED, kernels.ABOVE
    assert visits == [(2, below), (1, tied), (0, above), (1, tied), (3, above)]


@given(st.integers(0, 10**6), st.integers(2, 25), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_another_column_under_each_draw_is_that_of_the_whole_matrix(seed: int, n: int, draws: int) -> None:
    scores, positive, _ = table(seed, n, 4)
    random = np.random.default_rng(seed)
    weights, columns = random.integers(0, 3, size=(draws, n)), random.integers(0, 4, size=draws)
    ranked = rank_columns(scores, positive, ~positive)
    wanted = weighted_auc(ranked, weights)[np.arange(draws), columns]
    np.testing.assert_array_equal(auc_of_each(ranked, weights, columns), wanted)


def test_another_column_under_each_draw_is_the_same_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, positive, _ = table(11, 40, 4)
    random = np.random.default_rng(0)
    weights = random.integers(0, 2, size=(kernels.LANES + 9, 40)) == 0
    columns = random.integers(0, 4, size=len(weights))
    ranked = rank_columns(scores, positive, ~positive)
    first = auc_of_each(ranked, weights, columns)
    monkeypatch.setattr(kernels, "has_numba", lambda: False)
    np.testing.assert_array_equal(auc_of_each(ranked, weights, columns), first)


def test_values_are_asked_for_once_a_column() -> None:
    asked: list[tuple[int, list[int]]] = []

    def value(rows: np.ndarray, column: int) -> np.ndarray:
        asked.append((column, rows.tolist()))
        return 100.0 * column + rows

    found = by_column(value, np.array([2, 0, 2, 5]))
    assert found.tolist() == [200, 1, 202, 503]
    assert asked == [(0, [1]), (2, [0, 2]), (5, [3])]
