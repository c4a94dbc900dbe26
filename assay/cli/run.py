"""`assay run` and `assay demo`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.options import Constraint, Json, SuiteName, Tier, tell_notes
from assay.cli.output import STORE, print_json, print_table, say, seconds
from assay.cli.progress import RunProgress
from assay.cli.run_options import RunFlags, TaskFilter, check_tier
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.jobs.plan import Plan
    from assay.jobs.row import Row
    from assay.runs.executors.base import Executor
    from assay.runs.run import RunOptions
    from assay.settings import Settings
    from assay.store.store import Store
    from assay.suites.suite import Suite

__all__ = ["register", "run_with_progress", "store_words"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run)
    app.command("demo")(demo)


@grouped
def run(
    frameworks: Annotated[
        str,
        typer.Argument(
            help="Frameworks, separated by commas: names, name:version, folders or file.py:Class."
        ),
    ],
    suite: SuiteName,
    constraint: Constraint = None,
    *,
    tasks: TaskFilter,
    flags: RunFlags,
    constraints: Annotated[Path | None, typer.Option(help="YAML file with named constraints.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its cost, and run nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Run frameworks on a suite under a constraint. Run the same command again to continue.

    \b
    Examples:
      assay run constant,random_forest bundled 1m1c
      assay run mymodel.py:MyEstimator my.csv 1m2c --target y
      assay run flaml,h2o,tuned_random_forest bundled 10m2c
      assay run random_forest bundled 10m2c --task iris --fold 0 --dry-run
    """
    from assay import api
    from assay.store.store import Store

    check_tier(flags.tier)
    selection, settings = tasks.selection(), flags.settings()
    loaded_suite = _with_constraints(tasks.load_suite(suite, settings), constraints)
    loaded = api.load_tasks(loaded_suite, settings, selection)
    tell_notes(loaded)
    jobs = api.plan(
        loaded_suite,
        api.find_frameworks(frameworks, flags.params()),
        constraint,
        tasks=loaded,
        folds=flags.fold,
        seed=flags.seed,
        metrics=flags.metric or [],
        settings=settings,
    )
    executor, options = flags.executor(), flags.options()
    api.check_plan(jobs, executor.place, options)  # before a store is made for nothing
    if dry_run:
        _show_plan(jobs, flags.store, executor, options, json)
        return
    opened = Store(flags.store)
    jobs = api.match_store(jobs, opened)
    run_with_progress(jobs, opened, executor, options, settings, quiet=json)
    raise typer.Exit(1 if _show_results(jobs, opened, json) else 0)


def run_with_progress(
    jobs: Plan, store: Store, executor: Executor, options: RunOptions, settings: Settings, quiet: bool
) -> None:
    """Run what is missing of a plan and show how far it is; Ctrl-C says how to go on, and ends with 130."""
    from assay import api

    done = {key for key, state in store.states().items() if state.state == "done"}
    again = options.retry_failed or options.rerun_stale  # then what is done may run once more
    finished = set() if again else {job.key for job in jobs.jobs} & done
    with RunProgress(jobs, finished, quiet=quiet) as progress:
        try:
            api.run(jobs, store, executor, options, settings=settings, tell=progress.tell)
        except KeyboardInterrupt:
            progress.close()
            say("Stopped. Finished jobs are kept; go on with the same command:", file=sys.stderr)
            say(f"  assay {shlex.join(sys.argv[1:])}", file=sys.stderr)
            raise typer.Exit(130) from None


def _with_constraints(suite: Suite, constraints: Path | None) -> Suite:
    """Add the constraints of a file of their own to the named ones of a suite."""
    from dataclasses import replace

    from assay.suites.yaml_file import load_yaml

    if constraints is None:
        return suite
    named = load_yaml(constraints)
    if not isinstance(named, dict):
        raise ConfigError(
            f"{constraints} must map names to constraints, such as `quick: {{time: 10m, cores: 2}}`."
        )
    return replace(suite, constraints={**suite.constraints, **named})


def _show_plan(jobs: Plan, store: Path, executor: Executor, options: RunOptions, json: bool) -> None:
    from assay.api import match_store
    from assay.jobs.plan import cost
    from assay.runs.run import missing_jobs
    from assay.store.store import Store

    states = {}
    if (store / "assay-store.json").exists():
        opened = Store(store, create=False)
        jobs, states = match_store(jobs, opened), opened.states()
    digests = {(spec.name, spec.version): spec.digest() for spec in jobs.frameworks}
    missing = missing_jobs(jobs.jobs, states, digests, options)
    place = executor.place
    takes = cost(missing, min(executor.workers, place.count(place.share(jobs.constraint))))
    if json:
        listed = [
            {"key": j.key, "framework": j.framework, "task": j.task, "repeat": j.repeat, "fold": j.fold}
            for j in missing
        ]
        unsuited = [{"framework": framework, "task": task} for framework, task in jobs.unsuited]
        done = len(jobs.jobs) - len(missing)
        print_json({**takes.__dict__, "jobs": listed, "done": done, "not_applicable": unsuited})
        return
    counted: dict[tuple[str, str], int] = {}
    for job in missing:
        counted[job.framework, job.task] = counted.get((job.framework, job.task), 0) + 1
    names = list(dict.fromkeys(job.framework for job in jobs.jobs))
    rows = [[t.name, t.type, *(counted.get((n, t.name), 0) for n in names)] for t in jobs.tasks]
    print_table(
        f"Jobs to run under {jobs.constraint.name}", ["task", "type", *(f">{n}" for n in names)], rows
    )
    for line in _not_applicable(jobs, "not planned"):
        say(line)
    say(f"{takes.jobs} jobs to run, {len(jobs.jobs) - len(missing)} done already.")
    say(
        f"If every job uses its time: {seconds(takes.budget_h * 3600)} of jobs, {seconds(takes.wall_h * 3600)} on the "
        f"clock with {takes.parallel} at a time. If every limit is reached: {seconds(takes.worst_h * 3600)} of jobs."
    )


def _show_results(jobs: Plan, store: Store, json: bool) -> bool:
    """Print what came out and return whether a job or a metric failed."""
    from assay.cli.leaderboard import show_leaderboard
    from assay.cli.missing import tell_missing
    from assay.results.scores import long_rows

    planned = {job.key for job in jobs.jobs}
    rows = [row for row in store.rows() if row.key in planned]
    failed = [row for row in rows if row.status != "ok"]
    if json:
        print_json([row.to_json() for row in rows])
        for line in _not_applicable(jobs, "not run"):  # there is no row that could say so
            say(line, file=sys.stderr)
    else:
        show_leaderboard(rows)
        _hints(rows, failed, jobs, store)
    return tell_missing(long_rows(rows)) or bool(failed)


def _not_applicable(jobs: Plan, done: str) -> list[str]:
    """Return a line for each framework and task that it cannot do by its type."""
    types = {task.name: task.type for task in jobs.tasks}
    return [
        f"{framework} is not applicable to {name} ({types[name]}): {done}."
        for framework, name in dict.fromkeys(jobs.unsuited)
    ]


def _hints(rows: list[Row], failed: list[Row], jobs: Plan, store: Store) -> None:
    from assay.api import count_stale

    where = store_words(store)
    stale = count_stale(jobs, rows)
    for task in jobs.tasks:
        if task.known_as:
            say(
                f"This store knows {task.name} from before the labels of Parquet files kept their declared order. Rows "
                "made then were made with sorted labels; use another store to run all of them again."
            )
    for line in _not_applicable(jobs, "not run"):
        say(line)
    if stale:
        say(f"{stale} row(s) were made with another adapter or lock: run them again with --rerun-stale.")
    if failed:
        say(f"{len(failed)} of {len(rows)} jobs failed. Why: assay explain {failed[0].key[:10]}{where}")
    say(
        f"Results are in {_relative(store.folder.root)}. Next: assay results{where}, assay leaderboard{where}"
    )


def store_words(store: Store) -> str:
    """Return what a command has to be told to use this store: nothing where it is the default."""
    return "" if store.folder.root == STORE.absolute() else f" --store {_relative(store.folder.root)}"


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def demo(
    store: Annotated[Path, typer.Option(metavar="DIR", help="Folder in which results are kept.")] = Path(
        "demo-results"
    ),
    tier: Tier = "auto",
) -> None:
    """Run a small real benchmark on the bundled suite: four learners, five tasks, three folds.

    \b
    Example:
      assay demo
    """
    run(
        frameworks="constant,decision_tree,linear,random_forest",
        suite="bundled",
        constraint="30s1c",
        fold=[0, 1, 2],
        store=store,
        tier=tier,
        set=["random_forest.n_estimators=200"],
    )
