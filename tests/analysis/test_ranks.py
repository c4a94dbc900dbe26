"""Ranks and tests agree with R's reference outputs and with independent packages."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.analysis import ranks
from assay.analysis.ranks import holm, rank_frameworks, wilcoxon_p
from assay.errors import UserError


def names(m: int) -> list[str]:
    return [f"f{j}" for j in range(m)]


@pytest.mark.shared
def test_published_results_give_the_reference_numbers(shared: Path) -> None:
    folder = shared / "reference" / "cd"
    known = json.loads((folder / "cd_reference.json").read_text())["results"]
    files = sorted(folder.glob("*_scores.csv"))
    assert files
    for file in files:
        said = known[file.name.removesuffix("_scores.csv")]
        frame = pd.read_csv(file, index_col=0).select_dtypes("number")
        found = rank_frameworks(frame.to_numpy(), list(frame.columns))
        average = dict(zip(found.frameworks, found.average, strict=True))
        assert average == pytest.approx(said["average_ranks"], abs=1e-9)
        assert found.friedman.chi2 == pytest.approx(said["friedman_tie_corrected"]["chi2"], rel=1e-9)
        assert found.friedman.chi2_uncorrected == pytest.approx(
            said["friedman_uncorrected"]["chi2"], rel=1e-9
        )
        assert pytest.approx(said["iman_davenport_tie_corrected"]["F"], rel=1e-9) == found.iman_davenport.F
        assert found.iman_davenport.F_uncorrected == pytest.approx(
            said["iman_davenport_uncorrected"]["F"], rel=1e-9
        )
        assert found.critical_distance == pytest.approx(said["nemenyi"]["critical_distance"], rel=1e-6)


def table(seed: int, n: int = 15, m: int = 5, digits: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, m)).round(digits)


@pytest.mark.parametrize("seed", range(5))
def test_friedman_is_that_of_scipy(seed: int) -> None:
    scores = table(seed)
    found = rank_frameworks(scores, names(5)).friedman
    expected = stats.friedmanchisquare(*scores.T)
    assert (found.chi2, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_nemenyi_is_that_of_scikit_posthocs(seed: int) -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    scores = table(seed)
    found = rank_frameworks(scores, names(5))
    expected = posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    order = [int(name[1:]) for name in found.frameworks]
    np.testing.assert_allclose(found.nemenyi_p, expected[np.ix_(order, order)], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_wilcoxon_with_holm_is_that_of_scikit_posthocs(seed: int) -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    scores = table(seed, digits=9)
    long = pd.DataFrame(scores, columns=names(5)).melt(var_name="who", value_name="score")
    expected = posthocs.posthoc_wilcoxon(long, val_col="score", group_col="who", p_adjust="holm")
    found = rank_frameworks(scores, names(5))
    expected = expected.loc[list(found.frameworks), list(found.frameworks)].to_numpy()
    np.testing.assert_allclose(found.wilcoxon_p, expected, atol=1e-9)


@pytest.mark.parametrize(("n", "digits"), [(8, 9), (20, 9), (20, 1), (60, 9), (60, 0)])
def test_wilcoxon_is_that_of_scipy(n: int, digits: int) -> None:
    d = np.random.default_rng(n).normal(0.2, 1, size=(30, n)).round(digits)
    expected = []
    for row in d:
        plain = len(set(np.abs(row))) == n and (row != 0).all() and n <= 50
        expected.append(stats.wilcoxon(row, method="exact" if plain else "approx", correction=False).pvalue)
    np.testing.assert_allclose(wilcoxon_p(d), expected, atol=1e-12)
    assert wilcoxon_p(np.zeros((1, 5))).tolist() == [1.0]


def test_holm_is_that_of_statsmodels_rule() -> None:
    assert holm([0.01, 0.04, 0.03, np.nan]).tolist()[:3] == pytest.approx([0.03, 0.06, 0.06])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(2, 12), st.sampled_from([0, 1, 9]))
def test_ranks_sum_right_and_only_the_order_counts(seed: int, m: int, n: int, digits: int) -> None:
    scores = table(seed, n, m, digits)
    found = rank_frameworks(scores, names(m))
    assert found.average.sum() == pytest.approx(m * (m + 1) / 2)
    assert (np.diff(found.average) >= 0).all()
    again = rank_frameworks(np.exp(scores) * np.arange(1, n + 1)[:, None], names(m))
    assert again.frameworks == found.frameworks
    np.testing.assert_allclose(again.average, found.average)
    order = np.random.default_rng(seed).permutation(m)
    turned = rank_frameworks(scores[:, order], [names(m)[j] for j in order])
    assert dict(zip(turned.frameworks, turned.average, strict=True)) == pytest.approx(
        dict(zip(found.frameworks, found.average, strict=True))
    )
    np.testing.assert_allclose(found.nemenyi_p, found.nemenyi_p.T)
    np.testing.assert_allclose(found.wilcoxon_p, found.wilcoxon_p.T)


def test_groups_are_the_longest_runs_within_the_distance() -> None:
    scores = np.repeat([[9.0, 8.0, 1.0]], 30, axis=0)
    scores[::2, :2] = scores[::2, 1::-1]
    found = rank_frameworks(scores, ["a", "b", "c"])
    assert found.groups == ((0, 1),)


def test_control_is_compared_by_bonferroni_and_dunn() -> None:
    scores = table(0, 20, 4, 9)
    found = rank_frameworks(scores, names(4), control="f2")
    place = found.frameworks.index("f2")
    z = (found.average - found.average[place]) / np.sqrt(4 * 5 / (6 * 20))
    expected = np.minimum(1, 3 * 2 * stats.norm.sf(np.abs(z)))
    expected[place] = 1.0
    np.testing.assert_allclose(found.dunn_p, expected)
    assert found.dunn_distance == pytest.approx(stats.norm.isf(0.05 / 6) * np.sqrt(4 * 5 / (6 * 20)))


@pytest.mark.parametrize(
    ("scores", "who", "text"),
    [
        ([[1.0]], ["a"], "at least two"),
        (np.zeros((0, 2)), ["a", "b"], "no task"),
        ([[1.0, np.nan]], ["a", "b"], "Scores are missing"),
    ],
)
def test_what_cannot_be_ranked_is_refused(scores: object, who: list[str], text: str) -> None:
    with pytest.raises(UserError, match=text):
        rank_frameworks(scores, who)
    with pytest.raises(UserError, match="Unknown control 'x'"):
        rank_frameworks([[1.0, 2.0]], ["a", "b"], control="x")


def test_equal_everywhere_has_no_test() -> None:
    found = rank_frameworks(np.ones((5, 3)), names(3))
    assert np.isnan(found.friedman.chi2) and found.average.tolist() == [2.0] * 3


def test_examples_are_true() -> None:
    assert doctest.testmod(ranks).failed == 0
