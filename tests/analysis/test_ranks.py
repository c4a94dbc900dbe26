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
from assay.analysis.impute import gather
from assay.analysis.ranks import critical_distance, holm, rank_frameworks, task_ranks, wilcoxon_p
from assay.errors import UserError

from .conftest import holed_table, plain_means

# Table 6 of Demšar (2006): ranks of C4.5 without and with tuning (m, cf, both) on 14 data sets.
DEMSAR = [
    [4, 3, 2, 1], [1, 2, 3, 4], [4, 1, 2, 3], [4, 1, 3, 2], [4, 2, 3, 1], [1, 2.5, 4, 2.5], [3, 2, 4, 1],
    [2.5, 2.5, 4, 1], [4, 3, 2, 1], [2.5, 2.5, 2.5, 2.5], [4, 2.5, 1, 2.5], [3, 2, 4, 1], [4, 1, 2, 3], [3, 1, 4, 2],
]  # fmt: skip


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
def test_ranks_and_distance_are_those_of_autorank(seed: int) -> None:
    autorank = pytest.importorskip("autorank")
    scores = table(seed)
    found = rank_frameworks(scores, names(5))
    said = autorank.autorank(
        pd.DataFrame(scores, columns=names(5)), order="descending", force_mode="nonparametric"
    )
    assert (said.omnibus, said.posthoc) == ("friedman", "nemenyi")
    assert said.pvalue == pytest.approx(found.friedman.p, rel=1e-9)
    assert said.rankdf["meanrank"].to_dict() == pytest.approx(
        dict(zip(found.frameworks, found.average, strict=True))
    )
    # Its quantiles are from a printed table.
    assert said.cd == pytest.approx(found.critical_distance, rel=1e-4)


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


def test_demsars_example_gives_his_numbers() -> None:
    found = rank_frameworks(-np.array(DEMSAR), ["C4.5", "m", "cf", "m+cf"], control="C4.5")
    assert found.frameworks == ("m+cf", "m", "cf", "C4.5")
    assert found.average.round(3).tolist() == [1.964, 2.0, 2.893, 3.143]
    assert round(found.friedman.chi2_uncorrected, 2) == 9.28
    assert found.iman_davenport.F_uncorrected == pytest.approx(3.69, abs=0.01)
    assert (found.iman_davenport.df1, found.iman_davenport.df2) == (3, 39)
    assert round(found.critical_distance, 2) == 1.25
    assert found.dunn_distance == pytest.approx(2.394 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


@pytest.mark.parametrize(
    ("alpha", "m", "q"),
    [
        (0.05, 2, 1.960), (0.05, 3, 2.343), (0.05, 4, 2.569), (0.05, 5, 2.728), (0.05, 10, 3.164),
        (0.10, 2, 1.645), (0.10, 3, 2.052), (0.10, 4, 2.291), (0.10, 5, 2.459), (0.10, 10, 2.920),
    ],
)  # fmt: skip
def test_critical_distance_is_from_the_published_quantiles(alpha: float, m: int, q: float) -> None:
    """Table 5(a) of Demšar (2006), printed with three digits."""
    found = critical_distance(m, 30, alpha)
    assert found == pytest.approx(q * np.sqrt(m * (m + 1) / (6 * 30)), abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_tests_of_a_table_with_failures_and_ties_are_those_of_independent_packages(seed: int) -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    table = holed_table(seed)
    scores = gather(table)
    found = rank_frameworks(scores.means(), scores.frameworks)
    expected = plain_means(table)[list(found.frameworks)]
    n, m = expected.shape
    np.testing.assert_allclose(found.by_task, stats.rankdata(-expected.to_numpy(), axis=1))
    chi2, p = stats.friedmanchisquare(*expected.to_numpy().T)
    assert (found.friedman.chi2, found.friedman.p) == pytest.approx((chi2, p))
    ratio = (n - 1) * chi2 / (n * (m - 1) - chi2)
    assert pytest.approx(ratio) == found.iman_davenport.F
    assert found.iman_davenport.p == pytest.approx(stats.f.sf(ratio, m - 1, (m - 1) * (n - 1)))
    nemenyi = posthocs.posthoc_nemenyi_friedman(expected.to_numpy()).to_numpy()
    np.testing.assert_allclose(found.nemenyi_p, nemenyi, atol=1e-6)
    long = expected.melt(var_name="who", value_name="score")
    wilcoxon = posthocs.posthoc_wilcoxon(long, val_col="score", group_col="who", p_adjust="holm")
    wilcoxon = wilcoxon.loc[list(found.frameworks), list(found.frameworks)].to_numpy()
    np.testing.assert_allclose(found.wilcoxon_p, wilcoxon, atol=1e-9)


def test_holm_by_hand_leaves_out_what_is_missing() -> None:
    found = holm([0.01, 0.04, 0.03, np.nan])
    assert found[:3].tolist() == pytest.approx([0.03, 0.06, 0.06]) and np.isnan(found[3])
    assert holm([]).tolist() == [] and np.isnan(holm([np.nan])).all()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.01, 0.5])), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    np.testing.assert_allclose(holm(p), multitest.multipletests(p, method="holm")[1], atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=30))
def test_wilcoxon_does_not_depend_on_the_sign_or_the_order(drawn: list[int]) -> None:
    d = np.array(drawn, dtype=float)
    (p,) = wilcoxon_p(d)
    assert 0 <= p <= 1
    assert wilcoxon_p(-d)[0] == pytest.approx(p) and wilcoxon_p(d[::-1])[0] == pytest.approx(p)
    assert wilcoxon_p(3 * d)[0] == pytest.approx(p)


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


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 9), st.sampled_from([0, 9]))
def test_ranks_of_each_task_sum_to_the_same(seed: int, m: int, n: int, digits: int) -> None:
    found = task_ranks(table(seed, n, m, digits))
    np.testing.assert_allclose(found.sum(axis=1), m * (m + 1) / 2)
    assert (found >= 1).all() and (found <= m).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 12), st.sampled_from([0, 1, 9]))
def test_the_order_of_tasks_does_not_matter(seed: int, m: int, n: int, digits: int) -> None:
    scores = table(seed, n, m, digits)
    first = rank_frameworks(scores, names(m))
    other = rank_frameworks(scores[np.random.default_rng(seed).permutation(n)], names(m))
    average = dict(zip(other.frameworks, other.average, strict=True))
    assert average == pytest.approx(dict(zip(first.frameworks, first.average, strict=True)))
    assert other.friedman.p == pytest.approx(first.friedman.p, nan_ok=True)
    assert other.critical_distance == first.critical_distance


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(2, 40))
def test_two_share_a_group_if_and_only_if_they_are_within_the_distance(seed: int, m: int, n: int) -> None:
    random = np.random.default_rng(seed)
    found = rank_frameworks(random.normal(size=(n, m)) + np.linspace(0, 3, m), names(m))
    for i in range(m):
        for j in range(i + 1, m):
            shared = any(first <= i and j <= last for first, last in found.groups)
            assert shared == (found.average[j] - found.average[i] <= found.critical_distance)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in zip(found.groups, found.groups[1:], strict=False))


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


def test_equal_everywhere_has_no_iman_davenport_test_either() -> None:
    found = rank_frameworks(np.ones((5, 3)), names(3)).iman_davenport
    assert np.isnan(found.F) and np.isnan(found.p)


def test_one_task_decides_nothing() -> None:
    found = rank_frameworks([[3.0, 2.0, 1.0]], names(3))
    assert found.average.tolist() == [1.0, 2.0, 3.0] and found.groups == ((0, 2),)
    assert (
        np.isnan(found.iman_davenport.p) and (found.wilcoxon_p == 1).all() and (found.nemenyi_p > 0.05).all()
    )


def test_all_the_same_order_is_as_sure_as_it_can_be() -> None:
    found = rank_frameworks(np.tile([3.0, 2.0, 1.0], (20, 1)), names(3))
    assert found.friedman.chi2 == pytest.approx(40) and found.iman_davenport.p == 0 and found.groups == ()


def test_two_equal_columns_do_not_differ() -> None:
    scores = table(0, 12, 3, 9)
    scores[:, 1] = scores[:, 0]
    found = rank_frameworks(scores, names(3))
    i, j = found.frameworks.index("f0"), found.frameworks.index("f1")
    assert found.average[i] == found.average[j]
    assert found.nemenyi_p[i, j] == pytest.approx(1) and found.wilcoxon_p[i, j] == 1


def test_infinite_scores_are_ranked_or_refused() -> None:
    try:
        found = rank_frameworks([[np.inf, np.inf, 1.0], [-np.inf, 2.0, 1.0]], names(3))
    except UserError:
        return
    assert sorted(found.average) == [1.25, 2.25, 2.5]


def test_examples_are_true() -> None:
    assert doctest.testmod(ranks).failed == 0
