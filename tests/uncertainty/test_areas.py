"""Areas of several classes are means of areas of pairs, or of one class against all others."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from assay.uncertainty.scorers import make_scorer

N, K = 60, 3


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = random.choice(K, size=N, p=(0.6, 0.25, 0.15))
    raw = random.random((N, 2, K)) + 0.5 * (np.arange(K) == y[:, None])[:, None, :]
    weights = random.integers(0, 3, size=(4, N))
    return y, raw / raw.sum(axis=2, keepdims=True), weights


@pytest.mark.parametrize("metric", ["auc", "auc_ovo"])
def test_areas_of_pairs_are_averaged_alike_or_by_the_size_of_both_classes(metric: str) -> None:
    y, values, weights = made()
    found = make_scorer(metric, y, values).weighted(weights)
    for b, own in enumerate(weights):
        rows = np.repeat(np.arange(N), own)
        areas, sizes = [], []
        for i, j in permutations(range(K), 2):
            pair = rows[np.isin(y[rows], (i, j))]
            areas.append(roc_auc_score(y[pair] == i, values[pair, 1, i]))
            sizes.append(len(pair))
        wanted = np.average(areas, weights=sizes if metric == "auc_ovo" else None)
        assert found[b, 1] == pytest.approx(wanted)


def test_areas_of_one_against_all_are_averaged_by_the_size_of_the_class() -> None:
    y, values, weights = made()
    found = make_scorer("auc_ovr", y, values).weighted(weights)
    for b, own in enumerate(weights):
        each = [roc_auc_score(y == k, values[:, 0, k], sample_weight=own) for k in range(K)]
        assert found[b, 0] == pytest.approx(np.average(each, weights=np.bincount(y, own)))


@pytest.mark.parametrize("metric", ["auc", "auc_ovo", "auc_ovr"])
def test_renamed_classes_have_the_same_area(metric: str) -> None:
    y, values, weights = made()
    plain = make_scorer(metric, y, values).weighted(weights)
    order = np.array([2, 0, 1])  # the class that is called 0 now was called 2
    renamed = make_scorer(metric, np.argsort(order)[y], values[:, :, order]).weighted(weights)
    np.testing.assert_allclose(renamed, plain)


def test_two_classes_have_one_area_however_they_are_given() -> None:
    random = np.random.default_rng(0)
    y, second, weights = np.arange(N) % 2, random.random((N, 2)), random.integers(0, 3, size=(3, N))
    wanted = make_scorer("auc", y, second).weighted(weights)
    both = np.stack([1 - second, second], axis=2)
    np.testing.assert_array_equal(make_scorer("auc", y, both).weighted(weights), wanted)
    np.testing.assert_array_equal(make_scorer("auc", y.astype(bool), second).weighted(weights), wanted)
