"""The flow on one screen: suite → tasks → jobs → predictions → scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.data.resolve import broken, resolve
from assay.data.task import Task
from assay.errors import ConfigError, DataError
from assay.frameworks.find import find_frameworks
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import Constraint, read_constraint
from assay.jobs.job import DEFAULT_SEED
from assay.jobs.plan import Plan, plan_jobs, with_earlier_digests
from assay.jobs.row import Row
from assay.metrics import check_metrics
from assay.results.judge import judge_attempt
from assay.runs.applicable import with_declared
from assay.runs.executors.base import Executor
from assay.runs.executors.registry import make_executor
from assay.runs.folds import Questions
from assay.runs.loop import run_plan
from assay.runs.machine import check_possible
from assay.runs.place import Place
from assay.runs.run import Event, Follow, Run, RunOptions
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.find import find_suite
from assay.suites.select import Selection, preselect, select
from assay.suites.suite import Suite

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_plan",
    "count_stale",
    "load_suite",
    "load_tasks",
    "match_store",
    "plan",
    "run",
    "score",
]


def load_suite(
    name: str | Path,
    target: str | None = None,
    settings: Settings | None = None,
    csv: Mapping[str, object] | None = None,
) -> Suite:
    """Return a suite: a built-in name, a YAML file, `openml/s/271`, `openml/t/31`, or a data file with its target.

    `csv` says how a CSV or TSV file is written where the file leaves it open, for example `{"decimal": "comma"}`.
    """
    return find_suite(str(name), settings or Settings.from_environment(), target, csv)


def load_tasks(
    suite: Suite, settings: Settings | None = None, selection: Selection | None = None
) -> list[Task]:
    """Read the suite's tasks once, and know them by their digests afterwards.

    A task that cannot be read is kept, with its problem, and its jobs end as `data` rows; if it is the
    only one, that is the user's error and raised.
    """
    chosen, criteria = settings or Settings.from_environment(), selection or Selection()
    requests = preselect(suite.tasks, criteria.names)  # what is not wanted by name is not even read
    tasks = []
    for request in requests:
        try:
            task = resolve(request, chosen)
        except DataError as error:
            if len(requests) == 1:
                raise
            task = broken(request, str(error))
        else:
            check_metrics(task.metrics, task.type, f"in suite {suite.name}, task {task.name}")
        tasks.append(task)
    matching = list(select(tasks, criteria))
    if not matching:
        raise ConfigError(f"No task of suite {suite.name} fits what was asked for. See `assay suite show`.")
    return matching


def plan(
    suite: Suite | str | Path,
    frameworks: str | Sequence[str] | Sequence[FrameworkSpec],
    constraint: str | Constraint | None = None,
    *,
    tasks: Sequence[Task | str] | None = None,
    folds: Collection[int] | None = None,
    seed: int = DEFAULT_SEED,
    metrics: Sequence[str] = (),
    params: Mapping[str, Mapping[str, object]] | None = None,
    settings: Settings | None = None,
) -> Plan:
    """Return the jobs of a suite, some frameworks and a constraint, in the order they should run.

    Args:
        suite: a suite or what `load_suite` understands.
        frameworks: names (`"constant,random_forest"` or a list), or specs.
        constraint: `"1h8c"`, a name from the suite's own constraints, or a record; the suite's default if left out.
        tasks: the tasks to run, where only some of the suite's are wanted: names, globs, or records.
        folds: keep these fold numbers only.
        seed: the run's; each job's seed follows from it, its task and its fold.
        metrics: instead of those of the tasks; the first is optimised.
        params: settings by framework name.
        settings: folders and switches; from the environment if left out.
    """
    chosen = settings or Settings.from_environment()
    loaded_suite = suite if isinstance(suite, Suite) else load_suite(suite, settings=chosen)
    chosen_tasks = _tasks(loaded_suite, tasks, chosen)
    if metrics:
        chosen_tasks = [replace(task, metrics=_metrics_for(task, metrics)) for task in chosen_tasks]
    limit = constraint if isinstance(constraint, Constraint) else _constraint(constraint, loaded_suite)
    specs = [with_declared(spec, chosen) for spec in _frameworks(frameworks, params)]
    return plan_jobs(chosen_tasks, specs, limit, folds, seed)


def _tasks(suite: Suite, tasks: Sequence[Task | str] | None, settings: Settings) -> list[Task]:
    """Return the records among the tasks, and those of the suite that the others name; without any, all."""
    if tasks is None:
        return load_tasks(suite, settings)
    if not tasks:
        raise ConfigError("`tasks=[]`: name at least one task, or leave it out for all of them.", ["tasks"])
    records = [task for task in tasks if isinstance(task, Task)]
    names = tuple(str(task) for task in tasks if not isinstance(task, Task))
    return [*records, *(load_tasks(suite, settings, Selection(names=names)) if names else ())]


def _metrics_for(task: Task, metrics: Sequence[str]) -> tuple[str, ...]:
    if not task.problem:
        check_metrics(metrics, task.type, f"for task {task.name}")
    return tuple(metrics)


def _constraint(text: str | None, suite: Suite) -> Constraint:
    name = text or suite.constraint
    if name is None:
        raise ConfigError(f"Suite {suite.name} has no constraint of its own: name one, for example 10m2c.")
    return read_constraint(name, suite.constraints, f"suite {suite.name}")


def _frameworks(
    named: str | Sequence[str] | Sequence[FrameworkSpec], params: Mapping[str, Mapping[str, object]] | None
) -> list[FrameworkSpec]:
    if isinstance(named, str):
        return find_frameworks(named, params)
    words = ",".join(str(name) for name in named if not isinstance(name, FrameworkSpec))
    specs = [spec for spec in named if isinstance(spec, FrameworkSpec)]
    return [*specs, *find_frameworks(words, params)] if words or not specs else specs


def run(
    jobs: Plan,
    store: Store,
    executor: Executor | None = None,
    options: RunOptions | None = None,
    *,
    settings: Settings | None = None,
    tell: Callable[[Event], None] = lambda event: None,
    follow: Follow | None = None,
    keep: bool = False,
) -> None:
    """Run what is missing of a plan; the same call again continues where this one stopped.

    Args:
        jobs: the plan.
        store: where attempts and rows are kept.
        executor: where jobs run; this machine if left out.
        options: which finished jobs run again, and what else may be asked of a run.
        settings: folders and switches; from the environment if left out.
        tell: called when a job starts and when it has its row.
        follow: called once for each job that has its row; returns jobs of the same tasks and frameworks to run next.
        keep: leave the executor ready for another plan; `executor.cancel()` then ends it.
    """
    jobs, where, chosen = match_store(jobs, store), executor or make_executor(), options or RunOptions()
    check_plan(jobs, where.place, chosen)
    ask = Questions().ask
    run_plan(
        Run(
            plan=jobs,
            store=store,
            executor=where,
            judge=lambda job, folder: judge_attempt(store.folder, job, folder, own_metrics=True, ask=ask),
            settings=settings or Settings.from_environment(),
            options=chosen,
            tell=tell,
            follow=follow,
            keep=keep,
        )
    )


def match_store(jobs: Plan, store: Store) -> Plan:
    """Return a plan whose tasks have the identity by which the store knows them, an earlier one for some."""
    return with_earlier_digests(jobs, lambda digest: (store.folder.tasks / f"{digest}.json").exists())


def check_plan(jobs: Plan, place: Place, options: RunOptions) -> None:
    """Refuse a plan with a constraint that the place cannot give."""
    for constraint in {id(job.constraint): job.constraint for job in jobs.jobs}.values():
        check_possible(constraint, place.machine, options.oversubscribe)


def score(store: Store, metrics: Sequence[str] = ()) -> pd.DataFrame:
    """Return the scores table of a store; with `metrics`, stored predictions are scored anew by these."""
    from assay.results.rescore import rescore
    from assay.results.scores import scores_table

    rows = store.rows()
    return scores_table(rescore(store.folder, rows, metrics) if metrics else rows)


def count_stale(jobs: Plan, rows: Sequence[Row]) -> int:
    """Return how many rows of a plan were made with another adapter or lock than the one that is there now."""
    digests = {(spec.name, spec.version): spec.digest() for spec in jobs.frameworks}
    return sum(row.framework_digest != digests[row.framework, row.version] for row in rows)
