"""What a framework is: its folder, version, parameters and needs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.errors import ConfigError
from assay.files import check_plain, read_bytes
from assay.frameworks.space import Space
from assay.vocabulary import Role

__all__ = ["FrameworkSpec", "Recipe"]

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
        cold: why its jobs must not be forked from a process that has imported its libraries; empty if they may be.
        space: the parameters that a search may set; None if it declares none.
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
    params: Mapping[str, object] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    extends: str = ""
    project: str = ""
    recipe: Recipe = field(default_factory=Recipe)
    programs: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    meta_learning: str = ""
    no_oof: str = ""
    cold: str = ""
    space: Space | None = None

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

    def with_params(self, params: Mapping[str, object]) -> FrameworkSpec:
        """Return the same framework with some parameters set otherwise."""
        return replace(self, params={**self.params, **params})
