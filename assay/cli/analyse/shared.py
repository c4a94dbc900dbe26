"""What every analysis command shares: where the scores are, which of them to look at, and how records are printed."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import Json
from assay.cli.output import STORE, check_target, open_store, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.analyses import Analysis

__all__ = ["Figure", "draw_to", "elo", "plain", "say_notes", "square", "with_shared"]

Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: SVG, PDF or PNG.")]
# What every analysis takes: where the scores are, and which of them to look at.
SHARED: dict[str, tuple[Any, Any]] = {
    "store": (Annotated[Path, typer.Option("--store", metavar="DIR", help="The store.")], STORE),
    "scores": (
        Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="A file of scores, not a store: CSV or Parquet."),
        ],
        None,
    ),
    "covariates": (
        Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="A CSV with properties of tasks (task_id or task)."),
        ],
        None,
    ),
    "type_": (
        Annotated[
            list[str] | None, typer.Option("--type", help="binary, multiclass, regression, classification.")
        ],
        None,
    ),
    "constraint": (Annotated[str, typer.Option(help="Only rows of this constraint.")], ""),
    "metric": (Annotated[str, typer.Option(help="By this metric, not the one that was optimised.")], ""),
    "framework": (
        Annotated[list[str] | None, typer.Option("--framework", help="Only these frameworks.")],
        None,
    ),
    "exclude": (Annotated[list[str] | None, typer.Option("--exclude", help="Not these frameworks.")], None),
    "task": (
        Annotated[list[str] | None, typer.Option("--task", "-t", help="Only these tasks (name or id).")],
        None,
    ),
    "impute": (
        Annotated[str, typer.Option(help="What a failure counts as: constant, worst, random_forest, none.")],
        "constant",
    ),
    "impute_not_own": (
        Annotated[bool, typer.Option("--impute-not-own", help="Impute setup, lost and data rows too.")],
        False,
    ),
    "include_excluded": (
        Annotated[
            bool,
            typer.Option(
                "--include-excluded",
                help="Rank excluded frameworks too: their meta-training may hold these very tasks.",
            ),
        ],
        False,
    ),
    "seed": (Annotated[int, typer.Option(help="Of draws and permutations.")], 0),
    "json": (Json, False),
}


def with_shared(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the shared options; it gets the analysis they ask for, and whether to print JSON."""
    own = [
        p
        for p in inspect.signature(command, eval_str=True, locals={"Analysis": Any}).parameters.values()
        if p.name not in ("data", "json")
    ]

    @functools.wraps(command)
    def run(**said: Any) -> None:
        mine = {p.name: said.pop(p.name) for p in own}
        command(_analysis(said), json=said["json"], **mine)

    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(name, keyword, default=default, annotation=kind)
        for name, (kind, default) in SHARED.items()
    ]
    run.__signature__ = inspect.Signature([*(p.replace(kind=keyword) for p in own), *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    return run


def _analysis(said: dict[str, Any]) -> Analysis:
    from assay.analyses import analyse
    from assay.analysis.filter import Filter
    from assay.analysis.impute import POLICIES

    if said["impute"] not in POLICIES:
        raise ConfigError(f"--impute {said['impute']}: choose one of {', '.join(POLICIES)}.")
    found = analyse(said["scores"] or open_store(said["store"]), said["covariates"])
    wanted = Filter(
        types=tuple(said["type_"] or ()),
        constraint=said["constraint"],
        metric=said["metric"],
        frameworks=tuple(said["framework"] or ()),
        exclude=tuple(said["exclude"] or ()),
        tasks=tuple(said["task"] or ()),
    )
    same = ("impute", "impute_not_own", "include_excluded", "seed")
    return replace(found, wanted=wanted, **{name: said[name] for name in same})


def draw_to(path: Path | None, record: Any, how: str = "") -> None:
    """Draw a record to a file, if one was named."""
    if path is None:
        return
    from assay.report.figures import draw

    check_target(path)
    draw(record, path, how)


def say_notes(notes: Sequence[str], aside: bool = False) -> None:
    """Print what was left out and why; `aside`: on standard error, where the output has no place for it."""
    for note in notes:
        say(f"note: {note}", file=sys.stderr if aside else sys.stdout)


def elo(value: float | None) -> str:
    """Return a rating as a person wants to read it."""
    if value is None or value != value:
        return "–"
    return f"{value:.0f}" if isfinite(value) else ("∞" if value > 0 else "-∞")


def square(names: Sequence[str], values: Any) -> dict[str, dict[str, Any]]:
    """Return a square matrix by names, without its diagonal."""
    return {a: {b: values[i][j] for j, b in enumerate(names) if j != i} for i, a in enumerate(names)}


def plain(value: Any) -> Any:
    """Return plain JSON values; what is not a finite number is null."""
    import numpy as np

    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
