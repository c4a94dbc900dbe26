"""Bayesian and corrected tests agree with baycomp and with their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.analysis.bayes import correlated_t, nadeau_bengio, signed_rank, signed_rank_pairs
from assay.errors import ConfigError


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
    with pytest.raises(ConfigError, match="--rope -1"):
        signed_rank_pairs(means, ["a", "b", "c"], -1.0, np.random.default_rng(0))


def test_no_difference_is_equivalence_and_a_large_one_is_none() -> None:
    random = np.random.default_rng(0)
    assert signed_rank(np.zeros(10), 0.01, random)[1] == pytest.approx(1)
    assert signed_rank(np.full(10, 0.5), 0.01, random)[0] > 0.99
    assert correlated_t(np.full(5, 0.2), 0.25, 0.1) == (1.0, 0.0, 0.0)
