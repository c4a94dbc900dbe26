"""Nested cross-validation and the direct bootstrap: the plain ways, which the fast ones are checked against."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assay.errors import DataError
from assay.searches.configurations import from_estimators
from assay.searches.folds import fold_rows
from assay.searches.inputs import open_data
from assay.searches.search import search
from assay.studies.slow_references import direct_bootstrap, find_winner, nested_cross_validation
from assay.uncertainty.result import Options

CLASSES = from_estimators(
    {"depth 1": DecisionTreeClassifier(max_depth=1, random_state=0), "linear": LogisticRegression()}
)
NUMBERS = from_estimators({"tree": DecisionTreeRegressor(random_state=0), "linear": LinearRegression()})


def table(kind: str = "binary", n: int = 100, seed: int = 2) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x = pd.DataFrame(random.normal(size=(n, 4)), columns=list("abcd"))
    values = x["a"] - x["b"] + random.normal(size=n)
    return x.assign(y=values if kind == "values" else np.where(values > 0.5, "yes", "no"))


def test_they_agree_with_the_fast_way() -> None:
    data = open_data(table(), "y", None, "auc")
    estimate, scores = nested_cross_validation(data, CLASSES, "auc", outer=4, inner=3)
    assert len(scores) == 4 and estimate == scores.mean()
    mean, low, high, values = direct_bootstrap(data, CLASSES, "auc", draws=10, folds=3, seed=1)
    assert len(values) == 10 and low == np.sort(values)[0] and high == 1 and low < mean < high
    fast = search((data.x, data.y), configurations={one.name: one.estimator for one in CLASSES}, folds=4)
    assert fast.winner == "linear"
    for slow in (estimate, mean):
        assert abs(slow - fast.interval.estimate) < 0.06


def test_numbers_are_judged_too() -> None:
    data = open_data(table("values", n=60), "y", None, "")
    mean, low, high, _ = direct_bootstrap(
        data, NUMBERS, "rmse", draws=5, folds=3, options=Options(side="two")
    )
    assert 0 < low <= mean <= high
    assert np.isfinite(nested_cross_validation(data, NUMBERS, "rmse", outer=2, inner=2)[0])


def test_the_winner_is_that_of_a_plain_cross_validation() -> None:
    data = open_data(table(), "y", None, "auc")
    assert find_winner(data, CLASSES, "auc", 4, 0).name == "linear"
    assert find_winner(data, CLASSES[:1], "auc", 4, 0).name == "depth 1"


def test_with_one_candidate_nested_cross_validation_is_a_cross_validation() -> None:
    data = open_data(table().drop(columns="d"), "y", None, "auc")
    _, scores = nested_cross_validation(data, CLASSES[1:], "auc", outer=4, inner=3)
    plain = []
    for _, _, train, test in fold_rows(data, 4, 1, 0)[0]:
        x = (data.x - data.x.iloc[train].mean()) / data.x.iloc[train].std(ddof=0)
        model = LogisticRegression(random_state=0).fit(x.iloc[train], data.y[train])
        plain.append(roc_auc_score(data.y[test] == "yes", model.predict_proba(x.iloc[test])[:, 1]))
    np.testing.assert_allclose(scores, plain, atol=0.02)  # the columns may be scaled in another way


def test_draws_that_differ_by_their_seed_only_are_repeated_by_it() -> None:
    data = open_data(table(n=60), "y", None, "auc")
    first, again, other = (
        direct_bootstrap(data, CLASSES[1:], "auc", draws=4, folds=2, seed=seed)[3] for seed in (1, 1, 2)
    )
    assert (first == again).all() and (first != other).any()


def test_a_search_on_noise_is_not_called_better_than_chance() -> None:
    random = np.random.default_rng(0)
    data = open_data((random.normal(size=(80, 3)), np.arange(80) % 2), None, None, "auc")
    some = from_estimators(
        {f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4)}
    )
    estimate, _ = nested_cross_validation(data, some, "auc", outer=5, inner=4)
    assert abs(estimate - 0.5) < 0.2


def test_groups_are_drawn_whole() -> None:
    random = np.random.default_rng(0)
    x = np.repeat(
        random.normal(size=(25, 3)), 4, axis=0
    )  # four rows of each group are alike, and mean nothing
    data = open_data((x, np.repeat(np.arange(25) % 2, 4)), None, np.repeat(np.arange(25), 4), "auc")
    some = from_estimators({"near": KNeighborsClassifier(3), "tree": DecisionTreeClassifier()})
    estimate, *_ = direct_bootstrap(data, some, "auc", draws=12, folds=3)
    assert estimate < 0.75, "rows of a group on both sides would be recognised"


def test_what_cannot_be_judged_is_said() -> None:
    x = np.random.default_rng(0).normal(size=(100, 3))
    values = open_data((x, x[:, 0]), None, None, "r2")
    with pytest.raises(DataError, match="no value in any of the 100 outer folds"):
        nested_cross_validation(values, NUMBERS, "r2", outer=100, inner=2)
    rare = open_data((x[:30], (np.arange(30) < 2).astype(int)), None, None, "auc")
    with pytest.raises(DataError, match="too few rows of a class"):
        direct_bootstrap(rare, CLASSES[1:], "auc", draws=6, folds=2)
