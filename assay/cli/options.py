"""Options that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.output import say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.data.task import Task
    from assay.suites.select import Selection

__all__ = [
    "Constraint",
    "Csv",
    "Folds",
    "Json",
    "MaxCategorical",
    "MaxClasses",
    "MaxRows",
    "Metrics",
    "MinCategorical",
    "MinClasses",
    "MinRows",
    "Missing",
    "NoInstall",
    "Offline",
    "On",
    "Oversubscribe",
    "Parallel",
    "RerunStale",
    "ResultStore",
    "RetryFailed",
    "Seed",
    "Set",
    "StoreOption",
    "SuiteName",
    "Target",
    "Tasks",
    "Tier",
    "Types",
    "make_selection",
    "parse_csv_words",
    "parse_settings",
    "tell_notes",
]

# Which tasks of a suite: the same words for `run` and `suite show`.
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Only these tasks (name or glob).")]
Types = Annotated[
    list[str] | None, typer.Option("--type", help="Only binary, multiclass or regression tasks.")
]
MinRows = Annotated[int | None, typer.Option(help="Only tasks with at least so many rows.")]
MaxRows = Annotated[int | None, typer.Option(help="Only tasks with at most so many rows.")]
MinClasses = Annotated[int | None, typer.Option(help="Only tasks with at least so many classes.")]
MaxClasses = Annotated[int | None, typer.Option(help="Only tasks with at most so many classes.")]
Missing = Annotated[
    bool | None, typer.Option("--missing/--no-missing", help="With or without missing values.")
]
MinCategorical = Annotated[float | None, typer.Option(help="Least share of categorical features, 0 to 1.")]
MaxCategorical = Annotated[float | None, typer.Option(help="Highest share of categorical features, 0 to 1.")]

# What is run, and how: the same words for `run` and `compare`.
SuiteName = Annotated[
    str, typer.Argument(help="A name, a YAML file, openml/s/ID, openml/t/ID, or a data file.")
]
Constraint = Annotated[
    str | None, typer.Argument(help="1h8c, 10m4c16g, 1h8c1gpu, or a name; default: the suite's.")
]
Target = Annotated[str | None, typer.Option(help="The target column, where SUITE is a data file.")]
Csv = Annotated[
    list[str] | None,
    typer.Option(
        "--csv",
        metavar="KEY=VALUE",
        help="How the CSV file is written, where that is unclear: decimal=comma, dates=dmy, header=no, …",
    ),
]
Folds = Annotated[list[int] | None, typer.Option("--fold", "-f", help="Only these folds.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", help="Instead of the tasks' own; the first is optimised."),
]
Parallel = Annotated[int | None, typer.Option("--parallel", "-p", help="At most so many jobs at a time.")]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="NAME",
        help="Executor that runs the jobs: local, the name of a plug-in, or file.py:Class.",
    ),
]
ResultStore = Annotated[Path, typer.Option(metavar="DIR", help="Where results are kept.")]
Seed = Annotated[int, typer.Option(help="The run's seed; each job's follows from it, its task and its fold.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="framework.key=value")]
Oversubscribe = Annotated[
    bool,
    typer.Option("--oversubscribe", help="Run a constraint the machine cannot give, with what is here."),
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run failed jobs again.")]
RerunStale = Annotated[
    bool, typer.Option("--rerun-stale", help="Run jobs again whose adapter or lock has changed.")
]
NoInstall = Annotated[
    bool, typer.Option("--no-install", help="Build no environments: what is not installed is a setup row.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Use no network at all.")]

StoreOption = Annotated[Path, typer.Option("--store", metavar="DIR", help="The store.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Tier = Annotated[
    str,
    typer.Option(
        "--tier",
        metavar="TIER",
        help="Enforcement: auto (the best this machine has), strict, landlock, plain.",
    ),
]


Bounds = tuple[float | None, float | None]
TYPES = ("binary", "multiclass", "regression")


def make_selection(
    names: list[str] | None,
    types: list[str] | None,
    rows: Bounds = (None, None),
    classes: Bounds = (None, None),
    missing: bool | None = None,
    categorical: Bounds = (None, None),
) -> Selection:
    """Return what the options above say of the tasks wanted."""
    from assay.suites.select import Selection

    for one in types or ():
        if one not in TYPES:
            raise ConfigError(f"--type {one}: choose one of {', '.join(TYPES)}.")
    return Selection(
        names=tuple(names or ()), types=tuple(types or ()), min_rows=rows[0], max_rows=rows[1],  # type: ignore[arg-type]
        min_classes=classes[0], max_classes=classes[1], missing=missing,
        min_categorical_share=categorical[0], max_categorical_share=categorical[1],
    )  # fmt: skip


def parse_settings(words: list[str]) -> dict[str, dict[str, Any]]:
    """Read `framework.key=value` words; values are JSON where they can be, text otherwise."""
    out: dict[str, dict[str, Any]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        framework, dot, key = name.partition(".")
        if not (equals and dot and framework and key):
            raise ConfigError(
                f"--set {word}: write framework.key=value, for example random_forest.n_estimators=100."
            )
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        except RecursionError:
            raise ConfigError(f"--set {name}: the value is nested too deeply.") from None
        out.setdefault(framework, {})[key] = value
    return out


def parse_csv_words(words: list[str] | None) -> dict[str, str]:
    """Return the options of `--csv KEY=VALUE`, each given once."""
    options: dict[str, str] = {}
    for word in words or []:
        key, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(f"--csv {word}: write KEY=VALUE, for example --csv decimal=comma.")
        if key in options:
            raise ConfigError(f"--csv {key} is given twice. Give it once.")
        options[key] = value
    return options


def tell_notes(tasks: Iterable[Task]) -> None:
    """Say how files were read, where that is not the usual way; on stderr, so that output stays what it is."""
    for task in tasks:
        for note in task.notes:
            say(note, file=sys.stderr)
