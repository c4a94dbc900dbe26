"""What a framework is: its folder, version, parameters and needs; and how a name is found."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.files import check_plain, read_bytes
from assay.plugins import entry_point_names, suggest
from assay.vocabulary import Role

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["FrameworkSpec", "Recipe", "builtin_names", "find_framework", "find_frameworks", "list_frameworks"]

HERE = Path(__file__).resolve().parent
FORMATS = ("npz", "csv", "parquet")
# What lies beside a framework's own files.
CODE_FILES = ("child.py", "contract.py", "tables.py", "encode.py", "adapter.py")


@dataclass(frozen=True)
class Recipe:
    """How an environment of a framework's own is locked and built.

    Attributes:
        requires: what the lock is resolved from; `{version}` stands for the version, the first names its package.
        without: packages that others ask for and that are left out all the same.
        build: constraints for what is built from source.
        tools: packages whose programs must be there before the others are built.
        installer: `uv`, or `pip` for what uv cannot install.
        prepare: a script that fills the framework's caches once, at install: `prepare.py FOLDER`.
    """

    requires: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    installer: str = "uv"
    prepare: Path | None = None


@dataclass(frozen=True)
class FrameworkSpec:
    """Who does the learning, as `framework.toml` says it.

    Attributes:
        folder: where its adapter lies; of one that extends another, often the other's.
        home: the folder whose framework.toml was read; locks of its own lie there.
        version: part of the key; a package's version for frameworks that are thin over one.
        role: `constant` may train nothing and is what failures are imputed with; `baseline`,
            `framework` and `model` only group rows.
        environment: `assay` runs on Assay's own interpreter; `own` in an environment built from its lock;
            `none` for a program that needs no Python.
        command: for programs that honour the contract without our child: words, in which `{job}` and
            `{framework}` stand for the two folders.
        files: further files, relative to the folder, that the adapter may read.
        stops_by: `count` or `time`; only the former promises the same predictions twice.
        network: whether its sandbox may reach the network; shown in every row.
        loopback: whether its processes talk to each other over TCP on this machine.
        programs: programs it needs on the machine, each with the remedy where it is missing.
        environ: variables for the child; `{cache}` stands for the folder that `prepare` filled.
        meta_learning: `marked` if it was meta-trained on public data sets, which may be the very ones it is
            tested on; `excluded` if none of them can be kept out, so that it is not ranked by default.
        no_oof: why it leaves no out-of-fold predictions of its models; empty if it does.
    """

    name: str
    version: str
    folder: Path
    home: Path
    description: str = ""
    role: Role = "framework"
    environment: str = "assay"
    lock: Path | None = None
    python: str = ""
    adapter: Path | None = None
    command: tuple[str, ...] = ()
    format: str = "npz"
    types: tuple[str, ...] = ("binary", "multiclass", "regression")
    stops_by: str = "time"
    network: bool = False
    loopback: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    extends: str = ""
    project: str = ""
    recipe: Recipe = field(default_factory=Recipe)
    programs: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    meta_learning: str = ""
    no_oof: str = ""

    def __post_init__(self) -> None:
        try:
            check_plain(json.loads(json.dumps(dict(self.params), allow_nan=False)))
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"A parameter of framework '{self.name}' is not plain JSON: {error}. "
                "Use numbers, text, true, false, lists and tables."
            ) from None
        names = [file.name for file in self.files]
        for name in names:
            if name in CODE_FILES or names.count(name) > 1:
                raise ConfigError(
                    f"Framework '{self.name}' has a file '{name}', whose place beside the adapter is taken. Rename it."
                )

    @property
    def is_builtin(self) -> bool:
        """Return whether it came with Assay."""
        return self.home.parent == HERE

    @property
    def address(self) -> str:
        """Return the word by which it is found again: its name, or its folder; with the version of a lock."""
        word = self.name if self.is_builtin else str(self.home)
        return f"{word}:{self.version}" if self.lock is not None else word

    def digest(self) -> str:
        """Return a digest of the files that do the work: a circumstance, not part of the key."""
        total = hashlib.sha256()
        for path in (self.adapter, self.lock, *self.files):
            if path is not None:
                text = read_bytes(Path(os.path.realpath(path)))
                if text.value is None:
                    raise ConfigError(f"Framework '{self.name}' cannot be used: {text.sentence}.")
                total.update(path.name.encode() + b"\0" + text.value + b"\0")
        total.update(repr((self.command, self.format, self.environment, self.python)).encode())
        if self.environ:
            total.update(repr(sorted(self.environ.items())).encode())
        return total.hexdigest()

    def with_params(self, params: Mapping[str, Any]) -> FrameworkSpec:
        """Return the same framework with some parameters set otherwise."""
        return replace(self, params={**self.params, **params})


def builtin_names() -> list[str]:
    """Return the names of the frameworks that come with Assay."""
    return sorted(
        path.parent.name for path in HERE.glob("*/framework.toml") if path.parent.name != "estimator"
    )


def list_frameworks() -> list[FrameworkSpec]:
    """Return all frameworks that can be named: built-in, then from installed packages."""
    names = [*builtin_names(), *(name for name in entry_point_names("frameworks"))]
    return [find_framework(name) for name in names]


def find_frameworks(text: str, params: Mapping[str, Mapping[str, Any]] | None = None) -> list[FrameworkSpec]:
    """Return the frameworks of a comma-separated list; `params` are settings by framework name."""
    words = [one for word in text.split(",") if word.strip() for one in _expand(word.strip())]
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
    from assay.frameworks.locks import find_set, set_names

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
        folder, _, version = (text, "", "") if Path(text).exists() else text.rpartition(":")
        return read_folder(Path(folder or text), find_framework, version if folder else "", unlocked)
    name, _, version = text.partition(":")
    return read_folder(_folder_of(name), find_framework, version, unlocked)


def _folder_of(name: str) -> Path:
    wanted = _plain(name)
    for known in builtin_names():
        if _plain(known) == wanted:
            return HERE / known
    # AMLB's one name that is more than another spelling of ours.
    if wanted == "constantpredictor":
        return HERE / "constant"
    points = entry_point_names("frameworks")
    for known, point in points.items():
        if _plain(known) == wanted:
            return _folder_at(point)
    if (Path(name) / "framework.toml").is_file():
        return Path(name)
    raise ConfigError(f"Unknown framework '{name}'. {suggest(name, [*builtin_names(), *points])}")


def _folder_at(point: EntryPoint) -> Path:
    """Return the folder an entry point names: a path, or a package that is the folder."""
    try:
        found = point.load()
        return Path(found.__file__).parent if hasattr(found, "__file__") else Path(found)
    except Exception as error:
        raise ConfigError(
            f"Entry point '{point.name} = {point.value}' of an installed package cannot be used: {error}. "
            "It must name a folder (a path or a package). Fix or uninstall that package."
        ) from error


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _estimator(file: Path, class_name: str) -> FrameworkSpec:
    """Make a framework of one scikit-learn estimator class in a user's file."""
    if not file.is_file():
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
