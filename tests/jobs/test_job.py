from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.data.task import Column, Fold, Task
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import Constraint, parse_constraint
from assay.jobs.job import DEFAULT_SEED, Job, JobGroup, job_seed

MakeTask = Callable[..., Task]
MakeSpec = Callable[..., FrameworkSpec]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def make_job(make_task: MakeTask, make_spec: MakeSpec) -> Callable[..., Job]:
    """Make a job, any part of which can be said otherwise."""

    def make(
        spec: dict[str, Any] | None = None,
        task: dict[str, Any] | None = None,
        constraint: Constraint | None = None,
        seed: int = DEFAULT_SEED,
        fold: tuple[int, int] = (0, 0),
    ) -> Job:
        group = JobGroup(
            make_spec(**{"params": {"depth": 3, "trees": 10}, **(spec or {})}),
            make_task(**(task or {})),
            constraint or parse_constraint("60s1c"),
            seed,
        )
        return group.job(Fold(*fold, 20, 10))

    return make


def test_key_is_the_same_in_every_process(make_job: Callable[..., Job]) -> None:
    """Hashes of Python's own differ between processes; a key must not."""
    code = """
from pathlib import Path
from assay.data.task import Column, Fold, Task, TaskRequest
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import parse_constraint
from assay.jobs.job import JobGroup
spec = FrameworkSpec("forest", "1", Path("elsewhere"), Path("elsewhere"), params={"trees": 10, "depth": 3})
task = Task("flowers", "x", "multiclass", "kind", ("logloss",), (Column("size", "numeric"),), ("a", "b", "c"), (),
            "data of flowers",
            "splits of flowers", TaskRequest("file"))
print(JobGroup(spec, task, parse_constraint("1m1c"), 0).job(Fold(0, 0, 1, 1)).key)
"""
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert keys == {make_job().key}


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": {"name": "other"}},
        {"spec": {"version": "2"}},
        {"spec": {"params": {"depth": 4, "trees": 10}}},
        {"spec": {"params": {}}},
        {"task": {"data_digest": "other"}},
        {"task": {"split_digest": "other"}},
        {"task": {"target": "other"}},
        {"task": {"columns": (Column("size", "numeric", "ignore"),)}},
        {"task": {"classes": ("a", "c", "b")}},
        {"task": {"metrics": ("acc", "logloss")}},
        {"task": {"type": "binary"}},
        {"constraint": parse_constraint("61s1c")},
        {"constraint": parse_constraint("60s2c")},
        {"constraint": parse_constraint("60s1c1g")},
        {"constraint": Constraint("x", 60.0, 1, leeway_s=0.0)},
        {"seed": 1},
        {"fold": (0, 1)},
        {"fold": (1, 0)},
    ],
    ids=str,
)
def test_key_changes_with(make_job: Callable[..., Job], changed: dict[str, Any]) -> None:
    assert make_job(**changed).key != make_job().key


@pytest.mark.parametrize(
    "changed",
    [
        {"spec": {"params": {"trees": 10, "depth": 3}}},
        {"spec": {"adapter": Path("other.py")}},
        {"spec": {"lock": Path("other.txt")}},
        {"spec": {"description": "other", "role": "baseline", "format": "csv", "network": True}},
        {"task": {"name": "other", "data_digest": "data of flowers", "split_digest": "splits of flowers"}},
        {"task": {"id": "other", "licence": "other", "origin": "other"}},
        {"task": {"metrics": ("logloss", "balacc")}},
        {"task": {"folds": 7}},
        {"constraint": parse_constraint("1m1c")},
        {"constraint": Constraint("another name", 60.0, 1)},
        {"constraint": Constraint("x", 60.0, 1, max_folds=1, tasks={"other": {"time": "1h"}})},
    ],
    ids=str,
)
def test_key_does_not_change_with(make_job: Callable[..., Job], changed: dict[str, Any]) -> None:
    assert make_job(**changed).key == make_job().key


def test_fold_eleven_of_repeat_one_is_not_fold_one_of_repeat_eleven(make_job: Callable[..., Job]) -> None:
    assert len({make_job(fold=fold).key for fold in ((1, 11), (11, 1), (1, 1), (11, 11))}) == 4


def test_seed_is_the_same_for_all_frameworks_and_constraints(make_job: Callable[..., Job]) -> None:
    others = [make_job(spec={"name": "other"}), make_job(constraint=parse_constraint("1h8c"))]
    assert [job.seed for job in others] == [make_job().seed] * 2


@pytest.mark.parametrize(
    "changed", [{"fold": (0, 1)}, {"fold": (1, 0)}, {"task": {"name": "other"}}, {"seed": 1}], ids=str
)
def test_seed_differs_by_fold_task_and_run(make_job: Callable[..., Job], changed: dict[str, Any]) -> None:
    assert make_job(**changed).seed != make_job().seed


def test_seed_of_a_fold_never_changes_between_releases() -> None:
    assert (job_seed(0, "task", 0, 0), job_seed(7, "task", 2, 5)) == (542766836, 719301836)


def test_seeds_fit_in_31_bits() -> None:
    seeds = [job_seed(0, "task", 0, fold) for fold in range(2000)]
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == 2000


def test_job_survives_json(make_job: Callable[..., Job]) -> None:
    limits = Constraint(
        "mine", 60.5, 2, memory_mb=512, leeway_s=3.0, max_folds=2, phase_limits_s={"start": 9.0}
    )
    job = make_job(constraint=limits, fold=(1, 2))
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job
    assert job.constraint == replace(limits, tasks={})


def test_other_tasks_overrides_do_not_travel_with_a_job(make_job: Callable[..., Job]) -> None:
    job = make_job(constraint=Constraint("x", 60.0, 1, tasks={"secret": {"time": "1h"}}))
    assert job.to_json()["constraint"]["tasks"] == {}
