"""Versions of a framework: the locks in its folder, and named sets of versions."""

from __future__ import annotations

import re
from pathlib import Path

from assay.errors import ConfigError
from assay.files import read_toml

__all__ = ["find_set", "find_version", "locked_versions", "set_names"]

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
    versions = read.value.get("frameworks")
    if not isinstance(versions, dict) or not all(isinstance(value, str) for value in versions.values()):
        raise ConfigError(f'{path} needs a table [frameworks] with lines such as flaml = "2.7.0".')
    return versions


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
