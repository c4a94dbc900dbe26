"""Two real frameworks in environments of their own, one of them on another Python; and one that is starved."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from assay import Local, Store, Suite, plan, run
from assay.data.task import TaskRequest
from assay.files import read_json
from assay.frameworks.envs import environment_folder, environment_of
from assay.frameworks.find import find_framework
from assay.frameworks.install import build_environment
from assay.frameworks.pythons import interpreters
from assay.results.matrices import read_job_matrices
from assay.settings import Settings

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SPLIT = {"kind": "holdout", "test_size": 0.25}
SUITE = Suite(
    "real",
    tuple(
        TaskRequest(f"bundled/{dataset}", name=kind, split=SPLIT)
        for kind, dataset in (("binary", "breast_cancer"), ("multiclass", "iris"), ("regression", "diabetes"))
    ),
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An empty cache: what is needed is really installed, from the package index."""
    folder = tmp_path_factory.mktemp("real")
    return Settings(cache=folder / "cache", state=folder / "state")


@pytest.mark.network
@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_framework_is_installed_by_its_first_run_and_learns(
    name: str, settings: Settings, tmp_path: Path
) -> None:
    spec = find_framework(name)
    if spec.python not in interpreters():
        pytest.skip(f"there is no Python {spec.python} on this machine")
    store, told = Store(tmp_path / "store"), []
    run(plan(SUITE, [spec, find_framework("constant")], "20s1c", settings=settings), store, Local(1),
        settings=settings, tell=lambda event: told.append(event.kind))  # fmt: skip
    assert "install" in told
    found = {(row.framework, row.task): row for row in store.rows()}
    assert {row.status for row in found.values()} == {"ok"}, [row.message for row in found.values()]
    for task, higher in (("binary", True), ("multiclass", False), ("regression", False)):
        own, constant = found[name, task]["score"], found["constant", task]["score"]
        assert (own > constant) == higher and own != constant
    row = found[name, "binary"]
    assert row.models_count == 1 and row.lock_digest == environment_of(spec, settings).digest
    outcome = read_json(store.folder.job(row.key).attempt(row.attempt).outcome).get()
    assert outcome["report"]["python"].startswith(f"{spec.python}.")
    assert outcome["left_behind"] == 0


def test_the_two_are_on_different_pythons() -> None:
    assert find_framework("xgboost").python != find_framework("lightgbm").python


def agreement(y: np.ndarray, said: np.ndarray) -> float:
    """Return the share of right classes, or the correlation with a probability or value."""
    return np.mean(said.argmax(axis=1) == y) if said.ndim > 1 else np.corrcoef(y, said)[0, 1]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "params", "constraint"),
    [
        ("gama", {}, "1m1c"),
        ("gama_simple", {}, "1m1c"),
        ("evalml", {}, "1m1c"),
        ("autosklearn", {"resampling_strategy": "cv"}, "3m1c"),  # a run may take a tenth, with all its folds
        ("oboe", {"method": "TensorOboe"}, "1m1c"),
    ],
)
def test_framework_leaves_what_its_models_said_about_rows_they_had_not_seen(
    name: str, params: dict[str, str], constraint: str, tmp_path: Path
) -> None:
    settings = Settings.from_environment()
    spec = find_framework(name).with_params(params)
    if spec.python not in interpreters():
        pytest.skip(f"there is no Python {spec.python} on this machine")
    build_environment(spec, settings)
    store = Store(tmp_path / "store")
    run(plan(SUITE, [spec], constraint, settings=settings), store, Local(1), settings=settings)
    found = {row.task: matrix for row, matrix, _ in read_job_matrices(store.folder, store.rows())}
    assert set(found) == set(spec.types)
    for matrix in found.values():
        assert not matrix.notes, "every model has a prediction for every row"
        assert len(set(matrix.names)) == len(matrix.names) > 1
        # Rows or classes in a wrong order would agree with the target by chance only.
        assert max(agreement(matrix.y, said) for said in matrix.values.swapaxes(0, 1)) > 0.6


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize(
    ("constraint", "params", "message"),
    [("10s1c", {}, "at least 30 seconds"), ("30s1c", {"per_run_time_limit": 1}, "trained no model")],
    ids=["told too little", "no run ends"],
)
def test_starved_autosklearn2_is_an_error_and_not_a_constant(
    tmp_path: Path, constraint: str, params: dict[str, int], message: str
) -> None:
    """When none of its runs ends it returns a constant as if all were well; its statistics tell."""
    settings = Settings.from_environment()
    spec = find_framework("autosklearn2").with_params(params)
    if spec.python not in interpreters():
        pytest.skip(f"there is no Python {spec.python} on this machine")
    build_environment(spec, settings)
    cache = environment_folder(spec, settings) / "assay-cache" / "auto-sklearn"
    assert len(list(cache.glob("askl2_selector_*"))) == 3, "its selectors were trained at install"
    store = Store(tmp_path / "store")
    run(
        plan(SUITE, [spec], constraint, tasks=["binary"], settings=settings),
        store,
        Local(1),
        settings=settings,
    )
    (row,) = store.rows()
    assert (row.status, row.score) == ("error", None)
    assert message in row.message
