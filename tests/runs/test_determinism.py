"""Same seed, same machine: the same predictions, however the jobs were run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay import Local, Settings, Store, api
from assay.jobs.plan import Plan

FRAMEWORKS = "constant,decision_tree,linear,hist_gradient_boosting,random_forest,tuned_random_forest"
PARAMS = {
    "random_forest": {"n_estimators": 20},
    "tuned_random_forest": {"n_estimators": 20, "_tuning_trees": 2},
}


def predictions(jobs: Plan, folder: Path, workers: int, settings: Settings) -> dict[str, np.ndarray]:
    store = Store(folder)
    api.run(jobs, store, Local(workers), settings=settings)
    out = {}
    for row in store.rows():
        assert row.status == "ok", row.message
        path = store.folder.job(row.key).attempt(row.attempt).out / "predictions.npz"
        with np.load(path, allow_pickle=False) as file:
            out[row.key] = file["probabilities"] if "probabilities" in file else file["prediction"]
    return out


@pytest.fixture
def jobs(shared_settings: Settings) -> Plan:
    suite = api.load_suite("bundled")
    tasks = [task for task in api.load_tasks(suite, shared_settings) if task.name in ("iris", "diabetes")]
    return api.plan(
        suite, FRAMEWORKS, "60s1c", tasks=tasks, folds=[0], params=PARAMS, settings=shared_settings
    )


def test_predictions_do_not_depend_on_parallelism_or_order(
    jobs: Plan, tmp_path: Path, shared_settings: Settings
) -> None:
    first = predictions(jobs, tmp_path / "one", 1, shared_settings)
    second = predictions(replace(jobs, jobs=jobs.jobs[::-1]), tmp_path / "two", 2, shared_settings)
    assert first.keys() == second.keys() and len(first) == 12
    for key, expected in first.items():
        assert np.array_equal(expected, second[key])


def test_another_run_seed_gives_other_forests(tmp_path: Path, shared_settings: Settings) -> None:
    suite = api.load_suite("bundled")
    tasks = [task for task in api.load_tasks(suite, shared_settings) if task.name == "diabetes"]
    seen = []
    for seed in (0, 1):
        jobs = api.plan(suite, "random_forest", "60s1c", tasks=tasks, folds=[0], seed=seed, settings=shared_settings,
                        params={"random_forest": {"n_estimators": 10}})  # fmt: skip
        seen.append(predictions(jobs, tmp_path / str(seed), 1, shared_settings))
    (first,), (second,) = (list(own.values()) for own in seen)
    assert not np.array_equal(first, second)


HASHES = """
def fit(train, budget, params):
    train.report(models_count=1, order=[hash(word) for word in ("a", "b", "c")])
    return train.n_rows


def predict(model, test):
    return [0.5] * test.n_rows
"""


def test_text_hashes_alike_in_every_job(tmp_path: Path, shared_settings: Settings) -> None:
    folder = tmp_path / "hashes"
    folder.mkdir()
    (folder / "framework.toml").write_text('name = "hashes"\nversion = "1"\n')
    (folder / "adapter.py").write_text(HASHES)
    suite, store = api.load_suite("bundled"), Store(tmp_path / "store")
    tasks = [task for task in api.load_tasks(suite, shared_settings) if task.name == "diabetes"]
    jobs = api.plan(suite, str(folder), "60s1c", tasks=tasks, folds=[0, 1], settings=shared_settings)
    api.run(jobs, store, Local(1), settings=shared_settings)
    attempts = [store.folder.job(row.key).attempt(row.attempt) for row in store.rows()]
    first, second = (attempt.read_facts().get().report["order"] for attempt in attempts)
    assert first == second
