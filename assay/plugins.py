"""Find a thing by its name: built-ins first, then entry points of installed packages, then files."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from assay.errors import ConfigError

__all__ = ["entry_point_names", "load_from_file", "lookup", "suggest"]

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
    what, path = f"{kind.rstrip('s').capitalize()} '{name}'", Path(file).expanduser().resolve()
    if not path.is_file():
        raise ConfigError(f"{what}: there is no file {file or name}. Give a name, or file.py:Class.")
    module = ModuleType(f"assay_{kind}_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up by name
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:  # somebody else's code: it may fail in any way
        raise ConfigError(f"{what}: {file} fails with {type(error).__name__}: {error}.") from error
    if attribute not in vars(module):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise ConfigError(f"{what}: {file} has no '{attribute}'. {suggest(attribute, public)}")
    return vars(module)[attribute]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return "Did you mean 'x'?", or the list of what there is."""
    names = sorted(set(known))
    by_lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1)
    if close:
        return f"Did you mean '{by_lower[close[0]]}'?"
    return f"There are: {', '.join(names)}." if names else "There are none."
