"""The Python interpreters on this machine: on the PATH, of pyenv, of uv. None is ever downloaded."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from assay.errors import NotInstalled

__all__ = ["find_python", "interpreters"]

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


def interpreters() -> dict[str, Path]:
    """Return an interpreter for each version that is here ("3.11"), Assay's own first; none of them was started."""
    interpreters = {OWN: Path(sys.executable)}
    for version, path in _candidates():
        interpreters.setdefault(version, path)
    return dict(sorted(interpreters.items(), key=lambda item: tuple(map(int, item[0].split(".")))))


def find_python(version: str) -> Path:
    """Return an interpreter of this version ("3.9") that really is one; empty means Assay's own."""
    if version in ("", OWN):
        return Path(sys.executable)
    refused = []
    for name, path in _candidates():
        if name != version:
            continue
        says = _version(path)
        if says == version:
            return path
        refused.append(f"{path} {f'is Python {says}' if says else 'does not start'}")
    there = f"there are {', '.join(interpreters())}" + "".join(f"; {text}" for text in refused)
    raise NotInstalled(
        f"Python {version} is not on this machine ({there}). Install it so that python{version} is on the PATH, "
        f"with `pyenv install {version}`, or with `uv python install {version}`."
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    """Yield (version by its name, path): the PATH's first, then pyenv's and uv's, newer ones first."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python")).expanduser()
    for root in (pyenv, uv):
        if os.access(root, os.R_OK | os.X_OK):  # it may be another user's
            folders += sorted((path / "bin" for path in root.iterdir()), reverse=True)
    for folder in folders:
        # pyenv's shims start whatever version is chosen at the moment, or nothing.
        if folder.name == "shims" or not os.access(folder, os.R_OK | os.X_OK):
            continue
        for path in sorted(folder.glob("python3.*")):
            version = path.name.removeprefix("python")
            if version.replace(".", "", 1).isdigit() and os.access(path, os.X_OK):
                yield version, path


@functools.cache
def _version(python: Path) -> str:
    """Return the version an interpreter says it is, or nothing where it does not start."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
