"""What an estimator is comes from its tags, asked in a sandbox; who has none may do everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay import api
from assay.errors import ConfigError
from assay.frameworks.find import find_framework
from assay.runs.applicable import with_declared
from assay.runs.machine import choose_tier
from assay.settings import Settings

CLASSES, VALUES = ("binary", "multiclass"), ("regression",)
ALL = (*CLASSES, *VALUES)
FILE = """
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

class Own(ClassifierMixin, BaseEstimator):
    pass

class Bare:
    def fit(self, X, y): return self
    def predict(self, X): return X[:, 0]

class Old(Bare):
    _estimator_type = "regressor"

class BinaryOnly(ClassifierMixin, BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

class Choosy:
    def __init__(self, kind="classifier"):
        self._estimator_type = kind

def pipeline(): return make_pipeline(PCA(), SVC())
def searched(): return GridSearchCV(make_pipeline(PCA(), Ridge()), {"ridge__alpha": [1]})
def voting(): return VotingRegressor([("a", Ridge())])
def fails(): raise RuntimeError("no")
def ends(): raise SystemExit(0)
def loud(): print("x" * 100_000); return SVC()
def lies():
    import pathlib
    pathlib.Path("/job/out/tags.json").unlink(missing_ok=True)
    return Bare()
"""
KNOWN = {
    "SVC": CLASSES, "Own": CLASSES, "pipeline": CLASSES, "loud": CLASSES, "Choosy": CLASSES, "BinaryOnly": ("binary",),
    "LinearRegression": VALUES, "searched": VALUES, "voting": VALUES, "Old": VALUES, "KMeans": (),
    "Bare": ALL, "fails": ALL, "ends": ALL, "lies": ALL,
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mine") / "mine.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize("name", KNOWN)
def test_types_follow_from_the_tags(settings: Settings, file: Path, name: str) -> None:
    assert with_declared(find_framework(f"{file}:{name}"), settings).types == KNOWN[name]


def test_types_follow_from_parameters_too(settings: Settings, file: Path) -> None:
    spec = find_framework(f"{file}:Choosy").with_params({"kind": "regressor"})
    assert with_declared(spec, settings).types == VALUES


def test_file_runs_in_a_sandbox_and_once(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "counts.py"
    path.write_text(
        "import os, pathlib\nfrom sklearn.svm import SVC\n"
        f"try: pathlib.Path({str(tmp_path / 'it-ran')!r}).write_text('x')\nexcept OSError: pass\n"
    )
    own = Settings(cache=tmp_path / "cache", state=tmp_path / "state")
    spec = find_framework(f"{path}:SVC")
    assert with_declared(spec, own).types == CLASSES
    assert choose_tier() == "plain" or not (tmp_path / "it-ran").exists()
    (kept,) = (tmp_path / "cache" / "estimators").iterdir()
    kept.write_text(json.dumps({"kind": "regressor"}))
    assert with_declared(spec, own).types == VALUES, "the answer is kept by the file's digest"
    path.write_text(path.read_text() + "# changed\n")
    assert with_declared(find_framework(f"{path}:SVC"), own).types == CLASSES


def test_other_frameworks_are_not_asked(settings: Settings) -> None:
    spec = find_framework("random_forest")
    assert with_declared(spec, settings) is spec


def test_classifier_is_not_planned_on_numbers(settings: Settings, file: Path) -> None:
    jobs = api.plan("bundled", f"{file}:SVC,{file}:LinearRegression", "1m1c", folds=[0], settings=settings)
    types = {task.name: task.type for task in jobs.tasks}
    planned = {(job.framework, types[job.task] == "regression") for job in jobs.jobs}
    assert planned == {("SVC", False), ("LinearRegression", True)}
    assert {(name, types[task] == "regression") for name, task in jobs.unsuited} == {
        ("SVC", True), ("LinearRegression", False),
    }  # fmt: skip


SPACES = """
from sklearn.svm import SVC

class Tables(SVC):
    assay_space = {"C": {"low": 0.01, "high": 100.0, "log": True, "default": 1.0}}

class Function(SVC):
    @classmethod
    def assay_space(cls):
        return {"kernel": {"choices": ["linear", "rbf"]}, "gamma": {"low": 0.1, "high": 1.0, "when": {"kernel": "rbf"}}}

class Wrong(SVC):
    assay_space = {"C": {"low": 3, "high": 1}}
"""


def test_a_class_declares_its_search_space(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "spaces.py"
    path.write_text(SPACES)
    spaces = {
        name: with_declared(find_framework(f"{path}:{name}"), settings).space
        for name in ("Tables", "Function", "SVC")
    }
    assert spaces["SVC"] is None
    assert spaces["Tables"] is not None and spaces["Tables"].default("binary") == {"C": 1.0}
    assert spaces["Function"] is not None
    assert [one.name for one in spaces["Function"].parameters] == ["kernel", "gamma"]
    with pytest.raises(
        ConfigError, match=r"parameter 'C' in the space of spaces\.py:Wrong: the first must be"
    ):
        with_declared(find_framework(f"{path}:Wrong"), settings)
