"""Metrics under weights are those of the rows repeated as often, by every kind of scorer and both kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from assay.errors import ConfigError, DataError
from assay.metrics.registry import BUILTIN
from assay.metrics.scoring import score
from assay.uncertainty import kernels
from assay.uncertainty.kernels import rank_columns, weighted_auc
from assay.uncertainty.scorers import make_scorer

N, C, B = 60, 4, 12


def made(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return truth, predictions and weights; of one class less none."""
    random = np.random.default_rng(seed)
    weights = random.multinomial(N, np.ones(N) / N, size=B).astype(np.uint8)
    if n_classes == 0:
        y = random.gamma(2, size=N)
        return y, np.abs(y[:, None] + random.normal(size=(N, C))).round(1), weights
    y = random.permutation(np.arange(N) % n_classes)
    if n_classes == 2:
        return y, np.clip(0.3 * y[:, None] + 0.8 * random.random((N, C)), 0, 1).round(2), weights
    raw = random.random((N, C, n_classes)) + 1.0 * (np.arange(n_classes) == y[:, None])[:, None, :]
    return y, raw / raw.sum(axis=2, keepdims=True), weights


def by_hand(metric: str, y: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    out = np.empty((len(weights), values.shape[1]))
    for b, own in enumerate(weights):
        rows = np.repeat(np.arange(N), own)
        for c in range(values.shape[1]):
            one = values[rows, c]
            if y.dtype.kind == "f":
                said = {"values": one}
            else:
                both = one if one.ndim == 2 else np.column_stack([1 - one, one])
                labels = both.argmax(axis=1) if one.ndim == 2 else (one > 0.5).astype(int)
                said = {"probabilities": both, "labels": labels}
            out[b, c] = score(metric, y[rows], **said)
    return out


CASES = [
    (name, 0 if "regression" in metric.types else k)
    for name, metric in BUILTIN.items()
    for k in (2, 3)
    if "regression" in metric.types or ("multiclass" if k > 2 else "binary") in metric.types
]


@pytest.mark.parametrize(("metric", "n_classes"), sorted(set(CASES)))
def test_every_metric_is_that_of_the_repeated_rows(metric: str, n_classes: int) -> None:
    y, values, weights = made(n_classes)
    found = make_scorer(metric, y, values).weighted(weights)
    np.testing.assert_allclose(found, by_hand(metric, y, values, weights), rtol=1e-10, atol=1e-12)
    some = make_scorer(metric, y, values).weighted(weights, [2, 0])
    np.testing.assert_allclose(some, found[:, [2, 0]], rtol=1e-12)


def test_auc_of_several_classes_is_hand_and_tills() -> None:
    y, values, weights = made(4)
    found = make_scorer("auc", y, values).weighted(weights)
    for b, own in enumerate(weights):
        rows = np.repeat(np.arange(N), own)
        for c in range(C):
            expected = roc_auc_score(y[rows], values[rows, c], multi_class="ovo", average="macro")
            assert found[b, c] == pytest.approx(expected, abs=1e-12)


def test_concordance_counts_comparable_pairs() -> None:
    random = np.random.default_rng(1)
    time, event = random.integers(1, 9, size=N).astype(float), random.random(N) < 0.6
    risk = (-time[:, None] + random.normal(0, 2, size=(N, C))).round(0)
    weights = random.multinomial(N, np.ones(N) / N, size=3)
    found = make_scorer("cindex", time, risk, event).weighted(weights)
    for b, own in enumerate(weights):
        rows = np.repeat(np.arange(N), own)
        known = right = 0.0
        for i in rows:
            for j in rows:
                if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                    known += 1
                    right += (risk[i, 1] > risk[j, 1]) + 0.5 * (risk[i, 1] == risk[j, 1])
        assert found[b, 1] == pytest.approx(right / known, abs=1e-12)


def test_an_own_function_takes_the_slow_path(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def worst(truth, prediction):\n    return float(abs(truth - prediction).max())\n"
        "worst.higher_is_better = False\nworst.needs = 'values'\n"
    )
    y, values, weights = made(0)
    found = make_scorer(f"{tmp_path}/mine.py:worst", y, values).weighted(weights)
    errors = np.abs(y[:, None] - values)
    np.testing.assert_allclose(found, [errors[own > 0].max(axis=0) for own in weights])


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_both_kernels_have_the_same_bits(seed: int, n: int, digits: int) -> None:
    random = np.random.default_rng(seed)
    positive = random.random(n) < 0.4
    scores = random.normal(size=(n, 3)).round(digits)
    weights = random.integers(0, 4, size=(5, n))
    ranked = rank_columns(scores, positive, ~positive)
    by_pairs = weighted_auc(ranked, weights, compiled=False)
    whole, kernels.PAIRS = kernels.PAIRS, 0
    try:
        by_sums = weighted_auc(ranked, weights, compiled=False)
    finally:
        kernels.PAIRS = whole
    np.testing.assert_array_equal(by_pairs, by_sums)
    if kernels.has_numba():
        np.testing.assert_array_equal(weighted_auc(ranked, weights, compiled=True), by_pairs)
    for b, own in enumerate(weights):
        rows = np.repeat(np.arange(n), own)
        if 0 < positive[rows].sum() < len(rows):
            assert by_pairs[b, 0] == pytest.approx(roc_auc_score(positive[rows], scores[rows, 0]), abs=1e-12)
        else:
            assert np.isnan(by_pairs[b]).all()


def test_large_tables_are_counted_exactly() -> None:
    random = np.random.default_rng(0)
    n = 20_000  # twice the number of pairs is past what float32 holds
    positive = np.arange(n) % 2 == 0
    scores = random.normal(size=(n, 1)) + positive[:, None]
    ranked = rank_columns(scores, positive, ~positive)
    weights = random.integers(0, 3, size=(2, n))
    for compiled in (False, *([True] if kernels.has_numba() else [])):
        found = weighted_auc(ranked, weights, compiled=compiled)
        expected = [roc_auc_score(positive, scores[:, 0], sample_weight=own) for own in weights]
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize(
    "weights",
    [
        [255, 255, 255, 255], [256, 1, 1, 256], [1, 40_000, 1, 1], [1, 1, 16_383, 1], [1, 1, 16_384, 1],
        [70_000, 3, 5, 90_000], [0, 1, 0, 1],
    ],
)  # fmt: skip
def test_sums_are_exact_where_narrow_numbers_end(weights: list[int]) -> None:
    y, score = np.array([1, 1, 0, 0]), np.array([[0.9], [0.4], [0.4], [0.1]])
    ranked = rank_columns(score, y == 1, y == 0)
    a, b, c, d = weights
    expected = (a * c + a * d + b * c / 2 + b * d) / ((a + b) * (c + d))
    for compiled in (False, *([True] if kernels.has_numba() else [])):
        assert weighted_auc(ranked, np.array([weights]), compiled=compiled)[0, 0] == expected


def test_each_block_of_draws_is_counted_by_itself() -> None:
    random = np.random.default_rng(0)
    y = np.arange(30) % 2
    ranked = rank_columns(random.random((30, 2)).round(1), y == 1, y == 0)
    weights = random.integers(0, 3, size=(2 * kernels.LANES + 7, 30))
    weights[kernels.LANES + 1] *= 20_000  # this block alone is counted in wide numbers
    whole = weighted_auc(ranked, weights)
    np.testing.assert_array_equal(whole, np.concatenate([weighted_auc(ranked, own[None]) for own in weights]))


@pytest.mark.parametrize(
    ("metric", "y", "values", "error", "text"),
    [
        ("auc", ["a"] * 4, np.ones((4, 2)), DataError, "all rows are of 'a'"),
        ("auc", [0, 1, 2, 0], np.ones((4, 2)), DataError, "3 classes, the predictions 2"),
        ("auc", [0, 1, 0, 1], np.ones((4, 2, 3)), DataError, "2 classes, but the predictions 3"),
        ("logloss", [0, 1, 0, 1], np.full((4, 2), 3.0), DataError, "needs probabilities"),
        ("acc", [0, 1, 0, 1], np.full((4, 2), -3.0), DataError, "needs probabilities"),
        ("rmse", ["a", "b", "c", "d"], np.ones((4, 2)), DataError, "of numbers"),
        ("rmse", [0, 1, 2, 0], np.ones((4, 2, 3)), ConfigError, "of values"),
        ("pr_auc", [0, 1, 2, 0], np.ones((4, 2, 3)) / 3, ConfigError, "not for 3 classes"),
        ("nonsense", [0, 1, 0, 1], np.ones((4, 2)), ConfigError, "nonsense"),
        ("cindex", [1.0, 2.0, 3.0, 4.0], np.ones((4, 2)), DataError, "column `event`"),
    ],
)
def test_what_cannot_be_scored_is_refused(metric, y, values, error, text) -> None:
    with pytest.raises(error, match=text):
        make_scorer(metric, np.asarray(y), values)


@pytest.mark.parametrize("metric", ["auc", "auc_ovo", "auc_ovr"])
def test_area_of_a_fold_without_a_class_is_the_metrics_own(metric: str) -> None:
    y, values, _ = made(4)
    weights = np.stack([y != 3, y == 3, np.ones(N, dtype=bool)]).astype(np.uint8)
    found = make_scorer(metric, y, values).weighted(weights)
    np.testing.assert_allclose(found[[0, 2]], by_hand(metric, y, values, weights[[0, 2]]), rtol=1e-12)
    assert np.isnan(found[1]).all(), "one class only"
