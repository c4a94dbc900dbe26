"""What every method promises: order of ends, direction, repeatability, symmetry; and what each refuses."""

from __future__ import annotations

from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import ConfigError, DataError, UserError
from assay.metrics.registry import get_metric
from assay.results.prediction_matrix import check_predictions
from assay.uncertainty.bbc import Search, _not_dominated, prepare
from assay.uncertainty.draws import all_fold_draws, draw_folds, draw_rows
from assay.uncertainty.methods import METHODS, find_interval, try_all
from assay.uncertainty.result import Options, first_best, quantiles


def search(metric: str = "auc", n: int = 120, c: int = 12, folds: int = 6, seed: int = 0, **said) -> Search:
    random = np.random.default_rng(seed)
    if get_metric(metric).needs == "values":
        y = random.normal(size=n)
        values = y[:, None] + random.normal(size=(n, c)) * np.linspace(0.5, 2, c)
    else:
        y = np.arange(n) % 2
        values = 1 / (1 + np.exp(-2 * (y[:, None] - 0.5) - random.normal(size=(n, c))))
    return prepare(check_predictions(y, values, (np.arange(n) // 2) % folds, **said), metric)


AREAS = ["delong", "hanley_mcneil", "tilting", "delong_10p", "hanley_mcneil_10p", "tilting_10p", "mabt"]
GENERAL = [name for name in METHODS if name not in AREAS]
PAIRS = [("auc", name) for name in METHODS] + [
    (metric, name)
    for metric in ("acc", "logloss", "rmse", "r2", "mae", "brier", "f1", "mcc")
    for name in GENERAL
]


@pytest.mark.parametrize(("metric", "method"), PAIRS)
@pytest.mark.parametrize("side", ["one", "two"])
def test_ends_are_in_order_and_finite_numbers(metric: str, method: str, side: str) -> None:
    own = search(metric)
    found = find_interval(own, method, Options(side=side, resamples=None))
    assert found.method == method and found.metric == metric
    assert np.isfinite(found.estimate) and np.isfinite(found.cv_score)
    if method == "tt":
        assert found.lower is None and found.upper is None and found.warnings
        return
    assert found.lower <= found.estimate <= found.upper or method.startswith("naive")
    assert found.lower <= found.upper
    if side == "one":
        record = get_metric(metric)
        best = record.high if record.higher_is_better else record.low
        assert (found.upper if record.higher_is_better else found.lower) == best
    assert found.bias == pytest.approx(found.cv_score - found.estimate)


@pytest.mark.parametrize("method", list(METHODS))
def test_the_same_seed_gives_the_same_interval(method: str) -> None:
    one, same, other = (find_interval(search(), method, Options(), seed) for seed in (3, 3, 4))
    assert (one.lower, one.estimate) == (same.lower, same.estimate)
    if not one.exact:
        assert other.lower != one.lower


@pytest.mark.parametrize("method", ["bbc", "bbc_f", "bbc_vc", "naive_samples", "delong", "mabt"])
def test_a_stricter_level_is_wider(method: str) -> None:
    wide, narrow = (find_interval(search(), method, Options(alpha=alpha)).lower for alpha in (0.01, 0.2))
    assert wide < narrow


@pytest.mark.parametrize("metric", ["mse", "r2"])
def test_ends_of_losses_are_quantiles_by_the_same_rule(metric: str) -> None:
    found = find_interval(search(metric), "bbc", Options(side="two"), seed=1)
    wanted = np.quantile(found.distribution, (0.025, 0.975), method="inverted_cdf")
    assert (found.lower, found.upper) == tuple(wanted)
    one = find_interval(search(metric), "bbc", Options(), seed=1)
    bound, share = (one.upper, 0.95) if metric == "mse" else (one.lower, 0.05)
    assert bound == np.quantile(found.distribution, share, method="inverted_cdf")


def test_published_areas_are_turned_in_the_last_step_too() -> None:
    random = np.random.default_rng(0)
    y, folds = np.arange(200) % 2, np.arange(200) // 2 % 5
    values = random.normal(size=(200, 6)) - 0.7 * y[:, None]  # all the wrong way round
    wrong, right = (prepare(check_predictions(y, one, folds), "auc") for one in (values, -values))
    for method in ("tilting", "tilting_10p", "mabt"):
        for side in ("one", "two"):
            options = Options(side=side, published=True)  # type: ignore[arg-type]
            found, same = (find_interval(one, method, options, seed=2) for one in (wrong, right))
            assert found.lower < found.estimate < found.upper
            assert found.lower == pytest.approx(same.lower, abs=1e-6) and found.upper == pytest.approx(
                same.upper
            )


def test_an_estimate_lies_within_its_draws_also_by_rounding() -> None:
    y = np.arange(70) % 2
    own = prepare(check_predictions(y, np.stack([y, y], axis=1), np.arange(70) // 2 % 7), "auc")
    for method in ("bbc", "bbc_f", "bbc_vc"):
        found = find_interval(own, method, Options())
        assert found.lower == found.estimate == 1.0 and not found.reliable


def test_a_naive_draw_needs_every_class_in_the_bag_only() -> None:
    y = np.r_[0, np.ones(30, dtype=int)]
    own = prepare(check_predictions(y, np.random.default_rng(0).random((31, 2)), np.arange(31) % 5), "auc")
    found = find_interval(own, "naive_samples", Options())
    assert found.lower <= found.estimate and not found.reliable
    given = np.ones((20, 31), dtype=int)
    given[3, 0], given[3, 1] = 0, 2
    replayed = find_interval(own, "naive_samples", Options(weights=given))
    assert replayed.n_boot == 20 and "1 of 20 draws" in " ".join(replayed.warnings)
    with pytest.raises(UserError, match="Draw 0 of the weights lacks rows in the bag or out of it"):
        plain = prepare(check_predictions(y, np.random.default_rng(0).random((31, 2))), "acc")
        find_interval(plain, "bbc", Options(weights=np.ones((2, 31), dtype=int)))
    both = find_interval(own, "naive_samples", Options(weights=given, resamples=50))
    assert "resamples has no effect on naive_samples here." in both.warnings


def test_correction_grows_with_what_is_chosen_from() -> None:
    random = np.random.default_rng(0)
    y = np.arange(100) % 2
    noise = random.normal(size=(100, 200))  # nobody knows anything: the truth is 0.5
    folds = np.arange(100) // 2 % 10
    few, many = (prepare(check_predictions(y, noise[:, :c], folds), "auc") for c in (2, 200))
    found = find_interval(many, "bbc", Options())
    assert found.cv_score > 0.6 and abs(found.estimate - 0.5) < 0.05 and found.lower < 0.5
    assert found.bias > find_interval(few, "bbc", Options()).bias
    assert find_interval(many, "naive_folds", Options()).lower > 0.5, "and this is why"


def test_repeats_are_averaged_and_of_the_same_rows() -> None:
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    one = y[:, None] + random.normal(size=(60, 5))
    folds = np.arange(60) // 2 % 6
    single = prepare(check_predictions(y, one, folds), "auc")
    twice = check_predictions(
        np.tile(y, 2), np.tile(one, (2, 1)), np.tile(folds, 2), repeats=np.repeat([0, 1], 60)
    )
    double = prepare(twice, "auc")
    assert double.winner == single.winner
    for method in ("bbc", "bbc_f", "tt"):
        a, b = (find_interval(own, method, Options()) for own in (single, double))
        assert (a.estimate, a.lower) == pytest.approx((b.estimate, b.lower)), method
    with pytest.raises(DataError, match="Repeat 1 does not have the true values"):
        check_predictions(np.r_[y, 1 - y], np.tile(one, (2, 1)), repeats=np.repeat([0, 1], 60))
    groups = np.r_[np.arange(60), np.arange(60)[::-1]]
    with pytest.raises(DataError, match="and groups of the first repeat"):
        check_predictions(np.ones(120), np.tile(one, (2, 1)), repeats=np.repeat([0, 1], 60), groups=groups)


def test_groups_are_drawn_whole() -> None:
    groups = np.arange(120) // 4
    draws = draw_rows(50, 120, np.random.default_rng(0), np.arange(120) % 2, groups)
    for own in draws:
        assert all(len(set(own[groups == g].tolist())) == 1 for g in range(30))
    plain = find_interval(search(), "bbc", Options())
    clustered = find_interval(search(groups=groups), "bbc", Options())
    assert clustered.lower != plain.lower


def test_stratified_draws_keep_the_classes() -> None:
    strata = np.array([0] * 90 + [1] * 10)
    draws = draw_rows(20, 100, np.random.default_rng(0), strata, stratify=True)
    assert (draws[:, strata == 1].sum(axis=1) == 10).all()


@given(st.integers(2, 7))
def test_all_draws_of_folds_are_listed(n_folds: int) -> None:
    draws, chance = all_fold_draws(n_folds, leave_one_out=False)
    assert len(draws) == comb(2 * n_folds - 1, n_folds) == len(set(map(tuple, draws.tolist())))
    assert (draws.sum(axis=1) == n_folds).all() and chance.sum() == pytest.approx(1)
    whole = chance[(draws == 1).all(axis=1)]
    assert whole == pytest.approx(factorial(n_folds) / n_folds**n_folds)
    left, chance = all_fold_draws(n_folds)
    assert len(left) == len(draws) - 1 and chance.sum() == pytest.approx(1)


def test_drawn_folds_approach_all_folds() -> None:
    own = search()
    exact = find_interval(own, "bbc_f", Options(resamples="exact"))
    drawn = find_interval(own, "bbc_f", Options(resamples=200_000))
    assert exact.exact and not drawn.exact
    assert drawn.estimate == pytest.approx(exact.estimate, abs=1e-3)
    assert (draw_folds(500, 3, np.random.default_rng(0)) == 0).any(axis=1).all()


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 12))
@settings(max_examples=80, deadline=None)
def test_leaving_out_who_cannot_win_changes_nothing(seed: int, folds: int, columns: int) -> None:
    good = np.random.default_rng(seed).integers(0, 4, size=(folds, columns)) / 3
    kept = _not_dominated(good)
    draws = all_fold_draws(folds)[0].astype(float)
    np.testing.assert_array_equal(kept[first_best(draws @ good[:, kept])], first_best(draws @ good))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.001, 0.999))
def test_quantile_has_at_least_the_share_at_or_below(values: list[float], share: float) -> None:
    array = np.array(values)
    found = quantiles(array, [share], "inverse_ecdf")[0]
    assert (array <= found).mean() >= share - 1e-9 and (array < found).mean() < share + 1e-9
    equal = np.full(len(array), 1 / len(array))
    assert quantiles(array, [share], "inverse_ecdf", equal) == [found]


def test_all_methods_answer_or_say_why() -> None:
    found = try_all(search("acc"), Options())
    assert [one.method for one in found] == list(METHODS)
    for one in found:
        assert (one.lower is None) == (one.method in (*AREAS, "tt"))
        assert one.warnings or one.method in GENERAL


# --- what is refused, or warned of -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": 1.5}, "alpha is 1.5"),
        ({"side": "both"}, "side is 'both'"),
        ({"rule": "best"}, "quantile rule"),
        ({"resamples": 0}, "0 resamples"),
    ],
)
def test_wrong_options_are_refused(said, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Options(**said)


@pytest.mark.parametrize("folds", [2, 3, 4])
def test_few_folds_are_refused_unless_one_insists(folds: int) -> None:
    own = search(folds=folds)
    with pytest.raises(UserError, match=f"There are {folds} folds.*Take bbc"):
        find_interval(own, "bbc_f", Options())
    assert find_interval(own, "bbc_f", Options(few_folds=True)).lower < 1


def test_many_folds_are_drawn() -> None:
    own = search(folds=30)
    found = find_interval(own, "bbc_f", Options())
    assert not found.exact and found.n_boot == 1000
    with pytest.raises(UserError, match="too many to list"):
        find_interval(own, "bbc_f", Options(resamples="exact"))
    with pytest.raises(UserError, match="cannot be listed"):
        find_interval(own, "bbc", Options(resamples="exact"))


def test_fold_with_one_class_is_left_out_and_told() -> None:
    y = np.r_[np.arange(90) % 2, np.ones(10, dtype=int)]
    values = y[:, None] + np.random.default_rng(0).normal(size=(100, 4))
    own = prepare(check_predictions(y, values, np.arange(100) // 10), "auc")
    assert "no value in 1 of 10 folds" in own.warnings[0]
    found = find_interval(own, "bbc_f", Options())
    assert np.isfinite(found.lower) and found.n_boot == comb(17, 9) - 1, "nine folds are left"


def test_a_row_a_fold_is_judged_on_all_rows() -> None:
    y = np.arange(40) % 2
    own = prepare(
        check_predictions(y, y[:, None] + np.random.default_rng(0).normal(size=(40, 3)), range(40)), "auc"
    )
    found = find_interval(own, "bbc", Options())
    assert "no value in any fold" in found.warnings[0] and 0.5 < found.lower < found.estimate


def test_class_with_one_row_is_refused_where_it_must_be_in_both_bags() -> None:
    y = np.r_[np.zeros(30), [1]].astype(int)
    values = np.random.default_rng(0).random((31, 3))
    with pytest.raises(DataError, match="Class '1' has one row only"):
        find_interval(prepare(check_predictions(y, values), "auc"), "bbc", Options())
    found = find_interval(prepare(check_predictions(y, values), "logloss"), "bbc", Options())
    assert np.isfinite(found.upper)


def test_constant_predictions_and_perfect_ones_have_an_interval() -> None:
    y, folds = np.arange(60) % 2, np.arange(60) // 2 % 6
    flat = prepare(check_predictions(y, np.full((60, 3), 0.5), folds), "auc")
    perfect = prepare(check_predictions(y, np.column_stack([y, 1 - y]) * 1.0, folds), "auc")
    for method in METHODS:
        one = find_interval(flat, method, Options())
        assert one.estimate == pytest.approx(0.5) and one.winner == 0, method
        best = find_interval(perfect, method, Options())
        assert best.estimate == pytest.approx(1) and best.winner == 0, method
        assert best.lower is None or best.lower == pytest.approx(1), method
    for method in ("tilting", "mabt"):
        assert any("infeasible" in text for text in find_interval(perfect, method, Options()).warnings)


def test_one_configuration_is_told() -> None:
    own = search(c=1)
    found = find_interval(own, "bbc", Options())
    assert "nothing was chosen" in found.warnings[0] and found.winner == 0


def test_without_folds_only_rows_can_be_drawn() -> None:
    y = np.arange(60) % 2
    own = prepare(check_predictions(y, y[:, None] + np.random.default_rng(0).normal(size=(60, 4))), "auc")
    assert np.isfinite(find_interval(own, "bbc", Options()).lower)
    for method in ("bbc_f", "naive_folds", "tt", "delong"):
        with pytest.raises(UserError, match="not known"):
            find_interval(own, method, Options())


@pytest.mark.parametrize("method", AREAS)
def test_methods_of_areas_refuse_others(method: str) -> None:
    with pytest.raises(UserError, match="area under the ROC curve"):
        find_interval(search("logloss"), method, Options())


def test_a_split_that_cannot_be_made_is_infeasible() -> None:
    y = np.r_[np.zeros(45), np.ones(5)].astype(int)
    values = np.random.default_rng(0).random((50, 3))
    own = prepare(check_predictions(y, values, np.r_[np.arange(45) % 5, np.arange(5)]), "auc")
    with pytest.raises(UserError, match="infeasible: no split"):
        find_interval(own, "delong", Options())


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (np.ones((3, 7), dtype=int), "need 120 columns"),
        (np.full((3, 120), 0.5), "whole numbers"),
        (np.ones((3, 120), dtype=int), "lacks a class in the bag or out of it"),
        (np.empty((0, 120), dtype=int), "at least one draw"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, text: str) -> None:
    with pytest.raises(UserError, match=text):
        find_interval(search(), "bbc", Options(weights=weights))


@pytest.mark.parametrize(
    ("y", "values", "folds", "text"),
    [
        ([0, 1, 0], np.ones((4, 2)), None, "one row each"),
        ([], np.ones((0, 2)), None, "no rows"),
        ([0, 1], [[0.1, np.nan], [1, 2]], None, "1 predictions are no numbers, the first of '1' in row 1"),
        ([0, 1], np.ones((2, 2)), [0], "2 rows, but folds have the shape"),
        ([0.1, np.nan], np.ones((2, 2)), None, "Row 2 has no true value"),
        ([0, 1], np.ones((2, 2)), [0, np.nan], "A fold or a group is missing"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(y, values, folds, text: str) -> None:
    with pytest.raises(DataError, match=text):
        check_predictions(np.array(y), values, None if folds is None else np.array(folds))


def test_folds_and_labels_may_have_any_names() -> None:
    y, random = np.arange(60) % 2, np.random.default_rng(0)
    values, folds = y[:, None] + random.normal(size=(60, 4)), np.arange(60) // 2 % 6
    plain = find_interval(prepare(check_predictions(y, values, folds), "auc"), "bbc_f", Options())
    named = check_predictions(np.array(["no", "yes"])[y], values, folds * 7 + 100)
    assert find_interval(prepare(named, "auc"), "bbc_f", Options()).lower == plain.lower


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("metric", ["rmse", "mse"])
def test_the_winner_does_not_depend_on_units(metric: str, unit: float) -> None:
    random = np.random.default_rng(0)
    y = random.normal(size=60)
    values = y[:, None] + random.normal(size=(60, 3)) * [1.0, 0.5, 0.1]
    for method in ("bbc", "bbc_f"):
        own = prepare(check_predictions(unit * y, unit * values, np.arange(60) % 6), metric)
        found = find_interval(own, method, Options())
        plain = find_interval(
            prepare(check_predictions(y, values, np.arange(60) % 6), metric), method, Options()
        )
        power = unit if metric == "rmse" else unit**2
        assert own.winner == 2 and found.estimate == pytest.approx(power * plain.estimate)


@pytest.mark.parametrize("metric", ["auc", "acc", "rmse"])
@pytest.mark.parametrize("method", ["bbc", "bbc_f", "naive_samples", "naive_folds"])
def test_bounds_by_hardly_any_error_are_warned_of(method: str, metric: str) -> None:
    y, folds = np.tile([0, 1], 30), np.arange(60) // 6
    nearly, poor = y.astype(float), y.astype(float)
    nearly[0] = 1.0
    poor[::4] = 1 - poor[::4]
    y = y.astype(float) if metric == "rmse" else y
    few = prepare(check_predictions(y, np.stack([nearly, poor], axis=1), folds), metric)
    many = prepare(check_predictions(y, np.stack([poor, 1 - poor], axis=1), folds), metric)
    few_said, many_said = (find_interval(one, method, Options()).warnings for one in (few, many))
    # One error of 60 rows is out of the bag in 37 % of draws, and in it in 63 %.
    assert any("of the draws have the best possible value" in text for text in few_said) == (
        "naive" not in method
    )
    assert not any("best possible value" in text for text in many_said)


@pytest.mark.parametrize("method", ["bbc", "bbc_f", "bbc_vc", "naive_folds", "naive_samples"])
@pytest.mark.parametrize("kind", ["perfect", "constant"])
def test_an_interval_that_is_a_point_is_named(method: str, kind: str) -> None:
    y = np.arange(80) % 2
    values = np.stack([y, y] if kind == "perfect" else [np.full(80, 0.3)] * 2, axis=1)
    own = prepare(check_predictions(y, values, np.arange(80) // 2 % 8), "auc")
    assert "is a point" in " ".join(find_interval(own, method, Options()).warnings)


def test_an_area_without_variance_is_no_bound() -> None:
    y = np.arange(80) % 2
    for values, area in ((y, "1"), (np.full(80, 0.3), "0.5"), (1 - y, "0")):
        own = prepare(check_predictions(y, np.stack([values, values], axis=1), np.arange(80) // 2 % 4), "auc")
        for alpha in (0.05, 1e-17):
            found = find_interval(own, "delong", Options(alpha=alpha))
            assert f"The area is {area} and its variance" in found.warnings[-1]
            assert found.lower == float(area)


def test_one_row_of_a_class_has_no_variance_to_go_by() -> None:
    random = np.random.default_rng(0)
    y = np.arange(80) % 8 == 0
    keep = np.zeros(80, dtype=bool)
    keep[[8, 1, 2, 3, 4, 5]] = True
    own = prepare(check_predictions(y, random.random((80, 3)), np.arange(80) % 5), "auc")
    found = find_interval(own, "delong", Options(evaluate=keep))
    assert found.lower is None and "single row" in found.warnings[-1]
    assert find_interval(own, "hanley_mcneil", Options(evaluate=keep)).lower is not None


@pytest.mark.parametrize("method", AREAS)
def test_methods_that_split_rows_refuse_groups(method: str) -> None:
    with pytest.raises(UserError, match="groups belong together"):
        find_interval(search(groups=np.arange(120) // 4), method, Options())


@pytest.mark.parametrize("method", ["bbc", "bbc_f", "naive_folds", "naive_samples", "tilting", "mabt"])
@pytest.mark.parametrize("kind", ["negative", "halves", "endless", "huge", "text", "empty", "shape"])
def test_weights_that_count_nothing_are_refused(method: str, kind: str) -> None:
    own = search()
    n = 6 if "fold" in method or method == "bbc_f" else 30 if method in AREAS else 120
    weights = np.ones((4, n))
    weights[:, 0] = 0
    bad = {
        "negative": -weights, "halves": weights / 2, "endless": np.where(weights > 0, np.inf, 0),
        "huge": weights * 2.0**55, "text": weights.astype(str), "empty": weights[:0], "shape": weights[:, :-1],
    }[kind]  # fmt: skip
    with pytest.raises(UserError, match=r"(?i)weights"):
        find_interval(own, method, Options(weights=bad))


def test_mabt_of_one_model_is_its_own_criterion() -> None:
    own = search(c=5)
    one, two = (
        find_interval(own, "mabt", Options(side=side, alpha=alpha))
        for side, alpha in (("one", 0.05), ("two", 0.1))
    )
    assert one.winner == find_interval(own, "tilting_10p", Options()).winner
    assert one.lower != find_interval(own, "tilting_10p", Options()).lower
    assert two.upper == 1 and "from below only" in two.warnings[-1] and two.lower == one.lower


@pytest.mark.parametrize("alpha", [0.5, 0.8])
def test_any_alpha_is_allowed(alpha: float) -> None:
    found = find_interval(search(), "bbc_vc", Options(alpha=alpha))
    wide = find_interval(search(), "bbc", Options(alpha=alpha))
    assert found.estimate == wide.estimate and abs(found.lower - found.estimate) < abs(
        wide.lower - wide.estimate
    )


def test_metrics_that_are_called_each_time_work_everywhere() -> None:
    own = search("pr_auc", n=40, c=3, folds=4)
    for found in try_all(own, Options(resamples=20, few_folds=True)):
        assert found.method in AREAS or found.estimate is not None, found.warnings
    without = prepare(check_predictions(own.data.y, own.data.values[0]), "pr_auc")
    assert find_interval(without, "bbc", Options(resamples=20)).lower is not None


def test_areas_below_a_half_ask_for_the_direction() -> None:
    random = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, "healthy", "Cancer")
    values = (y == "Cancer")[:, None] + random.normal(size=(60, 3))
    own = prepare(check_predictions(y, values, np.arange(60) // 2 % 5), "auc")
    assert "those of 'healthy', the second class in sorted order" in own.warnings[-1]


def test_options_without_effect_are_named() -> None:
    own = search()
    said = find_interval(own, "delong", Options(weights=np.ones((2, 5)), resamples=3)).warnings
    assert (
        "weights has no effect on delong here." in said and "resamples has no effect on delong here." in said
    )
    keep = np.arange(120) % 4 == 0
    assert (
        "split has no effect" in find_interval(own, "bbc", Options(evaluate=keep, resamples=20)).warnings[-1]
    )
    assert (
        "stratify has no effect"
        in find_interval(search("acc"), "bbc", Options(stratify=True, resamples=20)).warnings[-1]
    )
    assert not find_interval(own, "bbc", Options(stratify=True, resamples=20)).warnings


def test_the_rule_is_that_by_which_quantiles_were_read() -> None:
    own, folds = search(), np.array([[0, 2, 1, 1, 1, 1], [2, 0, 1, 1, 1, 1]])
    assert find_interval(own, "bbc_f", Options(rule="reference")).quantile_rule == "inverse_ecdf"
    assert find_interval(own, "bbc_f", Options(rule="reference", weights=folds)).quantile_rule == "reference"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"folds": np.array(["a", "b", None] * 4, dtype=object)}, "missing, in row 3"),
        ({"folds": np.array(["a", "b", float("nan")] * 4, dtype=object)}, "missing, in row 3"),
        ({"groups": np.array(["a", "b", None] * 4, dtype=object)}, "missing, in row 3"),
        ({"folds": np.zeros((12, 2))}, "folds have the shape"),
        ({"event": [1, 2] * 6}, "event has '2'"),
        ({"event": ["dead", "alive"] * 6}, "event has 'alive'"),
        ({"event": [1.0, float("nan")] * 6}, "event has 'nan'"),
    ],
)
def test_codes_that_may_mean_anything_are_refused(said, text: str) -> None:
    with pytest.raises(DataError, match=text):
        check_predictions(np.arange(12) % 2, np.random.default_rng(0).random((12, 2)), **said)


def test_one_group_is_found_at_once() -> None:
    y = np.random.default_rng(0).normal(size=20)
    own = prepare(check_predictions(y, y[:, None] + 1, groups=np.zeros(20)), "rmse")
    with pytest.raises(DataError, match="of one group"):
        find_interval(own, "bbc", Options())


@pytest.mark.parametrize("method", ["naive_folds", "naive_samples"])
def test_of_one_configuration_nothing_was_chosen(method: str) -> None:
    assert not any(
        "chosen by these very" in said for said in find_interval(search(c=1), method, Options()).warnings
    )
    assert any(
        "chosen by these very" in said for said in find_interval(search(c=2), method, Options()).warnings
    )


@pytest.mark.parametrize("method", [name for name in METHODS if name != "tt"])
def test_few_rows_are_not_relied_on_by_any_method(method: str) -> None:
    random = np.random.default_rng(0)
    y = np.arange(28) % 2
    values = random.normal(size=(28, 12)) + 0.8 * y[:, None]
    small = prepare(check_predictions(y, values, np.arange(28) // 2 % 2), "auc")
    found = find_interval(small, method, Options(few_folds=True))
    assert found.lower is None or (not found.reliable and "28 rows" in " ".join(found.warnings))


def test_few_groups_and_few_folds_are_not_relied_on() -> None:
    random = np.random.default_rng(0)
    y = np.arange(300) % 2
    values = random.normal(size=(300, 4)) + y[:, None]
    grouped = prepare(check_predictions(y, values, groups=np.arange(300) // 20), "auc")
    found = find_interval(grouped, "bbc", Options())
    assert not found.reliable and "15 groups" in found.warnings[-1]
    three = prepare(check_predictions(y, values, np.arange(300) // 2 % 3), "auc")
    found = find_interval(three, "bbc_f", Options(few_folds=True))
    assert not found.reliable and "3 folds" in found.warnings[-1]
    assert find_interval(three, "bbc", Options()).reliable
