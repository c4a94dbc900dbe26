"""Options that every command on scores shares: where the scores are, and which of them to look at."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import Json
from assay.cli.output import STORE, open_store
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.api import Analysis

__all__ = ["Figure", "on_scores"]

Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a figure: SVG, PDF or PNG.")]
# What every analysis takes: where the scores are, and which of them to look at.
SHARED: dict[str, tuple[Any, Any]] = {
    "store": (Annotated[Path, typer.Option("--store", metavar="DIR", help="Folder of the store.")], STORE),
    "scores": (
        Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="A file of scores in place of a store: CSV or Parquet."),
        ],
        None,
    ),
    "covariates": (
        Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="A CSV file with properties of tasks, by task_id or task."),
        ],
        None,
    ),
    "type_": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--type", help="Only tasks of this type: binary, multiclass, regression, classification."
            ),
        ],
        None,
    ),
    "constraint": (Annotated[str, typer.Option(help="Only rows of this constraint.")], ""),
    "metric": (
        Annotated[str, typer.Option(help="Metric to compare by; default: the one that was optimised.")],
        "",
    ),
    "framework": (
        Annotated[list[str] | None, typer.Option("--framework", help="Only these frameworks.")],
        None,
    ),
    "exclude": (
        Annotated[list[str] | None, typer.Option("--exclude", help="Leave out these frameworks.")],
        None,
    ),
    "task": (
        Annotated[list[str] | None, typer.Option("--task", "-t", help="Only these tasks (name or id).")],
        None,
    ),
    "impute": (
        Annotated[str, typer.Option(help="Imputation of failures: constant, worst, random_forest or none.")],
        "constant",
    ),
    "impute_not_own": (
        Annotated[
            bool,
            typer.Option("--impute-not-own", help="Also impute jobs with the status setup, lost or data."),
        ],
        False,
    ),
    "include_excluded": (
        Annotated[
            bool,
            typer.Option(
                "--include-excluded",
                help="Rank excluded frameworks too, whose meta-training may include these tasks.",
            ),
        ],
        False,
    ),
    "seed": (Annotated[int, typer.Option(help="Seed of draws and permutations.")], 0),
    "json": (Json, False),
}


def on_scores(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the shared options; it gets the analysis they ask for, and whether to print JSON."""
    signature = inspect.signature(command, eval_str=True, locals={"Analysis": Any})
    specific = [p for p in signature.parameters.values() if p.name not in ("analysis", "json")]

    @functools.wraps(command)
    def run(**values: object) -> None:
        mine = {parameter.name: values.pop(parameter.name) for parameter in specific}
        command(_open_analysis(values), json=values["json"], **mine)

    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(name, keyword, default=default, annotation=kind)
        for name, (kind, default) in SHARED.items()
    ]
    run.__signature__ = inspect.Signature([*(p.replace(kind=keyword) for p in specific), *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*specific, *shared)}
    return run


def _open_analysis(values: dict[str, Any]) -> Analysis:
    from assay.analysis.filter import Filter
    from assay.analysis.impute import POLICIES
    from assay.api import analyse

    if values["impute"] not in POLICIES:
        raise ConfigError(f"--impute {values['impute']}: choose one of {', '.join(POLICIES)}.")
    analysis = analyse(values["scores"] or open_store(values["store"]), values["covariates"])
    selection = Filter(
        types=tuple(values["type_"] or ()),
        constraint=values["constraint"],
        metric=values["metric"],
        frameworks=tuple(values["framework"] or ()),
        exclude=tuple(values["exclude"] or ()),
        tasks=tuple(values["task"] or ()),
    )
    same = ("impute", "impute_not_own", "include_excluded", "seed")
    return analysis.using(selection=selection, **{name: values[name] for name in same})
