"""Find a framework by what a user writes: a name, name:version, a folder, or file.py:Class."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.frameworks.locks import find_set, set_names
from assay.frameworks.spec import FrameworkSpec
from assay.plugins import entry_point_names, suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["builtin_names", "find_framework", "find_frameworks", "list_frameworks"]

HERE = Path(__file__).resolve().parent


def builtin_names() -> list[str]:
    """Return the names of the frameworks that come with Assay."""
    return sorted(
        path.parent.name for path in HERE.glob("*/framework.toml") if path.parent.name != "estimator"
    )


def list_frameworks() -> list[FrameworkSpec]:
    """Return all frameworks that can be named: built-in, then from installed packages."""
    names = [*builtin_names(), *(name for name in entry_point_names("frameworks"))]
    return [find_framework(name) for name in names]


def find_frameworks(
    text: str, params: Mapping[str, Mapping[str, object]] | None = None
) -> list[FrameworkSpec]:
    """Return the frameworks of a comma-separated list; `params` are settings by framework name."""
    words = [name for word in text.split(",") if word.strip() for name in _expand(word.strip())]
    if not words:
        raise ConfigError("No framework is named. Give one or several, for example constant,random_forest.")
    specs = [find_framework(word) for word in words]
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1 and len(
            {(s.name, s.version) for s in specs if s.name == name}
        ) < names.count(name):
            raise ConfigError(f"Framework '{name}' is named twice. Name it once.")
    for name in params or {}:
        if name not in names:
            raise ConfigError(
                f"Parameters given for '{name}', which is not part of this run. {suggest(name, names)}"
            )
    return [spec.with_params((params or {}).get(spec.name, {})) for spec in specs]


def _expand(word: str) -> list[str]:
    """Return the frameworks of a named set (`2026Q4`, `mine.toml`), or the word itself."""
    if word not in set_names() and not word.endswith(".toml"):
        return [word]
    return [f"{name}:{version}" for name, version in find_set(word).items()]


def find_framework(text: str, unlocked: bool = False) -> FrameworkSpec:
    """Return the framework a word means: a name, `name:version`, a folder, or `file.py:Class`.

    With `unlocked` the version needs no lock yet.
    """
    from assay.frameworks.toml import read_folder

    file, _, class_name = text.rpartition(":")
    if file.endswith(".py"):
        return _estimator(Path(file), class_name)
    if text.endswith(".py"):
        raise ConfigError(f"'{text}' is a file: name the class in it, for example {text}:MyEstimator.")
    if "/" in text or text.startswith("."):
        folder, _, version = (text, "", "") if os.path.exists(Path(text)) else text.rpartition(":")
        return read_folder(Path(folder or text), find_framework, version if folder else "", unlocked)
    name, _, version = text.partition(":")
    return read_folder(_folder_of(name), find_framework, version, unlocked)


def _folder_of(name: str) -> Path:
    plain_name = _plain(name)
    for candidate in builtin_names():
        if _plain(candidate) == plain_name:
            return HERE / candidate
    # AMLB's one name that is more than another spelling of ours.
    if plain_name == "constantpredictor":
        return HERE / "constant"
    points = entry_point_names("frameworks")
    for candidate, point in points.items():
        if _plain(candidate) == plain_name:
            return _folder_at(point)
    if os.path.isfile(Path(name) / "framework.toml"):
        return Path(name)
    raise ConfigError(f"Unknown framework '{name}'. {suggest(name, [*builtin_names(), *points])}")


def _folder_at(point: EntryPoint) -> Path:
    """Return the folder an entry point names: a path, or a package that is the folder."""
    try:
        loaded = point.load()
        return Path(loaded.__file__).parent if hasattr(loaded, "__file__") else Path(loaded)
    except Exception as error:
        raise ConfigError(
            f"Entry point '{point.name} = {point.value}' of an installed package cannot be used: {error}. "
            "It must name a folder (a path or a package). Fix or uninstall that package."
        ) from error


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _estimator(file: Path, class_name: str) -> FrameworkSpec:
    """Make a framework of one scikit-learn estimator class in a user's file."""
    if not os.path.isfile(file):
        raise ConfigError(
            f"There is no file '{file}'. Give the path of a Python file and a class: file.py:Class."
        )
    if not class_name.isidentifier():
        raise ConfigError(f"'{class_name}' is no class name. Write {file}:MyEstimator.")
    text = file.read_bytes()
    if not re.search(rb"\b" + class_name.encode() + rb"\b", text):
        raise ConfigError(
            f"{file} does not mention '{class_name}'. Name a class or function that the file defines."
        )
    from assay.frameworks.toml import read_folder

    base = read_folder(HERE / "estimator", find_framework)
    return replace(
        base,
        name=class_name,
        version=hashlib.sha256(text).hexdigest()[:12],
        description=f"{class_name} from {file.name}",
        params={"_file": file.name, "_class": class_name},
        files=(file.resolve(),),
    )
