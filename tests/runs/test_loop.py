"""The loop: every planned job ends as exactly one row, whatever becomes of its supervisor.

The executor is one that a test tells what happens; nothing is run, and no cores are claimed.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import api
from assay.data.resolve import broken
from assay.data.task import TaskRequest
from assay.errors import StoreError
from assay.files import read_json, write_json
from assay.frameworks.find import find_framework
from assay.jobs.circumstances import Circumstances
from assay.jobs.folder import AttemptFolder
from assay.jobs.job import Job
from assay.jobs.outcome import Facts
from assay.jobs.plan import Plan, plan_jobs
from assay.jobs.row import Row
from assay.runs.executors.base import Finished
from assay.runs.exit_codes import CANNOT_WRITE, NOT_OURS
from assay.runs.launch import Launch
from assay.runs.loop import MAX_ATTEMPTS, _Loop, run_plan
from assay.runs.machine import this_machine
from assay.runs.place import Place, Share
from assay.runs.run import Event, Run, RunOptions
from assay.settings import Settings
from assay.store.locks import hold_attempt
from assay.store.store import Store
from assay.suites.suite import Suite

from ..conftest import write_framework


class Told:
    """An executor that does what it is told: a word per attempt, `ok` when nothing is left to say."""

    def __init__(self, *words: str, workers: int = 1) -> None:
        self.workers, self.words = workers, list(words)
        self.place = Place(this_machine(), "plain")
        self.started: list[str] = []
        self.most = self.cancelled = 0
        self._running: list[Finished] = []

    def has_room(self, share: Share) -> bool:
        return len(self._running) < self.workers

    def submit(self, folder: AttemptFolder, share: Share) -> None:
        self.started.append(folder.key)
        word = self.words.pop(0) if self.words else "ok"
        circumstances = read_json(folder.attempt).then(Launch.from_json).get().circumstances
        facts = Facts("plain", "convention", exit_code=0, circumstances=circumstances)
        if word == "killed":
            facts = replace(facts, exit_code=None, signal=9)
        if word == "error":
            facts = replace(facts, exit_code=1)
        if word not in ("vanish", "full", "not ours"):
            write_json(folder.outcome, facts.to_json())
        code = {"vanish": -9, "full": CANNOT_WRITE, "not ours": NOT_OURS}.get(word, 0)
        self._running.append(Finished(folder, code, "No space left" if word == "full" else ""))
        self.most = max(self.most, len(self._running))

    def poll(self, timeout_s: float) -> list[Finished]:
        done, self._running = self._running, []
        return done

    def cancel(self) -> None:
        self.cancelled += 1


class Alive(Told):
    """An executor that calls its first attempt lost while the supervisor goes on, and writes its facts later."""

    def submit(self, folder: AttemptFolder, share: Share) -> None:
        self.started.append(folder.key)
        lock = hold_attempt(folder)
        assert lock is not None

        def end() -> None:
            facts = Facts(
                "plain", "convention", exit_code=0, circumstances=Circumstances(framework_digest="f")
            )
            write_json(folder.outcome, facts.to_json())
            os.close(lock)

        threading.Timer(1.2, end).start()
        self._running.append(Finished(folder, -9))


ROW = json.loads((Path(__file__).parents[2] / "benchmarks" / "row.json").read_text())


def judge(job: Job, folder: AttemptFolder) -> Mapping[str, Any]:
    """Return a row that says what the facts say."""
    facts = Facts.from_json(read_json(folder.outcome).get())
    status = (
        "data"
        if facts.data_problem
        else "setup"
        if facts.setup_problem
        else "lost"
        if facts.lost_reason
        else ""
    )
    status = status or ("crash" if facts.signal else "error" if facts.exit_code else "ok")
    digest = facts.circumstances.framework_digest
    return Row.from_json(
        {**ROW, "key": job.key, "attempt": folder.number, "status": status, "framework_digest": digest}
    )


@pytest.fixture
def jobs(table: Path, settings: Settings) -> Plan:
    request = TaskRequest("file", path=str(table), target="target", split={"kind": "cv", "folds": 3})
    return api.plan(Suite("run", (request,)), "constant,decision_tree", "10s1c", settings=settings)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def go(jobs: Plan, store: Store, settings: Settings) -> Callable[..., list[Event]]:
    """Run the plan and return what was told."""

    def run(executor: Told, plan: Plan = jobs, **options: bool) -> list[Event]:
        told: list[Event] = []
        chosen = RunOptions(**options)
        run_plan(Run(plan, store, executor, judge, settings, chosen, told.append))
        return told

    return run


def statuses(store: Store) -> Counter[str]:
    return Counter(row.status for row in store.rows())


def test_every_job_is_started_told_of_and_kept_once(
    go: Callable[..., list[Event]], jobs: Plan, store: Store
) -> None:
    executor = Told()
    told = go(executor)
    assert executor.started == [job.key for job in jobs.jobs], "in the order of the plan"
    assert Counter(event.kind for event in told) == {"start": 6, "done": 6}
    assert {row.key for row in store.rows()} == {job.key for job in jobs.jobs}
    assert executor.most == 1 and executor.cancelled == 1
    assert go(Told("error")) == [], "nothing is left to run"


def test_no_more_jobs_run_than_there_are_workers(go: Callable[..., list[Event]]) -> None:
    executor = Told(workers=4)
    go(executor)
    assert len(executor.started) == 6 and executor.most <= 4


def test_a_supervisor_that_vanishes_is_tried_again(go: Callable[..., list[Event]], store: Store) -> None:
    go(Told("vanish", "vanish"))
    assert statuses(store) == {"ok": 6}
    assert Counter(row.attempt for row in store.rows()) == {1: 5, 3: 1}


def test_a_job_lost_every_time_is_a_row_too(go: Callable[..., list[Event]], jobs: Plan, store: Store) -> None:
    executor = Told(*["vanish"] * MAX_ATTEMPTS)
    go(executor)
    assert statuses(store) == {"lost": 1, "ok": 5}
    assert executor.started[:MAX_ATTEMPTS] == [jobs.jobs[0].key] * MAX_ATTEMPTS


def test_a_child_killed_from_outside_is_tried_again_and_then_believed(
    go: Callable[..., list[Event]], store: Store
) -> None:
    go(Told("killed", "ok", *["killed"] * MAX_ATTEMPTS))
    assert statuses(store) == {"ok": 5, "crash": 1}
    assert Counter(row.attempt for row in store.rows()) == {1: 4, 2: 1, 3: 1}


def test_a_store_that_cannot_be_written_stops_the_run(go: Callable[..., list[Event]], store: Store) -> None:
    executor = Told("ok", "full")
    with pytest.raises(StoreError, match="No space left"):
        go(executor)
    assert executor.cancelled == 1 and statuses(store) == {"ok": 1}
    go(Told())
    assert statuses(store) == {"ok": 6}


def test_an_interrupt_stops_what_runs_and_keeps_what_is_done(
    jobs: Plan, store: Store, settings: Settings, go: Callable[..., list[Event]]
) -> None:
    executor, seen = Told(), []

    def tell(event: Event) -> None:
        seen.append(event)
        if len(seen) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(Run(jobs, store, executor, judge, settings, tell=tell))
    assert executor.cancelled == 1
    kept = {row.key for row in store.rows()}
    assert len(kept) == 2
    again = Told()
    go(again)
    assert not kept & set(again.started) and statuses(store) == {"ok": 6}


def test_failed_and_stale_jobs_run_again_only_on_request(
    go: Callable[..., list[Event]], jobs: Plan, store: Store
) -> None:
    go(Told("error", "ok", "error"))
    assert statuses(store) == {"error": 2, "ok": 4}
    assert go(Told()) == []
    retried = Told("error")
    go(retried, retry_failed=True)
    assert len(retried.started) == 2 and statuses(store) == {"error": 1, "ok": 5}
    key = jobs.jobs[3].key
    row = store.row(key)
    assert row is not None
    store.finish(key, 1, replace(row, framework_digest="of another adapter"))
    stale = Told()
    go(stale, rerun_stale=True)
    assert stale.started == [key]


def test_an_attempt_that_finished_unseen_gets_its_row_without_running_again(
    go: Callable[..., list[Event]], jobs: Plan, store: Store
) -> None:
    """Its coordinator was killed after the facts were written."""
    store.add(jobs.jobs)
    claim = store.claim(jobs.jobs[2])
    assert claim is not None
    facts = Facts("plain", "convention", exit_code=0, circumstances=Circumstances(framework_digest="f"))
    write_json(claim.folder.outcome, facts.to_json())
    os.close(claim.lock)
    executor = Told()
    told = go(executor)
    assert jobs.jobs[2].key not in executor.started and statuses(store) == {"ok": 6}
    assert max(Counter(event.job.key for event in told if event.kind == "done").values()) == 1


def test_a_job_that_somebody_else_runs_is_waited_for_and_told_once(
    jobs: Plan, store: Store, settings: Settings
) -> None:
    store.add(jobs.jobs)
    claim = store.claim(jobs.jobs[0])
    assert claim is not None
    told: list[Event] = []

    def tell(event: Event) -> None:
        told.append(event)
        if (
            sum(own.kind == "done" for own in told) == 5
        ):  # ours are done; the other coordinator's facts come now
            circumstances = Circumstances(framework_digest="f")
            write_json(
                claim.folder.outcome, Facts("plain", "", exit_code=0, circumstances=circumstances).to_json()
            )
            os.close(claim.lock)

    executor = Told()
    run_plan(Run(jobs, store, executor, judge, settings, tell=tell))
    assert len(executor.started) == 5 and statuses(store) == {"ok": 6}
    assert Counter(event.job.key for event in told if event.kind == "done") == {
        job.key: 1 for job in jobs.jobs
    }


def test_an_attempt_that_somebody_else_holds_is_not_counted_as_a_try(
    go: Callable[..., list[Event]], jobs: Plan, store: Store
) -> None:
    executor = Told("not ours", *["ok"] * 5, "vanish", "vanish")
    go(executor)
    assert statuses(store) == {"ok": 6}
    assert executor.started[-1] == jobs.jobs[0].key, "it went to the end of the line"
    assert Counter(row.attempt for row in store.rows()) == {1: 5, 4: 1}


def test_a_supervisor_called_lost_that_lives_on_keeps_its_job(
    jobs: Plan, store: Store, settings: Settings
) -> None:
    """An executor may lose sight of a worker that goes on: what it holds is neither run again nor called lost."""
    plan = replace(jobs, jobs=jobs.jobs[:1])
    executor, events = Alive(), []
    run_plan(Run(plan, store, executor, judge, settings, tell=events.append))
    assert executor.started == [plan.jobs[0].key] and statuses(store) == {"ok": 1}
    assert [event.kind for event in events] == ["start", "done"]


def first_folds(jobs: Plan) -> tuple[Plan, Callable[[Job, Row], list[Job]], list[str]]:
    """Return a plan of first folds, a function that has the others follow what is ok, and whom it was asked about."""
    asked: list[str] = []

    def follow(job: Job, row: Row) -> list[Job]:
        asked.append(job.key)
        others = [other for other in jobs.jobs if other.framework == job.framework and other.fold]
        return others if row.status == "ok" and job.fold == 0 else []

    return replace(jobs, jobs=tuple(job for job in jobs.jobs if job.fold == 0)), follow, asked


@pytest.mark.parametrize(("word", "expected"), [("ok", {"ok": 6}), ("error", {"error": 1, "ok": 3})])
def test_jobs_follow_others_that_have_their_rows(
    jobs: Plan, store: Store, settings: Settings, word: str, expected: dict[str, int]
) -> None:
    plan, follow, asked = first_folds(jobs)
    run_plan(Run(plan, store, Told(word), judge, settings, follow=follow))
    assert statuses(store) == expected, "what nobody asked for is not even planned"
    assert sorted(asked) == sorted(store.states()), "each is asked about once"


def test_what_follows_a_finished_job_is_found_when_a_run_is_resumed(
    jobs: Plan, store: Store, settings: Settings
) -> None:
    plan, follow, asked = first_folds(jobs)
    run_plan(Run(plan, store, Told(), judge, settings))
    executor = Told()
    run_plan(Run(plan, store, executor, judge, settings, follow=follow))
    assert statuses(store) == {"ok": 6} and len(executor.started) == 4
    assert sorted(asked) == sorted(store.states())


def test_thousands_of_finished_jobs_may_follow_each_other(
    jobs: Plan, store: Store, settings: Settings
) -> None:
    """As in a search in which each configuration depends on the results before it."""
    chain = [replace(jobs.jobs[0], key=f"{at:024x}") for at in range(1500)]
    store.add(chain)
    for job in chain[:-1]:
        store.finish(job.key, 1, Row.from_json({**ROW, "key": job.key}))
    after = {job.key: following for job, following in itertools.pairwise(chain)}
    executor, plan = Told(), replace(jobs, jobs=tuple(chain[:1]))
    run_plan(
        Run(
            plan,
            store,
            executor,
            judge,
            settings,
            follow=lambda job, row: [after[job.key]] * 2 if job.key in after else [],
        )
    )
    assert executor.started == [chain[-1].key]


def test_what_follows_a_job_that_was_left_unjudged_runs_once(
    jobs: Plan, store: Store, settings: Settings
) -> None:
    """Its row is made when the run begins, before anything is started."""

    class Ended(Told):
        def poll(self, timeout_s: float) -> list[Finished]:
            raise KeyboardInterrupt

    plan, follow, asked = first_folds(jobs)
    with pytest.raises(KeyboardInterrupt):
        run_plan(Run(plan, store, Ended(), judge, settings))
    executor = Told()
    run_plan(Run(plan, store, executor, judge, settings, follow=follow))
    assert statuses(store) == {"ok": 6} and len(executor.started) == len(set(executor.started)) == 5
    assert sorted(asked) == sorted(store.states())


def test_making_the_loop_touches_nothing(jobs: Plan, store: Store, settings: Settings) -> None:
    _Loop(Run(jobs, store, Told(), judge, settings))
    assert store.states() == {}


def test_no_claim_is_kept_after_an_interrupt(jobs: Plan, store: Store, settings: Settings) -> None:
    class Broken(Told):
        def poll(self, timeout_s: float) -> list[Finished]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(Run(jobs, store, Broken(workers=2), judge, settings))
    assert store.running() == []


def test_what_cannot_be_started_is_a_row_of_its_own(
    jobs: Plan,
    store: Store,
    tmp_path: Path,
    go: Callable[..., list[Event]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UV_NO_INDEX", "1")
    folder = write_framework(tmp_path / "mine", "", environment="own")
    (folder / "locks").mkdir()
    (folder / "locks" / "1.txt").write_text("no-such-package==1.0\n")
    bad = broken(
        TaskRequest("file", path="gone.csv", target="y", split={"kind": "holdout"}), "gone.csv is gone."
    )
    plan = plan_jobs(
        [*jobs.tasks, bad], [find_framework("constant"), find_framework(str(folder))], jobs.constraint
    )
    executor = Told()
    go(executor, plan)
    assert statuses(store) == {"ok": 3, "setup": 3, "data": 2}
    assert len(executor.started) == 3, "only what can run is started"


def test_a_source_that_vanished_after_planning_is_a_data_row(
    tmp_path: Path, store: Store, settings: Settings, go: Callable[..., list[Event]], table: Path
) -> None:
    path = tmp_path / "own.csv"
    path.write_text(table.read_text().replace("left", "middle"))
    own = replace(settings, cache=tmp_path / "cache")
    request = TaskRequest(
        "file", path=str(path), target="target", split={"kind": "holdout", "test_size": 0.5}
    )
    plan = api.plan(Suite("run", (request,)), "constant", "10s1c", settings=own)
    path.unlink()
    for cached in (tmp_path / "cache").rglob("*"):
        if cached.is_file():
            cached.unlink()
    run_plan(Run(plan, store, Told(), judge, own))
    assert statuses(store) == {"data": 1}
