"""What an install would download, and how large it is: asked of the package index, nothing is fetched."""

from __future__ import annotations

import tempfile
import tomllib
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from assay.errors import NotInstalled
from assay.frameworks.envs import broken, environment_folder
from assay.frameworks.install import find_uv, install_environ, run_tool, write_build_constraints
from assay.frameworks.pythons import find_python
from assay.frameworks.spec import FrameworkSpec
from assay.settings import Settings

__all__ = ["Downloads", "planned_downloads"]


@dataclass(frozen=True)
class Downloads:
    """The files an install is made from, by package, with their bytes where the index tells them.

    What uv has in its cache already is not downloaded again, so this is the most it can be.
    """

    folder: Path
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    needed: bool = True
    why: str = ""


def planned_downloads(spec: FrameworkSpec, settings: Settings) -> Downloads:
    """Find the file of each package in the framework's lock for this machine, and its size."""
    if spec.environment != "own":
        return Downloads(spec.folder, needed=False, why="it has no environment of its own")
    folder = environment_folder(spec, settings)
    if not broken(folder):
        return Downloads(folder, needed=False, why=f"it is installed in {folder}")
    if settings.offline:
        raise NotInstalled(
            "The package index would have to be asked, and `offline=True` forbids it.", ["offline"]
        )
    packages = _resolved(spec)
    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(lambda package: _size(package, settings.network_timeout_s), packages))
    return Downloads(folder, {package["name"]: size for package, size in zip(packages, sizes, strict=True)})


def _resolved(spec: FrameworkSpec) -> list[dict[str, Any]]:
    """Return the packages of the lock as uv describes them (PEP 751): name, and the files to choose from."""
    with tempfile.TemporaryDirectory(prefix="assay-lock-") as scratch:
        path = Path(scratch, "pylock.toml")
        environ = install_environ()
        write_build_constraints(spec, Path(scratch), environ)
        command = [
            find_uv(),
            "pip",
            "compile",
            str(spec.lock),
            "--no-deps",
            "--quiet",
            "--format",
            "pylock.toml",
        ]
        command += ["--python", str(find_python(spec.python)), "--output-file", str(path)]
        failure = f"What {spec.name} {spec.version} would download could not be found out"
        run_tool(command, environ, failure, lambda line: None)
        packages: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("packages", [])
    return packages


def _size(package: Mapping[str, Any], timeout_s: float) -> int | None:
    files = package.get("wheels") or [package.get("sdist") or package.get("archive") or {}]
    file = files[0]
    if "size" in file:
        return int(file["size"])
    local = file.get("path") or _local(file.get("url", ""))
    try:
        if local:
            return Path(local).stat().st_size
        asked = urllib.request.Request(file["url"], method="HEAD")
        with urllib.request.urlopen(asked, timeout=timeout_s) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _local(url: str) -> str:
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else ""
