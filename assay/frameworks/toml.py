"""Read `framework.toml`: every key checked, every mistake named."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.errors import ConfigError
from assay.frameworks.spec import FrameworkSpec
from assay.plugins import suggest

__all__ = ["FrameworkFile", "read_folder"]

TaskTypes = list[Literal["binary", "multiclass", "regression"]]


class FrameworkFile(BaseModel):
    """The keys of a `framework.toml`; docs/howto/add-a-framework.md explains each."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_\-]*$")
    description: str = ""
    version: str = ""
    version_of: str = ""
    role: Literal["constant", "baseline", "framework", "model"] = "framework"
    environment: Literal["assay", "own", "none"] = "assay"
    python: str = ""
    adapter: str = "adapter.py"
    command: list[str] = []
    format: Literal["npz", "csv", "parquet"] = "npz"
    types: TaskTypes = ["binary", "multiclass", "regression"]
    stops_by: Literal["count", "time"] = "time"
    network: bool = False
    files: list[str] = []
    extends: str = ""
    project: str = ""
    params: dict[str, Any] = {}


def read_folder(folder: Path, find: Callable[[str], FrameworkSpec], version: str = "") -> FrameworkSpec:
    """Read a framework's folder; `find` resolves what it extends."""
    path = folder / "framework.toml"
    said = _parse(path)
    base = find(said["extends"]) if said.get("extends") else None
    checked = _check(said, path)
    given = set(said)
    spec = _spec(checked, folder, path, version)
    return spec if base is None else _extend(base, spec, given)


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"There is no {path}. A framework is a folder with framework.toml and adapter.py; "
            "`assay framework new NAME` makes one."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None


def _check(said: dict[str, Any], path: Path) -> FrameworkFile:
    try:
        return FrameworkFile.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            hint = suggest(key, FrameworkFile.model_fields)
            raise ConfigError(f"Unknown key '{key}' in {path}. {hint}") from None
        raise ConfigError(
            f"Key '{key}' in {path} is wrong: {first['msg']} (it is {first['input']!r})."
        ) from None


def _spec(said: FrameworkFile, folder: Path, path: Path, version: str) -> FrameworkSpec:
    adapter = None if said.command else folder / said.adapter
    if adapter is not None and not adapter.is_file() and not said.extends:
        raise ConfigError(f"{path} names the adapter {adapter.name}, which is not in that folder.")
    files = tuple(folder / name for name in said.files)
    for file in files:
        if not file.is_file() or ".." in file.parts[-len(Path(file.name).parts) - 1 :]:
            raise ConfigError(f"{path} lists the file {file.name}, which is not in that folder.")
    version = version or said.version or _version_of(said.version_of, path)
    lock = folder / "locks" / f"{version}.txt"
    if said.environment == "own" and not lock.is_file() and not said.extends:
        raise ConfigError(f"{path}: version '{version}' has no lock file locks/{version}.txt.")
    return FrameworkSpec(
        name=said.name,
        version=version or "0",
        folder=folder,
        description=said.description,
        role=said.role,
        environment=said.environment,
        lock=lock if said.environment == "own" and lock.is_file() else None,
        python=said.python,
        adapter=adapter,
        command=tuple(said.command),
        format=said.format,
        types=tuple(said.types),
        stops_by=said.stops_by,
        network=said.network,
        params=said.params,
        files=files,
        extends=said.extends,
        project=said.project,
    )


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


def _extend(base: FrameworkSpec, own: FrameworkSpec, given: set[str]) -> FrameworkSpec:
    """Return `base` with what the extending file says itself; its params are merged over the base's."""
    from dataclasses import replace

    changes: dict[str, Any] = {"name": own.name, "extends": own.extends}
    for key in ("description", "role", "types", "stops_by", "network", "format", "project"):
        if key in given:
            changes[key] = getattr(own, key)
    if "version" in given or "version_of" in given:
        changes["version"] = own.version
    changes["params"] = {**base.params, **own.params}
    return replace(base, **changes)
