"""`assay job pack|shell`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import StoreOption
from assay.cli.output import STORE, check_target, open_store, say

__all__ = ["register"]

Key = Annotated[str, typer.Argument(help="Key of the job, or its first characters.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help="Inspect one job.", no_args_is_help=True)
    commands.command("pack")(pack)
    commands.command("shell", context_settings={"ignore_unknown_options": True})(shell)
    app.add_typer(commands, name="job")


def pack(
    key: Key,
    store: StoreOption = STORE,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Tarball to write.")] = None,
) -> None:
    """Bundle a job for a bug report: data, code, log and facts, but no test labels.

    \b
    Example:
      assay job pack 3f9a -o bug.tar.gz
    """
    from assay.runs.shell import pack as bundle

    opened = open_store(store)
    whole = opened.find(key)
    folder = opened.folder.job(whole).attempt(max(1, opened.state(whole).attempt))
    target = output or Path(f"assay-job-{whole[:10]}.tar.gz")
    check_target(target)
    say(f"Wrote {bundle(folder, target)}: training rows and test features are in it, test targets are not.")


def shell(
    key: Key,
    command: Annotated[list[str] | None, typer.Argument(help="Command to run instead of a shell.")] = None,
    store: StoreOption = STORE,
) -> None:
    """Open a shell in the sandbox of a job, on a copy of its outputs.

    \b
    Examples:
      assay job shell 3f9a
      assay job shell 3f9a ls /job
    """
    import tempfile

    from assay.runs.shell import shell as enter

    opened = open_store(store)
    whole = opened.find(key)
    folder = opened.folder.job(whole).attempt(max(1, opened.state(whole).attempt))
    with tempfile.TemporaryDirectory(prefix="assay-shell-") as scratch:
        raise typer.Exit(enter(folder, Path(scratch), tuple(command or ())))
