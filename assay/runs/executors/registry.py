"""Executors by name: built-in, of an installed package (entry-point group `assay.executors`), or `file.py:Class`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.errors import ConfigError
from assay.plugins import load_from_file, lookup
from assay.runs.executors.base import Executor, ExecutorOptions
from assay.runs.executors.local import Local

__all__ = ["make_executor"]

Factory = Callable[[ExecutorOptions], Executor]
BUILTIN: Mapping[str, Factory] = {"local": lambda options: Local(options.workers, options.tier)}
METHODS = ("has_room", "submit", "poll", "cancel")


def make_executor(name: str = "local", options: ExecutorOptions | None = None) -> Executor:
    """Return the executor of that name, made with these options; nothing is started yet.

    A plug-in is a class, or a function, that is called with an `ExecutorOptions`.
    """
    is_file = name.rpartition(":")[0].endswith(".py")
    factory: Factory = load_from_file("executors", name) if is_file else lookup("executors", name, BUILTIN)
    executor = factory(options or ExecutorOptions())
    missing = [method for method in METHODS if not callable(getattr(executor, method, None))]
    if missing:
        raise ConfigError(
            f"Executor '{name}' has no method {missing[0]}. See docs/howto/add-an-executor.md for what it needs."
        )
    return executor
