"""The loop: claim → executor → outcome → store. Every planned job ends as exactly one row."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.data.task import Task
from assay.errors import NotInstalled, StoreError, UserError
from assay.frameworks.envs import Environment, environment_of
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.folder import AttemptFolder, read_json, write_json
from assay.jobs.job import Job
from assay.jobs.outcome import Facts
from assay.jobs.plan import Plan
from assay.runs.executors.base import Executor, Finished
from assay.runs.folds import Folds
from assay.runs.machine import CoreClaim, Machine, claim_cores, memory_share_mb
from assay.runs.prepare import Resources, describe_job, make_launch, write_attempt
from assay.runs.sandbox.spawn import unreadable
from assay.settings import Settings
from assay.store.store import Claim, Store

__all__ = ["Event", "RunOptions", "run_plan"]

_log = logging.getLogger(__name__)
MAX_ATTEMPTS = 3
IDLE_S = 0.5
Judge = Callable[[Job, AttemptFolder], Mapping[str, Any]]


@dataclass(frozen=True)
class RunOptions:
    """How a plan is run: in which tier, and which finished jobs run again."""

    tier: str
    oversubscribe: bool = False
    retry_failed: bool = False
    rerun_stale: bool = False


@dataclass(frozen=True)
class Event:
    """Something a person may want to see: `start` or `done`, the job, and its row when it is done."""

    kind: str
    job: Job
    row: Mapping[str, Any] = field(default_factory=dict)


def run_plan(
    plan: Plan,
    store: Store,
    executor: Executor,
    options: RunOptions,
    machine: Machine,
    settings: Settings,
    judge: Judge,
    tell: Callable[[Event], None] = lambda event: None,
) -> None:
    """Run what is missing of a plan; returns when every planned job has its row.

    Jobs that another coordinator is running are waited for. On any exception, Ctrl-C included, everything that
    runs is stopped and what is finished stays.
    """
    run = _Run(plan, store, executor, options, machine, settings, judge, tell)
    with unreadable():  # the truth is in our memory
        try:
            run.everything()
        finally:
            executor.cancel()


class _Run:
    def __init__(
        self,
        plan: Plan,
        store: Store,
        executor: Executor,
        options: RunOptions,
        machine: Machine,
        settings: Settings,
        judge: Judge,
        tell: Callable[[Event], None],
    ) -> None:
        self.store, self.executor, self.options = store, executor, options
        self.machine, self.settings, self.judge, self.tell = machine, settings, judge, tell
        self.folds = Folds(store.folder, settings)
        self.tasks: dict[str, Task] = {task.digest: task for task in plan.tasks}
        self.specs: dict[tuple[str, str], FrameworkSpec] = {(s.name, s.version): s for s in plan.frameworks}
        self.digests = {name: spec.digest() for name, spec in self.specs.items()}
        self.environments: dict[tuple[str, str], Environment | str] = {}
        self.jobs = {job.key: job for job in plan.jobs}
        self.running: dict[str, Job] = {}
        self.memory_used = 0
        self.tries: dict[str, int] = {}
        store.add(plan.jobs)
        self._finish_unjudged()
        self.again: set[str] = set()
        self.pending = deque(self._missing(plan))

    def _missing(self, plan: Plan) -> list[Job]:
        """Return the jobs to run, in order; notes which of them are done and run again."""
        states = self.store.states()
        missing = []
        for job in plan.jobs:
            state = states[job.key]
            if state.state == "done":
                stale = state.digest != self.digests[job.framework, job.version]
                failed = state.status != "ok"
                if not (failed and self.options.retry_failed) and not (stale and self.options.rerun_stale):
                    continue
                self.again.add(job.key)
            missing.append(job)
        return missing

    def everything(self) -> None:
        """Start what fits, wait for what runs, until nothing is left."""
        while self.pending or self.running:
            started = self._start_next()
            if self.running:
                for finished in self.executor.poll(0.0 if started else IDLE_S):
                    self._finished(finished)
            elif self.pending and not started:
                time.sleep(IDLE_S)
                self._finish_unjudged()

    def _start_next(self) -> bool:
        """Start one job if there is room; a job held by somebody else goes to the end of the line."""
        if not self.pending or len(self.running) >= self.executor.workers:
            return False
        job = self.pending[0]
        needed = memory_share_mb(job.constraint, self.machine)
        if self.running and self.memory_used + needed > self.machine.memory_mb:
            return False
        cores = self._cores(job)
        if cores is None:
            return False
        self.pending.popleft()
        claim = self.store.claim(job, again=job.key in self.again)
        if claim is None:
            cores.close()
            if self.store.state(job.key).state != "done":
                self.pending.append(job)
                return False
            self.tell(Event("done", job, self.store.row(job.key) or {}))
            return True
        self.again.discard(job.key)
        self._start(claim, cores, needed)
        return True

    def _cores(self, job: Job) -> CoreClaim | None:
        if self.options.oversubscribe:
            count = min(job.constraint.cores, len(self.machine.cores))
            return CoreClaim(self.machine.cores[:count], ())
        return claim_cores(job.constraint.cores, self.machine)

    def _start(self, claim: Claim, cores: CoreClaim, memory_mb: int) -> None:
        job = claim.job
        task, spec = self.tasks[job.task_digest], self.specs[job.framework, job.version]
        self.tell(Event("start", job))
        try:
            environment = self._environment(spec)
            if task.problem:
                self._end(claim, cores, data_problem=task.problem)
                return
            if isinstance(environment, str):
                self._end(claim, cores, setup_problem=environment)
                return
            resources = Resources(
                cores=cores.cores,
                memory_mb=min(memory_mb, self.machine.memory_mb),
                tier=self.options.tier,
                cores_shared=self.options.oversubscribe,
                neighbours=len(self.running),
            )
            try:
                files = self.folds.files(task, job.repeat, job.fold, spec.format)
            except UserError as error:
                self._end(claim, cores, data_problem=str(error))
                return
            launch = make_launch(
                (job, claim.folder), spec, environment, files, resources, self.store.folder, self.settings,
                self.machine, {"sources": _sources(task)},
            )  # fmt: skip
            write_attempt(claim.folder, describe_job(job, task, spec, resources), launch)
        except BaseException:
            cores.close()
            self.store.release(claim)
            raise
        self.running[job.key] = job
        self.memory_used += memory_mb
        self.executor.submit(claim.folder, (claim.lock, *cores.descriptors))

    def _environment(self, spec: FrameworkSpec) -> Environment | str:
        """Return where a framework runs, or why it cannot here; looked up once."""
        name = (spec.name, spec.version)
        if name not in self.environments:
            try:
                self.environments[name] = environment_of(spec, self.settings)
            except NotInstalled as error:
                self.environments[name] = str(error)
        return self.environments[name]

    def _end(self, claim: Claim, cores: CoreClaim, **problem: str) -> None:
        """End an attempt that could not even be started, as a row of its own."""
        import os

        cores.close()
        job = claim.job
        digest = self.digests[job.framework, job.version]
        around = {"framework_digest": digest, "role": self.specs[job.framework, job.version].role}
        facts = Facts(enforcement=self.options.tier, blindness="", surroundings=around)
        write_json(claim.folder.outcome, replace(facts, **problem).to_json())  # type: ignore[arg-type]
        os.close(claim.lock)
        self._judge(job, claim.folder)

    def _finished(self, finished: Finished) -> None:
        job = self.running.pop(finished.folder.key)
        self.memory_used -= memory_share_mb(job.constraint, self.machine)
        self.tries[job.key] = self.tries.get(job.key, 0) + 1
        last = self.tries[job.key] >= MAX_ATTEMPTS
        if finished.folder.is_complete:
            if not last and _killed_from_outside(finished.folder):
                _log.warning("%s was killed from outside; it is tried again.", job.key)
                self.again.add(job.key)
                self.pending.appendleft(job)
                return
            self._judge(job, finished.folder)
            return
        if finished.exit_code == 4:
            raise StoreError(
                f"The supervisor could not write to {self.store.folder.root}: {finished.message}."
            )
        _log.warning("The supervisor of %s ended without facts (%s).", job.key, finished.message or "killed")
        if not last:
            self.pending.appendleft(job)
            return
        reason = f"Its supervisor was lost {MAX_ATTEMPTS} times: {finished.message or 'killed from outside'}."
        facts = Facts(enforcement=self.options.tier, blindness="", lost_reason=reason)
        write_json(finished.folder.outcome, facts.to_json())
        self._judge(job, finished.folder)

    def _judge(self, job: Job, folder: AttemptFolder) -> None:
        row = self.judge(job, folder)
        self.store.finish(job.key, folder.number, row)
        self.tell(Event("done", job, row))

    def _finish_unjudged(self) -> None:
        """Give rows to attempts that finished while nobody was there to judge them."""
        for folder in self.store.unjudged():
            if folder.key in self.jobs and folder.key not in self.running:
                self._judge(self.jobs[folder.key], folder)


def _killed_from_outside(folder: AttemptFolder) -> bool:
    """Whether the child got a SIGKILL that neither its limits nor the kernel's memory watch sent."""
    facts = Facts.from_json(read_json(folder.outcome))
    return facts.signal == 9 and not facts.stopped_for and not facts.oom_kills


def _sources(task: Task) -> tuple[str, ...]:
    request = task.request
    return tuple(path for path in (request.path, *request.train, *request.test) if path)
