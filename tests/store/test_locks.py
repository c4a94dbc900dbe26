"""An attempt is held by its coordinator and its supervisor, and never made when a later one exists."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from assay.jobs.folder import AttemptFolder, JobFolder
from assay.store import locks
from assay.store.locks import hold_attempt, hold_claim, is_held, unheld

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def job(tmp_path: Path) -> JobFolder:
    folder = JobFolder(tmp_path / "jobs" / "ab" / "abcd")
    folder.attempt(1).path.mkdir(parents=True)
    return folder


@pytest.fixture
def folder(job: JobFolder) -> AttemptFolder:
    return job.attempt(1)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "PATIENCE_S", 0.05)


def test_an_attempt_is_held_by_its_coordinator_or_its_supervisor(folder: AttemptFolder) -> None:
    assert not is_held(folder)
    claim = hold_claim(folder)
    assert is_held(folder)
    lock = hold_attempt(folder)
    assert lock is not None, "the coordinator does not keep its supervisor out"
    os.close(claim)
    assert is_held(folder), "the supervisor outlives its coordinator"
    os.close(lock)
    assert not is_held(folder)


def test_two_supervisors_do_not_hold_one_attempt(folder: AttemptFolder) -> None:
    lock = hold_attempt(folder)
    assert lock is not None
    assert hold_attempt(folder) is None
    os.close(lock)


def test_a_supervisor_that_comes_after_the_facts_is_refused(folder: AttemptFolder) -> None:
    folder.outcome.write_text("{}")
    assert hold_attempt(folder) is None and not is_held(folder)


def test_a_supervisor_that_comes_after_the_next_attempt_is_refused(job: JobFolder) -> None:
    """Its coordinator died before it started, and another one made a new attempt."""
    job.attempt(2).path.mkdir()
    assert hold_attempt(job.attempt(1)) is None
    lock = hold_attempt(job.attempt(2))
    assert lock is not None
    os.close(lock)


@pytest.mark.parametrize("hold", [hold_claim, hold_attempt])
def test_who_makes_the_next_attempt_sees_every_holder_of_the_last(folder: AttemptFolder, hold: Any) -> None:
    holder = hold(folder)
    with unheld(folder) as is_free:
        assert not is_free
    os.close(holder)
    with unheld(folder) as is_free:
        assert is_free
        assert hold_attempt(folder) is None, (
            "a supervisor that is late has to wait until the new attempt is there"
        )
    assert not is_held(folder)


def test_an_onlooker_does_not_make_a_supervisor_give_up(
    folder: AttemptFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    monkeypatch.setattr(locks, "PATIENCE_S", 5.0)
    block = unheld(folder)
    assert block.__enter__()
    threading.Timer(0.2, block.__exit__, (None, None, None)).start()
    lock = hold_attempt(folder)
    assert lock is not None
    os.close(lock)


def _supervise(path: Path, barrier: Any, told: Any) -> None:
    barrier.wait()
    told.put(("supervisor", hold_attempt(AttemptFolder(path)) is not None))
    barrier.wait()  # it holds the lock until everybody is done


def _succeed(path: Path, barrier: Any, told: Any) -> None:
    folder = AttemptFolder(path)
    barrier.wait()
    with unheld(folder) as is_free:
        if is_free:
            folder.path.with_name("002").mkdir()
    told.put(("coordinator", is_free))
    barrier.wait()


def test_of_a_late_supervisor_and_a_new_attempt_exactly_one_goes_on(tmp_path: Path) -> None:
    both = 0
    for number in range(40):
        path = tmp_path / "jobs" / "ab" / f"job{number}" / "attempts" / "001"
        path.mkdir(parents=True)
        barrier, told = FORK.Barrier(2), FORK.Queue()
        processes = [
            FORK.Process(target=target, args=(path, barrier, told)) for target in (_supervise, _succeed)
        ]
        for process in processes:
            process.start()
        answers = dict(told.get(timeout=60) for _ in processes)
        for process in processes:
            process.join()
        both += answers["supervisor"] and answers["coordinator"]
    assert both == 0
