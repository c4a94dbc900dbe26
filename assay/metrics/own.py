"""A user's own metric, given as `file.py:function`."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from assay.errors import ConfigError
from assay.metrics.record import Metric, metric_of
from assay.plugins import suggest

__all__ = ["is_own", "own_metric"]


def is_own(name: str) -> bool:
    """Return whether a metric's name has the form `file.py:function`."""
    return name.rpartition(":")[0].endswith(".py")


def own_metric(name: str, where: str = "") -> Metric:
    """Load `file.py:function`; a relative path starts at the working directory.

    The metric keeps the name it was given, so that the same name finds it again. The file's code runs.
    """
    file, _, function = name.rpartition(":")
    place = f" {where}" if where else ""
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise ConfigError(f"Metric '{name}'{place}: there is no file {file}.")
    try:
        module = _load(path, path.stat().st_mtime_ns)
    except Exception as error:
        message = f"Metric '{name}'{place}: {file} fails with {type(error).__name__}: {error}"
        raise ConfigError(message) from error
    if function not in vars(module):
        marked = [key for key, value in vars(module).items() if hasattr(value, "higher_is_better")]
        raise ConfigError(f"Metric '{name}'{place}: {file} has no '{function}'. {suggest(function, marked)}")
    return metric_of(vars(module)[function], name, where)


@lru_cache(maxsize=64)
def _load(path: Path, mtime_ns: int) -> ModuleType:
    """Run a file as a module, once per version of it (`mtime_ns`), and leave no bytecode beside it."""
    module = ModuleType(f"assay_metric_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up by name
    exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    return module
