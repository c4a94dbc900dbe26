"""Tilting: its parts agree with their definitions, and its bounds behave as bounds of an area must."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import multinomial
from sklearn.metrics import roc_auc_score

from assay.errors import UserError
from assay.results.prediction_matrix import check_predictions
from assay.uncertainty.bbc import Search, prepare
from assay.uncertainty.draws import draw_within
from assay.uncertainty.methods import find_interval
from assay.uncertainty.result import Options
from assay.uncertainty.single_model import judge
from assay.uncertainty.tilting import _draw, _Drawn, _improbability, _influence, _ranks, _root

N = 120
KEEP = np.isin(np.arange(N) % 8, (1, 4))
METHODS = ["tilting", "tilting_10p", "mabt"]


def search(seed: int = 0, c: int = 10, effect: float = 0.8, n: int = N) -> Search:
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    values = random.normal(size=(n, c)) + effect * y[:, None]
    return prepare(check_predictions(y, values, np.arange(n) // 2 % 3), "auc")


def drawn_of(own: Search, models=None, **said):
    options = Options(evaluate=KEEP, **said)
    judged = judge(own, options, np.random.default_rng(0))
    models = np.array([judged.best]) if models is None else models
    return judged, _draw(judged, models, options, np.random.default_rng(1))


def test_samples_are_drawn_within_classes_and_scored_as_their_rows() -> None:
    judged, drawn = drawn_of(search(), np.arange(3), resamples=20)
    assert drawn.weights.shape == (20, KEEP.sum()) and drawn.areas.shape == (20, 3)
    assert (drawn.weights[:, judged.positive].sum(axis=1) == judged.positive.sum()).all()
    for own, areas in zip(drawn.weights, drawn.areas, strict=True):
        rows = np.repeat(np.arange(len(own)), own)
        wanted = [roc_auc_score(judged.positive[rows], judged.scores[rows, c]) for c in range(3)]
        np.testing.assert_allclose(areas, wanted)
    np.testing.assert_array_equal(drawn.observed, judged.areas[:3])


def test_influence_without_enough_draws_is_each_rows_share_of_won_pairs() -> None:
    judged, drawn = drawn_of(search(), resamples=20)
    found = _influence(drawn.weights, drawn.areas[:, 0], judged, judged.best)
    score, positive = judged.scores[:, judged.best], judged.positive
    wanted = np.where(
        positive,
        [(one > score[~positive]).mean() for one in score],
        [(score[positive] > one).mean() for one in score],
    )
    area = judged.areas[judged.best]
    np.testing.assert_allclose(found, wanted - area, atol=1e-12)


def test_influence_by_regression_is_near_that_of_pairs() -> None:
    judged, drawn = drawn_of(search(), resamples=4000)
    by_draws = _influence(drawn.weights, drawn.areas[:, 0], judged, judged.best)
    by_pairs = _influence(drawn.weights[:10], drawn.areas[:10, 0], judged, judged.best)
    assert np.corrcoef(by_draws, by_pairs)[0, 1] > 0.99
    np.testing.assert_allclose(by_draws, by_pairs, atol=0.05)
    for own in (judged.positive, ~judged.positive):
        assert by_draws[own].mean() == pytest.approx(0, abs=1e-12)


def test_a_tilted_sample_has_its_multinomial_probability() -> None:
    random = np.random.default_rng(0)
    n, tau = 6, -1.7
    weights = random.multinomial(n, np.full(n, 1 / n), size=400)
    areas, influence = random.random((400, 1)), random.normal(size=n)
    found = _improbability(_Drawn(weights, areas, np.array([0.6])), 0, influence)(tau)
    tilted = np.exp(tau * influence) / np.exp(tau * influence).sum()
    ratio = multinomial.pmf(weights, n, tilted) / multinomial.pmf(weights, n, np.full(n, 1 / n))
    assert found == pytest.approx((ratio * (areas[:, 0] > 0.6)).mean())


def test_without_a_tilt_the_probability_is_the_share_of_draws_above_and_half_of_the_ties() -> None:
    areas = np.array([[0.5], [0.7], [0.7], [0.9], [0.8]])
    drawn = _Drawn(np.ones((5, 4), dtype=int), areas, np.array([0.7]))
    assert _improbability(drawn, 0, np.zeros(4))(0.0) == pytest.approx((2 + 0.5 * 2) / 5)


def test_the_mean_weight_of_tilted_samples_is_one() -> None:
    n = 12
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=20_000)
    always = _Drawn(weights, np.ones((20_000, 1)), np.array([0.0]))
    probability = _improbability(always, 0, np.linspace(-0.3, 0.3, n))
    for tau in (-1.0, -0.5, 0.5):
        assert probability(tau) == pytest.approx(1, abs=0.03)


@given(st.floats(0.005, 0.2), st.floats(0.3, 4.0))
@example(0.1, 1.0)  # three steps away it is half the level exactly
@settings(deadline=None)
def test_the_tilt_is_where_the_probability_falls_to_the_level(level: float, slope: float) -> None:
    def probability(tau: float) -> float:
        return 0.5 / (1 + (slope * tau) ** 2)

    found = _root(probability, level, 1.0)
    wanted = brentq(lambda tau: probability(tau) - level, -100, 0)
    if found is None:
        assert probability(-20) > level / 2
    else:
        assert found == pytest.approx(wanted, abs=1e-7) and probability(found) <= level


@pytest.mark.parametrize(
    "probability",
    [lambda tau: 0.5, lambda tau: 0.06 + 0.01 * tau, lambda tau: 0.0],
    ids=["never falls", "is low from the start", "is nothing"],
)
def test_a_level_that_is_not_reached_has_no_tilt(probability) -> None:
    assert _root(probability, 0.05, 1.0) is None


def test_ranks_are_shares_of_each_column_and_equal_ones_have_the_highest() -> None:
    areas = np.array([[0.1, 0.5], [0.3, 0.5], [0.2, 0.5]])
    np.testing.assert_allclose(_ranks(areas), [[1 / 4, 3 / 4], [3 / 4, 3 / 4], [2 / 4, 3 / 4]])


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_a_bound_is_below_the_area_and_falls_with_alpha(method: str, seed: int) -> None:
    own = search(seed)
    bounds = [
        find_interval(own, method, Options(evaluate=KEEP, alpha=alpha, resamples=300))
        for alpha in (0.02, 0.05, 0.2)
    ]
    lower = [one.lower for one in bounds if one.lower is not None]
    assert lower == sorted(lower) and all(one < bounds[0].estimate for one in lower)
    for one in bounds:
        assert (
            (one.lower is None) == (one.upper is None) == any("infeasible" in text for text in one.warnings)
        )


@pytest.mark.parametrize("method", METHODS)
def test_bounds_depend_on_ranks_only(method: str) -> None:
    own = search()
    data = own.data
    changed = prepare(check_predictions(data.y, np.exp(data.values[0]), data.folds[0]), "auc")
    options = Options(evaluate=KEEP, resamples=300)
    one, two = (find_interval(each, method, options, seed=1) for each in (own, changed))
    assert one.lower == two.lower is not None and one.winner == two.winner


@pytest.mark.parametrize("method", METHODS)
def test_given_samples_take_the_place_of_draws(method: str) -> None:
    own = search()
    positive = own.data.y[KEEP]
    weights = draw_within(200, positive, np.random.default_rng(5))
    one, two = (find_interval(own, method, Options(evaluate=KEEP, weights=weights), seed) for seed in (1, 2))
    assert one.lower == two.lower is not None and one.n_boot == 200
    shuffled = np.random.default_rng(0).permutation(weights)
    moved = find_interval(own, method, Options(evaluate=KEEP, weights=shuffled))
    assert moved.lower == pytest.approx(one.lower, abs=1e-6), "the order of draws does not matter"


def test_samples_with_another_share_of_classes_are_refused() -> None:
    own = search()
    weights = np.ones((3, KEEP.sum()), dtype=int)
    weights[1, :2] = 2, 0  # these two rows are of different classes
    with pytest.raises(UserError, match="as many rows of each class as the evaluation has"):
        find_interval(own, "tilting", Options(evaluate=KEEP, weights=weights))
    with pytest.raises(UserError, match="All draws of rows cannot be listed"):
        find_interval(own, "tilting", Options(evaluate=KEEP, resamples="exact"))


def test_two_sides_bound_from_both() -> None:
    own = search()
    both = find_interval(own, "tilting", Options(evaluate=KEEP, side="two", alpha=0.1))
    one = find_interval(own, "tilting", Options(evaluate=KEEP, alpha=0.05))
    assert both.lower == one.lower < both.estimate < both.upper < 1
    assert one.upper == 1


def test_turned_scores_mirror_the_two_sided_interval() -> None:
    own = search(c=1)
    data = own.data
    turned = prepare(check_predictions(data.y, -data.values[0], data.folds[0]), "auc")
    options = Options(evaluate=KEEP, side="two", resamples=500)
    plain, mirrored = (find_interval(each, "tilting", options, seed=4) for each in (own, turned))
    assert mirrored.lower == pytest.approx(1 - plain.upper, abs=1e-6)
    assert mirrored.upper == pytest.approx(1 - plain.lower, abs=1e-6)


def test_of_the_best_tenth_of_one_model_tilting_is_the_same() -> None:
    own = search(c=1)
    options = Options(evaluate=KEEP, resamples=300)
    assert find_interval(own, "tilting", options).lower == find_interval(own, "tilting_10p", options).lower


@pytest.mark.parametrize(("alpha", "side"), [(0.25, "one"), (0.5, "two"), (0.6, "one")])
def test_a_level_past_a_quarter_is_said_to_be_too_high(alpha: float, side) -> None:
    found = find_interval(search(), "tilting", Options(evaluate=KEEP, alpha=alpha, side=side))
    assert found.lower is None and found.upper is None and found.estimate is not None
    assert any("tilting cannot bound at a level of" in text for text in found.warnings)


def test_an_area_of_one_is_not_lowered_by_any_tilt() -> None:
    found = find_interval(search(effect=50.0), "mabt", Options(evaluate=KEEP, resamples=100))
    assert found.estimate == 1 and found.lower is None
    assert "the area is 1, and no weights of the rows lower it" in found.warnings[-1]
