"""`assay framework list|show|check|new|install|lock`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.check import check
from assay.cli.flags import message_of
from assay.cli.options import Json
from assay.cli.output import print_json, print_table, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.frameworks.spec import FrameworkSpec
    from assay.settings import Settings

__all__ = ["register"]

Name = Annotated[str, typer.Argument(help="A name, name:version, a folder, or file.py:Class.")]
Names = Annotated[list[str], typer.Argument(help="Names, name:version, sets such as 2026Q4, or folders.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(help="Manage frameworks and their environments.", no_args_is_help=True)
    commands.command("list")(list_)
    commands.command("show")(show)
    commands.command("check")(check)
    commands.command("new")(new)
    commands.command("install")(install)
    commands.command("lock")(lock)
    app.add_typer(commands, name="framework")


def list_(json: Json = False) -> None:
    """List the available frameworks.

    \b
    Example:
      assay framework list
    """
    from assay.frameworks.find import list_frameworks

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

    from assay.frameworks.find import find_framework

    spec = find_framework(name)
    keys = {**asdict(replace(spec, space=None)), "digest": spec.digest()}
    if json:
        print_json({**keys, "space": spec.space.to_json() if spec.space else None})
        return
    print_table(
        "", ["", ""], [[key, value] for key, value in keys.items() if value not in ("", (), None, {})]
    )
    if spec.space:
        print_table("Search space", ["parameter", "values", "default", "for", "when"], spec.space.describe())


def new(
    name: Annotated[str, typer.Argument(help="Name of the framework: letters, digits and _.")],
    folder: Annotated[Path | None, typer.Option(help="Folder to create; default: ./NAME.")] = None,
) -> None:
    """Create a folder for your own framework, with a working adapter.

    \b
    Example:
      assay framework new my_framework && assay run ./my_framework bundled 1m1c
    """
    from assay.frameworks.template import write_template

    path = write_template(name, folder or Path(name))
    word = path if path.is_absolute() else f"./{path}"
    say(f"Made {path}. Try it: assay run {word} bundled 1m1c, or assay framework check {word}")


def install(
    names: Names,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be downloaded; install nothing.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Rebuild environments that exist already.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Use only what is in the cache of uv.")] = False,
) -> None:
    """Build the environments of frameworks from their lock files.

    \b
    Examples:
      assay framework install flaml tpot:latest
      assay framework install 2026Q4 --dry-run
      assay framework install ./my_framework --rebuild
    """
    from assay.errors import UserError
    from assay.frameworks.find import find_frameworks
    from assay.settings import Settings

    settings = Settings.from_environment()
    settings = replace(settings, offline=True) if offline else settings
    failed = []
    for spec in find_frameworks(",".join(names)):
        try:
            _show_install(spec, settings) if dry_run else _install(spec, settings, rebuild)
        except UserError as error:
            failed.append(spec.name)
            say(f"{spec.name} {spec.version}: {message_of(error)}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def _install(spec: FrameworkSpec, settings: Settings, rebuild: bool) -> None:
    from assay.cli.progress import tell_install
    from assay.frameworks.envs import environment_folder, environment_of, read_ready
    from assay.frameworks.install import build_environment

    if spec.environment != "own":
        python = environment_of(spec, settings).python
        say(
            f"{spec.name} {spec.version} has no environment of its own: nothing to install. It runs with {python}."
        )
        return
    build_environment(spec, settings, lambda line: tell_install(f"{spec.name} {spec.version}", line), rebuild)
    folder = environment_folder(spec, settings)
    ready = read_ready(folder)
    say(
        f"{spec.name} {spec.version} is ready: {len(ready['packages'])} packages, {ready['size_mb']} MB, "
        f"built in {ready['seconds']:.0f} s, in {folder}"
    )


def _show_install(spec: FrameworkSpec, settings: Settings) -> None:
    """Print what an install would fetch."""
    from assay.frameworks.downloads import planned_downloads

    downloads = planned_downloads(spec, settings)
    if not downloads.needed:
        say(f"{spec.name} {spec.version}: nothing to do ({downloads.why}).")
        return
    sizes = [size for size in downloads.sizes.values() if size is not None]
    unknown = len(downloads.sizes) - len(sizes)
    about = f"{sum(sizes) / 1e6:.0f} MB" + (f" and {unknown} of unknown size" if unknown else "")
    largest = sorted(((size or 0, name) for name, size in downloads.sizes.items()), reverse=True)[:3]
    building = ", and what source packages are built with" if spec.recipe.build or spec.recipe.tools else ""
    say(
        f"{spec.name} {spec.version}: Python {spec.python}, {len(downloads.sizes)} packages, {about} at most to "
        f"download (largest: {', '.join(f'{name} {size / 1e6:.0f} MB' for size, name in largest)}){building}; "
        f"into {downloads.folder}"
    )


def lock(
    name: Name,
    to: Annotated[
        Path | None, typer.Option(help="Write the lock to your own folder, which extends the framework.")
    ] = None,
) -> None:
    """Resolve a framework's requirements and write a lock file; `:latest` uses the newest version.

    \b
    Examples:
      assay framework lock flaml
      assay framework lock flaml:latest --to ./my_flaml
    """
    from assay.frameworks.find import find_framework
    from assay.frameworks.make_lock import make_lock
    from assay.frameworks.template import write_lock
    from assay.settings import Settings

    word, _, asked = name.rpartition(":") if ":" in name else (name, "", "")
    spec = find_framework(word if asked == "latest" else name, unlocked=True)
    if spec.environment != "own":
        raise ConfigError(f"{spec.name} has no environment of its own, so there is nothing to lock.")
    version_to_lock = "" if asked == "latest" else spec.version
    version, text = make_lock(spec, version_to_lock, Settings.from_environment(), lambda line: None)
    path, before = write_lock(spec, version, text, to)
    changed = len({*text.splitlines()} - {*before.splitlines()})
    say(
        f"Wrote {path}: {len(text.splitlines()) - 1} packages, {changed} lines new. Use it: {to or word}:{version}"
    )
