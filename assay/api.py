"""The whole flow on one screen: suite → tasks → jobs → predictions → scores. Stages are wired together here only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.compare import Comparison, Side, compare_sides
from assay.data.resolve import broken, resolve
from assay.data.task import Task
from assay.errors import ConfigError, DataError
from assay.frameworks.spec import FrameworkSpec, find_framework, find_frameworks
from assay.jobs.constraint import Constraint, read_constraint
from assay.jobs.job import DEFAULT_SEED, Job
from assay.jobs.plan import Plan, plan_jobs, with_earlier_digests
from assay.jobs.row import Row
from assay.metrics import check_metrics
from assay.results.judge import judge_attempt
from assay.runs.applicable import with_known_types
from assay.runs.executors.base import Executor
from assay.runs.executors.registry import make_executor
from assay.runs.loop import run_plan
from assay.runs.machine import check_possible
from assay.runs.place import Place
from assay.runs.run import Event, Run, RunOptions
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.select import Selection, preselect, select
from assay.suites.suite import Suite, find_suite

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_plan",
    "compare",
    "count_stale",
    "find_frameworks",
    "find_pair",
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
    csv: Mapping[str, Any] | None = None,
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
    chosen, wanted = settings or Settings.from_environment(), selection or Selection()
    requests = preselect(suite.tasks, wanted.names)  # what is not wanted by name is not even read
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
    found = list(select(tasks, wanted))
    if not found:
        raise ConfigError(f"No task of suite {suite.name} fits what was asked for. See `assay suite show`.")
    return found


def plan(
    suite: Suite | str | Path,
    frameworks: str | Sequence[str] | Sequence[FrameworkSpec],
    constraint: str | Constraint | None = None,
    *,
    tasks: Sequence[Task] | Sequence[str] | None = None,
    folds: Collection[int] | None = None,
    seed: int = DEFAULT_SEED,
    metrics: Sequence[str] = (),
    params: Mapping[str, Mapping[str, Any]] | None = None,
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
    known = suite if isinstance(suite, Suite) else load_suite(suite, settings=chosen)
    own = [one for one in tasks or () if isinstance(one, Task)]
    if not own:
        own = load_tasks(known, chosen, Selection(names=tuple(str(name) for name in tasks or ())))
    if metrics:
        own = [replace(task, metrics=_metrics_for(task, metrics)) for task in own]
    limit = constraint if isinstance(constraint, Constraint) else _constraint(constraint, known)
    specs = [with_known_types(spec, chosen) for spec in _frameworks(frameworks, params)]
    return plan_jobs(own, specs, limit, folds, seed)


def _metrics_for(task: Task, metrics: Sequence[str]) -> tuple[str, ...]:
    if not task.problem:
        check_metrics(metrics, task.type, f"for task {task.name}")
    return tuple(metrics)


def _constraint(text: str | None, suite: Suite) -> Constraint:
    wanted = text or suite.constraint
    if wanted is None:
        raise ConfigError(f"Suite {suite.name} has no constraint of its own: name one, for example 10m2c.")
    return read_constraint(wanted, suite.constraints, f"suite {suite.name}")


def _frameworks(
    named: str | Sequence[str] | Sequence[FrameworkSpec], params: Mapping[str, Mapping[str, Any]] | None
) -> list[FrameworkSpec]:
    if isinstance(named, str):
        return find_frameworks(named, params)
    words = ",".join(str(one) for one in named if not isinstance(one, FrameworkSpec))
    specs = [one for one in named if isinstance(one, FrameworkSpec)]
    return [*specs, *find_frameworks(words, params)] if words or not specs else specs


def run(
    jobs: Plan,
    store: Store,
    executor: Executor | None = None,
    options: RunOptions | None = None,
    *,
    settings: Settings | None = None,
    tell: Callable[[Event], None] = lambda event: None,
) -> None:
    """Run what is missing of a plan; the same call again continues where this one stopped.

    Args:
        jobs: the plan.
        store: where attempts and rows are kept.
        executor: where jobs run; this machine if left out.
        options: which finished jobs run again, and what else may be asked of a run.
        settings: folders and switches; from the environment if left out.
        tell: called when a job starts and when it has its row.
    """
    jobs, where, chosen = match_store(jobs, store), executor or make_executor(), options or RunOptions()
    check_plan(jobs, where.place, chosen)
    run_plan(
        Run(
            plan=jobs,
            store=store,
            executor=where,
            judge=lambda job, folder: judge_attempt(store.folder, job, folder, own_metrics=True),
            settings=settings or Settings.from_environment(),
            options=chosen,
            tell=tell,
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


def find_pair(a: str, b: str, params: Mapping[str, Mapping[str, Any]] | None = None) -> list[FrameworkSpec]:
    """Return the frameworks to plan for a comparison: A, B, and the constant predictor where it is neither."""
    for name, word in (("A", a), ("B", b)):
        if "," in word:
            raise ConfigError(f"{name} is '{word}', which names several frameworks. Give one.")
    first, second, constant = find_framework(a), find_framework(b), find_framework("constant")
    if _identity(first) == _identity(second):
        _refuse_twin(a, b, first, second)
    known = _identity(constant) in (_identity(first), _identity(second))
    return find_frameworks(f"{a},{b}" if known else f"{a},{b},constant", params)


def _identity(spec: FrameworkSpec) -> tuple[str, str]:
    return spec.name, spec.version


def _refuse_twin(a: str, b: str, first: FrameworkSpec, second: FrameworkSpec) -> None:
    what = f"A '{a}' and B '{b}' are both {first.name} {first.version}"
    if first.folder.resolve() == second.folder.resolve():
        raise ConfigError(
            f"{what}: there is nothing to compare. Name two versions, as in flaml:2.6.0 flaml:2.7.0, two "
            "folders or two frameworks."
        )
    raise ConfigError(
        f"{what}, so their results could not be told apart. Give one of them another 'version' in its framework.toml."
    )


def compare(
    jobs: Plan, store: Store, a: str | FrameworkSpec, b: str | FrameworkSpec, *, confidence: float = 0.95
) -> Comparison:
    """Say how far framework B is ahead of A on the jobs of a plan, with an interval; run them first.

    The plan has `constant` too, because differences are measured in gaps: from the constant predictor to the better
    of the two. `a` and `b` are words as in the plan, or its specs where only parameters differ.
    """
    from assay.results.scores import long_rows

    jobs = match_store(jobs, store)
    specs = [_planned(jobs, one) for one in (a, b, "constant")]
    if specs[0] == specs[1]:
        raise ConfigError(
            f"A and B are both {specs[0].name} {specs[0].version}: there is nothing to compare. Name two."
        )
    planned = {job.key: job for job in jobs.jobs}
    rows = [row for row in store.rows() if row.key in planned]
    with_params = _identity(specs[0]) == _identity(specs[1])
    sides = [
        Side(
            f"{spec.name} {spec.version}{f' {dict(spec.params)}' if with_params else ''}",
            long_rows(row for row in rows if _is_of(planned[row.key], spec)),
        )
        for spec in specs
    ]
    ratios = {
        (task.name, task.id): sum(fold.n_test / fold.n_train for fold in task.folds) / len(task.folds)
        for task in jobs.tasks
        if not task.problem
    }
    found = compare_sides(sides[0], sides[1], sides[2], ratios, confidence)
    return replace(found, warnings=(*found.warnings, *_plan_warnings(jobs, specs, rows)))


def _planned(jobs: Plan, framework: str | FrameworkSpec) -> FrameworkSpec:
    """Return the plan's framework that is meant."""
    meant = find_framework(framework) if isinstance(framework, str) else framework
    same = [spec for spec in jobs.frameworks if _identity(spec) == _identity(meant)]
    found = same if isinstance(framework, str) else [spec for spec in same if spec.params == meant.params]
    if not found:
        raise ConfigError(
            f"{meant.name} {meant.version} is not in the plan. Plan A, B and constant together, then run and compare."
        )
    return found[0]


def _is_of(job: Job, spec: FrameworkSpec) -> bool:
    return (job.framework, job.version, job.params) == (spec.name, spec.version, spec.params)


def _plan_warnings(jobs: Plan, specs: Sequence[FrameworkSpec], rows: Sequence[Row]) -> list[str]:
    out = [
        f"{name} does not do tasks of the type of {task}: left out."
        for name, task in dict.fromkeys(jobs.unsuited)
        if name in {spec.name for spec in specs}
    ]
    if stale := count_stale(jobs, rows):
        out.append(
            f"{stale} row(s) were made with another adapter or lock: run them again with --rerun-stale."
        )
    return out


def count_stale(jobs: Plan, rows: Sequence[Row]) -> int:
    """Return how many rows of a plan were made with another adapter or lock than the one that is there now."""
    digests = {_identity(spec): spec.digest() for spec in jobs.frameworks}
    return sum(row.framework_digest != digests[row.framework, row.version] for row in rows)
