"""Metrics from outside Assay: loading `file.py:function`, and calling what may do anything."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from threading import Lock
from typing import Any

from assay.errors import ConfigError
from assay.metrics.record import FailedMetric, Metric, UndefinedMetric, metric_of
from assay.plugins import run_file, suggest
from assay.typing import Array

__all__ = ["FAILS", "call_own", "is_own", "own_metric"]

FAILS = "Metric '{}' fails"  # how the message of every FailedMetric begins
# Standard output is the process's: two threads that redirect it at a time would not give it back.
_ONE_AT_A_TIME = Lock()


def is_own(name: str) -> bool:
    """Return whether a metric's name has the form `file.py:function`."""
    return name.rpartition(":")[0].endswith(".py")


def own_metric(name: str, where: str = "") -> Metric:
    """Load `file.py:function`; a relative path starts at the working directory.

    The metric keeps the name it was given, so that the same name finds it again. The file's code runs.
    """
    file, _, function = name.rpartition(":")
    place = f" {where}" if where else ""
    path = Path(os.path.expanduser(file))
    if not os.path.isfile(path):
        raise ConfigError(f"Metric '{name}'{place}: there is no file {file}.")
    path = path.resolve()
    try:
        with _ONE_AT_A_TIME, redirect_stdout(sys.stderr):
            module = run_file(path, path.stat().st_mtime_ns)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"Metric '{name}'{place}: {file} fails with {_told(error, str(path))}") from error
    if function not in vars(module):
        marked = [key for key, value in vars(module).items() if hasattr(value, "higher_is_better")]
        raise ConfigError(f"Metric '{name}'{place}: {file} has no '{function}'. {suggest(function, marked)}")
    return metric_of(vars(module)[function], name, where)


def call_own(metric: Metric, truth: Array, prediction: Array, **extra: int | None) -> float:
    """Return what a metric from outside Assay says of these rows.

    It gets copies, so that it cannot change what other metrics see, and what it prints goes to standard error, so that
    it cannot get into our JSON.

    Raises:
        UndefinedMetric: the function says so itself.
        FailedMetric: it raised anything else, or did not return a number.
    """
    begins = FAILS.format(metric.name)
    code = getattr(metric.function, "__code__", None)
    file = code.co_filename if code else ""
    try:
        with _ONE_AT_A_TIME, redirect_stdout(sys.stderr):
            found = metric.function(truth.copy(), prediction.copy(), **extra)
    except UndefinedMetric:
        raise
    except (Exception, SystemExit) as error:
        raise FailedMetric(f"{begins} with {_told(error, file)}") from error
    value = _as_number(found)
    if value is None:
        where = f" ({Path(file).name}:{code.co_firstlineno})" if code else ""
        raise FailedMetric(f"{begins}: it returns {_shown(found)}, not a number{where}")
    return value


def _as_number(found: Any) -> float | None:  # what a foreign function returned may be anything
    """Return a single number; a text of digits and a list of one number are none."""
    import numpy as np

    if isinstance(found, str | bytes) or np.ndim(found) != 0:
        return None
    try:
        return float(found)
    except (TypeError, ValueError, OverflowError):
        return None


def _shown(found: object) -> str:
    import numpy as np

    kind = type(found).__name__
    return f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else f"{found!r:.60} ({kind})"


def _told(error: BaseException, file: str) -> str:
    """Return type, message and place of an error: its last line in the user's file, or where it was raised at all."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if frame.filename == file] or frames[-1:]
    at = (users[-1].filename, users[-1].lineno) if users else ("", None)
    if isinstance(error, SyntaxError) and error.filename == file:
        at = (file, error.lineno)
    text = f"{type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")
    return f"{text} ({Path(at[0]).name}:{at[1]})" if at[1] else text
