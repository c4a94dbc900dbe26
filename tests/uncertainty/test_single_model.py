"""Bounds of one model: the split, the variances and the corrections agree with their definitions."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from assay.errors import UserError
from assay.results.prediction_matrix import check_predictions
from assay.uncertainty.bbc import Search, prepare
from assay.uncertainty.methods import find_interval
from assay.uncertainty.result import Options
from assay.uncertainty.single_model import _delong_variance, judge, sidak

N, C = 160, 20


def search(seed: int = 0, n: int = N, c: int = C, digits: int = 1, **said) -> Search:
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    values = (random.normal(size=(n, c)) + np.linspace(0.6, 1.2, c) * y[:, None]).round(digits)
    return prepare(check_predictions(y, values, np.arange(n) // 2 % 5, **said), "auc")


def judged(own: Search, **said):
    return judge(own, Options(**said), np.random.default_rng(3))


KEEP = np.isin(np.arange(N) % 16, (3, 6, 9, 12))  # ten rows of each class for every two of four


def test_the_split_keeps_a_quarter_for_the_evaluation() -> None:
    found = judged(search())
    assert len(found.positive) == N // 4 and found.scores.shape == (N // 4, C) and found.n_rows == N
    assert 0 < found.positive.sum() < N // 4


def test_models_are_chosen_on_the_learning_rows_and_judged_on_the_others() -> None:
    own = search()
    found = judged(own, evaluate=KEEP)
    y, values, folds = own.data.y, own.data.values[0], own.data.folds[0]
    by_fold = [
        [roc_auc_score(y[rows], values[rows, c]) for c in range(C)]
        for rows in (~KEEP & (folds == k) for k in range(5))
    ]
    np.testing.assert_allclose(found.chosen_by, np.mean(by_fold, axis=0))
    np.testing.assert_allclose(found.areas, [roc_auc_score(y[KEEP], values[KEEP, c]) for c in range(C)])
    assert found.best == np.argmax(found.chosen_by)
    assert set(found.top) == set(np.argsort(-found.chosen_by)[:2]), "a tenth of twenty"
    assert found.final in found.top and found.areas[found.final] == found.areas[found.top].max()


def test_other_rows_of_the_evaluation_do_not_change_who_is_best() -> None:
    own = search()
    values = own.data.values[0].copy()
    values[KEEP] = np.random.default_rng(9).normal(size=values[KEEP].shape)
    other = prepare(check_predictions(own.data.y, values, own.data.folds[0]), "auc")
    one, two = judged(own, evaluate=KEEP), judged(other, evaluate=KEEP)
    assert one.best == two.best and one.top.tolist() == two.top.tolist()
    assert one.areas[one.best] != two.areas[two.best]


@pytest.mark.parametrize(
    ("evaluate", "text"),
    [
        (np.ones(N, dtype=bool), "leaves a fold"),
        (np.zeros(N, dtype=bool), "leaves a fold, or the rows of the evaluation, without one of the classes"),
        (np.arange(N) % 2 == 0, "without one of the classes"),
        (np.ones(7, dtype=bool), r"The split is of \(7,\) rows, the predictions of \(160,\)"),
    ],
)
def test_a_given_split_that_cannot_judge_is_refused(evaluate: np.ndarray, text: str) -> None:
    with pytest.raises(UserError, match=text):
        judged(search(), evaluate=evaluate)


def test_repeats_and_several_classes_are_refused() -> None:
    random = np.random.default_rng(0)
    y = np.tile(np.arange(40) % 2, 2)
    folds = np.arange(80) // 2 % 4
    twice = check_predictions(y, random.random((80, 3)), folds, repeats=np.repeat([0, 1], 40))
    with pytest.raises(UserError, match="for one cross-validation, not for repeats"):
        judged(prepare(twice, "auc"))
    three = check_predictions(np.arange(60) % 3, random.random((60, 2, 3)), np.arange(60) // 3 % 4)
    with pytest.raises(UserError, match="area under the ROC curve of two classes"):
        judged(prepare(three, "auc"))


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_delongs_variance_is_that_of_a_jackknife_over_each_class(seed: int) -> None:
    found = judged(search(seed))
    score, positive = found.scores[:, found.best], found.positive
    wanted = 0.0
    for own in (positive, ~positive):
        left_out = []
        for one in np.flatnonzero(own):
            rest = np.arange(len(score)) != one
            left_out.append(roc_auc_score(positive[rest], score[rest]))
        n = len(left_out)
        wanted += (n - 1) / n * ((np.array(left_out) - np.mean(left_out)) ** 2).sum()
    assert _delong_variance(found, found.best) == pytest.approx(wanted)


@pytest.mark.parametrize("side", ["one", "two"])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_delongs_interval_is_normal_around_the_area(side, alpha: float) -> None:
    own = search()
    found = find_interval(own, "delong", Options(evaluate=KEEP, side=side, alpha=alpha))
    one = judged(own, evaluate=KEEP)
    tail = alpha if side == "one" else alpha / 2
    reach = norm.ppf(1 - tail) * sqrt(_delong_variance(one, one.best))
    assert found.estimate == one.areas[one.best] and found.winner == one.best and found.exact
    assert found.lower == pytest.approx(found.estimate - reach)
    assert found.upper == (1.0 if side == "one" else pytest.approx(min(1.0, found.estimate + reach)))


def hanley(area: float, above: int, below: int) -> float:
    q1, q2 = area / (2 - area), 2 * area * area / (1 + area)
    inner = area * (1 - area) + (above - 1) * (q1 - area * area) + (below - 1) * (q2 - area * area)
    return sqrt(inner / (above * below))


def test_hanley_and_mcneils_interval_is_their_formula() -> None:
    own = search()
    one = judged(own, evaluate=KEEP)
    above, below = int(one.positive.sum()), int((~one.positive).sum())
    found = find_interval(own, "hanley_mcneil", Options(evaluate=KEEP))
    wanted = found.estimate - norm.ppf(0.95) * hanley(found.estimate, above, below)
    assert found.lower == pytest.approx(wanted)


@pytest.mark.parametrize("method", ["delong", "hanley_mcneil"])
def test_bounds_of_the_best_tenth_have_sidaks_level(method: str) -> None:
    own = search()
    one = judged(own, evaluate=KEEP)
    found = find_interval(own, f"{method}_10p", Options(evaluate=KEEP))
    above, below = int(one.positive.sum()), int((~one.positive).sum())
    if method == "delong":
        deviation = sqrt(_delong_variance(one, one.final))
    else:
        deviation = hanley(float(one.areas[one.final]), above, below)
    level = 1 - 0.95 ** (1 / len(one.top))
    assert len(one.top) == 2 and found.winner == one.final
    assert found.lower == pytest.approx(one.areas[one.final] - norm.ppf(1 - level) * deviation)


@given(st.floats(0.001, 0.5), st.integers(1, 50))
@settings(deadline=None)
def test_independent_bounds_at_sidaks_level_hold_together(alpha: float, n: int) -> None:
    assert (1 - sidak(alpha, n)) ** n == pytest.approx(1 - alpha)
    assert sidak(alpha, n) <= alpha * (1 + 1e-12) and sidak(alpha, n) >= alpha / n * (1 - 1e-9)


@pytest.mark.parametrize("method", ["delong", "hanley_mcneil", "delong_10p", "hanley_mcneil_10p"])
def test_bounds_depend_on_ranks_only(method: str) -> None:
    own = search()
    data = own.data
    changed = prepare(check_predictions(data.y, np.exp(data.values[0]), data.folds[0]), "auc")
    options = Options(evaluate=KEEP, side="two")
    one, two = (find_interval(each, method, options) for each in (own, changed))
    assert (one.lower, one.estimate, one.upper, one.winner) == (
        two.lower,
        two.estimate,
        two.upper,
        two.winner,
    )


@pytest.mark.parametrize("method", ["delong", "hanley_mcneil_10p"])
def test_bounds_do_not_depend_on_the_order_of_rows(method: str) -> None:
    own = search()
    order = np.random.default_rng(0).permutation(N)
    data = own.data
    moved = prepare(check_predictions(data.y[order], data.values[0][order], data.folds[0][order]), "auc")
    one = find_interval(own, method, Options(evaluate=KEEP))
    two = find_interval(moved, method, Options(evaluate=KEEP[order]))
    assert (one.winner, one.estimate) == (two.winner, two.estimate) and one.lower == pytest.approx(two.lower)


def test_published_areas_are_turned_where_medians_are_the_other_way_round() -> None:
    own = search()
    data = own.data
    wrong = prepare(check_predictions(data.y, -data.values[0], data.folds[0]), "auc")
    plain, turned = judged(own, evaluate=KEEP, published=True), judged(wrong, evaluate=KEEP, published=True)
    assert turned.swapped.all() and not plain.swapped.any()
    np.testing.assert_allclose(turned.areas, plain.areas)
    assert judged(wrong, evaluate=KEEP).areas.max() < 0.5, "which nobody else does"


def test_probabilities_of_two_classes_are_judged_by_the_second() -> None:
    random = np.random.default_rng(0)
    y = np.arange(N) % 2
    second = 1 / (1 + np.exp(-random.normal(size=(N, 4)) - y[:, None]))
    both = np.stack([1 - second, second], axis=2)
    folds = np.arange(N) // 2 % 5
    one, two = (prepare(check_predictions(y, values, folds), "auc") for values in (second, both))
    for method in ("delong", "hanley_mcneil"):
        a, b = (find_interval(each, method, Options(evaluate=KEEP)) for each in (one, two))
        assert (a.lower, a.estimate) == pytest.approx((b.lower, b.estimate))
