"""The space has the paper's size, every family learns, samples are fair, and one's own estimators take part."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from assay.errors import ConfigError
from assay.frameworks.pipeline.preparation import Preparation
from assay.searches.configurations import (
    TRIVIAL,
    Configuration,
    Part,
    check_names,
    choose,
    from_estimators,
    full,
    grid,
    sample,
)
from assay.searches.pipelines import Demand, pipeline_of

SELECTORS = list(dict.fromkeys(one.selector for one in full()[:-1]))
LEARNERS = list(dict.fromkeys(one.learner for one in full()[:-1]))


def rows(kind: str, n: int = 80) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    x = pd.DataFrame(random.normal(size=(n, 6)), columns=list("abcdef"))
    x["g"] = random.choice(["red", "green", "blue"], size=n)
    signal = x["a"] + x["b"] + (x["g"] == "red") + random.normal(size=n) / 2
    if kind == "values":
        return x, 100 * signal.to_numpy()
    return x, np.digitize(signal, (0,) if kind == "binary" else (-0.5, 0.7))


def test_the_space_has_766_configurations() -> None:
    assert (len(SELECTORS), len(LEARNERS), len(full())) == (9, 85, 766)
    assert len({one.name for one in full()}) == 766
    assert Counter(part.kind for part in LEARNERS) == {
        "decision_tree": 6, "random_forest": 24, "linear": 3, "svm_poly": 32, "svm_rbf": 16, "svm_linear": 4,
    }  # fmt: skip
    assert Counter(part.kind for part in SELECTORS) == {"ses": 4, "univariate": 2, "lasso": 3}
    assert full()[-1] == TRIVIAL
    check_names(full())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # steps of libsvm are limited
@pytest.mark.parametrize("kind", ["binary", "three", "values"])
def test_every_selector_and_every_family_learns(kind: str) -> None:
    x, y = rows(kind)
    demand = Demand(is_value=kind == "values", probabilities=True)
    families = {part.kind: part for part in LEARNERS}
    families["random_forest"] = Part("random_forest", (("trees", 5), ("min_leaf", 2), ("vars", 1.154)))
    pairs = [(SELECTORS[0], part) for part in families.values()] + [
        (part, families["linear"]) for part in SELECTORS
    ]
    for selector, learner in pairs:
        model = pipeline_of(Configuration("one", selector, learner), demand).fit(x, y)
        if kind == "values":
            assert np.corrcoef(model.predict(x), y)[0, 1] > 0.3
        else:
            assert model.predict_proba(x).shape == (80, len(np.unique(y)))
            assert (model.predict(x) == y).mean() > 0.55
    assert pipeline_of(TRIVIAL, demand).fit(x, y).predict(x).std() < 1e-9


def test_support_vectors_have_probabilities_only_where_they_are_needed() -> None:
    one = next(one for one in full() if one.learner.kind == "svm_rbf")
    x, y = rows("binary")
    for needed in (True, False):
        model = pipeline_of(one, Demand(probabilities=needed)).fit(x, y)
        assert hasattr(model, "predict_proba") is needed


def test_trees_are_pruned_by_significance() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(300, 5)), random.integers(2, size=300)
    leaves = {}
    for alpha in (0.01, 0.05, 1.0):
        part = Part("decision_tree", (("min_leaf", 3), ("alpha", alpha)))
        leaves[alpha] = (
            pipeline_of(Configuration("t", Part("all"), part), Demand()).fit(x, y)[-1].get_n_leaves()
        )
    assert leaves[0.01] <= leaves[0.05] < leaves[1.0] and leaves[1.0] > 20
    hidden = (x[:, 0] > 0).astype(int)
    part = Part("decision_tree", (("min_leaf", 3), ("alpha", 0.01)))
    kept = pipeline_of(Configuration("t", Part("all"), part), Demand()).fit(x, hidden)[-1]
    assert kept.get_n_leaves() == 2


def test_forests_try_a_multiple_of_the_root_of_the_columns() -> None:
    x, y = np.random.default_rng(0).normal(size=(50, 16)), np.arange(50) % 2
    part = Part("random_forest", (("trees", 2), ("min_leaf", 2), ("vars", 1.291)))
    model = pipeline_of(Configuration("f", Part("all"), part), Demand()).fit(x, y)[-1]
    assert [tree.max_features_ for tree in model.estimators_] == [5, 5]


@pytest.mark.parametrize("n", [2, 7, 20, 55, 60, 200, 700])
def test_a_sample_is_spread_and_the_same_for_a_seed(n: int) -> None:
    found = choose(n, seed=3)
    assert len(found) == n and found == choose(n, seed=3) and TRIVIAL in found
    assert found != choose(n, seed=4)
    assert set(found) <= set(choose(n + 10, seed=3))
    if n <= 200:
        for what, kinds in ((lambda one: one.selector, 9), (lambda one: one.learner.kind, 6)):
            counts = Counter(what(one) for one in found if one != TRIVIAL)
            spread = [*counts.values(), *[0] * (kinds - len(counts))]
            # From about 55 on logistic regressions run out in their cells; then the others go on.
            assert max(spread) - min(spread) <= (2 if n <= 60 else 30)
    assert choose(1) != (TRIVIAL,) and choose(766) == choose(10_000) == full()


def test_own_estimators_by_name_grid_or_draws() -> None:
    assert list(grid(KNeighborsClassifier(), {"n_neighbors": [1, 5], "p": [2]})) == [
        "KNeighborsClassifier(n_neighbors=1, p=2)",
        "KNeighborsClassifier(n_neighbors=5, p=2)",
    ]
    drawn = sample(LogisticRegression(), {"C": loguniform(0.1, 10)}, 3, seed=1)
    assert len(drawn) == 3 and list(drawn) == list(
        sample(LogisticRegression(), {"C": loguniform(0.1, 10)}, 3, seed=1)
    )
    x, y = rows("binary")
    model = pipeline_of(from_estimators(drawn)[0], Demand()).fit(x, y)
    assert model[-1].C == next(iter(drawn.values())).C
    raw = from_estimators({"mine": KNeighborsClassifier()}, prepare=False)[0]
    assert list(pipeline_of(raw, Demand()).named_steps) == ["learn"]


def test_wrong_configurations_are_refused() -> None:
    with pytest.raises(ConfigError, match="is <class"):
        from_estimators({"a": LogisticRegression})
    with pytest.raises(ConfigError, match="no configurations"):
        from_estimators({})
    with pytest.raises(ConfigError, match="cannot be set to depth=3"):
        grid(LogisticRegression(), {"depth": [3]})
    with pytest.raises(ConfigError, match="cannot be called 'fold'"):
        check_names(from_estimators({"fold": LogisticRegression()}))
    with pytest.raises(ConfigError, match="Two configurations are called 'trivial'"):
        check_names([TRIVIAL, TRIVIAL])
    with pytest.raises(ConfigError, match="0 configurations"):
        choose(0)


def test_preparation_fills_encodes_and_scales() -> None:
    x = pd.DataFrame(
        {
            "number": [1.0, 3.0, np.nan, np.inf, 2.0, 2.0],
            "same": [7] * 6,
            "two": ["a", "b", "a", None, "a", "b"],
            "three": pd.Categorical(["u", "v", "w", "u", "v", "w"]),
            "name": list("ABCDEF"),
            "flag": [True, False, True, True, False, False],
            "day": pd.to_datetime(
                ["2020-01-01", "2020-01-02", None, "2020-01-03", "2020-01-02", "2020-01-02"]
            ),
        }
    )
    prepared = Preparation().fit(x)
    matrix = prepared.transform(x)
    assert list(prepared.get_feature_names_out()) == [
        "number", "two=b", "three=u", "three=v", "three=w", "flag", "day",
    ]  # fmt: skip
    assert np.abs(matrix.mean(axis=0)).max() < 1e-12 and matrix.std(axis=0) == pytest.approx(1)
    assert matrix[2, 0] == matrix[3, 0] == pytest.approx(0)  # missing takes the mean
    assert matrix[3, 1] == matrix[0, 1]  # the mode is a
    new = x.iloc[[0, 1]].assign(three="never seen", number=["x", "1"])
    assert np.isfinite(prepared.transform(new)).all()
    with pytest.raises(
        ValueError, match="'number' was a number when the model learned, and now has others, as 'x'"
    ):
        prepared.transform(x.assign(number="x"))
    with pytest.raises(ValueError, match="'number' was a number"):
        prepared.transform(x.assign(number=x["day"]))
    with pytest.raises(ValueError, match="'day' was a date"):
        prepared.transform(x.assign(day=x["same"]))
    for texts in (["yes", "no"], ["T", "F"], ["True", "False"], ["1", "0"], [1, 0], ["1.0", "0.0"]):
        shown = prepared.transform(x.assign(flag=[texts[0] if one else texts[1] for one in x["flag"]]))
        assert (shown == matrix).all(), "files are read with these as booleans, pandas leaves them as text"
    assert Preparation().fit(x[["same"]]).transform(x[["same"]]).tolist() == [[0]] * 6
