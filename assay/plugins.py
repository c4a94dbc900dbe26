"""Find a thing by its name: built-ins first, then entry points of installed packages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from assay.errors import ConfigError

__all__ = ["entry_point_names", "lookup", "suggest"]

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


def suggest(name: str, known: Iterable[str]) -> str:
    """Return "Did you mean 'x'?", or the list of what there is."""
    names = sorted(set(known))
    by_lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1)
    if close:
        return f"Did you mean '{by_lower[close[0]]}'?"
    return f"There are: {', '.join(names)}." if names else "There are none."
