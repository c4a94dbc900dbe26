"""Bayesian and corrected tests agree with baycomp and with their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.analysis.bayes import (
    compare_on_tasks,
    correlated_t,
    nadeau_bengio,
    signed_rank,
    signed_rank_pairs,
)
from assay.analysis.impute import gather
from assay.errors import ConfigError, UserError

from .conftest import random_scores, scores_frame


@pytest.mark.parametrize("rope", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_signed_rank_is_that_of_baycomp(seed: int, rope: float) -> None:
    baycomp = pytest.importorskip("baycomp")
    random = np.random.default_rng(seed)
    x, y = random.normal(0.1, 0.3, size=20), np.zeros(20)
    expected = baycomp.SignedRankTest.probs(x, y, rope=rope, nsamples=50_000, random_state=0)
    found = signed_rank(x - y, rope, random)
    # baycomp gives (left, rope, right) of x better, equivalent, y better; without a rope two of them.
    whole = expected if len(expected) == 3 else (expected[0], 0.0, expected[1])
    np.testing.assert_allclose(found, whole, atol=0.015)


@pytest.mark.parametrize("rope", [0.0, 0.05])
def test_correlated_t_is_that_of_baycomp(rope: float) -> None:
    baycomp = pytest.importorskip("baycomp")
    random = np.random.default_rng(0)
    x, y = random.normal(0.8, 0.05, size=10), random.normal(0.78, 0.05, size=10)
    expected = baycomp.CorrelatedTTest.probs(x, y, rope=rope, runs=1)
    found = correlated_t(x - y, 1 / 9, rope)
    whole = expected if len(expected) == 3 else (expected[0], 0.0, expected[1])
    np.testing.assert_allclose(found, whole, atol=1e-9)


def test_corrected_t_is_its_formula_and_wider_than_the_plain_one() -> None:
    d = np.random.default_rng(1).normal(0.1, 0.2, size=10)
    t, p = nadeau_bengio(d, 1 / 9)
    expected = d.mean() / np.sqrt((1 / 10 + 1 / 9) * d.var(ddof=1))
    assert (t, p) == pytest.approx((expected, 2 * stats.t.sf(abs(expected), 9)))
    assert p > stats.ttest_1samp(d, 0).pvalue
    assert nadeau_bengio(np.zeros(5), 0.25) == (0.0, 1.0)
    assert np.isnan(nadeau_bengio([0.1], 0.25)[0])


def test_pairs_are_mirror_images_and_probabilities() -> None:
    means = np.random.default_rng(2).normal(size=(12, 3))
    found = signed_rank_pairs(means, ["a", "b", "c"], 0.1, np.random.default_rng(0))
    assert [(one.a, one.b) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    for one in found:
        assert one.p_a + one.p_rope + one.p_b == pytest.approx(1)
    turned = signed_rank_pairs(means[:, ::-1], ["c", "b", "a"], 0.1, np.random.default_rng(0))
    assert turned[2].p_a == pytest.approx(found[0].p_b, abs=0.02)
    with pytest.raises(ConfigError, match="`rope=-1`"):
        signed_rank_pairs(means, ["a", "b", "c"], -1.0, np.random.default_rng(0))


def test_no_difference_is_equivalence_and_a_large_one_is_none() -> None:
    random = np.random.default_rng(0)
    assert signed_rank(np.zeros(10), 0.01, random)[1] == pytest.approx(1)
    assert signed_rank(np.full(10, 0.5), 0.01, random)[0] > 0.99
    assert correlated_t(np.full(5, 0.2), 0.25, 0.1) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_signed_rank_with_ties_is_that_of_baycomp(seed: int) -> None:
    """The edge of the region lies between tenths: on it baycomp counts half a pair, the paper a whole one."""
    baycomp = pytest.importorskip("baycomp")
    random = np.random.default_rng(seed)
    x, y = random.normal(0.75, 0.1, size=(2, 25)).round(1)
    expected = baycomp.two_on_multiple(x, y, rope=0.03, nsamples=50_000, random_state=0)
    # Twice 50 000 draws: four standard errors of the difference are 0.0127.
    np.testing.assert_allclose(signed_rank(x - y, 0.03, random), expected, atol=0.015)


def test_every_pair_of_a_table_is_that_of_baycomp() -> None:
    baycomp = pytest.importorskip("baycomp")
    means = np.random.default_rng(5).normal(0.75, 0.1, size=(15, 3))
    for one in signed_rank_pairs(means, ["0", "1", "2"], 0.02, np.random.default_rng(0)):
        a, b = means[:, int(one.a)], means[:, int(one.b)]
        expected = baycomp.two_on_multiple(a, b, rope=0.02, nsamples=50_000, random_state=1)
        np.testing.assert_allclose((one.p_a, one.p_rope, one.p_b), expected, atol=0.015)
        assert one.mean_difference == pytest.approx((a - b).mean()) and one.n_tasks == 15


@pytest.mark.parametrize(("folds", "runs"), [(5, 1), (10, 1), (10, 10)])
def test_correlated_t_of_repeated_folds_is_that_of_baycomp(folds: int, runs: int) -> None:
    baycomp = pytest.importorskip("baycomp")
    x, y = np.random.default_rng(folds).normal(0.8, 0.05, size=(2, folds * runs)).round(2)
    expected = baycomp.two_on_single(x, y, rope=0.01, runs=runs)
    np.testing.assert_allclose(correlated_t(x - y, 1 / (folds - 1), 0.01), expected, atol=1e-9)


tenths = st.lists(st.integers(-9, 9).map(lambda one: one / 10), min_size=1, max_size=12)


@settings(deadline=None, max_examples=40)
@given(tenths, st.sampled_from([0.0, 0.05, 0.1, 0.33]))
def test_turning_the_pair_turns_the_probabilities(d: list[float], rope: float) -> None:
    there, back = (
        signed_rank(sign * np.array(d), rope, np.random.default_rng(0), samples=500) for sign in (1, -1)
    )
    assert sum(there) == pytest.approx(1) and min(there) >= 0
    assert there == pytest.approx(back[::-1])


@settings(deadline=None, max_examples=40)
@given(tenths.filter(lambda d: len(d) > 1), st.sampled_from([0.0, 0.1]))
def test_turning_the_pair_turns_the_tests_on_one_task(d: list[float], rope: float) -> None:
    there, back = (correlated_t(sign * np.array(d), 0.25, rope) for sign in (1, -1))
    assert there == pytest.approx(back[::-1]) and sum(there) == pytest.approx(1)
    (t, p), (other_t, other_p) = (nadeau_bengio(sign * np.array(d), 0.25) for sign in (1, -1))
    assert t == -other_t and p == other_p and 0 <= p <= 1


@settings(deadline=None, max_examples=30)
@given(tenths)
def test_a_wider_region_is_more_probable(d: list[float]) -> None:
    shares = [
        signed_rank(d, rope, np.random.default_rng(0), samples=300)[1] for rope in (0.0, 0.07, 0.31, 1.0)
    ]
    assert shares == sorted(shares) and shares[-1] == 1


def test_one_fold_has_no_test_and_equal_folds_are_sure() -> None:
    assert np.isnan(nadeau_bengio([0.1], 0.25)).all() and np.isnan(correlated_t([0.1], 0.25, 0.0)).all()
    assert nadeau_bengio(np.full(4, 0.5), 0.25) == (np.inf, 0.0)
    assert nadeau_bengio(np.full(4, -0.5), 0.25) == (-np.inf, 0.0)
    assert correlated_t(np.zeros(4), 0.25, 0.0) == (0.0, 1.0, 0.0)


def test_one_task_is_a_guess_and_one_framework_has_no_pair() -> None:
    (one,) = signed_rank_pairs(np.array([[0.9, 0.1]]), ["a", "b"], 0.01, np.random.default_rng(0))
    assert 0.5 < one.p_a < 0.95 and one.p_b == 0 and one.n_tasks == 1
    with pytest.raises(UserError, match="At least two frameworks"):
        signed_rank_pairs(np.array([[0.9]]), ["a"], 0.01, np.random.default_rng(0))


def test_no_task_is_refused() -> None:
    with pytest.raises(UserError, match="no task"):
        signed_rank_pairs(np.zeros((0, 2)), ["a", "b"], 0.01, np.random.default_rng(0))


def test_missing_scores_are_refused() -> None:
    means = np.array([[0.5, np.nan], [0.5, 0.4]])
    with pytest.raises(UserError, match="missing"):
        signed_rank_pairs(means, ["a", "b"], 0.01, np.random.default_rng(0))


@pytest.mark.parametrize("rope", [0.0, 0.1])
def test_a_pair_on_each_task_is_that_of_baycomp(rope: float) -> None:
    baycomp = pytest.importorskip("baycomp")
    scores = random_scores(np.random.default_rng(4), 5, 10, 3)
    found = compare_on_tasks(scores, "f2", "f0", rope)
    assert [one.task for one in found] == list(scores.tasks)
    for t, one in enumerate(found):
        a, b = scores.values[scores.task == t][:, [2, 0]].T
        expected = baycomp.two_on_single(a, b, rope=rope)
        own = (one.p_a, one.p_rope, one.p_b) if rope else (one.p_a, one.p_b)
        np.testing.assert_allclose(own, expected, atol=1e-9)
        assert one.mean_difference == pytest.approx((a - b).mean()) and one.n_folds == 10


def test_a_pair_on_a_task_is_positive_where_the_error_of_the_first_is_lower() -> None:
    table = scores_frame(
        {"a": {"x": [1.0, 2.0, 3.0]}, "b": {"x": [2.0, 3.5, 4.0]}}, metric="rmse", higher_is_better=False
    )
    (found,) = compare_on_tasks(gather(table, "none"), "a", "b")
    assert found.mean_difference == pytest.approx(3.5 / 3) and found.t > 0 and found.p_a > 0.5 > found.p_b


def test_tasks_with_one_shared_fold_are_left_out_and_unknown_names_are_refused() -> None:
    table = scores_frame({"a": {"x": [0.5, 0.6], "y": [0.5]}, "b": {"x": [0.5, None], "y": [0.5]}})
    scores = gather(table, "none")
    assert compare_on_tasks(scores, "a", "b") == []
    with pytest.raises(UserError, match="Unknown framework 'nobody': give two of a, b"):
        compare_on_tasks(scores, "a", "nobody")
