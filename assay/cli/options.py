"""Options that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.output import say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.data.task import Task

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
    "Timing",
    "Types",
    "parse_csv_words",
    "parse_settings",
    "tell_notes",
]

NESTED_TOO_DEEPLY = 1000  # brackets; below that the value itself is checked

# Which tasks of a suite: the same words for `run` and `suite show`.
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Only these tasks (name or glob).")]
Types = Annotated[
    list[str] | None, typer.Option("--type", help="Only binary, multiclass or regression tasks.")
]
MinRows = Annotated[int | None, typer.Option(help="Only tasks with at least N rows.")]
MaxRows = Annotated[int | None, typer.Option(help="Only tasks with at most N rows.")]
MinClasses = Annotated[int | None, typer.Option(help="Only tasks with at least N classes.")]
MaxClasses = Annotated[int | None, typer.Option(help="Only tasks with at most N classes.")]
Missing = Annotated[
    bool | None, typer.Option("--missing/--no-missing", help="Only tasks with (or without) missing values.")
]
MinCategorical = Annotated[float | None, typer.Option(help="Minimum share of categorical features, 0 to 1.")]
MaxCategorical = Annotated[float | None, typer.Option(help="Maximum share of categorical features, 0 to 1.")]

# What is run, and how: the same words for `run` and `compare`.
SuiteName = Annotated[
    str, typer.Argument(help="A name, a YAML file, openml/s/ID, openml/t/ID, or a data file.")
]
Constraint = Annotated[
    str | None,
    typer.Argument(help="Resources per job (1h8c, 10m4c16g, 1h8c1gpu) or a name."),
]
Target = Annotated[str | None, typer.Option(help="Target column, for a data file.")]
Csv = Annotated[
    list[str] | None,
    typer.Option(
        "--csv",
        metavar="KEY=VALUE",
        help="How to read an ambiguous CSV file: decimal=comma, dates=dmy, header=no, …",
    ),
]
Folds = Annotated[list[int] | None, typer.Option("--fold", "-f", help="Only these folds.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", help="Metrics instead of the tasks' own; the first one is optimised."),
]
Parallel = Annotated[int | None, typer.Option("--parallel", "-p", help="Maximum number of parallel jobs.")]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="NAME",
        help="Executor that runs the jobs: local, the name of a plug-in, or file.py:Class.",
    ),
]
ResultStore = Annotated[Path, typer.Option(metavar="DIR", help="Folder in which results are kept.")]
Seed = Annotated[int, typer.Option(help="Seed of the run, from which the seeds of the jobs are derived.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="Parameter of a framework: framework.key=value.")
]
Oversubscribe = Annotated[
    bool,
    typer.Option(
        "--oversubscribe", help="Run even if the machine has fewer resources than the constraint asks for."
    ),
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Rerun failed jobs.")]
RerunStale = Annotated[
    bool, typer.Option("--rerun-stale", help="Rerun jobs whose adapter or lock file has changed.")
]
Timing = Annotated[
    str | None,
    typer.Option(
        "--timing",
        metavar="TIME",
        help="How long to time the inference of a job: 10s, or off. By default a tenth of the budget, at least 2s.",
    ),
]
Start = Annotated[
    str,
    typer.Option(
        "--start",
        metavar="START",
        help="How jobs start: auto (forked from a process that has imported the framework, where possible) or cold.",
    ),
]
NoInstall = Annotated[
    bool,
    typer.Option(
        "--no-install",
        help="Do not build environments; missing ones end as setup.",
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Do not use the network.")]

StoreOption = Annotated[Path, typer.Option("--store", metavar="DIR", help="Folder of the store.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Tier = Annotated[
    str,
    typer.Option(
        "--tier",
        metavar="TIER",
        help="How limits are enforced: auto (the best available), strict, landlock or plain.",
    ),
]


def parse_settings(words: list[str]) -> dict[str, dict[str, object]]:
    """Read `framework.key=value` words; values are JSON where they can be, text otherwise."""
    out: dict[str, dict[str, object]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        framework, dot, key = name.partition(".")
        if not (equals and dot and framework and key):
            raise ConfigError(
                f"--set {word}: write framework.key=value, for example random_forest.n_estimators=100."
            )
        if text.startswith("[" * NESTED_TOO_DEEPLY):  # how deep json goes depends on the version of Python
            raise ConfigError(f"--set {name}: the value is nested too deeply.")
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
