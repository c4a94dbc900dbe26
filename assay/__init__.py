"""Assay benchmarks AutoML frameworks and tabular learners.

    >>> import assay
    >>> suite = assay.load_suite("bundled")
    >>> jobs = assay.plan(suite, frameworks=["constant", "random_forest"], constraint="1m1c")
    >>> store = assay.Store("results")                     # doctest: +SKIP
    >>> assay.run(jobs, store, executor=assay.Local(workers=2))   # doctest: +SKIP
    >>> scores = assay.score(store)                        # doctest: +SKIP
    >>> assay.write_report("report.html", assay.analyse(store))   # doctest: +SKIP

The names are loaded when they are first used, so that `import assay` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api.analyse import analyse
    from assay.api.compare import compare
    from assay.api.flow import load_suite, load_tasks, plan, run, score
    from assay.api.interval import interval
    from assay.api.report import write_report
    from assay.errors import AssayError, UserError
    from assay.frameworks.find import find_framework
    from assay.jobs.constraint import Constraint
    from assay.runs.executors.local import Local
    from assay.searches.search import search
    from assay.settings import Settings
    from assay.store.store import Store
    from assay.suites.suite import Suite

__version__ = "0.1.0"

_HOMES = {
    "analyse": "assay.api",
    "compare": "assay.api",
    "load_suite": "assay.api",
    "load_tasks": "assay.api",
    "plan": "assay.api",
    "run": "assay.api",
    "score": "assay.api",
    "write_report": "assay.api",
    "AssayError": "assay.errors",
    "UserError": "assay.errors",
    "find_framework": "assay.frameworks.find",
    "interval": "assay.api",
    "Constraint": "assay.jobs.constraint",
    "Local": "assay.runs.executors.local",
    "Settings": "assay.settings",
    "search": "assay.searches.search",
    "Store": "assay.store.store",
    "Suite": "assay.suites.suite",
}

__all__ = [
    "AssayError",
    "Constraint",
    "Local",
    "Settings",
    "Store",
    "Suite",
    "UserError",
    "analyse",
    "compare",
    "find_framework",
    "interval",
    "load_suite",
    "load_tasks",
    "plan",
    "run",
    "score",
    "search",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
