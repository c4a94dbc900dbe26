"""Suite × frameworks × constraint × folds → jobs, in a useful order, with their cost. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from assay.data.task import Fold, Task
from assay.errors import ConfigError
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import Constraint
from assay.jobs.job import DEFAULT_SEED, Job, JobGroup, job_seed
from assay.memory import no_collection

__all__ = ["Cost", "Plan", "cost", "plan_jobs", "with_earlier_digests"]


@dataclass(frozen=True)
class Plan:
    """Jobs in the order in which they should run, with what they refer to.

    `unsuited` are (framework, task) that were not planned, because the framework does not do that type of task.
    """

    jobs: tuple[Job, ...]
    tasks: tuple[Task, ...]
    frameworks: tuple[FrameworkSpec, ...]
    constraint: Constraint
    unsuited: tuple[tuple[str, str], ...] = ()

    def task(self, job: Job) -> Task:
        """Return the task of a job."""
        return next(task for task in self.tasks if (task.name, task.digest) == (job.task, job.task_digest))

    def framework(self, job: Job) -> FrameworkSpec:
        """Return the framework of a job."""
        return next(s for s in self.frameworks if (s.name, s.version) == (job.framework, job.version))


@dataclass(frozen=True)
class Cost:
    """What a plan takes: `budget_h` if every framework uses its time, `worst_h` if every limit is reached."""

    jobs: int
    budget_h: float
    worst_h: float
    wall_h: float
    parallel: int


def plan_jobs(
    tasks: Sequence[Task],
    frameworks: Sequence[FrameworkSpec],
    constraint: Constraint,
    folds: Collection[int] | None = None,
    seed: int = DEFAULT_SEED,
) -> Plan:
    """Plan every framework on every task and fold.

    The first fold of every task comes first, for all frameworks: a run stopped half way has compared all
    frameworks on as many tasks as it could. `folds` keeps only these fold numbers.
    """
    _refuse_twins(tasks)
    chosen = [_folds(task, constraint, folds) for task in tasks]
    if not any(chosen):
        raise ConfigError(_why_nothing(tasks, constraint, folds), ["folds"])
    limits = [constraint.for_task(task.name) for task in tasks]
    groups = [
        [
            JobGroup(spec, task, limit, seed) if task.type in spec.types or task.problem else None
            for spec in frameworks
        ]
        for task, limit in zip(tasks, limits, strict=True)
    ]
    unsuited = tuple(
        (spec.name, task.name)
        for task, row in zip(tasks, groups, strict=True)
        for spec, group in zip(frameworks, row, strict=True)
        if group is None
    )
    order = sorted(
        (fold.repeat, fold.fold, i, j) for i, own in enumerate(chosen) for j, fold in enumerate(own)
    )
    jobs: list[Job] = []
    digests = [task.digest for task in tasks]
    with no_collection():
        for repeat, fold, i, j in order:
            fold_seed = job_seed(seed, digests[i], repeat, fold)
            jobs += [group.job(chosen[i][j], fold_seed) for group in groups[i] if group is not None]
    return Plan(tuple(jobs), tuple(tasks), tuple(frameworks), constraint, unsuited)


def with_earlier_digests(plan: Plan, is_known: Callable[[str], bool]) -> Plan:
    """Return the plan with the tasks that a store knows by version 1 of their digest under that identity.

    So the rows that such a store has are found, and jobs that come later are compared with them. `is_known` says
    whether the store has a task of that digest.
    """
    renamed = {
        task.digest: replace(task, known_as=task.digest_v1)
        for task in plan.tasks
        if task.digest_v1 and not task.known_as and is_known(task.digest_v1)
    }
    if not renamed:
        return plan
    jobs = tuple(
        _rekeyed(job, plan, renamed[job.task_digest]) if job.task_digest in renamed else job
        for job in plan.jobs
    )
    return replace(plan, jobs=jobs, tasks=tuple(renamed.get(task.digest, task) for task in plan.tasks))


def _rekeyed(job: Job, plan: Plan, task: Task) -> Job:
    parts = job.framework, job.version, job.params
    framework = next(spec for spec in plan.frameworks if (spec.name, spec.version, spec.params) == parts)
    fold = next(fold for fold in task.folds if (fold.repeat, fold.fold) == (job.repeat, job.fold))
    return JobGroup(framework, task, job.constraint, job.run_seed).job(fold)


def _folds(task: Task, constraint: Constraint, wanted: Collection[int] | None) -> list[Fold]:
    most = constraint.for_task(task.name).max_folds
    folds = sorted(task.folds, key=lambda fold: (fold.repeat, fold.fold))[:most]
    return [fold for fold in folds if wanted is None or fold.fold in wanted]


def _refuse_twins(tasks: Sequence[Task]) -> None:
    """Refuse two tasks that are one: their jobs would have the same keys, and one of them no row."""
    seen: dict[str, str] = {}
    for task in tasks:
        if task.digest in seen:
            raise ConfigError(
                f"Tasks '{seen[task.digest]}' and '{task.name}' are the same: data, splits, target and metric are "
                "equal. Keep one of them."
            )
        seen[task.digest] = task.name


def _why_nothing(tasks: Sequence[Task], constraint: Constraint, folds: Collection[int] | None) -> str:
    if not tasks:
        return "No task is left to run. Choose others, or restrict them less."
    there = sorted({fold.fold for task in tasks for fold in _folds(task, constraint, None)})
    if folds is None or not there:
        return f"No fold is left to run: task '{tasks[0].name}' has none."
    asked = ", ".join(map(str, sorted(folds))) or "none"
    return f"No fold is left to run: `folds` asks for {asked}, there are {there[0]} to {there[-1]}."


def cost(jobs: Sequence[Job], parallel: int) -> Cost:
    """Return what these jobs take when `parallel` of them run at a time."""
    budget = sum(job.constraint.time_s for job in jobs) / 3600
    worst = sum(job.constraint.worst_case_s for job in jobs) / 3600
    return Cost(len(jobs), budget, worst, budget / max(1, parallel), parallel)
