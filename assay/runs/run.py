"""One run as a record: a plan, its store and executor, what the user asked for, and who is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.jobs.folder import AttemptFolder
from assay.jobs.job import Job
from assay.jobs.plan import Plan
from assay.jobs.row import Row
from assay.runs.executors.base import Executor
from assay.settings import Settings
from assay.store.store import State, Store

__all__ = ["Event", "Follow", "Run", "RunOptions", "missing_jobs"]

Judge = Callable[[Job, AttemptFolder], Row]
Follow = Callable[[Job, Row], Iterable[Job]]

LEAST_TIMING_S = 2.0


@dataclass(frozen=True)
class RunOptions:
    """What a user may ask of a run: which finished jobs run again, and whether environments may be built.

    Attributes:
        oversubscribe: run constraints that the place cannot give, with what is there; cores are then not claimed.
        retry_failed: run failed jobs again.
        rerun_stale: run jobs again whose adapter or lock has changed.
        install: build environments that are missing; without it their jobs end as `setup` rows.
        timing_s: how long inference may be timed after the predictions are written; 0 for not at all. By default a
            tenth of the budget, and at least 2 s.
        start: `cold` for every job in a process of its own; `auto` forks jobs from a nursery where that is possible.
    """

    oversubscribe: bool = False
    retry_failed: bool = False
    rerun_stale: bool = False
    install: bool = True
    timing_s: float | None = None
    start: Literal["auto", "cold"] = "auto"

    @property
    def cold_reason(self) -> str:
        """Return why no job may be forked from a nursery; empty if jobs may be."""
        return "the run asked for it" if self.start == "cold" else ""

    def timing_for(self, budget_s: float) -> float:
        """Return how long the inference of a job with this budget may be timed."""
        return max(LEAST_TIMING_S, budget_s / 10) if self.timing_s is None else self.timing_s


@dataclass(frozen=True)
class Event:
    """Something a person may want to see.

    `install` with a line about the environment of the job's framework; `waiting` for cores others hold; `start`;
    `done` with the row.
    """

    kind: str
    job: Job
    row: Row | None = None
    text: str = ""


@dataclass(frozen=True)
class Run:
    """A plan on its way into a store: who runs its jobs, who judges what they leave, and who is told of it.

    Attributes:
        follow: asked once for each job that has its row, for the jobs that are to run after it; they are of the plan's
            tasks and frameworks. A job that was done before the run began is asked about too.
        keep: the executor's idle supervisors stay for the next plan; the caller must cancel the executor later.
    """

    plan: Plan
    store: Store
    executor: Executor
    judge: Judge
    settings: Settings
    options: RunOptions = RunOptions()
    tell: Callable[[Event], None] = lambda event: None
    follow: Follow | None = None
    keep: bool = False


def missing_jobs(
    jobs: Sequence[Job],
    states: Mapping[str, State],
    digests: Mapping[tuple[str, str], str],
    options: RunOptions,
) -> list[Job]:
    """Return the jobs that are to be run, in their order: not done, or done and asked for again.

    `digests` are those of the frameworks as they are now, by name and version.
    """
    missing = []
    for job in jobs:
        state = states.get(job.key)
        if state is not None and state.state == "done":
            failed = state.status != "ok"
            stale = state.digest != digests[job.framework, job.version]
            if not (failed and options.retry_failed) and not (stale and options.rerun_stale):
                continue
        missing.append(job)
    return missing
