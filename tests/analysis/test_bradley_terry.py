"""Strengths agree with an independent package, with known answers, and do not depend on how rows are written."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.analysis import bradley_terry
from assay.analysis.bradley_terry import Tallies, fit, tally


def together(scores: np.ndarray) -> Tallies:
    points, ties = tally(scores)
    m = scores.shape[1]
    return Tallies(points.sum(axis=0), ties.sum(), len(scores) * (1 - np.eye(m)))


def test_points_count_those_below_and_half_of_equals() -> None:
    points, ties = tally([[3.0, 1.0, 1.0, 0.0], [5.0, 5.0, 5.0, 5.0]])
    assert points.tolist() == [[3.0, 1.5, 1.5, 0.0], [1.5] * 4]
    assert ties.tolist() == [1.0, 6.0]


def test_without_ties_the_strengths_are_those_of_choix() -> None:
    choix = pytest.importorskip("choix")
    scores = np.random.default_rng(0).normal(size=(40, 6)) + np.linspace(0, 1, 6)
    games = [(i, j) for row in scores for i in range(6) for j in range(6) if row[i] > row[j]]
    expected = choix.ilsr_pairwise(6, games)
    found = fit(together(scores))
    np.testing.assert_allclose(
        found.strengths - found.strengths.mean(), expected - expected.mean(), atol=1e-6
    )
    assert np.isneginf(found.tie)


def test_at_the_estimate_what_is_expected_is_what_was_seen() -> None:
    scores = np.random.default_rng(1).normal(size=(50, 5)).round(1)
    seen = together(scores)
    found = fit(seen)
    points, ties = found.expected(seen.met)
    np.testing.assert_allclose(points, seen.points, atol=1e-8)
    assert ties == pytest.approx(seen.ties, abs=1e-8)


def test_many_models_at_once_are_each_as_alone() -> None:
    random = np.random.default_rng(2)
    all_scores = [random.normal(size=(20, 4)).round(digits) for digits in (0, 1, 9, 9)]
    tallies = [together(scores) for scores in all_scores]
    at_once = fit(
        Tallies(
            np.stack([t.points for t in tallies]),
            np.stack([t.ties for t in tallies]),
            np.stack([t.met for t in tallies]),
        )
    )
    for i, one in enumerate(tallies):
        alone = fit(one)
        np.testing.assert_allclose(at_once.worths[i], alone.worths, atol=1e-10)
        assert at_once.loglik[i] == pytest.approx(float(alone.loglik), rel=1e-12)


def test_who_wins_all_has_all_the_worth_and_nothing_breaks() -> None:
    found = fit(together(np.array([[2.0, 1.0, 0.0], [2.0, 0.0, 1.0]])))
    assert found.worths[0] > 1 - 1e-6 and np.isfinite(found.loglik)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
def test_worths_sum_to_one_and_do_not_depend_on_the_order(seed: int, m: int, ties: bool) -> None:
    random = np.random.default_rng(seed)
    scores = random.normal(size=(15, m)).round(0 if ties else 9)
    order, rows = random.permutation(m), random.permutation(15)
    found, other = fit(together(scores)), fit(together(scores[rows][:, order]))
    assert found.worths.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.worths[order], other.worths, atol=1e-6)
    np.testing.assert_allclose(fit(together(np.exp(scores))).worths, found.worths, atol=1e-9)


def test_examples_are_true() -> None:
    assert doctest.testmod(bradley_terry, extraglobs={"np": np}).failed == 0
