"""`assay store rebuild|verify|merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import StoreOption
from assay.cli.output import STORE, open_store, say

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    own = typer.Typer(help="Maintain a store: rebuild, verify, merge.", no_args_is_help=True)
    own.command("rebuild")(rebuild)
    own.command("verify")(verify)
    own.command("merge")(merge)
    app.add_typer(own, name="store")


def rebuild(store: StoreOption = STORE) -> None:
    """Rebuild the index from the folders. Damaged files are named, with exit code 1.

    \b
    Example:
      assay store rebuild --store results
    """
    from assay.results.upkeep import rebuild as make

    made = make(store)
    for problem in made.problems:
        say(problem)
    damaged = f" {len(made.problems)} problem(s)." if made.problems else ""
    say(f"{made.jobs} jobs are in the index of {store}.{damaged}")
    raise typer.Exit(1 if made.problems else 0)


def verify(store: StoreOption = STORE) -> None:
    """Check that every row can be reproduced from its files. The exit code is 1 if not.

    \b
    Example:
      assay store verify --store results
    """
    from assay.results.upkeep import verify as check

    opened = open_store(store)
    problems = check(opened)
    for problem in problems:
        say(problem)
    say(f"{sum(1 for _ in opened.check_rows())} rows checked, {len(problems)} problem(s).")
    raise typer.Exit(1 if problems else 0)


def merge(
    other: Annotated[Path, typer.Argument(help="Store to merge from.")], store: StoreOption = STORE
) -> None:
    """Merge the finished jobs of another store into this one, which keeps its own rows.

    \b
    Example:
      assay store merge ../laptop/results --store results
    """
    from assay.results.upkeep import merge as take
    from assay.store.store import Store

    merged = take(Store(store), open_store(other))
    for problem in merged.problems:
        say(problem)
    left = f", {len(merged.problems)} could not be taken" if merged.problems else ""
    say(f"{merged.taken} jobs taken from {other}, {merged.already} were here already{left}.")
    raise typer.Exit(1 if merged.problems else 0)
