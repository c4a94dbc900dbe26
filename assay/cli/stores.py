"""`assay store rebuild|verify|merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import StoreOption
from assay.cli.output import STORE, open_store

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    own = typer.Typer(help="Keep a store in order.", no_args_is_help=True)
    own.command("rebuild")(rebuild)
    own.command("verify")(verify)
    own.command("merge")(merge)
    app.add_typer(own, name="store")


def rebuild(store: StoreOption = STORE) -> None:
    """Make the index anew from the folders, which are the truth.

    \b
    Example:
      assay store rebuild --store results
    """
    from assay.results.upkeep import rebuild as make

    print(f"{make(store)} jobs are in the index of {store}.")


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
        print(problem)
    print(f"{len(opened.rows())} rows checked, {len(problems)} problem(s).")
    raise typer.Exit(1 if problems else 0)


def merge(
    other: Annotated[Path, typer.Argument(help="The store to take from.")], store: StoreOption = STORE
) -> None:
    """Take over the finished jobs of another store. Where both have a job, ours stays.

    \b
    Example:
      assay store merge ../laptop/results --store results
    """
    from assay.results.upkeep import merge as take
    from assay.store.store import Store

    taken, already = take(Store(store), open_store(other))
    print(f"{taken} jobs taken from {other}, {already} were here already.")
