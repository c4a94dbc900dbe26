"""What is said of a job reads like advice, whatever happened to it."""

from __future__ import annotations

import os
import re

import pytest

from assay.errors import StoreError
from assay.results.explain import explain
from assay.vocabulary import STATUSES

from .conftest import Bench
from .test_judge import case

ADVICE = re.compile(
    r"`assay [a-z ]+|--retry-failed|--set |tail -f|same command|Nothing to do|constraint|docs/"
)


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_comes_with_something_to_do(bench: Bench, status: str) -> None:
    row = case(bench, status)
    bench.store.finish(row.key, 1, row)
    told = explain(bench.store, row.key[:8])
    assert told.row == row and told.state == "done" and told.attempts == 1
    assert told.facts is not None and told.facts.enforcement == "strict"
    assert ADVICE.search(told.remedy), told.remedy
    assert told.log == ("first line", "last line")
    if status != "ok":
        assert len(told.remedy.split()) > 5


def test_no_two_failures_get_the_same_advice(bench: Bench) -> None:
    told = set()
    for status in STATUSES:
        row = case(bench, status)
        bench.store.finish(row.key, row.attempt, row)
        told.add(explain(bench.store, row.key).remedy)
    assert len(told) == len(STATUSES)


def test_a_timeout_outside_fit_speaks_of_that_phase(bench: Bench) -> None:
    from assay.results.judge import judge_attempt

    job = bench.job()
    folder = bench.attempt(job, None, stopped_for="time", phase="load", exit_code=None, signal=9)
    row = judge_attempt(bench.store.folder, job, folder)
    bench.store.finish(job.key, 1, row)
    assert "load phase" in explain(bench.store, job.key).remedy


def test_a_running_job_says_where_to_look(bench: Bench) -> None:
    job = bench.job()
    bench.store.add([job])
    claim = bench.store.claim(job)
    assert claim is not None
    told = explain(bench.store, job.key)
    assert told.state == "running" and "tail -f" in told.remedy and told.facts is None
    os.close(claim.lock)
    told = explain(bench.store, job.key)
    assert told.state == "pending" and "same command" in told.remedy, "its supervisor is gone"


def test_a_retry_that_runs_or_was_stopped_shows_what_is_known(bench: Bench) -> None:
    row = case(bench, "error")
    bench.store.finish(row.key, 1, row)
    claim = bench.store.claim(bench.job(), again=True)
    assert claim is not None
    assert "tail -f" in explain(bench.store, row.key).remedy
    os.close(claim.lock)
    stopped = explain(bench.store, row.key)
    assert stopped.row == row and stopped.folder.number == 1 and stopped.facts is not None


def test_a_job_that_was_not_tried_says_how_to_start_it(bench: Bench) -> None:
    job = bench.job()
    bench.store.add([job])
    with pytest.raises(StoreError, match="same command"):
        explain(bench.store, job.key)
