"""The loop: claim → executor → outcome → store. Every planned job ends as exactly one row."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property

from assay.data.task import Task
from assay.errors import StoreError, UserError
from assay.files import write_json
from assay.frameworks.install import hold_environment
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.circumstances import Circumstances
from assay.jobs.folder import AttemptFolder
from assay.jobs.job import Job
from assay.jobs.outcome import Facts
from assay.jobs.row import Row
from assay.runs.executors.base import Finished
from assay.runs.exit_codes import CANNOT_WRITE, NOT_OURS
from assay.runs.folds import Folds
from assay.runs.place import Share
from assay.runs.prepare import PreparedAttempt, Resources, describe_job, make_launch, write_attempt
from assay.runs.ready import Ready, make_ready
from assay.runs.roots import roots_here
from assay.runs.run import Event, Run, missing_jobs
from assay.runs.sandbox.spawn import unreadable
from assay.store.locks import drop_locks, hold_attempt
from assay.store.problems import check_there, explained
from assay.store.store import Claim

__all__ = ["run_plan"]

_log = logging.getLogger(__name__)
MAX_ATTEMPTS = 3
IDLE_S = 0.5


def run_plan(run: Run) -> None:
    """Run what is missing of a plan; returns when every planned job has its row.

    Jobs that another coordinator is running are waited for. On any exception, Ctrl-C included, everything that
    runs is stopped and what is finished stays.
    """
    loop = _Loop(run)
    with loop.held, unreadable(), explained(run.store.folder.root):  # unreadable: we know the truth
        try:
            loop.begin()
            loop.run_all()
        except BaseException:
            run.executor.cancel()
            raise
        if not run.keep:
            run.executor.cancel()


class _Loop:
    """The state of a run: what is pending, what is running, and how often a job was tried."""

    def __init__(self, run: Run) -> None:
        self.run, self.store, self.executor = run, run.store, run.executor
        self.held = ExitStack()  # claims and environments, for as long as the run lasts
        self.held.callback(self.let_go)
        self.tasks: dict[str, Task] = {task.digest: task for task in run.plan.tasks}
        self.jobs: dict[str, Job] = {}
        self.frameworks: dict[tuple[str, str], Ready] = {}
        self.pending: deque[Job] = deque()
        self.running: dict[str, Claim] = {}
        self.again: set[str] = set()
        self.tries: dict[str, int] = {}
        self.followed: set[str] = set()
        self.is_waiting = False

    @cached_property
    def folds(self) -> Folds:
        """Return the maker of the folds' files; it makes the user's secret on first use."""
        return Folds(self.store.folder, self.run.settings)

    def begin(self) -> None:
        """Note the plan in the store, finish what was left of it, and see what is missing."""
        new = self._note(self.run.plan.jobs)
        self._finish_unjudged()
        self._take_up(new)

    def _note(self, jobs: Iterable[Job]) -> list[Job]:
        """Note jobs in the store; return those that are new to the run, each once."""
        new = {job.key: job for job in jobs if job.key not in self.jobs}
        self.jobs.update(new)
        noted = list(new.values())
        self.store.add(noted)
        return noted

    def _take_up(self, jobs: list[Job]) -> None:
        """Put what is missing of these jobs, and of those that follow done ones, at the end of the line."""
        while jobs:  # no recursion: there may be thousands, each after the other
            states = self.store.states([job.key for job in jobs])
            missing = {job.key: job for job in missing_jobs(jobs, states, self._digests, self.run.options)}
            self.pending.extend(missing.values())
            self.again.update(key for key in missing if states[key].state == "done")
            # Only frameworks with something left to do are looked at.
            for name, job in {(job.framework, job.version): job for job in missing.values()}.items():
                if name not in self.frameworks:
                    self.frameworks[name] = self._make_ready(job)
            jobs = self._followers_of_done([job for job in jobs if job.key not in missing])

    def _followers_of_done(self, jobs: Sequence[Job]) -> list[Job]:
        if self.run.follow is None:
            return []
        rows = ((job, self.store.row(job.key)) for job in jobs)
        return [new for job, row in rows if row is not None for new in self._followers(job, row)]

    def _followers(self, job: Job, row: Row) -> list[Job]:
        """Ask once which jobs are to run after one that has its row."""
        if self.run.follow is None or job.key in self.followed:
            return []
        self.followed.add(job.key)
        return self._note(self.run.follow(job, row))

    @cached_property
    def _specs(self) -> dict[tuple[str, str], FrameworkSpec]:
        return {(spec.name, spec.version): spec for spec in self.run.plan.frameworks}

    @cached_property
    def _digests(self) -> dict[tuple[str, str], str]:
        return {name: spec.digest() for name, spec in self._specs.items()}

    def _make_ready(self, job: Job) -> Ready:
        spec, options = self._specs[job.framework, job.version], self.run.options
        ready = make_ready(spec, self.store.folder, self.run.settings, options.install, self._installing(job))
        if ready.environment is not None:
            self.held.enter_context(hold_environment(ready.spec, self.run.settings))
        return ready

    def _installing(self, job: Job) -> Callable[[str], None]:
        return lambda line: self.run.tell(Event("install", job, text=line))

    def run_all(self) -> None:
        """Start what fits, wait for what runs, until nothing is left."""
        while self.pending or self.running:
            has_started = self._start_next()
            if self.running:
                for finished in self.executor.poll(0.0 if has_started else IDLE_S):
                    self._finished(finished)
            elif self.pending and not has_started:
                time.sleep(IDLE_S)
                self._finish_unjudged()

    def let_go(self) -> None:
        """Give up all claims; what has no facts by now is free for the next run."""
        while self.running:
            _, claim = self.running.popitem()
            os.close(claim.lock)

    # --- starting ------------------------------------------------------------------------------------

    def _start_next(self) -> bool:
        """Start one job if there is room; a job held by somebody else goes to the end of the line."""
        if not self.pending:
            return False
        job = self.pending[0]
        share = self.executor.place.share(job.constraint, self.run.options.oversubscribe)
        if not self.executor.has_room(share):
            if not self.running and not self.is_waiting:
                self.is_waiting = True
                self.run.tell(Event("waiting", job))
            return False
        self.is_waiting = False
        self.pending.popleft()
        claim = self.store.claim(job, again=job.key in self.again)
        if claim is None:
            return self._skip(job)
        self.again.discard(job.key)
        self._start(claim, share)
        return True

    def _skip(self, job: Job) -> bool:
        """Deal with a job that cannot be claimed; return whether it is done."""
        if self.store.state(job.key).state != "done":
            self.pending.append(job)
            return False
        row = self.store.row(job.key)
        self.run.tell(Event("done", job, row))
        if row is not None:
            self._take_up(self._followers(job, row))
        return True

    def _start(self, claim: Claim, share: Share) -> None:
        job = claim.job
        try:  # whatever happens, an interrupt in `tell` included, gives the job back
            self.run.tell(Event("start", job))
            problem = self._prepare(claim, share)
            if problem:
                write_json(claim.folder.outcome, self._facts(job, problem).to_json())
        except BaseException:
            self.store.release(claim)
            os.close(claim.lock)
            raise
        self.running[job.key] = claim
        if problem:  # it could not even be started: a row of its own all the same
            self._judge(job, claim.folder)
        else:
            self.executor.submit(claim.folder, share)

    def _prepare(self, claim: Claim, share: Share) -> dict[str, str]:
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
        timing_s = self.run.options.timing_for(job.constraint.time_s)
        cold_reason = self.run.options.cold_reason
        resources = Resources(share, self.executor.place.tier, len(self.running), timing_s, cold_reason)
        prepared = PreparedAttempt(job, task, framework, files, resources)
        launch = make_launch(
            prepared, claim.folder.number, roots_here(self.store.folder.root, self.run.settings)
        )
        write_attempt(claim.folder, describe_job(job, task, framework.spec, resources), launch)
        return {}

    def _framework(self, job: Job) -> Ready:
        return self.frameworks[job.framework, job.version]

    def _facts(self, job: Job, problem: Mapping[str, str]) -> Facts:
        """Return the facts of an attempt that has none of its own."""
        framework = self._framework(job)
        circumstances = Circumstances(
            framework_digest=framework.digest,
            role=framework.spec.role,
            meta_learning=framework.spec.meta_learning,
        )
        return Facts(
            self.executor.place.tier,
            "",
            data_problem=problem.get("data_problem", ""),
            setup_problem=problem.get("setup_problem", ""),
            lost_reason=problem.get("lost_reason", ""),
            circumstances=circumstances,
        )

    # --- ending --------------------------------------------------------------------------------------

    def _finished(self, finished: Finished) -> None:
        job = self.jobs[finished.folder.key]
        if not finished.folder.is_complete:
            self._came_to_nothing(job, finished)
            return
        if self._tried(job) < MAX_ATTEMPTS and _killed_from_outside(finished.folder):
            _log.warning("%s was killed from outside; it is tried again.", job.key)
            self.again.add(job.key)
            self._give_up(job.key)
            self.pending.appendleft(job)
            return
        self._judge(job, finished.folder)

    def _came_to_nothing(self, job: Job, finished: Finished) -> None:
        """Deal with an attempt that has no facts: its job is tried again, and ends as `lost` after the last time."""
        if finished.exit_code == NOT_OURS:  # somebody else is at it, and will give it its row
            self._give_up(job.key)
            self.pending.append(job)
            return
        if finished.exit_code == CANNOT_WRITE:
            check_there(self.store.folder)
            raise StoreError(
                f"The supervisor could not write to {self.store.folder.root}: {finished.message}."
            )
        _log.warning("The supervisor of %s ended without facts (%s).", job.key, finished.message or "killed")
        if self._tried(job) < MAX_ATTEMPTS:
            self._give_up(job.key)
            self.pending.appendleft(job)
            return
        self._call_lost(job, finished)

    def _call_lost(self, job: Job, finished: Finished) -> None:
        """Write the facts in the supervisor's stead, unless it is still there after all."""
        lock = hold_attempt(finished.folder)
        if lock is None:
            self._give_up(job.key)
            self.pending.append(job)
            return
        reason = f"Its supervisor was lost {MAX_ATTEMPTS} times: {finished.message or 'killed from outside'}."
        write_json(finished.folder.outcome, self._facts(job, {"lost_reason": reason}).to_json())
        os.close(lock)
        self._judge(job, finished.folder)

    def _tried(self, job: Job) -> int:
        """Count one more try of a job and return how many there were."""
        self.tries[job.key] = self.tries.get(job.key, 0) + 1
        return self.tries[job.key]

    def _give_up(self, key: str) -> None:
        """Let go of a claim, so that the job can be claimed again."""
        os.close(self.running.pop(key).lock)

    def _judge(self, job: Job, folder: AttemptFolder) -> None:
        """Give a job its row; its claim is kept until it has it."""
        row = self.run.judge(job, folder)
        self.store.finish(job.key, folder.number, row)
        drop_locks(folder)
        if job.key in self.running:
            self._give_up(job.key)
        self.run.tell(Event("done", job, row))
        self._take_up(self._followers(job, row))

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
