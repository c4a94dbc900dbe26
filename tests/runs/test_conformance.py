"""Every executor keeps the same promises: the one of this machine, and one that is as awkward as a batch system."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay import Settings, Store, api
from assay.runs.executors.base import Executor, ExecutorOptions
from assay.runs.executors.local import Local
from assay.runs.executors.registry import make_executor
from assay.runs.run import Event
from assay.testing.executors import ExecutorTests

AWKWARD = f"{Path(__file__).parent / 'awkward.py'}:Awkward"


class TestLocal(ExecutorTests):
    def make(self, options: ExecutorOptions) -> Executor:
        return Local(options.workers, options.tier)


class TestLocalWithoutPrivileges(ExecutorTests):
    def make(self, options: ExecutorOptions) -> Executor:
        return Local(options.workers, "plain")


class TestAwkward(ExecutorTests):
    def make(self, options: ExecutorOptions) -> Executor:
        return make_executor(AWKWARD, options)


@pytest.mark.parametrize("lose", ["", "2"])
def test_the_flow_runs_on_an_awkward_executor_and_survives_the_loss_of_a_worker(
    tmp_path: Path, shared_settings: Settings, monkeypatch: pytest.MonkeyPatch, lose: str
) -> None:
    monkeypatch.setenv("AWKWARD_LOSE", lose)
    monkeypatch.setenv("AWKWARD_SPOOL", str(tmp_path / "spool"))
    suite = api.load_suite("bundled")
    jobs = api.plan(
        suite,
        "constant,decision_tree",
        "30s1c",
        tasks=["iris", "diabetes"],
        folds=[0],
        settings=shared_settings,
    )
    store = Store(tmp_path / "results")
    events: list[Event] = []
    executor = make_executor(AWKWARD, ExecutorOptions(workers=2))
    api.run(jobs, store, executor, settings=shared_settings, tell=events.append)
    rows = store.rows()
    assert sorted(row.key for row in rows) == sorted(job.key for job in jobs.jobs)
    assert {row.status for row in rows} == {"ok"}
    assert [row.attempt for row in rows].count(1) < 4 if lose else {row.attempt for row in rows} == {1}
    assert sum(event.kind == "done" for event in events) == 4
    assert list((tmp_path / "spool").iterdir()) == [], "it leaves nothing behind"
    local = Store(tmp_path / "local")
    api.run(jobs, local, Local(2), settings=shared_settings)
    same = ("key", "status", "predictions_digest", "score", "fold_digest", "framework_digest", "enforcement")
    assert [[getattr(row, name) for name in same] for row in rows] == [
        [getattr(row, name) for name in same] for row in local.rows()
    ]
