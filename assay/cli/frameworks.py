"""`assay framework list|show|check|new|install`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Json, Tier
from assay.cli.output import print_json, print_table
from assay.errors import ConfigError

__all__ = ["register"]

Name = Annotated[str, typer.Argument(help="A name, name:version, a folder, or file.py:Class.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    own = typer.Typer(help="Who does the learning.", no_args_is_help=True)
    own.command("list")(list_)
    own.command("show")(show)
    own.command("check")(check)
    own.command("new")(new)
    own.command("install")(install)
    app.add_typer(own, name="framework")


def list_(json: Json = False) -> None:
    """List the frameworks that can be named.

    \b
    Example:
      assay framework list
    """
    from assay.frameworks.spec import list_frameworks

    specs = list_frameworks()
    if json:
        print_json(
            [
                {"name": s.name, "version": s.version, "role": s.role, "description": s.description}
                for s in specs
            ]
        )
        return
    print_table(
        "",
        ["framework", "version", "role", "description"],
        [[s.name, s.version, s.role, s.description] for s in specs],
    )


def show(name: Name, json: Json = False) -> None:
    """Show one framework: version, environment, parameters, files.

    \b
    Example:
      assay framework show random_forest
    """
    from dataclasses import asdict

    from assay.frameworks.spec import find_framework

    said = {**asdict(find_framework(name)), "digest": find_framework(name).digest()}
    if json:
        print_json(said)
        return
    print_table(
        "", ["", ""], [[key, value] for key, value in said.items() if value not in ("", (), None, {})]
    )


def check(name: Name, tier: Tier = "auto") -> None:
    """Run a framework on small tasks of every kind and say whether it honours the contract.

    \b
    Examples:
      assay framework check random_forest
      assay framework check ./my_framework
    """
    from assay.testing import check_framework

    failed = 0
    for claim in check_framework(name, tier):
        failed += bool(claim.problem)
        print(
            f"{'FAIL' if claim.problem else 'ok  '} {claim.claim}"
            + (f": {claim.problem}" if claim.problem else "")
        )
    raise typer.Exit(1 if failed else 0)


def new(
    name: Annotated[str, typer.Argument(help="The framework's name: letters, digits, _.")],
    folder: Annotated[Path | None, typer.Option(help="Where to make it; default: ./NAME.")] = None,
) -> None:
    """Make a folder for a framework of your own, with an adapter that works already.

    \b
    Example:
      assay framework new my_framework && assay run ./my_framework bundled 1m1c
    """
    from assay.frameworks.template import write_template

    if not name.isidentifier():
        raise ConfigError(
            f"'{name}' is no name for a framework: use letters, digits and _, beginning with a letter."
        )
    path = write_template(name, folder or Path(name))
    print(f"Made {path}. Try it: assay run ./{path} bundled 1m1c, or assay framework check ./{path}")


def install(name: Name) -> None:
    """Build the environment of a framework from its lock file.

    \b
    Example:
      assay framework install ./my_framework
    """
    from assay.frameworks.envs import build_environment
    from assay.frameworks.spec import find_framework
    from assay.settings import Settings

    spec = find_framework(name)
    if spec.environment != "own":
        print(f"{spec.name} runs on Assay's own interpreter: nothing to install.")
        return
    print(
        f"{spec.name} {spec.version} is ready: {build_environment(spec, Settings.from_environment()).python}"
    )
