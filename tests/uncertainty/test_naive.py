"""What is done without a correction is what a textbook does, and Tibshirani's correction is its formula."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import UserError
from assay.results.prediction_matrix import check_predictions
from assay.uncertainty.bbc import Search, prepare
from assay.uncertainty.methods import find_interval, try_all
from assay.uncertainty.result import Options


def numbers(metric: str = "mae", n: int = 40, c: int = 4, folds: int = 5, seed: int = 0) -> Search:
    random = np.random.default_rng(seed)
    y = random.normal(size=n)
    values = y[:, None] + random.normal(size=(n, c)) * np.linspace(1, 1.2, c)
    return prepare(check_predictions(y, values, np.arange(n) % folds), metric)


def test_naive_folds_lists_every_ordered_draw_of_the_winners_folds() -> None:
    own = numbers(folds=4)
    scores = own.by_fold[0][:, own.winner]
    every = np.sort([np.mean(drawn) for drawn in product(scores, repeat=4)])
    found = find_interval(own, "naive_folds", Options(side="two"))
    assert found.exact and found.n_boot == 35 and found.estimate == pytest.approx(every.mean())
    wanted = np.quantile(every, (0.025, 0.975), method="inverted_cdf")
    np.testing.assert_allclose((found.lower, found.upper), wanted)


def test_naive_folds_of_given_draws_are_their_weighted_means() -> None:
    own = numbers(folds=5)
    draws = np.array([[5, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 2, 1, 2, 0]])
    found = find_interval(own, "naive_folds", Options(weights=draws))
    scores = own.by_fold[0][:, own.winner]
    wanted = [scores[0], scores.mean(), (2 * scores[1] + scores[2] + 2 * scores[3]) / 5]
    np.testing.assert_allclose(found.distribution, wanted)
    assert found.n_boot == 3 and not found.exact
    with pytest.raises(UserError, match="A draw of the weights has no fold at all"):
        find_interval(own, "naive_folds", Options(weights=draws * [[1], [0], [1]]))


def test_naive_folds_of_many_folds_are_drawn_and_cannot_be_listed() -> None:
    own = numbers(folds=11)
    assert find_interval(own, "naive_folds", Options()).n_boot == 1000
    with pytest.raises(UserError, match="All draws of 11 folds are too many to list"):
        find_interval(own, "naive_folds", Options(resamples="exact"))


def test_naive_samples_scores_the_winner_on_the_rows_drawn() -> None:
    own = numbers()
    draws = np.random.default_rng(1).multinomial(40, np.full(40, 1 / 40), size=9)
    found = find_interval(own, "naive_samples", Options(weights=draws, side="two"))
    errors = np.abs(own.data.y - own.data.values[0][:, own.winner])
    np.testing.assert_allclose(found.distribution, draws @ errors / 40)
    assert found.estimate == pytest.approx(errors.mean())
    assert (found.lower, found.upper) == (found.distribution.min(), found.distribution.max())


def test_a_draw_of_no_rows_is_left_out_and_told() -> None:
    y = np.arange(40) % 2
    values = np.clip(0.4 * y[:, None] + 0.6 * np.random.default_rng(0).random((40, 2)), 0, 1)
    draws = np.ones((5, 40), dtype=int)
    draws[2] = 0
    for metric in ("acc", "auc", "balacc", "max_pce", "f1", "mcc"):
        own = prepare(check_predictions(y, values), metric)
        found = find_interval(own, "naive_samples", Options(weights=draws))
        assert len(found.distribution) == 4 and np.ptp(found.distribution) == 0, metric
        assert any("1 of 5 draws" in text for text in found.warnings), metric


def test_tt_subtracts_how_much_better_the_best_of_each_fold_is() -> None:
    for metric, sign in (("mae", -1), ("r2", 1)):
        own = numbers(metric)
        scores = sign * own.by_fold[0]
        bias = np.mean([fold.max() - fold[own.winner] for fold in scores])
        found = find_interval(own, "tt", Options())
        assert found.estimate == pytest.approx(sign * (scores[:, own.winner].mean() - bias))
        assert found.lower is None and found.upper is None and found.exact
        assert "it gives no interval" in found.warnings[-1]


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_tt_is_never_better_than_the_cross_validation(seed: int, columns: int) -> None:
    found = find_interval(numbers("mae", c=columns, seed=seed), "tt", Options())
    assert found.bias <= 1e-12, "of a loss the corrected one is larger"
    if columns == 1:
        assert found.bias == pytest.approx(0)


def test_folds_without_a_value_are_refused_and_the_other_methods_answer() -> None:
    y = np.arange(40) % 2
    values = y[:, None] + np.random.default_rng(0).normal(size=(40, 3))
    own = prepare(check_predictions(y, values, range(40)), "auc")  # a row a fold: no fold has an area
    with pytest.raises(UserError, match=r"no value in any fold: naive_folds .* Take naive_samples"):
        find_interval(own, "naive_folds", Options())
    with pytest.raises(UserError, match=r"no value in any fold: tt .* Take bbc"):
        find_interval(own, "tt", Options())
    found = {one.method: one for one in try_all(own, Options(resamples=50))}
    assert found["tt"].estimate is None and found["bbc"].lower is not None
