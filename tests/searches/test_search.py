"""A search from data to interval: inputs, work shared and resumed, processes, failures, groups, and what it writes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline as SkPipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import assay
from assay.api import interval
from assay.errors import ConfigError, DataError, UserError
from assay.jobs.constraint import parse_constraint
from assay.runs.executors.base import Executor
from assay.searches.configurations import full
from assay.searches.folds import fold_rows
from assay.searches.identity import identity
from assay.searches.inputs import open_data
from assay.searches.pipelines import Demand, pipeline_of
from assay.searches.result import SearchResult
from assay.searches.search import search as search_anew
from assay.settings import Settings
from assay.store.store import Store

EXECUTOR: Executor | None = None


@pytest.fixture(autouse=True, scope="module")
def _keep_supervisors(lasting: Executor) -> Iterator[None]:
    global EXECUTOR
    EXECUTOR = lasting
    yield
    EXECUTOR = None


def search(*data: Any, **said: Any) -> SearchResult:
    """Search with the supervisors of the whole session."""
    return search_anew(*data, **{"executor": EXECUTOR, **said})


QUICK = ("decision_tree", "linear", "svm_linear")


def quick(n: int = 6) -> list:
    """Configurations without forests, of several selectors."""
    found = [one for one in full() if one.learner.kind in QUICK]
    return [*found[:: len(found) // (n - 1)][: n - 1], full()[-1]]


def table(kind: str = "binary", n: int = 90, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x = pd.DataFrame(random.normal(size=(n, 4)), columns=list("abcd"))
    x["colour"] = random.choice(["red", "green", "blue"], size=n)
    signal_ = x["a"] - x["b"] + 2 * (x["colour"] == "red") + random.normal(size=n)
    if kind == "values":
        x["y"] = signal_
    elif kind == "binary":
        x["y"] = np.where(signal_ > 0.5, "yes", "no")
    else:
        x["y"] = np.digitize(signal_, (-0.5, 1)) + 8  # 8, 9, 10: as text they would be in another order
    return x


def same(one: SearchResult, other: SearchResult) -> bool:
    values = zip(one.predictions.values, other.predictions.values, strict=True)
    return (
        all((a == b).all() for a, b in values)
        and one.winner == other.winner
        and one.scores == other.scores
        and (one.interval.estimate, one.interval.lower) == (other.interval.estimate, other.interval.lower)
    )


def test_a_search_on_a_bundled_table(shared_settings: Settings) -> None:
    told = []
    found = assay.search(
        "bundled/breast_cancer",
        configurations=quick(4),
        folds=3,
        progress=lambda *now: told.append(now),
        settings=shared_settings,
        executor=EXECUTOR,
    )
    assert found.metric == "auc" and found.winner == next(iter(found.scores)) and len(found.scores) == 4
    assert found.scores["trivial"] == 0.5 and found.interval.winner_name == found.winner
    assert 0.9 < found.interval.lower < found.interval.estimate < 1 == found.interval.upper
    assert found.failed == {} and found.predictions.n_rows == 569 and found.predictions.n_folds == 3
    total = found.jobs[0]
    assert told == [(done, total) for done in range(total + 1)]


@pytest.mark.parametrize(("kind", "metric"), [("binary", "auc"), ("three", "auc"), ("values", "rmse")])
def test_predictions_are_those_of_the_whole_pipeline_and_the_file_gives_the_same_interval(
    kind: str, metric: str, tmp_path: Path
) -> None:
    data = table(kind)
    # Three numbers are values unless the metric says otherwise.
    found = search(
        data, "y", metric=metric if kind == "three" else "", configurations=quick(4), folds=3, repeats=2
    )
    assert found.metric == metric and found.predictions.names == tuple(one.name for one in quick(4))
    own_data = open_data(data, "y", None, metric)
    repeat, _, train, test = fold_rows(own_data, 3, 2, 0)[0][4]
    demand = Demand(kind == "values", kind == "three", 0)
    for at, one in enumerate(quick(4)):
        model = pipeline_of(one, demand).fit(own_data.rows(train), own_data.y[train])
        if kind == "values":
            wanted = model.predict(own_data.rows(test))
        elif hasattr(model, "predict_proba"):
            wanted = model.predict_proba(own_data.rows(test))
            wanted = wanted if kind == "three" else wanted[:, 1]
        else:  # only their order is asked for
            wanted = model.decision_function(own_data.rows(test))
            wanted = 0.5 + wanted / (2 * (1 + np.abs(wanted)))
        # The job had the test rows in another order, which moves the last digit.
        np.testing.assert_allclose(found.predictions.values[repeat][test, at], wanted, rtol=1e-9)
    for name in ("all.parquet", "all.csv"):
        found.write_predictions(tmp_path / name)
        again = interval(tmp_path / name, metric=metric)
        assert again.winner_name == found.winner
        # CSV keeps all digits, and reads back the last of them not always.
        wanted = (
            found.interval.lower,
            found.interval.upper,
            found.interval.estimate,
            found.interval.cv_score,
        )
        got = (again.lower, again.upper, again.estimate, again.cv_score)
        assert got == (wanted if name == "all.parquet" else pytest.approx(wanted, rel=1e-9))
    new = found.model.predict(data.drop(columns="y").head(3))
    assert len(new) == 3 and (kind == "values" or set(new) <= set(data["y"]))
    assert found.classes == (() if kind == "values" else tuple(sorted(set(data["y"]))))


def test_every_way_to_give_the_data_is_the_same(tmp_path: Path, shared_settings: Settings) -> None:
    data = table()
    data["a"] = data["a"].mask(np.arange(len(data)) % 9 == 0)
    data.to_csv(tmp_path / "mine.csv", index=False)
    said = {"configurations": quick(4), "folds": 3}
    whole = search(data, "y", **said)
    assert same(whole, search((data.drop(columns="y"), data["y"]), **said))
    assert same(whole, search(data.drop(columns="y"), list(data["y"]), **said))
    assert same(whole, search(tmp_path / "mine.csv", "y", settings=shared_settings, **said))
    numbers = search((data[["b", "c"]].to_numpy(), data["y"] == "yes"), **said)
    assert numbers.classes == (False, True)


def test_jobs_are_ordinary_ones_with_rows(tmp_path: Path) -> None:
    found = search(table(), "y", configurations=quick(3), folds=3, metric="logloss", folder=tmp_path / "kept")
    rows = Store(tmp_path / "kept").rows()
    assert found.jobs == (9, 0) == (len(rows), 0)
    assert {(row.framework, row.status, row.metric) for row in rows} == {("pipeline", "ok", "logloss")}
    by_fold = {
        name: np.mean([row.score for row in rows if row.params["learner"] == one.learner.kind])
        for name, one in ((one.name, one) for one in quick(3))
    }
    assert found.scores == pytest.approx(by_fold), "the score of a row is that of its configuration and fold"
    assert all(row.enforcement and row.start in ("warm", "cold") and not row.inference_s for row in rows)


KILLED = """
import sys
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, {tests!r})
from assay.searches.search import search
from test_search import Slow, table

search(table(), "y", configurations={{"slow": Slow(0.4), "tree": DecisionTreeClassifier(random_state=0)}}, folds=4,
       folder="kept", parallel=1)
"""


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time; the class rate is all it knows."""

    def __init__(self, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s

    def fit(self, x: np.ndarray, y: np.ndarray) -> Slow:
        time.sleep(self.wait_s)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.rate_ = counts / len(y)
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return np.tile(self.rate_, (len(x), 1)) + np.arange(len(x))[:, None] * [-1e-6, 1e-6]


def test_a_killed_search_goes_on_where_it_was(tmp_path: Path) -> None:
    tests, root = Path(__file__).parent, Path(__file__).parents[2]
    code = KILLED.format(tests=str(tests))
    child = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("kept/jobs/*/*/attempts/*/verdict.json"))) < 3:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    configurations = {"slow": _of_child(0.4), "tree": DecisionTreeClassifier(random_state=0)}
    again = search(table(), "y", configurations=configurations, folds=4, folder=tmp_path / "kept")
    assert again.jobs[0] == 8 and 2 <= again.jobs[1] < 8, "the last of three may not be in the index yet"
    fresh = search(table(), "y", configurations=configurations, folds=4)
    assert same(again, fresh) and fresh.jobs == (8, 0)


def _of_child(wait_s: float) -> Slow:
    """Return the estimator under the name by which the other process knows it."""
    kind = type(
        "Slow", (Slow,), {"__module__": "test_search", "__qualname__": "Slow", "__init__": Slow.__init__}
    )
    return kind(wait_s)


def test_a_folder_holds_several_searches_and_nothing_is_computed_twice(tmp_path: Path) -> None:
    said = {"data": table(), "target": "y", "folds": 3, "folder": tmp_path / "kept"}
    trees = {"tree": DecisionTreeClassifier(), "stump": DecisionTreeClassifier(max_depth=1)}
    first = search(**said, configurations=trees)
    assert first.jobs == (6, 0)
    again = search(**said, configurations=trees, method="naive_folds")
    assert again.jobs == (6, 6) and again.interval.method == "naive_folds" and again.scores == first.scores
    more = search(**said, configurations={**trees, "deep": DecisionTreeClassifier(max_depth=9)})
    assert more.jobs == (9, 6)
    other_seed = search(**said | {"seed": 1}, configurations=trees)
    other_metric = search(**said | {"metric": "logloss"}, configurations=trees)
    assert other_seed.jobs == other_metric.jobs == (6, 0)
    prediction = next(tmp_path.glob("kept/jobs/*/*/attempts/001/out/predictions.npz"))
    prediction.unlink()
    with pytest.raises(UserError, match=r"The predictions of job [0-9a-f]+ cannot be read any more"):
        for metric in ("auc", "logloss"):
            search(**said | {"metric": metric}, configurations=trees)
            search(**said | {"metric": metric, "seed": 1}, configurations=trees)
            search(**said, configurations={"deep": DecisionTreeClassifier(max_depth=9)})
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty and is not a store"):
        search(**said | {"folder": tmp_path}, configurations=trees)


def test_functions_made_on_the_spot_cannot_be_kept_apart(tmp_path: Path) -> None:
    some = {
        "half": SkPipeline([("f", FunctionTransformer(lambda a: a / 2)), ("tree", DecisionTreeClassifier())])
    }
    said = {"configurations": some, "folds": 3}
    assert search(table(), "y", **said).winner == "half"
    with pytest.raises(ConfigError, match="cannot be told from others"):
        search(table(), "y", **said, folder=tmp_path / "kept")


class Eats(Slow):
    """Takes more memory than there is for it."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Slow:
        self.food_ = [np.ones(2**24) for _ in range(100)]
        return super().fit(x, y)


class Dies(Slow):
    """Kills its process."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Slow:
        os.kill(os.getpid(), signal.SIGSEGV)
        return self


class Unreadable(Slow):
    """Cannot be made again from its pickle."""

    def __setstate__(self, state: dict) -> None:
        raise RuntimeError("not here")


def test_configurations_that_eat_memory_hang_crash_or_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    bad = {"eats": Eats(), "hangs": Slow(3600), "dies": Dies(), "unreadable": Unreadable()}
    limit = replace(parse_constraint("5s1c0.3g"), leeway_s=0.0)
    told: list[tuple[int, int]] = []
    found = search(
        table(),
        "y",
        configurations={**bad, "tree": DecisionTreeClassifier(random_state=0)},
        folds=3,
        constraint=limit,
        folder=tmp_path / "kept",
        progress=lambda *now: told.append(now),
    )
    assert found.winner == "tree" and set(found.failed) == set(bad)
    assert "fold 0: It was killed for using more than its 307 MB" in found.failed["eats"]
    assert "fold 0: The fit phase passed its limit of 5 s" in found.failed["hangs"]
    assert "fold 0: It died of SIGSEGV" in found.failed["dies"]
    assert "fold 0: RuntimeError: not here" in found.failed["unreadable"]
    rows = Store(tmp_path / "kept").rows()
    assert len(rows) == 4 + 3, "what failed in its first fold is not tried in the others"
    assert told[0] == (0, 15) and told[-1] == (7, 7)


def test_nested_cross_validation_scores_the_winner_of_each_outer_fold(tmp_path: Path) -> None:
    trees = {"tree": DecisionTreeClassifier(), "stump": DecisionTreeClassifier(max_depth=1)}
    said = {"configurations": trees, "folds": 3, "folder": tmp_path / "kept"}
    found = search(table(), "y", nested=True, **said)
    assert found.jobs[0] == 6 + 3 * 6 + 3 and len(found.nested.scores) == 3
    assert set(found.nested.winners) <= set(trees) and 0.5 < found.nested.mean < 1
    assert found.to_json()["nested"]["mean"] == pytest.approx(np.mean(found.nested.scores))
    assert search(table(), "y", nested=True, **said).jobs == (27, 27)
    assert search(table(), "y", **said).nested is None


def test_a_folder_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('{"format": 2}')
    with pytest.raises(ConfigError, match="holds a search of an earlier version, whose work cannot be"):
        search(table(), "y", configurations=quick(2), folds=3, folder=tmp_path)


def test_own_estimators_have_the_seed_of_the_search() -> None:
    trees = {"forest": RandomForestClassifier(5), "fixed": RandomForestClassifier(5, random_state=3)}
    one, other, third = (search(table(), "y", configurations=trees, folds=3, seed=seed) for seed in (0, 0, 1))
    assert same(one, other) and (one.predictions.values[0] != third.predictions.values[0]).any()
    assert one.model is not None


def test_what_is_kept_is_known_again_in_another_process(tmp_path: Path) -> None:
    code = (
        "from assay.searches.identity import identity; from scipy.stats import randint, loguniform; "
        "from sklearn.model_selection import RandomizedSearchCV; from sklearn.tree import DecisionTreeClassifier; "
        "from sklearn.preprocessing import FunctionTransformer; import numpy as np; "
        "print(identity([RandomizedSearchCV(DecisionTreeClassifier(), {'max_depth': randint(1, 4)}), loguniform(1, 2), "
        "FunctionTransformer(np.log1p), np.arange(3000), {'b': 1, 'a': (2, None)}, {'x', 'y', 'z'}]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={
                "PYTHONHASHSEED": str(seed),
                "HOME": str(tmp_path),
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(said) == 1
    assert identity(DecisionTreeClassifier(max_depth=2)) != identity(DecisionTreeClassifier(max_depth=3))
    long = np.arange(3000.0)
    assert identity(long) != identity(np.where(long == 1500, 0, long)), "its repr leaves out the middle"


@pytest.mark.parametrize(
    ("y", "metric", "configurations", "is_trivial"),
    [
        (
            lambda x, e: np.exp(2.2 * x) + 0.1 * e,
            "rmse",
            "tree",
            False,
        ),  # far better, but judged by folds and by rows
        (lambda x, e: e, "r2", "tree", True),
        (lambda x, e: e > 0, "auc", "tree", True),
        (lambda x, e: x + 0.3 * e > 0, "auc", "tree", False),
        (lambda x, e: x + 0.3 * e > 0, "logloss", "", True),
    ],
)
def test_what_is_no_better_than_trivial_is_known(
    y, metric: str, configurations: str, is_trivial: bool
) -> None:
    random = np.random.default_rng(1)
    x, e = random.normal(size=(2, 200))
    names = ("decision_tree", "random_forest") if configurations else ()
    some = [one for one in full() if one.learner.kind in names and "lasso" not in one.name]
    found = search((x[:, None], y(x, e)), metric=metric, configurations=[*some[:6:3], full()[-1]], folds=4)
    assert found.is_trivial == is_trivial


class FewOnly(Slow):
    """Cannot learn from many rows."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Slow:
        if len(x) > 60:
            raise MemoryError("too many rows")
        return super().fit(x, y)


def test_a_winner_that_cannot_be_fitted_keeps_its_scores() -> None:
    found = search(table(), "y", configurations={"few": FewOnly()}, folds=3)
    assert found.model is None and found.interval.estimate is not None
    assert "no model of it: MemoryError: too many rows" in found.notes[-1]


class Negative(Slow):
    """Predicts what cannot be."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.full(len(x), -5.0)


def test_a_configuration_that_the_metric_has_no_value_for_is_left_out() -> None:
    data = table("values").assign(y=lambda x: np.abs(x["y"]))
    some = {"tree": DecisionTreeRegressor(), "negative": Negative()}
    found = search(data, "y", metric="rmsle", configurations=some, folds=3)
    assert found.winner == "tree" and "the scoring: The logarithmic error" in found.failed["negative"]
    assert any(note.startswith("negative was left out") for note in found.notes)
    with pytest.raises(UserError, match="logarithmic error"):
        search(data, "y", metric="rmsle", configurations={"negative": Negative()}, folds=3)


class Picky(Slow):
    """Fails where a row is not among those it learns from: in one fold."""

    def __init__(self, wanted: float = 0.0, wait_s: float = 0.0) -> None:
        super().__init__(wait_s)
        self.wanted = wanted

    def fit(self, x: np.ndarray, y: np.ndarray) -> Slow:
        if not (x[:, 0] == self.wanted).any():
            raise ArithmeticError("the first row is not here\nsecond line")
        return super().fit(x, y)


def test_a_configuration_that_fails_is_left_out_and_named() -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    some = {"good": LogisticRegression(), "picky": Picky(x[0, 0]), "area": SVC()}
    found = search((x, y), configurations=some, prepare_columns=False, folds=3)
    assert set(found.failed) == {"picky"} and found.predictions.names == ("good", "area")
    assert "ArithmeticError: the first row is not here" in found.failed["picky"]
    assert any("picky" in note for note in found.notes)
    assert np.isfinite(found.predictions.values[0]).all()
    found = search((x, y), configurations=some, prepare_columns=False, folds=3, metric="logloss")
    assert set(found.failed) == {"picky", "area"} and "predict_proba" in found.failed["area"]
    with pytest.raises(
        UserError, match=r"All 1 configurations failed. The first was area, in fold 0: ValueError: it"
    ):
        search((x, y), configurations={"area": SVC()}, metric="logloss", folds=3)


@pytest.mark.parametrize("kind", ["three", "values"])
def test_groups_are_never_on_both_sides(kind: str, tmp_path: Path) -> None:
    data = table(kind, n=120)
    data["patient"] = [f"p{number}" for number in np.random.default_rng(0).integers(30, size=120)]
    said = {
        "metric": "rmse" if kind == "values" else "auc",
        "configurations": quick(3),
        "folds": 3,
        "repeats": 2,
    }
    found = search(data, "y", groups="patient", **said)
    codes = pd.factorize(data["patient"])[0]
    for folds in found.predictions.folds:
        assert pd.DataFrame({"group": codes, "fold": folds}).groupby("group")["fold"].nunique().max() == 1
    assert (found.predictions.folds[0] != found.predictions.folds[1]).any()
    assert "patient" not in found.model[0].get_feature_names_out().tolist()
    found.write_predictions(tmp_path / "all.parquet")
    assert interval(tmp_path / "all.parquet", metric=found.metric).lower == found.interval.lower
    given = search(data.drop(columns="patient"), "y", groups=data["patient"], **said)
    assert same(found, given)


def test_small_classes_have_fewer_folds() -> None:
    data = table()
    data["y"] = np.where(np.arange(90) < 4, "rare", "usual")
    found = search(data, "y", configurations=quick(3))
    assert found.predictions.n_folds == 4
    assert "4 folds instead of 10, because class 'rare' has only 4 rows." in found.notes
    assert search(table("values", n=8), "y", configurations=quick(3)).predictions.n_folds == 8


def test_a_method_that_cannot_be_used_does_not_lose_the_models() -> None:
    found = search(table(), "y", configurations=quick(3), folds=3, resamples="exact")
    assert found.interval.lower is None and "cannot be listed" in found.interval.warnings[-1]
    assert found.model.predict(table().head(2)).shape == (2,)
    two = search(table(), "y", configurations=quick(3), folds=3, alpha=0.2, side="two")
    assert two.interval.alpha == 0.2 and two.interval.upper < 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"target": "z"}, "no column 'z'"),
        ({"method": "bbc_f", "folds": 3}, "3 folds are too few for bbc_f"),
        ({"method": "delong"}, "perhaps another configuration than the search"),
        ({"target": None}, "target is not known"),
        ({"metric": "rmse"}, "rmse is of numbers"),
        ({"metric": "accuracy"}, "Did you mean 'acc'"),
        (
            {"data": table("three"), "metric": "pr_auc", "progress": pytest.fail},
            "pr_auc is not for 3 classes",
        ),
        ({"method": "magic"}, "Unknown method 'magic'"),
        ({"configurations": "most"}, "'most': give a number, all"),
        ({"configurations": []}, "no configurations"),
        ({"folds": 1}, "1 folds, 1 repeats"),
        ({"parallel": 0, "executor": None}, "at least one job must run at a time"),
        ({"constraint": "fast"}, "fast"),
        ({"groups": "nobody"}, "no column 'nobody'"),
        ({"groups": [1, 2]}, "90 rows and 2 groups"),
        ({"alpha": 2}, "alpha is 2"),
        ({"configurations": None}, "configurations is None"),
        ({"configurations": True}, "configurations is True"),
        ({"folds": "5"}, "folds is '5': give a whole number"),
        ({"seed": -1}, "The seed is -1"),
        ({"target": 3}, "no column '3'"),
        ({"groups": 0}, "no column '0'"),
        (
            {"data": table("three").assign(y=lambda x: x["y"] / 4), "metric": "logloss"},
            "A class is called 2.5",
        ),
        ({"data": table().head(0)}, "has no rows"),
        ({"data": pd.concat([table(), table()[["y"]]], axis=1)}, "Two columns are called 'y'"),
        ({"target": "a", "metric": "auc"}, "auc is of classes, but the target of the data is numbers, 90"),
    ],
)
def test_what_cannot_be_searched_is_said(said: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        search(**{"data": table(), "target": "y", "configurations": quick(2)} | said)


def test_targets_that_cannot_be_learned_are_refused() -> None:
    with pytest.raises(DataError, match="the same value in all rows"):
        search(table().assign(y="yes"), "y")
    with pytest.raises(DataError, match="1 rows have no target"):
        search(table().assign(y=[None, *table()["y"][1:]]), "y")
    with pytest.raises(ConfigError, match="has 5 tasks"):
        search("bundled")


def test_on_noise_the_winner_looks_good_and_the_estimate_does_not() -> None:
    tried = {f"{depth} {leaf}": DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=depth)
             for depth in (1, 3, 5, 8) for leaf in (1, 3, 8)}  # fmt: skip
    x = np.random.default_rng(0).normal(size=(60, 8))
    found = search((x, np.arange(60) % 2), configurations=tried, folds=5)
    assert found.interval.lower < 0.5 and found.interval.cv_score - found.interval.estimate > 0.03
