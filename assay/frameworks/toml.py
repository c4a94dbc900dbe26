"""Read `framework.toml`: every key checked, every mistake named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from assay.data.border import validated
from assay.errors import ConfigError
from assay.files import read_toml
from assay.frameworks.locks import find_version, locked_versions, set_names
from assay.frameworks.space import Space
from assay.frameworks.spec import FrameworkSpec, Recipe
from assay.vocabulary import Role, TaskType

__all__ = ["NAME", "FrameworkFile", "read_folder"]

NAME = r"[A-Za-z][A-Za-z0-9_\-]*"
RECIPE = {"requires", "without", "build", "tools", "installer", "prepare"}
TaskTypes = list[TaskType]


class VersionKeys(BaseModel):
    """What may differ from version to version of a framework, under `[versions."0.12"]`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    python: str = ""
    adapter: str = "adapter.py"
    requires: list[str] = []
    without: list[str] = []
    build: list[str] = []
    tools: list[str] = []


class FrameworkFile(VersionKeys):
    """The keys of a `framework.toml`; docs/howto/add-a-framework.md explains each."""

    name: str = Field(pattern=f"^{NAME}$")
    description: str = ""
    version: str = ""
    version_of: str = ""
    role: Role = "framework"
    environment: Literal["assay", "own", "none"] = "assay"
    command: list[str] = []
    format: Literal["npz", "csv", "parquet"] = "npz"
    types: TaskTypes = ["binary", "multiclass", "regression"]
    stops_by: Literal["count", "time"] = "time"
    network: bool = False
    loopback: bool = False
    files: list[str] = []
    extends: str = ""
    project: str = ""
    installer: Literal["uv", "pip"] = "uv"
    prepare: str = ""
    programs: dict[str, str] = {}
    environ: dict[str, str] = {}
    meta_learning: Literal["", "marked", "excluded"] = ""
    no_oof: str = ""
    cold: str = ""
    versions: dict[str, VersionKeys] = {}
    params: dict[str, object] = {}
    space: dict[str, object] = {}


def read_folder(
    folder: Path, find: Callable[..., FrameworkSpec], version: str = "", unlocked: bool = False
) -> FrameworkSpec:
    """Read a framework's folder; `find` resolves what it extends.

    `version` is the one asked for, if any: a version, a named set, or `latest`. With `unlocked` a version needs
    no lock: for making one. A folder that extends another may have locks of its own, which come first.
    """
    path = folder / "framework.toml"
    keys = _parse(path)
    checked = _check(keys, path)
    if not checked.extends:
        return _spec(checked, folder, path, version, unlocked)
    own_version = _own_version(keys, folder, version, unlocked)
    if own_version:
        checked, keys = checked.model_copy(update={"version": own_version}), {**keys, "version": own_version}
    base = _find_base(
        checked.extends, folder, path, find, "" if {"version", "version_of"} & set(keys) else version
    )
    if own_version and base.environment == "own":
        # What the other says of this version holds, though the lock is ours.
        base = find(f"{base.address.rpartition(':')[0] or base.address}:{own_version}", unlocked=True)
    spec = _extend(base, checked, set(keys), folder, path)
    if unlocked:
        return replace(spec, lock=None)
    if spec.environment == "own" and spec.lock is None:
        spec = replace(spec, lock=_lock(folder, spec.version, path))
    if version not in ("", "latest", *set_names(), spec.version):
        raise ConfigError(
            f"{path} is version '{spec.version}', not '{version}'. Ask for {checked.name} alone."
        )
    return spec


def _own_version(keys: Mapping[str, object], folder: Path, version: str, unlocked: bool) -> str:
    """Return the version that a lock of the folder itself is for, or is to be made for; else an empty text."""
    asked = version if version else str(keys.get("version", ""))
    if asked == "latest" or asked in set_names():
        asked = find_version("", "latest", folder) if asked == "latest" else ""
    return asked if (unlocked and version) or asked in locked_versions(folder) else ""


def _find_base(
    name: str, folder: Path, path: Path, find: Callable[..., FrameworkSpec], version: str
) -> FrameworkSpec:
    """Return what a folder extends: a name, or a path as seen from that folder; of the version asked for."""
    if "/" in name or name.startswith("."):
        name = (
            f"{os.path.normpath(folder / name)}/"  # a chain of names must not become a longer and longer path
        )
    elif version and ":" not in name:
        name = f"{name}:{version}"
    try:
        return find(name)
    except RecursionError:
        raise ConfigError(
            f"{path} extends itself, directly or through others. Name another framework."
        ) from None


def _parse(path: Path) -> dict[str, object]:
    content = read_toml(path)
    if content.is_missing:
        raise ConfigError(
            f"There is no {path}. A framework is a folder with framework.toml and adapter.py; "
            "`assay framework new NAME` makes one."
        )
    if content.value is None:
        raise ConfigError(f"{content.sentence}.")
    return content.value


def _check(keys: dict[str, object], path: Path) -> FrameworkFile:
    checked = validated(FrameworkFile, keys, f"in {path}")
    if checked.environment == "none" and not checked.command:
        raise ConfigError(
            f"{path}: environment 'none' needs the key 'command', the program to start. Add it."
        )
    return checked


def _spec(file: FrameworkFile, folder: Path, path: Path, version: str, unlocked: bool) -> FrameworkSpec:
    declared_version = file.version or _version_of(file.version_of, path)
    if file.environment == "own":
        version = (
            find_version(file.name, version, folder)
            or declared_version
            or find_version("", "latest", folder)
            or "0"
        )
        file = _for_version(file, version)
    elif version not in ("", declared_version or "0"):
        raise ConfigError(
            f"{path} is version '{declared_version or '0'}', not '{version}'. Ask for {file.name} alone."
        )
    else:
        version = declared_version or "0"
    return FrameworkSpec(
        name=file.name,
        version=version,
        folder=folder,
        home=folder,
        description=file.description,
        role=file.role,
        environment=file.environment,
        lock=None if unlocked or file.environment != "own" else _lock(folder, version, path),
        python=file.python,
        adapter=_adapter(file, folder, path),
        command=tuple(file.command),
        format=file.format,
        types=tuple(file.types),
        stops_by=file.stops_by,
        network=file.network,
        loopback=file.loopback,
        params=file.params,
        files=_files(file, folder, path),
        project=file.project,
        recipe=_recipe(file, folder, path),
        programs=file.programs,
        environ=file.environ,
        meta_learning=file.meta_learning,
        no_oof=file.no_oof,
        cold=file.cold,
        space=_space(file, path),
    )


def _space(file: FrameworkFile, path: Path) -> Space | None:
    from assay.frameworks.read_space import read_space

    return read_space(file.space, f"in {path}") if file.space else None


def _for_version(file: FrameworkFile, version: str) -> FrameworkFile:
    """Return the keys as they are for one version: `[versions."0.12"]` speaks of 0.12 and of 0.12.2."""
    fitting = [key for key in file.versions if f"{version}.".startswith(f"{key}.")]
    if not fitting:
        return file
    version_keys = file.versions[max(fitting, key=len)]
    return file.model_copy(
        update={name: getattr(version_keys, name) for name in version_keys.model_fields_set}
    )


def _recipe(file: FrameworkFile, folder: Path, path: Path) -> Recipe:
    if file.prepare and not os.path.isfile(folder / file.prepare):
        raise ConfigError(
            f"{path} names the script {file.prepare}, which is not in that folder. Write it there."
        )
    return Recipe(
        requires=tuple(file.requires),
        without=tuple(file.without),
        build=tuple(file.build),
        tools=tuple(file.tools),
        installer=file.installer,
        prepare=folder / file.prepare if file.prepare else None,
    )


def _adapter(file: FrameworkFile, folder: Path, path: Path) -> Path | None:
    if file.command:
        return None
    adapter = folder / file.adapter
    if not os.path.isfile(adapter):
        raise ConfigError(
            f"{path} names the adapter {file.adapter}, which is not in that folder. Write it there."
        )
    return adapter


def _files(file: FrameworkFile, folder: Path, path: Path) -> tuple[Path, ...]:
    """Return the further files; they lie in the folder itself, because that is how the adapter finds them."""
    for name in file.files:
        if Path(name).name != name or not os.path.isfile(folder / name):
            raise ConfigError(
                f"{path} lists the file {name}, which is not directly in that folder. Put it there."
            )
    return tuple(folder / name for name in file.files)


def _lock(folder: Path, version: str, path: Path) -> Path:
    lock = folder / "locks" / f"{version}.txt"
    if not os.path.isfile(lock):
        there = ", ".join(locked_versions(folder)) or "none"
        raise ConfigError(
            f"{path}: version '{version}' has no lock file locks/{version}.txt. There are: {there}. "
            "`assay framework lock` makes one."
        )
    return lock


def _version_of(package: str, path: Path) -> str:
    from importlib.metadata import PackageNotFoundError, version

    if not package:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        raise ConfigError(
            f"{path}: version_of names the package '{package}', which is not installed."
        ) from None


def _extend(
    base: FrameworkSpec, file: FrameworkFile, given: set[str], folder: Path, path: Path
) -> FrameworkSpec:
    """Return `base` with what the extending file says itself; its params are merged over the base's."""
    changes: dict[str, Any] = {"name": file.name, "extends": file.extends, "home": folder}
    for key in ("description", "role", "stops_by", "network", "loopback", "format", "project", "python", "environment",
                "programs", "environ", "meta_learning", "no_oof", "cold"):  # fmt: skip
        if key in given:
            changes[key] = getattr(file, key)
    if "types" in given:
        changes["types"] = tuple(file.types)
    if {"version", "version_of"} & given:
        changes["version"] = file.version or _version_of(file.version_of, path)
    if {"adapter", "command"} & given:
        changes.update(folder=folder, adapter=_adapter(file, folder, path), command=tuple(file.command))
    if "files" in given:
        changes["files"] = _files(file, folder, path)
    if "space" in given:
        changes["space"] = _space(file, path)
    if RECIPE & given:
        own_recipe = _recipe(file, folder, path)
        changed = {key: getattr(own_recipe, key) for key in RECIPE & given}
        changes["recipe"] = replace(base.recipe, **changed)
    changes["params"] = {**base.params, **file.params}
    spec = replace(base, **changes)
    if spec.environment != "own":
        return spec
    has_own = spec.version in locked_versions(folder)
    if not has_own and base.lock is not None and spec.version == base.version:
        return spec
    return replace(spec, lock=folder / "locks" / f"{spec.version}.txt" if has_own else None)
