"""Find a search space by name: ready-made, of an installed package (`assay.spaces`), a TOML file or a function."""

from __future__ import annotations

import os
from pathlib import Path

from assay.errors import ConfigError
from assay.files import read_toml
from assay.frameworks.space import Space
from assay.plugins import entry_point_names, load_from_file, suggest

__all__ = ["find_space", "space_names"]

HERE = Path(__file__).parent / "spaces"


def space_names() -> list[str]:
    """Return the names of the ready-made spaces and of those of installed packages."""
    return [*sorted(path.stem for path in HERE.glob("*.toml")), *sorted(entry_point_names("spaces"))]


def find_space(name: str) -> Space:
    """Return the space of that name, of `file.toml`, or what the function of `file.py:function` returns.

    A function takes no arguments and returns a `Space`, or tables as a TOML file has them. Its file's code runs in this
    process, as that of a metric does: name files that you trust.
    """
    if os.path.isfile(HERE / f"{name}.toml"):
        return _read_file(HERE / f"{name}.toml")
    points = entry_point_names("spaces")
    if name in points:
        return _call(points[name].load(), name)
    if name.rpartition(":")[0].endswith(".py"):
        return _call(load_from_file("spaces", name), name)
    if name.endswith(".toml"):
        return _read_file(Path(name))
    raise ConfigError(f"Unknown space '{name}'. {suggest(name, space_names())}")


def _read_file(path: Path) -> Space:
    from assay.frameworks.read_space import read_space

    content = read_toml(path)
    if content.value is None:
        raise ConfigError(f"{content.sentence}.")
    return read_space(content.value, f"in {path}")


def _call(function: object, name: str) -> Space:
    from assay.frameworks.read_space import read_space

    if isinstance(function, Space):
        return function
    if not callable(function):
        raise ConfigError(f"Space '{name}' is {function!r}: give a function that returns a space.")
    try:
        made = function()
    except Exception as error:  # somebody else's code: it may fail in any way
        raise ConfigError(f"Space '{name}' fails with {type(error).__name__}: {error}") from error
    return made if isinstance(made, Space) else read_space(made, f"of {name}")
