"""Nested cross-validation and the direct bootstrap: the plain ways, which the fast ones are checked against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assay.errors import DataError
from assay.searches.configurations import Configuration, from_estimators
from assay.searches.fits import Fitting, Work
from assay.searches.folds import fold_rows
from assay.searches.inputs import SearchData, open_data
from assay.searches.matrix import demand_for
from assay.searches.nested import Nested, find_winners, nest
from assay.searches.search import search
from assay.studies.real_coverage import open_study
from assay.studies.slow_references import direct_bootstrap as bootstrap
from assay.uncertainty.result import Options

CLASSES = from_estimators(
    {"depth 1": DecisionTreeClassifier(max_depth=1, random_state=0), "linear": LogisticRegression()}
)
NUMBERS = from_estimators({"tree": DecisionTreeRegressor(random_state=0), "linear": LinearRegression()})


@pytest.fixture(scope="module")
def fitting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fitting]:
    with open_study(tmp_path_factory.mktemp("slow") / "store", 1) as opened:
        yield opened


def work_of(
    data: SearchData, configurations: Sequence[Configuration], metric: str, folds: int, seed: int
) -> Work:
    split = fold_rows(data, folds, 1, seed)[0]
    return Work(data, tuple(configurations), split, demand_for(data, metric, seed), metric)


def nested(
    fitting: Fitting, data: SearchData, tried: Sequence[Configuration], metric: str, outer: int, inner: int
) -> Nested:
    return nest(fitting, work_of(data, tried, metric, inner, 0), outer)


def direct_bootstrap(
    fitting: Fitting,
    data: SearchData,
    tried: Sequence[Configuration],
    metric: str,
    draws: int,
    folds: int,
    seed: int = 0,
    **said: Options,
) -> tuple[float, float, float, np.ndarray]:
    return bootstrap(fitting, work_of(data, tried, metric, folds, seed), draws, **said)


def table(kind: str = "binary", n: int = 100, seed: int = 2) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x = pd.DataFrame(random.normal(size=(n, 4)), columns=list("abcd"))
    values = x["a"] - x["b"] + random.normal(size=n)
    return x.assign(y=values if kind == "values" else np.where(values > 0.5, "yes", "no"))


def test_they_agree_with_the_fast_way(fitting: Fitting) -> None:
    data = open_data(table(), "y", None, "auc")
    found = nested(fitting, data, CLASSES, "auc", outer=3, inner=2)
    estimate = found.mean
    assert len(found.scores) == 3 and estimate == np.mean(found.scores)
    mean, low, high, values = direct_bootstrap(fitting, data, CLASSES, "auc", draws=5, folds=2, seed=1)
    assert len(values) == 5 and low == np.sort(values)[0] and high == 1 and low < mean < high
    fast = search((data.x, data.y), configurations={one.name: one.estimator for one in CLASSES}, folds=4)
    assert fast.winner == "linear"
    for slow in (estimate, mean):
        assert abs(slow - fast.interval.estimate) < 0.06


def test_numbers_are_judged_too(fitting: Fitting) -> None:
    data = open_data(table("values", n=60), "y", None, "")
    mean, low, high, _ = direct_bootstrap(
        fitting, data, NUMBERS, "rmse", draws=3, folds=2, options=Options(side="two")
    )
    assert 0 < low <= mean <= high
    assert np.isfinite(nested(fitting, data, NUMBERS, "rmse", outer=2, inner=2).mean)


def test_the_winner_is_that_of_a_plain_cross_validation(fitting: Fitting) -> None:
    data = open_data(table(), "y", None, "auc")
    searches = [work_of(data, CLASSES, "auc", 4, 0), work_of(data, CLASSES[:1], "auc", 4, 0)]
    assert [one.name for one in find_winners(fitting, searches)] == ["linear", "depth 1"]


def test_with_one_candidate_nested_cross_validation_is_a_cross_validation(fitting: Fitting) -> None:
    data = open_data(table().drop(columns="d"), "y", None, "auc")
    scores = nested(fitting, data, CLASSES[1:], "auc", outer=4, inner=3).scores
    plain = []
    for _, _, train, test in fold_rows(data, 4, 1, 0)[0]:
        x = (data.x - data.x.iloc[train].mean()) / data.x.iloc[train].std(ddof=0)
        model = LogisticRegression(random_state=0).fit(x.iloc[train], data.y[train])
        plain.append(roc_auc_score(data.y[test] == "yes", model.predict_proba(x.iloc[test])[:, 1]))
    np.testing.assert_allclose(scores, plain, atol=0.02)  # the columns may be scaled in another way


def test_draws_that_differ_by_their_seed_only_are_repeated_by_it(fitting: Fitting) -> None:
    data = open_data(table(n=60), "y", None, "auc")
    first, again, other = (
        direct_bootstrap(fitting, data, CLASSES, "auc", draws=2, folds=2, seed=seed)[3] for seed in (1, 1, 2)
    )
    assert (first == again).all() and (first != other).any()


def test_a_search_on_noise_is_not_called_better_than_chance(fitting: Fitting) -> None:
    random = np.random.default_rng(0)
    data = open_data((random.normal(size=(80, 3)), np.arange(80) % 2), None, None, "auc")
    some = from_estimators(
        {f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4)}
    )
    assert abs(nested(fitting, data, some, "auc", outer=3, inner=2).mean - 0.5) < 0.25


def test_groups_are_drawn_whole(fitting: Fitting) -> None:
    random = np.random.default_rng(0)
    x = np.repeat(
        random.normal(size=(25, 3)), 4, axis=0
    )  # four rows of each group are alike, and mean nothing
    data = open_data((x, np.repeat(np.arange(25) % 2, 4)), None, np.repeat(np.arange(25), 4), "auc")
    some = from_estimators({"near": KNeighborsClassifier(3), "tree": DecisionTreeClassifier()})
    estimate, *_ = direct_bootstrap(fitting, data, some, "auc", draws=4, folds=2)
    assert estimate < 0.75, "rows of a group on both sides would be recognised"


def test_what_cannot_be_judged_is_said(fitting: Fitting) -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    values = open_data((x[:12], x[:12, 0]), None, None, "r2")
    with pytest.raises(DataError, match="no value in any of the 12 outer folds"):
        nested(fitting, values, NUMBERS[:1], "r2", outer=12, inner=2)
    rare = open_data((x[:30], (np.arange(30) < 2).astype(int)), None, None, "auc")
    with pytest.raises(DataError, match="too few rows of a class"):
        direct_bootstrap(fitting, rare, CLASSES[1:], "auc", draws=6, folds=2)
