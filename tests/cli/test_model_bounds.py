"""`assay leaderboard --intervals`: from a job's own models to a corrected bound beside its test score."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.analysis.model_bounds import share_inside
from assay.frameworks.find import builtin_names, find_framework
from assay.jobs.row import Row
from assay.results.prediction_matrix import check_predictions
from assay.uncertainty.models import ModelBound, bound_models
from assay.uncertainty.result import Options

from ..conftest import write_framework
from .conftest import Assay

# A tiny AutoML: three models by cross-validation, the best is refitted. With `_ensemble` it says it combines them.
CHOOSES = """\
import numpy as np
from assay_contract import Prediction
from assay_encode import Encoder
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def fit(train, budget, params):
    encoder = Encoder().fit(train)
    X = encoder.transform(train)
    if train.is_classification:
        models = {"tree": DecisionTreeClassifier(max_depth=3, random_state=0), "near": KNeighborsClassifier(9),
                  "dummy": DummyClassifier()}
        folds, how = StratifiedKFold(5, shuffle=True, random_state=0), "predict_proba"
    else:
        models = {"tree": DecisionTreeRegressor(max_depth=3, random_state=0), "near": KNeighborsRegressor(9),
                  "dummy": DummyRegressor()}
        folds, how = KFold(5, shuffle=True, random_state=0), "predict"
    numbers = np.empty(train.n_rows, dtype=int)
    for k, (_, own) in enumerate(folds.split(X, train.y)):
        numbers[own] = k
    said = {name: cross_val_predict(model, X, train.y, cv=folds, method=how) for name, model in models.items()}
    train.write_oof(said, numbers)
    train.report(models_count=3, best="all together" if params.get("_ensemble") else "near")
    return models["near"].fit(X, train.y), encoder, train.is_classification


def predict(model, test):
    near, encoder, is_classification = model
    X = encoder.transform(test)
    if not is_classification:
        return Prediction(values=near.predict(X))
    return Prediction(probabilities=near.predict_proba(X), classes=near.classes_)
"""


@pytest.fixture
def chooses(tmp_path: Path) -> str:
    return str(write_framework(tmp_path / "chooses", CHOOSES))


def test_models_of_a_job_get_a_corrected_bound(assay: Assay, tmp_path: Path, chooses: str) -> None:
    words = ("bundled", "30s1c", "-t", "iris", "-t", "diabetes", "-f", "0", "-f", "1", "-p", "2")
    said = assay("run", f"constant,{chooses}", *words)
    assert said.code == 0, said.err
    shown = assay("leaderboard", "--intervals")
    assert "corrected for having been chosen" in shown.out and "in the test" in shown.out
    bounds = json.loads(assay("leaderboard", "--intervals", "--json").out)["model_bounds"]
    assert [(one["task"], one["fold"]) for one in bounds] == [
        ("diabetes", 0), ("diabetes", 1), ("iris", 0), ("iris", 1),
    ]  # fmt: skip
    for one in bounds:
        found = one["interval"]
        assert one["models"] == 3 and found["lower"] <= found["estimate"] <= found["upper"]
        assert one["is_same"] == (found["winner_name"] == "near")
        assert (one["is_inside"] is None) == (not one["is_same"])
    # The same, straight from the job's folder; it kept its folds, so folds can be drawn too.
    (job,) = (path for path in (tmp_path / "results/jobs").glob("*/*") if (path / "attempts/001/out/oof.npz").exists()
              and json.loads((path / "job.json").read_text())["task"] == "iris"
              and json.loads((path / "job.json").read_text())["fold"] == 0)  # fmt: skip
    direct = json.loads(assay("interval", str(job), "--metric", "logloss", "--json").out)
    iris = next(one["interval"] for one in bounds if one["task"] == "iris")
    assert direct["upper"] == iris["upper"] and direct["winner_name"] == iris["winner_name"]
    assert assay("interval", str(job), "--metric", "logloss", "--method", "bbc_f").code == 0
    page = assay("report", "-o", "page.html")
    assert page.code == 0 and "What their own models promise" in (tmp_path / "page.html").read_text()


def test_a_store_without_predictions_of_models_says_so(assay: Assay, finished: Path) -> None:
    said = assay("leaderboard", "--store", str(finished), "--intervals")
    assert said.code == 0 and "left out-of-fold predictions" in said.out and "rank" in said.out
    found = json.loads(assay("leaderboard", "--store", str(finished), "--intervals", "--json").out)
    assert found["model_bounds"] == []
    assert "constant (4), decision_tree (4). It fits one configuration" in found["warnings"][-1]


def test_every_framework_leaves_predictions_or_says_why_not() -> None:
    for name in builtin_names():
        spec = find_framework(name, unlocked=True)
        writes = spec.adapter is not None and "write_oof" in spec.adapter.read_text(encoding="utf-8")
        assert bool(spec.no_oof) != writes or name == "random_forest", name


def test_a_tuned_forest_leaves_the_predictions_of_every_value(assay: Assay) -> None:
    run = assay("run", "tuned_random_forest,constant", "bundled", "10s1c", "-t", "wine", "-f", "0", "--set",
                "tuned_random_forest.n_estimators=20")  # fmt: skip
    assert run.code == 0, run.err
    found = json.loads(assay("leaderboard", "--intervals", "--json").out)
    (bound,) = found["model_bounds"]
    assert bound["framework"] == "tuned_random_forest" and bound["models"] > 1
    assert bound["interval"]["winner_name"].startswith("max_features=")
    assert any("constant (1)" in note for note in found["warnings"])


def row(score: float | None = 0.99, metric: str = "auc") -> Row:
    written = json.loads((Path(__file__).parents[2] / "benchmarks" / "row.json").read_text())
    changed = {"key": "k", "metric": metric, "score": score, "scores": {}, "higher_is_better": {}}
    return Row.from_json({**written, **changed})


def test_a_job_whose_metric_has_no_value_has_no_bound() -> None:
    y = np.arange(80) % 2
    data = check_predictions(y, np.random.default_rng(0).random((80, 3)))
    assert bound_models(row(), data, "", Options()) is not None
    assert bound_models(row(None), data, "", Options()) is None


def test_only_the_same_model_is_compared_with_its_test_score() -> None:
    y = np.arange(80) % 2
    values = np.clip(0.5 * y[:, None] + np.random.default_rng(0).random((80, 3)) * 0.7, 0, 1)
    data = check_predictions(y, values, names=["a", "b", "c"])
    best = bound_models(row(), data, "", Options())
    assert best is not None and not best.is_same and share_inside([best]) == (0, 0)
    same = bound_models(row(), data, best.interval.winner_name, Options())
    low = bound_models(row(0.1), data, best.interval.winner_name, Options())
    assert same.is_same and same.is_inside and not low.is_inside
    assert share_inside([best, same, low]) == (1, 2)
    alone = bound_models(row(), check_predictions(y, values[:, :1], names=["a"]), "", Options())
    assert isinstance(alone, ModelBound) and alone.is_same, "who left one model predicts with it"
    assert (
        bound_models(row(metric="rmse"), check_predictions(np.where(y, "yes", "no"), values), "", Options())
        is None
    )
