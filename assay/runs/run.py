"""The loop: claim → executor → outcome → store. Every planned job ends as exactly one row."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from assay.data.task import Task
from assay.errors import StoreError, UserError
from assay.files import write_json
from assay.frameworks.install import hold_environment
from assay.jobs.circumstances import Circumstances, Machine
from assay.jobs.folder import AttemptFolder
from assay.jobs.job import Job
from assay.jobs.outcome import Facts
from assay.jobs.plan import Plan
from assay.jobs.row import Row
from assay.runs.executors.base import Executor, Finished
from assay.runs.folds import Folds
from assay.runs.machine import CoreClaim, choose_tier, claim_cores, memory_share_mb
from assay.runs.prepare import Place, Ready, Resources, describe_job, make_launch, make_ready, write_attempt
from assay.runs.sandbox.spawn import unreadable
from assay.settings import Settings
from assay.store.store import Claim, State, Store, check_there, explained

__all__ = ["Event", "RunOptions", "missing_jobs", "run_plan"]

_log = logging.getLogger(__name__)
MAX_ATTEMPTS = 3
IDLE_S = 0.5
Judge = Callable[[Job, AttemptFolder], Row]


@dataclass(frozen=True)
class RunOptions:
    """How a plan is run: in which tier, which finished jobs run again, and whether environments may be built."""

    tier: str
    oversubscribe: bool = False
    retry_failed: bool = False
    rerun_stale: bool = False
    install: bool = True


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
    with ExitStack() as held, unreadable(), explained(store.folder.root):  # unreadable: we know the truth
        for ready in run.frameworks.values():
            if ready.environment is not None:
                held.enter_context(hold_environment(ready.spec, settings))
        try:
            run.everything()
        finally:
            executor.cancel()


def missing_jobs(
    plan: Plan, states: Mapping[str, State], digests: Mapping[tuple[str, str], str], options: RunOptions
) -> list[Job]:
    """Return the jobs of a plan that are to be run, in order: not done, or done and asked for again.

    `digests` are those of the frameworks as they are now, by name and version.
    """
    missing = []
    for job in plan.jobs:
        state = states.get(job.key)
        if state is not None and state.state == "done":
            failed = state.status != "ok"
            stale = state.digest != digests[job.framework, job.version]
            if not (failed and options.retry_failed) and not (stale and options.rerun_stale):
                continue
        missing.append(job)
    return missing


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
        self.tier = choose_tier(options.tier)
        self.folds = Folds(store.folder, settings)
        self.place = Place(store.folder, settings, machine)
        self.tasks: dict[str, Task] = {task.digest: task for task in plan.tasks}
        self.frameworks: dict[tuple[str, str], Ready] = {}
        self.specs = {(s.name, s.version): s for s in plan.frameworks}
        self.waiting = False
        self.jobs = {job.key: job for job in plan.jobs}
        self.running: dict[str, Job] = {}
        self.memory_used = 0
        self.tries: dict[str, int] = {}
        self.pending: deque[Job] = deque()
        self.again: set[str] = set()
        store.add(plan.jobs)
        self._finish_unjudged()
        states = store.states()
        digests = {name: spec.digest() for name, spec in self.specs.items()}
        self.pending.extend(missing_jobs(plan, states, digests, options))
        for job in {(job.framework, job.version): job for job in self.pending}.values():
            self._make_ready(job)
        self.again.update(job.key for job in self.pending if states[job.key].state == "done")

    def _make_ready(self, job: Job) -> None:
        """See that the framework of a job can run; only frameworks with something left to do are looked at."""
        name = job.framework, job.version
        self.frameworks[name] = make_ready(
            self.specs[name],
            self.store.folder,
            self.settings,
            self.options.install,
            lambda line: self.tell(Event("install", job, text=line)),
        )

    def _framework(self, job: Job) -> Ready:
        return self.frameworks[job.framework, job.version]

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
            if not self.running and not self.waiting:
                self.waiting = True
                self.tell(Event("waiting", job))
            return False
        self.waiting = False
        self.pending.popleft()
        claim = self.store.claim(job, again=job.key in self.again)
        if claim is None:
            cores.close()
            if self.store.state(job.key).state != "done":
                self.pending.append(job)
                return False
            self.tell(Event("done", job, self.store.row(job.key)))
            return True
        self.again.discard(job.key)
        self._start(claim, cores, needed)
        return True

    def _cores(self, job: Job) -> CoreClaim | None:
        if self.options.oversubscribe:
            count = min(job.constraint.cores, len(self.machine.cores))
            return CoreClaim(self.machine.cores[:count], ())
        return claim_cores(job.constraint.cores, self.machine, self.settings.locks)

    def _start(self, claim: Claim, cores: CoreClaim, memory_mb: int) -> None:
        job = claim.job
        try:  # whatever happens, an interrupt in `tell` included, gives the job back
            self.tell(Event("start", job))
            problem = self._prepare(claim, cores, memory_mb)
            if problem:
                write_json(claim.folder.outcome, self._facts(job, problem).to_json())
        except BaseException:
            cores.close()
            os.close(claim.lock)
            self.store.release(claim)
            raise
        if problem:  # it could not even be started: a row of its own all the same
            cores.close()
            os.close(claim.lock)
            self._judge(job, claim.folder)
            return
        self.running[job.key] = job
        self.memory_used += memory_mb
        self.executor.submit(claim.folder, (claim.lock, *cores.descriptors))

    def _prepare(self, claim: Claim, cores: CoreClaim, memory_mb: int) -> dict[str, str]:
        """Fill the attempt's folder; return what keeps the job from being started, by the name of the fact."""
        job, task, framework = claim.job, self.tasks[claim.job.task_digest], self._framework(claim.job)
        if task.problem:
            return {"data_problem": task.problem}
        if framework.problem:
            return {"setup_problem": framework.problem}
        try:
            files = self.folds.files(task, job.repeat, job.fold, framework.spec.format)
        except UserError as error:
            return {"data_problem": str(error)}
        resources = Resources(
            cores=cores.cores,
            memory_mb=min(memory_mb, self.machine.memory_mb),
            tier=self.tier,
            cores_shared=self.options.oversubscribe,
            neighbours=len(self.running),
        )
        launch = make_launch(job, claim.folder.number, framework, task, files, resources, self.place)
        write_attempt(claim.folder, describe_job(job, task, framework.spec, resources), launch)
        return {}

    def _facts(self, job: Job, problem: Mapping[str, str]) -> Facts:
        """Return the facts of an attempt that has none of its own."""
        framework = self._framework(job)
        spec = framework.spec
        circumstances = Circumstances(
            framework_digest=framework.digest, role=spec.role, meta_learning=spec.meta_learning
        )
        return Facts(
            self.tier,
            "",
            data_problem=problem.get("data_problem", ""),
            setup_problem=problem.get("setup_problem", ""),
            lost_reason=problem.get("lost_reason", ""),
            circumstances=circumstances,
        )

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
            check_there(self.store.folder)
            raise StoreError(
                f"The supervisor could not write to {self.store.folder.root}: {finished.message}."
            )
        _log.warning("The supervisor of %s ended without facts (%s).", job.key, finished.message or "killed")
        if not last:
            self.pending.appendleft(job)
            return
        reason = f"Its supervisor was lost {MAX_ATTEMPTS} times: {finished.message or 'killed from outside'}."
        write_json(finished.folder.outcome, self._facts(job, {"lost_reason": reason}).to_json())
        self._judge(job, finished.folder)

    def _judge(self, job: Job, folder: AttemptFolder) -> None:
        row = self.judge(job, folder)
        self.store.finish(job.key, folder.number, row)
        self.tell(Event("done", job, row))

    def _finish_unjudged(self) -> None:
        """Give rows to attempts that finished while nobody was there to judge them."""
        for folder in self.store.unjudged():
            if folder.key in self.jobs and folder.key not in self.running and folder.key not in self.again:
                job = self.jobs[folder.key]
                self._judge(job, folder)
                if job in self.pending:  # it has its row, and is told of once
                    self.pending.remove(job)


def _killed_from_outside(folder: AttemptFolder) -> bool:
    """Whether the child got a SIGKILL that neither its limits nor the kernel's memory watch sent."""
    facts = folder.read_facts().value
    return facts is not None and facts.signal == 9 and not facts.stopped_for and not facts.oom_kills
