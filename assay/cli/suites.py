"""`assay suite list|show` and `assay task show`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.groups import grouped
from assay.cli.options import Csv, Json, Target, parse_csv_words, tell_notes
from assay.cli.output import number, print_json, print_table, say, short
from assay.cli.run_options import TaskFilter

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    suites = typer.Typer(help="List and show suites of tasks.", no_args_is_help=True)
    suites.command("list")(list_)
    suites.command("show")(show)
    app.add_typer(suites, name="suite")
    tasks = typer.Typer(help="Show one task.", no_args_is_help=True)
    tasks.command("show")(show_task)
    app.add_typer(tasks, name="task")


def list_(json: Json = False) -> None:
    """List the available suites.

    \b
    Example:
      assay suite list
    """
    from assay.settings import Settings
    from assay.suites.find import find_suite, list_suites

    suites = [find_suite(name, Settings.from_environment()) for name in list_suites()]
    if json:
        print_json([{"name": s.name, "version": s.version, "tasks": len(s.tasks)} for s in suites])
        return
    rows = [[s.name, s.version, len(s.tasks), s.description.split("\n")[0]] for s in suites]
    print_table("", ["suite", "version", ">tasks", "description"], rows)
    say("Also: a YAML file, openml/s/ID, openml/t/ID, or a data file with --target.")


@grouped
def show(
    suite: Annotated[str, typer.Argument(help="A name, a YAML file, openml/s/ID, or a data file.")],
    *,
    tasks: TaskFilter,
    json: Json = False,
) -> None:
    """Show the tasks of a suite with their properties, filtered by name, type and size.

    \b
    Examples:
      assay suite show bundled
      assay suite show my.yaml --type binary --max-rows 10000
    """
    from assay.api import load_tasks

    loaded_suite = tasks.load_suite(suite)
    loaded = load_tasks(loaded_suite, selection=tasks.selection())
    if json:
        print_json(
            {
                "name": loaded_suite.name,
                "version": loaded_suite.version,
                "tasks": [t.to_json() for t in loaded],
            }
        )
        return
    rows = [
        [
            t.name, t.type, *(number(t.facts.get(f)) for f in ("n_rows", "n_features", "n_classes", "n_missing")),
            number(t.facts.get("categorical_share"), 2), len(t.folds), t.metrics[0], short(t.problem),
        ]
        for t in loaded
    ]  # fmt: skip
    columns = [
        "task",
        "type",
        ">rows",
        ">features",
        ">classes",
        ">missing",
        ">categorical",
        ">folds",
        "metric",
        "problem",
    ]
    print_table(
        f"{loaded_suite.name} {loaded_suite.version}: {loaded_suite.description}".strip(": "), columns, rows
    )
    tell_notes(loaded)


def show_task(
    task: Annotated[str, typer.Argument(help="Task, such as bundled/iris, openml/t/31 or a data file.")],
    target: Target = None,
    csv: Csv = None,
    json: Json = False,
) -> None:
    """Show one task: columns with types, classes, folds, facts and digests.

    \b
    Examples:
      assay task show bundled/iris
      assay task show my.csv --target y
    """
    from assay.api import load_suite, load_tasks

    for loaded_task in load_tasks(load_suite(task, target, csv=parse_csv_words(csv))):
        if json:
            print_json(loaded_task.to_json())
            continue
        say(
            f"{loaded_task.name} ({loaded_task.id}), {loaded_task.type}, target {loaded_task.target}, "
            f"metrics {', '.join(loaded_task.metrics)}"
        )
        rows = [[c.name, c.kind, c.role, ", ".join(c.categories[:6]) + (" …" if len(c.categories) > 6 else "")]
                for c in loaded_task.columns]  # fmt: skip
        print_table("", ["column", "kind", "role", "categories"], rows)
        say(f"classes: {', '.join(loaded_task.classes) or '–'}")
        say("folds: " + ", ".join(f"{f.repeat}.{f.fold} ({f.n_train}+{f.n_test})" for f in loaded_task.folds))
        say("facts: " + ", ".join(f"{name} {number(value)}" for name, value in loaded_task.facts.items()))
        say(
            f"data {loaded_task.data_digest[:16]} · split {loaded_task.split_digest[:16]} · "
            f"task {loaded_task.digest[:16]}"
        )
        for note in loaded_task.notes:
            say(note)
        say(f"origin: {loaded_task.origin or '–'} · licence: {loaded_task.licence or '–'}")
