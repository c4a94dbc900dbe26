"""The stages wired together: one code path from a suite, a store or a file to each result.

The modules import heavy libraries inside their functions, so that planning and `--help` do without them.
"""

from assay.api.analyse import Analysis, analyse
from assay.api.compare import compare, find_pair
from assay.api.flow import (
    check_plan,
    count_stale,
    load_suite,
    load_tasks,
    match_store,
    plan,
    run,
    score,
)
from assay.api.interval import interval, open_search
from assay.api.report import make_parts, make_report, write_report
from assay.frameworks.find import find_frameworks

__all__ = [
    "Analysis",
    "analyse",
    "check_plan",
    "compare",
    "count_stale",
    "find_frameworks",
    "find_pair",
    "interval",
    "load_suite",
    "load_tasks",
    "make_parts",
    "make_report",
    "match_store",
    "open_search",
    "plan",
    "run",
    "score",
    "write_report",
]
