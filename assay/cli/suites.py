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
    own = typer.Typer(help="List and show suites of tasks.", no_args_is_help=True)
    own.command("list")(list_)
    own.command("show")(show)
    app.add_typer(own, name="suite")
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

    found = [find_suite(name, Settings.from_environment()) for name in list_suites()]
    if json:
        print_json([{"name": s.name, "version": s.version, "tasks": len(s.tasks)} for s in found])
        return
    rows = [[s.name, s.version, len(s.tasks), s.description.split("\n")[0]] for s in found]
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

    known = tasks.load_suite(suite)
    loaded = load_tasks(known, selection=tasks.selection())
    if json:
        print_json({"name": known.name, "version": known.version, "tasks": [t.to_json() for t in loaded]})
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
    print_table(f"{known.name} {known.version}: {known.description}".strip(": "), columns, rows)
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

    for found in load_tasks(load_suite(task, target, csv=parse_csv_words(csv))):
        if json:
            print_json(found.to_json())
            continue
        say(
            f"{found.name} ({found.id}), {found.type}, target {found.target}, metrics {', '.join(found.metrics)}"
        )
        rows = [[c.name, c.kind, c.role, ", ".join(c.categories[:6]) + (" …" if len(c.categories) > 6 else "")]
                for c in found.columns]  # fmt: skip
        print_table("", ["column", "kind", "role", "categories"], rows)
        say(f"classes: {', '.join(found.classes) or '–'}")
        say("folds: " + ", ".join(f"{f.repeat}.{f.fold} ({f.n_train}+{f.n_test})" for f in found.folds))
        say("facts: " + ", ".join(f"{name} {number(value)}" for name, value in found.facts.items()))
        say(f"data {found.data_digest[:16]} · split {found.split_digest[:16]} · task {found.digest[:16]}")
        for note in found.notes:
            say(note)
        say(f"origin: {found.origin or '–'} · licence: {found.licence or '–'}")
