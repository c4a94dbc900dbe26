"""Versions of a framework: the locks in its folder, named sets of versions, and how a lock is made.

A lock is a plain requirement file, complete (it is installed without looking for dependencies), without hosts.
"""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError, NotInstalled
from assay.files import read_toml

if TYPE_CHECKING:
    from assay.frameworks.spec import FrameworkSpec
    from assay.settings import Settings

__all__ = ["find_set", "find_version", "locked_versions", "make_lock", "set_names"]

SETS = Path(__file__).resolve().parent / "sets"


def locked_versions(folder: Path) -> list[str]:
    """Return the versions a framework's folder has locks for, oldest first."""
    return sorted((path.stem for path in (folder / "locks").glob("*.txt")), key=_order)


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that puts 1.10 after 1.9, 1.0rc1 before 1.0 and 1.0.post1 after it."""
    parts = re.findall(r"\d+|[a-z]+", version)
    return (
        *((2, int(p), "") if p.isdigit() else (1 if p == "post" else -1, 0, p) for p in parts),
        (0, 0, ""),
    )


def set_names() -> list[str]:
    """Return the names of the sets of versions that come with Assay."""
    return sorted(path.stem for path in SETS.glob("*.toml"))


def find_set(name: str) -> dict[str, str]:
    """Return a named set: framework → version. `name` is one of ours (`2026Q4`) or a path of a TOML file."""
    path = Path(name) if name.endswith(".toml") else SETS / f"{name}.toml"
    read = read_toml(path)
    if read.is_missing:
        raise ConfigError(f"There is no set of versions '{name}'. There are: {', '.join(set_names())}.")
    if read.value is None:
        raise ConfigError(f"{read.sentence}.")
    found = read.value.get("frameworks")
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ConfigError(f'{path} needs a table [frameworks] with lines such as flaml = "2.7.0".')
    return found


def find_version(framework: str, asked: str, folder: Path) -> str:
    """Return the version a word after the colon means: itself, that of a set, or for `latest` the newest lock."""
    if asked == "latest":
        versions = locked_versions(folder)
        return versions[-1] if versions else ""
    if asked not in set_names():
        return asked
    versions_of = find_set(asked)
    if framework not in versions_of:
        raise ConfigError(
            f"The set {asked} has no version of '{framework}'. It has: {', '.join(versions_of)}."
        )
    return versions_of[framework]


def make_lock(
    spec: FrameworkSpec, version: str, settings: Settings, tell: Callable[[str], None]
) -> tuple[str, str]:
    """Resolve what a framework requires, now; return the version of its package and the text of the lock.

    `version` empty means the newest that can be had.
    """
    from assay.frameworks.install import find_uv, install_environ, run_tool, write_build_constraints
    from assay.frameworks.pythons import find_python

    recipe = spec.recipe
    if not recipe.requires:
        raise ConfigError(
            f"{spec.home / 'framework.toml'} has no key 'requires' to make a lock from. Add it."
        )
    if settings.offline:
        raise NotInstalled("A lock is made from the package index, and --offline forbids it.")
    requires = [_fill(one, version) for one in recipe.requires]
    with tempfile.TemporaryDirectory(prefix="assay-lock-") as scratch:
        folder = Path(scratch)
        (folder / "requires.txt").write_text("\n".join(requires) + "\n", encoding="utf-8")
        (folder / "without.txt").write_text(
            "".join(f"{name}; sys_platform == 'never'\n" for name in recipe.without), encoding="utf-8"
        )
        environ = install_environ()
        write_build_constraints(spec, folder, environ)
        command = [find_uv(), "pip", "compile", str(folder / "requires.txt"), "--override"]
        command += [str(folder / "without.txt"), "--python", str(find_python(spec.python)), "--no-header"]
        command += ["--no-annotate", "--quiet", "--output-file", str(folder / "lock.txt")]
        run_tool(command, environ, f"The lock of {spec.name} could not be made", tell)
        lines = (folder / "lock.txt").read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if re.match(r"[A-Za-z0-9]", line)]
    found = _locked_version(packages, requires[0])
    machine = f"{platform.system()} {platform.machine()}"
    head = f"# {spec.name} {found}, Python {spec.python}, {machine}, from: {', '.join(requires)}"
    if recipe.without:
        head += f"; without {', '.join(recipe.without)}"
    return found, "\n".join([head, *packages]) + "\n"


def _fill(requirement: str, version: str) -> str:
    return requirement.replace("{version}", version) if version else requirement.replace("=={version}", "")


def _locked_version(packages: list[str], requirement: str) -> str:
    name = _plain(re.split(r"[\[=<>~!; ]", requirement, maxsplit=1)[0])
    for line in packages:
        package, _, version = line.partition("==")
        if _plain(package) == name:
            return version.split(";")[0].strip()
    raise NotInstalled(f"'{requirement}' is not among the packages that were found for it.")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
