"""The real child, started on real folders: what every framework meets."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.frameworks.find import builtin_names, find_framework
from assay.frameworks.predictions import Asked, BadPredictions, read_predictions

FRAMEWORKS = Path(find_framework("constant").folder).parent
FEW = {"random_forest": {"n_estimators": 20}, "tuned_random_forest": {"n_estimators": 20, "_tuning_trees": 5}}
TYPES = ("binary", "multiclass", "regression")

SIMPLE = """
def fit(train, budget, params):
    return train.classes, len(train.classes)

def predict(model, test):
    classes, k = model
    if not k:
        return Prediction(values=np.arange(test.n_rows, dtype=float))
    return Prediction(probabilities=np.eye(k)[np.arange(test.n_rows) % k])
"""
KEEP = """
def fit(train, budget, params):
    for i, (array, column) in enumerate(zip(train.arrays, train.columns)):
        train.report(**{"c%d" % i: array})
    train.report(y=train.y, labels=list(train.labels), dtypes=[str(dtype) for dtype in train.X.dtypes])
    return train.is_classification

def predict(is_classification, test):
    zeros = np.zeros(test.n_rows, dtype=int)
    return Prediction(labels=zeros) if is_classification else Prediction(values=zeros)
"""


OURS = [name for name in builtin_names() if find_framework(name).environment == "assay"]


def adapter_text(fit: str = "return None", predict: str = "return None") -> str:
    return f"def fit(train, budget, params):\n    {fit}\n\ndef predict(model, test):\n    {predict}\n"


def asked(sample: Any) -> Asked:
    return Asked(sample.task.type, sample.task.classes, sample.test.n_rows)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", OURS)
def test_baseline_predicts_a_mixed_table(samples, build_job, run_child, name: str, kind: str) -> None:
    spec = find_framework(name)
    form = "csv" if kind == "multiclass" else "npz"
    folder = build_job(samples[kind], form, params={**spec.params, **FEW.get(name, {})})
    ended = run_child(folder, spec.adapter)
    assert ended.code == 0, ended.log
    found = read_predictions(folder / "out", asked(samples[kind]))
    assert found is not None
    assert found.is_constant == (spec.role == "constant")
    truth = samples[kind].y_test
    if spec.role == "constant":
        return
    if kind == "regression":
        assert np.mean((found.values - truth) ** 2) < 0.6 * np.var(truth)
    else:
        assert np.mean(found.values == truth) > 0.65


@pytest.mark.parametrize("form", ["npz", "csv", "parquet"])
@pytest.mark.parametrize("kind", TYPES)
def test_training_rows_arrive_as_they_were(
    samples, build_job, run_child, write_adapter, kind: str, form: str
) -> None:
    sample = samples[kind]
    report = run_child(build_job(sample, form), write_adapter(KEEP)).report
    for i, column in enumerate(sample.task.features):
        expected = sample.train.arrays[column.name].tolist()
        found = [np.nan if v is None and column.kind == "numeric" else v for v in report[f"c{i}"]]
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(report["y"], sample.y_train)
    if kind != "regression":
        assert report["labels"] == [sample.task.classes[code] for code in sample.y_train]
        assert {"A", "a "} <= set(report["labels"])
    assert report["dtypes"] == ["float64", "int64", "category", "boolean", "datetime64[ns]", "object"]


def test_phases_are_announced_in_order(samples, build_job, run_child, write_adapter) -> None:
    ended = run_child(build_job(samples["binary"]), write_adapter(SIMPLE))
    assert ended.phases == ["start", "load", "fit", "predict", "timing", "end"]
    assert list(ended.report["phases"]) == ["load", "fit", "predict", "timing"]
    assert all(seconds >= 0 for seconds in ended.report["phases"].values())


def test_phases_stop_where_the_framework_failed(samples, build_job, run_child, write_adapter) -> None:
    adapter = write_adapter(
        "def fit(train, budget, params):\n    return 1\n\ndef predict(model, test):\n    raise KeyError('x')"
    )
    ended = run_child(build_job(samples["binary"]), adapter)
    assert ended.phases == ["start", "load", "fit", "predict"]
    assert list(ended.report["phases"]) == ["load", "fit"]


def test_child_runs_without_anybody_listening_to_its_phases(samples, build_job, write_adapter) -> None:
    import subprocess
    import sys

    folder = build_job(samples["binary"])
    command = [
        sys.executable,
        "-I",
        str(FRAMEWORKS / "border" / "child.py"),
        str(folder),
        str(write_adapter(SIMPLE)),
    ]
    assert subprocess.run(command, env={}, capture_output=True, check=False).returncode == 0
    assert (folder / "out" / "predictions.npz").exists()


def test_report_tells_python_phases_timing_and_what_the_framework_said(
    samples, build_job, run_child, write_adapter
) -> None:
    said = (
        "models_count=np.int64(3), share=np.float32(0.5), worst=np.nan, table={1: [np.bool_(True)]}, path=np"
    )
    text = SIMPLE.replace("    return train.classes", f"    train.report({said})\n    return train.classes")
    report = run_child(build_job(samples["binary"]), write_adapter(text)).report
    assert report["schema"] == 1
    assert report["python"].startswith("3.")
    assert (report["models_count"], report["share"], report["worst"]) == (3, 0.5, None)
    assert report["table"] == {"1": [True]}
    assert report["path"].startswith("<module 'numpy'")
    assert {size: entry["repeats"] for size, entry in report["timing"].items()} == {"1": 10, "3": 10}
    assert "error" not in report


@pytest.mark.parametrize("name", ["error", "phases", "schema", "timing"])
def test_report_of_a_framework_cannot_replace_what_the_child_saw(
    samples, build_job, run_child, write_adapter, name
) -> None:
    text = SIMPLE.replace(
        "    return train.classes", f"    train.report({name}='x')\n    return train.classes"
    )
    ended = run_child(build_job(samples["binary"]), write_adapter(text))
    assert ended.code == 1
    assert f"cannot set '{name}'" in ended.report["error"]["message"]


def test_test_rows_carry_no_target(samples, build_job, run_child, write_adapter) -> None:
    text = SIMPLE.replace(
        "    classes, k = model", "    assert not hasattr(test, 'y')\n    classes, k = model"
    )
    folder = build_job(samples["binary"])
    assert run_child(folder, write_adapter(text)).code == 0
    with np.load(folder / "test.npz") as file:
        assert "y" not in file.files


def test_job_says_nothing_that_names_the_data(samples, build_job) -> None:
    text = (build_job(samples["binary"]) / "job.json").read_text()
    assert "secret" not in text
    assert "/" not in text


@pytest.mark.parametrize("name", ["contract", "child", "encode", "adapter"])
def test_folders_of_child_and_adapter_are_not_on_the_path(
    samples, build_job, run_child, write_adapter, name
) -> None:
    ended = run_child(build_job(samples["binary"]), write_adapter(f"import {name}"))
    assert ended.report["error"] == {"type": "ModuleNotFoundError", "message": f"No module named '{name}'"}


def test_environment_without_numpy_is_reported(
    samples, build_job, run_child, write_adapter, tmp_path
) -> None:
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    ended = run_child(
        build_job(samples["binary"]), write_adapter(SIMPLE), str(tmp_path / "bare" / "bin" / "python")
    )
    assert (ended.code, ended.report["import_failed"]) == (1, True)
    assert ended.report["error"]["message"] == "No module named 'numpy'"


# --- classes and rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        "probabilities=p, classes=[2, 0, 1]",
        "probabilities=p, classes=np.array([2, 0, 1])",
        "probabilities=p, classes=['b, c', 'A', 'a ']",
        "probabilities=p[:, [1, 2, 0]]",
        "labels=np.array([2, 0, 1])[p.argmax(axis=1)]",
        "labels=np.array(['b, c', 'A', 'a '], dtype=object)[p.argmax(axis=1)]",
    ],
)
def test_classes_are_restored_by_name_or_code(
    samples, build_job, run_child, write_adapter, answer: str
) -> None:
    text = f"""
def fit(train, budget, params):
    return None

def predict(model, test):
    p = np.tile([0.7, 0.2, 0.1], (test.n_rows, 1))
    p[::2] = [0.1, 0.3, 0.6]
    return Prediction({answer})
"""
    sample = samples["multiclass"]
    folder = build_job(sample)
    ended = run_child(folder, write_adapter(text))
    assert ended.code == 0, ended.log
    found = read_predictions(folder / "out", asked(sample))
    np.testing.assert_array_equal(found.values, [1, 2] * 10)
    if not found.from_labels:
        np.testing.assert_array_equal(found.probabilities[:2], [[0.3, 0.6, 0.1], [0.2, 0.1, 0.7]])


def test_class_missing_from_training_gets_probability_zero(samples, build_job, run_child) -> None:
    from dataclasses import replace

    sample = samples["multiclass"]
    kept = np.flatnonzero(sample.y_train != 1)
    sample = replace(sample, train=sample.train.take(kept), y_train=sample.y_train[kept])
    folder = build_job(sample)
    ended = run_child(folder, find_framework("linear").adapter)
    assert ended.code == 0, ended.log
    assert (ended.predictions["probabilities"][:, 1] == 0).all()
    assert read_predictions(folder / "out", asked(sample)) is not None


def test_shuffled_rows_show(samples, build_job, run_child, write_adapter) -> None:
    text = """
import pandas as pd

def fit(train, budget, params):
    return None

def predict(model, test):
    return Prediction(values=pd.Series(np.zeros(test.n_rows), index=test.X.index).sample(frac=1, random_state=0))
"""
    folder = build_job(samples["regression"])
    assert run_child(folder, write_adapter(text)).code == 0
    with pytest.raises(BadPredictions, match="another order than asked: place 0 speaks of row"):
        read_predictions(folder / "out", asked(samples["regression"]))


@pytest.mark.parametrize(
    ("kind", "answer", "message"),
    [
        ("binary", "labels=['A'] * 19 + ['a']", "unknown class 'a'; the task has A, a "),
        ("binary", "labels=np.full(20, 2)", "unknown class"),
        ("binary", "labels=np.full(20, 1.0)", "unknown class"),
        (
            "multiclass",
            "probabilities=np.full(20, 0.5)",
            "shape (20,): one row per test row and one column per class",
        ),
        (
            "binary",
            "probabilities=np.ones((20, 1)), classes=[0, 1]",
            "shape (20, 1) but 2 classes were named",
        ),
        ("binary", "probabilities=np.full((20, 2), 0.5), classes=[1, 1]", "named twice"),
        ("binary", "probabilities=[['a', 'b']] * 20", "are not numbers"),
        ("binary", "values=np.zeros(20)", "no predictions of the kind the task needs (binary)"),
        ("regression", "labels=np.zeros(20)", "no predictions of the kind the task needs (regression)"),
        ("regression", "values=['x'] * 20", "are not numbers"),
    ],
)
def test_answer_that_is_none_is_refused_by_the_child(
    samples, build_job, run_child, write_adapter, kind: str, answer: str, message: str
) -> None:
    text = adapter_text(predict=f"return Prediction({answer})")
    folder = build_job(samples[kind])
    ended = run_child(folder, write_adapter(text))
    assert ended.code == 1
    assert ended.report["invalid_predictions"] is True
    assert message in ended.report["error"]["message"]
    assert ended.predictions == {}


# --- frameworks that fail -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "kind", "message"),
    [
        ("raise ValueError('no ' + 'x' * 9000)", 1, "ValueError", "no xxx"),
        ("raise type('Out', (MemoryError,), {})('8 TiB')", 1, "MemoryError", "8 TiB"),
        ("np.empty((10**13, 10**3))", 1, "MemoryError", "Unable to allocate"),
        ("import sys; sys.exit(0)", 0, "SystemExit", "0"),
        ("import sys; sys.exit(7)", 7, "SystemExit", "7"),
        ("import sys; sys.exit('bye')", 1, "SystemExit", "bye"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt", ""),
    ],
)
def test_what_a_framework_raises_is_reported(
    samples, build_job, run_child, write_adapter, line, code, kind, message
) -> None:
    ended = run_child(build_job(samples["binary"]), write_adapter(adapter_text(line)))
    assert ended.code == code
    assert ended.report["error"]["type"].endswith(kind)  # numpy has called its own _ArrayMemoryError
    assert ended.report["error"]["message"].startswith(message)
    assert len(ended.report["error"]["message"]) <= 4000
    assert ended.report["invalid_predictions"] is False
    assert "Traceback" in ended.log
    assert ended.predictions == {}


def test_framework_that_leaves_a_broken_stream_is_reported_and_its_trace_logged(
    samples, build_job, run_child, write_adapter
) -> None:
    line = "import io, sys; sys.stderr = io.StringIO(); sys.stderr.close(); raise ValueError('told')"
    ended = run_child(build_job(samples["binary"]), write_adapter(adapter_text(line)))
    assert ended.report["error"] == {"type": "ValueError", "message": "told"}
    assert "ValueError: told" in ended.log


@pytest.mark.parametrize("line", ["import no_such_library", "1 / 0", "import sys; sys.exit(0)", "def f(:"])
def test_adapter_that_cannot_be_imported_is_reported_as_such(
    samples, build_job, run_child, write_adapter, line
) -> None:
    ended = run_child(build_job(samples["binary"]), write_adapter(line))
    assert ended.code == 1
    assert ended.report["import_failed"] is True
    assert ended.report["error"]["type"] in (
        "ModuleNotFoundError",
        "ZeroDivisionError",
        "SystemExit",
        "SyntaxError",
    )
    assert ended.phases == ["start"]


def test_job_of_another_schema_is_refused(samples, build_job, run_child, write_adapter) -> None:
    ended = run_child(build_job(samples["binary"], schema=2), write_adapter(SIMPLE))
    assert "schema 2; this child reads 1" in ended.report["error"]["message"]


@pytest.mark.parametrize("line", ["raise ValueError('one row is too few')", "import sys; sys.exit(3)"])
def test_failure_while_timing_does_not_spoil_the_predictions(
    samples, build_job, run_child, write_adapter, line
) -> None:
    text = SIMPLE.replace(
        "    classes, k = model", f"    if test.n_rows == 1:\n        {line}\n    classes, k = model"
    )
    folder = build_job(samples["binary"])
    ended = run_child(folder, write_adapter(text))
    assert ended.phases[4] == "timing"
    assert read_predictions(folder / "out", asked(samples["binary"])) is not None
    if "ValueError" in line:
        assert ended.code == 0
        assert ended.report["timing"]["1"] == {"error": "ValueError: one row is too few"}
        assert ended.report["timing"]["3"]["repeats"] == 10


def test_timing_stops_in_time_and_says_what_it_left_out(samples, build_job, run_child, write_adapter) -> None:
    slow = SIMPLE + "\nimport time\nlearned = predict\n\ndef predict(model, test):\n"
    slow += "    time.sleep(0.002 * test.n_rows)\n    return learned(model, test)\n"
    folder = build_job(samples["binary"], batch_sizes=[1, 10, 100, 1000, 10000], timing_s=1.5)
    ended = run_child(folder, write_adapter(slow))
    timing = ended.report["timing"]
    assert timing["1"]["repeats"] == 10 and timing["10"]["median_s"] > 0.02 and "median_s" in timing["100"]
    assert timing["1000"] == timing["10000"] and "longer than the time" in timing["1000"]["skipped"]
    assert ended.report["phases"]["timing"] < 5


def test_timing_can_be_switched_off(samples, build_job, run_child, write_adapter) -> None:
    ended = run_child(build_job(samples["binary"], batch_sizes=[], timing_s=0), write_adapter(SIMPLE))
    assert ended.code == 0 and ended.report["timing"] == {} and "timing" in ended.phases


def test_predictions_and_report_are_there_before_timing_begins(
    samples, build_job, run_child, write_adapter
) -> None:
    text = (
        SIMPLE
        + """
first = predict
def predict(model, test):
    import pathlib, sys
    out = pathlib.Path(sys.argv[1]) / "out"
    if test.n_rows == 1 and sorted(p.name for p in out.iterdir()) == ["predictions.npz", "report.json"]:
        raise RuntimeError("all there")
    return first(model, test)
"""
    )
    ended = run_child(build_job(samples["binary"]), write_adapter(text))
    assert ended.report["timing"]["1"]["error"] == "RuntimeError: all there"


def test_model_is_closed_at_the_end(samples, build_job, run_child, write_adapter) -> None:
    ended = run_child(
        build_job(samples["binary"]),
        write_adapter(SIMPLE + "\ndef close(model):\n    print('closed', model[1])"),
    )
    assert "closed 2" in ended.log
    assert ended.code == 0


def test_what_was_reported_before_a_failing_predict_is_kept(
    samples, build_job, run_child, write_adapter
) -> None:
    text = adapter_text("train.report(models_count=5)", "raise OSError")
    assert run_child(build_job(samples["binary"]), write_adapter(text)).report["models_count"] == 5


# --- what an adapter may keep -------------------------------------------------------------------------


def test_out_of_fold_predictions_and_artifacts_are_kept(samples, build_job, run_child, write_adapter) -> None:
    line = """
    train.write_oof({"a": np.zeros(train.n_rows), "b": np.ones((train.n_rows, 2))}, folds=np.arange(train.n_rows) % 5)
    (train.artifacts / "leaderboard.csv").write_text("model,score")
    return train.classes"""
    folder = build_job(samples["binary"])
    ended = run_child(folder, write_adapter(SIMPLE.replace("    return train.classes", line, 1)))
    assert ended.code == 0, ended.log
    with np.load(folder / "out" / "oof.npz", allow_pickle=False) as file:
        assert file["names"].tolist() == ["a", "b"]
        assert file["config_0"].shape == (70,)
        assert file["config_1"].shape == (70, 2)
        assert file["fold"].tolist() == [i % 5 for i in range(70)]
    assert (folder / "out" / "artifacts" / "leaderboard.csv").read_text() == "model,score"


def test_out_of_fold_predictions_for_other_rows_are_refused(
    samples, build_job, run_child, write_adapter
) -> None:
    ended = run_child(
        build_job(samples["binary"]), write_adapter(adapter_text("train.write_oof({'a': np.zeros(3)})"))
    )
    assert ended.report["error"]["message"] == "a has 3 rows, the training data 70"


EXPORT = """

def export(model, train):
    {line}
"""


def test_what_is_exported_comes_after_the_predictions(samples, build_job, run_child, write_adapter) -> None:
    line = "train.write_oof((str(i), np.full(train.n_rows, i)) for i in range(3)); train.report(notes='late')"
    folder = build_job(samples["binary"])
    ended = run_child(folder, write_adapter(SIMPLE + EXPORT.format(line=line)))
    assert ended.code == 0, ended.log
    assert ended.report["notes"] == "late" and "export" in ended.report["phases"]
    with np.load(folder / "out" / "oof.npz", allow_pickle=False) as file:
        assert file["names"].tolist() == ["0", "1", "2"]
        assert file["config_2"].tolist() == [2.0] * 70


def test_what_breaks_in_the_export_is_noted_and_no_more(samples, build_job, run_child, write_adapter) -> None:
    folder = build_job(samples["binary"])
    ended = run_child(folder, write_adapter(SIMPLE + EXPORT.format(line="raise KeyError('model')")))
    assert ended.code == 0, ended.log
    assert ended.report["export_problem"] == "KeyError: 'model'" and "error" not in ended.report
    assert (folder / "out" / "predictions.npz").exists()


def test_what_cannot_be_started_is_told_apart_from_what_fails(
    samples, build_job, run_child, write_adapter
) -> None:
    text = SIMPLE + "\n\ndef start(budget, params):\n    raise OSError('no Java')\n"
    ended = run_child(build_job(samples["binary"]), write_adapter(text))
    assert ended.report["import_failed"] is True
    assert ended.report["error"] == {"type": "OSError", "message": "no Java"}


def test_files_beside_the_child_do_not_shadow_libraries(samples, build_job, run_child, write_adapter) -> None:
    text = "import importlib.util\n" + SIMPLE
    line = "    train.report(found=[importlib.util.find_spec(n) is not None for n in ('encode', 'tables', 'child')])\n"
    text = text.replace("    return train.classes", line + "    return train.classes", 1)
    assert run_child(build_job(samples["binary"]), write_adapter(text)).report["found"] == [False] * 3


def test_budget_and_parameters_reach_the_adapter(samples, build_job, run_child, write_adapter) -> None:
    line = (
        "train.report(got=[budget.seconds, budget.cores, budget.memory_mb, params, train.seed, train.metric])"
    )
    text = SIMPLE.replace("    return train.classes", f"    {line}\n    return train.classes")
    folder = build_job(samples["binary"], params={"depth": 3}, cores=2)
    seed = json.loads((folder / "job.json").read_text())["seed"]
    assert run_child(folder, write_adapter(text)).report["got"] == [30.0, 2, 2048, {"depth": 3}, seed, "auc"]


# --- an estimator of the user's own -------------------------------------------------------------------


@pytest.fixture
def run_estimator(samples, build_job, run_child, tmp_path: Path) -> Callable[..., Any]:
    def run(text: str, name: str = "model.py", kind: str = "binary", **params: Any) -> Any:
        code = tmp_path / "code"
        code.mkdir()
        shutil.copyfile(FRAMEWORKS / "estimator" / "adapter.py", code / "adapter.py")
        (code / name).write_text(text)
        folder = build_job(samples[kind], params={"_file": name, "_class": "Mine", **params})
        ended = run_child(folder, code / "adapter.py")
        return read_predictions(folder / "out", asked(samples[kind])), ended

    return run


def test_sklearn_estimator_needs_no_adapter(samples, run_estimator) -> None:
    text = "from sklearn.neighbors import KNeighborsClassifier\nclass Mine(KNeighborsClassifier): pass\n"
    found, _ = run_estimator(text, kind="multiclass", n_neighbors=3)
    assert found.probabilities is not None
    assert set(np.unique(np.round(found.probabilities * 3, 6))) <= {0.0, 1.0, 2.0, 3.0}


def test_file_called_like_the_library_it_imports_works(run_estimator) -> None:
    text = "from sklearn.dummy import DummyClassifier\nclass Mine(DummyClassifier): pass\n"
    found, _ = run_estimator(text, name="sklearn.py")
    assert found.is_constant


def test_estimator_with_labels_only_gets_hard_probabilities(run_estimator) -> None:
    text = "from sklearn.svm import LinearSVC\nclass Mine(LinearSVC): pass\n"
    found, _ = run_estimator(text)
    assert found.from_labels


def test_plain_class_is_enough_and_gets_the_frame_if_it_asks(run_estimator) -> None:
    text = """
class Mine:
    assay_input = "frame"
    def fit(self, X, y):
        assert list(X.columns) == ["size", "count", "colour", "flag", "day", "note"], X.columns
        return self
    def predict_proba(self, X):
        return [[0.25, 0.75]] * len(X)
"""
    found, _ = run_estimator(text)
    assert (found.probabilities == [0.25, 0.75]).all()


def test_seed_and_cores_are_given_where_the_estimator_has_them(run_estimator) -> None:
    text = """
from sklearn.ensemble import ExtraTreesRegressor
class Mine(ExtraTreesRegressor):
    def fit(self, X, y):
        print("given", self.random_state is not None, self.n_jobs, self.n_estimators)
        return super().fit(X, y)
"""
    _, ended = run_estimator(text, kind="regression", n_estimators=3)
    assert "given True 1 3" in ended.log


def test_users_file_is_imported_before_the_clock_of_fit_runs(run_estimator) -> None:
    text = """
import os
print("announced:", open(os.environ["ASSAY_PHASES"]).read().split())
from sklearn.dummy import DummyClassifier as Mine
"""
    _, ended = run_estimator(text)
    assert "announced: ['start']" in ended.log


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("import no_such_library\nclass Mine: ...", "ModuleNotFoundError"),
        ("class Mine: ...\n1 / 0", "ZeroDivisionError"),
        ("class Other: ...  # Mine", "AttributeError"),
    ],
)
def test_users_file_that_fails_is_an_error_of_the_framework(run_estimator, text: str, error: str) -> None:
    found, ended = run_estimator(text)
    assert found is None
    assert (ended.code, ended.report["error"]["type"]) == (1, error)
    assert "import_failed" not in ended.report
