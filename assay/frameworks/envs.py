"""Where a framework runs: Assay's own interpreter, or an environment of its own built from its lock file."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import NotInstalled
from assay.frameworks.spec import FrameworkSpec
from assay.settings import Settings

__all__ = ["Environment", "build_environment", "environment_of", "find_python", "interpreters"]

READY = "assay-ready"


@dataclass(frozen=True)
class Environment:
    """An interpreter and the folders it needs to see; `lock` lists the packages in it, one `name==version` a line."""

    python: Path
    readable: tuple[Path, ...]
    lock: str = ""

    @property
    def digest(self) -> str:
        """Return the digest of the lock; empty where there is none."""
        return hashlib.sha256(self.lock.encode()).hexdigest() if self.lock else ""


def environment_of(spec: FrameworkSpec, settings: Settings) -> Environment:
    """Return where the framework runs; raises NotInstalled with the remedy when it cannot here."""
    if spec.environment == "none":
        program = shutil.which(spec.command[0])
        if program is None and not spec.command[0].startswith("{framework}"):
            raise NotInstalled(
                f"Framework {spec.name} needs the program '{spec.command[0]}', which is not on the PATH."
            )
        return Environment(Path(program or spec.command[0]), _program_folders(program))
    if spec.environment == "assay":
        return Environment(Path(sys.executable), _folders(Path(sys.executable)), _own_packages())
    folder = environment_folder(spec, settings)
    if not (folder / READY).exists():
        raise NotInstalled(
            f"Framework {spec.name} {spec.version} is not installed here. Run `assay framework install {spec.address}`."
        )
    python = folder / "bin" / "python"
    return Environment(python, _folders(python), spec.lock.read_text(encoding="utf-8") if spec.lock else "")


@functools.cache
def _own_packages() -> str:
    """Return what is installed beside Assay, sorted, as a lock file would say it."""
    from importlib.metadata import distributions

    found = {f"{one.name.lower().replace('_', '-')}=={one.version}" for one in distributions() if one.name}
    return "\n".join([f"# Python {sys.version.split()[0]}", *sorted(found)]) + "\n"


def _program_folders(program: str | None) -> tuple[Path, ...]:
    """Return the folders a program outside /usr lies in, as it is named and as it really is."""
    if program is None:
        return ()
    folders = dict.fromkeys([Path(program).absolute().parent, Path(os.path.realpath(program)).parent])
    return tuple(path for path in folders if not path.is_relative_to("/usr") and path != Path("/bin"))


def lock_digest(spec: FrameworkSpec) -> str:
    """Return the digest of the lock file; environments are reused by it."""
    return hashlib.sha256(spec.lock.read_bytes()).hexdigest() if spec.lock else ""


def environment_folder(spec: FrameworkSpec, settings: Settings) -> Path:
    """Return the folder of a framework's own environment, which may not exist yet."""
    return settings.cache / "environments" / f"{spec.name}-{spec.version}-{lock_digest(spec)[:12]}"


def _folders(python: Path) -> tuple[Path, ...]:
    """Return the folders an interpreter reads: its environment and the installation below that."""
    own = python == Path(sys.executable)
    folders = [Path(sys.prefix), Path(sys.base_prefix)] if own else _prefixes(python)
    folders.append(Path(os.path.realpath(python)).parent.parent)
    return tuple(path for path in dict.fromkeys(folders) if not path.is_relative_to("/usr"))


def _prefixes(python: Path) -> list[Path]:
    code = "import sys; print(sys.prefix); print(sys.base_prefix)"
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        return [Path(line) for line in done.stdout.split("\n")[:2]]
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstalled(
            f"The interpreter {python} does not start ({error}). Remove {python.parent.parent} and install again."
        ) from None


def build_environment(spec: FrameworkSpec, settings: Settings) -> Environment:
    """Build the framework's environment from its lock, or return the one that is there.

    Safe to call from several processes at once; one that was interrupted is built anew.
    """
    if spec.environment != "own":
        return environment_of(spec, settings)
    folder = environment_folder(spec, settings)
    with _locked(folder.with_name(folder.name + ".lock")):
        if not (folder / READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            python = find_python(spec.python)
            uv = _uv()
            environ = {
                k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
            }
            if "PIP_FIND_LINKS" in environ:
                environ.setdefault("UV_FIND_LINKS", environ["PIP_FIND_LINKS"])
            _run([uv, "venv", "--quiet", "--python", str(python), str(folder)], environ, spec)
            where = ["--python", str(folder / "bin/python"), *(["--offline"] if settings.offline else [])]
            install = [uv, "pip", "install", "--quiet", "--compile-bytecode", *where]
            _run([*install, "--requirement", str(spec.lock)], environ, spec)
            (folder / READY).touch()
    return environment_of(spec, settings)


def _uv() -> str:
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise NotInstalled("Environments are built with uv, which is not installed. Run `pip install uv`.")
    return found


def _run(command: list[str], environ: dict[str, str], spec: FrameworkSpec) -> None:
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-15:])
        raise NotInstalled(f"The environment of {spec.name} {spec.version} could not be built:\n{last}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def interpreters() -> dict[str, Path]:
    """Return the Python interpreters on this machine by version ("3.11"), Assay's own first."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": Path(sys.executable)}
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    if os.access(pyenv, os.R_OK | os.X_OK):  # it may be another user's
        folders += sorted((path / "bin" for path in pyenv.glob("3.*")), reverse=True)
    for folder in folders:
        if folder.name == "shims" or not os.access(folder, os.R_OK | os.X_OK):
            continue
        for path in folder.glob("python3.*"):
            version = path.name.removeprefix("python")
            if version.replace(".", "", 1).isdigit() and os.access(path, os.X_OK):
                found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: tuple(map(int, item[0].split(".")))))


def find_python(version: str) -> Path:
    """Return an interpreter of this version ("3.9"); empty means Assay's own."""
    if not version:
        return Path(sys.executable)
    found = interpreters()
    if version not in found:
        raise NotInstalled(
            f"Python {version} is not on this machine (there are {', '.join(found)}). Install it first."
        )
    return found[version]
