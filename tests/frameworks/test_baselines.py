"""What the baselines promise: by count, by time, by memory, by seed. They run in this process here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assay.frameworks.border import child
from assay.frameworks.find import find_framework

SEEDED = ["decision_tree", "hist_gradient_boosting", "linear", "random_forest", "tuned_random_forest"]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Import an adapter as the child does, and leave no trace of it in this process."""
    for name in ("assay_border", "assay_contract", "assay_tables", "assay_encode", "assay_adapter"):
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name, SimpleNamespace()))

    def prepare(name: str) -> Any:
        adapter = find_framework(name).adapter
        assert adapter is not None
        return child.prepare(adapter)

    return prepare


@pytest.fixture
def make_train(tmp_path: Path, load: Any) -> Callable[..., Any]:
    """Make training rows of `n` numbers and classes that the first column tells."""

    def make(
        kind: str = "binary", n: int = 120, features: int = 4, seed: int = 1, columns: Any = None, **said: Any
    ) -> Any:
        contract = sys.modules["assay_contract"]
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=n) for _ in range(features)]
        described = [{"name": f"x{i}", "kind": "numeric"} for i in range(features)]
        for column, array in columns or ():
            described.append(column)
            arrays.append(array)
        y = {
            "binary": (arrays[0] > 0).astype(np.int64),
            "multiclass": np.digitize(arrays[0], [-0.5, 0.5]).astype(np.int64),
            "regression": 2.0 * arrays[0] + 5.0,
        }[kind]
        classes = {"binary": ["n", "y"], "multiclass": ["a", "b", "c"], "regression": []}[kind]
        metric = {"binary": "auc", "multiclass": "logloss", "regression": "rmse"}[kind]
        job = SimpleNamespace(
            folder=tmp_path, type=kind, metric=metric, metric_higher_is_better=kind == "binary", target="t",
            classes=classes, seed=seed,
        )  # fmt: skip
        for name, value in said.items():
            setattr(job, name, value)
        return contract.Train(job, contract.Rows(described, arrays, n), said.get("y", y))

    return make


def params(name: str, **more: Any) -> dict[str, Any]:
    return {**find_framework(name).params, **more}


def budget(seconds: float = 1e6, memory_mb: int = 10**6) -> Any:
    return sys.modules["assay_contract"].Budget(seconds, 1, memory_mb)


def answers(adapter: Any, model: Any, rows: Any) -> np.ndarray:
    said = adapter.predict(model, rows)
    return np.asarray(said.values if said.probabilities is None else said.probabilities)


# --- constant -----------------------------------------------------------------------------------------


def test_constant_is_the_class_prior(load: Any, make_train: Any) -> None:
    adapter = load("constant")
    train = make_train("multiclass", y=np.array([0, 0, 0, 1] * 30))
    found = answers(adapter, adapter.fit(train, budget(), {}), train)
    assert found.tolist() == [[0.75, 0.25, 0.0]] * 120
    assert train.reported == {"models_count": 0}


def test_constant_is_the_mean_target(load: Any, make_train: Any) -> None:
    adapter = load("constant")
    train = make_train("regression", n=4, y=np.array([1.0, 2.0, 3.0, 6.0]))
    assert answers(adapter, adapter.fit(train, budget(), {}), train).tolist() == [3.0] * 4


# --- random forest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [10, 25])
def test_forest_stops_at_its_number_of_trees(load: Any, make_train: Any, wanted: int) -> None:
    adapter, train = load("random_forest"), make_train()
    _, forest, _ = adapter.fit(train, budget(), params("random_forest", n_estimators=wanted))
    assert len(forest.estimators_) == wanted == train.reported["trees"]
    assert train.reported["models_count"] == 1


def test_forest_grown_in_steps_is_the_forest_grown_at_once(load: Any, make_train: Any) -> None:
    adapter, train = load("random_forest"), make_train()
    in_steps = adapter.fit(train, budget(), params("random_forest", n_estimators=30))
    at_once = adapter.fit(train, budget(), params("random_forest", n_estimators=30, _step=30))
    np.testing.assert_array_equal(answers(adapter, in_steps, train), answers(adapter, at_once, train))


@pytest.fixture
def slow_trees(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Let every tree of an adapter's forests take a tenth of a second, by a clock of our own."""

    def make(adapter: Any) -> None:
        clock = SimpleNamespace(now=0.0)
        fit = adapter.RandomForestClassifier.fit

        def slow_fit(forest: Any, X: Any, y: Any) -> Any:
            clock.now += 0.1 * (forest.n_estimators - len(getattr(forest, "estimators_", ())))
            return fit(forest, X, y)

        monkeypatch.setattr(adapter.RandomForestClassifier, "fit", slow_fit)
        monkeypatch.setattr(adapter.time, "monotonic", lambda: clock.now)

    return make


def test_forest_stops_before_90_percent_of_its_time(load: Any, make_train: Any, slow_trees: Any) -> None:
    adapter, train = load("random_forest"), make_train()
    slow_trees(adapter)
    limit = budget(seconds=20.5)
    adapter.fit(train, limit, params("random_forest"))
    # Ten trees take a second and 90 % are 18.45 s: an eighteenth step fits, a nineteenth would not.
    assert train.reported["trees"] == 180
    assert limit.elapsed() == pytest.approx(18.0)


def test_forest_with_no_time_still_has_one_step_of_trees(load: Any, make_train: Any) -> None:
    adapter = load("random_forest")
    _, forest, _ = adapter.fit(make_train(), budget(seconds=1e-6), params("random_forest"))
    assert len(forest.estimators_) == 10


def test_forest_respects_its_memory(load: Any, make_train: Any, monkeypatch: Any) -> None:
    """Every step takes 50 MB of a limit of 500 MB: at 400 one more would reach 450, which is 90 %."""
    adapter, train = load("random_forest"), make_train()
    monkeypatch.setattr(
        adapter, "memory_mb", lambda: 100.0 + 5.0 * len(getattr(adapter.last, "estimators_", ()))
    )
    make = adapter.new_forest

    def remember(*said: Any) -> Any:
        adapter.last = make(*said)
        return adapter.last

    adapter.last = None
    monkeypatch.setattr(adapter, "new_forest", remember)
    _, forest, _ = adapter.fit(train, budget(memory_mb=500), params("random_forest"))
    assert adapter.memory_mb() <= 450.0
    assert len(forest.estimators_) == 70


def test_memory_is_that_of_this_process(load: Any) -> None:
    import psutil

    adapter = load("random_forest")
    assert adapter.memory_mb() == pytest.approx(psutil.Process().memory_info().rss / 2**20, rel=0.05)


# --- tuned random forest ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [1, 2, 4, 11, 12, 100, 1777])
@pytest.mark.parametrize("is_classification", [True, False])
def test_at_most_eleven_different_values_are_tried(
    load: Any, n_features: int, is_classification: bool
) -> None:
    adapter = load("tuned_random_forest")
    default = adapter.default_value(n_features, is_classification)
    found = adapter.candidates(n_features, default, 11)
    assert len(found) == len(set(found)) <= 11
    assert found[0] == default
    assert {1, n_features} <= set(found) <= set(range(1, n_features + 1))


def test_default_is_that_of_the_library(load: Any, make_train: Any) -> None:
    adapter = load("random_forest")
    assert [adapter.default_value(n, True) for n in (1, 4, 17, 100)] == [1, 2, 4, 10]
    assert adapter.default_value(17, False) == 17


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_tuning_tries_the_values_and_takes_the_best(load: Any, make_train: Any, kind: str) -> None:
    adapter, train = load("tuned_random_forest"), make_train(kind, features=6)
    said = params("tuned_random_forest", n_estimators=10, _tuning_trees=3)
    _, forest, _ = adapter.fit(train, budget(), said)
    tried = train.reported["tried"]
    assert sorted(map(int, tried)) == [1, 2, 3, 4, 5, 6]
    assert train.reported["models_count"] == 7
    best = max(tried, key=tried.get)
    assert forest.max_features == int(best) == train.reported["max_features"]


def test_tuning_takes_at_most_half_of_the_time(load: Any, make_train: Any, slow_trees: Any) -> None:
    adapter, train = load("tuned_random_forest"), make_train(features=20)
    slow_trees(adapter)
    limit = budget(seconds=100.0)
    adapter.fit(train, limit, params("tuned_random_forest"))
    # 50 s for 11 values of 5 folds: 9 trees each, 4.5 s a value; ten trees for the first guess took 1 s.
    assert len(train.reported["tried"]) == 10
    assert train.reported["trees"] == 440
    assert limit.elapsed() == pytest.approx(1.0 + 45.0 + 44.0)


def test_tuned_forest_with_little_time_tries_the_default_alone(
    load: Any, make_train: Any, slow_trees: Any
) -> None:
    adapter, train = load("tuned_random_forest"), make_train(features=20)
    slow_trees(adapter)
    limit = budget(seconds=3.5)
    adapter.fit(train, limit, params("tuned_random_forest"))
    assert list(train.reported["tried"]) == ["4"]
    assert train.reported["trees"] == 10
    assert limit.elapsed() <= 0.9 * 3.5


def test_tuned_forest_works_where_folds_cannot_be_made(load: Any, make_train: Any) -> None:
    adapter, train = load("tuned_random_forest"), make_train(n=4, y=np.array([0, 1, 0, 1]))
    adapter.fit(train, budget(), params("tuned_random_forest", n_estimators=10))
    assert train.reported["tried"] == {}


def test_tuned_forest_works_with_a_class_of_one_row(load: Any, make_train: Any) -> None:
    y = np.array([0, 1] * 20 + [2])
    adapter, train = load("tuned_random_forest"), make_train("multiclass", n=41, y=y)
    model = adapter.fit(train, budget(), params("tuned_random_forest", n_estimators=10, _tuning_trees=2))
    assert all(np.isfinite(score) for score in train.reported["tried"].values())
    assert answers(adapter, model, train).shape == (41, 3)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("binary", "auc"),
        ("binary", "acc"),
        ("binary", "logloss"),
        ("multiclass", "balacc"),
        ("regression", "mae"),
        ("regression", "r2"),
    ],
)
def test_tuning_scores_are_better_when_higher(load: Any, make_train: Any, kind: str, metric: str) -> None:
    adapter, train = load("tuned_random_forest"), make_train(kind, metric=metric)
    encoder, forest, _ = adapter.fit(train, budget(), params("random_forest", n_estimators=20))
    X = encoder.transform(train)
    said = forest.predict_proba(X) if train.is_classification else forest.predict(X)
    right, wrong = (adapter.score(train, truth, said) for truth in (train.y, np.roll(train.y, 1)))
    assert right > wrong


# --- all of them --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "regression"])
@pytest.mark.parametrize("name", ["constant", *SEEDED])
def test_same_seed_gives_identical_predictions(load: Any, make_train: Any, name: str, kind: str) -> None:
    few = {"n_estimators": 20, "_tuning_trees": 2} if "forest" in name else {}
    adapter = load(name)
    found = []
    for _ in range(2):
        train = make_train(kind, seed=7)
        found.append(answers(adapter, adapter.fit(train, budget(), params(name, **few)), train))
    np.testing.assert_array_equal(found[0], found[1])


def test_other_seed_gives_another_forest(load: Any, make_train: Any) -> None:
    adapter = load("random_forest")
    found = []
    for seed in (1, 2):
        train = make_train(seed=seed)
        found.append(
            answers(adapter, adapter.fit(train, budget(), params("random_forest", n_estimators=10)), train)
        )
    assert (found[0] != found[1]).any()


@pytest.mark.parametrize("levels", [2, 254, 255, 256, 1000])
def test_boosting_takes_columns_of_any_number_of_levels(load: Any, make_train: Any, levels: int) -> None:
    adapter = load("hist_gradient_boosting")
    codes = (np.arange(1200) % (levels + 1) - 1).astype(np.int32)
    column = {"name": "c", "kind": "categorical", "categories": [f"l{i}" for i in range(levels)]}
    train = make_train(n=1200, columns=[(column, codes)])
    model = adapter.fit(train, budget(), {"max_iter": 2})
    assert answers(adapter, model, train).shape == (1200, 2)
    is_category = model[1].is_categorical_
    assert (is_category is not None and bool(is_category.any())) == (levels < 255)


def test_boosting_works_on_text_alone(load: Any, make_train: Any) -> None:
    adapter = load("hist_gradient_boosting")
    text = ({"name": "t", "kind": "text"}, np.array(["a"] * 120, dtype=object))
    train = make_train(features=1)
    only_text = sys.modules["assay_contract"].Rows([text[0]], [text[1]], 120)
    train.columns, train.arrays = only_text.columns, only_text.arrays
    assert answers(adapter, adapter.fit(train, budget(), {"max_iter": 2}), train).shape == (120, 2)


@pytest.mark.parametrize("name", SEEDED)
def test_class_absent_from_training_is_left_to_the_child(load: Any, make_train: Any, name: str) -> None:
    few = {"n_estimators": 10, "_tuning_trees": 2} if "forest" in name else {}
    adapter, train = load(name), make_train("multiclass", y=np.array([0, 2] * 60))
    said = adapter.predict(adapter.fit(train, budget(), params(name, **few)), train)
    assert [int(code) for code in said.classes] == [0, 2]


@pytest.mark.parametrize("name", SEEDED)
def test_huge_numbers_are_survived(load: Any, make_train: Any, name: str) -> None:
    few = {"n_estimators": 10, "_tuning_trees": 2} if "forest" in name else {}
    huge = ({"name": "huge", "kind": "numeric"}, np.where(np.arange(120) % 2, 1e300, -1e300))
    adapter, train = load(name), make_train(columns=[huge])
    assert np.isfinite(answers(adapter, adapter.fit(train, budget(), params(name, **few)), train)).all()
