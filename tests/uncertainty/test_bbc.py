"""The corrected intervals agree with plain resampling, and do not depend on what must not matter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.results.prediction_matrix import check_predictions
from assay.uncertainty.bbc import Search, prepare
from assay.uncertainty.methods import find_interval
from assay.uncertainty.result import Options


def numbers(seed: int = 0, n: int = 40, c: int = 5, folds: int = 4, metric: str = "mae") -> Search:
    random = np.random.default_rng(seed)
    y = random.normal(size=n)
    values = y[:, None] + random.normal(size=(n, c))
    return prepare(check_predictions(y, values, np.arange(n) % folds), metric)


def draws_of(n: int, times: int = 12, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=times)


def test_bbc_scores_the_best_in_the_bag_on_the_rows_out_of_it() -> None:
    own, draws = numbers(), draws_of(40)
    errors = np.abs(own.data.y[:, None] - own.data.values[0])
    wanted = [errors[bag == 0].mean(axis=0)[(bag @ errors).argmin()] for bag in draws]
    found = find_interval(own, "bbc", Options(weights=draws, side="two"))
    np.testing.assert_allclose(found.distribution, wanted)
    assert found.estimate == pytest.approx(np.mean(wanted)) and found.n_boot == 12


def test_bbc_f_lists_every_ordered_draw_that_leaves_a_fold_out() -> None:
    own = numbers(folds=4)
    scores = own.by_fold[0]
    every = []
    for drawn in product(range(4), repeat=4):
        outside = sorted(set(range(4)) - set(drawn))
        if outside:
            every.append(scores[outside, scores[list(drawn)].mean(axis=0).argmin()].mean())
    found = find_interval(own, "bbc_f", Options(few_folds=True, side="two"))
    assert found.exact and found.estimate == pytest.approx(np.mean(every))
    wanted = np.quantile(every, (0.025, 0.975), method="inverted_cdf")
    np.testing.assert_allclose((found.lower, found.upper), wanted)


def test_the_variance_correction_divides_the_distance_from_the_mean() -> None:
    own = numbers(metric="r2")
    wide, narrow = (find_interval(own, name, Options(side="two"), seed=2) for name in ("bbc", "bbc_vc"))
    mean = wide.distribution.mean()
    for end in ("lower", "upper"):
        distance = getattr(wide, end) - mean
        assert getattr(narrow, end) == pytest.approx(mean + distance / np.sqrt(np.e - 1))


@given(st.integers(0, 10**6), st.sampled_from(["bbc", "bbc_f", "bbc_vc"]))
@settings(max_examples=15, deadline=None)
def test_a_configuration_that_is_worse_everywhere_changes_nothing(seed: int, method: str) -> None:
    own = numbers(seed)
    y, values, folds = own.data.y, own.data.values[0], own.data.folds[0]
    reach = np.abs(values - y[:, None]).max()
    more = prepare(check_predictions(y, np.column_stack([values, y + reach + 1]), folds), "mae")
    assert more.winner == own.winner
    options = Options(few_folds=True, resamples=None if method == "bbc_f" else 50)
    one, two = (find_interval(each, method, options) for each in (own, more))
    assert (one.estimate, one.upper, one.winner) == pytest.approx((two.estimate, two.upper, two.winner))


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_and_the_names_of_folds_do_not_matter(seed: int) -> None:
    own, draws = numbers(seed), draws_of(40)
    order = np.random.default_rng(seed).permutation(40)
    names = np.array(["x", "b", "q", "a"])[own.data.folds[0]]
    moved = check_predictions(own.data.y[order], own.data.values[0][order], names[order])
    other = prepare(moved, "mae")
    assert other.winner == own.winner
    by_folds = [find_interval(each, "bbc_f", Options(few_folds=True)) for each in (own, other)]
    assert by_folds[0].estimate == pytest.approx(by_folds[1].estimate)
    assert by_folds[0].upper == pytest.approx(by_folds[1].upper)
    plain = find_interval(own, "bbc", Options(weights=draws))
    same = find_interval(other, "bbc", Options(weights=draws[:, order]))
    np.testing.assert_allclose(same.distribution, plain.distribution)


@pytest.mark.parametrize("method", ["bbc", "bbc_f", "bbc_vc"])
def test_areas_are_corrected_by_ranks_only(method: str) -> None:
    random = np.random.default_rng(0)
    y, folds = np.arange(80) % 2, np.arange(80) // 2 % 5
    values = random.normal(size=(80, 4)) + 0.5 * y[:, None]
    one, two = (prepare(check_predictions(y, each, folds), "auc") for each in (values, np.exp(values)))
    a, b = (
        find_interval(each, method, Options(resamples=50 if method != "bbc_f" else None))
        for each in (one, two)
    )
    assert (a.lower, a.estimate, a.winner) == (b.lower, b.estimate, b.winner)


def test_equal_configurations_are_won_by_the_first_and_have_nothing_to_correct() -> None:
    own = numbers(c=1)
    copies = np.repeat(own.data.values[0], 4, axis=1)
    same = prepare(check_predictions(own.data.y, copies, own.data.folds[0]), "mae")
    assert same.winner == 0
    for method in ("bbc", "bbc_f", "bbc_vc"):
        one, two = (find_interval(each, method, Options(few_folds=True), seed=3) for each in (own, same))
        assert one.estimate == pytest.approx(two.estimate) and one.upper == pytest.approx(two.upper)
