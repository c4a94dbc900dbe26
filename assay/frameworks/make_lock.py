"""Make a lock: resolve what a framework requires, and write it down.

A lock is a plain requirement file, complete (it is installed without looking for dependencies), without hosts.
"""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from assay.errors import ConfigError, NotInstalled
from assay.frameworks.install import find_uv, install_environ, run_tool, write_build_constraints
from assay.frameworks.pythons import find_python
from assay.frameworks.spec import FrameworkSpec
from assay.settings import Settings

__all__ = ["make_lock"]


def make_lock(
    spec: FrameworkSpec, version: str, settings: Settings, tell: Callable[[str], None]
) -> tuple[str, str]:
    """Resolve what a framework requires, now; return the version of its package and the text of the lock.

    `version` empty means the newest that can be had.
    """
    recipe = spec.recipe
    if not recipe.requires:
        raise ConfigError(
            f"{spec.home / 'framework.toml'} has no key 'requires' to make a lock from. Add it."
        )
    if settings.offline:
        raise NotInstalled(
            "A lock is made from the package index, and `offline=True` forbids it.", ["offline"]
        )
    requires = [_fill(requirement, version) for requirement in recipe.requires]
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
    locked_version = _locked_version(packages, requires[0])
    machine = f"{platform.system()} {platform.machine()}"
    head = f"# {spec.name} {locked_version}, Python {spec.python}, {machine}, from: {', '.join(requires)}"
    if recipe.without:
        head += f"; without {', '.join(recipe.without)}"
    return locked_version, "\n".join([head, *packages]) + "\n"


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
