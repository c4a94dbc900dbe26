"""Where a framework runs: Assay's own interpreter, an environment of its own, or a program on the machine."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, NotInstalled
from assay.files import read_text
from assay.frameworks.spec import FrameworkSpec
from assay.settings import Settings

__all__ = ["Environment", "environment_folder", "environment_of", "lock_digest", "read_ready", "requirements"]

READY = "assay-ready"
CACHE = "assay-cache"
SYSTEM_BINS = (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin"))  # every child has these


@dataclass(frozen=True)
class Environment:
    """An interpreter and the folders it needs to see; `lock` lists the packages in it, one `name==version` a line.

    `environ` are variables a child needs beside those every child gets.
    """

    python: Path
    readable: tuple[Path, ...]
    lock: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Return the digest of the lock; empty where there is none."""
        return hashlib.sha256(self.lock.encode()).hexdigest() if self.lock else ""


def environment_of(spec: FrameworkSpec, settings: Settings) -> Environment:
    """Return where the framework runs; raises NotInstalled with the remedy when it cannot here."""
    programs = tuple(folder for program in spec.programs for folder in _seen_of(spec, program))
    environment = _environment_of(spec, settings)
    return replace(environment, readable=(*environment.readable, *programs))


def _environment_of(spec: FrameworkSpec, settings: Settings) -> Environment:
    if spec.environment == "none":
        return _program(spec)
    if spec.environment == "assay":
        python = Path(sys.executable)
        folders = [Path(sys.prefix), Path(sys.base_prefix)]
        return Environment(python, _outside_usr(folders, python), _own_packages(), dict(spec.environ))
    folder = environment_folder(spec, settings)
    problem = broken(folder)
    if problem:
        raise NotInstalled(
            f"Framework {spec.name} {spec.version} is not installed here: {problem}. "
            f"Run `assay framework install {spec.address}`."
        )
    python = folder / "bin" / "python"
    environ = {key: value.replace("{cache}", str(folder / CACHE)) for key, value in spec.environ.items()}
    lock = _lock_text(spec)
    return Environment(
        python, _outside_usr([folder, Path(read_ready(folder)["base"])], python), lock, environ
    )


def _lock_text(spec: FrameworkSpec) -> str:
    if spec.lock is None:
        return ""
    content = read_text(Path(os.path.realpath(spec.lock)))
    if content.value is None:
        raise ConfigError(f"The lock of {spec.name} cannot be used: {content.sentence}.")
    return content.value


def _seen_of(spec: FrameworkSpec, program: str) -> list[Path]:
    """Return the folder a job must see to run a program the framework needs; none for those of the system.

    A job's PATH is the `bin` of every folder it sees, so the program must lie in one.
    """
    location = shutil.which(program)
    need = f"Framework {spec.name} needs the program '{program}'"
    if location is None:
        raise NotInstalled(f"{need}, which is not on the PATH. {spec.programs[program] or 'Install it'}.")
    real = Path(os.path.realpath(location))
    if real.is_relative_to("/usr") and Path(location).parent in SYSTEM_BINS:
        return []
    prefix = real.parent.parent
    if real.parent.name != "bin" or real.name != program or Path.home().is_relative_to(prefix):
        raise NotInstalled(
            f"{need}, and {location} is not in a folder of its own that a job could be shown. "
            f"{spec.programs[program] or 'Install it for the whole machine'}."
        )
    return [prefix]


def _program(spec: FrameworkSpec) -> Environment:
    name = spec.command[0]
    program = shutil.which(name)
    if program is None and not name.startswith("{framework}"):
        raise NotInstalled(f"Framework {spec.name} needs the program '{name}', which is not on the PATH.")
    if program is None:
        return Environment(Path(name), (), environ=dict(spec.environ))
    folders = dict.fromkeys([Path(program).absolute().parent, Path(os.path.realpath(program)).parent])
    seen = tuple(path for path in folders if not path.is_relative_to("/usr") and path != Path("/bin"))
    return Environment(Path(program), seen, environ=dict(spec.environ))


@functools.cache
def _own_packages() -> str:
    """Return what is installed beside Assay, sorted, as a lock file would say it."""
    from importlib.metadata import distributions

    packages = {
        f"{distribution.name.lower().replace('_', '-')}=={distribution.version}"
        for distribution in distributions()
        if distribution.name
    }
    return "\n".join([f"# Python {sys.version.split()[0]}", *sorted(packages)]) + "\n"


def _outside_usr(folders: list[Path], python: Path) -> tuple[Path, ...]:
    """Return the folders an interpreter reads beside /usr, which every child sees."""
    every = [*folders, Path(os.path.realpath(python)).parent.parent]
    return tuple(path for path in dict.fromkeys(every) if not path.is_relative_to("/usr"))


def lock_digest(spec: FrameworkSpec) -> str:
    """Return the digest of all that an environment is made from; environments are reused by it.

    Comments in a lock do not count.
    """
    recipe = spec.recipe
    made_from: list[object] = [requirements(spec), spec.python, list(recipe.build), list(recipe.tools)]
    if recipe.prepare is not None:
        made_from.append(recipe.prepare.read_text(encoding="utf-8"))
    return hashlib.sha256(json.dumps(made_from).encode()).hexdigest()


def requirements(spec: FrameworkSpec) -> list[str]:
    """Return the lines of a framework's lock, without comments."""
    lines = _lock_text(spec).splitlines()
    return [line.split(" #")[0].strip() for line in lines if line.strip() and not line.startswith("#")]


def environment_folder(spec: FrameworkSpec, settings: Settings) -> Path:
    """Return the folder of a framework's own environment, which may not exist yet.

    Frameworks with the same lock share it; the package in its name is for people who look at the folder.
    """
    package = re.match(r"[\w.-]*", spec.recipe.requires[0] if spec.recipe.requires else "lock")
    title = package.group() if package else "lock"
    return settings.cache / "environments" / f"{title}-{spec.version}-{lock_digest(spec)[:12]}"


def broken(folder: Path) -> str:
    """Return what is wrong with an environment, cheaply seen: unfinished, without its interpreter or packages."""
    if not folder.is_dir():
        return "it has no environment yet"
    try:
        ready = read_ready(folder)
    except (OSError, ValueError, KeyError):
        return f"{folder} is unfinished"
    if not os.access(folder / "bin" / "python", os.X_OK):
        return f"the interpreter of {folder} is gone"
    gone = set(ready["packages"]) - set(installed(folder))
    return f"{folder} has lost {', '.join(sorted(gone)[:3])}" if gone else ""


def read_ready(folder: Path) -> dict[str, Any]:
    """Return what the install noted when it was done: base, packages, seconds, size_mb."""
    content: dict[str, Any] = json.loads((folder / READY).read_text(encoding="utf-8"))
    return {name: content[name] for name in ("base", "packages", "seconds", "size_mb")}


def installed(folder: Path) -> list[str]:
    """Return the packages that lie in an environment, as the names of their metadata folders."""
    return sorted(path.name for path in folder.glob("lib/python3*/site-packages/*.dist-info"))
