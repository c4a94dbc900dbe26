"""A store: made once, claimed once, finished once, whoever is killed meanwhile."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.errors import StoreError
from assay.files import write_json
from assay.jobs.constraint import parse_constraint
from assay.jobs.job import Job
from assay.jobs.row import Row
from assay.store.locks import is_held
from assay.store.problems import explained
from assay.store.store import Claim, State, Store

FORK = multiprocessing.get_context("fork")
LIMIT = parse_constraint("30s1c")


ROW = json.loads((Path(__file__).parents[2] / "benchmarks" / "row.json").read_text())


def make_job(number: int) -> Job:
    return Job(
        key=f"{number * 7919 % 2**32:08x}{number:016x}",
        framework="constant",
        version="1",
        params={},
        task=f"task{number % 5}",
        task_id=f"file/task{number % 5}",
        task_digest="ab" * 32,
        type="binary",
        metrics=("auc",),
        repeat=0,
        fold=number,
        constraint=LIMIT,
        run_seed=0,
        seed=number,
    )


def make_jobs(count: int) -> list[Job]:
    return [make_job(number) for number in range(count)]


def make_row(claim: Claim, status: str = "ok", **more: Any) -> Row:
    job = {"key": claim.job.key, "attempt": claim.folder.number, "status": status, "framework_digest": "f1"}
    return Row.from_json({**ROW, **job, **more})


def end(claim: Claim, write_facts: bool = True) -> None:
    """Do what a supervisor does at its end: write the facts, then let go of the lock."""
    if write_facts:
        write_json(claim.folder.outcome, {})
    os.close(claim.lock)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "store")
    yield made
    made.close()


# --- making and opening ----------------------------------------------------------------------------------


def test_a_new_store_is_closed_to_other_users(store: Store) -> None:
    assert stat.S_IMODE(store.folder.root.stat().st_mode) == 0o700
    assert json.loads(store.folder.format.read_text()) == {"format": 1}


def test_a_store_is_made_with_its_parents_and_opened_again(tmp_path: Path) -> None:
    Store(tmp_path / "a" / "b").add(make_jobs(3))
    assert len(Store(tmp_path / "a" / "b", create=False).states()) == 3


def test_a_store_of_another_format_is_refused(store: Store) -> None:
    for content, named in (
        ('{"format": 2}', "format 2"),
        ("{}", "unknown"),
        ("not json", "unknown"),
        ("[]", "unknown"),
    ):
        store.folder.format.write_text(content)
        with pytest.raises(StoreError, match=named):
            Store(store.folder.root)


def test_a_folder_with_other_things_in_it_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(StoreError, match="not empty"):
        Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_becomes_a_store(tmp_path: Path) -> None:
    assert Store(tmp_path).states() == {}


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_file_in_the_place_of_the_store_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="a file is in its place"):
        Store(tmp_path / name)


def test_a_store_that_must_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        Store(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_lost_index_is_not_taken_for_an_empty_store(store: Store) -> None:
    """Else every finished job would run again."""
    store.add(make_jobs(1))
    claim = store.claim(make_job(0))
    assert claim is not None
    end(claim)
    store.close()
    for path in store.folder.root.glob("index.sqlite*"):
        path.unlink()
    with pytest.raises(StoreError, match="assay store rebuild"):
        Store(store.folder.root)


def test_a_damaged_index_is_named(store: Store) -> None:
    store.close()
    for path in store.folder.root.glob("index.sqlite-*"):
        path.unlink()
    store.folder.index.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="assay store rebuild"):
        Store(store.folder.root)


def _open(root: Path, barrier: Any, told: Any) -> None:
    barrier.wait()
    try:
        Store(root).add(make_jobs(5))
        told.put("")
    except Exception as error:
        told.put(f"{type(error).__name__}: {error}")


def test_several_processes_make_the_same_store_at_once(tmp_path: Path) -> None:
    barrier, told = FORK.Barrier(5), FORK.Queue()
    processes = [FORK.Process(target=_open, args=(tmp_path / "store", barrier, told)) for _ in range(5)]
    for process in processes:
        process.start()
    assert [told.get(timeout=60) for _ in processes] == [""] * 5
    for process in processes:
        process.join()
    assert len(Store(tmp_path / "store").states()) == 5


# --- planning --------------------------------------------------------------------------------------------


def test_adding_jobs_again_changes_nothing(store: Store) -> None:
    jobs = make_jobs(10)
    store.add(jobs)
    claim = store.claim(jobs[3])
    assert claim is not None
    end(claim)
    store.finish(claim.job.key, 1, make_row(claim))
    before = store.states()
    store.add(jobs)
    store.add(jobs[:4])
    assert store.states() == before
    assert store.counts() == {"pending": 9, "ok": 1}


def test_twenty_thousand_jobs_are_added_and_read(store: Store) -> None:
    jobs = make_jobs(20_000)
    store.add(jobs)
    store.add(jobs)
    states = store.states()
    assert states.keys() == {job.key for job in jobs}
    assert set(states.values()) == {State("pending", 0, None, None)}
    assert store.counts() == {"pending": 20_000}


# --- claiming --------------------------------------------------------------------------------------------


def test_a_claimed_job_is_held_and_not_given_twice(store: Store) -> None:
    job = make_job(1)
    store.add([job])
    claim = store.claim(job)
    assert claim is not None
    assert is_held(claim.folder)
    assert store.claim(job) is None
    assert store.claim(job, again=True) is None, "not even who asks for it again gets a job that runs"
    assert store.state(job.key) == State("running", 1, None, None)
    assert [key for key, _ in store.running()] == [job.key]
    assert json.loads(store.folder.job(job.key).job.read_text())["key"] == job.key
    end(claim)


def test_a_lock_handed_on_holds_the_job_after_the_first_holder_closed_it(store: Store) -> None:
    job = make_job(1)
    store.add([job])
    claim = store.claim(job)
    assert claim is not None
    handed = os.dup(claim.lock)
    os.close(claim.lock)
    assert store.claim(job) is None
    os.close(handed)
    assert store.claim(job) is not None


def test_a_job_that_nobody_planned_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="not in the index"):
        store.claim(make_job(1))


def _hold(root: Path, ready: Any) -> None:
    claim = Store(root).claim(make_job(1))
    ready.put(claim.folder.number if claim else None)
    time.sleep(600)


def test_a_job_whose_holder_was_killed_is_given_as_a_new_attempt(store: Store) -> None:
    store.add([make_job(1)])
    ready = FORK.Queue()
    holder = FORK.Process(target=_hold, args=(store.folder.root, ready))
    holder.start()
    assert ready.get(timeout=60) == 1
    assert store.claim(make_job(1)) is None
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    claim = store.claim(make_job(1))
    assert claim is not None and claim.folder.number == 2
    assert [attempt.number for attempt in store.folder.job(make_job(1).key).attempts()] == [1, 2]
    end(claim)


def _claim_all(root: Path, barrier: Any, told: Any, count: int) -> None:
    jobs = make_jobs(count)
    try:
        store = Store(root)
        barrier.wait()
        got = []
        for job in jobs:
            claim = store.claim(job)
            if claim is not None:
                got.append((job.key, claim.folder.number))
                end(claim)
                store.finish(job.key, claim.folder.number, make_row(claim))
        told.put((got, ""))
    except Exception as error:
        told.put(([], f"{type(error).__name__}: {error}"))


def test_processes_claim_every_job_exactly_once(store: Store) -> None:
    store.add(make_jobs(200))
    barrier, told = FORK.Barrier(5), FORK.Queue()
    processes = [
        FORK.Process(target=_claim_all, args=(store.folder.root, barrier, told, 200)) for _ in range(5)
    ]
    for process in processes:
        process.start()
    answers = [told.get(timeout=120) for _ in processes]
    for process in processes:
        process.join()
    assert [error for _, error in answers] == [""] * 5
    got = sorted(pair for pairs, _ in answers for pair in pairs)
    assert got == sorted((job.key, 1) for job in make_jobs(200))
    assert store.counts() == {"ok": 200}
    assert len(store.rows()) == 200


def test_threads_with_a_store_each_claim_every_job_exactly_once(store: Store) -> None:
    jobs = make_jobs(60)
    store.add(jobs)
    got: list[str] = []

    def work() -> None:
        own = Store(store.folder.root)
        for job in jobs:
            claim = own.claim(job)
            if claim is not None:
                got.append(job.key)
                end(claim)
        own.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(job.key for job in jobs)


def test_onlookers_do_not_keep_a_job_from_being_claimed(store: Store) -> None:
    """`is_held` takes the lock for an instant; neither a claim nor another onlooker may stumble over it."""
    jobs = make_jobs(150)
    store.add(jobs)
    stop, seen = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            for key in store.folder.job_keys():
                seen.extend(is_held(attempt) for attempt in store.folder.job(key).attempts())

    onlookers = [threading.Thread(target=look) for _ in range(2)]
    for thread in onlookers:
        thread.start()
    claims = [store.claim(job) for job in jobs]
    stop.set()
    for thread in onlookers:
        thread.join()
    assert all(claims) and True in seen
    for claim in claims:
        assert claim is not None
        end(claim)


# --- giving back, doing again ----------------------------------------------------------------------------


def test_a_released_job_leaves_no_trace(store: Store) -> None:
    job = make_job(1)
    store.add([job])
    claim = store.claim(job)
    assert claim is not None
    os.close(claim.lock)
    store.release(claim)
    assert store.state(job.key) == State("pending", 0, None, None)
    assert store.folder.job(job.key).attempts() == []
    again = store.claim(job)
    assert again is not None and again.folder.number == 1
    end(again)


def test_a_released_retry_has_its_row_and_its_attempt_again(store: Store) -> None:
    job = make_job(1)
    store.add([job])
    first = store.claim(job)
    assert first is not None
    end(first)
    store.finish(job.key, 1, make_row(first, "error"))
    killed = store.claim(job, again=True)  # its supervisor is killed: attempt 2 stays, without facts
    assert killed is not None
    end(killed, write_facts=False)
    third = store.claim(job)
    assert third is not None and third.folder.number == 3
    os.close(third.lock)
    store.release(third)
    assert store.state(job.key) == State("done", 1, "error", "f1")


def test_a_done_job_is_claimed_only_again(store: Store) -> None:
    job = make_job(1)
    store.add([job])
    first = store.claim(job)
    assert first is not None
    end(first)
    store.finish(job.key, 1, make_row(first, "error"))
    assert store.claim(job) is None
    second = store.claim(job, again=True)
    assert second is not None and second.folder.number == 2
    end(second)
    store.finish(job.key, 2, make_row(second))
    assert [(row.attempt, row.status) for row in store.rows()] == [(2, "ok")]


def test_a_row_does_not_vanish_while_its_job_runs_again(store: Store) -> None:
    job = make_job(1)
    store.add([job])
    first = store.claim(job)
    assert first is not None
    end(first)
    store.finish(job.key, 1, make_row(first, "timeout"))
    second = store.claim(job, again=True)
    assert second is not None
    assert [row.status for row in store.rows()] == ["timeout"]
    end(second, write_facts=False)  # interrupted
    assert [row.status for row in store.rows()] == ["timeout"]
    assert store.row(job.key) == make_row(first, "timeout")


# --- finishing and reading -------------------------------------------------------------------------------


def test_a_finished_attempt_without_a_row_is_found_and_not_run_again(store: Store) -> None:
    job = make_job(1)
    store.add([job])
    claim = store.claim(job)
    assert claim is not None
    write_json(claim.folder.outcome, {})
    assert store.unjudged() == [], "its supervisor is still there"
    os.close(claim.lock)
    assert [(folder.key, folder.number) for folder in store.unjudged()] == [(job.key, 1)]
    assert store.claim(job) is None
    store.finish(job.key, 1, make_row(claim))
    assert store.unjudged() == []


def test_rows_come_back_as_they_were_given_at_full_precision(store: Store) -> None:
    jobs = make_jobs(4)
    store.add(jobs)
    said = {}
    for job in jobs:
        claim = store.claim(job)
        assert claim is not None
        end(claim)
        said[job.key] = make_row(claim, score=1 / 3 + job.fold * 1e-16, message="ü\u0000")
        store.finish(job.key, 1, said[job.key])
    assert {row.key: row for row in store.rows()} == said
    assert [row.key for row in store.rows()] == [job.key for job in jobs], "by task and fold"


def test_counts_tell_pending_running_and_every_status(store: Store) -> None:
    jobs = make_jobs(6)
    store.add(jobs)
    for job, status in zip(jobs, ("ok", "ok", "memory", "setup"), strict=False):
        claim = store.claim(job)
        assert claim is not None
        end(claim)
        store.finish(job.key, 1, make_row(claim, status))
    running = store.claim(jobs[4])
    assert running is not None
    assert store.counts() == {"ok": 2, "memory": 1, "setup": 1, "running": 1, "pending": 1}
    end(running)
    assert store.running() == []


def test_a_key_is_found_by_its_beginning(store: Store) -> None:
    store.add(make_jobs(20))
    whole = make_job(3).key
    assert store.find(whole[:8]) == store.find(whole) == whole
    for wrong in ("", "zzz", "*", whole + "0", "a*", "'; DROP TABLE jobs"):
        with pytest.raises(StoreError, match=re.escape(f"'{wrong}'")):
            store.find(wrong)
    with pytest.raises(StoreError, match="More than one"):
        store.find("0000")
    with pytest.raises(StoreError, match="no job"):
        store.state("zzz")
    assert store.row(whole) is None


def test_a_failed_transaction_leaves_the_index_as_it_was(store: Store) -> None:
    store.add(make_jobs(2))
    with pytest.raises(RuntimeError), store.transaction() as db:
        db.execute("DELETE FROM jobs")
        raise RuntimeError
    assert len(store.states()) == 2
    store.add(make_jobs(3))
    assert len(store.states()) == 3


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (OSError(28, "No space left on device"), "full"),
        (OSError(30, "Read-only file system"), "permissions"),
        (sqlite3.OperationalError("attempt to write a readonly database"), "permissions"),
        (sqlite3.OperationalError("database or disk is full"), "full"),
        (sqlite3.OperationalError("database is locked"), "busy"),
        (sqlite3.DatabaseError("file is not a database"), "rebuild"),
    ],
)
def test_what_goes_wrong_below_is_said_in_one_sentence(tmp_path: Path, error: Exception, word: str) -> None:
    with pytest.raises(StoreError, match=word) as told, explained(tmp_path):
        raise error
    assert str(tmp_path) in str(told.value)
