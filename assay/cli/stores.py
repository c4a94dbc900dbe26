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
    own = typer.Typer(help="Keep a store in order.", no_args_is_help=True)
    own.command("rebuild")(rebuild)
    own.command("verify")(verify)
    own.command("merge")(merge)
    app.add_typer(own, name="store")


def rebuild(store: StoreOption = STORE) -> None:
    """Make a new index from the folders, which are the truth. Exit code 1 if files are damaged, which are named.

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
    """Check that every row can be made again from its files. Exit code 1 if not.

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
    other: Annotated[Path, typer.Argument(help="The store to take from.")], store: StoreOption = STORE
) -> None:
    """Take over the finished jobs of another store. Where both have a job, ours stays. Exit code 1 if some cannot be.

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
