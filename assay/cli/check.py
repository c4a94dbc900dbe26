"""`assay framework check`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, Tier
from assay.cli.output import number, print_json, print_table, say, seconds, short
from assay.cli.progress import tell_install
from assay.cli.run_options import check_tier

if TYPE_CHECKING:
    from assay.runs.run import Event
    from assay.testing import Check, Promise, TaskCheck

__all__ = ["check"]

WIDTH = 300
LOG_LINES, LOG_WIDTH = 6, 160


def check(
    name: Annotated[list[str], typer.Argument(help="Names, name:version, folders, or file.py:Class.")],
    constraint: Annotated[str, typer.Option(help="Constraint for each job.")] = "30s1c",
    task: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Only these of the five tasks.")
    ] = None,
    tier: Tier = "auto",
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the tables, logs and stores in a new folder, DIR/NAME-VERSION."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check frameworks on five small tasks that contain what usually breaks integrations.

    A claim that must hold and does not is a FAIL, and the exit code 1; one that only should hold is a note.

    \b
    Examples:
      assay framework check random_forest
      assay framework check ./my_framework --keep looks
      assay framework check flaml gama --constraint 1m1c --json > checks.json
    """
    from assay.frameworks.find import find_frameworks
    from assay.testing import check_framework
    from assay.testing.tasks import choose_tasks

    check_tier(tier)
    choose_tasks(task or ())
    checks = []
    for spec in find_frameworks(",".join(name)):
        folder = keep and keep / f"{spec.name}-{spec.version}"
        checked = check_framework(
            spec, constraint=constraint, tier=tier, tasks=task or (), keep=folder, tell=_tell
        )
        checks.append(checked)
        if not json:
            _show(checked)
    if json:
        print_json([checked.to_json() for checked in checks])
    raise typer.Exit(0 if all(checked.ok for checked in checks) else 1)


def _tell(event: Event) -> None:
    if event.kind == "install":
        tell_install(f"{event.job.framework} {event.job.version}", event.text)
    if event.row is not None and event.job.framework != "constant":
        job, row = event.job, event.row
        line = f"{job.framework} on {job.task}: {row.status}, fit {seconds(row.fit_s)}"
        say(line, file=sys.stderr, flush=True)


def _show(checked: Check) -> None:
    columns = ["task", "type", "packs", "status", "metric", ">score", ">constant", ">fit"]
    print_table(
        f"{checked.framework} {checked.version} with {checked.constraint}",
        columns,
        [_line(task) for task in checked.tasks],
    )
    say()
    for claim in checked.claims:
        say(_sentence(claim))
    for task in checked.tasks:
        if task.log:
            say(f"\nThe log of {task.task} ends:")
            say("\n".join(f"  {short(line, LOG_WIDTH)}" for line in task.log[-LOG_LINES:]))
            say(_next_step(checked, task))
    broken = sum(claim.is_broken for claim in checked.claims)
    say(
        f"\n{checked.framework} {checked.version} {f'breaks {broken} claim(s)' if broken else 'keeps the contract'}.\n"
    )


def _line(task: TaskCheck) -> list[str]:
    return [
        task.task,
        task.type,
        "; ".join(task.packs),
        task.status,
        task.metric,
        number(task.score),
        number(task.constant_score),
        seconds(task.fit_s),
    ]


def _sentence(claim: Promise) -> str:
    word = "ok  " if not claim.problem else "FAIL" if claim.is_broken else "note"
    return f"{word} {claim.claim}" + (f": {short(claim.problem, WIDTH)}" if claim.problem else "")


def _next_step(checked: Check, task: TaskCheck) -> str:
    if checked.store:
        return f"Look closer: assay explain {task.key[:10]} --store {checked.store}"
    return (
        "Look closer: check it again with --keep DIR; then assay explain and assay job shell reach this job."
    )
