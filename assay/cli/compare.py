"""`assay compare`: run two frameworks and the constant predictor, and say whether the second is worse."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.flags import with_flags
from assay.cli.groups import grouped
from assay.cli.options import Constraint, Json, SuiteName, tell_notes
from assay.cli.output import number, print_json, print_table, say
from assay.cli.run import run_with_progress, store_words
from assay.cli.run_options import RunFlags, TaskOptions, check_tier
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.analysis.compare import Comparison, TaskDifference
    from assay.jobs.plan import Plan

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


@grouped
def compare(
    a: Annotated[str, typer.Argument(help="Old framework: a name, name:version, a folder or file.py:Class.")],
    b: Annotated[str, typer.Argument(help="New framework.")],
    suite: SuiteName,
    constraint: Constraint = None,
    fail_if_worse: Annotated[
        float | None, typer.Option(metavar="X", help="Exit with code 1 if the whole interval lies below -X.")
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="X", help="Confidence level of the interval.")] = 0.95,
    *,
    tasks: TaskOptions,
    flags: RunFlags,
    json: Json = False,
) -> None:
    """Compare framework B with framework A. Missing jobs of A, B and `constant` are run first.

    Differences are in gaps, from the constant predictor to the better of the two. Failed jobs count as the constant
    predictor's score. Exit codes: 0, or 1 if B is worse by more than --fail-if-worse, or 2 if that cannot be judged.

    \b
    Examples:
      assay compare ./mine:1.4 ./mine:1.5 bundled 10m2c --fail-if-worse 0.01
      assay compare old/model.py:Model new/model.py:Model bundled 1m1c --task iris --task wine
    """
    from assay import api
    from assay.analysis.compare import check_confidence, check_margin
    from assay.store.store import Store

    check_tier(flags.tier)
    check_confidence(confidence)
    if fail_if_worse is not None:
        check_margin(fail_if_worse)
    settings, selection = flags.settings(), tasks.selection()
    loaded_suite = tasks.load_suite(suite, settings)
    specs = api.find_pair(a, b, flags.params())
    loaded = api.load_tasks(loaded_suite, settings, selection)
    tell_notes(loaded)
    jobs = api.plan(
        loaded_suite, specs, constraint, tasks=loaded, folds=flags.fold, seed=flags.seed,
        metrics=flags.metric or [], settings=settings,
    )  # fmt: skip
    jobs = _paired(jobs, fail_if_worse)
    executor, options = flags.executor(), flags.options()
    api.check_plan(jobs, executor.place, options)  # before a store is made for nothing
    opened = Store(flags.store)
    jobs = api.match_store(jobs, opened)
    run_with_progress(jobs, opened, executor, options, settings, quiet=json)
    comparison = api.compare(jobs, opened, specs[0], specs[1], confidence=confidence)
    warnings = tuple(with_flags(warning, ["rerun_stale"]) for warning in comparison.warnings)
    comparison = replace(comparison, warnings=warnings)
    _show(comparison, fail_if_worse, json)
    if not json and (comparison.imputed_a or comparison.imputed_b or comparison.left_out):
        say(f"Why jobs failed: assay results --failed{store_words(opened)}")
    if fail_if_worse is not None and comparison.is_worse(fail_if_worse):
        raise typer.Exit(1)


def _paired(jobs: Plan, fail_if_worse: float | None) -> Plan:
    """Return the jobs that can be compared; what one of the frameworks does not do, none has to run."""
    unsuited = {task for _, task in jobs.unsuited}
    paired = tuple(job for job in jobs.jobs if job.task not in unsuited)
    names = " and ".join(f"{spec.name} {spec.version}" for spec in jobs.frameworks[:2])
    if not paired:
        raise ConfigError(f"No task is of a type that both {names} do. Choose others.")
    if fail_if_worse is not None and len({(job.task_digest, job.repeat, job.fold) for job in paired}) == 1:
        raise ConfigError(
            f"--fail-if-worse {fail_if_worse:g} cannot be judged on one fold of one task, which has no interval. "
            "Ask for more folds or tasks."
        )
    return replace(jobs, jobs=paired)


def _show(comparison: Comparison, fail_if_worse: float | None, json: bool) -> None:
    verdict = None if fail_if_worse is None else _verdict(comparison, fail_if_worse)
    if json:
        judged = {"sentence": _sentence(comparison), "fail_if_worse": fail_if_worse, "verdict": verdict}
        print_json({**asdict(comparison), **judged})
        return
    columns = [
        "task", "metric", f">{comparison.a}", f">{comparison.b}", ">constant", ">gap", ">difference", ">folds",
        ">failed",
    ]  # fmt: skip
    print_table("", columns, [_line(task) for task in comparison.tasks])
    say(_sentence(comparison))
    if verdict is not None:
        say({
            "worse": f"It is worse by more than {fail_if_worse:g} of the gap: exit code 1.",
            "not worse": f"It is not worse by more than {fail_if_worse:g} of the gap.",
            "undecided": f"That it is worse by more than {fail_if_worse:g} of the gap is neither shown nor ruled out.",
        }[verdict])  # fmt: skip
    say("The gap of a task is the way from the constant predictor to the better of the two.")
    say(f"trust: {comparison.trust}")
    for warning in comparison.warnings:
        say(f"warning: {warning}")


def _verdict(comparison: Comparison, by: float) -> str:
    if comparison.lower is None or comparison.upper is None:
        return "undecided"
    return "worse" if comparison.is_worse(by) else "not worse" if comparison.lower >= -by else "undecided"


def _line(task: TaskDifference) -> list[str | int]:
    arrow = "↑" if task.higher_is_better else "↓"
    return [
        task.task, f"{task.metric}{arrow}", number(task.mean_a), number(task.mean_b), number(task.mean_constant),
        number(task.gap), "–" if task.difference is None else _gaps(task.difference), task.folds,
        f"{task.imputed_a}, {task.imputed_b}",
    ]  # fmt: skip


def _sentence(comparison: Comparison) -> str:
    """Return the result as one sentence, such as "b 2 scores 0.012 of the gap above b 1 (…): no clear difference."."""
    way = "above" if comparison.estimate >= 0 else "below"
    difference = f"{comparison.b} scores {_gaps(abs(comparison.estimate))} of the gap {way} {comparison.a}"
    counted = f"{_many(comparison.n_tasks, 'task')}, {_many(comparison.n_pairs, 'pair')}"
    if comparison.lower is None or comparison.upper is None:
        return f"{difference} ({counted}): there is no interval."
    between = (
        f"{100 * comparison.confidence:g} % interval {_gaps(comparison.lower)} to {_gaps(comparison.upper)}"
    )
    clear = (
        "clearly better"
        if comparison.lower > 0
        else "clearly worse"
        if comparison.upper < 0
        else "no clear difference"
    )
    return f"{difference} ({between}; {counted}): {clear}."


def _gaps(value: float) -> str:
    return number(round(value, 6) + 0.0, 3).replace("-", "−")  # + 0.0: no minus before a zero


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
