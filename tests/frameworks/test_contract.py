"""The objects adapters see, in this process; test_child.py has the same through the real child."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.frameworks.border.contract import (
    MISSING_DATE,
    SCORERS,
    Budget,
    InvalidPrediction,
    JobDescription,
    Prediction,
    Rows,
    Train,
    best_round,
    code_names,
    codes_in,
    passed,
    plain,
    positions,
    prediction_arrays,
    read_job,
    write_report,
)
from assay.frameworks.border.tables import read_table
from assay.metrics import default_metrics

pd = pytest.importorskip("pandas")
SAID = {
    "schema": 1,
    "type": "multiclass",
    "metric": "logloss",
    "metric_higher_is_better": False,
    "columns": [],
    "target": "y",
    "classes": ["A", "a ", "1"],
    "n_train": 4,
    "n_test": 3,
    "format": "npz",
    "budget_s": 10.0,
    "cores": 1,
    "memory_mb": 100,
    "seed": 5,
    "params": {},
    "batch_sizes": [1],
}


def job(folder: Path = Path("nowhere"), **said: Any) -> JobDescription:
    return JobDescription(folder, {**SAID, **said})


def rows() -> Rows:
    text = np.array(["a", None, ""], dtype=object)
    columns = [
        {"name": "n", "kind": "numeric", "integer": False},
        {"name": "i", "kind": "numeric", "integer": True},
        {"name": "c", "kind": "categorical", "categories": ["A", "a "]},
        {"name": "b", "kind": "boolean"},
        {"name": "full", "kind": "boolean"},
        {"name": "d", "kind": "date"},
        {"name": "t", "kind": "text"},
    ]
    arrays = [
        np.array([1.5, np.nan, 3.0]),
        np.array([1.0, 2.0, 3.0]),
        np.array([0, -1, 1], dtype=np.int32),
        np.array([0, -1, 1], dtype=np.int8),
        np.array([0, 0, 1], dtype=np.int8),
        np.array([0, MISSING_DATE, 86_400 * 10**9]),
        text,
    ]
    return Rows(columns, arrays, 3)


def test_frame_has_the_types_of_the_columns() -> None:
    frame = rows().X
    kinds = ["float64", "int64", "category", "boolean", "bool", "datetime64[ns]", "object"]
    assert [str(dtype) for dtype in frame.dtypes] == kinds
    assert list(frame.columns) == ["n", "i", "c", "b", "full", "d", "t"]
    assert frame["c"].cat.categories.tolist() == ["A", "a "]
    assert frame.isna().to_numpy().tolist() == [
        [False] * 7,
        [True, False, True, True, False, True, True],
        [False] * 7,
    ]
    assert frame["d"].tolist()[2] == pd.Timestamp("1970-01-02")
    assert frame["t"].tolist() == ["a", None, ""]
    assert list(frame.index) == [0, 1, 2]


def test_frame_is_made_once_and_rows_can_be_taken() -> None:
    some = rows()
    assert some.X is some.X
    taken = some.take(np.array([2, 0, 2]))
    assert (len(taken), taken.n_rows) == (3, 3)
    assert taken.arrays[0].tolist() == [3.0, 1.5, 3.0]
    assert taken.X["c"].tolist() == ["a ", "A", "a "]


@pytest.mark.parametrize(
    "names", [["a", "a "], ["0", "y", "n_rows"], ["a,b", 'q"', "line\nbreak"], ["c0", "row", ""]]
)
def test_columns_may_be_called_anything(names: list[str]) -> None:
    columns = [{"name": name, "kind": "numeric"} for name in names]
    frame = Rows(columns, [np.array([float(i)]) for i in range(len(names))], 1).X
    assert list(frame.columns) == names
    assert frame.to_numpy().tolist() == [[float(i) for i in range(len(names))]]


def test_rows_without_columns_still_have_a_number() -> None:
    assert Rows([], [], 5).X.shape == (5, 0)


def test_labels_are_the_classes_by_name() -> None:
    train = Train(job(), Rows([], [], 4), np.array([2, 0, 1, 0]))
    assert train.labels.tolist() == ["1", "A", "a ", "A"]
    assert train.is_classification
    values = Train(job(type="regression", classes=[]), Rows([], [], 2), np.array([0.5, 1.5]))
    assert values.labels.tolist() == [0.5, 1.5]


def test_whole_numbers_are_codes_and_the_rest_are_names() -> None:
    assert positions([1, np.int8(2), "1", np.str_("a "), "A"], ["A", "a ", "1"]) == [1, 2, 2, 1, 0]
    assert positions([True, "False"], ["False", "True"]) == [1, 0]


@pytest.mark.parametrize("unknown", [3, -1, "a", "A ", 1.0, None, np.nan])
def test_unknown_class_is_named(unknown: Any) -> None:
    with pytest.raises(InvalidPrediction, match=r"unknown class .*; the task has A, a , 1"):
        positions([unknown], ["A", "a ", "1"])


def test_bare_answers_are_probabilities_or_values() -> None:
    found = prediction_arrays([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]], job())
    assert found["prediction"].tolist() == [2, 0]
    assert found["row"].tolist() == [0, 1]
    assert prediction_arrays([[1.5], [2]], job(type="regression"))["prediction"].tolist() == [1.5, 2.0]


def test_labels_win_over_the_most_probable_class() -> None:
    found = prediction_arrays(Prediction(probabilities=np.eye(3), labels=[1, 1, 1]), job())
    assert found["prediction"].tolist() == [1, 1, 1]


def test_labels_in_a_column_and_categorical_labels_are_understood() -> None:
    assert prediction_arrays(Prediction(labels=np.array([["A"], ["1"]])), job())["prediction"].tolist() == [
        0,
        2,
    ]
    series = pd.Series(["a ", "1"], dtype="category")
    assert prediction_arrays(Prediction(labels=series), job())["prediction"].tolist() == [1, 2]


def test_row_numbers_come_from_an_index_of_whole_numbers() -> None:
    series = pd.Series([1.0, 2.0, 3.0], index=[2, 0, 1])
    assert prediction_arrays(Prediction(values=series), job(type="regression"))["row"].tolist() == [2, 0, 1]
    frame = pd.DataFrame(np.eye(3), index=[1, 0, 2])
    assert prediction_arrays(Prediction(probabilities=frame), job())["row"].tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    "index", [["x", "y", "z"], [0.5, 1.5, 2.5], pd.date_range("2020", periods=3)], ids=str
)
def test_other_indices_say_nothing_about_rows(index: Any) -> None:
    series = pd.Series([1.0, 2.0, 3.0], index=index)
    assert prediction_arrays(Prediction(values=series), job(type="regression"))["row"].tolist() == [0, 1, 2]


def test_labels_and_probabilities_in_different_orders_are_refused() -> None:
    labels = pd.Series([0, 1, 2])
    probabilities = pd.DataFrame(np.eye(3), index=[2, 1, 0])
    with pytest.raises(InvalidPrediction, match="different row orders"):
        prediction_arrays(Prediction(labels=labels, probabilities=probabilities), job())


def test_budget_runs_down_and_never_below_zero() -> None:
    budget = Budget(10.0, 1, 100)
    assert 9.0 < budget.remaining() <= 10.0
    budget.started -= 20.0
    assert budget.remaining() == 0.0
    assert budget.elapsed() >= 20.0


def test_report_is_json_that_every_language_reads(tmp_path: Path) -> None:
    write_report(
        tmp_path, {"a": np.float64("inf"), "b": {("x", 1): {2.5}}, "c": np.arange(2), "d": 1.5, "e": "ä"}
    )
    text = (tmp_path / "out" / "report.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": None,
        "b": {"('x', 1)": [2.5]},
        "c": [0, 1],
        "d": 1.5,
        "e": "ä",
    }
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.json"]


def test_plain_values_keep_their_kind() -> None:
    value = {"true": True, "int": 3, "float": 0.1, "text": "x", "none": None, "list": [1, [2]]}
    assert plain(value) == value
    assert [type(item) for item in plain([np.int32(1), np.float32(0.5), np.bool_(True)])] == [
        int,
        float,
        bool,
    ]


def test_job_is_read_from_its_folder_and_other_schemas_are_refused(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(json.dumps(SAID), encoding="utf-8")
    assert read_job(tmp_path).classes == ["A", "a ", "1"]
    (tmp_path / "job.json").write_text(json.dumps({**SAID, "schema": 2}), encoding="utf-8")
    with pytest.raises(ValueError, match="schema 2; this child reads 1"):
        read_job(tmp_path)


def test_pickled_training_data_is_not_loaded(tmp_path: Path) -> None:
    with open(tmp_path / "train.npz", "wb") as file:
        np.savez(file, n_rows=np.int64(1), c0=np.array([object()], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_table(job(tmp_path, columns=[{"name": "a", "kind": "numeric"}]), "train")


def test_one_number_per_row_is_the_last_of_two_classes() -> None:
    two = job(type="binary", classes=["A", "B"])
    for answer in (np.array([0.2, 0.9]), np.array([[0.2], [0.9]])):
        found = prediction_arrays(Prediction(probabilities=answer), two)
        np.testing.assert_allclose(found["probabilities"], [[0.8, 0.2], [0.1, 0.9]])
        assert found["prediction"].tolist() == [0, 1]
    with pytest.raises(InvalidPrediction, match="one column per class"):
        prediction_arrays(Prediction(probabilities=np.array([0.2, 0.9, 0.1])), job())


def train(folder: Path, y: Any, **said: Any) -> Train:
    y = np.asarray(y)
    return Train(job(folder, **said), Rows([], [], len(y)), y)


def test_metric_is_named_in_the_frameworks_terms_or_the_usual_one_is_reported(tmp_path: Path) -> None:
    names = {"auc": "roc_auc", "logloss": "log_loss", "rmse": "RMSE"}
    known = train(tmp_path, [0, 1])
    assert known.metric_as(names) == "log_loss" and not known.reported
    for kind, usual in (("binary", "auc"), ("multiclass", "logloss"), ("regression", "rmse")):
        unknown = train(tmp_path, [0, 1], type=kind, metric="mcc")
        assert unknown.metric_as(names) == names[usual]
        assert unknown.reported == {"optimised": usual}


def test_held_out_rows_are_stratified_disjoint_and_follow_the_seed(tmp_path: Path) -> None:
    y = np.array([0] * 80 + [1] * 20 + [2])
    learn, validate = train(tmp_path, y).hold_out(0.1)
    assert sorted([*learn, *validate]) == list(range(101))
    assert np.bincount(y[validate], minlength=3).tolist() == [8, 2, 0]
    again = train(tmp_path, y).hold_out(0.1)
    assert again[1].tolist() == validate.tolist()
    assert train(tmp_path, y, seed=6).hold_out(0.1)[1].tolist() != validate.tolist()
    learn, validate = train(tmp_path, np.linspace(0, 1, 50), type="regression").hold_out(0.2)
    assert len(validate) == 10 and not set(learn) & set(validate)


def test_trace_is_kept_in_order_of_time_without_what_is_no_number(tmp_path: Path) -> None:
    own = train(tmp_path, [0, 1])
    own.write_trace(
        [(2.0, 0.9, "b"), (np.float64(1.0), np.float32(0.5), "a"), (3.0, np.nan, "c")], "auc", True
    )
    said = json.loads((tmp_path / "out" / "artifacts" / "trace.json").read_text())
    assert said == {
        "metric": "auc",
        "higher_is_better": True,
        "points": [[1.0, 0.5, "a"], [2.0, 0.9, "b"]],
    }


def test_parameters_that_steer_the_adapter_are_not_passed_on() -> None:
    assert passed({"a": 1, "_b": 2}) == {"a": 1}


def test_classes_are_counted_without_gaps_and_found_again(tmp_path: Path) -> None:
    learn = train(tmp_path, np.array([2, 0, 2]))
    codes, y = learn.gapless()
    assert (codes.tolist(), y.tolist()) == ([0, 2], [1, 0, 1])
    codes, y = train(tmp_path, np.array([0.5, 1.5]), type="regression", classes=[]).gapless()
    assert codes is None and y.tolist() == [0.5, 1.5]
    assert codes_in(code_names([2, 0, 12])) == [2, 0, 12]
    assert codes_in(["prediction_3", "prediction_score_10"]) == [3, 10]


class Backwards:
    """A model of classes 1, 0 in this order."""

    classes_ = np.array([1, 0])

    def predict(self, X: Any) -> Any:
        return np.array([0, 1])

    def predict_proba(self, X: Any) -> Any:
        return np.array([[0.9, 0.1], [0.3, 0.7]])


class Labels:
    predict = Backwards.predict


def test_a_model_is_asked_for_what_it_knows() -> None:
    codes = np.array([0, 2])
    known = prediction_arrays(Prediction.of(Backwards(), None, codes), job())
    np.testing.assert_allclose(known["probabilities"], [[0.1, 0, 0.9], [0.7, 0, 0.3]])
    only = prediction_arrays(Prediction.of(Labels(), None, codes), job())
    assert only["prediction"].tolist() == [0, 2] and "probabilities" not in only
    values = prediction_arrays(Prediction.of(Labels(), None, None), job(type="regression", classes=[]))
    assert values["prediction"].tolist() == [0.0, 1.0]


def test_out_of_fold_columns_are_put_in_the_order_of_the_classes(tmp_path: Path) -> None:
    learn = train(tmp_path, np.array([2, 0]))
    learn.write_oof({})
    assert not (tmp_path / "out" / "oof.npz").exists()
    said = Prediction(probabilities=[[0.9, 0.1], [np.nan, np.nan]], classes=[2, 0])
    learn.write_oof({"a": said, "b": Prediction(probabilities=np.eye(3)[:2])})
    with np.load(tmp_path / "out" / "oof.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["config_0"], [[0.1, 0, 0.9], [np.nan, 0, np.nan]])
        np.testing.assert_array_equal(file["config_1"], np.eye(3)[:2])
    with pytest.raises(ValueError, match=r"c has shape \(2, 2\), but there are 3 classes"):
        learn.write_oof({"c": np.zeros((2, 2))})


def test_out_of_fold_labels_become_probabilities_of_0_and_1(tmp_path: Path) -> None:
    learn = train(tmp_path, np.array([2, 0]))
    assert learn.write_oof({"codes": Prediction(labels=np.array([2, 1]))})
    with np.load(tmp_path / "out" / "oof.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["config_0"], [[0, 0, 1], [0, 1, 0]])


def test_metric_may_depend_on_the_type_of_the_task(tmp_path: Path) -> None:
    names = {"f1": {"binary": "f1"}, "auc": "roc_auc", "logloss": {"multiclass": "mlogloss"}}
    binary = train(tmp_path, [0, 1], type="binary", classes=["a", "b"], metric="f1")
    assert binary.metric_as(names) == "f1" and not binary.reported
    several = train(tmp_path, [0, 1], metric="f1")
    assert several.metric_as(names) == "mlogloss" and several.reported == {"optimised": "logloss"}


def test_plain_name_of_auc_is_not_taken_for_several_classes(tmp_path: Path) -> None:
    several = train(tmp_path, [0, 1], metric="auc")
    assert several.metric_as({"auc": "auc", "logloss": "mlogloss"}) == "mlogloss"
    assert several.reported == {"optimised": "logloss"}
    assert train(tmp_path, [0, 1], metric="auc").metric_as(SCORERS) == "roc_auc_ovo"


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_metric_that_stands_in_is_the_default_one_of_the_type(tmp_path: Path, kind: str) -> None:
    unknown = train(tmp_path, [0, 1], type=kind, metric="mcc")
    unknown.metric_as({})
    assert unknown.reported == {"optimised": default_metrics(kind)[0]}


def test_folds_validate_every_row_once_and_learn_from_every_class(tmp_path: Path) -> None:
    y = np.array([0] * 11 + [1] * 7 + [2] * 2 + [3])
    job = train(tmp_path, y, classes=["a", "b", "c", "d"])
    folds = job.folds(5)
    validated = np.sort(np.concatenate([validate for _, validate in folds]))
    np.testing.assert_array_equal(validated, np.flatnonzero(y != 3))  # a class of one row cannot be missed
    for learn, validate in folds:
        assert set(y[learn]) == {0, 1, 2, 3} and not set(learn) & set(validate)
        assert len(learn) + len(validate) == len(y) and abs((y[validate] == 0).sum() - 11 / 5) < 1
    again = job.folds(5)
    assert all(
        (a == b).all()
        for one, other in zip(folds, again, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def test_folds_of_numbers_have_equal_sizes(tmp_path: Path) -> None:
    folds = train(tmp_path, np.linspace(0, 1, 23), type="regression", classes=[]).folds(5)
    assert sorted(len(validate) for _, validate in folds) == [4, 4, 5, 5, 5]


def test_best_round_is_that_of_the_mean_curve(tmp_path: Path) -> None:
    assert best_round([[0.5, 0.3, 0.4], [0.5, 0.45, 0.2]], False) == 3
    assert best_round([[0.5, 0.9, 0.4], [0.5, 0.6, 0.2]], True) == 2
    assert best_round([[0.5], [0.5, 0.4, 0.6]], False) == 2, "the shorter one goes on with its last value"
    assert best_round([[0.4, 0.4], [0.4, 0.4]], False) == 1, "the first of equal ones"


def test_something_is_always_held_out(tmp_path: Path) -> None:
    learn, validate = train(tmp_path, np.array([0, 0, 0, 1, 1, 2])).hold_out(0.1)
    assert len(validate) == 1 and validate[0] in (0, 1, 2) and len(learn) == 5
