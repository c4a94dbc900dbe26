"""`assay run` and `assay demo`."""

from __future__ import annotations

import builtins
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import (
    Json,
    MaxCategorical,
    MaxClasses,
    MaxRows,
    MinCategorical,
    MinClasses,
    MinRows,
    Missing,
    Tasks,
    Tier,
    Types,
    make_selection,
    parse_settings,
)
from assay.cli.output import STORE, print_json, print_table, seconds
from assay.cli.progress import Progress
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.jobs.plan import Plan
    from assay.runs.executors.local import Local
    from assay.runs.run import RunOptions
    from assay.settings import Settings
    from assay.store.store import Store
    from assay.suites.suite import Suite

__all__ = ["register"]

TIERS = ("auto", "strict", "landlock", "plain")
Rows = list[dict[str, Any]]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run)
    app.command("demo")(demo)


def run(
    frameworks: Annotated[
        str, typer.Argument(help="Names, name:version, folders or file.py:Class; comma-separated.")
    ],
    suite: Annotated[
        str, typer.Argument(help="A name, a YAML file, openml/s/ID, openml/t/ID, or a data file.")
    ],
    constraint: Annotated[
        str | None, typer.Argument(help="1h8c, 10m4c16g, or a name; default: the suite's.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The target column, where SUITE is a data file.")] = None,
    task: Tasks = None,
    fold: Annotated[list[int] | None, typer.Option("--fold", "-f", help="Only these folds.")] = None,
    type: Types = None,
    min_rows: MinRows = None,
    max_rows: MaxRows = None,
    min_classes: MinClasses = None,
    max_classes: MaxClasses = None,
    missing: Missing = None,
    min_categorical: MinCategorical = None,
    max_categorical: MaxCategorical = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="Instead of the tasks' own; the first is optimised."),
    ] = None,
    parallel: Annotated[
        int | None, typer.Option("--parallel", "-p", help="At most so many jobs at a time.")
    ] = None,
    store: Annotated[Path, typer.Option(metavar="DIR", help="Where results are kept.")] = STORE,
    seed: Annotated[
        int, typer.Option(help="The run's seed; each job's follows from it, its task and its fold.")
    ] = 0,
    set: Annotated[list[str] | None, typer.Option("--set", help="framework.key=value")] = None,
    constraints: Annotated[Path | None, typer.Option(help="A YAML file with named constraints.")] = None,
    tier: Tier = "auto",
    oversubscribe: Annotated[
        bool,
        typer.Option("--oversubscribe", help="Run a constraint the machine cannot give, with what is here."),
    ] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed jobs again.")] = False,
    rerun_stale: Annotated[
        bool, typer.Option("--rerun-stale", help="Run jobs again whose adapter or lock has changed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and its cost; run nothing.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Use no network at all.")] = False,
    json: Json = False,
) -> None:
    """Run frameworks on a suite under a constraint. The same command again continues where it stopped.

    \b
    Examples:
      assay run constant,random_forest bundled 1m1c
      assay run mymodel.py:MyEstimator my.csv 1m2c --target y
      assay run random_forest bundled 10m2c --task iris --fold 0 --dry-run
    """
    from dataclasses import replace

    from assay import api
    from assay.runs.executors.local import Local
    from assay.runs.run import RunOptions
    from assay.settings import Settings
    from assay.store.store import Store

    if tier not in TIERS:
        raise ConfigError(f"--tier {tier}: choose one of {', '.join(TIERS)}.")
    wanted = make_selection(
        task,
        type,
        (min_rows, max_rows),
        (min_classes, max_classes),
        missing,
        (min_categorical, max_categorical),
    )
    settings = Settings.from_environment()
    settings = replace(settings, offline=True) if offline else settings
    known = _suite(suite, target, constraints, settings)
    tasks = api.load_tasks(known, settings, wanted)
    specs = api.find_frameworks(frameworks, parse_settings(set or []))
    jobs = api.plan(
        known, specs, constraint, tasks=tasks, folds=fold, seed=seed, metrics=metric or [], settings=settings
    )
    executor = Local(parallel)
    if not oversubscribe:
        api.check_plan(jobs)  # before a store is made for nothing
    if dry_run:
        _show_plan(jobs, store, executor, RunOptions(tier, oversubscribe, retry_failed, rerun_stale), json)
        return
    opened = Store(store)
    done = {key for key, state in opened.states().items() if state.state == "done"}
    again = retry_failed or rerun_stale  # then what is done may run once more
    with Progress(
        jobs, builtins.set() if again else {job.key for job in jobs.jobs} & done, quiet=json
    ) as progress:
        try:
            api.run(
                jobs, opened, executor, tier=tier, oversubscribe=oversubscribe, retry_failed=retry_failed,
                rerun_stale=rerun_stale, settings=settings, tell=progress.tell,
            )  # fmt: skip
        except KeyboardInterrupt:
            progress.close()
            print("Stopped. Finished jobs are kept; go on with the same command:", file=sys.stderr)
            print(f"  assay {shlex.join(sys.argv[1:])}", file=sys.stderr)
            raise typer.Exit(130) from None
    raise typer.Exit(1 if _show_results(jobs, opened, json) else 0)


def _suite(name: str, target: str | None, constraints: Path | None, settings: Settings) -> Suite:
    """Find the suite, and add the constraints of a file of their own to its named ones."""
    from dataclasses import replace

    from assay.api import load_suite
    from assay.suites.yaml_file import load_yaml

    known = load_suite(name, target, settings)
    if constraints is None:
        return known
    said = load_yaml(constraints)
    if not isinstance(said, dict):
        raise ConfigError(
            f"{constraints} must map names to constraints, such as `quick: {{time: 10m, cores: 2}}`."
        )
    return replace(known, constraints={**known.constraints, **said})


def _show_plan(jobs: Plan, store: Path, executor: Local, options: RunOptions, json: bool) -> None:
    from assay.jobs.plan import cost
    from assay.runs.machine import this_machine
    from assay.runs.run import missing_jobs
    from assay.store.store import Store

    states = Store(store, create=False).states() if (store / "assay-store.json").exists() else {}
    digests = {(spec.name, spec.version): spec.digest() for spec in jobs.frameworks}
    missing = missing_jobs(jobs, states, digests, options)
    fits = max(1, len(this_machine().cores) // max(1, jobs.constraint.cores))
    takes = cost(missing, min(executor.workers, fits))
    if json:
        listed = [
            {"key": j.key, "framework": j.framework, "task": j.task, "repeat": j.repeat, "fold": j.fold}
            for j in missing
        ]
        print_json({**takes.__dict__, "jobs": listed, "done": len(jobs.jobs) - len(missing)})
        return
    counted: dict[tuple[str, str], int] = {}
    for job in missing:
        counted[job.framework, job.task] = counted.get((job.framework, job.task), 0) + 1
    names = list(dict.fromkeys(job.framework for job in jobs.jobs))
    rows = [[t.name, t.type, *(counted.get((n, t.name), 0) for n in names)] for t in jobs.tasks]
    print_table(
        f"Jobs to run under {jobs.constraint.name}", ["task", "type", *(f">{n}" for n in names)], rows
    )
    for framework, name in jobs.unsuited:
        print(f"{framework} does not do tasks of the type of {name}: not planned.")
    print(f"{takes.jobs} jobs to run, {len(jobs.jobs) - len(missing)} done already.")
    print(
        f"If every job uses its time: {seconds(takes.budget_h * 3600)} of jobs, {seconds(takes.wall_h * 3600)} on the "
        f"clock with {takes.parallel} at a time. If every limit is reached: {seconds(takes.worst_h * 3600)} of jobs."
    )


def _show_results(jobs: Plan, store: Store, json: bool) -> int:
    """Print what came out and return how many jobs failed."""
    from assay.cli.results import show_leaderboard

    planned = {job.key for job in jobs.jobs}
    rows = [row for row in store.rows() if row["key"] in planned]
    failed = [row for row in rows if row["status"] != "ok"]
    if json:
        print_json(rows)
    else:
        show_leaderboard(rows)
        _hints(rows, failed, jobs, store)
    return len(failed)


def _hints(rows: Rows, failed: Rows, jobs: Plan, store: Store) -> None:
    where = "" if store.folder.root == STORE.absolute() else f" --store {_relative(store.folder.root)}"
    digests = {(spec.name, spec.version): spec.digest() for spec in jobs.frameworks}
    stale = sum(row["framework_digest"] != digests[row["framework"], row["version"]] for row in rows)
    for framework, name in jobs.unsuited:
        print(f"{framework} does not do tasks of the type of {name}: not run.")
    if stale:
        print(f"{stale} row(s) were made with another adapter or lock: run them again with --rerun-stale.")
    if failed:
        print(f"{len(failed)} of {len(rows)} jobs failed. Why: assay explain {failed[0]['key'][:10]}{where}")
    print(
        f"Results are in {_relative(store.folder.root)}. Next: assay results{where}, assay leaderboard{where}"
    )


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def demo(
    store: Annotated[Path, typer.Option(metavar="DIR", help="Where results are kept.")] = Path(
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
        "constant,decision_tree,linear,random_forest", "bundled", "30s1c", fold=[0, 1, 2], store=store, tier=tier,
        set=["random_forest.n_estimators=200"],
    )  # fmt: skip
