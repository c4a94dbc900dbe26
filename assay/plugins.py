"""Find a thing by its name: built-ins first, then entry points of installed packages, then files."""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from assay.errors import AssayError, ConfigError

__all__ = [
    "PluginKind",
    "entry_point_names",
    "find_plugin",
    "load_file",
    "load_from_file",
    "lookup",
    "plugin_names",
    "run_file",
    "suggest",
]

T = TypeVar("T")


def entry_point_names(kind: str) -> dict[str, Any]:
    """Return the entry points of group `assay.<kind>`, by name, not yet loaded."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=f"assay.{kind}")}


def lookup(kind: str, name: str, builtins: Mapping[str, T], where: str = "") -> T:
    """Return what `name` means for `kind` ("metrics", "frameworks" …), or say what it might have meant.

    `where` ends the error message's first sentence, such as "in suite small.yaml, task adult".
    """
    if name in builtins:
        return builtins[name]
    points = entry_point_names(kind)
    if name in points:
        loaded: T = points[name].load()
        return loaded
    place = f" {where}" if where else ""
    raise ConfigError(f"Unknown {kind.rstrip('s')} '{name}'{place}. {suggest(name, [*builtins, *points])}")


def load_from_file(kind: str, name: str) -> Any:
    """Return what `file.py:thing` names; a relative path starts at the working directory. The file's code runs.

    Raises:
        ConfigError: there is no such file, it fails, or it has no such name.
    """
    file, _, attribute = name.rpartition(":")
    names = vars(load_file(file or name, kind.rstrip("s")))
    if attribute not in names:
        public = [key for key in names if not key.startswith("_")]
        what = f"{kind.rstrip('s').capitalize()} '{name}'"
        raise ConfigError(f"{what}: {file} has no '{attribute}'. {suggest(attribute, public)}")
    return names[attribute]


def load_file(name: str, kind: str) -> ModuleType:
    """Return the module that a Python file is; a relative path starts at the working directory. Its code runs.

    `kind` names in messages what the file is expected to hold, such as "analysis".
    """
    path = Path(os.path.expanduser(name))
    if not os.path.isfile(path):
        raise ConfigError(f"{kind.capitalize()} '{name}': there is no file {name}.")
    path = path.resolve()
    try:
        return run_file(path, path.stat().st_mtime_ns)
    except (Exception, SystemExit) as error:  # somebody else's code: it may fail in any way
        text = f"{type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")
        raise ConfigError(f"{kind.capitalize()} '{name}': {name} fails with {text}") from error


@lru_cache(maxsize=64)
def run_file(path: Path, mtime_ns: int) -> ModuleType:
    """Run a file as a module, once per version of it (`mtime_ns`), and leave no bytecode beside it."""
    module = ModuleType(f"assay_file_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up by name
    exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    return module


@dataclass(frozen=True)
class PluginKind(Generic[T]):
    """A kind of thing that is one module with a specification in it: built-in, of an installed package, or a file.

    Attributes:
        group: the plural word, of the entry-point group `assay.<group>`.
        word: the singular word, for messages.
        builtin: the module of each built-in thing, by name.
        attribute: the name of the specification in its module.
        record: the class of the specification.
    """

    group: str
    word: str
    builtin: Mapping[str, str]
    attribute: str
    record: type[T]


def plugin_names(kind: PluginKind[T]) -> list[str]:
    """Return the names of all things of a kind, built-in ones first; nothing is imported."""
    return list(dict.fromkeys([*kind.builtin, *sorted(entry_point_names(kind.group))]))


def find_plugin(kind: PluginKind[T], name: str) -> T:
    """Return the specification of that name: a built-in, an entry point, or `file.py`.

    Raises:
        ConfigError: there is none, or what the name leads to is not of this kind.
    """
    if name in kind.builtin:
        return _spec_of(kind, import_module(kind.builtin[name]), name)
    if name.endswith(".py"):
        return _spec_of(kind, load_file(name, kind.word), name)
    points = entry_point_names(kind.group)
    if name not in points:
        raise ConfigError(f"Unknown {kind.word} '{name}'. {suggest(name, plugin_names(kind))}")
    try:
        return _spec_of(kind, points[name].load(), name)
    except AssayError:
        raise
    except Exception as error:  # a package that is installed, but broken
        what = f"{kind.word.capitalize()} '{name}' of {points[name].value}"
        raise ConfigError(f"{what} cannot be loaded: {error}") from error


def _spec_of(kind: PluginKind[T], loaded: object, name: str) -> T:
    """Return the specification in what was loaded: a module, or the specification itself."""
    spec = getattr(loaded, kind.attribute, loaded)
    if not isinstance(spec, kind.record):
        origin = getattr(sys.modules.get(getattr(loaded, "__name__", ""), loaded), "__file__", loaded)
        what = f"{kind.word.capitalize()} '{name}'"
        raise ConfigError(f"{what}: {origin} has no {kind.attribute} = {kind.record.__name__}(…).")
    return spec


def suggest(name: str, known: Iterable[str]) -> str:
    """Return "Did you mean 'x'?", or the list of what there is."""
    names = sorted(set(known))
    by_lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1)
    if close:
        return f"Did you mean '{by_lower[close[0]]}'?"
    return f"There are: {', '.join(names)}." if names else "There are none."
